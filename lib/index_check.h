/* SPDX-License-Identifier: Apache-2.0 */
/* What the passes of hp_index_check share. */
#ifndef HP_INDEX_CHECK_H
#define HP_INDEX_CHECK_H

#include "index_private.h"

enum { HP_SAME_HASH = 64 /* names with one hash; more are no accident */ };

struct hp_check {
	const struct hp_index *ix;
	void (*told)(void *arg, const char *reason);
	void *arg;
	struct hpdsl_error *err;
	unsigned found;
	int failed;	  /* it could not be done, or HPDSL_ETOONEW */
	uint64_t *hashes; /* of each member's path */
};

void hp_check_tell(struct hp_check *c, const char *reason);
/* The same, behind the name of the index. */
void hp_check_complain(struct hp_check *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* So many findings that no more are wanted. */
bool hp_check_enough(const struct hp_check *c);

/* A string belongs at *at, which becomes the place of the next one. */
void hp_check_string(struct hp_check *c, enum hp_index_section kind,
		     const char *p, uint64_t *at);
void hp_check_strings_end(struct hp_check *c, enum hp_index_section kind,
			  uint64_t at);

/* Passes over the sections that need not be there. */
void hp_check_frames(struct hp_check *c);
void hp_check_stored(struct hp_check *c);

#endif
