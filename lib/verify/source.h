/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the comparison with a source share. */
#ifndef HP_VERIFY_SOURCE_H
#define HP_VERIFY_SOURCE_H

#include "plan/list.h"
#include "verify/verify.h"

enum { HP_COMPARE_PIECE = 256 * 1024 }; /* bytes read at a time */

struct hp_compare {
	struct hp_verify *v;
	struct hpdsl_pack_options opt; /* how the source is walked */
	const char **include, **exclude;
	struct hp_list list;
	const char *prefix; /* with --prefix-input: "NAME/", or "" */
	size_t prefix_len;
	uint8_t *seen; /* a bit for each member */
	bool coarse;   /* the index knows what tar knows */
};

struct hp_compare_hash {
	uint64_t low64; /* XXH3-64 */
	bool whole;	/* of as many bytes as there should be */
};

/* Fills c->list, and what the report says is not kept. */
int hp_compare_scan(struct hp_compare *c, struct hpdsl_error *err);

/* One file: compare.c */

/* Tells and counts what differs; sample UINT64_MAX: it is not in one. */
void hp_compare_differs(struct hp_compare *c, uint64_t sample, const char *path,
			const char *reason);

/*
 * XXH3-64 of size bytes of a file from off, and whether they are there.  In a
 * file of its own, off NULL, there must be no others.
 */
int hp_compare_hash_file(const struct hp_io *io, int fd, uint64_t size,
			 const uint64_t *off, struct hp_compare_hash *ret);

/* A file was found for this member. */
void hp_compare_see(struct hp_compare *c, uint64_t member);

/* hash: of the content, if it is known; NULL: it is read. */
int hp_compare_file(struct hp_compare *c, const struct hp_file *f,
		    const struct hp_compare_hash *hash,
		    struct hpdsl_error *err);

/* Links: through.c */

/* Files behind links to folders: those that are under no name in the dataset
 * differ. */
int hp_compare_linked(struct hp_compare *c, struct hpdsl_error *err);

#endif
