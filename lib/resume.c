/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an interrupted pack left: each chunk that the journal calls finished is
 * read again and must be, byte for byte, what the plan wants; a chunk that is
 * not is simply written again.
 */
#include "pack.h"

#include "error.h"
#include "hash.h"
#include "mem.h"
#include "pool.h"

#include <errno.h>
#include <string.h>

enum { PIECE = 1 << 20 };

/* A chunk file read front to back. */
struct stream {
	const struct hp_io *io;
	int fd;
	uint64_t offset;
	XXH3_state_t hash;
	struct hp_content_state content;
	uint8_t *buf; /* PIECE bytes */
};

/* The next n (at most PIECE) bytes into the buffer: 0, or they are not there.
 */
static int pull(struct stream *s, size_t n)
{
	ssize_t got = hp_io_pread_full(s->io, s->fd, s->buf, n, s->offset);

	if (got < 0 || (size_t)got != n)
		return -EIO;
	XXH3_128bits_update(&s->hash, s->buf, n);
	s->offset += n;
	return 0;
}

static int check_header(struct stream *s, const struct hp_file *f)
{
	uint8_t header[HP_TAR_HEADER_MAX];
	struct hp_tar_member m;
	size_t n;

	hp_plan_header(f, &m);
	n = hp_tar_header_write(&m, header);
	return pull(s, n) < 0 || memcmp(s->buf, header, n) ? -EIO : 0;
}

static int take_content(struct stream *s, struct hp_file *f)
{
	struct hp_content_hash h;
	uint64_t left = f->size;

	hp_content_begin(&s->content);
	while (left) {
		size_t n = left < PIECE ? (size_t)left : PIECE;

		if (pull(s, n) < 0)
			return -EIO;
		hp_content_update(&s->content, s->buf, n);
		left -= n;
	}
	hp_content_end(&s->content, &h);
	f->low64 = h.low64;
	memcpy(f->full, h.full, sizeof f->full);
	return 0;
}

static int check_members(struct stream *s, struct hp_pack *p, uint32_t c)
{
	struct hp_place place;
	struct hp_walk w;

	hp_walk_begin(&w, &p->plan, hp_plan_first(&p->plan, c),
		      hp_plan_first(&p->plan, c + 1));
	while (hp_walk_next(&w, &place)) {
		struct hp_file *f = &p->list.files[place.file];

		if (check_header(s, f) < 0 || take_content(s, f) < 0 ||
		    pull(s, (size_t)(place.next - s->offset)) < 0)
			return -EIO;
	}
	return pull(s, (size_t)(hp_plan_chunk_bytes(&p->plan, c) - s->offset));
}

static int check_chunk(struct stream *s, struct hp_pack *p,
		       const struct hp_journal_record *rec)
{
	uint8_t digest[16];
	struct stat st;

	if (hp_io_fstat(s->io, s->fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size != rec->bytes)
		return -EIO;
	XXH3_128bits_reset(&s->hash);
	if (check_members(s, p, rec->chunk) < 0)
		return -EIO;
	hp_hash_canonical(XXH3_128bits_digest(&s->hash), digest);
	return memcmp(digest, rec->checksum, sizeof digest) ? -EIO : 0;
}

struct resuming {
	struct hp_pack *p;
	const struct hp_journal_record *rec;
};

static int resume_one(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct resuming *z = arg;
	struct hp_pack *p = z->p;
	const struct hp_journal_record *rec = &z->rec[number];
	struct hp_done *done = &p->done[rec->chunk];
	hp_auto_free struct stream *s =
		aligned_alloc(64, (sizeof *s + 63) / 64 * 64);
	hp_auto_free uint8_t *buf = malloc(PIECE);
	char name[HP_CHUNK_NAME];

	if (!s || !buf)
		return hp_fail_nomem(err);
	hp_chunk_name(rec->chunk, name);
	s->io = p->io;
	s->buf = buf;
	s->offset = 0;
	s->fd = p->io->open(p->io, p->target.dir, name, O_RDONLY | O_NOFOLLOW,
			    0);
	if (s->fd < 0)
		return 0; /* not there: it will be written */
	if (rec->bytes == hp_plan_chunk_bytes(&p->plan, rec->chunk) &&
	    check_chunk(s, p, rec) == 0) {
		done->bytes = rec->bytes;
		memcpy(done->checksum, rec->checksum, sizeof done->checksum);
		done->done = true;
	}
	p->io->close(p->io, s->fd);
	return 0;
}

int hp_resume(struct hp_pack *p, struct hpdsl_error *err)
{
	hp_auto_free struct hp_journal_record *rec = NULL;
	struct resuming z = { .p = p };
	size_t n, kept = 0;
	int r;

	r = hp_journal_records(p->target.journal, &rec, &n, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		if (rec[i].chunk < p->plan.n_chunks)
			rec[kept++] = rec[i];
	z.rec = rec;
	r = hp_pool_run(p->opt->threads, kept, resume_one, &z,
			p->opt->watch.stop, err);
	for (uint32_t c = 0; r == 0 && c < p->plan.n_chunks; c++)
		p->report->resumed_chunks += p->done[c].done;
	return r;
}

static int same_options(struct hp_pack *p, struct hpdsl_error *err)
{
	hp_auto_free char *text = NULL;
	struct hp_manifest m;
	size_t len;
	int r;

	r = hp_io_slurp(p->io, p->target.dir, HP_MANIFEST_NAME, HP_MANIFEST_MAX,
			&text, &len);
	if (r < 0)
		return hp_fail_errno(err, r, "%s/%s", p->target.output,
				     HP_MANIFEST_NAME);
	r = hp_manifest_parse(text, len, HP_MANIFEST_NAME, &m, err);
	if (r < 0)
		return r;
	memcpy(p->report->dataset_id, m.dataset_id, sizeof m.dataset_id);
	p->report->index_bytes = m.index.bytes;
	r = hp_manifest_compare(&m, &p->options, err);
	hp_manifest_release(&m);
	return r;
}

/* Has the dataset the file as it is now?  Then its member is marked. */
static bool same_file(const struct hpdsl_dataset *ds, const struct hp_file *f,
		      bool *seen)
{
	struct hpdsl_member m;

	if (hpdsl_member_find(ds, f->path, f->path_len, &m, NULL) < 0 ||
	    m.size != f->size || m.mtime != f->mtime ||
	    m.mtime_nsec != f->nsec || m.mode != (f->mode & 0777u))
		return false;
	seen[m.number] = true;
	return true;
}

static int fail_changed(const struct hp_pack *p, const char *name, size_t len,
			const char *what, struct hpdsl_error *err)
{
	char path[HP_PRINTABLE];

	return hp_fail(err, HPDSL_EDIFFERS,
		       "%s: is complete, but the input has changed since: "
		       "'%s' %s",
		       p->target.output, hp_printable(name, len, path), what);
}

static int same_files(const struct hp_pack *p, const struct hpdsl_dataset *ds,
		      struct hpdsl_error *err)
{
	hp_auto_free bool *seen = NULL;
	struct hpdsl_member m;
	struct hpdsl_counts n;

	hpdsl_count(ds, &n);
	seen = calloc(n.members, sizeof *seen);
	if (!seen)
		return hp_fail_nomem(err);
	for (uint64_t i = 0; i < p->list.n_files; i++) {
		const struct hp_file *f = &p->list.files[i];

		if (!same_file(ds, f, seen))
			return fail_changed(p, f->path, f->path_len,
					    "is new or different", err);
	}
	for (uint64_t i = 0; i < n.members; i++) {
		int r = seen[i] ? 0 : hpdsl_member_get(ds, i, &m, err);

		if (r == 0 && !seen[i])
			r = fail_changed(p, m.path, m.path_len, "is gone", err);
		if (r < 0)
			return r;
	}
	return 0;
}

int hp_resume_complete(struct hp_pack *p, struct hpdsl_error *err)
{
	struct hpdsl_dataset *ds;
	int r = same_options(p, err);

	if (r == 0)
		r = hpdsl_open(p->target.output, p->io, &ds, err);
	if (r < 0)
		return r;
	r = same_files(p, ds, err);
	hpdsl_close(ds);
	p->report->resumed_chunks = p->plan.n_chunks;
	return r;
}
