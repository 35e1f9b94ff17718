/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-info, between its parts: what is told, line by line as it is found or
 * as the fields of one JSON object, and a function for each kind of thing.
 */
#ifndef INFO_H
#define INFO_H

#include "common/common.h"

struct info {
	struct cmd_common common;
	struct cmd_strings paths;
	const char *path; /* of what is told of; paths.v[0] at first */
	enum hpdsl_kind kind;
	const char *word;  /* of the kind, in JSON */
	const char *front; /* of what is said first: "the index of ", or "" */
	struct cmd_json json;
	char *wrong, *unread; /* the first of each, or NULL */
	int status;
	char *next; /* the command, or NULL */
};

/* ---- tell.c ----------------------------------------------------------- */

/* What it is, once, before all rows. */
__attribute__((format(printf, 2, 3))) void info_says(struct info *i,
						     const char *fmt, ...);
/* A line for people; bytes of any kind in it are escaped. */
__attribute__((format(printf, 3, 4))) void info_row(struct info *i,
						    const char *label,
						    const char *fmt, ...);
/* A row and a field of one name each. */
void info_name(struct info *i, const char *label, const char *field,
	       const char *name);
void info_hex(struct info *i, const char *label, const char *field,
	      const uint8_t *bytes, size_t n);
/* The object that fields go to, or NULL: rows are wanted. */
struct cmd_json *info_json(struct info *i);
/* Told at the end: damage, and what could not be read; the first is kept. */
__attribute__((format(printf, 2, 3))) void info_wrong(struct info *i,
						      const char *fmt, ...);
/* The one or the other, by its code. */
void info_failed(struct info *i, const struct hpdsl_error *err);
/* All that is left to say; gives the exit status. */
int info_end(struct info *i);

/* ---- next.c: the next command ----------------------------------------- */

/* Begins it anew: words that need no quoting. */
void info_next(struct info *i, const char *words);
/* One word more, quoted for a shell; a path does not look like an option. */
void info_next_word(struct info *i, const char *word);
void info_next_path(struct info *i, const char *path);
/* Option and value: "--labels=dir". */
void info_next_option(struct info *i, const char *name, const char *value);
/* More that needs no quoting, without a blank before it. */
void info_next_more(struct info *i, const char *text);
/* A place for what is made of path, where nothing is yet: "NAME.hpdsl". */
void info_next_output(struct info *i, const char *path);

/* ---- The kinds -------------------------------------------------------- */

void info_nothing(struct info *i);
void info_dataset(struct info *i);
void info_stage(struct info *i);
void info_unfinished(struct info *i);
void info_tars(struct info *i); /* a directory, or all of i->paths */
void info_tree(struct info *i);
void info_empty(struct info *i);
void info_chunk(struct info *i);
void info_part(struct info *i); /* a file of a dataset, not a chunk */
void info_side(struct info *i);
void info_snapshot(struct info *i);
void info_file(struct info *i);
void info_special(struct info *i);

/* ---- What several of them tell ---------------------------------------- */

/* dataset.c: a dataset's manifest and index, as far as they are of use. */
struct info_pack {
	struct hpdsl_manifest *manifest; /* or NULL */
	struct hpdsl_manifest_info m;
	struct hpdsl_dataset *ds; /* or NULL */
	struct hpdsl_counts counts;
	bool foreign; /* it is somebody else's stage directory */
	/* Why there is none; code 0: there is. */
	struct hpdsl_error no_manifest, no_ds;
};

void info_pack_open(struct info *i, const char *path, struct info_pack *p);
/* Tells what is wrong with the two.  Would hpdsl-index make them whole? */
bool info_pack_judge(struct info *i, const struct info_pack *p);
void info_pack_close(struct info_pack *p);
/* All that is known of it; then the sizes of its files. */
void info_pack_tell(struct info *i, const struct info_pack *p);
void info_pack_check(struct info *i, const struct info_pack *p);

/* next_chunks.c: what makes a dataset of the chunks in a folder without index;
 * adopted: its manifest has tar files of others, which may lie elsewhere. */
void info_next_chunks(struct info *i, const char *folder, bool adopted);

/* served.c: the job's nodes, and the server of this one, of a stage directory;
 * nothing where there is neither.  True: the server's socket is told, too. */
bool info_served(struct info *i);

/* pairs.c: options, as rows and fields. */
void info_pairs(struct info *i, const char *label, const char *field,
		const struct hpdsl_pairs *p);

/* classes.c */
/* With cls members .cls, as far as looked at, that the packer did not make. */
void info_classes(struct info *i, const struct info_pack *p, uint64_t cls);

/* sizes.c: least, median and most of n sizes, which are sorted. */
struct info_sizes {
	uint64_t *v;
	size_t n;
};
void info_sizes_add(struct info_sizes *s, uint64_t size);
/* label "chunks" and field "chunk" tell chunks, chunk_bytes, chunk_min .. */
void info_sizes_tell(struct info *i, const char *label, const char *field,
		     struct info_sizes *s);
void info_sizes_free(struct info_sizes *s);

/* counts.c: how many there are of which name. */
struct info_count {
	char *name;
	size_t len;
	uint64_t n;
};
struct info_counts {
	struct info_count *v;
	size_t n;
	uint64_t rest; /* of more names than are kept, or longer ones */
};
/* What they are called: the row, the array and its fields in JSON, and what has
 * the name "". */
struct info_words {
	const char *label, *array, *name, *number, *none;
};
void info_counts_add(struct info_counts *c, const char *name, size_t len);
/* What follows the key, of key bytes, and the dot behind it. */
void info_suffixes_add(struct info_counts *c, const char *name, size_t len,
		       size_t key);
/* The most frequent first. */
void info_counts_tell(struct info *i, struct info_counts *c,
		      const struct info_words *w);
/* The same of suffixes; field of the number: "files" or "members". */
void info_suffixes_tell(struct info *i, struct info_counts *c,
			const char *field);
/* How many have this name. */
uint64_t info_counts_of(const struct info_counts *c, const char *name);
void info_counts_free(struct info_counts *c);

/* guess.c: what a tree looks like. */
enum info_looks {
	INFO_NOTHING,
	INFO_CACHE, /* of Hugging Face */
	INFO_ZARR,
	INFO_COCO,
	INFO_PARTED,  /* pictures and labels in folders of their own */
	INFO_RECORDS, /* of another library, many in a file */
	INFO_LARGE,   /* files, and few */
	/* The next are not guessed, but counted. */
	INFO_SHARDS,
	INFO_SPLITS, /* with classes in them */
	INFO_CLASSES,
};
struct info_guess {
	enum info_looks is;
	char *snapshot; /* of a cache: what is to be packed, or NULL; owned */
};
/* By the names of its files, below root; all: these are all of them. */
void info_guess(const char *root, const struct cmd_strings *names, bool all,
		const struct hpdsl_group_look *look, struct info_guess *ret);
/* table.c: the one table among them that names samples and classes, as
 * --labels would have it; NULL: there is none.  The caller frees it. */
char *info_table(const char *root, const struct cmd_strings *names);
void info_guess_tell(struct info *i, const struct info_guess *g);

/* contents.c: suffixes, folders, a line of Python; look says of its samples.
 * ret_cls: members .cls that are not the packer's, as far as looked at. */
void info_contents(struct info *i, const struct hpdsl_dataset *ds,
		   const struct hpdsl_group_look *look, uint64_t *ret_cls);

/* look.c: what a sample is, and what is odd about that. */
void info_look(struct info *i, const struct hpdsl_group_look *look);
/* The look at paths; false: there are none, or it failed, which is told. */
bool info_look_names(struct info *i, const struct cmd_strings *names,
		     struct hpdsl_group_look *ret);
void info_look_dataset(struct info *i, const struct info_pack *p,
		       struct hpdsl_group_look *ret);

/* readers.c: who takes it. */
struct info_readers {
	const char *const *paths;
	size_t n;
	bool ours;		/* libhpdsl does */
	uint64_t tars, members; /* as in struct hpdsl_compat_options */
	uint64_t all;		/* members there are; 0: not known */
};
/* What is damaged is told as wrong. */
void info_readers(struct info *i, const struct info_readers *r,
		  struct hpdsl_compat_report *ret);

/* folder.c: the folder that a file lies in, for the caller to free. */
char *info_folder(const char *path);

#endif
