/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an interrupted pack left: each chunk that the journal calls finished is
 * read again and must be, byte for byte, what the plan wants; a chunk that is
 * not is simply written again.
 */
#include "write/chunk_sums.h"

#include "base/error.h"
#include "base/mem.h"
#include "format/names.h"
#include "hpdsl/verify.h"
#include "pack/pack.h"
#include "sys/owner.h"
#include "sys/pool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct resuming {
	struct hp_pack *p;
	const struct hp_journal_record *rec;
};

static uint64_t class_hash(const struct hp_file *f)
{
	char text[HP_CLS_MAX];

	hp_cls_content(f, text);
	return hp_hash64(text, (size_t)f->size);
}

/* Generated members: the class may have another number now. */
static bool same_classes(const struct hp_pack *p, uint32_t c,
			 const struct hp_chunk_sums *sums)
{
	const struct hp_plan *plan = &p->w.plan;
	struct hp_plan_place place;
	struct hp_plan_walk w;

	hp_plan_walk_chunk(&w, plan, c);
	for (uint64_t i = 0; hp_plan_walk_next(&w, &place); i++) {
		const struct hp_file *f = &p->w.list.files[place.file];

		if (f->flags & HP_FILE_GENERATED &&
		    class_hash(f) != sums->hashes[i].low64)
			return false;
	}
	return true;
}

/* A chunk that is absent or wrong is no error: it will be written. */
static int resume_one(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct resuming *z = arg;
	struct hp_pack *p = z->p;
	const struct hp_journal_record *rec = &z->rec[number];
	struct hp_chunk_sums sums;
	char name[HP_CHUNK_NAME];
	int r;

	hp_chunk_name_of(rec->chunk, rec->compressed, name);
	r = hp_chunk_sums_take(&p->w, rec->chunk, name, &sums, err);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (rec->bytes == sums.made.bytes &&
	    !memcmp(sums.made.checksum, rec->checksum, sizeof rec->checksum) &&
	    same_classes(p, rec->chunk, &sums))
		hp_chunk_sums_keep(&sums, &p->w, rec->chunk);
	hp_chunk_sums_release(&sums);
	return 0;
}

/*
 * A chunk that has to be written may be there, damaged, in the form that it
 * will not get: another version of libzstd may save more, or less.
 */
static void drop_chunk(const struct hp_pack *p, uint32_t c)
{
	char name[HP_CHUNK_NAME];

	hp_chunk_name(c, name);
	p->w.io->unlink(p->w.io, p->target.dir, name, 0);
	hp_chunk_zst_name(c, name);
	p->w.io->unlink(p->w.io, p->target.dir, name, 0);
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
		if (rec[i].chunk < p->w.plan.n_chunks)
			rec[kept++] = rec[i];
	z.rec = rec;
	r = hp_pool_run(p->w.opt->threads, kept, resume_one, &z,
			p->w.opt->watch.stop, err);
	for (uint32_t c = 0; r == 0 && c < p->w.plan.n_chunks; c++) {
		p->w.report->resumed_chunks += p->w.done[c].done;
		if (p->w.opt->zstd && !p->w.done[c].done)
			drop_chunk(p, c);
	}
	return r;
}

static int same_options(struct hp_pack *p, struct hpdsl_error *err)
{
	hp_auto_free char *text = NULL;
	struct hp_manifest m;
	size_t len;
	int r;

	r = hp_io_slurp(p->w.io, p->target.dir, HP_MANIFEST_NAME,
			HP_MANIFEST_MAX, &text, &len);
	if (r < 0)
		return hp_io_slurp_fail(err, r, "%s/%s", p->target.output,
					HP_MANIFEST_NAME);
	r = hp_manifest_parse(text, len, HP_MANIFEST_NAME, &m, err);
	if (r < 0)
		return r;
	memcpy(p->w.report->dataset_id, m.dataset_id, sizeof m.dataset_id);
	p->w.report->has_sha256 = m.has_sha256;
	memcpy(p->w.report->dataset_id_sha256, m.dataset_id_sha256,
	       sizeof m.dataset_id_sha256);
	p->w.report->index_bytes = m.index.bytes;
	for (size_t c = 0; c < m.n_chunks; c++) {
		p->w.report->stored_bytes += m.chunks[c].bytes;
		p->w.report->compressed_chunks += m.chunks[c].compressed;
	}
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
	    m.mtime_nsec != f->nsec || m.mode != (f->mode & 0777u) ||
	    m.generated != !!(f->flags & HP_FILE_GENERATED) ||
	    (m.generated && m.checksum != class_hash(f)))
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
	for (uint64_t i = 0; i < p->w.list.n_files; i++) {
		const struct hp_file *f = &p->w.list.files[i];

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

/* Has the sample of member m the class that the list's sample s has now? */
static int same_class(const struct hp_pack *p, const struct hpdsl_dataset *ds,
		      const struct hpdsl_member *m, uint64_t s, bool *ret,
		      struct hpdsl_error *err)
{
	const struct hp_list *list = &p->w.list;
	uint32_t now = list->labels ? list->labels[s] : HPDSL_NO_LABEL;
	struct hpdsl_sample was;
	const char *name;
	int r = hpdsl_sample_get(ds, m->sample, &was, err);

	if (r < 0)
		return r;
	*ret = now == was.label;
	if (!*ret || now == HPDSL_NO_LABEL)
		return 0;
	r = hpdsl_class_name(ds, was.label, &name, err);
	if (r == 0)
		*ret = !strcmp(name, list->classes[now]);
	return r;
}

/* Those of packed inputs are no option, and may be others now. */
static int same_labels(const struct hp_pack *p, const struct hpdsl_dataset *ds,
		       struct hpdsl_error *err)
{
	const struct hp_list *list = &p->w.list;

	for (uint64_t s = 0; s < list->n_samples; s++) {
		const struct hp_file *f = &list->files[list->samples[s]];
		struct hpdsl_member m;
		bool same = false;
		int r = hpdsl_member_find(ds, f->path, f->path_len, &m, err);

		if (r == 0)
			r = same_class(p, ds, &m, s, &same, err);
		if (r < 0)
			return r;
		if (!same)
			return fail_changed(p, f->path, f->path_len,
					    "has another class", err);
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
		.foreign_owner = p->w.opt->foreign_owner,
		.threads = p->w.opt->threads,
		.damage = note_damage,
		.arg = first,
		.watch = { .io = p->w.io, .stop = p->w.opt->watch.stop },
	};
	struct hpdsl_verify_report report;
	int r = hpdsl_verify(p->target.output, &opt, &report, err);

	if (r != HPDSL_ECORRUPT)
		return r;
	return hp_fail(err, r,
		       "%s: is complete, but damaged: %s; it can be replaced",
		       p->target.output, first);
}

static int same_contents(struct hp_pack *p, struct hpdsl_error *err)
{
	struct hpdsl_dataset *ds;
	int r = hpdsl_open_with(p->target.output,
				hp_open_flags(p->w.opt->foreign_owner), p->w.io,
				&ds, err);

	if (r < 0)
		return r;
	r = same_files(p, ds, err);
	if (r == 0)
		r = same_labels(p, ds, err);
	hpdsl_close(ds);
	return r;
}

int hp_resume_complete(struct hp_pack *p, struct hpdsl_error *err)
{
	/* With --force it may be replaced: then it counts for nothing. */
	const struct hpdsl_pack_report before = *p->w.report;
	int r = same_options(p, err);

	if (r == 0)
		r = same_contents(p, err);
	if (r == 0)
		r = check_chunks(p, err);
	if (r == 0)
		p->w.report->resumed_chunks = p->w.plan.n_chunks;
	else
		*p->w.report = before;
	return r;
}
