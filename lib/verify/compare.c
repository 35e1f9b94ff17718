/* SPDX-License-Identifier: Apache-2.0 */
/* One file of the source against the member of its name. */
#include "verify/source.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "chunk/tar.h"

#include <errno.h>
#include <stdlib.h>

void hp_compare_differs(struct hp_compare *c, uint64_t sample, const char *path,
			const char *reason)
{
	struct hp_verify *v = c->v;

	pthread_mutex_lock(&v->meter.lock);
	v->report->differing++;
	pthread_mutex_unlock(&v->meter.lock);
	hp_verify_tell(v, (struct hp_damage_place){ NULL, sample, path }, "%s",
		       reason);
}

int hp_compare_hash_file(const struct hp_io *io, int fd, uint64_t size,
			 const uint64_t *off, struct hp_compare_hash *ret)
{
	hp_auto_free uint8_t *buf = malloc(HP_COMPARE_PIECE);
	XXH3_state_t state;
	uint64_t done = 0;
	ssize_t n;

	if (!buf)
		return -ENOMEM;
	XXH3_64bits_reset(&state);
	do {
		size_t want = HP_COMPARE_PIECE;

		if (off && size - done < want)
			want = (size_t)(size - done);
		n = hp_io_pread_full(io, fd, buf, want,
				     (off ? *off : 0) + done);
		if (n < 0)
			return (int)n;
		XXH3_64bits_update(&state, buf, (size_t)n);
		done += (size_t)n;
	} while (n == HP_COMPARE_PIECE && done <= size);
	ret->low64 = XXH3_64bits_digest(&state);
	ret->whole = done == size;
	return 0;
}

static int drop(void *arg, const void *buf, size_t n, struct hpdsl_error *err)
{
	(void)arg, (void)buf, (void)n, (void)err;
	return 0;
}

/* In a packed dataset, where each content has to fit its own checksum. */
static int compare_member(const struct hp_root *root, const struct hp_file *f,
			  const struct hpdsl_member *m, bool *ret_same,
			  struct hpdsl_error *err)
{
	struct hpdsl_member other;
	int r = hpdsl_member_get(root->dataset, f->source, &other, err);

	*ret_same = false;
	if (r == 0)
		r = hpdsl_member_stream(root->dataset, &other, drop, NULL, err);
	if (r == 0)
		*ret_same = other.checksum == m->checksum;
	return r;
}

static int compare_content(struct hp_compare *c, const struct hp_file *f,
			   const struct hpdsl_member *m, bool *ret_same,
			   struct hpdsl_error *err)
{
	const struct hp_io *io = c->v->io;
	const struct hp_root *root = &c->list.roots[f->root];
	bool tar = root->kind == HP_ROOT_TAR;
	const char *name = tar ? root->name : hp_file_name(&c->list, f);
	hp_auto_fd file = { io, io->open(io, tar ? AT_FDCWD : root->fd, name,
					 O_RDONLY | O_NONBLOCK, 0) };
	char text[HP_PRINTABLE];
	struct hp_compare_hash hash = { 0 };
	int r = file.fd;

	*ret_same = false;
	if (r >= 0)
		r = hp_compare_hash_file(io, file.fd, m->size,
					 tar ? &f->source : NULL, &hash);
	if (r < 0)
		return hp_fail_errno(err, r, "%s/%s", root->name,
				     hp_printable(f->path, f->path_len, text));
	*ret_same = hash.whole && hash.low64 == m->checksum;
	if (!tar && hp_file_has_attributes(io, file.fd))
		__atomic_fetch_add(&c->v->report->not_kept.xattrs, 1,
				   __ATOMIC_RELAXED);
	return 0;
}

static bool same_time(const struct hp_compare *c, const struct hp_file *f,
		      const struct hpdsl_member *m)
{
	if (c->coarse) /* a chunk holds seconds only */
		return hp_tar_time(f->mtime) == hp_tar_time(m->mtime);
	return f->mtime == m->mtime && f->nsec == m->mtime_nsec;
}

void hp_compare_see(struct hp_compare *c, uint64_t member)
{
	__atomic_fetch_or(c->seen + member / 8, (uint8_t)(1u << member % 8),
			  __ATOMIC_RELAXED);
}

int hp_compare_file(struct hp_compare *c, const struct hp_file *f,
		    const struct hp_compare_hash *hash, struct hpdsl_error *err)
{
	const struct hp_index *ix = c->v->index;
	struct hpdsl_member m;
	uint64_t number;
	bool same;
	int r = hp_index_find(ix, f->path, f->path_len, &number, err);

	if (r == 0)
		r = hp_index_member(ix, number, &m, err);
	if (r == -ENOENT || (r == 0 && m.generated)) {
		hp_compare_differs(c, UINT64_MAX, f->path,
				   "is not in the dataset");
		return 0;
	}
	if (r < 0)
		return r;
	hp_compare_see(c, number);
	if (hp_verify_absent(c->v, m.chunk))
		return 0;
	if (f->size != m.size) {
		hp_compare_differs(c, m.sample, f->path, "size differs");
		return 0;
	}
	if (hash)
		same = hash->whole && hash->low64 == m.checksum;
	else if (c->list.roots[f->root].kind == HP_ROOT_DATASET)
		r = compare_member(&c->list.roots[f->root], f, &m, &same, err);
	else
		r = compare_content(c, f, &m, &same, err);
	if (r < 0)
		return r;
	if (!same)
		hp_compare_differs(c, m.sample, f->path, "content differs");
	else if ((f->mode ^ m.mode) & 0777u)
		hp_compare_differs(c, m.sample, f->path, "mode differs");
	else if (!same_time(c, f, &m))
		hp_compare_differs(c, m.sample, f->path, "mtime differs");
	return 0;
}
