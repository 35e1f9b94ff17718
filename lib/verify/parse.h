/* SPDX-License-Identifier: Apache-2.0 */
/* A reader of tars at a chunk, and what it finds held against the index. */
#ifndef HP_VERIFY_PARSE_H
#define HP_VERIFY_PARSE_H

#include "base/hash.h"
#include "verify/verify.h"

/* What a reader found. */
struct hp_found_member {
	const char *name;
	size_t len;
	uint64_t size;
	int64_t mtime;
	uint32_t mode;
	uint64_t offset; /* of the content, in a tar of others */
};

/* Samples that the first reader told, ascending. */
struct hp_told {
	uint64_t *v;
	size_t n;
	size_t at; /* where the second reader is */
};

/* One reader at one chunk. */
struct hp_parse {
	struct hp_verify *v;
	const struct hpdsl_chunk *row;
	const char *reader;
	bool foreign;
	uint64_t number;       /* of the member that is next */
	struct hpdsl_member m; /* that was found last */
	uint64_t last;	       /* sample that was told last */
	struct hp_told *told;
	bool second; /* the samples in told have been counted */
	XXH3_state_t hash;
};

/* Beside 0 and errors: this reader is of no more use here. */
enum { HP_PARSE_LOST = 1 };
/* A tar of others has this path again behind, and that one counts. */
enum { HP_PARSE_OLD = 2 };

/*
 * The member that is found next: 0, or HP_PARSE_LOST if it is another one, or
 * HP_PARSE_OLD.
 */
int hp_parse_compare(struct hp_parse *p, const struct hp_found_member *f,
		     struct hpdsl_error *err);
/* Its content has gone through p->hash. */
void hp_parse_content(struct hp_parse *p);
/* Nothing more is found. */
int hp_parse_end(struct hp_parse *p);

/* Something that no member of the index can be. */
int hp_parse_stranger(struct hp_parse *p, const char *name, size_t len);
/* Of the member that was found last: 0. */
int hp_parse_member(struct hp_parse *p, const char *what);
/* Of the chunk: HP_PARSE_LOST. */
int hp_parse_chunk(struct hp_parse *p, const char *what);
/* A failure of what is stored is told, one of this machine is passed on. */
int hp_parse_failed(struct hp_parse *p, int code, const struct hpdsl_error *why,
		    struct hpdsl_error *err);

/* The whole chunk with our tar reader: 0, HP_PARSE_LOST, or an error. */
int hp_parse_with_ours(struct hp_parse *p, struct hpdsl_error *err);

#endif
