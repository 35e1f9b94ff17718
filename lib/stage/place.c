/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much room there is where a stage directory lies.  Whether that is memory
 * is told by the file system's kind, never by a name.
 */
#include "stage/memory.h"
#include "stage/private.h"

#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <linux/magic.h>
#include <string.h>

/* 5 % of it stay free. */
static uint64_t less_some(uint64_t bytes)
{
	return bytes - bytes / 20 - (bytes % 20 != 0);
}

static int held(const struct hpdsl_stage *s, uint64_t *ret)
{
	hp_auto_free uint64_t *weight = hp_array(s->chunks, sizeof *weight);
	uint64_t sum = 0;

	if (!weight)
		return -ENOMEM;
	hpdsl_stage_weights(s, weight);
	for (uint64_t i = 0; i < s->chunks; i++)
		if (hpdsl_stage_holds(s, i) &&
		    __builtin_add_overflow(sum, weight[i], &sum))
			return -EOVERFLOW;
	*ret = sum;
	return 0;
}

static int ask(const struct hpdsl_stage *s, struct hpdsl_stage_place *p,
	       struct statvfs *fs)
{
	struct stat st;
	uint64_t type;
	int r = hp_io_fstat(s->io, s->dir, &st);

	if (r == 0)
		r = s->io->statvfs(s->io, s->dir, fs);
	if (r == 0)
		r = s->io->fs_type(s->io, s->dir, &type);
	if (r == 0)
		r = held(s, &p->held_bytes);
	if (r < 0)
		return r;
	p->device = st.st_dev;
	p->inode = st.st_ino;
	p->ram = type == TMPFS_MAGIC || type == RAMFS_MAGIC;
	return 0;
}

int hpdsl_stage_place(const struct hpdsl_stage *s,
		      struct hpdsl_stage_place *ret, struct hpdsl_error *err)
{
	struct hpdsl_stage_place p = { .ram = false };
	struct statvfs fs;
	int r = ask(s, &p, &fs);
	uint64_t room;

	if (r < 0)
		return hp_fail_errno(err, r, "%s", s->path);
	if (__builtin_mul_overflow((uint64_t)fs.f_bavail, (uint64_t)fs.f_frsize,
				   &p.free_bytes))
		p.free_bytes = UINT64_MAX;
	/* Without a bound of its own, it has no blocks. */
	if (p.ram && !fs.f_blocks)
		p.free_bytes = UINT64_MAX;
	room = p.free_bytes;
	if (p.ram) {
		p.memory_bytes = hp_memory_left(s->io);
		room = p.memory_bytes < room ? p.memory_bytes : room;
	}
	if (__builtin_add_overflow(less_some(room), p.held_bytes, &p.capacity))
		p.capacity = UINT64_MAX;
	*ret = p;
	return 0;
}
