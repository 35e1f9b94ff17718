/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node's processes have seen of the job's other nodes, in a file that
 * they share: peers.health, hpdsl-format(5).  So one reader's second of waiting
 * serves all.  The server of the node makes it; that it is there, of this boot
 * and of this book, is what allows readers to ask peers at all.
 *
 * It is advice, and never a promise: it is read and written, never mapped, and
 * each row has its own checksum, so whoever cuts, removes or scribbles over it
 * makes others forget, and no more.  Nothing in it can make a node be left out
 * for longer than the longest wait between two probes, but being banned.  What
 * is only overwritten is so without a lock; what is counted is kept here until
 * it can be added under a lock, which is never waited for.
 *
 * A table is a process's way to the file: what it read of a row is good for
 * some milliseconds.  Without a file it is private, and goes on with what this
 * process sees.  One thread at a time.  Times are hp_monotonic()'s.
 */
#ifndef HP_PEERS_TABLE_H
#define HP_PEERS_TABLE_H

#include "peers/book.h"
#include "sys/io.h"

#include <stdbool.h>

#define HP_TABLE_NAME "peers.health"

enum {
	HP_TABLE_WHYS = 16,  /* reasons for the origin, by number */
	HP_TABLE_TIMES = 32, /* bit n: 2^n microseconds or more */
};

/* ---- The file --------------------------------------------------------- */

/* Which one it is, not whether it is there. */
struct hp_table_file {
	const struct hp_io *io;
	int dir; /* its own */
	char *name;
	uint32_t nodes;
	uint8_t head[64];
	bool any; /* false: a zeroed one */
};

/*
 * The server's: it is made, or left as it is if it is of this boot and book:
 * what was seen stays seen.  path is DIR's, for messages.
 */
int hp_table_make(const struct hp_io *io, int dir, const char *path,
		  const struct hp_book_head *book, struct hp_table_file *ret,
		  struct hpdsl_error *err);
/* 1: it was gone, or cut, and is made anew; 0: it is there. */
int hp_table_mend(const struct hp_table_file *f, struct hpdsl_error *err);
/*
 * A reader's: is there one?  -ENOENT: there is none; -ESTALE: of another boot
 * or book; -EPERM: it is not the caller's own file; HPDSL_ENOTOURS, _ETOONEW,
 * _ECORRUPT.  One that is cut behind its head counts as one.
 */
int hp_table_find(const struct hp_io *io, int dir, const char *path,
		  const struct hp_book_head *book, struct hp_table_file *ret,
		  struct hpdsl_error *err);
/* Of a zeroed one: harmless. */
void hp_table_leave(struct hp_table_file *f);
/* A descriptor of it, to read and to write; for table.c. */
int hp_table_file_open(const struct hp_table_file *f, struct hpdsl_error *err);
bool hp_table_file_is_still(const struct hp_table_file *f, int fd);

/* ---- A process's table ------------------------------------------------ */

/* Added up, since the file was made; as it lies in the file. */
struct hp_table_tally {
	uint64_t reads, bytes; /* that it sent */
	uint64_t adopted;      /* reads of those that it adopted for */
	uint64_t suspect;      /* times that it became so */
	uint64_t bad;	       /* times that its bytes were wrong */
	uint64_t hedged;       /* asked, as another one was late, */
	uint64_t won;	       /* and the first to answer */
	uint64_t zero;
	uint64_t origin[HP_TABLE_WHYS]; /* reads of the origin instead */
	uint64_t latency[HP_TABLE_TIMES];
};

struct hp_table_row {
	uint64_t until;	   /* it is suspect; 0: it is not */
	uint64_t told;	   /* when it last said what it owes; 0: never */
	uint64_t load;	   /* bytes that it owed then, to all */
	uint64_t failures; /* times that it became suspect */
	uint64_t bad;	   /* times that its bytes were wrong */
	uint16_t port;	   /* where it was found; 0: not known */
};

struct hp_table_node;

struct hp_table {
	const struct hp_table_file *file;
	int fd; /* -1: private */
	uint32_t nodes;
	uint64_t fresh; /* a row is, for so long */
	bool told;	/* that it is private */
	uint64_t looked;
	struct hp_table_node *node; /* and one of nobody */
	uint32_t owed;		    /* first of those with something to add */
};

/*
 * *f stays, and stays where it is.  -ENOMEM alone; a file that cannot be used
 * is told by hp_table_look().
 */
int hp_table_open(const struct hp_table_file *f, struct hp_table *ret);
/* What was not added is lost.  Of a zeroed one: harmless. */
void hp_table_close(struct hp_table *t);
/* In a child of fork(), its parent's: only the descriptor. */
void hp_table_disown(struct hp_table *t);

/*
 * Once a second: another file of that name is taken, and what was counted is
 * added to it.  False: it is private now; the first time *err tells why.
 */
bool hp_table_look(struct hp_table *t, uint64_t now, struct hpdsl_error *err);
/* Adds what was counted; what is locked is kept for the next time, but the last
 * time it is waited for, a little. */
void hp_table_add(struct hp_table *t, bool last);
/* Is there something to add, and where to? */
bool hp_table_owes(const struct hp_table *t);

/* ---- Of a node -------------------------------------------------------- */

struct hp_table_row hp_table_get(struct hp_table *t, uint32_t node,
				 uint64_t now);
/* Neither suspect nor banned, as far as anybody here has seen. */
bool hp_table_lives(struct hp_table *t, uint32_t node, uint64_t now);
/* The same, and nobody has heard of it since it last was; read from the file,
 * by any number of threads. */
bool hp_table_is_well(const struct hp_table *t, uint32_t node);
/* When this node's server had read the book; 0: not known. */
uint64_t hp_table_since(struct hp_table *t, uint64_t now);
/* May its server just not be up yet?  Those of a job come up one after the
 * other, in so long; but one that somebody here has heard of is lost. */
#define HP_STARTING_FOR UINT64_C(10000000000)
bool hp_table_is_starting(struct hp_table *t, uint32_t node, uint64_t now);

/* It is late, or failed: until then others of this node need not try. */
void hp_table_suspect(struct hp_table *t, uint32_t node, uint64_t now,
		      uint64_t until);
/* It sent a byte. */
void hp_table_well(struct hp_table *t, uint32_t node, uint64_t now);
void hp_table_told(struct hp_table *t, uint32_t node, uint64_t now,
		   uint64_t load);
void hp_table_found(struct hp_table *t, uint32_t node, uint64_t now,
		    uint16_t port);
/* By the server of this node. */
void hp_table_up(struct hp_table *t, uint64_t now);
/* It goes: nobody is to wait for others that may come up. */
void hp_table_down(struct hp_table *t, uint64_t now);
/* Its bytes failed a checksum; at HP_BAD_MOST times it is banned. */
void hp_table_bad(struct hp_table *t, uint32_t node);

/* ---- Counted ---------------------------------------------------------- */

/* What is to be added of a node; node == t->nodes: what is of no node.  NULL:
 * no memory, and it is not counted. */
struct hp_table_tally *hp_table_count(struct hp_table *t, uint32_t node);
/* Which bit of latency that is. */
unsigned hp_table_time(uint64_t ns);
/* What the file has of it; zeros where it has nothing. */
void hp_table_tally(const struct hp_table *t, uint32_t node,
		    struct hp_table_tally *ret);

#endif
