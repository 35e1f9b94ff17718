/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much room there is where a stage directory lies.  Whether that is memory
 * is told by the file system's kind, never by a name.
 */
#include "sys/memory.h"
#include "stage/private.h"

#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>

/* 5 % of it stay free. */
static uint64_t less_some(uint64_t bytes)
{
	return bytes - bytes / 20 - (bytes % 20 != 0);
}

static int held(const struct hpdsl_stage *s, uint64_t *ret)
{
	uint64_t sum = hp_stage_sides_held(s, NULL);

	for (uint64_t i = 0; i < s->chunks; i++)
		if (hpdsl_stage_holds(s, i) &&
		    __builtin_add_overflow(sum, hp_stage_chunk_bytes(s, i),
					   &sum))
			return -EOVERFLOW;
	*ret = sum;
	return 0;
}

/*
 * Room of an open directory, without what is held there; *ret_type is the kind
 * of file system.
 */
static int ask(const struct hp_io *io, int dir, struct hpdsl_stage_place *p,
	       uint64_t *ret_type)
{
	struct statvfs fs;
	struct stat st;
	int r = hp_io_fstat(io, dir, &st);

	if (r == 0)
		r = io->statvfs(io, dir, &fs);
	if (r == 0)
		r = io->fs_type(io, dir, ret_type);
	if (r < 0)
		return r;
	p->device = st.st_dev;
	p->inode = st.st_ino;
	p->ram = *ret_type == TMPFS_MAGIC || *ret_type == RAMFS_MAGIC;
	if (__builtin_mul_overflow((uint64_t)fs.f_bavail, (uint64_t)fs.f_frsize,
				   &p->free_bytes))
		p->free_bytes = UINT64_MAX;
	/* Without a bound of its own, it has no blocks. */
	if (p->ram && !fs.f_blocks)
		p->free_bytes = UINT64_MAX;
	if (p->ram)
		p->memory_bytes = hp_memory_left(io);
	return 0;
}

static void add_up(struct hpdsl_stage_place *p)
{
	uint64_t room = p->free_bytes;

	if (p->ram && p->memory_bytes < room)
		room = p->memory_bytes;
	if (__builtin_add_overflow(less_some(room), p->held_bytes,
				   &p->capacity))
		p->capacity = UINT64_MAX;
}

int hpdsl_stage_place(const struct hpdsl_stage *s,
		      struct hpdsl_stage_place *ret, struct hpdsl_error *err)
{
	struct hpdsl_stage_place p = { .ram = false };
	uint64_t type;
	int r = ask(s->io, s->dir, &p, &type);

	if (r == 0)
		r = held(s, &p.held_bytes);
	if (r < 0)
		return hp_fail_errno(err, r, "%s", s->path);
	add_up(&p);
	*ret = p;
	return 0;
}

int hpdsl_stage_look(const char *path, const struct hp_io *io,
		     struct hpdsl_stage_ground *ret, struct hpdsl_error *err)
{
	struct hpdsl_stage_ground g = { .place.ram = false };
	uint64_t type;
	int r;

	io = hp_io_or_system(io);
	hp_auto_fd f = { io, io->open(io, AT_FDCWD, path,
				      O_RDONLY | O_DIRECTORY, 0) };

	r = f.fd < 0 ? f.fd : ask(io, f.fd, &g.place, &type);
	if (r < 0)
		return hp_fail_errno(err, r, "%s", path);
	add_up(&g.place);
	snprintf(g.shared, sizeof g.shared, "%s", hp_stage_shared_kind(type));
	*ret = g;
	return 0;
}
