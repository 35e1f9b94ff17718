/* SPDX-License-Identifier: Apache-2.0 */
/* The copy of an adopted chunk: its room, its file, its checksum. */
#include "serve/adopt_private.h"

#include "base/file_digest.h"
#include "base/mem.h"
#include "sys/clock.h"
#include "sys/memfile.h"
#include "sys/memory.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>

/* ---- Room ------------------------------------------------------------- */

/* What lies in memory is the job's: no more of it than staging would take. */
static uint64_t cap(struct hpdsl_serve *s, uint64_t unused)
{
	uint64_t type, left;

	if (s->io->fs_type(s->io, s->ds->dir, &type) < 0 ||
	    (type != TMPFS_MAGIC && type != RAMFS_MAGIC))
		return unused;
	left = hp_memory_left(s->io);
	return left < unused ? left : unused;
}

static uint64_t unused(struct hpdsl_serve *s)
{
	struct statvfs fs;
	uint64_t n;

	if (s->io->statvfs(s->io, s->ds->dir, &fs) < 0 ||
	    __builtin_mul_overflow((uint64_t)fs.f_bavail, (uint64_t)fs.f_frsize,
				   &n))
		return 0;
	return cap(s, n);
}

/* Of two who look at once each sees what the other one has been promised. */
static bool reserve(struct hpdsl_serve *s, struct hp_adoptee *a)
{
	struct hp_adopting *all = s->adoption;
	bool is;

	pthread_mutex_lock(&all->lock);
	is = hp_room_for(a->row.bytes, unused(s), all->reserved);
	if (is) {
		a->reserved = a->row.bytes;
		all->reserved += a->reserved;
	}
	pthread_mutex_unlock(&all->lock);
	return is;
}

void hp_adoptee_unreserve(struct hp_adopting *all, struct hp_adoptee *a,
			  uint64_t bytes)
{
	if (bytes > a->reserved)
		bytes = a->reserved;
	all->reserved -= bytes;
	a->reserved -= bytes;
}

/* Within what the user allows, and what is left. */
static bool reserve_memory(struct hpdsl_serve *s, struct hp_adoptee *a)
{
	struct hp_adopting *all = s->adoption;
	bool is = false;

	pthread_mutex_lock(&all->lock);
	if (s->memory >= all->memory && a->row.bytes <= s->memory - all->memory)
		is = hp_room_for(a->row.bytes, hp_memory_left(s->io), 0);
	if (is) {
		a->in_memory = true;
		all->memory += a->row.bytes;
		hp_serve_add(&s->count.memory_bytes, a->row.bytes);
	}
	pthread_mutex_unlock(&all->lock);
	return is;
}

void hp_adoptee_forget(struct hpdsl_serve *s, struct hp_adoptee *a)
{
	struct hp_adopting *all = s->adoption;

	hp_adoptee_unreserve(all, a, a->row.bytes);
	if (!a->in_memory)
		return;
	a->in_memory = false;
	all->memory -= a->row.bytes;
	hp_serve_add(&s->count.memory_bytes, -a->row.bytes);
}

/* ---- The file --------------------------------------------------------- */

/* 1: it has all its blocks; 0: it gets them as it is written. */
static int take_blocks(struct hpdsl_serve *s, int fd, uint64_t bytes)
{
	int r = s->io->allocate(s->io, fd, bytes);

	if (r == -EOPNOTSUPP)
		return s->io->truncate(s->io, fd, bytes);
	return r < 0 ? r : 1;
}

static int make_in_memory(struct hpdsl_serve *s, struct hp_adoptee *a)
{
	hp_auto_fd f = { s->io, -1 };
	int r;

	if (!reserve_memory(s, a))
		return -ENOSPC;
	f.fd = hp_memfile_new("hpdsl-serve");
	r = f.fd < 0 ? f.fd : hp_memfile_resize(f.fd, a->row.bytes);
	if (r < 0)
		return -ENOSPC;
	r = f.fd;
	f.fd = -1;
	return r;
}
static int make_file(struct hpdsl_serve *s, struct hp_adoptee *a)
{
	struct hp_adopting *all = s->adoption;
	hp_auto_fd f = { s->io, -1 };
	int r;

	if (!reserve(s, a))
		return -ENOSPC;
	f.fd = s->io->open(s->io, s->ds->dir, ".", O_TMPFILE | O_RDWR, 0600);
	r = f.fd < 0 ? f.fd : take_blocks(s, f.fd, a->row.bytes);
	if (r) {
		pthread_mutex_lock(&all->lock);
		hp_adoptee_unreserve(all, a, a->row.bytes);
		pthread_mutex_unlock(&all->lock);
	}
	if (r < 0)
		return r;
	r = f.fd;
	f.fd = -1;
	return r;
}

int hp_adoptee_make(struct hpdsl_serve *s, struct hp_adoptee *a)
{
	int r = make_file(s, a);

	return r == -ENOSPC || r == -EDQUOT ? make_in_memory(s, a) : r;
}

/* ---- Bytes ------------------------------------------------------------ */

bool hp_adoptee_is_right(struct hpdsl_serve *s, const struct hp_adoptee *a,
			 uint8_t *buf, uint64_t *moved)
{
	struct hp_file_digest d;
	uint8_t digest[16];

	hp_file_digest_begin(&d);
	for (uint64_t at = 0; at < a->row.bytes; at += HP_PIECE) {
		uint64_t left = a->row.bytes - at;
		size_t n = left < HP_PIECE ? (size_t)left : HP_PIECE;

		if (hp_io_pread_full(s->io, a->fd, buf, n, at) != (ssize_t)n)
			return false;
		hp_file_digest_add(&d, buf, n);
		hp_fetcher_moves(moved);
	}
	hp_file_digest_end(&d, digest);
	if (a->in_memory)
		hp_memfile_seal(a->fd);
	return memcmp(digest, a->row.checksum, sizeof digest) == 0;
}
