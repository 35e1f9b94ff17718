/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members in the order of their paths, which the dataset id takes: brought
 * into it while others read the chunks, for whom there is a place for each
 * content's hash.
 */
#ifndef HP_VERIFY_ORDER_H
#define HP_VERIFY_ORDER_H

#include "base/text.h"
#include "verify/verify.h"

#include <string.h>

struct hp_verify_item {
	const char *path; /* in the index */
	uint64_t size;	  /* of the content */
	uint64_t number : 48, path_len : 16;
};

struct hp_verify_order {
	struct hp_verify_item *item; /* all but generated members */
	uint64_t n;
	uint64_t members;	/* room for so many */
	uint8_t (*content)[16]; /* by member: XXH3-128, once it was read */
	struct hp_text found;	/* what is wrong with the rows: lines, each
				   ended by a NUL */
};

/* Nothing if there is no index, or no content will be read. */
int hp_verify_order_new(struct hp_verify *v, struct hpdsl_error *err);
void hp_verify_order_free(struct hp_verify_order *o);

/* All rows of the index: held against the rules, and brought into order. */
int hp_verify_rows(struct hp_verify *v, struct hpdsl_error *err);
/* Tells what was found, when nobody else tells anything. */
int hp_verify_rows_tell(struct hp_verify *v, struct hpdsl_error *err);

static inline void hp_verify_order_content(const struct hp_verify *v,
					   uint64_t member,
					   const uint8_t full[16])
{
	memcpy(v->order->content[member], full, 16);
}

#endif
