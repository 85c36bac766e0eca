/*
 * writer_tasks.c - rows of hosts, processes and threads: one operating-system thread is one row,
 * whichever source saw it.
 */
#include "writer.h"

#include <stdlib.h>
#include <string.h>

#include "reader.h"

/*
 * Two sources may differ by this much and still mean the same start of a thread: a tracer sees it
 * when it gets to run. No tid is used again so soon.
 */
#define SAME_START_NS 200000000

/* ---- the host ---- */

/* A number from the file times `unit`; NULL when it is none, or makes no sense. */
static void bind_count(struct tl_statement *st, int parameter, const char *text, uint64_t unit)
{
	uint64_t value;
	size_t len = text ? strlen(text) : 0;

	if (len && tl_parse_u64(text, len, 10, &value) == len && value <= INT64_MAX / unit)
		tl_bind_i64(st, parameter, (int64_t)(value * unit));
	else
		tl_bind_null(st, parameter);
}

static int add_host(struct tl_writer *w, const char *name, struct tl_error *err)
{
	const char *release = tl_writer_meta_value(w, "os_release");
	const char *arch = tl_writer_meta_value(w, "arch");
	const char *cpu = tl_writer_meta_value(w, "cpu_desc");
	const char *cpus = tl_writer_meta_value(w, "cpus_online");
	const char *memory = tl_writer_meta_value(w, "memory_kib");
	struct tl_statement *st;
	int ret =
		tl_store_value(w->store, "SELECT max(host_id) + 1 FROM host", 1, &w->host_id, err);

	if (ret == TL_OK)
		ret = tl_statement_open(&st, w->store,
					"INSERT INTO host(host_id, name, os_release, arch, "
					"cpu_description, cpu_count, memory_bytes) "
					"VALUES(?, ?, ?, ?, ?, ?, ?)",
					NULL, err);
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, w->host_id);
	tl_bind_text(st, 2, name, name ? strlen(name) : 0);
	tl_bind_text(st, 3, release, release ? strlen(release) : 0);
	tl_bind_text(st, 4, arch, arch ? strlen(arch) : 0);
	tl_bind_text(st, 5, cpu, cpu ? strlen(cpu) : 0);
	bind_count(st, 6, cpus, 1);
	bind_count(st, 7, memory, 1024);
	ret = tl_statement_run(st, err);
	tl_statement_close(st);
	return ret;
}

enum known_column {
	KNOWN_THREAD,
	KNOWN_PROCESS,
	KNOWN_TID,
	KNOWN_PID,
	KNOWN_START,
	KNOWN_END,
	KNOWN_NAME
};

static int add_known(struct tl_writer *w, struct tl_statement *st, struct tl_error *err)
{
	struct tl_known_thread *k;
	size_t len;
	const char *name;
	int ret = tl_grow(&w->known, &w->known_capacity, w->known_count + 1, err);

	if (ret < 0)
		return ret;
	k = &w->known[w->known_count];
	k->thread_id = tl_column_i64(st, KNOWN_THREAD);
	k->process_id = tl_column_i64(st, KNOWN_PROCESS);
	k->tid = (int32_t)tl_column_i64(st, KNOWN_TID);
	k->pid = tl_column_is_null(st, KNOWN_PID) ? TL_ID_NONE
						  : (int32_t)tl_column_i64(st, KNOWN_PID);
	k->start_ts =
		tl_column_is_null(st, KNOWN_START) ? INT64_MIN : tl_column_i64(st, KNOWN_START);
	k->end_ts = tl_column_is_null(st, KNOWN_END) ? INT64_MAX : tl_column_i64(st, KNOWN_END);
	name = tl_column_text(st, KNOWN_NAME, &len);
	k->name = TL_NO_INDEX;
	if (name)
		ret = tl_intern(&w->strings, name, len, &k->name, err);
	if (ret == TL_OK)
		ret = tl_index_add(&w->known_by_tid, tl_hash_u64((uint32_t)k->tid, 5),
				   (uint32_t)w->known_count, err);
	if (ret == TL_OK && k->pid != TL_ID_NONE)
		ret = tl_index_add(&w->known_by_pid, tl_hash_u64((uint32_t)k->pid, 6),
				   (uint32_t)w->known_count, err);
	w->known_count++;
	return ret;
}

/* Threads of this host that other sources told of. */
static int load_known(struct tl_writer *w, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(
		&st, w->store,
		"SELECT t.thread_id AS thread, p.process_id AS process, t.tid AS tid, p.pid AS "
		"pid, "
		"t.start_ts AS start, t.end_ts AS end, n.text AS name FROM thread t "
		"JOIN process p USING (process_id) LEFT JOIN string n ON n.string_id = t.name_id "
		"WHERE p.host_id = ? ORDER BY t.thread_id",
		"thread process tid pid start end name", err);

	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, w->host_id);
	while ((ret = tl_statement_step(st, err)) > 0) {
		ret = add_known(w, st, err);
		if (ret < 0)
			break;
	}
	tl_statement_close(st);
	return ret;
}

/* The row of the first column of a query with up to two texts; 0: there is none. */
static int find_host(struct tl_writer *w, const char *sql, const char *name, const char *release,
		     int64_t *host_id, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_statement_open(&st, w->store, sql, "host_id", err);

	*host_id = 0;
	if (ret < 0)
		return ret;
	if (name)
		tl_bind_text(st, 1, name, strlen(name));
	if (name)
		tl_bind_text(st, 2, release, release ? strlen(release) : 0);
	ret = tl_statement_step(st, err);
	if (ret > 0)
		*host_id = tl_column_i64(st, 0);
	tl_statement_close(st);
	return ret < 0 ? ret : TL_OK;
}

/* A source told of the only machine of the case without naming it; this one does. */
static int complete_host(struct tl_writer *w, const char *name, struct tl_error *err)
{
	const char *release = tl_writer_meta_value(w, "os_release");
	const char *arch = tl_writer_meta_value(w, "arch");
	struct tl_statement *st;
	int ret =
		tl_statement_open(&st, w->store,
				  "UPDATE host SET name = ?, os_release = coalesce(os_release, ?), "
				  "arch = coalesce(arch, ?) WHERE host_id = ?",
				  NULL, err);

	if (ret < 0)
		return ret;
	tl_bind_text(st, 1, name, strlen(name));
	tl_bind_text(st, 2, release, release ? strlen(release) : 0);
	tl_bind_text(st, 3, arch, arch ? strlen(arch) : 0);
	tl_bind_i64(st, 4, w->host_id);
	ret = tl_statement_run(st, err);
	tl_statement_close(st);
	return ret;
}

/*
 * The machine of a source that was recorded with this one, or else that of its name. A source that names none is taken to be of the only machine of the case;
 * where there are several, nothing says that it is one of them.
 */
int tl_writer_find_host(struct tl_writer *w, struct tl_error *err)
{
	const char *name = tl_writer_meta_value(w, "hostname");
	const char *release = tl_writer_meta_value(w, "os_release");
	bool has_name = name && *name;
	int ret = tl_rows_drain(w->rows, err);

	if (ret == TL_OK && w->recorded_with)
		ret = find_host(w,
				"SELECT host_id FROM source WHERE path = ?1 AND host_id > 0 AND "
				"?2 IS NULL ORDER BY source_id DESC LIMIT 1",
				w->recorded_with, NULL, &w->host_id, err);
	if (ret < 0)
		return ret;
	if (w->host_id)
		return load_known(w, err);
	if (has_name)
		ret = find_host(w,
				"SELECT host_id FROM host WHERE name = ?1 AND "
				"(os_release IS ?2 OR os_release IS NULL OR ?2 IS NULL) "
				"ORDER BY host_id LIMIT 1",
				name, release, &w->host_id, err);
	else
		ret = find_host(w, "SELECT host_id FROM host WHERE (SELECT count(*) FROM host) = 1",
				NULL, NULL, &w->host_id, err);
	if (ret == TL_OK && has_name && !w->host_id) {
		ret = find_host(w,
				"SELECT host_id FROM host WHERE name IS NULL AND "
				"(SELECT count(*) FROM host) = 1",
				NULL, NULL, &w->host_id, err);
		if (ret == TL_OK && w->host_id)
			ret = complete_host(w, name, err);
	}
	if (ret < 0)
		return ret;
	return w->host_id ? load_known(w, err) : add_host(w, has_name ? name : NULL, err);
}

/* ---- lifetimes ---- */

static int64_t start_unix(const struct tl_writer *w, int64_t ts)
{
	return ts == INT64_MIN || !w->has_times ? INT64_MIN : tl_writer_unix(w, ts);
}

static int64_t end_unix(const struct tl_writer *w, int64_t ts)
{
	return ts == INT64_MAX || !w->has_times ? INT64_MAX : tl_writer_unix(w, ts);
}

static bool has_same_start(const struct tl_known_thread *k, int64_t start)
{
	int64_t difference;

	return k->start_ts != INT64_MIN && start != INT64_MIN &&
	       !__builtin_sub_overflow(k->start_ts, start, &difference) &&
	       difference < SAME_START_NS && difference > -SAME_START_NS;
}

/* Could these be the same life? What is unknown contradicts nothing. */
static bool can_be_same(const struct tl_known_thread *k, int64_t start, int64_t end)
{
	if (k->start_ts != INT64_MIN && start != INT64_MIN)
		return has_same_start(k, start);
	if (k->end_ts != INT64_MAX && start != INT64_MIN && start > k->end_ts)
		return false;
	if (k->start_ts != INT64_MIN && end != INT64_MAX && end < k->start_ts)
		return false;
	return true;
}

static bool has_name(const struct tl_thread *t, uint32_t name)
{
	if (name == TL_NO_INDEX || !t->name_count)
		return true; /* unknown contradicts nothing */
	for (size_t i = 0; i < t->name_count; i++)
		if (t->names[i].name == name)
			return true;
	return false;
}

static struct tl_known_thread *find_known(const struct tl_writer *w, const struct tl_thread *t)
{
	int32_t pid = w->tasks.processes[t->process].pid;
	int64_t start = start_unix(w, t->start_ts), end = end_unix(w, t->end_ts);
	size_t probe = 0;
	int64_t found;

	/* a name may still change: it is asked for only where the start does not tell */
	while ((found = tl_index_find(&w->known_by_tid, tl_hash_u64((uint32_t)t->tid, 5),
				      &probe)) >= 0) {
		struct tl_known_thread *k = &w->known[found];

		if (k->tid == t->tid && !k->is_taken &&
		    (k->pid == pid || k->pid == TL_ID_NONE || pid == TL_ID_NONE) &&
		    (has_same_start(k, start) || has_name(t, k->name)) &&
		    can_be_same(k, start, end))
			return k;
	}
	return NULL;
}

static void process_row(struct tl_writer *w, uint32_t process)
{
	struct tl_process *p = &w->tasks.processes[process];
	int64_t start = start_unix(w, p->start_ts), end = end_unix(w, p->end_ts);
	size_t probe = 0;
	int64_t found;

	if (p->row_id)
		return;
	while (p->pid != TL_ID_NONE &&
	       (found = tl_index_find(&w->known_by_pid, tl_hash_u64((uint32_t)p->pid, 6),
				      &probe)) >= 0) {
		const struct tl_known_thread *k = &w->known[found];

		/* only the leader's life is the process's */
		if (k->pid == p->pid && k->tid == k->pid && can_be_same(k, start, end)) {
			p->row_id = k->process_id;
			return;
		}
	}
	p->row_id = w->next_process++;
}

int tl_writer_thread_row(struct tl_writer *w, uint32_t thread, int64_t *row_id,
			 struct tl_error *err)
{
	struct tl_thread *t = &w->tasks.threads[thread];
	struct tl_known_thread *k;

	(void)err;
	if (!t->row_id) {
		k = find_known(w, t);
		if (k) {
			t->row_id = k->thread_id;
			k->is_taken = true;
			if (!w->tasks.processes[t->process].row_id)
				w->tasks.processes[t->process].row_id = k->process_id;
		} else {
			t->row_id = w->next_thread++;
		}
	}
	*row_id = t->row_id;
	return TL_OK;
}

/* ---- rows, at the end ---- */

/* What this source adds to a process that the case knew: its number. */
static int complete_process(struct tl_writer *w, const struct tl_process *p, struct tl_error *err)
{
	struct tl_statement *st;
	int ret = TL_OK;

	if (p->pid == TL_ID_NONE || !p->row_id)
		return TL_OK;
	ret = tl_rows_drain(w->rows, err);
	if (ret == TL_OK)
		ret = tl_statement_open(
			&st, w->store,
			"UPDATE process SET pid = ? WHERE process_id = ? AND pid IS NULL", NULL,
			err);
	if (ret < 0)
		return ret;
	tl_bind_i64(st, 1, p->pid);
	tl_bind_i64(st, 2, p->row_id);
	ret = tl_statement_run(st, err);
	tl_statement_close(st);
	return ret;
}

/* Rows that were there before this source have smaller ids. */
static int put_processes(struct tl_writer *w, int64_t first_new, struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0; i < w->tasks.process_count && ret == TL_OK; i++) {
		const struct tl_process *p = &w->tasks.processes[i];
		bool has_parent = p->parent != TL_NO_INDEX && w->tasks.processes[p->parent].row_id;
		const int64_t values[7] = { p->row_id,
					    w->host_id,
					    p->pid,
					    p->inner_pid,
					    has_parent ? w->tasks.processes[p->parent].row_id : 0,
					    start_unix(w, p->start_ts),
					    end_unix(w, p->end_ts) };
		uint64_t nulls = (uint64_t)(p->pid == TL_ID_NONE) << 2 |
				 (uint64_t)(p->inner_pid == TL_ID_NONE) << 3 |
				 (uint64_t)!has_parent << 4 |
				 (uint64_t)(p->start_ts == INT64_MIN) << 5 |
				 (uint64_t)(p->end_ts == INT64_MAX) << 6;

		if (p->row_id < first_new)
			ret = complete_process(w, p, err);
		else
			ret = tl_writer_put(w, INSERT_PROCESS, values, 7, nulls, NULL, 0, err);
	}
	return ret;
}

/* What this source adds to a thread that the case knew. */
static int complete_thread(struct tl_writer *w, const struct tl_thread *t, int64_t name_id,
			   struct tl_error *err)
{
	struct tl_statement *st;
	int ret = tl_rows_drain(w->rows, err);

	if (ret == TL_OK)
		ret = tl_statement_open(
			&st, w->store,
			"UPDATE thread SET name_id = coalesce(name_id, ?1), "
			"start_ts = coalesce(start_ts, ?2), end_ts = coalesce(end_ts, ?3), "
			/* a process without number gives way to one with */
			"process_id = CASE WHEN ?5 IS NOT NULL AND (SELECT pid FROM process p "
			"WHERE p.process_id = thread.process_id) IS NULL THEN ?5 "
			"ELSE process_id END WHERE thread_id = ?4",
			NULL, err);
	if (ret < 0)
		return ret;
	if (name_id)
		tl_bind_i64(st, 1, name_id);
	if (t->start_ts != INT64_MIN)
		tl_bind_i64(st, 2, tl_writer_unix(w, t->start_ts));
	if (t->end_ts != INT64_MAX)
		tl_bind_i64(st, 3, tl_writer_unix(w, t->end_ts));
	tl_bind_i64(st, 4, t->row_id);
	if (w->tasks.processes[t->process].pid != TL_ID_NONE)
		tl_bind_i64(st, 5, w->tasks.processes[t->process].row_id);
	ret = tl_statement_run(st, err);
	tl_statement_close(st);
	return ret;
}

static int put_names(struct tl_writer *w, const struct tl_thread *t, struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0; i < t->name_count && ret == TL_OK; i++) {
		const struct tl_thread_name *n = &t->names[i];
		int64_t values[5] = { w->source_id, t->row_id, start_unix(w, n->ts), 0,
				      n->is_exec };

		ret = tl_writer_string(w, n->name, &values[3], err);
		if (ret == TL_OK)
			ret = tl_writer_put(w, INSERT_THREAD_NAME, values, 5,
					    (uint64_t)(n->ts == INT64_MIN) << 2, NULL, 0, err);
	}
	return ret;
}

/* What this source tells of it, whatever others tell. */
static int put_life(struct tl_writer *w, const struct tl_thread *t, int64_t name_id,
		    struct tl_error *err)
{
	const struct tl_process *p = &w->tasks.processes[t->process];
	bool has_parent = p->parent != TL_NO_INDEX && w->tasks.processes[p->parent].row_id;
	const int64_t values[12] = { w->source_id,
				     t->row_id,
				     p->row_id,
				     has_parent ? w->tasks.processes[p->parent].row_id : 0,
				     t->tid,
				     p->pid,
				     p->inner_pid,
				     name_id,
				     start_unix(w, t->start_ts),
				     end_unix(w, t->end_ts),
				     start_unix(w, p->start_ts),
				     end_unix(w, p->end_ts) };
	uint64_t nulls = (uint64_t)!has_parent << 3 | (uint64_t)(p->pid == TL_ID_NONE) << 5 |
			 (uint64_t)(p->inner_pid == TL_ID_NONE) << 6 | (uint64_t)!name_id << 7 |
			 (uint64_t)(t->start_ts == INT64_MIN) << 8 |
			 (uint64_t)(t->end_ts == INT64_MAX) << 9 |
			 (uint64_t)(p->start_ts == INT64_MIN) << 10 |
			 (uint64_t)(p->end_ts == INT64_MAX) << 11;

	return tl_writer_put(w, INSERT_THREAD_LIFE, values, 12, nulls, NULL, 0, err);
}

static int put_thread(struct tl_writer *w, uint32_t index, int64_t first_new, struct tl_error *err)
{
	const struct tl_thread *t = &w->tasks.threads[index];
	int64_t values[6] = { t->row_id,
			      w->tasks.processes[t->process].row_id,
			      t->tid,
			      0,
			      start_unix(w, t->start_ts),
			      end_unix(w, t->end_ts) };
	bool has_name = t->name_count || t->hearsay_count || t->tid == 0;
	uint64_t nulls = (uint64_t)!has_name << 3 | (uint64_t)(t->start_ts == INT64_MIN) << 4 |
			 (uint64_t)(t->end_ts == INT64_MAX) << 5;
	uint32_t name;
	int ret = TL_OK;

	if (has_name) {
		ret = tl_tasks_name_by_hearsay(&w->tasks, index, INT64_MAX, &name, err);
		if (ret == TL_OK)
			ret = tl_writer_string(w, name, &values[3], err);
	}
	if (ret == TL_OK)
		ret = put_life(w, t, values[3], err);
	if (ret == TL_OK)
		ret = put_names(w, t, err);
	if (ret < 0)
		return ret;
	if (t->row_id < first_new)
		return complete_thread(w, t, values[3], err);
	return tl_writer_put(w, INSERT_THREAD, values, 6, nulls, NULL, 0, err);
}

static int put_cgroups(struct tl_writer *w, struct tl_error *err)
{
	int ret = TL_OK;

	for (size_t i = 0; i < w->cgroup_count && ret == TL_OK; i++) {
		const struct tl_writer_cgroup *c = &w->cgroups[i];
		const int64_t values[3] = { w->next_cgroup + (int64_t)i, w->source_id,
					    (int64_t)c->kernel_id };
		const struct tl_interned *path =
			c->path == TL_NO_INDEX ? NULL : &w->strings.strings[c->path];

		/* the statement keeps its last text when none is given: give each row one or NULL */
		ret = tl_writer_put(w, INSERT_CGROUP, values, 3, 0, path ? path->text : NULL,
				    path ? path->length : 0, err);
	}
	return ret;
}

int tl_writer_task_rows(struct tl_writer *w, struct tl_error *err)
{
	int64_t first_thread, first_process;
	int64_t row_id;
	int ret = tl_rows_drain(w->rows, err);

	if (ret == TL_OK)
		ret = tl_store_value(w->store, "SELECT max(thread_id) + 1 FROM thread", 1,
				     &first_thread, err);
	if (ret == TL_OK)
		ret = tl_store_value(w->store, "SELECT max(process_id) + 1 FROM process", 1,
				     &first_process, err);
	for (uint32_t i = 0; i < w->tasks.thread_count && ret == TL_OK; i++)
		ret = tl_writer_thread_row(w, i, &row_id, err);
	if (ret < 0)
		return ret;
	for (uint32_t i = 0; i < w->tasks.process_count; i++)
		process_row(w, i);
	ret = put_processes(w, first_process, err);
	for (uint32_t i = 0; i < w->tasks.thread_count && ret == TL_OK; i++)
		ret = put_thread(w, i, first_thread, err);
	if (ret == TL_OK && first_thread > 1) {
		/* those that have given way to processes with a number */
		ret = tl_rows_drain(w->rows, err);
		if (ret == TL_OK)
			ret = tl_store_execute(w->store,
					       "DELETE FROM process WHERE pid IS NULL AND "
					       "process_id NOT IN (SELECT process_id FROM thread)",
					       err);
	}
	return ret < 0 ? ret : put_cgroups(w, err);
}
