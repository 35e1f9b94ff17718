/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An archive as input: walked once, from its first byte to its last, by one
 * worker.  Each file's content has a place in the archive file or, where a
 * single one has none, a number in the walk; links are looked at in the end.
 */
#include "scan/archive.h"

#include "base/error.h"
#include "base/glob.h"
#include "base/mem.h"
#include "base/path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADER = 512 };

static uint64_t min64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* ---- Roots ------------------------------------------------------------ */

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
	if (hp_io_real_path(s->io, f.fd, &real) == -ENOMEM)
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
	s->more[s->list->n_roots].compressed = hp_archive_decoded(a) > 0;
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
	job->job.kind =
		s->more[root].compressed ? HP_SCAN_STREAM : HP_SCAN_ARCHIVE;
	hp_crew_push(&s->crew, &job->job, false);
	return 0;
}

/* ---- One thing of the archive ----------------------------------------- */

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

	hp_archive_keep_name(k, &k->folders,
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
		 "the output goes, %.1f MiB",
		 hp_printable(s->list->roots[k->root].name,
			      strlen(s->list->roots[k->root].name), name),
		 (double)s->room / (1 << 20));
	hp_crew_abort(&s->crew, -ENOSPC, text);
	return false;
}

/* Archives in archives may hold nothing but archives. */
static bool may_enter(void *arg)
{
	return !hp_crew_over(&((struct hp_archive_walk *)arg)->w->s->crew) &&
	       has_room(arg, 0);
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
		hp_archive_keep_name(k, &k->files, &f);
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
	pruned = hp_scan_pruned(w, prefix);
	wanted = hp_archive_is_listed(k, prefix);
	if (e->type == HP_ARCHIVE_FOLDER) {
		take_folder(k, wanted && !pruned &&
				       !hp_archive_is_litter(k, e, prefix));
		return;
	}
	/* What a folder leaves out is not counted, as nobody looks there. */
	if (wanted && !pruned && !hp_glob_wanted(w->s->opt, w->path)) {
		w->counts.excluded++;
		wanted = false;
	}
	wanted = wanted && !pruned && !hp_archive_is_litter(k, e, prefix);
	if (e->type == HP_ARCHIVE_FILE)
		take_file(k, e, wanted);
	else if (e->type != HP_ARCHIVE_SPECIAL)
		hp_archive_keep_link(k, e, inner, wanted);
	else if (wanted)
		hp_scan_problem(w, k->root, -ENOTSUP,
				"is a device, FIFO or socket, not a file");
}

/* ---- The end of the walk ---------------------------------------------- */

/* All files have an offset, or all have a number. */
static void settle(struct hp_archive_walk *k)
{
	struct hp_root *root = &k->w->s->list->roots[k->root];

	root->kind = k->in_place ? HP_ROOT_TAR : HP_ROOT_STREAM;
	for (uint64_t i = k->first; i < k->w->n; i++) {
		struct hp_file *f = &k->w->files[i];
		uint8_t linked = f->full[HP_FULL_LINKED];

		if (!k->in_place) {
			memcpy(&f->source, f->full, sizeof f->source);
			/* libarchive compares them when it decodes. */
			f->flags &= (uint16_t)~HP_FILE_CRC & 0xf;
			f->stamp = 0;
		}
		memset(f->full, 0, sizeof f->full);
		f->full[HP_FULL_LINKED] = linked;
	}
}

static void walk(struct hp_archive_walk *k)
{
	struct hp_scan *s = k->w->s;
	struct hp_archive_entry e;
	struct hpdsl_error err;
	int r;

	while (!hp_crew_over(&s->crew) &&
	       (r = hp_archive_next(k->a, &e, &err)) > 0) {
		take(k, &e);
		/* Told now, not when all before it has been packed. */
		if (e.type == HP_ARCHIVE_FILE && !e.in_place)
			r = hp_archive_try(k->a, &e, &err);
		if (r < 0)
			break;
		if (e.type != HP_ARCHIVE_FILE && hp_archive_decoded(k->a) &&
		    !has_room(k, 0))
			return;
		hp_scan_tick(k->w);
	}
	if (hp_crew_over(&s->crew))
		return;
	if (r < 0) {
		hp_crew_problem(&k->w->s->crew, &err);
		return;
	}
	k->end = k->w->n;
	hp_archive_count_empty(k);
	if (hp_scan_archive_links(k))
		hp_archive_tell_absent(k);
	hp_archive_drop_twins(k);
	settle(k);
}

static void tell(void *arg, const char *text)
{
	struct hp_archive_walk *k = arg;
	struct hpdsl_error line;

	hp_fail(&line, HPDSL_ECORRUPT, "%s", text);
	if (k->w->s->opt->strict)
		hp_crew_problem(&k->w->s->crew, &line);
	else
		hp_crew_warning(&k->w->s->crew, &line);
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
		hp_crew_problem(&w->s->crew, &err);
		return;
	}
	note_file(root, hp_archive_stat(k.a));
	hp_archive_set_stop(k.a, s->opt->watch.stop ? s->opt->watch.stop :
						      &s->crew.over);
	hp_archive_set_enter(k.a, may_enter, &k);
	hp_archive_set_tell(k.a, tell, &k);
	walk(&k);
	hp_archive_close(k.a);
	free(k.files.v);
	free(k.folders.v);
	free(k.links);
	free(k.twins);
	hp_arena_free(k.arena);
}
