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

#include <errno.h>
#include <string.h>

struct clean {
	struct hpdsl_stage *s;
	uint64_t chunks;
	uint64_t files, bytes, left;
	bool removed; /* something, in this pass */
	char failed[HP_STAGE_NAME + 8];
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

/* How many chunks the manifest has; 0 if it does not tell. */
static uint64_t manifest_chunks(const struct hpdsl_stage *s)
{
	hp_auto_free char *text = NULL;
	struct hp_manifest m = { .memory = NULL };
	uint64_t chunks;
	size_t n;

	if (hp_io_slurp(s->io, s->dir, HP_MANIFEST_NAME, HP_MANIFEST_MAX, &text,
			&n) < 0 ||
	    hp_manifest_parse(text, n, HP_MANIFEST_NAME, &m, NULL) < 0)
		return 0;
	chunks = m.n_chunks;
	hp_manifest_release(&m);
	return chunks;
}

static int take_away(struct clean *c, const char *name)
{
	const struct hpdsl_stage *s = c->s;
	struct stat st;
	int r = s->io->stat(s->io, s->dir, name, &st, AT_SYMLINK_NOFOLLOW);

	if (r == -ENOENT)
		return 0;
	if (r == 0 && !S_ISREG(st.st_mode)) {
		c->left++;
		return 0;
	}
	if (r == 0)
		r = s->io->unlink(s->io, s->dir, name, 0);
	if (r < 0) {
		memcpy(c->failed, name, strlen(name) + 1);
		return r;
	}
	c->files++;
	c->bytes += (uint64_t)st.st_size;
	c->removed = true;
	return 0;
}

static int clean_name(void *arg, const char *name)
{
	struct clean *c = arg;
	struct hp_stage_name in;

	hp_stage_name_read(name, c->chunks, &in);
	if (in.kind == HP_NAME_OTHER)
		c->left++;
	if (in.kind == HP_NAME_PART || in.kind == HP_NAME_CHUNK)
		return take_away(c, name);
	return 0;
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

	for (size_t i = 0; i < sizeof names / sizeof *names && r == 0; i++)
		r = take_away(c, names[i]);
	/* The lock last, while it is held. */
	if (r == 0)
		r = c->s->io->unlink(c->s->io, c->s->dir, HP_STAGE_LOCK, 0);
	return r;
}

static int clean(struct clean *c, struct hpdsl_error *err)
{
	struct hpdsl_stage *s = c->s;
	int r = hp_stage_take(s, false, err);

	if (r < 0)
		return r;
	c->chunks = s->has_old ? s->old.chunks : manifest_chunks(s);
	if (s->has_old)
		clear_bytes(s);
	r = clean_all(c);
	if (r < 0)
		return hp_fail_errno(err, r, "%s%s%s: cannot be cleaned",
				     s->path, *c->failed ? "/" : "", c->failed);
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
	if (r == 0) {
		*ret_files = c.files;
		*ret_bytes = c.bytes;
		*ret_left = c.left;
	}
	return r;
}
