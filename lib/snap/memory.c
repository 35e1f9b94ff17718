/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot that is never a file: to compare a tree with another snapshot. */
#include "snap/write.h"

#include "base/error.h"
#include "base/mem.h"

#include <string.h>

static int write_memory(void *arg, const void *buf, size_t n, uint64_t off,
			struct hpdsl_error *err)
{
	(void)err;
	memcpy((uint8_t *)arg + off, buf, n);
	return 0;
}

int hp_snap_in_memory(const struct hp_tree *t, uint32_t threads,
		      const char *name, void **ret_bytes,
		      struct hpdsl_snapshot **ret, struct hpdsl_error *err)
{
	hp_auto_free uint8_t *bytes = hp_array(hp_snap_bound(t), 1);
	const struct hp_sink_at sink = { write_memory, bytes };
	struct hpdsl_snapshot_info info;
	uint8_t *cut;
	int r;

	if (!bytes)
		return hp_fail_nomem(err);
	r = hp_snap_write(t, threads, &sink, &info, err);
	if (r < 0)
		return r;
	cut = realloc(bytes, info.file_bytes);
	if (cut)
		bytes = cut;
	r = hp_snap_open(bytes, info.file_bytes, name, ret, err);
	if (r == 0)
		*ret_bytes = hp_take(bytes);
	return r;
}
