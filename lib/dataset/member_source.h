/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A member being read, and the file that it is read from.  Of a dataset there
 * is one; of a stage directory that one, then the origin's, and when neither
 * will do what is left of the first: each member has its own checksum.
 */
#ifndef HP_MEMBER_SOURCE_H
#define HP_MEMBER_SOURCE_H

#include "dataset/dataset.h"

struct hp_member_source {
	const struct hpdsl_dataset *ds;
	struct hpdsl_member m; /* its path is not used */
	struct hpdsl_chunk chunk;
	bool open;
	struct hp_source file;
	struct hp_decoder *decoder; /* NULL: nothing was decoded yet */
	struct hp_tried tried;	    /* of a stage directory */
	struct hp_sent sent;	    /* who sent what is read of the member */
	bool looked;	  /* the member is bad here, not only its chunk */
	unsigned changes; /* of the file, since it was opened */
	bool rest;	  /* the file is what is left of one that is bad */
	bool given;	  /* bytes of the member, which cannot be taken back */
	struct hpdsl_error *err;
};

/*
 * Opens the file of a member, which is as a copy of the index has it: 0, or
 * with *err set, which is kept for what follows.  tried, or NULL, says what
 * was asked for the chunk in vain by a read that it is part of, and who is to
 * be blamed if others have it right.
 */
int hp_member_source_begin(struct hp_member_source *r,
			   const struct hpdsl_dataset *ds,
			   const struct hpdsl_member *m,
			   const struct hp_tried *tried,
			   struct hpdsl_error *err);
/* The same of what a caller hands in: it is compared with the index, not
 * believed. */
int hp_member_source_begin_same(struct hp_member_source *r,
				const struct hpdsl_dataset *ds,
				const struct hpdsl_member *m,
				const struct hp_tried *tried,
				struct hpdsl_error *err);
/* Another member of the same chunk: 0, or the file's. */
int hp_member_source_next(struct hp_member_source *r,
			  const struct hpdsl_member *m);
void hp_member_source_end(struct hp_member_source *r);

/*
 * The file was found to be bad: 1, on with another one, or why->code, with that
 * in the reader's error.
 */
int hp_member_source_go_on(struct hp_member_source *r,
			   const struct hpdsl_error *why);

/*
 * Size bytes from offset of what it was begun with, from the file or, where
 * that is of no use, from the next one; of no checksum.  It is in read.c.
 */
int hp_member_source_read(struct hp_member_source *r, uint64_t offset,
			  void *buf, size_t size);

/*
 * Of what is left of a bad chunk, a part is as good as all of the member: 0, 1
 * if it is bad and there is another file now.  It is in read.c.
 */
int hp_member_source_check_rest(struct hp_member_source *r);
/*
 * Of what was given, in parts, with that hash: it has become bad just now, and
 * the next read goes to another source.  Of two it may be either.  It is in
 * read.c.
 */
int hp_member_source_check_given(struct hp_member_source *r, uint64_t hash,
				 bool of_two);

/* All of such a member, into buf of its size; it is in read.c. */
int hp_member_read(const struct hpdsl_dataset *ds, const struct hpdsl_member *m,
		   void *buf, struct hpdsl_error *err);
/* The same of one that a read of more has not got so far, which says *tried;
 * the member is compared with the index. */
int hp_member_read_on(const struct hpdsl_dataset *ds,
		      const struct hpdsl_member *m, struct hp_tried *tried,
		      void *buf, struct hpdsl_error *err);

/* "out/chunk-000017.tar: member 42 'a/b.jpg': why" */
int hp_member_source_fail(const struct hp_member_source *r, int code,
			  const char *why, struct hpdsl_error *err);

#endif
