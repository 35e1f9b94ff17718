/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gap that fits best is taken, a warm one first.  Gaps that meet become
 * one, but cold and warm ones do not: nobody knows then which pages are there.
 */
#include "load/arena.h"

#include "base/mem.h"
#include "sys/memfile.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, HUGE_PAGE = 2 << 20 };
/* A file's blocks are all in it: there is room for large ones, far beyond the
 * limit, and for gaps between them. */
#define FILE_BYTES (UINT64_C(1) << 40)

/* ---- The mapping ------------------------------------------------------ */

static void *map(size_t bytes, int fd)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       flags | MAP_NORESERVE, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* As much as the address space, or its limit, lets us have. */
static int map_file(struct hp_arena *a)
{
	uint64_t bytes = a->limit < FILE_BYTES / 4 ? FILE_BYTES : 4 * a->limit;

	if (a->limit > INT64_MAX / 4)
		return -ENOMEM;
	a->fd = hp_memfile_new("hpdsl");
	if (a->fd < 0)
		return a->fd;
	for (; bytes / 2 > a->limit; bytes /= 2) {
		a->mapped = (size_t)bytes;
		if (hp_memfile_resize(a->fd, bytes) == 0 &&
		    (a->base = map(a->mapped, a->fd)))
			return 0;
	}
	hp_memfile_close(a->fd);
	return -ENOMEM;
}

static int map_memory(struct hp_arena *a)
{
	/* Twice the limit: gaps of the wrong sizes are not to be in the way. */
	uint64_t bytes = 2 * (a->limit + HUGE_PAGE);

	if (a->limit > SIZE_MAX / 8)
		return -ENOMEM;
	a->mapped = (size_t)(bytes - bytes % HUGE_PAGE);
	a->base = map(a->mapped, -1);
	if (!a->base)
		return -ENOMEM;
	madvise(a->base, a->mapped, MADV_HUGEPAGE);
	return 0;
}

static int add_gap(struct hp_arena *a, size_t i, size_t at, size_t bytes,
		   bool warm);

int hp_arena_init(struct hp_arena *a, uint64_t limit, bool shared)
{
	int r;

	*a = (struct hp_arena){ .limit = limit, .fd = -1 };
	r = shared ? map_file(a) : map_memory(a);
	if (r == 0)
		r = add_gap(a, 0, 0, a->mapped, false);
	if (r < 0)
		hp_arena_release(a);
	return r;
}

void hp_arena_release(struct hp_arena *a)
{
	if (a->base)
		munmap(a->base, a->mapped);
	if (a->base && a->fd >= 0)
		hp_memfile_close(a->fd);
	free(a->gap);
	*a = (struct hp_arena){ .fd = -1 };
}

/* ---- Gaps ------------------------------------------------------------- */

static void count(struct hp_arena *a, const struct hp_arena_gap *g, int sign)
{
	if (g->warm)
		a->warm += sign > 0 ? g->bytes : -(uint64_t)g->bytes;
}

static int add_gap(struct hp_arena *a, size_t i, size_t at, size_t bytes,
		   bool warm)
{
	if (a->gaps == a->room) {
		size_t room = a->room ? 2 * a->room : 64;
		void *v = reallocarray(a->gap, room, sizeof *a->gap);

		if (!v)
			return -ENOMEM;
		a->gap = v;
		a->room = room;
	}
	memmove(&a->gap[i + 1], &a->gap[i], (a->gaps++ - i) * sizeof *a->gap);
	a->gap[i] = (struct hp_arena_gap){ at, bytes, warm };
	count(a, &a->gap[i], 1);
	return 0;
}

static void drop_gap(struct hp_arena *a, size_t i)
{
	memmove(&a->gap[i], &a->gap[i + 1], (--a->gaps - i) * sizeof *a->gap);
}

/* Those behind and at i become one, if they meet and are alike. */
static void join(struct hp_arena *a, size_t i)
{
	struct hp_arena_gap *g = &a->gap[i];

	if (i + 1 >= a->gaps || g->at + g->bytes != g[1].at ||
	    g->warm != g[1].warm)
		return;
	g->bytes += g[1].bytes;
	drop_gap(a, i + 1);
}

/* The first that does not lie before this. */
static size_t find_after(const struct hp_arena *a, size_t at)
{
	size_t lo = 0, hi = a->gaps;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (a->gap[mid].at < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool is_better(const struct hp_arena_gap *a,
		      const struct hp_arena_gap *b)
{
	if (a->warm != b->warm)
		return a->warm;
	return a->bytes < b->bytes;
}

/* a->gaps: none is large enough. */
static size_t find_best(const struct hp_arena *a, size_t bytes)
{
	size_t best = a->gaps;

	for (size_t i = 0; i < a->gaps; i++)
		if (a->gap[i].bytes >= bytes &&
		    (best == a->gaps || is_better(&a->gap[i], &a->gap[best])))
			best = i;
	return best;
}

static void drop_pages(const struct hp_arena *a, const struct hp_arena_gap *g)
{
	madvise(a->base + g->at, g->bytes,
		a->fd < 0 ? MADV_DONTNEED : MADV_REMOVE);
}

void hp_arena_trim(struct hp_arena *a)
{
	for (size_t i = 0; i < a->gaps; i++) {
		if (!a->gap[i].warm)
			continue;
		drop_pages(a, &a->gap[i]);
		a->gap[i].warm = false;
	}
	a->warm = 0;
	for (size_t i = a->gaps; i-- > 0;)
		join(a, i);
}

/* ---- The bound -------------------------------------------------------- */

uint64_t hp_arena_cost(uint64_t bytes)
{
	uint64_t step = PAGE, most = UINT64_MAX / 2;

	if (bytes > most)
		return most;
	while (step * 16 <= bytes)
		step *= 2;
	return bytes ? (bytes + step - 1) / step * step : PAGE;
}

static uint64_t used(const struct hp_arena *a)
{
	return a->used + a->beside;
}

static void keep_bound(struct hp_arena *a)
{
	if (used(a) + a->warm > a->limit && a->warm)
		hp_arena_trim(a);
	if (used(a) + a->warm > a->peak)
		a->peak = used(a) + a->warm;
}

bool hp_arena_fits(const struct hp_arena *a, uint64_t bytes, uint64_t beside)
{
	uint64_t cost = hp_arena_cost(bytes);

	return cost <= a->limit && beside <= a->limit - cost &&
	       used(a) <= a->limit - cost - beside;
}

void hp_arena_charge(struct hp_arena *a, int64_t bytes)
{
	a->beside += (uint64_t)bytes;
	keep_bound(a);
}

/* ---- Places ----------------------------------------------------------- */

static void take(struct hp_arena *a, size_t i, size_t bytes,
		 struct hp_place *ret)
{
	struct hp_arena_gap *g = &a->gap[i];

	*ret = (struct hp_place){ a->base + g->at, bytes, false };
	if (g->warm)
		a->warm -= bytes;
	g->at += bytes;
	g->bytes -= bytes;
	if (!g->bytes)
		drop_gap(a, i);
}

static bool get_alone(size_t bytes, struct hp_place *ret)
{
	*ret = (struct hp_place){ map(bytes, -1), bytes, true };
	return ret->p;
}

bool hp_arena_get(struct hp_arena *a, uint64_t bytes, struct hp_place *ret)
{
	size_t cost = (size_t)hp_arena_cost(bytes), i = find_best(a, cost);

	if (i == a->gaps && a->warm) {
		hp_arena_trim(a);
		i = find_best(a, cost);
	}
	if (i < a->gaps)
		take(a, i, cost, ret);
	else if (a->fd >= 0 || !get_alone(cost, ret))
		return false;
	a->used += cost;
	keep_bound(a);
	return true;
}

static void put_gap(struct hp_arena *a, size_t at, size_t bytes)
{
	size_t i = find_after(a, at);
	struct hp_arena_gap g = { at, bytes, true };

	if (add_gap(a, i, at, bytes, true) < 0) {
		/* It is lost to us, but for its pages. */
		drop_pages(a, &g);
		return;
	}
	join(a, i);
	if (i)
		join(a, i - 1);
}

void hp_arena_put(struct hp_arena *a, const struct hp_place *place)
{
	a->used -= place->bytes;
	if (place->alone)
		munmap(place->p, place->bytes);
	else
		put_gap(a, (size_t)((uint8_t *)place->p - a->base),
			place->bytes);
	keep_bound(a); /* it may have been beyond that */
}
