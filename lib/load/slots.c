/* SPDX-License-Identifier: Apache-2.0 */
/* Slots: all of them in one mapping, which takes no memory until it is used. */
#include "load/slots.h"

#include "base/mem.h"

#include <errno.h>
#include <sys/mman.h>

/* So that large slots are made of whole huge pages. */
enum { HUGE_PAGE = 2 << 20 };

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static uint8_t *first_slot(const struct hp_slots *s)
{
	uintptr_t at = (uintptr_t)s->base + HUGE_PAGE - 1;

	return s->base +
	       ((at & ~(uintptr_t)(HUGE_PAGE - 1)) - (uintptr_t)s->base);
}

int hp_slots_init(struct hp_slots *s, uint64_t limit, size_t slot)
{
	uint64_t n = limit / slot;

	*s = (struct hp_slots){ .slot = slot, .limit = limit };
	s->n = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX - 1;
	if (__builtin_mul_overflow(s->n, slot, &s->mapped) ||
	    __builtin_add_overflow(s->mapped, HUGE_PAGE, &s->mapped))
		return -ENOMEM;
	s->free = hp_array(s->n, sizeof *s->free);
	s->base = map(s->mapped);
	if (!s->free || !s->base) {
		hp_slots_release(s);
		return -ENOMEM;
	}
	if (slot >= HUGE_PAGE)
		madvise(s->base, s->mapped, MADV_HUGEPAGE);
	while (s->n_free < s->n) {
		s->free[s->n_free] = s->n - 1 - s->n_free;
		s->n_free++;
	}
	s->cold = s->n_free;
	return 0;
}

void hp_slots_release(struct hp_slots *s)
{
	if (s->base)
		munmap(s->base, s->mapped);
	free(s->free);
	s->base = NULL;
	s->free = NULL;
}

static uint64_t used(const struct hp_slots *s)
{
	return (uint64_t)(s->n - s->n_free) * s->slot + s->large + s->beside;
}

/* Pages of free slots count, too. */
static uint64_t held(const struct hp_slots *s)
{
	return used(s) + (uint64_t)(s->n_free - s->cold) * s->slot;
}

void hp_slots_trim(struct hp_slots *s)
{
	for (uint32_t i = s->cold; i < s->n_free; i++)
		madvise(first_slot(s) + s->free[i] * s->slot, s->slot,
			MADV_DONTNEED);
	s->cold = s->n_free;
}

/* Free slots keep their pages unless the limit is exceeded otherwise. */
static void make_room(struct hp_slots *s)
{
	if (held(s) > s->limit)
		hp_slots_trim(s);
	if (held(s) > s->peak)
		s->peak = held(s);
}

bool hp_slots_fit(const struct hp_slots *s, size_t bytes)
{
	uint64_t cost = hp_slots_cost(s->slot, bytes);

	return cost <= s->limit && used(s) <= s->limit - cost &&
	       (bytes > s->slot || s->n_free);
}

static bool get_large(struct hp_slots *s, size_t bytes, struct hp_slot *ret)
{
	void *p;

	bytes = (bytes + 4095) & ~(size_t)4095;
	p = map(bytes);
	if (!p)
		return false;
	s->large += bytes;
	*ret = (struct hp_slot){ p, bytes, UINT32_MAX };
	return true;
}

static void get_slot(struct hp_slots *s, struct hp_slot *ret)
{
	uint32_t i = s->free[--s->n_free];

	if (s->cold > s->n_free)
		s->cold = s->n_free;
	*ret = (struct hp_slot){ first_slot(s) + i * s->slot, s->slot, i };
}

bool hp_slots_get(struct hp_slots *s, size_t bytes, bool over,
		  struct hp_slot *ret)
{
	if (!over && !hp_slots_fit(s, bytes))
		return false;
	if (bytes <= s->slot && s->n_free)
		get_slot(s, ret);
	else if (!get_large(s, bytes ? bytes : 1, ret))
		return false;
	make_room(s);
	return true;
}

void hp_slots_put(struct hp_slots *s, const struct hp_slot *slot)
{
	if (slot->number == UINT32_MAX) {
		munmap(slot->p, slot->bytes);
		s->large -= slot->bytes;
	} else {
		s->free[s->n_free++] = slot->number;
	}
}

void hp_slots_charge(struct hp_slots *s, int64_t bytes)
{
	s->beside += (uint64_t)bytes;
	make_room(s);
}
