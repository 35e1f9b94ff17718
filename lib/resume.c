/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an interrupted pack left: each chunk that the journal calls finished is
 * read again and must be, byte for byte, what the plan wants; a chunk that is
 * not is simply written again.
 */
#include "pack.h"

#include "error.h"
#include "mem.h"
#include "pass.h"
#include "pool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A chunk file read front to back. */
struct recheck {
	struct hp_pass pass;
	struct hp_content_state content;
	/* Of its members; the list gets them if all of the chunk is right, as
	 * what they replace says where a member is read from. */
	struct hp_content_hash *hashes;
};

/* Goes over n bytes: they count in the chunk's checksum. */
static int skip(struct hp_pass *p, size_t n)
{
	if (hp_pass_need(p, n) < 0 || p->have < n)
		return -EIO;
	hp_pass_take(p, n);
	return 0;
}

static int check_header(struct hp_pass *p, const struct hp_list *list,
			uint64_t file)
{
	uint8_t header[HP_TAR_HEADER_MAX];
	struct hp_tar_member m;
	size_t n;

	hp_plan_header(list, file, &m);
	n = hp_tar_header_write(&m, header);
	if (hp_pass_need(p, n) < 0 || p->have < n || memcmp(p->at, header, n))
		return -EIO;
	return skip(p, n);
}

static int take_content(struct recheck *k, uint64_t left,
			struct hp_content_hash *ret)
{

	hp_content_begin(&k->content);
	while (left) {
		size_t n;

		if (hp_pass_need(&k->pass, 1) < 0 || !k->pass.have)
			return -EIO;
		n = left < k->pass.have ? (size_t)left : k->pass.have;
		hp_content_update(&k->content, k->pass.at, n);
		hp_pass_take(&k->pass, n);
		left -= n;
	}
	hp_content_end(&k->content, ret);
	return 0;
}

static void walk_chunk(struct hp_walk *w, const struct hp_plan *plan,
		       uint32_t c)
{
	hp_walk_begin(w, plan, hp_plan_first(plan, c),
		      hp_plan_first(plan, c + 1));
}

static int check_members(struct recheck *k, struct hp_pack *p, uint32_t c)
{
	struct hp_pass *pass = &k->pass;
	struct hp_place place;
	struct hp_walk w;
	uint64_t i = 0;

	walk_chunk(&w, &p->plan, c);
	while (hp_walk_next(&w, &place)) {
		uint64_t size = p->list.files[place.file].size;

		if (check_header(pass, &p->list, place.file) < 0 ||
		    take_content(k, size, &k->hashes[i++]) < 0 ||
		    skip(pass, (size_t)(place.next - pass->offset)) < 0)
			return -EIO;
	}
	return skip(pass,
		    (size_t)(hp_plan_chunk_bytes(&p->plan, c) - pass->offset));
}

static uint64_t count_members(const struct hp_plan *plan, uint32_t c)
{
	const uint64_t *first = plan->list->samples;
	uint64_t n = 0;

	for (uint64_t s = hp_plan_first(plan, c);
	     s < hp_plan_first(plan, c + 1); s++) {
		uint64_t l = hp_plan_sample(plan, s);

		n += first[l + 1] - first[l];
	}
	return n;
}

static void keep_hashes(const struct recheck *k, struct hp_pack *p, uint32_t c)
{
	struct hp_place place;
	struct hp_walk w;

	walk_chunk(&w, &p->plan, c);
	for (uint64_t i = 0; hp_walk_next(&w, &place); i++) {
		struct hp_file *f = &p->list.files[place.file];

		f->low64 = k->hashes[i].low64;
		memcpy(f->full, k->hashes[i].full, sizeof f->full);
	}
}

static bool is_right(struct recheck *k, struct hp_pack *p,
		     const struct hp_journal_record *rec)
{
	uint8_t digest[16];

	if (rec->bytes != hp_plan_chunk_bytes(&p->plan, rec->chunk) ||
	    k->pass.size != rec->bytes || check_members(k, p, rec->chunk) < 0)
		return false;
	hp_pass_digest(&k->pass, digest);
	return memcmp(digest, rec->checksum, sizeof digest) == 0;
}

struct resuming {
	struct hp_pack *p;
	const struct hp_journal_record *rec;
};

/* A chunk that is absent or wrong is no error: it will be written. */
static int resume_one(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct resuming *z = arg;
	struct hp_pack *p = z->p;
	const struct hp_journal_record *rec = &z->rec[number];
	struct hp_done *done = &p->done[rec->chunk];
	hp_auto_free struct recheck *k =
		aligned_alloc(64, (sizeof *k + 63) / 64 * 64);
	hp_auto_free struct hp_content_hash *hashes =
		hp_array(count_members(&p->plan, rec->chunk), sizeof *hashes);
	char name[HP_CHUNK_NAME];
	int r;

	if (!k || !hashes)
		return hp_fail_nomem(err);
	k->hashes = hashes;
	hp_chunk_name(rec->chunk, name);
	r = hp_pass_begin(&k->pass, p->io, p->target.dir, name, err);
	if (r == 0 && is_right(k, p, rec)) {
		done->bytes = rec->bytes;
		memcpy(done->checksum, rec->checksum, sizeof done->checksum);
		done->done = true;
		keep_hashes(k, p, rec->chunk);
	}
	hp_pass_end(&k->pass);
	return r == -ENOMEM ? r : 0;
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

static void note_damage(void *arg, const struct hpdsl_damage *d)
{
	char *first = arg;

	if (!*first)
		snprintf(first, HP_PRINTABLE, "%s: %s", d->file ? d->file : "?",
			 d->reason);
}

/* A chunk may have gone since: sizes and first headers tell. */
static int check_chunks(const struct hp_pack *p, struct hpdsl_error *err)
{
	char first[HP_PRINTABLE] = "";
	struct hpdsl_verify_options opt = {
		.quick = true,
		.threads = p->opt->threads,
		.damage = note_damage,
		.arg = first,
		.watch = { .io = p->io, .stop = p->opt->watch.stop },
	};
	struct hpdsl_verify_report report;
	int r = hpdsl_verify(p->target.output, &opt, &report, err);

	if (r != HPDSL_ECORRUPT)
		return r;
	return hp_fail(err, r,
		       "%s: is complete, but damaged: %s; --force replaces it",
		       p->target.output, first);
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
	if (r == 0)
		r = check_chunks(p, err);
	if (r == 0)
		p->report->resumed_chunks = p->plan.n_chunks;
	return r;
}
