/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links in an archive become what they lead to, as in a tree that was unpacked
 * from it: by name, folder by folder, through other links, never above the
 * archive's own top.
 */
#include "scan/archive.h"

#include "base/error.h"
#include "base/path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 40 }; /* links in a row, as Linux allows */

static int by_final(const void *a, const void *b)
{
	const struct hp_archive_link *x = *(struct hp_archive_link *const *)a;
	const struct hp_archive_link *y = *(struct hp_archive_link *const *)b;

	return hp_archive_compare(x->final, x->final_len, y->final,
				  y->final_len);
}

/* ---- Where does it lead? ---------------------------------------------- */

/* A path being resolved: what is done, and what is still to be walked. */
struct trail {
	char done[HPDSL_PATH_MAX + 1];
	size_t len, top; /* of it; nothing above top */
	char todo[2 * HPDSL_PATH_MAX + 2];
	size_t left; /* bytes at the end of todo */
	int steps;
	bool same; /* done is the same file, by a hard link */
	struct hp_archive_target target; /* of that */
};

/* Puts text before what is still to be walked. */
static int trail_add(struct trail *t, const char *text, size_t n)
{
	size_t room = sizeof t->todo - t->left;

	if (n + 1 > room)
		return -ENAMETOOLONG;
	t->left += n + 1;
	memcpy(t->todo + sizeof t->todo - t->left, text, n);
	t->todo[sizeof t->todo - t->left + n] = '/';
	return 0;
}

static void trail_up(struct trail *t)
{
	while (t->len > t->top && t->done[t->len - 1] != '/')
		t->len--;
	if (t->len > t->top)
		t->len--;
}

static int trail_down(struct trail *t, const char *name, size_t n)
{
	size_t slash = t->len > t->top;

	if (t->len + slash + n > HPDSL_PATH_MAX)
		return -ENAMETOOLONG;
	if (slash)
		t->done[t->len++] = '/';
	memcpy(t->done + t->len, name, n);
	t->len += n;
	return 0;
}

static int follow(struct trail *t, const struct hp_archive_link *l)
{
	if (++t->steps > STEPS_MAX)
		return -ELOOP;
	if (!l->target_len)
		return -ENOENT;
	if (l->target_len > HPDSL_PATH_MAX)
		return -ENAMETOOLONG;
	if (l->target[0] == '/')
		return -EXDEV;
	trail_up(t);
	return trail_add(t, l->target, l->target_len);
}

/*
 * t is at a hard link: on to what has the content.  A hard link of a symbolic
 * one is a symbolic one in its own folder.
 */
static int follow_hard(const struct hp_archive_walk *k, struct trail *t,
		       const struct hp_archive_link *l)
{
	struct hp_archive_target *at = &t->target;
	int r = l->row_fault;

	if (r == 0)
		r = hp_archive_hard_target(l->last, at);
	if (r < 0)
		return r;
	l = hp_archive_find_link(k, at->path, at->len);
	if (l)
		return follow(t, l);
	t->same = true;
	memcpy(t->done, at->path, at->len);
	t->len = at->len;
	return 0;
}

static int walk(const struct hp_archive_walk *k, struct trail *t)
{
	int r = 0;

	while (r == 0 && t->left) {
		const char *name = t->todo + sizeof t->todo - t->left;
		size_t n = (size_t)((const char *)memchr(name, '/', t->left) -
				    name);
		const struct hp_archive_link *l;

		t->left -= n + 1;
		if (n == 0 || (n == 1 && name[0] == '.'))
			continue;
		if (n == 2 && name[0] == '.' && name[1] == '.') {
			if (t->len == t->top)
				return -EXDEV;
			trail_up(t);
			continue;
		}
		r = trail_down(t, name, n);
		l = r < 0 ? NULL : hp_archive_find_link(k, t->done, t->len);
		if (l && l->hard)
			r = follow_hard(k, t, l);
		else if (l)
			r = follow(t, l);
	}
	return r;
}

static bool resolve(struct hp_archive_walk *k, struct hp_archive_link *l,
		    struct trail *t)
{
	t->top = k->w->s->list->roots[k->root].prefix_len;
	t->left = 0;
	t->steps = 0;
	memcpy(t->done, l->path, l->path_len);
	t->len = l->path_len;
	t->same = false;
	l->fault = l->hard ? follow_hard(k, t, l) : follow(t, l);
	l->same = t->same;
	if (l->fault == 0)
		l->fault = walk(k, t);
	if (l->fault)
		return true;
	l->folder = t->len == t->top;
	l->final = hp_arena_add(k->arena, t->done, t->len);
	l->final_len = t->len;
	return l->final;
}

/* ---- What is there? --------------------------------------------------- */

/*
 * The links that lead somewhere, by where that is.  Those that lead to one
 * place learn of it together, and once: however often it comes, it costs no
 * more than its search.
 */
struct finals {
	struct hp_archive_link **v;
	uint64_t n;
	/* The folder looked up last, and those above it. */
	const char *seen;
	size_t seen_len;
};

static struct hp_archive_link **first_final(const struct finals *f,
					    const char *path, size_t len)
{
	uint64_t low = 0, high = f->n;

	while (low < high) {
		uint64_t mid = low + (high - low) / 2;

		if (hp_archive_compare(f->v[mid]->final, f->v[mid]->final_len,
				       path, len) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return f->v + low;
}

static void see(struct finals *f, const char *path, size_t len,
		const struct hp_file *file, bool packed)
{
	struct hp_archive_link **l = first_final(f, path, len);

	for (; l < f->v + f->n && (*l)->final_len == len &&
	       !memcmp((*l)->final, path, len);
	     l++) {
		if (file ? (*l)->found : (*l)->folder)
			return;
		(*l)->folder |= !file;
		if (!file)
			continue;
		(*l)->found = true;
		(*l)->packed = packed;
		(*l)->file = *file;
	}
}

static void see_folders(struct finals *f, const char *path, size_t len)
{
	while (len && path[len - 1] != '/')
		len--;
	if (f->seen && f->seen_len == len && !memcmp(f->seen, path, len))
		return;
	f->seen = path;
	f->seen_len = len;
	for (size_t i = 0; i < len; i++)
		if (path[i] == '/')
			see(f, path, i, NULL, false);
}

static void see_all(struct hp_archive_walk *k, struct finals *f)
{
	const struct hp_file *files = k->w->files;

	for (uint64_t i = k->first; i < k->end; i++) {
		see(f, files[i].path, files[i].path_len, &files[i], true);
		see_folders(f, files[i].path, files[i].path_len);
	}
	for (uint64_t i = 0; i < k->files.n; i++) {
		files = k->files.v + i;
		see(f, files->path, files->path_len, files, false);
		see_folders(f, files->path, files->path_len);
	}
	for (uint64_t i = 0; i < k->folders.n; i++) {
		files = k->folders.v + i;
		see(f, files->path, files->path_len, NULL, false);
		see_folders(f, files->path, files->path_len);
	}
	/* A folder may hold nothing but links. */
	for (uint64_t i = 0; i < k->n_links; i++)
		see_folders(f, k->links[i].path, k->links[i].path_len);
}

/* ---- What comes of it ------------------------------------------------- */

/* Dangling, a loop, outside: as of a tree's links. */
static void tell(struct hp_archive_walk *k, const struct hp_archive_link *l)
{
	struct hp_scan_worker *w = k->w;
	const char *kind = "dangling link to";
	char what[64 + HP_PRINTABLE], target[HP_PRINTABLE];
	int code = l->fault ? l->fault : -ENOENT;

	if (code == -EXDEV)
		kind = "link leads outside the input:";
	else if (code == -ELOOP)
		kind = "link loop, through";
	else if (l->hard)
		kind = "hard link to what is not in the archive:";
	snprintf(what, sizeof what, "%s %s", kind,
		 hp_printable(l->target, l->target_len, target));
	if (!l->hard && w->s->opt->symlinks == HPDSL_SYMLINKS_FOLLOW_ALL)
		hp_scan_warning(w, k->root, what);
	else if (code == -EXDEV)
		hp_scan_outside(w, k->root, what);
	else
		hp_scan_problem(w, k->root, code, what);
}

static void finish(struct hp_archive_walk *k, const struct hp_twins *lost,
		   struct hp_archive_link *l)
{
	struct hp_scan_worker *w = k->w;
	struct hp_file f = l->file;

	if (!l->wanted)
		return;
	memcpy(w->path, l->path, l->path_len + 1);
	w->len = l->path_len;
	if (hp_archive_is_lost(l)) {
		if (!hp_archive_is_lost_litter(k, lost, l))
			tell(k, l);
		return;
	}
	if (!l->found) {
		w->counts.symlinks_to_dirs++;
		return;
	}
	hp_archive_note_link(k);
	f.full[HP_FULL_LINKED] = l->same;
	if (!l->same) {
		w->counts.symlinks_followed++;
		f.flags |= HP_FILE_FOLLOW;
	}
	hp_scan_put(w, &f);
}

/* Whose content has several names counts, as the file system would tell. */
static void count_hard(struct hp_archive_walk *k, const struct finals *f)
{
	uint64_t end;

	for (uint64_t i = 0; i < f->n; i = end) {
		const struct hp_archive_link *l = f->v[i];
		uint64_t n = l->packed;
		bool several = false;

		for (end = i; end < f->n && !by_final(&f->v[i], &f->v[end]);
		     end++) {
			several |= f->v[end]->same && f->v[end]->found;
			n += f->v[end]->wanted;
		}
		if (several)
			k->w->counts.hard_links += n;
	}
}

bool hp_scan_archive_links(struct hp_archive_walk *k)
{
	struct hp_scan *s = k->w->s;
	struct trail *t = malloc(sizeof *t);
	struct finals f = {
		.v = reallocarray(NULL, k->n_links + 1, sizeof *f.v),
	};
	struct hp_twins lost = { .last = NULL };
	bool ok = t && f.v;

	if (ok) {
		hp_archive_sort_links(k);
		hp_archive_drop_selves(k, &t->target);
		hp_archive_end_rows(k, &t->target);
	}
	for (uint64_t i = 0; ok && i < k->n_links; i++) {
		ok = resolve(k, &k->links[i], t);
		if (ok && !k->links[i].fault)
			f.v[f.n++] = &k->links[i];
	}
	if (ok && f.n) {
		qsort(f.v, f.n, sizeof *f.v, by_final);
		see_all(k, &f);
		count_hard(k, &f);
	}
	ok = ok && hp_archive_see_lost(k, &lost) == 0;
	for (uint64_t i = 0; ok && i < k->n_links && !hp_crew_over(&s->crew);
	     i++)
		finish(k, &lost, &k->links[i]);
	hp_twins_release(&lost);
	free(t);
	free(f.v);
	if (!ok)
		hp_crew_no_memory(&s->crew);
	return ok && !hp_crew_over(&s->crew);
}
