/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking a stage directory away: what a stager put there, by its names, and
 * nothing else.  Readers are told first, and read the origin from then on.
 */
#include "stage/private.h"

#include "base/error.h"
#include "base/mem.h"
#include "format/manifest.h"
#include "format/names.h"
#include "index/index.h"
#include "peers/names.h"
#include "sys/dir.h"
#include "sys/outfile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct clean {
	struct hpdsl_stage *s;
	uint64_t chunks;
	struct hp_sides sides;
	bool listed; /* the manifest tells which they are */
	int folder;  /* of some of them, open */
	uint64_t files, bytes, left;
	bool removed; /* something, in this pass */
	char failed[HP_OUTFILE_NAME + sizeof HP_SIDE_FOLDER];
};

/* ---- Telling readers -------------------------------------------------- */

/*
 * Zeros where the chunks' bytes are.  A disk may be too full even for that;
 * then readers find out when they look for the files.
 */
static void clear_bytes(const struct hpdsl_stage *s)
{
	static const uint8_t zeros[4096];
	hp_auto_fd f = { s->io,
			 s->io->open(s->io, s->dir, HP_STATE_NAME,
				     O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0) };
	uint64_t size = hp_state_size(s->old.chunks);

	for (uint64_t at = HP_STATE_CHUNKS; f.fd >= 0 && at < size;) {
		size_t n = size - at < sizeof zeros ? (size_t)(size - at) :
						      sizeof zeros;

		if (hp_io_pwrite_full(s->io, f.fd, zeros, n, at) < 0)
			return;
		at += n;
	}
}

/* ---- What is ours ----------------------------------------------------- */

/* How many chunks there are, and which side files: by the manifest. */
static int read_manifest(struct clean *c, struct hpdsl_error *err)
{
	const struct hpdsl_stage *s = c->s;
	hp_auto_free char *text = NULL;
	struct hp_manifest m = { .memory = NULL };
	size_t n;
	int r;

	c->chunks = s->has_old ? s->old.chunks : 0;
	if (hp_io_slurp(s->io, s->dir, HP_MANIFEST_NAME, HP_MANIFEST_MAX, &text,
			&n) < 0 ||
	    hp_manifest_parse(text, n, HP_MANIFEST_NAME, &m, NULL) < 0)
		return 0;
	if (!s->has_old)
		c->chunks = m.n_chunks;
	r = hp_sides_new(&m, true, NULL, NULL, &c->sides, err);
	c->listed = r == 0;
	hp_manifest_release(&m);
	return r;
}

/* dir: the stage directory, or that of the folder. */
static int note(struct clean *c, int dir, const char *name, int r)
{
	snprintf(c->failed, sizeof c->failed, "%s%s",
		 dir == c->s->dir ? "" : HP_SIDE_FOLDER "/", name);
	return r;
}

static bool may_go(const struct stat *st, const char *name)
{
	return S_ISREG(st->st_mode) ||
	       (S_ISSOCK(st->st_mode) && strcmp(name, HP_SERVE_SOCKET) == 0);
}

static int take_away(struct clean *c, int dir, const char *name)
{
	const struct hpdsl_stage *s = c->s;
	struct stat st;
	int r = s->io->stat(s->io, dir, name, &st, AT_SYMLINK_NOFOLLOW);

	if (r == -ENOENT)
		return 0;
	if (r == 0 && !may_go(&st, name)) {
		c->left++;
		return 0;
	}
	if (r == 0)
		r = s->io->unlink(s->io, dir, name, 0);
	if (r < 0)
		return note(c, dir, name, r);
	c->files++;
	c->bytes += (uint64_t)st.st_size;
	c->removed = true;
	return 0;
}

/* Whatever it is now; but a folder with something in it is of others. */
static int take_side(struct clean *c, int dir, const char *name)
{
	uint64_t bytes = 0;
	int r = hp_stage_remove_side(c->s, dir, name, &bytes);

	if (r == -ENOTEMPTY) {
		c->left++;
		return 0;
	}
	if (r < 0)
		return note(c, dir, name, r);
	c->files += r > 0;
	c->bytes += bytes;
	c->removed = c->removed || r > 0;
	return 0;
}

/* What others have put here under such a name is not listed; without a
 * manifest the name has to do. */
static bool is_side(const struct clean *c, const char *name)
{
	return !c->listed || hp_sides_find(&c->sides, name, c->chunks);
}

static int clean_name(void *arg, const char *name)
{
	struct clean *c = arg;
	struct hp_stage_name in;

	hp_stage_name_read(name, c->chunks, &in);
	if (in.kind == HP_NAME_SIDE && !is_side(c, name))
		in.kind = HP_NAME_OTHER;
	if (in.kind == HP_NAME_OTHER)
		c->left++;
	if (in.kind == HP_NAME_SIDE)
		return take_side(c, c->s->dir, name);
	if (in.kind == HP_NAME_PART || in.kind == HP_NAME_CHUNK)
		return take_away(c, c->s->dir, name);
	return 0;
}

/* ---- The folder of side files ----------------------------------------- */

static int clean_in_folder(void *arg, const char *name)
{
	char path[sizeof HP_SIDE_FOLDER + HP_OUTFILE_NAME];
	struct clean *c = arg;
	bool part;

	snprintf(path, sizeof path, "%s/%s", HP_SIDE_FOLDER, name);
	if (hp_stage_in_side_folder(name, &part) && (part || is_side(c, path)))
		return part ? take_away(c, c->folder, name) :
			      take_side(c, c->folder, name);
	c->left++;
	return 0;
}

/* What is in the place of a folder of ours. */
static int clean_no_folder(struct clean *c)
{
	int r = c->listed && !hp_sides_in_folder(&c->sides) ?
			0 :
			hp_stage_mend_side_folder(c->s, NULL);

	c->files += r > 0;
	return r < 0 ? note(c, c->s->dir, HP_SIDE_FOLDER, r) : 0;
}

/* A name that is no folder of ours is what others have left. */
static int clean_folder(struct clean *c)
{
	const struct hp_io *io = c->s->io;
	uint64_t left = c->left;
	int r = clean_no_folder(c);
	hp_auto_fd f = { io,
			 r < 0 ? r : hp_stage_side_folder(c->s, false, NULL) };

	if (r < 0)
		return r;
	if (f.fd == -ENOENT)
		return 0;
	if (f.fd < 0) {
		c->left++;
		return f.fd == -ENOTDIR || f.fd == -ELOOP ? 0 : f.fd;
	}
	c->folder = f.fd;
	do {
		hp_auto_fd list = { io, io->open(io, f.fd, ".",
						 O_RDONLY | O_DIRECTORY, 0) };

		c->removed = false;
		c->left = left;
		r = list.fd < 0 ? list.fd :
				  hp_listdir(io, list.fd, clean_in_folder, c);
	} while (r == 0 && c->removed);
	if (r == 0 && c->left == left)
		r = io->unlink(io, c->s->dir, HP_SIDE_FOLDER, AT_REMOVEDIR);
	return r == -ENOENT ? 0 : r;
}

/* A directory that changes may be listed badly: until nothing is left. */
static int clean_chunks(struct clean *c)
{
	int r = 0;

	do {
		c->removed = false;
		c->left = 0;
		r = hp_stage_list(c->s, clean_name, c);
	} while (r == 0 && c->removed);
	return r;
}

static int clean_all(struct clean *c)
{
	static const char *const names[] = { HP_INDEX_NAME, HP_MANIFEST_NAME,
					     HP_STATE_NAME };
	int r = clean_chunks(c);

	if (r == 0)
		r = clean_folder(c);
	/* A server that runs here sees that its directory is gone, and ends. */
	for (const char *const *n = hp_peers_names; *n && r == 0; n++)
		r = take_away(c, c->s->dir, *n);
	for (size_t i = 0; i < sizeof names / sizeof *names && r == 0; i++)
		r = take_away(c, c->s->dir, names[i]);
	/* The lock last, while it is held. */
	if (r == 0)
		r = c->s->io->unlink(c->s->io, c->s->dir, HP_STAGE_LOCK, 0);
	return r;
}

static int fail(const struct clean *c, int r, struct hpdsl_error *err)
{
	return hp_fail_errno(err, r, "%s%s%s: cannot be cleaned", c->s->path,
			     *c->failed ? "/" : "", c->failed);
}

static int clean(struct clean *c, struct hpdsl_error *err)
{
	struct hpdsl_stage *s = c->s;
	int r = hp_stage_take(s, false, err);

	if (r < 0)
		return r;
	r = read_manifest(c, err);
	if (r < 0)
		return r;
	if (s->has_old)
		clear_bytes(s);
	r = clean_all(c);
	if (r < 0)
		return fail(c, r, err);
	/* It may be a mount point, or in a directory that is not ours. */
	if (!c->left)
		s->io->unlink(s->io, AT_FDCWD, s->path, AT_REMOVEDIR);
	return 0;
}

int hpdsl_stage_clean(const char *path, const struct hp_io *io,
		      uint64_t *ret_files, uint64_t *ret_bytes,
		      uint64_t *ret_left, struct hpdsl_error *err)
{
	struct clean c = { .files = 0 };
	int r = hp_stage_new(path, io, &c.s, err);

	if (r < 0)
		return r;
	r = clean(&c, err);
	hpdsl_stage_close(c.s);
	hp_sides_release(&c.sides);
	if (r == 0) {
		*ret_files = c.files;
		*ret_bytes = c.bytes;
		*ret_left = c.left;
	}
	return r;
}

/* ---- As if nothing had been ------------------------------------------- */

int hpdsl_stage_undo(struct hpdsl_stage *s, struct hpdsl_error *err)
{
	struct clean c = { .s = s };
	int r = hp_stage_in_order(s, __func__,
				  HP_STEP(HP_STEP_OPENED) |
					  HP_STEP(HP_STEP_INDEX) |
					  HP_STEP(HP_STEP_BEGUN),
				  err);

	if (r < 0)
		return r;
	hp_stage_abandon_put(s);
	s->ended = true;
	if (!s->bare)
		return 0;
	r = read_manifest(&c, err);
	if (r < 0)
		return r;
	r = clean_all(&c);
	hp_sides_release(&c.sides);
	if (r < 0)
		return fail(&c, r, err);
	if (s->made && !c.left)
		s->io->unlink(s->io, AT_FDCWD, s->path, AT_REMOVEDIR);
	return 0;
}
