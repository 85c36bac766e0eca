/*
 * explain_parts.c - cuts the steps of a view where anything changes, and gives each piece to a part.
 * Running time of one kind (in one system call, or in none) is divided among what samples saw there
 * (explain_divide.c). Declared in explain_parts.h.
 */
#include "explain_private.h"

#include <stdlib.h>
#include <string.h>

#define OPERATOR_MAX 300 /* names that are told apart: parts times steps must stay bounded */

/* ---- parts ---- */

int tl_parts_find(struct tl_parts *p, enum tl_part_state state, enum tl_part_cause cause,
		  uint32_t name, uint32_t *part, struct tl_error *err)
{
	uint64_t hash = tl_hash_u64((uint64_t)state << 8 | cause, name);
	struct tl_part new = { .state = state, .cause = cause, .name = name };
	size_t probe = 0;
	int64_t found;
	int ret;

	while ((found = tl_index_find(&p->index, hash, &probe)) >= 0) {
		const struct tl_part *known = &p->parts[found];

		if (known->state == state && known->cause == cause && known->name == name) {
			*part = (uint32_t)found;
			return TL_OK;
		}
	}
	ret = tl_grow(&p->parts, &p->capacity, p->count + 1, err);
	if (ret == TL_OK)
		ret = tl_index_add(&p->index, hash, (uint32_t)p->count, err);
	if (ret < 0)
		return ret;
	new.ns = tl_alloc(p->step_count, sizeof(*new.ns), err);
	if (p->device)
		new.starved_ns = tl_alloc(p->step_count, sizeof(*new.starved_ns), err);
	*part = (uint32_t)p->count;
	p->parts[p->count++] = new; /* also after a failure: it is released then */
	return new.ns && (!p->device || new.starved_ns) ? TL_OK : TL_NOMEM;
}

int tl_parts_name(struct tl_parts *p, const char *text, uint32_t *name, struct tl_error *err)
{
	uint32_t id;
	int ret = tl_intern(&p->names, text, strlen(text), &id, err);

	*name = ret == TL_OK ? id + 1 : 0;
	return ret;
}

void tl_parts_release(struct tl_parts *p)
{
	for (size_t i = 0; i < p->count; i++) {
		free(p->parts[i].ns);
		free(p->parts[i].starved_ns);
	}
	free(p->parts);
	free(p->device);
	free(p->waits);
	free(p->sample_part);
	free(p->sample_step);
	free(p->sample_function);
	tl_interner_release(&p->names);
	tl_index_release(&p->index);
	tl_stacks_close(p->stacks);
	memset(p, 0, sizeof(*p));
}

/* ---- what a wait is for ---- */

static enum tl_part_cause cause_of_reason(enum tl_wait_reason reason)
{
	switch (reason) {
	case TL_WAIT_MMAP_LOCK:
	case TL_WAIT_VMA_LOCK:
		return TL_CAUSE_MMAP_LOCK;
	case TL_WAIT_RMAP_LOCK:
	case TL_WAIT_RWSEM:
	case TL_WAIT_MUTEX:
	case TL_WAIT_SPINLOCK:
		return TL_CAUSE_KERNEL_LOCK;
	case TL_WAIT_FUTEX:
		return TL_CAUSE_FUTEX;
	case TL_WAIT_MIGRATION:
		return TL_CAUSE_MIGRATION;
	case TL_WAIT_COMPACTION:
		return TL_CAUSE_COMPACTION;
	case TL_WAIT_RECLAIM:
		return TL_CAUSE_RECLAIM;
	case TL_WAIT_DIRTY:
		return TL_CAUSE_WRITEBACK;
	case TL_WAIT_COMMIT:
	case TL_WAIT_IO:
		return TL_CAUSE_STORAGE;
	case TL_WAIT_POLL:
		return TL_CAUSE_POLL;
	case TL_WAIT_PIPE:
		return TL_CAUSE_PIPE;
	case TL_WAIT_SOCKET:
		return TL_CAUSE_SOCKET;
	case TL_WAIT_TIMER:
		return TL_CAUSE_TIMER;
	case TL_WAIT_CHILD:
		return TL_CAUSE_CHILD;
	case TL_WAIT_COMPLETION:
		return TL_CAUSE_COMPLETION;
	case TL_WAIT_STOPPED:
		return TL_CAUSE_STOPPED;
	case TL_WAIT_UNKNOWN:
	case TL_WAIT_REASON_COUNT:
		break;
	}
	return TL_CAUSE_WAITING;
}

static bool is_one_of(const char *name, const char *names)
{
	size_t length = strlen(name);

	for (const char *at = names; (at = strstr(at, name)); at += length)
		if ((at == names || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
			return length > 0;
	return false;
}

bool tl_is_memory_call(const char *name)
{
	return is_one_of(name,
			 "mmap munmap brk madvise mremap mprotect process_madvise mlock mlock2 "
			 "munlock mlockall mmap2 mbind");
}

/* Without a stack the call itself says something. */
static enum tl_part_cause cause_of_call(const char *name, bool is_uninterruptible)
{
	if (is_one_of(name, "futex futex_wait futex_waitv"))
		return TL_CAUSE_FUTEX;
	if (is_one_of(name, "nanosleep clock_nanosleep pause"))
		return TL_CAUSE_TIMER;
	if (is_one_of(name, "poll ppoll select pselect6 epoll_wait epoll_pwait epoll_pwait2 "
			    "io_getevents io_uring_enter rt_sigtimedwait"))
		return TL_CAUSE_POLL;
	if (is_one_of(name, "fsync fdatasync sync syncfs msync sync_file_range"))
		return TL_CAUSE_STORAGE;
	if (is_one_of(name, "wait4 waitid waitpid"))
		return TL_CAUSE_CHILD;
	if (is_one_of(name, "recvfrom recvmsg recvmmsg sendto sendmsg accept accept4 connect"))
		return TL_CAUSE_SOCKET;
	if (is_uninterruptible &&
	    is_one_of(name, "read write pread64 pwrite64 readv writev preadv pwritev open openat "
			    "ftruncate fallocate unlink unlinkat rename close stat copy_file_range "
			    "sendfile"))
		return TL_CAUSE_STORAGE;
	return TL_CAUSE_SYSCALL;
}

static enum tl_part_state wait_state(enum tl_sched_state state)
{
	return state == TL_SCHED_SLEEPING	   ? TL_PART_SLEEPING
	       : state == TL_SCHED_UNINTERRUPTIBLE ? TL_PART_UNINTERRUPTIBLE
						   : TL_PART_OFF;
}

/* ---- pieces ---- */

/* Everything that is so from `begin` until `end`. */
struct piece {
	int64_t begin_ns, end_ns;
	uint32_t step;
	const struct tl_view_state *state;    /* NULL: not known */
	uint32_t work, call, op, run, device; /* labels of spans, or TL_SPAN_NONE */
};

static int name_of_work(struct tl_parts *p, uint32_t work, uint32_t *name, struct tl_error *err)
{
	char text[32];

	*name = 0;
	if (work >> 8 == 0)
		return TL_OK;
	snprintf(text, sizeof(text), "order %u", (work >> 8) - 1);
	return tl_parts_name(p, text, name, err);
}

static enum tl_part_cause cause_of_work(uint32_t work)
{
	return (work & 0xff) == TL_MM_COMPACTION ? TL_CAUSE_COMPACTION : TL_CAUSE_RECLAIM;
}

static int add_time(struct sweep *s, const struct piece *q, enum tl_part_state state,
		    enum tl_part_cause cause, uint32_t name, uint32_t *part, struct tl_error *err)
{
	int ret = tl_parts_find(s->parts, state, cause, name, part, err);

	if (ret < 0)
		return ret;
	s->parts->parts[*part].ns[q->step] += q->end_ns - q->begin_ns;
	if (q->device == DEVICE_STARVED)
		s->parts->parts[*part].starved_ns[q->step] += q->end_ns - q->begin_ns;
	return TL_OK;
}

/* Asleep: by what the stack says, then by the call. */
static int add_wait(struct sweep *s, const struct piece *q, struct tl_error *err)
{
	enum tl_part_state state = wait_state(q->state->state);
	enum tl_part_cause cause;
	struct tl_stack_facts facts;
	const char *call;
	uint32_t name = 0, part;
	int ret = tl_stacks_facts(s->parts->stacks, q->state->stack_id, &facts, err);

	if (ret < 0)
		return ret;
	call = q->call != TL_SPAN_NONE ? tl_view_text(s->view, q->call)
	       : facts.call	       ? tl_stack_name(s->parts->stacks, facts.call - 1)
	       : facts.traits.is_fault ? "page fault"
				       : NULL;
	cause = cause_of_reason((enum tl_wait_reason)facts.traits.reason);
	if (q->state->state == TL_SCHED_STOPPED || q->state->state == TL_SCHED_PARKED)
		cause = TL_CAUSE_STOPPED;
	if (cause == TL_CAUSE_WAITING && q->work != TL_SPAN_NONE)
		cause = cause_of_work(q->work);
	if (cause == TL_CAUSE_WAITING && (q->call != TL_SPAN_NONE || facts.call))
		cause = cause_of_call(call, state == TL_PART_UNINTERRUPTIBLE);
	else if (cause == TL_CAUSE_WAITING && facts.traits.is_fault)
		cause = TL_CAUSE_PAGE_FAULT;
	if (call)
		ret = tl_parts_name(s->parts, call, &name, err);
	if (ret == TL_OK)
		ret = add_time(s, q, state, cause, name, &part, err);
	if (ret == TL_OK)
		ret = tl_grow(&s->parts->waits, &s->wait_capacity, s->parts->wait_count + 1, err);
	if (ret == TL_OK)
		s->parts->waits[s->parts->wait_count++] = (struct tl_part_wait) {
			.step = q->step,
			.part = part,
			.begin_ns = q->begin_ns,
			.end_ns = q->end_ns,
			.state = (uint32_t)(q->state - s->view->states),
		};
	return ret;
}

static enum tl_part_cause cause_of_role(enum tl_thread_role role)
{
	switch (role) {
	case TL_ROLE_KHUGEPAGED:
		return TL_CAUSE_CPU_KHUGEPAGED;
	case TL_ROLE_KCOMPACTD:
		return TL_CAUSE_CPU_KCOMPACTD;
	case TL_ROLE_KSWAPD:
		return TL_CAUSE_CPU_KSWAPD;
	case TL_ROLE_OWN:
		return TL_CAUSE_CPU_OWN;
	case TL_ROLE_FAMILY:
		return TL_CAUSE_CPU_FAMILY;
	case TL_ROLE_KERNEL:
		return TL_CAUSE_CPU_KERNEL;
	case TL_ROLE_OTHER:
		return TL_CAUSE_CPU_OTHER;
	case TL_ROLE_SELF: /* it cannot run while it waits: a switch was lost */
	case TL_ROLE_IDLE: /* on its way to the CPU */
		break;
	}
	return TL_CAUSE_CPU_UNSEEN;
}

static int add_runnable(struct sweep *s, const struct piece *q, struct tl_error *err)
{
	enum tl_part_cause cause = TL_CAUSE_CPU_UNSEEN;
	uint32_t name = 0, part;
	int ret = TL_OK;

	if (q->run != TL_SPAN_NONE) {
		const struct tl_view_thread *who = &s->view->threads[q->run];

		cause = cause_of_role(who->role);
		if (cause != TL_CAUSE_CPU_UNSEEN)
			ret = tl_parts_name(s->parts, who->name, &name, err);
	}
	return ret < 0 ? ret : add_time(s, q, TL_PART_RUNNABLE, cause, name, &part, err);
}

/* On the CPU, or, without any switches recorded, nobody knows: samples may tell more of it. */
static int add_divisible(struct sweep *s, const struct piece *q, bool is_wall, struct tl_error *err)
{
	enum tl_part_state state = is_wall ? TL_PART_WALL : TL_PART_RUNNING;
	bool has_ops = s->view->has & TL_VIEW_OPS;
	struct bucket_key key = { .is_wall = is_wall, .is_gap = has_ops && q->op == TL_SPAN_NONE };
	uint32_t name, part;
	int ret = TL_OK;

	if (q->work != TL_SPAN_NONE) {
		ret = name_of_work(s->parts, q->work, &name, err);
		return ret < 0 ? ret
			       : add_time(s, q, state, cause_of_work(q->work), name, &part, err);
	}
	if (q->call != TL_SPAN_NONE) {
		key.is_gap = false;
		ret = tl_parts_name(s->parts, tl_view_text(s->view, q->call), &key.call, err);
	} else if (is_wall && q->op != TL_SPAN_NONE) {
		key.is_operator = true;
		if (q->op < OPERATOR_MAX)
			ret = tl_parts_name(s->parts, tl_view_text(s->view, q->op), &key.op, err);
	} else if (q->op != TL_SPAN_NONE && s->is_big[q->op]) {
		ret = tl_parts_name(s->parts, tl_view_text(s->view, q->op), &key.op, err);
	}
	return ret < 0 ? ret
		       : tl_sweep_divisible(s, &key, q->step, q->begin_ns, q->end_ns,
					    q->device == DEVICE_STARVED, err);
}

static int add_piece(struct sweep *s, const struct piece *q, struct tl_error *err)
{
	uint32_t name = 0, part;
	int ret = TL_OK;

	if (s->parts->device)
		tl_sweep_device(&s->parts->device[q->step], q->device, q->end_ns - q->begin_ns);
	if (!q->state && !(s->view->has & TL_VIEW_STATES))
		return add_divisible(s, q, true, err);
	if (!q->state) {
		if (q->call != TL_SPAN_NONE)
			ret = tl_parts_name(s->parts, tl_view_text(s->view, q->call), &name, err);
		return ret < 0 ? ret
			       : add_time(s, q, TL_PART_UNKNOWN, TL_CAUSE_UNKNOWN, name, &part,
					  err);
	}
	if (q->state->state == TL_SCHED_RUNNING)
		return add_divisible(s, q, false, err);
	if (q->state->state == TL_SCHED_RUNNABLE)
		return add_runnable(s, q, err);
	return add_wait(s, q, err);
}

/* ---- the sweep ---- */

static int64_t earlier(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* What is so at q->begin_ns, and until when. */
static int look(struct sweep *s, struct piece *q, struct tl_error *err)
{
	const struct tl_step_view *v = s->view;
	uint32_t *labels[SPAN_KIND_COUNT] = { &q->work, &q->call, &q->op, &q->run, &q->device };
	int64_t until;
	int ret = TL_OK;

	while (s->state < v->state_count && v->states[s->state].end_ns <= q->begin_ns)
		s->state++;
	q->state = NULL;
	if (s->state < v->state_count) {
		const struct tl_view_state *state = &v->states[s->state];
		bool is_in = state->begin_ns <= q->begin_ns;

		q->state = is_in ? state : NULL;
		q->end_ns = earlier(q->end_ns, is_in ? state->end_ns : state->begin_ns);
	}
	for (int i = 0; i < SPAN_KIND_COUNT && ret == TL_OK; i++) {
		ret = tl_span_at(&s->cursors[i], q->begin_ns, labels[i], &until, err);
		q->end_ns = earlier(q->end_ns, until);
	}
	return ret;
}

static int sweep_step(struct sweep *s, uint32_t step, struct tl_error *err)
{
	const struct tl_view_step *v = &s->view->steps[step];
	int ret = TL_OK;

	for (int64_t t = v->begin_ns; t < v->end_ns && ret == TL_OK;) {
		struct piece q = { .begin_ns = t, .end_ns = v->end_ns, .step = step };

		ret = look(s, &q, err);
		if (ret == TL_OK)
			ret = add_piece(s, &q, err);
		t = q.end_ns;
	}
	return ret;
}

/* The parts of every step must add up to it. */
static int check_sums(const struct sweep *s, struct tl_error *err)
{
	const struct tl_parts *p = s->parts;

	for (size_t i = 0; i < p->step_count; i++) {
		const struct tl_view_step *v = &s->view->steps[i];
		int64_t sum = 0, starved = 0;

		for (size_t k = 0; k < p->count; k++) {
			sum += p->parts[k].ns[i];
			starved += p->device ? p->parts[k].starved_ns[i] : 0;
		}
		if (sum != v->end_ns - v->begin_ns)
			return tl_fail(
				err, TL_USAGE,
				"the parts of step %lld add up to %lld ns, it lasted %lld ns",
				(long long)v->number, (long long)sum,
				(long long)(v->end_ns - v->begin_ns));
		if (p->device && starved != p->device[i].starved_ns)
			return tl_fail(
				err, TL_USAGE,
				"the device starved for %lld ns of step %lld, its parts add up "
				"to %lld ns",
				(long long)p->device[i].starved_ns, (long long)v->number,
				(long long)starved);
	}
	return TL_OK;
}

static int prepare(struct sweep *s, struct tl_error *err)
{
	struct tl_parts *p = s->parts;
	size_t samples = s->view->sample_count;
	int ret = tl_stacks_open(&p->stacks, s->view->store, err);

	p->step_count = s->view->step_count;
	if (ret == TL_OK && s->view->has & TL_VIEW_DEVICE) {
		p->device = tl_alloc(p->step_count, sizeof(*p->device), err);
		ret = p->device ? TL_OK : TL_NOMEM;
	}
	if (ret < 0)
		return ret;
	p->sample_part = tl_alloc(samples, sizeof(*p->sample_part), err);
	p->sample_step = tl_alloc(samples, sizeof(*p->sample_step), err);
	p->sample_function = tl_alloc(samples, sizeof(*p->sample_function), err);
	return p->sample_part && p->sample_step && p->sample_function ? TL_OK : TL_NOMEM;
}

int tl_parts_make(struct tl_parts *out, struct tl_step_view *view, struct tl_error *err)
{
	struct sweep s = { .view = view, .parts = out };
	int ret;

	memset(out, 0, sizeof(*out));
	ret = prepare(&s, err);
	if (ret == TL_OK)
		ret = tl_sweep_spans(&s, err);
	for (uint32_t i = 0; i < view->step_count && ret == TL_OK; i++)
		ret = sweep_step(&s, i, err);
	if (ret == TL_OK)
		ret = tl_sweep_divide(&s, err);
	if (ret == TL_OK)
		ret = check_sums(&s, err);
	tl_sweep_release(&s);
	if (ret < 0)
		tl_parts_release(out);
	return ret;
}
