/* SPDX-License-Identifier: Apache-2.0 */
/* What a pack needs before it begins: room, and the user's patience. */
#include "pack/pack.h"

#include "base/error.h"
#include "base/mem.h"
#include "scatter/scatter.h"
#include "sys/clock.h"
#include "sys/pool.h"
#include "write/read_file.h"

#include <errno.h>
#include <inttypes.h>

enum {
	PROBE_FILES = 256,
	PROBE_BYTES = 1 << 20, /* of one file at most */
	PROBE_READERS = 16,
	OTHER_FILES = 4, /* manifest, index, journal and one to spare */
	MANIFEST_ROW = 128,
	SHA256_ROW = 192, /* there, and in SHA256SUMS */
};

static void human(uint64_t bytes, char out[32])
{
	double v = (double)bytes;
	const char *unit = "BKMGTP";

	while (v >= 1024 && unit[1]) {
		v /= 1024;
		unit++;
	}
	snprintf(out, 32, *unit == 'B' ? "%.0f bytes" : "%.1f %ciB", v, *unit);
}

int hp_check_space(const struct hp_pack *p, struct hpdsl_error *err)
{
	uint64_t files, room;
	uint64_t need = p->w.report->index_bytes + hp_emit_bound(p, &files);
	char a[32], b[32];
	struct statvfs vfs;
	bool left = false;
	bool parts = hp_scatter_resumes(&p->w);
	int r = p->w.io->statvfs(p->w.io, p->target.dir, &vfs);

	if (r < 0)
		return hp_fail_errno(err, r, "%s", p->target.output);
	files += OTHER_FILES;
	for (uint32_t c = 0; c < p->w.plan.n_chunks; c++) {
		if (p->w.done[c].done)
			continue;
		need += hp_plan_chunk_bytes(&p->w.plan, c) + MANIFEST_ROW;
		if (parts)
			need -= hp_scatter_space(&p->w, c);
		files++;
		left = true;
	}
	/* A chunk that saves too little is there in both forms for a moment. */
	if (p->w.opt->zstd && left) {
		need += p->w.plan.chunk_max;
		files++;
		/* Those to be compressed are all there before the first is. */
		if (hp_scatter_wanted(&p->w))
			need += 2 * p->w.plan.chunk_max;
	}
	if (p->w.opt->digest == HPDSL_DIGEST_SHA256)
		need += (++files + 1) * SHA256_ROW;
	if (__builtin_mul_overflow((uint64_t)vfs.f_bavail,
				   (uint64_t)vfs.f_frsize, &room))
		room = UINT64_MAX;
	/* Some file systems do not know: 0 blocks or 0 inodes in all. */
	if (vfs.f_blocks && need > room) {
		human(need, a);
		human(room, b);
		return hp_fail(err, -ENOSPC, "%s: needs %s, has %s free",
			       p->target.output, a, b);
	}
	if (vfs.f_files && files > vfs.f_favail)
		return hp_fail(err, -ENOSPC,
			       "%s: needs %" PRIu64 " inodes, has %" PRIu64
			       " free",
			       p->target.output, files, (uint64_t)vfs.f_favail);
	return 0;
}

struct probe {
	const struct hp_pack *p;
	uint64_t step;
	uint64_t bytes; /* read; atomic */
};

static int probe_packed(struct probe *z, const struct hp_file *f, void *buf,
			struct hpdsl_error *err)
{
	size_t n = f->size < PROBE_BYTES ? (size_t)f->size : PROBE_BYTES;

	__atomic_fetch_add(&z->bytes, n, __ATOMIC_RELAXED);
	return hp_read_content(&z->p->w, f, buf, n, 0, err);
}

static int probe_one(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct probe *z = arg;
	const struct hp_list *list = &z->p->w.list;
	const struct hp_file *f = &list->files[number * z->step];
	hp_auto_free char *buf = malloc(PROBE_BYTES);
	hp_auto_fd fd = { z->p->w.io, -1 };
	ssize_t n;

	if (!buf)
		return hp_fail_nomem(err);
	if (list->roots[f->root].kind == HP_ROOT_STREAM &&
	    !(f->flags & HP_FILE_GENERATED))
		return 0;
	if (list->roots[f->root].kind != HP_ROOT_DIR ||
	    f->flags & HP_FILE_GENERATED)
		return probe_packed(z, f, buf, err);
	fd.fd = z->p->w.io->open(z->p->w.io, list->roots[f->root].fd,
				 hp_file_name(list, f), O_RDONLY | O_NONBLOCK,
				 0);
	if (fd.fd < 0)
		return hp_fail_errno(err, fd.fd, "%s", f->path);
	n = hp_io_pread_full(z->p->w.io, fd.fd, buf, PROBE_BYTES, 0);
	if (n > 0)
		__atomic_fetch_add(&z->bytes, (uint64_t)n, __ATOMIC_RELAXED);
	return 0;
}

double hp_estimate(const struct hp_pack *p)
{
	struct probe z = { .p = p };
	uint64_t n = p->w.list.n_files < PROBE_FILES ? p->w.list.n_files :
						       PROBE_FILES;
	uint32_t threads = PROBE_READERS;
	double t = hp_now(), by_files, by_bytes;
	bool streams = false;

	/* Compressing takes longer, and nobody has tried how long. */
	if (p->w.opt->zstd)
		return 0;
	z.step = p->w.list.n_files / n;
	if (p->w.opt->threads == HPDSL_SERIAL)
		threads = HPDSL_SERIAL;
	if (hp_pool_run(threads, n, probe_one, &z, p->w.opt->watch.stop, NULL) <
	    0)
		return 0;
	t = hp_now() - t;
	by_files = t * (double)p->w.list.n_files / (double)n;
	by_bytes = z.bytes ? t * (double)p->w.plan.bytes / (double)z.bytes : 0;
	/* Decoding a stream is most of its scan. */
	for (size_t i = 0; i < p->w.list.n_roots; i++)
		streams = streams || p->w.list.roots[i].kind == HP_ROOT_STREAM;
	return (streams ? 2 : 1) * p->w.report->scan_seconds +
	       (by_files > by_bytes ? by_files : by_bytes);
}
