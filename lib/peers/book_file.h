/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The book in a stage directory, peers.hpdsl: who may read it knows the job's
 * secret, so it is its owner's alone from its first byte on, and in memory it
 * is kept out of core dumps.
 */
#ifndef HP_PEERS_BOOK_FILE_H
#define HP_PEERS_BOOK_FILE_H

#include "peers/book.h"
#include "sys/io.h"

#define HP_BOOK_NAME "peers.hpdsl"

/* One that was read.  book is as good as long as this is. */
struct hp_book_file {
	struct hp_book book;
	size_t mapped; /* bytes of memory from here */
	/* What the file was, to be held against what has the name now. */
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec made;
};

/*
 * Reads DIR/peers.hpdsl; path is DIR's, for messages.  -ENOENT: there is none.
 * -EPERM: it is somebody else's, or has rights for others, or is no regular
 * file: what it says is not believed.  HPDSL_ENOTOURS, _ETOONEW, _ECORRUPT.
 */
int hp_book_load(const struct hp_io *io, int dir, const char *path,
		 struct hp_book_file **ret, struct hpdsl_error *err);
/* Wipes it.  NULL is harmless. */
void hp_book_unload(struct hp_book_file *f);

/* Is it still this file that has the name? */
bool hp_book_is_still(const struct hp_io *io, int dir,
		      const struct hp_book_file *f);

/* Writes it anew, in the place of any that is there. */
int hp_book_save(const struct hp_io *io, int dir, const char *path,
		 const struct hp_book_head *h, const struct hp_book_node *nodes,
		 struct hpdsl_error *err);

#endif
