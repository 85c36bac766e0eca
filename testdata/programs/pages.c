/*
 * pages.c - memory made busy on purpose.
 *   pages touch N     first touches of N fresh pages, below touch_read (even) or touch_write (odd)
 *   pages collapse N  N regions of 2 MiB touched as small pages, then joined by MADV_COLLAPSE
 *   pages both N      the same, then N MiB with holes, and all memory compacted (needs root)
 */
#include "tiny.h"

#define PAGE		4096UL
#define HUGE		(2UL << 20)
#define MADV_HUGEPAGE	14
#define MADV_NOHUGEPAGE 15
#define MADV_COLLAPSE	25

static volatile unsigned long sink;

static uint8_t *map(size_t size)
{
	/* PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS */
	return (uint8_t *)SYS6(SYS_mmap, 0, size, 3, 0x22, -1, 0);
}

NOINLINE void touch_read(volatile uint8_t *page)
{
	sink += *page;
	sink++;
}

NOINLINE void touch_write(volatile uint8_t *page)
{
	*page = 1;
	sink++;
}

NOINLINE void touch(uint8_t *memory, long pages)
{
	SYS3(SYS_madvise, memory, (size_t)pages * PAGE, MADV_NOHUGEPAGE);
	for (long i = 0; i < pages; i++) {
		if (i & 1)
			touch_write(memory + (size_t)i * PAGE);
		else
			touch_read(memory + (size_t)i * PAGE);
	}
}

NOINLINE void collapse(uint8_t *memory, long regions)
{
	memory = (uint8_t *)(((uintptr_t)memory + HUGE - 1) & ~(HUGE - 1));
	SYS3(SYS_madvise, memory, (size_t)regions * HUGE, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < (size_t)regions * HUGE; i += 8 * PAGE)
		touch_write(memory + i);
	SYS3(SYS_madvise, memory, (size_t)regions * HUGE, MADV_HUGEPAGE);
	for (long i = 0; i < regions; i++)
		SYS3(SYS_madvise, memory + (size_t)i * HUGE, HUGE, MADV_COLLAPSE);
	sink++;
}

NOINLINE void compact(uint8_t *memory, long megabytes)
{
	size_t size = (size_t)megabytes << 20;
	long fd;

	for (size_t i = 0; i < size; i += PAGE)
		touch_write(memory + i);
	for (size_t i = 0; i < size; i += 2 * PAGE)
		SYS3(SYS_madvise, memory + i, PAGE, 4 /* MADV_DONTNEED */);
	fd = SYS3(SYS_open, "/proc/sys/vm/compact_memory", 1 /* O_WRONLY */, 0);
	SYS3(SYS_write, fd, "1", 1);
	SYS1(SYS_close, fd);
}

int tiny_main(int argc, char **argv)
{
	long n = argc > 2 ? tiny_number(argv[2]) : 16;
	char what = argc > 1 ? argv[1][0] : 't';

	if (what == 't') {
		touch(map((size_t)n * PAGE), n);
		return 0;
	}
	collapse(map((size_t)(n + 1) * HUGE), n);
	if (what == 'b')
		compact(map((size_t)n << 20), n);
	return 0;
}
