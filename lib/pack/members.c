/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes that samples hold themselves: what is in the member .cls, or a field
 * of the member .json.  They are read before anything is planned, as many at a
 * time as readers are given, and archives that are streams once more.
 */
#include "archive/archive.h"
#include "base/error.h"
#include "base/mem.h"
#include "pack/pack.h"
#include "plan/labels.h"
#include "sys/pool.h"
#include "write/read_file.h"

#include <errno.h>
#include <string.h>

enum { READERS = 16 };

struct reading {
	const struct hp_pack *p;
	struct hp_label_members of;
};

/* ---- One member ------------------------------------------------------- */

static bool is_stream(const struct reading *z, const struct hp_file *f)
{
	return z->p->w.list.roots[f->root].kind == HP_ROOT_STREAM;
}

static int read_one(void *arg, uint64_t number, struct hpdsl_error *err)
{
	const struct reading *z = arg;
	const struct hp_label_member *w = &z->of.v[number];
	const struct hp_file *f = &z->p->w.list.files[w->file];
	hp_auto_free char *buf = NULL;
	int r;

	if (f->size > HP_LABEL_MEMBER_MAX || is_stream(z, f))
		return 0;
	buf = malloc((size_t)f->size + 1);
	if (!buf)
		return hp_fail_nomem(err);
	r = hp_read_content(&z->p->w, f, buf, (size_t)f->size, 0, err);
	return r < 0 ? r :
		       hp_label_members_take(&z->of, w->sample, buf,
					     (size_t)f->size, err);
}

/* ---- Streams ---------------------------------------------------------- */

/* A walk through one: those wanted of it, in its order. */
struct stream {
	const struct reading *z;
	struct hp_archive *archive;
	struct hp_label_member *wanted;
	uint64_t n, at;
};

static int compare(const void *va, const void *vb, void *arg)
{
	const struct hp_file *files = arg;
	const struct hp_label_member *a = va, *b = vb;
	uint64_t x = files[a->file].source, y = files[b->file].source;

	return (x > y) - (x < y);
}

static int read_entry(struct stream *s, const struct hp_archive_entry *e,
		      char *buf, struct hpdsl_error *err)
{
	const struct hp_label_member *w = &s->wanted[s->at];
	const struct hp_file *f = &s->z->p->w.list.files[w->file];
	size_t n = 0;
	ssize_t r = 0;

	if (e->type != HP_ARCHIVE_FILE || e->ordinal != f->source)
		return 0;
	s->at++;
	if (f->size > HP_LABEL_MEMBER_MAX)
		return 0;
	while (n < f->size &&
	       (r = hp_archive_read(s->archive, buf + n, (size_t)f->size - n,
				    err)) > 0)
		n += (size_t)r;
	if (r < 0)
		return (int)r;
	if (n < f->size)
		return hp_fail(err, HPDSL_ECHANGED,
			       "%s: changed since it was scanned",
			       s->z->p->w.list.roots[f->root].name);
	return hp_label_members_take(&s->z->of, w->sample, buf, n, err);
}

static int walk(struct stream *s, struct hpdsl_error *err)
{
	hp_auto_free char *buf = malloc(HP_LABEL_MEMBER_MAX);
	struct hp_archive_entry e;
	int r = buf ? 1 : hp_fail_nomem(err);

	while (r > 0 && s->at < s->n) {
		r = hp_archive_next(s->archive, &e, err);
		if (r > 0 && read_entry(s, &e, buf, err) < 0)
			return err->code;
	}
	return r < 0 ? r : 0;
}

static int read_stream(const struct reading *z, uint16_t root,
		       struct hpdsl_error *err)
{
	const struct hp_writing *w = &z->p->w;
	hp_auto_free struct hp_label_member *wanted =
		hp_array(z->of.n, sizeof *wanted);
	struct stream s = { .z = z, .wanted = wanted };
	int r;

	if (!wanted)
		return hp_fail_nomem(err);
	for (uint64_t i = 0; i < z->of.n; i++)
		if (w->list.files[z->of.v[i].file].root == root)
			wanted[s.n++] = z->of.v[i];
	if (!s.n)
		return 0;
	qsort_r(wanted, s.n, sizeof *wanted, compare, w->list.files);
	r = hp_archive_open(w->io, AT_FDCWD, w->list.roots[root].name,
			    w->opt->nested, &s.archive, err);
	if (r < 0)
		return r;
	hp_archive_set_stop(s.archive, w->opt->watch.stop);
	r = walk(&s, err);
	hp_archive_close(s.archive);
	return r;
}

/* ---- All -------------------------------------------------------------- */

static int read_all(struct reading *z, struct hpdsl_error *err)
{
	const struct hp_writing *w = &z->p->w;
	uint32_t readers = w->opt->readers ? w->opt->readers : READERS;
	/* They are counted when they are packed. */
	const struct hpdsl_pack_report before = *w->report;
	int r;

	if (w->opt->threads == HPDSL_SERIAL)
		readers = HPDSL_SERIAL;
	r = hp_pool_run(readers, z->of.n, read_one, z, w->opt->watch.stop, err);
	for (size_t i = 0; r == 0 && i < w->list.n_roots; i++)
		if (w->list.roots[i].kind == HP_ROOT_STREAM)
			r = read_stream(z, (uint16_t)i, err);
	*w->report = before;
	return r;
}

int hp_pack_labels_of_members(struct hp_pack *p, struct hpdsl_error *err)
{
	struct reading z = { .p = p };
	int r = hp_label_members_find(&z.of, &p->w.list, p->w.opt, err);

	if (r == 0)
		r = read_all(&z, err);
	if (r == 0)
		r = hp_label_members_give(&z.of, &p->w.list, err);
	hp_label_members_release(&z.of);
	return r;
}
