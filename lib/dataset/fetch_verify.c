/* SPDX-License-Identifier: Apache-2.0 */
/* Members of a stretch that are there, each compared with its checksum. */
#include "dataset/fetch_private.h"

#include "base/error.h"
#include "base/hash.h"
#include "index/copy.h"

#include <inttypes.h>

/* "stage/chunk-000017.tar: member 42 'a/b.jpg': checksum differs" */
static int differs(const struct hp_fetch_stretch *s,
		   const struct hp_fetch_file *k, uint64_t number,
		   struct hpdsl_error *err)
{
	char file[HP_CHUNK_FILE_TEXT], name[HP_PRINTABLE];

	return hp_fail(
		err, HPDSL_ECORRUPT,
		"%s: member %" PRIu64 " '%s': checksum differs",
		hp_chunk_file_text(s->f->ds, &s->chunk, k->file.at, file),
		number, hp_index_path_text(s->f->ds->index, number, name));
}

int hp_fetch_verify(struct hp_fetch_stretch *s, const struct hp_fetch_file *k,
		    uint64_t offset, struct hpdsl_error *err)
{
	struct hpdsl_error why;
	int r = 0;

	for (; s->next < s->n; s->next++) {
		struct hp_block_member *m = &s->m[s->next];
		const uint8_t *p = hp_fetch_data(s, m);

		if (m->size && m->offset + m->size > offset)
			break;
		if (m->code != HP_FETCH_PENDING)
			continue;
		if (s->f->opt.unchecked ||
		    hp_hash64(p, (size_t)m->size) == m->checksum) {
			m->data = p;
			m->code = 0;
			s->good++;
		} else {
			r = differs(s, k, m->number, r ? &why : err);
		}
	}
	return r;
}

void hp_fetch_skip(struct hp_fetch_stretch *s, uint64_t offset)
{
	while (s->next < s->n && s->m[s->next].offset < offset)
		s->next++;
}
