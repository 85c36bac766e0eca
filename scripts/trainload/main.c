/*
 * main.c - trainload: runs the steps of a training job, in one process a rank, with a checkpoint after
 * which a chosen cause is at work for some steps. Writes a trace and a log for each rank, and what the
 * program itself and the kernel counted (proof.csv) for rank 0.
 */
#include "trainload.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
	"usage: trainload --kind NAME [options] FOLDER\n"
	"  --kind NAME     the cause; --list tells them\n"
	"  --seed N        decides what the options below do not tell\n"
	"  --steps N       how many steps\n"
	"  --at N          the step of the checkpoint\n"
	"  --slow N        how many steps after it the cause is at work\n"
	"  --helpers N     threads or processes of the cause\n"
	"  --arena MB      memory of the cause\n"
	"  --shared FILE   where the job and its companions meet that were started apart\n"
	"  --companions    only the other processes of the cause, until killed\n"
	"  --ranks N       processes that meet after each step; the cause is in rank 0\n"
	"  --off           the control run: everything but the cause\n"
	"  --fill MB       no job: fill memory with page cache of FOLDER/filler until MB are free\n"
	"  --scratch DIR   where files are written that nobody needs\n";

/* splitmix64: the n-th number of a seed, from low to high */
static int drawn(unsigned seed, unsigned n, int low, int high)
{
	uint64_t z = seed * UINT64_C(0x9e3779b97f4a7c15) + n * UINT64_C(0xbf58476d1ce4e5b9);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	z ^= z >> 31;
	return low + (int)(z % (uint64_t)(high - low + 1));
}

static int number(const char *text, int limit)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (*end || end == text || value < 0 || value > limit) {
		fprintf(stderr, "trainload: '%s' is no number up to %d\n", text, limit);
		exit(2);
	}
	return (int)value;
}

static void draw_rest(struct options *o)
{
	if (o->at < 0)
		o->at = drawn(o->seed, 1, 34, 46);
	if (o->slow < 0)
		o->slow = drawn(o->seed, 2, 9, 14);
	if (o->steps < 0)
		o->steps = o->at + o->slow + drawn(o->seed, 3, 28, 40);
	if (o->helpers < 0)
		o->helpers = drawn(o->seed, 4, 3, 4);
	if (o->helpers > THREAD_LIMIT)
		o->helpers = THREAD_LIMIT;
}

static void parse(struct options *o, int argc, char **argv)
{
	static const struct option names[] = { { "kind", required_argument, NULL, 'k' },
					       { "seed", required_argument, NULL, 'e' },
					       { "steps", required_argument, NULL, 's' },
					       { "at", required_argument, NULL, 'a' },
					       { "slow", required_argument, NULL, 'w' },
					       { "helpers", required_argument, NULL, 'n' },
					       { "arena", required_argument, NULL, 'm' },
					       { "ranks", required_argument, NULL, 'r' },
					       { "off", no_argument, NULL, 'o' },
					       { "list", no_argument, NULL, 'l' },
					       { "scratch", required_argument, NULL, 'd' },
					       { "fill", required_argument, NULL, 'f' },
					       { "shared", required_argument, NULL, 'S' },
					       { "companions", no_argument, NULL, 'C' },
					       { 0 } };

	*o = (struct options) { .steps = -1,
				.at = -1,
				.slow = -1,
				.helpers = -1,
				.ranks = 1,
				.left_mb = -1,
				.arena_bytes = (size_t)1 << 30,
				.scratch = "." };
	for (int c; (c = getopt_long(argc, argv, "", names, NULL)) != -1;) {
		switch (c) {
		case 'k':
			o->plant = plant_find(optarg);
			break;
		case 'e':
			o->seed = (unsigned)number(optarg, INT_MAX);
			break;
		case 's':
			o->steps = number(optarg, 100000);
			break;
		case 'a':
			o->at = number(optarg, 100000);
			break;
		case 'w':
			o->slow = number(optarg, 1000);
			break;
		case 'n':
			o->helpers = number(optarg, THREAD_LIMIT);
			break;
		case 'm':
			o->arena_bytes = (size_t)number(optarg, 8192) << 20;
			break;
		case 'r':
			o->ranks = number(optarg, RANK_LIMIT);
			break;
		case 'S':
			o->shared = optarg;
			break;
		case 'C':
			o->companions = true;
			break;
		case 'o':
			o->off = true;
			break;
		case 'd':
			o->scratch = optarg;
			break;
		case 'f':
			o->left_mb = number(optarg, INT_MAX);
			break;
		case 'l':
			plant_list(stdout);
			exit(0);
		default:
			fputs(usage, stderr);
			exit(2);
		}
	}
	if ((!o->plant && o->left_mb < 0) || optind + 1 != argc || o->ranks < 1) {
		fputs(usage, stderr);
		exit(2);
	}
	o->folder = argv[optind];
	draw_rest(o);
}

/*
 * All ranks meet here; the last that comes lets the others go on. To the trace it is what a collective on
 * the device is: a kernel that runs from when this rank comes until all are there.
 */
static void barrier(struct job *job)
{
	struct shared *s = job->shared;
	const int64_t launch_ns = 1000;
	int64_t begin = now_ns(), end;
	int generation = atomic_load(&s->generation);

	if (atomic_fetch_add(&s->arrived, 1) + 1 == job->options->ranks) {
		atomic_store(&s->arrived, 0);
		atomic_fetch_add(&s->generation, 1);
		syscall(SYS_futex, &s->generation, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	}
	while (atomic_load(&s->generation) == generation)
		syscall(SYS_futex, &s->generation, FUTEX_WAIT, generation, NULL, NULL, 0);
	end = now_ns();
	job->part_ns[PART_BARRIER] += end - begin;
	trace_span(job->trace, "user_annotation", "nccl:all_reduce", begin, end);
	trace_launch(job->trace, begin, begin + launch_ns,
		     "ncclDevKernel_AllReduce_Sum_f32_RING_LL", begin + launch_ns,
		     end > begin + launch_ns ? end : begin + launch_ns);
	job->device_free_ns = end;
}

static void checkpoint(struct job *job)
{
	const struct options *o = job->options;
	int64_t begin = now_ns();

	job_checkpoint_copy(job);
	if (job->rank == 0 && o->plant->checkpoint)
		o->plant->checkpoint(job);
	trace_span(job->trace, "user_annotation", "save_checkpoint", begin, now_ns());
	if (job->rank == 0 && !o->off)
		plant_set(job->shared, 1);
}

static void log_step(struct job *job, int64_t end, int64_t duration)
{
	const struct options *o = job->options;
	time_t seconds = (time_t)(end / 1000000000);
	struct tm tm;
	char when[32];

	gmtime_r(&seconds, &tm);
	strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
	fprintf(job->log,
		" [%s.%06d] iteration %8d/%8d | consumed samples: %12d | elapsed time per iteration "
		"(ms): %.3f | learning rate: 1.000E-04 | global batch size: %5d | lm loss: %.6E | number "
		"of skipped iterations:   0 | number of nan iterations:   0 |\n",
		when, (int)(end / 1000 % 1000000), job->step, o->steps - 1, (job->step + 1) * 16,
		(double)duration / 1e6, 16, 10.5 / (1 + 0.01 * job->step));
	fflush(job->log);
}

static void run_steps(struct job *job, struct proof *proof)
{
	const struct options *o = job->options;

	for (job->step = 0; job->step < o->steps; job->step++) {
		int64_t begin, end;
		char name[32];

		/* Between steps, so that giving back what the cause held makes no step slow. */
		if (job->step == o->at + o->slow + 1 && job->rank == 0) {
			plant_set(job->shared, 0);
			if (o->plant->over)
				o->plant->over(job);
		}
		begin = now_ns();
		if (job->step == o->at)
			checkpoint(job);
		job_step(job);
		if (o->ranks > 1)
			barrier(job);
		end = now_ns();
		snprintf(name, sizeof(name), "ProfilerStep#%d", job->step);
		trace_span(job->trace, "user_annotation", name, begin, end);
		log_step(job, end, end - begin);
		if (proof)
			proof_step(proof, job->step, begin, end, job->part_ns);
	}
}

static void run_rank(const struct options *o, struct shared *shared, int rank)
{
	static struct job job;
	struct proof *proof = NULL;
	char trace[PATH_MAX], log[PATH_MAX], path[PATH_MAX];

	job = (struct job) {
		.options = o, .shared = shared, .rank = rank, .pool_lock = PTHREAD_MUTEX_INITIALIZER
	};
	snprintf(trace, sizeof(trace), "%s/rank%d.pt.trace.json", o->folder, rank);
	snprintf(log, sizeof(log), "%s/train%s%.0d.log", o->folder, rank ? "-rank" : "", rank);
	snprintf(path, sizeof(path), "%s/state-%d", o->scratch, rank);
	job.device_fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	job.storage_fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	job.log = fopen(log, "we");
	if (job.device_fd < 0 || job.storage_fd < 0 || !job.log)
		die(o->folder);
	unlink(path);
	trace_open(&job.trace, trace, rank, o->ranks, (size_t)o->steps * 160);
	snprintf(path, sizeof(path), "%s/proof.csv", o->folder);
	job_prepare(&job);
	if (rank == 0) {
		plant_start_helpers(&job);
		if (o->plant->prepare)
			o->plant->prepare(&job);
		proof_open(&proof, path, o->steps);
	}
	run_steps(&job, proof);
	if (proof)
		proof_close(proof);
	trace_close(job.trace);
	fclose(job.log);
}

static void write_truth(const struct options *o)
{
	bool slow =
		!o->off && strcmp(o->plant->name, "nothing") && strcmp(o->plant->name, "harmless");
	char path[PATH_MAX];
	FILE *out;

	snprintf(path, sizeof(path), "%s/truth.json", o->folder);
	out = fopen(path, "w");
	if (!out)
		die(path);
	fprintf(out,
		"{\n  \"kind\": \"%s\",\n  \"cause\": \"%s\",\n  \"seed\": %u,\n  \"off\": %s,\n"
		"  \"steps\": %d,\n  \"checkpoint_step\": %d,\n  \"slow\": %s,\n"
		"  \"first_slow_step\": %d,\n  \"last_slow_step\": %d,\n  \"helpers\": %d,\n"
		"  \"ranks\": %d\n}\n",
		o->plant->name, o->plant->cause, o->seed, o->off ? "true" : "false", o->steps,
		o->at, slow ? "true" : "false", o->at + 1, o->at + o->slow, o->helpers, o->ranks);
	if (fclose(out))
		die(path);
}

static struct shared *map_shared(const char *path)
{
	struct shared *shared;
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;

	if (path && (fd < 0 || ftruncate(fd, sizeof(*shared))))
		die(path);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | (path ? 0 : MAP_ANONYMOUS), fd, 0);
	if (shared == MAP_FAILED)
		die("shared memory");
	return shared;
}

int main(int argc, char **argv)
{
	struct options o;
	struct shared *shared;
	int status, failed = 0;

	parse(&o, argc, argv);
	if (o.left_mb >= 0) {
		memory_fill(o.folder, o.left_mb);
		return 0;
	}
	shared = map_shared(o.shared);
	if (o.companions || !o.shared)
		plant_start_companions(&o, shared);
	if (o.companions) {
		pause();
		return 0;
	}
	plant_wait_for_companions(&o, shared);
	write_truth(&o);
	for (int rank = 1; rank < o.ranks; rank++) {
		pid_t child = fork();

		if (child < 0)
			die("fork");
		if (!child) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			run_rank(&o, shared, rank);
			return 0;
		}
	}
	run_rank(&o, shared, 0);
	/* Companions end with this process; ranks have to finish their files. */
	for (int rank = 1; rank < o.ranks; rank++)
		failed |= wait(&status) < 0 || status;
	return failed;
}
