/* SPDX-License-Identifier: Apache-2.0 */
#include "slots.h"

#include <sys/mman.h>

struct mount_slots *mount_slots_new(void)
{
	/* Pages that nobody writes to take no memory. */
	void *p = mmap(NULL, sizeof(struct mount_slots), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void blame(struct mount_blame *b, bool killed)
{
	if (killed)
		b->kills++;
	else
		b->faults++;
}

void mount_slots_failed(struct mount_slots *s, bool killed)
{
	for (int i = 0; i < MOUNT_FRONT; i++)
		if (atomic_load(&s->slot[i].size))
			blame(&s->slot[i].blame, killed);
	for (int i = 0; i < MOUNT_KEPT; i++)
		if (atomic_load(&s->kept[i].is) == MOUNT_KEPT_BEGUN)
			blame(&s->kept[i].blame, killed);
}

bool mount_slots_has_read(const struct mount_slots *s, uint64_t member)
{
	const uint32_t most = atomic_load(&s->kept_most);

	for (int i = 0; i < MOUNT_FRONT; i++)
		if (atomic_load(&s->slot[i].reads) == member + 1)
			return true;
	for (uint32_t i = 0; i < most; i++)
		if (atomic_load(&s->kept[i].is) != MOUNT_KEPT_FREE &&
		    atomic_load(&s->kept[i].member) == member)
			return true;
	return false;
}

bool mount_slots_decide(struct mount_slots *s, bool giver)
{
	int was = MOUNT_GIVER_OPEN;

	atomic_compare_exchange_strong(
		&s->giver, &was, giver ? MOUNT_GIVER_IS : MOUNT_GIVER_NONE);
	return atomic_load(&s->giver) == MOUNT_GIVER_IS;
}
