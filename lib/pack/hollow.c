/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks into a few files for pointers and error pages in place of data.  Of
 * directories and of what is read in place in archives: what has to be decoded
 * is not read once more for this.
 */
#include "pack/pack.h"

#include "archive/archive.h"
#include "base/error.h"
#include "base/mem.h"
#include "plan/hollow.h"
#include "sys/pool.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	HEAD = 512,
	READERS = 16, /* they wait for the file system */
	MOST = HP_HOLLOW_POINTERS + HP_HOLLOW_PAGES * HP_HOLLOW_MEDIA,
};

struct asked {
	const struct hp_file *f;
	struct hp_hollow_ask ask;
	enum hp_hollow_kind kind;
	const char *what;
};

struct look {
	const struct hp_pack *p;
	struct hp_hollow h;
	struct asked *v;
	size_t n;
};

static bool may_look(const struct hp_list *list, const struct hp_file *f)
{
	enum hp_root_kind kind = list->roots[f->root].kind;

	return kind == HP_ROOT_DIR || kind == HP_ROOT_TAR;
}

/* What became a link since it was scanned is not followed. */
static int open_file(const struct look *l, const struct hp_file *f)
{
	const struct hp_list *list = &l->p->w.list;
	const struct hp_root *root = &list->roots[f->root];
	const struct hp_io *io = l->p->w.io;
	int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY;

	if (root->kind == HP_ROOT_TAR)
		return io->open(io, AT_FDCWD, root->name, flags, 0);
	if (!(f->flags & HP_FILE_FOLLOW))
		flags |= O_NOFOLLOW;
	return io->open(io, root->fd, hp_file_name(list, f), flags, 0);
}

/* What cannot be read now is told when it is packed. */
static int look_into(void *arg, uint64_t number, struct hpdsl_error *err)
{
	struct look *l = arg;
	struct asked *a = &l->v[number];
	const struct hp_io *io = l->p->w.io;
	bool tar = l->p->w.list.roots[a->f->root].kind == HP_ROOT_TAR;
	uint64_t size = a->f->size < HEAD ? a->f->size : HEAD;
	hp_auto_fd f = { io, open_file(l, a->f) };
	char head[HEAD];
	ssize_t n = f.fd;
	bool pointer;

	(void)err;
	if (n >= 0)
		n = hp_io_pread_full(io, f.fd, head, (size_t)size,
				     tar ? a->f->source : 0);
	if (n > 0)
		a->what = hp_archive_hollow(head, (size_t)n, &pointer);
	if (a->what)
		a->kind = pointer ? HP_HOLLOW_POINTER : HP_HOLLOW_PAGE;
	return 0;
}

static void count(struct look *l)
{
	const struct hp_list *list = &l->p->w.list;

	for (uint64_t i = 0; i < list->n_files; i++) {
		const struct hp_file *f = &list->files[i];

		if (may_look(list, f))
			hp_hollow_count(&l->h, f->path, f->path_len, f->size);
	}
}

static int pick(struct look *l, struct hpdsl_error *err)
{
	const struct hp_list *list = &l->p->w.list;

	count(l);
	if (!l->h.sized && !l->h.n_media)
		return 0;
	l->v = hp_array(MOST, sizeof *l->v);
	if (!l->v)
		return hp_fail_nomem(err);
	for (uint64_t i = 0; i < list->n_files && l->n < MOST; i++) {
		const struct hp_file *f = &list->files[i];
		struct hp_hollow_ask ask;

		if (!may_look(list, f))
			continue;
		ask = hp_hollow_wants(&l->h, f->path, f->path_len, f->size);
		if (ask.pointer || ask.page)
			l->v[l->n++] = (struct asked){ .f = f, .ask = ask };
	}
	return 0;
}

/* ---- What comes of it ------------------------------------------------- */

static const char *name_of(const struct look *l, const struct asked *a,
			   char buf[HP_INPUT_NAME])
{
	const struct hp_list *list = &l->p->w.list;
	const char *name = hp_file_name(list, a->f);

	return hp_input_name(&list->roots[a->f->root], name, strlen(name), buf);
}

/* "jpg", in the words of a message. */
static void suffix_text(const struct hp_hollow_suffix *s,
			char ret[HP_HOLLOW_NAME + 16])
{
	snprintf(ret, HP_HOLLOW_NAME + 16, "%s%s",
		 s->len ? "called ." : "without a suffix", s->name);
}

static int refuse(const struct look *l, const struct hp_hollow_suffix *s,
		  enum hp_hollow_kind kind, struct hpdsl_error *err)
{
	char name[HP_INPUT_NAME], of[HP_HOLLOW_NAME + 16];
	const struct asked *a = l->v;

	while (&l->h.v[a->ask.suffix] != s || a->kind != kind)
		a++;
	suffix_text(s, of);
	name_of(l, a, name);
	if (kind == HP_HOLLOW_POINTER)
		return hp_fail(err, HPDSL_EUSAGE,
			       "%s: is %s; so are %s%" PRIu64 " of %" PRIu64
			       " files %s",
			       name, a->what,
			       s->asked < s->sized ? "about " : "",
			       hp_hollow_pointers(s), s->files, of);
	return hp_fail(err, HPDSL_EUSAGE,
		       "%s: is %s; so are %" PRIu64 " of %" PRIu64
		       " files %s that were looked at",
		       name, a->what, s->pages, s->opened, of);
}

static int judge(struct look *l, struct hpdsl_error *err)
{
	const struct hpdsl_watch *w = &l->p->w.opt->watch;
	const struct hp_hollow_suffix *s;
	const struct asked *first = NULL;
	enum hp_hollow_kind kind;
	char name[HP_INPUT_NAME], text[HP_INPUT_NAME + 256];
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		if (!hp_hollow_see(&l->h, l->v[i].ask, l->v[i].kind))
			continue;
		n++;
		first = first ? first : &l->v[i];
	}
	s = hp_hollow_judge(&l->h, &kind);
	/* Who names files means them; what was begun is gone on with. */
	if (s && !l->p->w.opt->list && !l->p->was.options.n)
		return refuse(l, s, kind, err);
	if (!first || !w->warn)
		return 0;
	snprintf(text, sizeof text, "%s: is %s; %zu of %zu files looked at %s",
		 name_of(l, first, name), first->what, n, l->n,
		 n == 1 ? "is such" : "are such");
	w->warn(w->arg, text);
	return 0;
}

int hp_pack_hollow(const struct hp_pack *p, struct hpdsl_error *err)
{
	const struct hpdsl_pack_options *opt = p->w.opt;
	hp_auto_free struct look *l = calloc(1, sizeof *l);
	int r;

	if (!l)
		return hp_fail_nomem(err);
	l->p = p;
	r = pick(l, err);
	if (r == 0 && l->n)
		r = hp_pool_run(opt->threads == HPDSL_SERIAL ? HPDSL_SERIAL :
							       READERS,
				l->n, look_into, l, opt->watch.stop, err);
	if (r == 0)
		r = judge(l, err);
	free(l->v);
	return r;
}
