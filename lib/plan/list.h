/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files to be packed, in memory: 64 bytes and the path each.  Filled by
 * the scan, ordered and grouped in place, completed with checksums by the
 * writer, read by the index and manifest writers.
 */
#ifndef HP_LIST_H
#define HP_LIST_H

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/key.h"
#include "hpdsl/dataset.h"
#include "hpdsl/pack.h"
#include "sys/io.h"

#include <stdio.h>
#include <string.h>

struct hpdsl_dataset;

/* Flags of a file. */
enum {
	HP_FILE_FOLLOW = 1,    /* reached through a symbolic link */
	HP_FILE_GENERATED = 2, /* no file: its content is the class number,
				  which is in source, in digits */
	HP_FILE_CRC = 4,       /* stamp is the CRC-32 of the content */
	HP_FILE_PLACED = 8,    /* its content is in the temporary file of its
				  chunk, low64 is what was put there */
};

/* The byte of full that is 1 for a file with several names. */
enum { HP_FULL_LINKED = 15 };

struct hp_file {
	const char *path; /* of the member; NUL-terminated, in an arena */
	uint64_t size;
	int64_t mtime; /* seconds */
	uint32_t nsec;
	uint32_t stamp;	  /* hp_file_stamp at the scan; of a snapshot's file
			     when it was first read, before that 0 */
	uint8_t full[16]; /* XXH3-128 of the content, once read; before
			     that HP_FULL_LINKED says something */
	union {
		uint64_t low64;	 /* XXH3-64 of it */
		uint64_t source; /* before that: see enum hp_root_kind */
	};
	uint16_t path_len;
	uint16_t key_len; /* set by hp_list_sort */
	uint16_t root;	  /* index into hp_list.roots */
	uint16_t mode : 12;
	uint16_t flags : 4;
};

_Static_assert(sizeof(struct hp_file) == 64, "the memory promise counts it");

/* What an INPUT is, and what a file's source says of its place there. */
enum hp_root_kind {
	HP_ROOT_DIR,	 /* nothing: the path names the file */
	HP_ROOT_TAR,	 /* offset of the content in an archive file */
	HP_ROOT_STREAM,	 /* ordinal in an archive that has to be decoded */
	HP_ROOT_DATASET, /* number of the member */
};

/*
 * Where files are.  In a directory a file's name below fd is its path less
 * prefix_len bytes.  Archives are opened by their names when they are read; fd
 * is -1.
 */
struct hp_root {
	enum hp_root_kind kind;
	int fd;
	uint16_t prefix_len;
	const char *name; /* as given, for messages */
	/* Of an archive, when it was scanned. */
	uint64_t size;
	int64_t mtime;
	uint32_t nsec, stamp;
	struct hpdsl_dataset *dataset; /* owned */
};

struct hp_list {
	const struct hp_io *io;
	struct hp_root *roots;
	size_t n_roots;
	struct hp_file *files;
	uint64_t n_files;
	bool repeats;		/* equal paths are no error */
	struct hp_key_rule key; /* by hp_list_rule, before it is sorted */
	const char **doubles;	/* key's; their strings are borrowed */
	struct hp_arena *arena;
	/* Links to folders, as members' paths, in the order of their bytes;
	 * for who asks for them, and to whom no files are no error. */
	bool note_linked;
	char **linked;
	size_t n_linked;
	/* Name in the chunk of each file, NULL where it is the path; or NULL.
	 */
	const char **stored;
	uint8_t (*sha256)[32]; /* of each content, once read; or NULL */

	/* Set by hp_list_group: sample s is files [samples[s], samples[s+1]).
	 */
	uint64_t *samples; /* n_samples + 1 of them */
	uint64_t n_samples;

	/*
	 * Set by hp_list_label: class of each sample.  Names are sorted by
	 * bytes; with by_value, which is set before, class n is called n if all
	 * are whole numbers.
	 */
	bool by_value;
	uint32_t *labels; /* or NULL */
	const char **classes;
	uint32_t n_classes;
};

/* Closes roots, frees everything; the list may be zero. */
void hp_list_release(struct hp_list *list);

/*
 * A number that is another one if the file was replaced or changed: of device,
 * inode and change time.
 */
uint32_t hp_file_stamp(const struct stat *st);
/* Has it holes? */
bool hp_file_sparse(const struct stat *st);
/* Has an open file what tar could keep and chunks do not: attributes, an ACL?
 */
bool hp_file_has_attributes(const struct hp_io *io, int fd);

/* The file's name below its root's descriptor. */
static inline const char *hp_file_name(const struct hp_list *list,
				       const struct hp_file *f)
{
	return f->path + list->roots[f->root].prefix_len;
}

/* The file's name in its chunk. */
static inline const char *hp_stored_name(const struct hp_list *list,
					 uint64_t file)
{
	return list->stored && list->stored[file] ? list->stored[file] :
						    list->files[file].path;
}

/* What the content of a file is; SHA-256 if the list has room for them. */
static inline void hp_list_set_hash(const struct hp_list *list,
				    struct hp_file *f,
				    const struct hp_content_hash *h)
{
	f->low64 = h->low64;
	memcpy(f->full, h->full, sizeof f->full);
	if (list->sha256)
		memcpy(list->sha256[f - list->files], h->sha256,
		       sizeof h->sha256);
}

/* For messages: "input/a/b", or "input" itself for nothing below it. */
#define HP_INPUT_NAME (2 * HP_PRINTABLE)
const char *hp_input_name(const struct hp_root *root, const char *below,
			  size_t len, char buf[HP_INPUT_NAME]);

/*
 * Says how keys end: with HPDSL_GROUP_LAST by the last dot but for n double
 * suffixes, whose strings stay the caller's; others have none.  Sets list->key,
 * where each of them is there once, in order.  HPDSL_EUSAGE names one that is
 * no such suffix.
 */
int hp_list_rule(struct hp_list *list, enum hpdsl_group group,
		 const char *const *doubles, size_t n, struct hpdsl_error *err);

/*
 * Sets the files' key_len and orders by the bytes of (key, path).  Two equal
 * paths: HPDSL_EUSAGE, naming the path and both roots; the order is then as it
 * was.  The order depends on nothing but the paths.  16 bytes a file meanwhile.
 */
int hp_list_sort(struct hp_list *list, struct hpdsl_error *err);

/*
 * Numbers 0 .. n_files - 1 in the order of path bytes, equal paths by number;
 * ret has n_files places.
 * 8 bytes a file meanwhile.
 */
int hp_list_path_order(const struct hp_list *list, uint64_t *ret,
		       struct hpdsl_error *err);
struct hp_name;
/* The same of n names without NUL, equal ones in the order of their numbers. */
int hp_names_order(const struct hp_name *names, uint64_t n, uint64_t *ret,
		   struct hpdsl_error *err);

/*
 * Is some path a file and, in another file's path, a folder?  HPDSL_EUSAGE
 * names it and both roots.  16 bytes a file meanwhile.
 */
int hp_list_check_folders(const struct hp_list *list, struct hpdsl_error *err);

/*
 * Makes samples of the sorted files: of one key, or one file each, whose key is
 * then its path.
 */
int hp_list_group(struct hp_list *list, enum hpdsl_group group,
		  struct hpdsl_error *err);

/* The sample that a file is a member of.  After hp_list_group. */
uint64_t hp_list_sample_of(const struct hp_list *list, uint64_t file);

/*
 * How many samples have two members of one suffix, and which is the first of
 * them.  After hp_list_group; 8 bytes for each member of the largest sample
 * meanwhile.
 */
int hp_list_same_suffixes(const struct hp_list *list, uint64_t *ret_samples,
			  uint64_t *ret_first, struct hpdsl_error *err);

/*
 * Is the name of a class a whole number, 0 to HP_CLASS_NUMBER_MAX, in decimal
 * digits without a zero in front?
 */
#define HP_CLASS_NUMBER_MAX 65534
bool hp_class_number(const char *name, size_t len, uint32_t *ret);

/* Names of one sample's members, with room for the largest; zero at first. */
struct hp_sample_names {
	struct hp_name *v;
	uint64_t n, room;
};

/* Those of sample s: its paths, or with stored what they are in the chunk. */
int hp_sample_names(struct hp_sample_names *names, const struct hp_list *list,
		    uint64_t s, bool stored, struct hpdsl_error *err);
void hp_sample_names_release(struct hp_sample_names *names);

/*
 * What the names say of the samples that hp_list_group made by key, and, where
 * that does not pass, whether it would if keys ended at the last dot; a sample
 * at least.  images and parted are right if samples are in the order of keys,
 * which may repeat.
 */
int hp_list_look(const struct hp_list *list, struct hpdsl_group_look *ret,
		 struct hpdsl_error *err);

/*
 * How many samples have members of several roots; two such members of the first
 * of them.
 */
uint64_t hp_list_joined(const struct hp_list *list,
			const struct hp_file **ret_one,
			const struct hp_file **ret_two);

/* The name of a sample's class; NULL: it has none. */
struct hp_class {
	const char *name; /* len bytes, not terminated; until the list's end */
	uint32_t len;
};
typedef int hp_class_fn(void *arg, uint64_t sample, struct hp_class *ret,
			struct hpdsl_error *err);

/*
 * Sets labels and classes: name() gives the class of each sample, asked for in
 * order.  Classes are numbered by the bytes of their names, which are copied
 * into the list's arena; with list->by_value, if all of them are whole numbers
 * as hp_class_number has it, each keeps its own, and the numbers between are
 * classes without a sample.  On failure the list is as it was.
 */
int hp_list_classify(struct hp_list *list, hp_class_fn *name, void *arg,
		     struct hpdsl_error *err);

/*
 * A sample keeps the class that its files had, whose samples may have been
 * others than they are: the one of all that had any.  is is that of those
 * before f, name that of f, or NULL.  HPDSL_EUSAGE: it is another; why goes
 * behind that.
 */
int hp_class_keep(struct hp_class *is, const char *name,
		  const struct hp_file *f, const char *why,
		  struct hpdsl_error *err);
/* Has a packed input classes?  Takes them over, before contents are read. */
bool hp_list_has_classes(const struct hp_list *list);
int hp_list_keep_labels(struct hp_list *list, struct hpdsl_error *err);
/* How many classes have another number now than in a packed input; the first of
 * them. */
uint64_t hp_list_renumbered(const struct hp_list *list, const char **ret_name,
			    uint32_t *ret_was, uint32_t *ret_is);

/*
 * Classes of the samples, by the folder of their first member: folder number
 * dir (1, 2, ..) of its path, or the parent folder.  A file that has no such
 * folder has no class.  The other ways leave labels as they are.  dir 0 is 1.
 * After hp_list_group; class names are in the list's arena.
 */
int hp_list_label(struct hp_list *list, enum hpdsl_labels how, uint32_t dir,
		  struct hpdsl_error *err);

/*
 * Gives each sample its generated member: the sample's key and ".cls", in its
 * place among the members, with mode and time of the first one; its content
 * is the number of the class in decimal digits, and its source the number.
 * After hp_list_portable, where that is.  HPDSL_EUSAGE, naming the sample:
 * there is such a name already, as a file or a folder, or no class.  Doubles
 * the memory of the files meanwhile.
 */
int hp_list_cls(struct hp_list *list, struct hpdsl_error *err);
/* The content of one, f->size bytes and a NUL, as long as source is its own. */
#define HP_CLS_MAX 16
void hp_cls_content(const struct hp_file *f, char out[HP_CLS_MAX]);

/*
 * The dataset id: XXH3-128 over, for every file in the order of path bytes,
 * path, a NUL byte, size (8 bytes, little-endian), XXH3-128 of the content
 * (16 bytes, canonical).  Generated members are not in it.  All other files
 * must have their checksums.  And the SHA-256 over the same with SHA-256 of the
 * contents, if the list has them; else that is zeros.
 */
int hp_list_id(const struct hp_list *list, uint8_t ret[16],
	       uint8_t ret_sha256[32], struct hpdsl_error *err);

#endif
