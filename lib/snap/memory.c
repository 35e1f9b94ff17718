/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot that is never a file of a name. */
#include "snap/private.h"
#include "snap/write.h"

#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdlib.h>
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

/* ---- One's own -------------------------------------------------------- */

/* More than this is kept in a file, whose pages the system can take back. */
enum { IN_MEMORY_MOST = 16 << 20 };

/* Of a disk, and without a name: it goes with the process, whatever becomes of
 * that.  -errno: there is none. */
static int temporary_file(const struct hp_io *io, uint64_t size)
{
	const char *dir = getenv("TMPDIR");
	uint64_t type;
	int r, fd = io->open(io, AT_FDCWD, dir && *dir ? dir : "/tmp",
			     O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		return fd;
	r = io->fs_type(io, fd, &type);
	if (r == 0 && (type == TMPFS_MAGIC || type == RAMFS_MAGIC))
		r = -ENOTSUP; /* that is memory, too */
	if (r == 0)
		r = io->allocate(io, fd, size);
	if (r == 0)
		return fd;
	io->close(io, fd);
	return r;
}

struct in_file {
	const struct hp_io *io;
	int fd;
};

static int write_file(void *arg, const void *buf, size_t n, uint64_t off,
		      struct hpdsl_error *err)
{
	const struct in_file *f = arg;
	int r = hp_io_pwrite_full(f->io, f->fd, buf, n, off);

	return r < 0 ? hp_fail_errno(err, r, "temporary file") : 0;
}

static int map_file(const struct in_file *f, uint64_t size, const char *name,
		    struct hpdsl_snapshot **ret, struct hpdsl_error *err)
{
	struct hp_view v = { .io = f->io, .size = size, .mapped = true };
	int r = f->io->map(f->io, f->fd, size, &v.p);

	if (r < 0)
		return hp_fail_errno(err, r, "temporary file");
	r = hp_snap_open(v.p, size, name, ret, err);
	if (r == 0)
		(*ret)->view = v;
	else
		hp_view_close(&v);
	return r;
}

static int own_file(const struct hp_tree *t, uint32_t threads,
		    const struct in_file *f, const char *name,
		    struct hpdsl_snapshot **ret, struct hpdsl_error *err)
{
	const struct hp_sink_at sink = { write_file, (void *)f };
	struct hpdsl_snapshot_info info;
	int r = hp_snap_write(t, threads, &sink, &info, err);

	if (r < 0)
		return r;
	r = f->io->truncate(f->io, f->fd, info.file_bytes);
	if (r < 0)
		return hp_fail_errno(err, r, "temporary file");
	return map_file(f, info.file_bytes, name, ret, err);
}

static int own_memory(const struct hp_tree *t, uint32_t threads,
		      const char *name, struct hpdsl_snapshot **ret,
		      struct hpdsl_error *err)
{
	void *bytes;
	int r = hp_snap_in_memory(t, threads, name, &bytes, ret, err);

	if (r == 0)
		(*ret)->view = (struct hp_view){
			.p = bytes,
			.size = (*ret)->info.file_bytes,
		};
	return r;
}

int hp_snap_own(const struct hp_tree *t, uint32_t threads, const char *name,
		struct hpdsl_snapshot **ret, struct hpdsl_error *err)
{
	const uint64_t most = hp_snap_bound(t);
	struct in_file f = { &hp_io_system, -1 };
	int r;

	if (most > IN_MEMORY_MOST)
		f.fd = temporary_file(f.io, most);
	if (f.fd < 0)
		return own_memory(t, threads, name, ret, err);
	r = own_file(t, threads, &f, name, ret, err);
	f.io->close(f.io, f.fd);
	return r;
}
