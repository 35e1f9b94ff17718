/* SPDX-License-Identifier: Apache-2.0 */
/* Files become a dataset. */
#ifndef HPDSL_PACK_H
#define HPDSL_PACK_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hpdsl_snapshot;

enum hpdsl_shuffle { HPDSL_SHUFFLE_GLOBAL, HPDSL_SHUFFLE_NONE };
enum hpdsl_group {
	HPDSL_GROUP_KEY,
	HPDSL_GROUP_NONE,
	HPDSL_GROUP_LAST, /* keys end at the last dot, but for double suffixes
			   */
	/* What packed inputs have; else by key, but HPDSL_EUSAGE where the look
	 * at the names refuses that: see hpdsl_group_look(). */
	HPDSL_GROUP_LOOK,
};
/* "key", "none", "last"; static.  Where nobody has said it, it is by key. */
HPDSL_API const char *hpdsl_group_word(enum hpdsl_group group);

enum hpdsl_labels {
	HPDSL_LABELS_KEEP, /* those of packed inputs; others have none */
	HPDSL_LABELS_NONE,
	HPDSL_LABELS_DIR,
	HPDSL_LABELS_PARENT,
	HPDSL_LABELS_FILE,
	HPDSL_LABELS_CLS,  /* what the sample's member .cls holds */
	HPDSL_LABELS_JSON, /* a field of its member .json */
};
/* What desktops and file systems leave behind: hpdsl-pack(1), "Litter". */
enum hpdsl_litter_how {
	HPDSL_LITTER_LEAVE, /* it is left out */
	HPDSL_LITTER_KEEP,
	HPDSL_LITTER_OLD, /* kept, as packs did that knew of none */
};
enum hpdsl_symlinks { HPDSL_SYMLINKS_FOLLOW, HPDSL_SYMLINKS_FOLLOW_ALL };
enum hpdsl_names { HPDSL_NAMES_KEEP, HPDSL_NAMES_PORTABLE };
enum hpdsl_digest { HPDSL_DIGEST_XXH3, HPDSL_DIGEST_SHA256 };
/* Index files of other readers, or'ed. */
enum hpdsl_emit {
	HPDSL_EMIT_DALI = 1,
	HPDSL_EMIT_ENERGON = 2,
	HPDSL_EMIT_WIDS = 4,
};

struct hpdsl_pack_report;

struct hpdsl_pack_options {
	/*
	 * What is packed: directories, tar and zip archives, packed datasets.
	 * None is allowed with a list.
	 */
	const char *const *inputs;
	size_t n_inputs;
	/* Directory to make.  May be NULL with dry_run. */
	const char *output;
	/*
	 * NULL, or paths to pack instead of a walk, each ended by a NUL byte,
	 * list_bytes in all; relative to the one input, or to the current
	 * directory without one.
	 */
	const char *list;
	size_t list_bytes;
	/*
	 * NULL, or the snapshot whose files are packed instead of a walk; there
	 * is one input then, the directory that it is of, and no list.
	 * Borrowed.
	 */
	const struct hpdsl_snapshot *snapshot;
	bool prefix_input; /* put each input's base name in front */
	bool nested;	   /* archives in an archive are unpacked too */
	bool strict;	   /* what is odd about an archive is an error */
	enum hpdsl_symlinks symlinks;
	enum hpdsl_litter_how litter; /* of a list nothing is left out */
	/* fnmatch patterns, see hpdsl-pack(1); exclude wins. */
	const char *const *include, *const *exclude;
	size_t n_include, n_exclude;

	/* At most one of the first three; 0: not given. */
	uint64_t chunk_size; /* mean bytes; 0: 64 MiB .. 1 GiB */
	uint64_t chunks;
	uint64_t samples_per_chunk;
	uint64_t multiple_of; /* round the number of chunks up to this */

	enum hpdsl_shuffle shuffle;
	uint64_t seed;
	enum hpdsl_group group;
	/*
	 * With HPDSL_GROUP_LAST: suffixes that have a dot inside, as "seg.png";
	 * at most 64, of at most 255 bytes.  The longest that fits counts.
	 */
	const char *const *double_suffix;
	size_t n_double_suffix;
	enum hpdsl_labels labels;
	/*
	 * With HPDSL_LABELS_DIR: folder 1, 2, ..; 0: 1, unless two or more of
	 * the classes are train, val, test and the like: HPDSL_EUSAGE.
	 */
	uint32_t label_dir;
	/*
	 * With HPDSL_LABELS_FILE: lines of path or key and class; a table with
	 * a header if it is called .csv or .tsv, JSON objects if .jsonl.
	 * label_columns: NULL, or which two of its columns are meant, as a
	 * line of CSV.
	 */
	const char *label_file, *label_columns;
	const char *label_field; /* with HPDSL_LABELS_JSON: at the top level */
	bool cls;		 /* add a member .cls with the class number */
	enum hpdsl_names names;
	int zstd; /* level; 0: chunks are not compressed */
	enum hpdsl_digest digest;
	unsigned emit;		 /* enum hpdsl_emit */
	const char *const *meta; /* "KEY=VALUE" */
	size_t n_meta;

	uint32_t threads; /* CPU work: 0, HPDSL_SERIAL or a number */
	uint32_t readers; /* files read at a time; 0: 16 */
	uint64_t memory;  /* bytes for buffers; 0: 512 MiB; at least 8 MiB */
	bool resume, force, dry_run;
	/* An output, and inputs that are stage directories, of anybody. */
	bool foreign_owner;
	struct hpdsl_watch watch;
	/*
	 * Called with watch.arg once all is decided, before a byte is written;
	 * not in a dry run.
	 */
	void (*planned)(void *arg, const struct hpdsl_pack_report *plan);
};

/* Popular readers of tar chunks, or'ed. */
enum hpdsl_reader {
	HPDSL_READER_WEBDATASET = 1,
	HPDSL_READER_DALI = 2,
	HPDSL_READER_ENERGON = 4,
	HPDSL_READER_WIDS = 8,
	HPDSL_READER_HF = 16, /* Hugging Face datasets */
	HPDSL_READER_RAY = 32,
	HPDSL_READERS_ALL = 63,
};

/* "webdataset" of one of these bits; static, NULL for any other number. */
HPDSL_API const char *hpdsl_reader_name(unsigned reader);

/* Names of members that some of these readers trip over, for one reason. */
#define HPDSL_NAME_RISKS 19 /* reasons there are */
#define HPDSL_NAME_EXAMPLE 128
struct hpdsl_name_risk {
	unsigned readers;   /* enum hpdsl_reader: who trips */
	const char *reason; /* "no suffix"; static */
	uint64_t names;
	/* The first of them, made fit to print and to this size. */
	char first[HPDSL_NAME_EXAMPLE];
};

/*
 * Names of folders that divide a dataset: train, training, val, valid,
 * validation, test, testing, dev, in letters of either case.  The bit of such a
 * name of len bytes, or 0; and the name of the lowest bit, in small letters,
 * static, NULL if there is none.
 */
HPDSL_API unsigned hpdsl_split(const char *name, size_t len);
HPDSL_API const char *hpdsl_split_name(unsigned splits);

/* What names say of their grouping by key. */
enum hpdsl_look {
	HPDSL_LOOK_PASS,
	HPDSL_LOOK_DIFFER, /* nothing merges, but hardly a suffix is there
			      twice of those with a dot */
	HPDSL_LOOK_TELL,   /* a few files look like samples of their own, */
	HPDSL_LOOK_REFUSE, /* and so many that a person has to say it */
};

#define HPDSL_LOOK_KEY 96 /* of a key fit to print */
/* Samples that have the same suffixes. */
struct hpdsl_suffix_set {
	uint64_t samples;
	/* Fit to print, with a newline between two; "" for none. */
	char suffixes[96];
	size_t suffixes_more;	    /* that there was no room for */
	char first[HPDSL_LOOK_KEY]; /* the key of the first such sample */
};
#define HPDSL_LOOK_SETS 4

#define HPDSL_LOOK_EXAMPLE 400
struct hpdsl_group_look {
	enum hpdsl_look verdict;
	uint64_t samples;
	uint64_t files, of_files; /* that look so, and all of them */
	/* It does not pass, and with HPDSL_GROUP_LAST it would: looked at. */
	bool last;
	/* A sample that shows it, else one with several members, fit to print:
	 * "'a/1': jpg json"; "" if each file is a sample. */
	char example[HPDSL_LOOK_EXAMPLE];
	/* The most frequent sets of suffixes, and samples of all others. */
	size_t n_sets;
	struct hpdsl_suffix_set sets[HPDSL_LOOK_SETS];
	uint64_t other_sets;
	/*
	 * Of 1,024 samples or fewer, spread over all, those in a folder called
	 * images or so, and of these those of whose name there is another one
	 * in a folder called labels or so in its place: two samples of what is
	 * one. The first such pair, fit to print; "": none.
	 */
	uint64_t images, parted;
	char parted_keys[2][HPDSL_LOOK_KEY];
};

/* "pass", "differ", "tell", "refuse"; static. */
HPDSL_API const char *hpdsl_look_word(enum hpdsl_look verdict);

/* What there is to be said, in one line; "" of what passes.  Returns ret. */
#define HPDSL_LOOK_TEXT 600
/* What is said behind it if look.last. */
#define HPDSL_LOOK_MENDS "; keys that end at the last dot mend it"
HPDSL_API const char *hpdsl_look_text(const struct hpdsl_group_look *look,
				      char ret[HPDSL_LOOK_TEXT]);

struct hpdsl_dataset;

/*
 * The look that hpdsl_pack() takes with HPDSL_GROUP_LOOK, at n members' paths;
 * the rule is in hpdsl-pack(1), "What a sample is".  of: the dataset that they
 * are of, by whose keys they make samples, in the order of its members: a
 * sample is neighbours of one key, with group none each path; keys may repeat,
 * and a NULL in place of a path parts two samples of one key that are
 * neighbours, which else count as one.  of NULL: no dataset; paths in any
 * order, by the first dot.  Zeros for no paths.  64 bytes a path meanwhile;
 * only memory can fail.
 */
HPDSL_API int hpdsl_group_look(const struct hpdsl_dataset *of,
			       const char *const *paths, size_t n,
			       struct hpdsl_group_look *ret,
			       struct hpdsl_error *err);

/* What was left out as litter. */
struct hpdsl_litter {
	uint64_t files, bytes;
	uint64_t folders;  /* not looked into */
	uint64_t included; /* files that an include pattern kept */
	unsigned kinds;	   /* of all these, a bit each */
};

/*
 * The row of that list, from 0, which a file or folder of this name fits; -1:
 * none.  at_top: it lies in the input itself, not in a folder there.  Of
 * HPDSL_LITTER_TWIN the caller has to see whether the name without its first
 * two bytes is in the same folder: else it is none.
 */
enum { HPDSL_LITTER_TWIN = 1 };
HPDSL_API int hpdsl_litter_name(const char *name, size_t len, bool is_folder,
				bool at_top);

/* Kinds in the order of hpdsl-pack(1): "__MACOSX/ ._*".  Returns ret. */
#define HPDSL_LITTER_TEXT 256
HPDSL_API const char *hpdsl_litter_text(unsigned kinds,
					char ret[HPDSL_LITTER_TEXT]);

/* Files packed again under other names, by links to them. */
#define HPDSL_TWICE_NAME 320
struct hpdsl_twice {
	uint64_t links, bytes;		   /* more than once */
	char example[2][HPDSL_TWICE_NAME]; /* names of one, fit to print */
};

/* Files that few mean to pack, and that are packed. */
enum { HPDSL_DOUBTFUL = 9 };
struct hpdsl_doubtful {
	const char *pattern; /* ".git/", "*.part": for exclude; static */
	bool records; /* files of many samples each, of another library */
	uint64_t files, bytes;
};

struct hpdsl_pack_report {
	struct hpdsl_group_look look;
	struct hpdsl_litter litter;
	struct hpdsl_twice twice;
	struct hpdsl_doubtful doubtful[HPDSL_DOUBTFUL];
	uint64_t samples, members, bytes, chunks, classes;
	uint64_t tar_bytes;    /* all chunks, headers and padding included */
	uint64_t stored_bytes; /* all chunks as stored */
	uint64_t compressed_chunks;
	uint64_t index_bytes;			     /* estimate in a dry run */
	uint64_t chunk_min, chunk_median, chunk_max; /* bytes */
	uint64_t resumed_chunks;  /* found complete and checked */
	uint64_t resumed_members; /* of compressed archives: found in their
				     places and compared */
	uint64_t dirs, empty_dirs;
	uint64_t symlinks_followed, symlinks_to_dirs;
	/* With a snapshot of files read; UINT64_MAX: none was. */
	uint64_t hard_links, sparse;
	uint64_t xattrs;	/* files read that have user attributes or an
				   ACL; UINT64_MAX: none was read */
	uint64_t excluded;	/* files left out by include and exclude */
	uint64_t excluded_dirs; /* folders, with all that is below them */
	uint64_t unlabelled;	/* samples without a class */
	uint64_t repeated_suffixes; /* samples with two members of one */
	uint64_t names_changed;	    /* with HPDSL_NAMES_PORTABLE */
	/* Names at risk as they stand in the chunks: n_risks reasons. */
	uint64_t risky_names;
	size_t n_risks;
	struct hpdsl_name_risk risks[HPDSL_NAME_RISKS];
	double scan_seconds, seconds;
	double estimate_seconds; /* dry run: expected time; 0: unknown */
	uint8_t dataset_id[16];
	bool has_sha256; /* the next */
	uint8_t dataset_id_sha256[32];
};

/*
 * Packs.  The plan fixes every byte: the same input, options and seed give the
 * same files for any threads and readers and any interruption and resume.
 * Errors: HPDSL_EUSAGE, HPDSL_EDIFFERS (resume with another input or other
 * options), HPDSL_ECHANGED (a file changed since the scan), HPDSL_ESTOPPED,
 * -EEXIST (output is there), -EBUSY (another packer is at work), -EPERM (output
 * is neither the caller's nor root's: see foreign_owner), -errno.
 */
HPDSL_API int hpdsl_pack(const struct hpdsl_pack_options *opt,
			 struct hpdsl_pack_report *ret,
			 struct hpdsl_error *err);

#ifdef __cplusplus
}
#endif
#endif
