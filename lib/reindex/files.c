/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files beside index and chunks in a manifest that is written anew: an old
 * manifest that was right about the chunks is believed, a file at a time, if
 * the file is what it says.  Others stay where they are, unlisted, which is
 * told.
 */
#include "reindex/reindex.h"

#include "base/error.h"
#include "dataset/pass.h"
#include "format/emit.h"
#include "format/sha256sums.h"
#include "sys/dir.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_sound(const struct hp_reindex *x,
		     const struct hp_manifest_file *f)
{
	uint8_t digest[16];
	struct hp_pass p;
	bool good;

	hp_pass_init(&p);
	good = hp_pass_begin(&p, x->io, x->dir, f->name, NULL) == 0 &&
	       p.size == f->bytes;
	while (good && (p.have || p.read < p.size)) {
		good = hp_pass_need(&p, 1) == 0 && p.have;
		hp_pass_take(&p, p.have);
	}
	if (good) {
		hp_pass_digest(&p, digest);
		good = memcmp(digest, f->checksum, sizeof digest) == 0;
	}
	hp_pass_end(&p);
	return good;
}

void hp_reindex_files(struct hp_reindex *x)
{
	struct hp_manifest *m = &x->manifest;
	size_t n = 0;

	for (size_t i = 0; i < m->n_files; i++) {
		const struct hp_manifest_file *f = &m->files[i];

		/* It has a writer of its own. */
		if (strcmp(f->name, HP_SHA256SUMS_NAME) == 0)
			continue;
		if (x->manifest_agrees && f->has_sha256 == x->sha256 &&
		    is_sound(x, f)) {
			m->files[n++] = *f;
			continue;
		}
		hp_reindex_warn(
			x,
			"%.400s: not what the manifest said; no longer listed",
			f->name);
	}
	m->n_files = n;
}

/* ---- Without a manifest: what lies there, and no longer is listed ----- */

struct unlisted {
	const struct hp_reindex *x;
	uint64_t n;
	unsigned readers; /* enum hpdsl_emit */
	char first[HP_SIDE_NAME];
};

static void note_side(struct unlisted *u, enum hp_side_file side,
		      const char *name)
{
	u->readers |= hp_side_emit(side);
	if (!u->n++ || strcmp(name, u->first) < 0)
		snprintf(u->first, sizeof u->first, "%s", name);
}

/* Of a chunk that there is. */
static int note_name(void *arg, const char *name)
{
	struct unlisted *u = arg;
	int64_t c = hp_side_chunk(name);
	char one[HP_SIDE_NAME];

	if (c < 0 || c >= u->x->n_chunks)
		return 0;
	for (enum hp_side_file k = 0; hp_side_of_chunk(k); k++) {
		hp_side_name(k, (uint32_t)c, one);
		if (strcmp(one, name) == 0)
			note_side(u, k, name);
	}
	return 0;
}

/* Those that there is one of. */
static void note_others(struct unlisted *u)
{
	const struct hp_io *io = u->x->io;
	char name[HP_SIDE_NAME];
	struct stat st;

	for (enum hp_side_file k = HP_SIDE_ENERGON_INFO; k < HP_SIDES; k++) {
		hp_side_name(k, 0, name);
		if (io->stat(io, u->x->dir, name, &st, AT_SYMLINK_NOFOLLOW) ==
			    0 &&
		    S_ISREG(st.st_mode))
			note_side(u, k, name);
	}
}

/* By the bits of enum hpdsl_emit. */
static const char *const readers[] = { "no reader",    "dali",
				       "energon",      "dali,energon",
				       "wids",	       "dali,wids",
				       "energon,wids", "dali,energon,wids" };

void hp_reindex_tell_files(struct hp_reindex *x)
{
	const struct hp_io *io = x->io;
	struct unlisted u = { .x = x };
	hp_auto_fd d = { io,
			 io->open(io, x->dir, ".", O_RDONLY | O_DIRECTORY, 0) };

	/* What cannot be listed is not told of. */
	if (d.fd >= 0)
		hp_listdir(io, d.fd, note_name, &u);
	note_others(&u);
	if (u.n)
		hp_reindex_warn(x,
				"%" PRIu64 " index file%s for %s, first %s: "
				"the manifest that listed %s is lost",
				u.n, u.n == 1 ? "" : "s", readers[u.readers],
				u.first, u.n == 1 ? "it" : "them");
}
