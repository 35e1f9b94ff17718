/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What other readers of tars would make of them.  A lint takes the members of
 * one tar in their order, as their headers have them, and counts what is odd;
 * a table says which reader trips over what, and how.  Pure, but for the last
 * part, which reads the headers.
 */
#ifndef HP_COMPAT_H
#define HP_COMPAT_H

#include "base/key.h"
#include "base/key_set.h"
#include "base/text.h"
#include "chunk/tar_foreign.h"
#include "plan/name_risk.h"
#include "sys/io.h"

/* What is odd besides names, which are plan/name_risk.h's. */
enum hp_trip {
	/* Of members: */
	HP_TRIP_LINK,
	HP_TRIP_SPECIAL, /* a device or FIFO */
	HP_TRIP_SPARSE,
	HP_TRIP_TYPE,	  /* a file, but of no type '0' */
	HP_TRIP_GNU_NAME, /* in a GNU header of its own */
	HP_TRIP_PAX_SIZE,
	HP_TRIP_BASE256, /* a size in base 256 */
	HP_TRIP_PREFIX,	 /* a short name, part of it in the prefix field */
	HP_TRIP_AGAIN,	 /* the same name twice in a sample */
	HP_TRIP_DECODED, /* the suffix ends as one of a compressed file */
	/* Of samples: */
	HP_TRIP_APART,	   /* members not adjacent */
	HP_TRIP_SPLIT,	   /* goes on in the next tar */
	HP_TRIP_KEY_AGAIN, /* the key of another sample */
	HP_TRIP_FIELDS,	   /* the first five differ in their suffixes */
	/* Of tars: */
	HP_TRIP_GLOBAL, /* a global pax header */
	HP_TRIP_MAGIC,	/* no ustar magic in the first header */
	HP_TRIP_EMPTY,
	HP_TRIP_BROKEN,
	HP_TRIP_MISSING, /* the dataset's index has it */
	HP_TRIP_ZSTD,
	HP_TRIP_PACKED,	  /* otherwise compressed */
	HP_TRIP_SUFFIX,	  /* the name does not end in .tar */
	HP_TRIP_DOTS,	  /* a dot inside the name */
	HP_TRIP_STRANGER, /* below the folder, none of these tars */
	HP_TRIP_NO_IDX,	  /* no DALI index beside it */
	HP_TRIP_NO_META,  /* none of Energon's index */
	HP_TRIP_MANY,	  /* more than can well be open at a time */
	HP_TRIP_MIXED,	  /* of train, val and the like: two at least */
	HP_TRIP_FILES,	  /* a dataset's folder has other files, too */
	HP_TRIPS
};

enum { HP_LINTS = HP_RISKS + HP_TRIPS }; /* risks first */

/* What a reader does; NULL: nothing.  "note": it may go on. */
const char *hp_lint_effect(unsigned lint, unsigned reader);
/* Does one of them trip: something worse than a note? */
bool hp_lint_trips(unsigned lint, unsigned reader);
const char *hp_lint_text(unsigned lint); /* "no suffix"; static */
const char *hp_lint_unit(unsigned lint); /* "member" .. "folder"; static */

/* How a header says it. */
enum {
	HP_FORM_PREFIX = 1,
	HP_FORM_GNU_NAME = 2,
	HP_FORM_PAX_NAME = 4,
	HP_FORM_PAX_SIZE = 8,
	HP_FORM_BASE256 = 16,
	HP_FORM_SPARSE = 32,
};

struct hp_lint_member {
	const char *name; /* as the readers get it; any bytes but NUL */
	size_t len;
	enum hp_foreign_kind kind;
	char type; /* of the header */
	unsigned form;
	/* Begins a sample of a dataset whose keys end at the last dot. */
	bool apart;
};

/* The trips of a member by itself: bit 1 << trip. */
uint32_t hp_lint_of_member(const struct hp_lint_member *m);
/* Those of a tar by its name. */
uint32_t hp_lint_of_tar(const char *name);

/* How often, and the first one. */
struct hp_tally {
	uint64_t n;
	char *first; /* or NULL */
};

/* Members of one key: hashes of its suffixes, ascending. */
struct hp_lint_run {
	char *key;
	uint64_t *fields;
	size_t n;
};

/* One tar; zero at first. */
struct hp_lint {
	struct hp_tally tally[HP_LINTS];
	uint64_t members, samples;
	uint64_t most; /* headers that are looked at; 0: all */
	uint64_t want; /* the hash of a key to be found, or 0 */
	char *found;   /* it */
	/* How the dataset that the tar is of makes samples of its members,
	 * where that is not as readers do: each is one, or by this rule. */
	bool each;
	const struct hp_key_rule *rule;
	/* Hashes of its keys, each once, in order. */
	uint64_t *keys;
	size_t n_keys, keys_room;
	struct hp_key_set set;
	struct hp_lint_run first, last;
	unsigned splits;    /* first folders of paths, of hpdsl_split() */
	bool unsplit;	    /* a path has none of these */
	uint64_t fields[5]; /* of the first samples: sums of hashes */
	unsigned n_fields;
	/* The members of the sample that it is at: names, a NUL behind each. */
	struct hp_text run;
	size_t run_n, key_len, run_last; /* where the last name begins */
	uint64_t alone; /* hash of the key of the last one without a suffix */
	struct hp_name *names; /* room for them */
	uint32_t *risks;
	size_t room;
};

int hp_lint_add(struct hp_lint *l, const struct hp_lint_member *m,
		struct hpdsl_error *err);
/* Counts a trip; first is an example, or NULL. */
int hp_lint_count(struct hp_lint *l, enum hp_trip trip, const char *first,
		  struct hpdsl_error *err);
/* Not all members were added: the last sample, which may go on, is none. */
void hp_lint_cut(struct hp_lint *l);
/* Behind the last member. */
int hp_lint_end(struct hp_lint *l, struct hpdsl_error *err);
void hp_lint_release(struct hp_lint *l);

/*
 * What only all tars together show, in their order; counted in the tar where it
 * begins.  again(arg, tar, hash) finds the key of that hash there.
 */
int hp_lint_join(struct hp_lint *tars, size_t n,
		 int (*again)(void *arg, size_t tar, uint64_t hash, char **ret,
			      struct hpdsl_error *err),
		 void *arg, struct hpdsl_error *err);

/*
 * The tar file name of dir, headers only.  What is wrong with it is counted,
 * and told to why if that is given; failures are those of this machine.
 */
int hp_lint_read(struct hp_lint *l, const struct hp_io *io, int dir,
		 const char *name, struct hpdsl_error *why,
		 struct hpdsl_error *err);

#endif
