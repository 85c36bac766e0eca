/*
 * thp_advice.c - what to do about what was found, and when that does not help.
 */
#include "thp.h"

#include <string.h>

struct list {
	struct tl_thp_work *w;
	size_t capacity;
	int status;
	struct tl_error *err;
};

static bool is_at_work(const struct tl_thp *out)
{
	return out->answer == TL_THP_IS_CONFIRMED || out->answer == TL_THP_IS_CONTRIBUTING;
}

static const struct tl_thp_evidence *find_line(const struct tl_thp *out, const char *what)
{
	for (size_t i = 0; i < out->evidence_count; i++) {
		if (!strcmp(out->evidence[i].what, what))
			return &out->evidence[i];
	}
	return NULL;
}

static void advise(struct list *a, const char *finding, const char *advice, const char *unless)
{
	struct tl_thp *out = a->w->out;

	if (a->status == TL_OK)
		a->status = tl_grow(&out->advice, &a->capacity, out->advice_count + 1, a->err);
	if (a->status == TL_OK)
		out->advice[out->advice_count++] =
			(struct tl_thp_advice) { finding, advice, unless };
}

static bool is_part(const struct tl_thp *out, const char *what)
{
	const struct tl_thp_evidence *e = find_line(out, what);

	return e && e->share >= 0.1 && e->share_low > 0;
}

static void advise_on_direct(struct list *a)
{
	struct tl_thp *out = a->w->out;

	const char *defrag = tl_thp_setting(a->w, "thp.defrag");
	const char *enabled = tl_thp_setting(a->w, "thp.enabled");
	bool is_madvised =
		(enabled && !strcmp(enabled, "madvise")) ||
		(defrag && (!strcmp(defrag, "madvise") || !strcmp(defrag, "defer+madvise")));

	if (!is_part(out, "compacting memory for its own huge page") &&
	    !is_part(out, "reclaiming memory for its own huge page"))
		;
	else if (is_madvised)
		advise(a,
		       "the thread compacts or reclaims memory for its own huge pages, which it "
		       "madvised: neither enabled=madvise nor defrag=madvise keeps it from that",
		       "defrag=defer, or enabled=never; or have the job not madvise: "
		       "NUMPY_MADVISE_HUGEPAGE=0, THP_MEM_ALLOC_ENABLE=0, jemalloc thp:never",
		       "the huge pages are worth it: then free memory before they are asked for "
		       "(drop a checkpoint's page cache, compact_memory between steps)");
	else
		advise(a, "the thread compacts or reclaims memory for its own huge pages",
		       "defrag=defer+madvise (or madvise), or enabled=madvise, so that page faults "
		       "take small pages instead of waiting",
		       "the buffers are madvised (NumPy from 4 MB on, PyTorch with "
		       "THP_MEM_ALLOC_ENABLE=1, jemalloc thp:always, glibc.malloc.hugetlb=1, Go "
		       "1.21.0): then defrag=defer, NUMPY_MADVISE_HUGEPAGE=0, or enabled=never");
	if (is_part(out, "faulting huge pages in, beyond what small ones took"))
		advise(a, "huge pages are zeroed in page faults",
		       "reuse buffers instead of mapping new ones, or enabled=madvise",
		       "all of the memory is used: then the pages are zeroed one way or another");
	if (is_part(out, "splitting or joining huge pages"))
		advise(a, "huge pages are split when a part of them is given back",
		       "give back whole huge pages, or less often: jemalloc dirty_decay_ms, "
		       "glibc M_TRIM_THRESHOLD and M_MMAP_THRESHOLD",
		       "the memory must be given back to others");
}

static void advise_on_daemons(struct list *a)
{
	struct tl_thp *out = a->w->out;
	const char *enabled = tl_thp_setting(a->w, "thp.enabled");
	double lock = out->mechanism_share[TL_THP_LOCK];

	if (lock >= 0.1 && enabled && !strcmp(enabled, "madvise"))
		advise(a,
		       "waits for mmap_lock coincide with khugepaged's collapses, and huge pages are "
		       "enabled for madvised memory only",
		       "keep khugepaged away from the job: have the job not madvise "
		       "(NUMPY_MADVISE_HUGEPAGE=0, THP_MEM_ALLOC_ENABLE=0), prctl(PR_SET_THP_DISABLE) "
		       "in its launcher, enabled=never, or less of khugepaged "
		       "(khugepaged/pages_to_scan down, scan_sleep_millisecs up); reuse buffers "
		       "instead of mmap and munmap in every step (M_MMAP_THRESHOLD, an allocator's "
		       "cache)",
		       "other threads' munmap or mprotect hold the lock");
	else if (lock >= 0.1)
		advise(a, "waits for mmap_lock coincide with khugepaged's collapses",
		       "keep khugepaged away from the job: enabled=madvise, "
		       "prctl(PR_SET_THP_DISABLE) in its launcher, or less of it "
		       "(khugepaged/pages_to_scan down, scan_sleep_millisecs up); reuse buffers "
		       "instead of mmap and munmap in every step (M_MMAP_THRESHOLD, an allocator's "
		       "cache)",
		       "the memory is madvised by the job or its libraries: enabled=madvise changes "
		       "nothing then, enabled=never does; or other threads' munmap or mprotect hold "
		       "the lock");
	if (is_part(out, "waiting for a CPU that khugepaged has") ||
	    is_part(out, "waiting for a CPU that kcompactd has"))
		advise(a, "daemons have the CPU that the thread waits for",
		       "keep daemons off the CPUs of the training threads (taskset, cpusets, "
		       "isolcpus), or khugepaged/defrag=0 and larger scan_sleep_millisecs and "
		       "alloc_sleep_millisecs",
		       "the thread waits for its own process's threads, or for other daemons");
	if (is_part(out, "waiting for a CPU that kcompactd has"))
		advise(a, "kcompactd compacts ahead of time", "vm.compaction_proactiveness=0",
		       "it serves other orders than huge pages; and direct compaction may rise: "
		       "watch compact_stall");
}

static void advise_on_others(struct list *a)
{
	struct tl_thp *out = a->w->out;

	if (is_part(out, "reclaiming memory, not for huge pages") ||
	    is_part(out, "compacting memory, not for huge pages"))
		advise(a, "memory is reclaimed or compacted, and not for huge pages",
		       "not a matter of huge pages: bound the page cache (O_DIRECT, "
		       "posix_fadvise(DONTNEED), vm.dirty_bytes), reuse checkpoint buffers, raise "
		       "vm.min_free_kbytes or vm.watermark_scale_factor",
		       NULL);
}

static void advise_on_memcg(struct list *a)
{
	if (is_part(a->w->out, "reclaiming memory, or held up, for the limit of its control group"))
		advise(a,
		       "the thread reclaims memory, or is held up, because its control group is at "
		       "its limit, whatever the machine has free",
		       "not a matter of huge pages: raise memory.high and memory.max of the group "
		       "(the container's memory limit), or keep the page cache of checkpoints small "
		       "(O_DIRECT, posix_fadvise(DONTNEED)), which counts there, too",
		       "the limit is what keeps other jobs of the machine running");
}

static void advise_on_hugetlb(struct list *a)
{
	if (is_part(a->w->out, "making huge pages of hugetlbfs, which no THP setting affects"))
		advise(a,
		       "the thread maps huge pages of hugetlbfs (MAP_HUGETLB, shmget, a file of "
		       "hugetlbfs): they come from a pool, or are compacted for beyond it",
		       "no setting of transparent huge pages matters: reserve the pool early "
		       "(hugepages= at boot, vm.nr_hugepages) instead of vm.nr_overcommit_hugepages, "
		       "map once with MAP_POPULATE, and reuse what was mapped",
		       NULL);
}

int tl_thp_find_advice(struct tl_thp_work *w, struct tl_error *err)
{
	struct list a = { .w = w, .err = err };

	if (is_at_work(w->out)) {
		advise_on_direct(&a);
		advise_on_daemons(&a);
	}
	advise_on_others(&a);
	advise_on_memcg(&a);
	advise_on_hugetlb(&a);
	if (is_at_work(w->out))
		advise(&a, "before and after",
		       "change one setting, restart the job (settings act on new mappings only), and "
		       "compare: traceloom steps good.db --against changed.db; expect to lose what "
		       "huge pages save in TLB misses",
		       "never: enabled=never also takes huge pages from programs that ask for them");
	return a.status;
}
