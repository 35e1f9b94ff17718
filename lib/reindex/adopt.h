/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tars of others, made a dataset where they lie: what hpdsl_reindex does
 * besides for them.
 */
#ifndef HP_ADOPT_H
#define HP_ADOPT_H

#include "plan/labels_file.h"
#include "reindex/reindex.h"

#include <string.h>

/* Of a file in a foreign tar. */
struct hp_adopted_place {
	uint64_t offset;    /* of its content */
	const char *stored; /* its name there; NULL: its path */
};

/* What else is known of a foreign tar than of a chunk. */
struct hp_adopted {
	struct hp_adopted_place *places; /* as many as files */
	/* What is passed over. */
	uint64_t links, folders, specials, replaced;
	/* In the chunk's arena. */
	const char *first_link, *first_special, *first_replaced;
	bool no_end;	 /* there is no end-of-archive block */
	uint64_t behind; /* offset of what is behind it, or 0 */
};

struct hp_adoption {
	const char *source; /* directory given with -o, or NULL */
	bool made;	    /* the output directory is ours */
	bool in_place;	    /* index and manifest lie beside the tars */
	uint64_t links, folders, specials, replaced;
	uint64_t repeated_keys, repeated_paths, repeated_suffixes;
	/* Classes: how they are to be had, and what was read for that. */
	struct hpdsl_pack_options ask;
	struct hp_labels_file labels;
	struct hp_labels_known known;
	uint64_t label_members, label_bytes;
};

/* Is it asked for by the options, or what the dataset there is? */
bool hp_adopt_wanted(const struct hp_reindex *x);

/*
 * With -o, or tars named: finds the directory for index and manifest, makes it
 * if need be, and sets x->path and x->dir.  Messages are complete.
 */
int hp_adopt_open(struct hp_reindex *x, const char *path,
		  struct hpdsl_error *err);
/* Can an index be written there?  Better told before all is read. */
int hp_adopt_probe(const struct hp_reindex *x, struct hpdsl_error *err);
/* Removes a directory that was made for nothing. */
void hp_adopt_release(struct hp_reindex *x, bool failed);

/* The last component of a file's name. */
static inline const char *hp_adopt_base(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash ? slash + 1 : name;
}

/* The folder of a file's name, or "."; NULL: no memory. */
const char *hp_adopt_folder(struct hp_reindex *x, const char *path);

/*
 * How the caller calls the tar that the dataset has by this name, for advice
 * on what to type; ret has HP_PRINTABLE bytes.
 */
const char *hp_adopt_given(const struct hp_reindex *x, const char *name,
			   char *ret);

/* Finds the tars, in the order of their names: x->chunks. */
int hp_adopt_find(struct hp_reindex *x, struct hpdsl_error *err);

/*
 * The name of directory to, as seen from directory from, with a slash behind:
 * "../tars/"; "" for the same.  Both are real and absolute.  Returns its
 * length, or -ENAMETOOLONG; out has HPDSL_PATH_MAX + 1 bytes.
 */
int hp_adopt_relative(const char *from, const char *to, char *out);

/* As hp_reindex_chunk, for a tar of any writer. */
int hp_adopt_tar(void *arg, uint64_t number, struct hpdsl_error *err);

/*
 * Of a path that a tar has more than once the last member counts, as to all who
 * unpack it: the others are passed over.
 */
int hp_adopt_replace(struct hp_found *c, struct hpdsl_error *err);

/* Leaves out tars without files; tells what is odd about the others. */
int hp_adopt_drop(struct hp_reindex *x, struct hpdsl_error *err);

/* As hp_reindex_compare: by name. */
int hp_adopt_compare(struct hp_reindex *x, struct hpdsl_error *err);

/*
 * What classes are asked for, and the file that has them; before the tars are
 * read.  HPDSL_EUSAGE: they are asked for of chunks of ours.
 */
int hp_adopt_labels_read(struct hp_reindex *x, struct hpdsl_error *err);
/*
 * Classes of the samples.  HPDSL_EUSAGE: there are none of what was asked for,
 * or those that were are lost; HPDSL_ECHANGED.
 */
int hp_adopt_label(struct hp_reindex *x, struct hpdsl_error *err);
/* Members .cls that nobody asked for, where no sample has a class. */
uint64_t hp_adopt_unasked(const struct hp_reindex *x);
/* Those that they have in the old index: adopt_kept.c. */
int hp_adopt_keep_labels(struct hp_reindex *x, struct hpdsl_error *err);
/* There is none that has them: HPDSL_EUSAGE. */
int hp_adopt_labels_lost(struct hpdsl_error *err);
/* Is what the manifest says of them new?  Then it is this, to be released. */
bool hp_adopt_relabels(const struct hp_reindex *x);
int hp_adopt_label_pairs(const struct hp_reindex *x, struct hp_pairs *ret,
			 struct hpdsl_error *err);

/* Gives labels; counts and tells what is repeated. */
int hp_adopt_finish(struct hp_reindex *x, struct hpdsl_error *err);

/* The place of a file in chunk c; NULL if that is a chunk of ours. */
static inline const struct hp_adopted_place *hp_adopted_place(
	const struct hp_reindex *x, uint32_t c, uint64_t file)
{
	const struct hp_found *k = &x->chunks[c];

	return k->adopted ? &k->adopted->places[file - k->made.first_member] :
			    NULL;
}

#endif
