/* SPDX-License-Identifier: Apache-2.0 */
/* What a packer's user should know before the first byte is written. */
#include "pack/pack.h"

#include "base/archive_name.h"
#include "base/error.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SAMPLE_MEMBERS = 64 };

static void warn(const struct hp_pack *p, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void warn(const struct hp_pack *p, const char *fmt, ...)
{
	const struct hpdsl_watch *w = &p->w.opt->watch;
	char text[1024];
	va_list ap;

	if (!w->warn)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	w->warn(w->arg, text);
}

/* Samples of which something is told: how many, and the worst of them. */
struct odd {
	uint64_t n, worst, worst_is;
};

static void odd_see(struct odd *o, uint64_t sample, uint64_t is, uint64_t most)
{
	if (is <= most)
		return;
	if (!o->n++ || is > o->worst_is) {
		o->worst = sample;
		o->worst_is = is;
	}
}

static void odd_warn(const struct hp_pack *p, const struct odd *o,
		     const char *what, const char *worst)
{
	const uint64_t *samples = p->w.list.samples;
	uint64_t first = samples[o->worst];
	const struct hp_file *f = &p->w.list.files[first];
	char path[HP_PRINTABLE];

	if (!o->n)
		return;
	hp_printable(f->path, f->path_len, path);
	warn(p, "%" PRIu64 " sample%s %s, the %s is that of '%s'%s", o->n,
	     o->n == 1 ? "" : "s", what, worst, path,
	     samples[o->worst + 1] - first == 1 || p->w.opt->cls ?
		     "" :
		     "; without groups each file is a sample");
}

int hp_warn_of_suffixes(const struct hp_pack *p, struct hpdsl_error *err)
{
	const struct hp_list *list = &p->w.list;
	const struct hp_file *f;
	char key[HP_PRINTABLE];
	uint64_t n = 0, first = 0;
	int r = hp_list_same_suffixes(list, &n, &first, err);

	p->w.report->repeated_suffixes = n;
	if (r < 0 || !n)
		return r;
	f = &list->files[list->samples[first]];
	warn(p,
	     "%" PRIu64 " sample%s two members of one suffix, first '%s'; by "
	     "its suffix only the first member is read%s",
	     n, n == 1 ? " has" : "s have",
	     hp_printable(f->path, f->key_len, key),
	     p->w.opt->cls ? "" : "; without groups each file is a sample");
	return 0;
}

/* Keys that begin at 0 in each input would be that. */
static void warn_of_joined(const struct hp_pack *p)
{
	const struct hp_list *list = &p->w.list;
	const struct hp_file *one, *two;
	char key[HP_PRINTABLE], a[HP_PRINTABLE], b[HP_PRINTABLE];
	uint64_t n = hp_list_joined(list, &one, &two);

	/* Pictures and their labels come from two places, all of them. */
	if (!n || n == list->n_samples || p->w.opt->prefix_input)
		return;
	warn(p,
	     "%" PRIu64 " of %" PRIu64
	     " samples have members of several inputs, first '%s' of %.200s "
	     "and %.200s; these are kept apart with their names in front",
	     n, list->n_samples, hp_printable(one->path, one->key_len, key),
	     hp_printable(list->roots[one->root].name,
			  strlen(list->roots[one->root].name), a),
	     hp_printable(list->roots[two->root].name,
			  strlen(list->roots[two->root].name), b));
}

void hp_warn_of_samples(const struct hp_pack *p)
{
	const struct hp_list *list = &p->w.list;
	uint64_t mean = p->w.plan.tar_bytes / p->w.plan.n_chunks;
	struct odd large = { 0 }, many = { 0 };

	for (uint64_t s = 0; s < list->n_samples; s++) {
		uint64_t bytes = 0, i = list->samples[s];

		odd_see(&many, s, list->samples[s + 1] - i, SAMPLE_MEMBERS);
		for (; i < list->samples[s + 1]; i++)
			bytes += list->files[i].size;
		if (p->w.plan.n_chunks > 1)
			odd_see(&large, s, bytes, mean);
	}
	if (list->labels && !list->n_classes &&
	    p->w.opt->labels != HPDSL_LABELS_FILE)
		warn(p, "no file has the folder that names a class: "
			"no sample has one");
	odd_warn(p, &large, "larger than the mean chunk", "largest");
	odd_warn(p, &many, "of more than 64 members", "one with most");
	warn_of_joined(p);
}

void hp_warn_of_look(const struct hp_pack *p)
{
	const struct hpdsl_group_look *look = &p->w.report->look;
	char text[HPDSL_LOOK_TEXT];

	if (look->verdict != HPDSL_LOOK_PASS)
		warn(p, "%s%s", hpdsl_look_text(look, text),
		     look->last ? HPDSL_LOOK_MENDS :
		     look->files && !p->w.opt->cls ?
				  "; without groups each file is a sample" :
				  "");
}

/* A store of zarr says so in a file of one of these names. */
static bool says_zarr(const struct hp_file *f)
{
	static const char *const names[] = { ".zarray", ".zgroup", ".zmetadata",
					     "zarr.json" };
	const char *slash = memrchr(f->path, '/', f->path_len);
	const char *base = slash ? slash + 1 : f->path;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(base, names[i]))
			return true;
	return false;
}

/* A chunk of an array: 0.12.3, or c.0.12.3. */
static bool is_zarr_chunk(const struct hp_file *f)
{
	const char *slash = memrchr(f->path, '/', f->path_len);
	const char *s = slash ? slash + 1 : f->path;
	size_t dots = 0;

	if (!strncmp(s, "c.", 2))
		s += 2;
	for (;; s++, dots++) {
		size_t digits = strspn(s, "0123456789");

		s += digits;
		if (!digits || (*s && *s != '.'))
			return false;
		if (!*s)
			return dots > 0;
	}
}

static size_t folder_len(const struct hp_file *f)
{
	const char *slash = memrchr(f->path, '/', f->path_len);

	return slash ? (size_t)(slash - f->path) : 0;
}

static bool has_folder_of(const struct hp_file *f, const struct hp_file *other)
{
	size_t n = folder_len(other);

	return folder_len(f) == n && !memcmp(f->path, other->path, n);
}

/* Is the one in a folder that the other one is in or below? */
static bool is_above(const struct hp_file *f, const struct hp_file *other)
{
	size_t n = folder_len(f);

	return !n || (n <= folder_len(other) && other->path[n] == '/' &&
		      !memcmp(f->path, other->path, n));
}

/* Of the first array whose chunks do that. */
void hp_warn_of_zarr(const struct hp_pack *p)
{
	const struct hp_list *list = &p->w.list;
	const struct hp_file *store = NULL, *first = NULL;
	char of[HP_PRINTABLE], a[HP_PRINTABLE], b[HP_PRINTABLE];
	uint64_t n = 0;

	for (uint64_t s = 0; s < list->n_samples; s++) {
		uint64_t i = list->samples[s], end = list->samples[s + 1];
		const struct hp_file *f = &list->files[i];

		if (end - i < 2 || !is_zarr_chunk(f) || !is_zarr_chunk(f + 1))
			continue;
		if (!first)
			first = f;
		n += has_folder_of(f, first);
	}
	if (!first)
		return;
	for (uint64_t i = 0; i < list->n_files && !store; i++)
		if (says_zarr(&list->files[i]) &&
		    is_above(&list->files[i], first))
			store = &list->files[i];
	if (!store)
		return;
	warn(p,
	     "a zarr store ('%s') whose chunks share keys: %" PRIu64
	     " sample%s of several, as '%s' and '%s'%s",
	     hp_printable(store->path, store->path_len, of), n,
	     n == 1 ? "" : "s", hp_printable(first->path, first->path_len, a),
	     hp_printable(first[1].path, first[1].path_len, b),
	     p->w.opt->cls ? "" : "; without groups each file is a sample");
}

/* Archives among the files: how many, and the first of them. */
struct inner {
	uint64_t n, bytes;
	const struct hp_file *first;
};

static void inner_warn(const struct hp_pack *p, const struct inner *o,
		       uint64_t bytes, const char *where, const char *advice)
{
	char path[HP_PRINTABLE];

	if (!o->n || o->bytes <= bytes / 2)
		return;
	warn(p,
	     "%" PRIu64 " file%s in %s %s, as '%s', packed as %s; "
	     "to pack what is in %s: %s",
	     o->n, o->n == 1 ? "" : "s", where,
	     o->n == 1 ? "is an archive" : "are archives",
	     hp_printable(o->first->path, o->first->path_len, path),
	     o->n == 1 ? "it is" : "they are", o->n == 1 ? "it" : "them",
	     advice);
}

void hp_warn_of_archives(const struct hp_pack *p)
{
	const struct hp_list *list = &p->w.list;
	struct inner dirs = { 0 }, archives = { 0 };
	uint64_t bytes = 0;

	for (uint64_t i = 0; i < list->n_files; i++) {
		const struct hp_file *f = &list->files[i];
		enum hp_root_kind kind = list->roots[f->root].kind;
		struct inner *o = kind == HP_ROOT_DIR ? &dirs : &archives;

		bytes += f->size;
		if (kind == HP_ROOT_DATASET ||
		    !hp_archive_suffix(f->path, f->path_len))
			continue;
		if (!o->n++)
			o->first = f;
		o->bytes += f->size;
	}
	inner_warn(p, &dirs, bytes, "directories",
		   "give each as an input of its own");
	if (!p->w.opt->nested)
		inner_warn(p, &archives, bytes, "archives",
			   "ask for nested archives");
}

void hp_warn_of_litter(const struct hp_pack *p)
{
	const struct hpdsl_litter *l = &p->w.report->litter;
	char kinds[HPDSL_LITTER_TEXT];

	if (l->included)
		warn(p,
		     "%" PRIu64 " file%s to include look%s like litter (%s); "
		     "excluding these leaves them out",
		     l->included, l->included == 1 ? "" : "s",
		     l->included == 1 ? "s" : "",
		     hpdsl_litter_text(l->kinds, kinds));
}

void hp_warn_of_privacy(const struct hp_pack *p)
{
	struct stat in, out;

	if (p->w.io->stat(p->w.io, p->target.dir, "", &out, AT_EMPTY_PATH) <
		    0 ||
	    !(out.st_mode & 0055))
		return;
	for (size_t i = 0; i < p->w.list.n_roots; i++) {
		const struct hp_root *root = &p->w.list.roots[i];

		int r = root->fd < 0 ? p->w.io->stat(p->w.io, AT_FDCWD,
						     root->name, &in, 0) :
				       hp_io_fstat(p->w.io, root->fd, &in);

		if (r == 0 && !(in.st_mode & 0077) && in.st_uid == out.st_uid)
			warn(p,
			     "%s is private, but %s can be read by others "
			     "(see umask)",
			     root->name, p->target.output);
	}
}
