/* SPDX-License-Identifier: Apache-2.0 */
#include "share.h"

#include "wire.h"

enum {
	/* An answer, and a small member that is looked at as a whole. */
	FRONT_BYTES = MOUNT_READ_MOST + (256 << 10) + 4096,
	READER_BYTES = MOUNT_READ_MOST + 4096,
	WHOLE_MOST = 16 << 20, /* each reader one */
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

struct mount_share mount_share_of(uint64_t memory, bool chunks)
{
	const uint64_t reader = READER_BYTES;
	struct mount_share r = { 0 };

	r.readers = (unsigned)least(MOUNT_READERS, memory / 4 / reader + 1);
	memory -= MOUNT_FRONT * (uint64_t)FRONT_BYTES + r.readers * reader;
	if (chunks) {
		r.windows = (unsigned)least(MOUNT_WINDOWS,
					    memory / 2 / MOUNT_WINDOW);
		memory -= r.windows * (uint64_t)MOUNT_WINDOW;
	} else {
		/* While one is read, it is in memory twice. */
		r.batch = (size_t)least(MOUNT_BATCH_MOST,
					memory / 2 / (MOUNT_BATCHES + 1));
		memory -= (MOUNT_BATCHES + 1) * (uint64_t)r.batch;
	}
	r.whole = least(memory, r.readers * (uint64_t)WHOLE_MOST);
	return r;
}
