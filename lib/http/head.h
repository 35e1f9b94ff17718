/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of an answer in HTTP/1.1, over memory, as they come one by one.
 * Of the fields that matter each has its value, without blanks around it, or
 * is not there: one that is there twice, is folded or too long counts as one
 * that is not, but for an encoding, which counts whatever it is.
 */
#ifndef HP_HTTP_HEAD_H
#define HP_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>

enum hp_head_field {
	HP_HEAD_LENGTH,	  /* Content-Length */
	HP_HEAD_RANGE,	  /* Content-Range */
	HP_HEAD_ENCODING, /* Content-Encoding */
	HP_HEAD_TAG,	  /* ETag */
	HP_HEAD_OWN,	  /* HPDSL */
	HP_HEAD_FIELDS
};
enum { HP_HEAD_VALUE = 160 };

struct hp_head {
	unsigned status; /* 0: no answer that is understood */
	unsigned times[HP_HEAD_FIELDS];
	char value[HP_HEAD_FIELDS][HP_HEAD_VALUE];
	bool folded;
	bool whole;
};

/* A line with its end; true: it was the last one of an answer's. */
bool hp_head_line(struct hp_head *h, const char *line, size_t n);
/* NULL: it is not there. */
const char *hp_head_get(const struct hp_head *h, enum hp_head_field f);

#endif
