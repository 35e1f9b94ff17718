/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An archive as input: walked once, from its first byte to its last, by one
 * worker.  Each file's content has a place in the archive file or, where a
 * single one has none, a number in the walk; links are looked at in the end.
 */
#include "scan_archive.h"

#include "error.h"
#include "mem.h"
#include "path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_FIRST = 256, HEADER = 512 };

static uint64_t min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void no_memory(struct hp_archive_walk *k)
{
	hp_scan_abort(k->w->s, -ENOMEM, "out of memory");
}

/* ---- Roots -------------------------------------------------------------- */

static int refuse_inside(const struct hp_scan *s, const char *name,
			 struct hpdsl_error *err)
{
	char in[HP_PRINTABLE], out[HP_PRINTABLE];

	return hp_fail(
		err, HPDSL_EUSAGE, "%s: is inside the output %s",
		hp_printable(name, strlen(name), in),
		hp_printable(s->opt->output, strlen(s->opt->output), out));
}

/* The output directory is ours: what is in it would be in the way. */
static int check_place(const struct hp_scan *s, const char *name,
		       struct hpdsl_error *err)
{
	hp_auto_fd f = { s->io, s->io->open(s->io, AT_FDCWD, name, O_PATH, 0) };
	hp_auto_free char *real = NULL;
	size_t n;

	if (!s->output || f.fd < 0)
		return 0;
	if (hp_scan_real(s->io, f.fd, &real) == -ENOMEM)
		return hp_fail_nomem(err);
	n = strlen(s->output);
	if (!real || strncmp(real, s->output, n) || real[n] != '/')
		return 0;
	return refuse_inside(s, name, err);
}

static void note_file(struct hp_root *root, const struct stat *st)
{
	root->size = (uint64_t)st->st_size;
	root->mtime = st->st_mtim.tv_sec;
	root->nsec = (uint32_t)st->st_mtim.tv_nsec;
	root->stamp = hp_file_stamp(st);
}

int hp_scan_open_archive(struct hp_scan *s, const char *name,
			 struct hpdsl_error *err)
{
	struct hp_root *root = &s->list->roots[s->list->n_roots];
	struct hp_archive *a;
	struct hpdsl_error why;
	int r;

	r = hp_archive_open(s->io, AT_FDCWD, name, s->opt->nested, &a, &why);
	/* Nothing that can be packed is a mistake, not damage. */
	if (r < 0)
		return hp_fail(err, r == HPDSL_ENOTOURS ? HPDSL_EUSAGE : r,
			       "%s", why.msg);
	*root = (struct hp_root){
		.kind = HP_ROOT_STREAM, /* until the walk says better */
		.fd = -1,
		.name = name,
	};
	note_file(root, hp_archive_stat(a));
	hp_archive_close(a);
	s->more[s->list->n_roots].prefix = strdup("");
	if (!s->more[s->list->n_roots++].prefix)
		return hp_fail_nomem(err);
	return check_place(s, name, err);
}

int hp_scan_enter_archive(struct hp_scan *s, uint16_t root)
{
	struct hp_scan_job *job = hp_scan_job(s, root, 0);

	if (!job)
		return -ENOMEM;
	job->kind = HP_SCAN_ARCHIVE;
	hp_scan_push(s, job);
	return 0;
}

/* ---- What is wanted ----------------------------------------------------- */

/* Is a folder above w->path left out as a whole? */
static bool is_pruned(struct hp_scan_worker *w, size_t prefix)
{
	for (size_t i = prefix; w->s->opt->n_exclude && i < w->len; i++) {
		bool is;

		if (w->path[i] != '/')
			continue;
		w->path[i] = '\0';
		is = hp_glob_pruned(w->s->opt, w->path);
		w->path[i] = '/';
		if (is)
			return true;
	}
	return false;
}

static bool take_wish(struct hp_scan *s, const char *path, size_t n)
{
	uint64_t low = 0, high = s->n_wishes;
	bool found = false;

	while (low < high) {
		uint64_t mid = low + (high - low) / 2;
		int c = strncmp(s->wishes[mid].path, path, n);

		if (c < 0 || (c == 0 && s->wishes[mid].len < n))
			low = mid + 1;
		else
			high = mid;
	}
	/* A path may be in the list more than once. */
	for (; low < s->n_wishes && s->wishes[low].len == n &&
	       !memcmp(s->wishes[low].path, path, n);
	     low++)
		found = s->wishes[low].found = true;
	return found;
}

/* Is w->path in the user's list, or a folder above it? */
static bool is_listed(struct hp_archive_walk *k, size_t prefix)
{
	struct hp_scan *s = k->w->s;
	const char *path = k->w->path + prefix;
	size_t len = k->w->len - prefix;
	bool found = false;

	if (!s->opt->list || !len)
		return true;
	for (size_t i = 1; i <= len; i++)
		if (i == len || path[i] == '/')
			found |= take_wish(s, path, i);
	return found || s->wish_all;
}

static void tell_absent(struct hp_archive_walk *k)
{
	struct hp_scan *s = k->w->s;

	for (uint64_t i = 0; s->opt->list && i < s->n_wishes; i++) {
		const struct hp_scan_wish *w = &s->wishes[i];

		if (w->found)
			continue;
		hp_scan_archive_path(k, w->path, w->len);
		hp_scan_problem(k->w, k->root, -ENOENT,
				"is not in the archive");
	}
}

/* ---- Names that are kept ------------------------------------------------ */

static const char *keep_text(struct hp_archive_walk *k, const char *s, size_t n)
{
	const char *kept = NULL;

	if (!k->arena)
		k->arena = hp_arena_new();
	if (k->arena)
		kept = hp_arena_add(k->arena, s, n);
	if (!kept)
		no_memory(k);
	return kept;
}

static void keep_name(struct hp_archive_walk *k, struct hp_archive_names *names,
		      const struct hp_file *f)
{
	const char *path = keep_text(k, k->w->path, k->w->len);

	if (path && names->n == names->cap) {
		uint64_t cap = names->cap ? names->cap * 2 : NAMES_FIRST;
		struct hp_file *v =
			reallocarray(names->v, cap, sizeof *names->v);

		if (!v) {
			no_memory(k);
			return;
		}
		names->v = v;
		names->cap = cap;
	}
	if (!path)
		return;
	names->v[names->n] = *f;
	names->v[names->n].path = path;
	names->v[names->n++].path_len = (uint16_t)k->w->len;
}

static void keep_link(struct hp_archive_walk *k,
		      const struct hp_archive_entry *e, size_t inner,
		      bool wanted)
{
	struct hp_archive_link *l = k->links;

	if (k->n_links % NAMES_FIRST == 0)
		l = reallocarray(l, k->n_links + NAMES_FIRST, sizeof *l);
	if (!l) {
		no_memory(k);
		return;
	}
	k->links = l;
	l += k->n_links;
	*l = (struct hp_archive_link){
		.path = keep_text(k, k->w->path, k->w->len),
		.target =
			keep_text(k, e->target ? e->target : "", e->target_len),
		.path_len = k->w->len,
		.target_len = e->target_len,
		.inner_len = inner,
		.hard = e->type == HP_ARCHIVE_HARDLINK,
		.wanted = wanted,
	};
	if (l->path && l->target)
		k->n_links++;
}

/* ---- One thing of the archive ------------------------------------------- */

void hp_scan_archive_path(struct hp_archive_walk *k, const char *path,
			  size_t len)
{
	struct hp_scan_worker *w = k->w;
	size_t n = w->s->list->roots[k->root].prefix_len;

	memcpy(w->path, w->s->more[k->root].prefix, n);
	if (len > sizeof w->path - 1 - n)
		len = sizeof w->path - 1 - n;
	memmove(w->path + n, path, len);
	w->len = n + len;
	w->path[w->len] = '\0';
}

/* Does the archive name itself, as "./" and the like? */
static bool is_top(const struct hp_archive_entry *e)
{
	for (size_t i = 0; i < e->path_len; i++)
		if (e->path[i] != '/' &&
		    (e->path[i] != '.' || (i && e->path[i - 1] == '.')))
			return false;
	return true;
}

/*
 * w->path becomes the member's path; false: it cannot be one, which is told.
 * ret_inner: bytes of it that are folders of inner archives, or the prefix.
 */
static bool set_path(struct hp_archive_walk *k,
		     const struct hp_archive_entry *e, size_t *ret_inner)
{
	struct hp_scan_worker *w = k->w;
	size_t prefix = w->s->list->roots[k->root].prefix_len;
	int n, inner = 0;

	hp_scan_archive_path(k, e->path, e->path_len);
	if (w->len - prefix < e->path_len) {
		hp_scan_problem(w, k->root, -ENAMETOOLONG, NULL);
		return false;
	}
	if (e->inner_len)
		inner = hp_path_clean(e->path, e->inner_len, w->path + prefix);
	n = hp_path_clean(e->path, e->path_len, w->path + prefix);
	if (n < 0 && e->type == HP_ARCHIVE_FOLDER && is_top(e))
		return false;
	if (n < 0 || prefix + (size_t)n > HPDSL_PATH_MAX) {
		hp_scan_archive_path(k, e->path, e->path_len);
		if (n == -EINVAL)
			hp_scan_problem(w, k->root, HPDSL_EUSAGE,
					e->path_len ?
						"no member can have this path" :
						"a member has no name");
		else
			hp_scan_problem(w, k->root, -ENAMETOOLONG, NULL);
		return false;
	}
	w->len = prefix + (size_t)n;
	*ret_inner = prefix + (inner > 0 ? (size_t)inner + 1 : 0);
	return true;
}

static void take_folder(struct hp_archive_walk *k, bool wanted)
{
	struct hp_scan_worker *w = k->w;
	bool pruned = hp_glob_pruned(w->s->opt, w->path);

	keep_name(k, &k->folders,
		  &(struct hp_file){ .size = wanted && !pruned });
	if (wanted && pruned)
		w->counts.excluded_dirs++;
	else if (wanted)
		w->counts.dirs++;
}

/*
 * A content that has to be decoded goes to OUTPUT, or nowhere: if it cannot be
 * there, the scan need not go on.  Headers are small in a tar that somebody
 * wants; eight times the room in headers alone is a bomb.
 */
static bool has_room(struct hp_archive_walk *k, uint64_t size)
{
	struct hp_scan *s = k->w->s;
	uint64_t sum =
		__atomic_add_fetch(&s->streamed, HEADER, __ATOMIC_RELAXED);
	uint64_t decoded = hp_archive_decoded(k->a);
	uint64_t headers = decoded - min64(decoded, k->contents);
	char name[HP_PRINTABLE], text[HP_PRINTABLE + 128];

	if (size <= s->room && sum <= s->room - size &&
	    headers / 8 <= s->room) {
		__atomic_fetch_add(&s->streamed, size, __ATOMIC_RELAXED);
		return true;
	}
	snprintf(text, sizeof text,
		 "%s: its contents need more than the space that is free where "
		 "the output goes",
		 hp_printable(s->list->roots[k->root].name,
			      strlen(s->list->roots[k->root].name), name));
	hp_scan_abort(s, -ENOSPC, text);
	return false;
}

static void take_file(struct hp_archive_walk *k,
		      const struct hp_archive_entry *e, bool wanted)
{
	struct hp_scan_worker *w = k->w;
	bool crc = e->in_place && e->has_crc;
	struct hp_file f = {
		.size = e->size,
		.mtime = e->mtime,
		.nsec = e->nsec,
		.stamp = crc ? e->crc : 0,
		.root = k->root,
		.mode = e->mode & 07777,
		.flags = crc ? HP_FILE_CRC : 0,
		.source = e->offset,
	};

	/* Until it is known which of them counts. */
	memcpy(f.full, &e->ordinal, sizeof e->ordinal);
	k->in_place = k->in_place && e->in_place;
	if (!e->in_place && !has_room(k, wanted ? e->size : 0))
		return;
	k->contents += e->in_place ? 0 : e->size;
	if (!wanted) {
		keep_name(k, &k->files, &f);
		return;
	}
	hp_scan_put(w, &f);
	w->counts.sparse += e->sparse;
}

static void take(struct hp_archive_walk *k, const struct hp_archive_entry *e)
{
	struct hp_scan_worker *w = k->w;
	size_t prefix = w->s->list->roots[k->root].prefix_len, inner = prefix;
	bool pruned, wanted;

	if (!set_path(k, e, &inner))
		return;
	pruned = is_pruned(w, prefix);
	wanted = is_listed(k, prefix);
	if (e->type == HP_ARCHIVE_FOLDER) {
		take_folder(k, wanted && !pruned);
		return;
	}
	/* What a folder leaves out is not counted, as nobody looks there. */
	if (wanted && !pruned && !hp_glob_wanted(w->s->opt, w->path)) {
		w->counts.excluded++;
		wanted = false;
	}
	wanted = wanted && !pruned;
	if (e->type == HP_ARCHIVE_FILE)
		take_file(k, e, wanted);
	else if (e->type != HP_ARCHIVE_SPECIAL)
		keep_link(k, e, inner, wanted);
	else if (wanted)
		hp_scan_problem(w, k->root, -ENOTSUP,
				"is a device, FIFO or socket, not a file");
}

/* ---- The end of the walk ------------------------------------------------ */

static int compare_names(const void *a, const void *b)
{
	const struct hp_file *x = a, *y = b;

	return strcmp(x->path, y->path);
}

static struct hp_file *find_name(const struct hp_archive_names *names,
				 const char *path, size_t len)
{
	uint64_t low = 0, high = names->n;

	while (low < high) {
		uint64_t mid = low + (high - low) / 2;
		struct hp_file *f = &names->v[mid];
		int c = strncmp(f->path, path, len);

		if (c == 0 && f->path_len == len)
			return f;
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/* Folders above a name are not empty.  *last: the one the last name was in. */
static void mark_above(struct hp_archive_names *folders, const char *path,
		       const char **last)
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) + 1 : 0;

	if (*last && !strncmp(*last, path, n) && !strchr(*last + n, '/'))
		return;
	*last = path;
	for (size_t i = 0; i < n; i++) {
		struct hp_file *f =
			path[i] == '/' ? find_name(folders, path, i) : NULL;

		if (f)
			f->flags = 1;
	}
}

static void count_empty(struct hp_archive_walk *k)
{
	struct hp_archive_names *d = &k->folders;
	struct hp_scan_worker *w = k->w;
	const char *last = NULL;

	if (!d->n)
		return;
	qsort(d->v, d->n, sizeof *d->v, compare_names);
	for (uint64_t i = k->first; i < k->end; i++)
		mark_above(d, w->files[i].path, &last);
	for (uint64_t i = 0; i < k->files.n; i++)
		mark_above(d, k->files.v[i].path, &last);
	for (uint64_t i = 0; i < d->n; i++)
		mark_above(d, d->v[i].path, &last);
	for (uint64_t i = 0; i < k->n_links; i++)
		mark_above(d, k->links[i].path, &last);
	for (uint64_t i = 0; i < d->n; i++)
		w->counts.empty_dirs += d->v[i].size && !d->v[i].flags;
}

/* All files have an offset, or all have a number. */
static void settle(struct hp_archive_walk *k)
{
	struct hp_root *root = &k->w->s->list->roots[k->root];

	root->kind = k->in_place ? HP_ROOT_TAR : HP_ROOT_STREAM;
	for (uint64_t i = k->first; i < k->w->n; i++) {
		struct hp_file *f = &k->w->files[i];

		if (!k->in_place) {
			memcpy(&f->source, f->full, sizeof f->source);
			/* libarchive compares them when it decodes. */
			f->flags &= (uint16_t)~HP_FILE_CRC & 0xf;
			f->stamp = 0;
		}
		memset(f->full, 0, sizeof f->full);
	}
}

static void walk(struct hp_archive_walk *k)
{
	struct hp_scan *s = k->w->s;
	struct hp_archive_entry e;
	struct hpdsl_error err;
	int r;

	while (!hp_scan_over(s) && (r = hp_archive_next(k->a, &e, &err)) > 0) {
		take(k, &e);
		if (e.type != HP_ARCHIVE_FILE && hp_archive_decoded(k->a) &&
		    !has_room(k, 0))
			return;
		hp_scan_tick(k->w);
	}
	if (hp_scan_over(s))
		return;
	if (r < 0) {
		hp_scan_problem_line(k->w, &err);
		return;
	}
	k->end = k->w->n;
	count_empty(k);
	if (hp_scan_archive_links(k))
		tell_absent(k);
	settle(k);
}

void hp_scan_archive(struct hp_scan_worker *w, const struct hp_scan_job *job)
{
	struct hp_scan *s = w->s;
	struct hp_root *root = &s->list->roots[job->root];
	struct hp_archive_walk k = {
		.w = w,
		.root = job->root,
		.first = w->n,
		.in_place = true,
	};
	struct hpdsl_error err;

	if (hp_archive_open(s->io, AT_FDCWD, root->name, s->opt->nested, &k.a,
			    &err) < 0) {
		hp_scan_problem_line(w, &err);
		return;
	}
	note_file(root, hp_archive_stat(k.a));
	hp_archive_set_stop(k.a,
			    s->opt->watch.stop ? s->opt->watch.stop : &s->over);
	walk(&k);
	hp_archive_close(k.a);
	free(k.files.v);
	free(k.folders.v);
	free(k.links);
	hp_arena_free(k.arena);
}
