/* SPDX-License-Identifier: Apache-2.0 */
/* What the passes of hp_index_check share. */
#ifndef HP_INDEX_CHECK_H
#define HP_INDEX_CHECK_H

#include "format/findings.h"
#include "index/private.h"

struct hp_check {
	const struct hp_index *ix;
	struct hp_findings findings;
	uint64_t *hashes; /* of each member's path */
};

/* A string belongs at *at, which becomes the place of the next one. */
void hp_check_string(struct hp_check *c, enum hp_index_section kind,
		     const char *p, size_t len, uint64_t *at);
void hp_check_strings_end(struct hp_check *c, enum hp_index_section kind,
			  uint64_t at);

/* Passes over the sections that need not be there. */
void hp_check_frames(struct hp_check *c);
void hp_check_stored(struct hp_check *c);

#endif
