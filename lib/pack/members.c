/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes that samples hold themselves: what is in the member .cls, or a field
 * of the member .json.  They are read before anything is planned, as many at a
 * time as readers are given, and archives that are streams once more.
 */
#include "archive/archive.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "pack/pack.h"
#include "plan/json_field.h"
#include "plan/labels_table.h"
#include "sys/pool.h"
#include "write/read_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LARGEST = 1 << 20, READERS = 16, CLASS_MAX = UINT16_MAX };

struct wanted {
	uint64_t file, sample;
};

struct reading {
	const struct hp_pack *p;
	const char *suffix;
	struct wanted *wanted; /* n: of the samples that have the member */
	uint64_t n;
	char **class; /* of each sample, or NULL */
};

/* ---- One member ------------------------------------------------------- */

/* What is in a .cls, without blanks around it. */
static bool take_cls(const char *s, size_t n, struct hp_text *ret)
{
	while (n && strchr(" \t\r\n", s[n - 1]))
		n--;
	for (; n && strchr(" \t\r\n", *s); n--)
		s++;
	if (memchr(s, '\n', n) || memchr(s, '\0', n) ||
	    !hp_label_is_class(s, n))
		return false;
	hp_text_add(ret, s, n);
	return true;
}

static int take(const struct reading *z, uint64_t sample, const char *s,
		size_t n, struct hpdsl_error *err)
{
	const struct hpdsl_pack_options *opt = z->p->w.opt;
	struct hp_text text = { 0 };
	bool is = opt->labels == HPDSL_LABELS_JSON ?
			  hp_json_field(s, n, opt->label_field, &text) :
			  take_cls(s, n, &text);

	if (is && text.n <= CLASS_MAX) {
		hp_text_add(&text, "", 1);
		z->class[sample] = text.failed ? NULL : hp_take(text.p);
	}
	is = text.failed;
	hp_text_release(&text);
	return is ? hp_fail_nomem(err) : 0;
}

static bool is_stream(const struct reading *z, const struct hp_file *f)
{
	return z->p->w.list.roots[f->root].kind == HP_ROOT_STREAM;
}

static int read_one(void *arg, uint64_t number, struct hpdsl_error *err)
{
	const struct reading *z = arg;
	const struct wanted *w = &z->wanted[number];
	const struct hp_file *f = &z->p->w.list.files[w->file];
	hp_auto_free char *buf = NULL;
	int r;

	if (f->size > LARGEST || is_stream(z, f))
		return 0;
	buf = malloc((size_t)f->size + 1);
	if (!buf)
		return hp_fail_nomem(err);
	r = hp_read_content(&z->p->w, f, buf, (size_t)f->size, 0, err);
	return r < 0 ? r : take(z, w->sample, buf, (size_t)f->size, err);
}

/* ---- Streams ---------------------------------------------------------- */

/* A walk through one: those wanted of it, in its order. */
struct stream {
	const struct reading *z;
	struct hp_archive *archive;
	struct wanted *wanted;
	uint64_t n, at;
};

static int compare(const void *va, const void *vb, void *arg)
{
	const struct hp_file *files = arg;
	const struct wanted *a = va, *b = vb;
	uint64_t x = files[a->file].source, y = files[b->file].source;

	return (x > y) - (x < y);
}

static int read_entry(struct stream *s, const struct hp_archive_entry *e,
		      char *buf, struct hpdsl_error *err)
{
	const struct wanted *w = &s->wanted[s->at];
	const struct hp_file *f = &s->z->p->w.list.files[w->file];
	size_t n = 0;
	ssize_t r = 0;

	if (e->type != HP_ARCHIVE_FILE || e->ordinal != f->source)
		return 0;
	s->at++;
	if (f->size > LARGEST)
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
	return take(s->z, w->sample, buf, n, err);
}

static int walk(struct stream *s, struct hpdsl_error *err)
{
	hp_auto_free char *buf = malloc(LARGEST);
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
	hp_auto_free struct wanted *wanted = hp_array(z->n, sizeof *wanted);
	struct stream s = { .z = z, .wanted = wanted };
	int r;

	if (!wanted)
		return hp_fail_nomem(err);
	for (uint64_t i = 0; i < z->n; i++)
		if (w->list.files[z->wanted[i].file].root == root)
			wanted[s.n++] = z->wanted[i];
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

/* The member of the suffix, of each sample that has it. */
static int find(struct reading *z, struct hpdsl_error *err)
{
	const struct hp_list *list = &z->p->w.list;
	size_t n = strlen(z->suffix);

	z->wanted = hp_array(list->n_samples, sizeof *z->wanted);
	z->class = calloc(list->n_samples + 1, sizeof *z->class);
	if (!z->wanted || !z->class)
		return hp_fail_nomem(err);
	for (uint64_t s = 0; s < list->n_samples; s++)
		for (uint64_t i = list->samples[s]; i < list->samples[s + 1];
		     i++) {
			const struct hp_file *f = &list->files[i];

			if (f->path_len == f->key_len + n &&
			    !memcmp(f->path + f->key_len, z->suffix, n))
				z->wanted[z->n++] = (struct wanted){ i, s };
		}
	return 0;
}

static int read_all(struct reading *z, struct hpdsl_error *err)
{
	const struct hp_writing *w = &z->p->w;
	uint32_t readers = w->opt->readers ? w->opt->readers : READERS;
	/* They are counted when they are packed. */
	const struct hpdsl_pack_report before = *w->report;
	int r;

	if (w->opt->threads == HPDSL_SERIAL)
		readers = HPDSL_SERIAL;
	r = hp_pool_run(readers, z->n, read_one, z, w->opt->watch.stop, err);
	for (size_t i = 0; r == 0 && i < w->list.n_roots; i++)
		if (w->list.roots[i].kind == HP_ROOT_STREAM)
			r = read_stream(z, (uint16_t)i, err);
	*w->report = before;
	return r;
}

static int class_of(void *arg, uint64_t sample, struct hp_class *ret,
		    struct hpdsl_error *err)
{
	const struct reading *z = arg;

	(void)err;
	ret->name = z->class[sample];
	ret->len = ret->name ? (uint32_t)strlen(ret->name) : 0;
	return 0;
}

/* Members that give no class, and that there are such at all. */
static int tell(const struct reading *z, struct hpdsl_error *err)
{
	char text[3 * 200] = "", name[HP_PRINTABLE];
	uint64_t without = 0;
	size_t at = 0;

	for (uint64_t i = 0; i < z->n; i++) {
		const struct hp_file *f =
			&z->p->w.list.files[z->wanted[i].file];

		if (z->class[z->wanted[i].sample] || ++without > 3)
			continue;
		at += (size_t)snprintf(
			text + at, sizeof text - at, "%s'%.180s'",
			without > 1 ? ", " : "",
			hp_printable(f->path, f->path_len, name));
	}
	if (!z->n)
		return hp_fail(err, HPDSL_EUSAGE,
			       "no sample has a member %s that names its "
			       "class",
			       z->suffix);
	if (without == z->n)
		return hp_fail(err, HPDSL_EUSAGE,
			       "no member %s says a class that is text "
			       "or a whole number: %s",
			       z->suffix, text);
	if (without)
		hp_warn_of_members(z->p, z->suffix, without, z->n, text);
	return 0;
}

int hp_pack_labels_of_members(struct hp_pack *p, struct hpdsl_error *err)
{
	bool json = p->w.opt->labels == HPDSL_LABELS_JSON;
	struct reading z = { .p = p, .suffix = json ? ".json" : ".cls" };
	int r = find(&z, err);

	if (r == 0)
		r = read_all(&z, err);
	if (r == 0)
		r = tell(&z, err);
	if (r == 0)
		r = hp_list_classify(&p->w.list, class_of, &z, err);
	for (uint64_t s = 0; z.class && s < p->w.list.n_samples; s++)
		free(z.class[s]);
	free(z.class);
	free(z.wanted);
	return r;
}
