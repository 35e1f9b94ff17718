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
