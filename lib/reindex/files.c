/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files beside index and chunks in a manifest that is written anew: an old
 * manifest that was right about the chunks is believed, a file at a time, if
 * the file is what it says.  Others stay where they are, unlisted.
 */
#include "reindex/reindex.h"

#include "dataset/pass.h"
#include "format/sha256sums.h"

#include <errno.h>
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
