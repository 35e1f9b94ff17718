/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files in a directory are ours: those whose names the manifest, the
 * index or the journal that lie there account for, or the plan, and their
 * temporary ones.  A file that only has such a name is a stranger's, and stays.
 */
#include "write/target_known.h"

#include "base/error.h"
#include "base/mem.h"
#include "format/emit.h"
#include "format/names.h"
#include "format/sha256sums.h"
#include "index/index.h"
#include "sys/outfile.h"
#include "sys/view.h"

#include <errno.h>
#include <string.h>

/* Chunks by their numbers: one more than the highest. */
static void know(const char *name, uint64_t *known)
{
	int64_t c = hp_chunk_number(name);

	if (c >= 0 && (uint64_t)c >= *known)
		*known = (uint64_t)c + 1;
}

/* Tars that were adopted are ours by no name. */
static int know_manifest(const struct hp_io *io, int dir, uint64_t *ret)
{
	hp_auto_free char *text = NULL;
	struct hp_manifest m = { .memory = NULL };
	size_t n;
	int r = hp_io_slurp(io, dir, HP_MANIFEST_NAME, HP_MANIFEST_MAX, &text,
			    &n);

	if (r == 0)
		r = hp_manifest_parse(text, n, HP_MANIFEST_NAME, &m, NULL);
	if (r < 0)
		return r;
	*ret = 0;
	for (size_t i = 0; i < m.n_chunks && !m.adopted; i++)
		know(m.chunks[i].name, ret);
	hp_manifest_release(&m);
	return 0;
}

static int know_index(const struct hp_io *io, int dir, uint64_t *ret)
{
	struct hp_index *index = NULL;
	struct hpdsl_counts n;
	struct hpdsl_chunk c;
	struct hp_view view;
	int r = hp_view_read(&view, io, dir, HP_INDEX_NAME, NULL);

	if (r < 0)
		return r;
	r = hp_index_open(view.p, view.size, HP_INDEX_NAME, &index, NULL);
	if (r == 0) {
		*ret = 0;
		hp_index_count(index, &n);
		for (uint32_t i = 0; i < n.chunks && r == 0; i++) {
			r = hp_index_chunk(index, i, &c, NULL);
			if (r == 0)
				know(c.name, ret);
		}
	}
	hp_index_free(index);
	hp_view_close(&view);
	return r;
}

uint64_t hp_target_known(const struct hp_io *io, int dir,
			 const struct hp_journal *journal, uint64_t planned)
{
	uint64_t known = 0, begun;
	bool told = know_manifest(io, dir, &known) == 0 ||
		    know_index(io, dir, &known) == 0;

	if (journal) {
		begun = hp_journal_chunks(journal);
		known = begun > known ? begun : known;
		return planned > known ? planned : known;
	}
	/* Before there is a plan nothing is refused. */
	return told ? known : planned ? planned : UINT64_MAX;
}

static bool is_final(const char *name, uint64_t known, bool inner)
{
	int64_t c = hp_chunk_number(name);

	if (inner)
		return hp_side_is_name(name, true);
	if (c < 0)
		c = hp_side_chunk(name);
	if (c >= 0)
		return (uint64_t)c < known;
	return !strcmp(name, HP_INDEX_NAME) ||
	       !strcmp(name, HP_MANIFEST_NAME) ||
	       !strcmp(name, HP_SHA256SUMS_NAME) ||
	       hp_side_is_name(name, false);
}

enum hp_target_name hp_target_name(const char *name, uint64_t known, bool inner)
{
	char final[HP_OUTFILE_NAME];
	size_t n = strlen(name);

	if (is_final(name, known, inner))
		return HP_OURS;
	if (!hp_name_is_part(name) || n >= sizeof final)
		return HP_STRANGE;
	memcpy(final, name + 1, n - 6);
	final[n - 6] = '\0';
	return is_final(final, known, inner) ? HP_OUR_PART : HP_STRANGE;
}
