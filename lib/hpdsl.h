/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libhpdsl: packed training datasets.  Whole samples in plain tar chunks, one
 * binary index that answers by number and by path, checksums over every byte.
 *
 * Conventions.  Functions return 0 or a count, or a negative code: -errno, or
 * one of enum hpdsl_code.  On failure ret_* outputs are untouched and *err (may
 * be NULL) holds one line that names the object and the reason.  Sizes and
 * offsets are bytes.  Numbers of samples, members and chunks count from 0.
 * Strings handed out live as long as the object they came from.  Nothing here
 * prints, exits, changes a signal handler or keeps mutable globals.
 */
#ifndef HPDSL_H
#define HPDSL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HPDSL_VERSION "0.1.0"

/* Longest path of a member, without the closing NUL. */
#define HPDSL_PATH_MAX 4095

#define HPDSL_NO_LABEL UINT32_MAX

#if defined(__GNUC__)
#define HPDSL_API __attribute__((visibility("default")))
#else
#define HPDSL_API
#endif

/* Codes of our own, below any -errno. */
enum hpdsl_code {
	HPDSL_ECORRUPT = -10001, /* bytes are not what was written */
	HPDSL_ENOTOURS = -10002, /* not an HPDSL file or directory */
	HPDSL_ETOONEW = -10003,	 /* of a later format version */
	HPDSL_EDIFFERS =
		-10004, /* another dataset, other options, other tree */
	HPDSL_ECHANGED = -10005, /* what is read changed meanwhile */
	HPDSL_ESTOPPED = -10006, /* stopped early as asked; a rerun completes */
	HPDSL_EUSAGE = -10007,	 /* options or arguments that make no sense */
};

/* Plain bytes: may be copied, sent to another thread or rank. */
struct hpdsl_error {
	int code;
	char msg[1020];
};

HPDSL_API const char *hpdsl_version(void);

/*
 * What a long operation tells its caller, and how it is told to stop.  Zero
 * everywhere: silent, not to be stopped.  The functions may be called from the
 * library's threads, never two at a time.
 */
struct hpdsl_progress {
	const char *phase;    /* "scanning", "writing", ... */
	uint64_t done, total; /* files or bytes; total 0: not known yet */
	bool bytes;	      /* done and total are bytes */
};

struct hp_io;

struct hpdsl_watch {
	void (*progress)(void *arg, const struct hpdsl_progress *p);
	/* One line worth telling that is no error: a warning. */
	void (*warn)(void *arg, const char *text);
	void *arg;
	/*
	 * Polled with relaxed atomic loads; may be set by a signal handler.
	 * Non-zero: finish what is open, then return HPDSL_ESTOPPED.
	 */
	const int *stop;
	/* File operations; NULL: the system's.  For the library's tests. */
	const struct hp_io *io;
};

/*
 * Number of threads for CPU work: 0 takes one for each core this process may
 * use (at most 16); HPDSL_SERIAL does everything in place, in the calling
 * thread.  The result is the same, byte for byte, for every value.
 */
#define HPDSL_SERIAL UINT32_MAX
/* Who asks for more than this means something else. */
#define HPDSL_THREADS_MOST 4096

/* ---- Packing ---------------------------------------------------------- */

enum hpdsl_shuffle { HPDSL_SHUFFLE_GLOBAL, HPDSL_SHUFFLE_NONE };
enum hpdsl_group { HPDSL_GROUP_KEY, HPDSL_GROUP_NONE };
enum hpdsl_labels {
	HPDSL_LABELS_KEEP, /* those of packed inputs; others have none */
	HPDSL_LABELS_NONE,
	HPDSL_LABELS_DIR,
	HPDSL_LABELS_PARENT,
	HPDSL_LABELS_FILE,
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
	enum hpdsl_symlinks symlinks;
	/* fnmatch patterns, see hpdsl-pack(1); exclude wins. */
	const char *const *include, *const *exclude;
	size_t n_include, n_exclude;

	/* At most one of the first three; 0: not given. */
	uint64_t chunk_size; /* mean bytes of a chunk; 0: 64 MiB */
	uint64_t chunks;
	uint64_t samples_per_chunk;
	uint64_t multiple_of; /* round the number of chunks up to this */

	enum hpdsl_shuffle shuffle;
	uint64_t seed;
	enum hpdsl_group group;
	enum hpdsl_labels labels;
	uint32_t label_dir; /* with HPDSL_LABELS_DIR: folder 1, 2, ..; 0: 1 */
	const char *label_file; /* with HPDSL_LABELS_FILE: path or key, class */
	bool cls;		/* add a member .cls with the class number */
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

struct hpdsl_pack_report {
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

/* ---- Reading a dataset ------------------------------------------------ */

struct hpdsl_dataset;

/*
 * Opens the dataset in directory path through its index alone.  Reads the
 * header, the section table and the checksums of blocks of 64 KiB, and the
 * first two lines of the manifest, whatever the dataset's size.  The handle may
 * be used by any number of threads at a time.  io: NULL for the system's.
 * HPDSL_ENOTOURS: also without a manifest; HPDSL_ETOONEW: it, or the index, is
 * of a later version; HPDSL_ECORRUPT; -errno.
 *
 * The index is mapped, and stays open.  What if somebody changes it?
 *  - Replaced or removed by name: nothing; this one stays what it was.
 *  - Written to in place: no call crashes.  What hands out contents
 *    (hpdsl_member_read, hpdsl_member_stream, hpdsl_sample_read,
 *    hpdsl_read_many, loaders, hpdsl_unpack), and hpdsl_.._rows, goes by the
 *    index that was opened: it reads rows anew and holds them against
 *    checksums kept since then.  Loaders do so with every row; the others if
 *    size, mtime or ctime of the open index are not what they were when that
 *    was last done, and so do not notice what is written through a mapping, or
 *    within one tick of the file system's clock.  All others look things up in
 *    the mapping: they give what is there now, and strings (path, key, name in
 *    a chunk) point there: they change with the file, and lose the NUL behind
 *    them.  Names of chunks and classes do not.
 *  - Cut short: contents are an error; whatever else looks behind the new end
 *    is SIGBUS.
 * HPDSL_ECHANGED: what is read does not fit the opened index, and index.hpdsl
 * is of another pack by now; without that it is HPDSL_ECORRUPT.
 */
HPDSL_API int hpdsl_open(const char *path, const struct hp_io *io,
			 struct hpdsl_dataset **ret, struct hpdsl_error *err);

enum {
	/*
	 * The index is read into memory of this process, whose size it takes,
	 * and looked at nowhere else: nothing of the above can happen to it.
	 */
	HPDSL_OPEN_COPY = 1,
	/*
	 * A stage directory, too, that belongs neither to the caller (his
	 * effective user number) nor to root, or whose state file does.  Its
	 * owner can cut the index, which is mapped, and so end this process, or
	 * say that chunks are here which are not; contents are verified all the
	 * same.  Without it such a directory is -EPERM.  What is no stage
	 * directory may be anybody's.
	 */
	HPDSL_OPEN_FOREIGN_OWNER = 2,
};

/* The same; flags: 0 or those of HPDSL_OPEN_, or'ed; others: HPDSL_EUSAGE. */
HPDSL_API int hpdsl_open_with(const char *path, unsigned flags,
			      const struct hp_io *io,
			      struct hpdsl_dataset **ret,
			      struct hpdsl_error *err);
HPDSL_API void hpdsl_close(struct hpdsl_dataset *ds);

struct hpdsl_counts {
	uint64_t samples, members, chunks, classes;
	uint64_t bytes; /* of all members' contents */
	uint8_t dataset_id[16];
};

HPDSL_API void hpdsl_count(const struct hpdsl_dataset *ds,
			   struct hpdsl_counts *ret);

/*
 * What identifies the pack, the numbers of its samples included: XXH3-128 of
 * its index, all of which is read when this is asked for the first time.
 */
HPDSL_API void hpdsl_pack_id(const struct hpdsl_dataset *ds, uint8_t ret[16]);

/*
 * The same for who wants to know only if two handles are of one pack: of what
 * was read when it was opened, so that it costs nothing, and says nothing of
 * what became of the file.  A child may ask it of a handle that it has from a
 * fork.
 */
HPDSL_API void hpdsl_index_digest(const struct hpdsl_dataset *ds,
				  uint8_t ret[16]);

struct hpdsl_sample {
	uint64_t number;
	uint64_t first_member; /* its members are first_member .. */
	uint64_t members;      /* .. first_member + members - 1 */
	uint32_t chunk;
	uint32_t label;	 /* class number or HPDSL_NO_LABEL */
	const char *key; /* key_len bytes, not NUL-terminated */
	size_t key_len;
};

/* Sample by number.  -ERANGE past the end; HPDSL_ECORRUPT. */
HPDSL_API int hpdsl_sample_get(const struct hpdsl_dataset *ds, uint64_t number,
			       struct hpdsl_sample *ret,
			       struct hpdsl_error *err);

/*
 * Labels of n samples from first on.  -ERANGE: there are not so many;
 * HPDSL_ECORRUPT: ret may have been written to.
 */
HPDSL_API int hpdsl_sample_labels(const struct hpdsl_dataset *ds,
				  uint64_t first, uint64_t n, uint32_t *ret,
				  struct hpdsl_error *err);

struct hpdsl_member {
	uint64_t number;
	uint64_t sample;
	uint32_t chunk;
	uint32_t mode;	 /* permission bits */
	bool generated;	 /* made by the packer (.cls): there was no such file */
	uint64_t offset; /* of its first byte in the plain tar */
	uint64_t size;
	uint64_t checksum; /* XXH3-64 of the content */
	int64_t mtime;	   /* seconds since 1970 */
	uint32_t mtime_nsec;
	const char *path; /* original path, NUL-terminated */
	size_t path_len;
};

/* Member by number.  -ERANGE past the end; HPDSL_ECORRUPT. */
HPDSL_API int hpdsl_member_get(const struct hpdsl_dataset *ds, uint64_t number,
			       struct hpdsl_member *ret,
			       struct hpdsl_error *err);

/* Member by path (path_len bytes).  -ENOENT if there is none. */
HPDSL_API int hpdsl_member_find(const struct hpdsl_dataset *ds,
				const char *path, size_t path_len,
				struct hpdsl_member *ret,
				struct hpdsl_error *err);

struct hpdsl_chunk {
	uint32_t number;
	const char *name; /* file name, NUL-terminated */
	uint64_t first_sample, samples;
	uint64_t first_member, members;
	uint64_t bytes;	      /* of the file as stored */
	uint64_t plain_bytes; /* of the plain tar */
	uint8_t checksum[16]; /* XXH3-128 of the file, canonical (big-endian) */
	uint8_t plain_checksum[16]; /* of the plain tar */
	bool compressed;	    /* stored as .tar.zst */
	uint64_t first_frame;	    /* number in the dataset; with compressed */
	uint32_t frames;
};

HPDSL_API int hpdsl_chunk_get(const struct hpdsl_dataset *ds, uint32_t number,
			      struct hpdsl_chunk *ret, struct hpdsl_error *err);

/* Class name of a label.  NUL-terminated. -ERANGE past the end. */
HPDSL_API int hpdsl_class_name(const struct hpdsl_dataset *ds, uint32_t label,
			       const char **ret, struct hpdsl_error *err);

/*
 * The member's name in its chunk, NUL-terminated: other than its path where
 * names were made portable.  HPDSL_ECORRUPT.
 */
HPDSL_API int hpdsl_member_stored(const struct hpdsl_dataset *ds,
				  const struct hpdsl_member *m,
				  const char **ret, size_t *ret_len,
				  struct hpdsl_error *err);

/* SHA-256 of a member's content.  -ENODATA: the dataset has none. */
HPDSL_API int hpdsl_member_sha256(const struct hpdsl_dataset *ds,
				  uint64_t number, uint8_t ret[32],
				  struct hpdsl_error *err);
/* SHA-256 of a chunk's file, as stored. */
HPDSL_API int hpdsl_chunk_sha256(const struct hpdsl_dataset *ds,
				 uint32_t number, uint8_t ret[32],
				 struct hpdsl_error *err);

/* A sample and members of it, with strings of their own. */
struct hpdsl_rows {
	struct hpdsl_sample sample;
	const struct hpdsl_member *member; /* n of them */
	uint64_t n;
};

/*
 * Rows that are kept as they are until they are freed, and that are, as surely
 * as contents, those of the index that was opened: see hpdsl_open().  Of all of
 * a sample, of one member by number, by path.  -ERANGE, -ENOENT;
 * HPDSL_ECORRUPT; HPDSL_ECHANGED.
 */
HPDSL_API int hpdsl_sample_rows(const struct hpdsl_dataset *ds, uint64_t number,
				struct hpdsl_rows **ret,
				struct hpdsl_error *err);
/* The same of n samples in one: an array of n, in the order of number. */
HPDSL_API int hpdsl_samples_rows(const struct hpdsl_dataset *ds,
				 const uint64_t *number, size_t n,
				 struct hpdsl_rows **ret,
				 struct hpdsl_error *err);
HPDSL_API int hpdsl_member_rows(const struct hpdsl_dataset *ds, uint64_t number,
				struct hpdsl_rows **ret,
				struct hpdsl_error *err);
HPDSL_API int hpdsl_path_rows(const struct hpdsl_dataset *ds, const char *path,
			      size_t path_len, struct hpdsl_rows **ret,
			      struct hpdsl_error *err);
/* NULL is harmless. */
HPDSL_API void hpdsl_rows_free(struct hpdsl_rows *rows);

/*
 * Reads size bytes of the member's content from offset into buf; reading past
 * the end is -ERANGE.  When the whole member is asked for (offset 0, its whole
 * size) its checksum is verified: HPDSL_ECORRUPT.
 */
HPDSL_API int hpdsl_member_read(const struct hpdsl_dataset *ds,
				const struct hpdsl_member *m, uint64_t offset,
				void *buf, size_t size,
				struct hpdsl_error *err);

/*
 * Hands the member's content to sink in order, in pieces of at most 1 MiB, and
 * verifies the checksum: HPDSL_ECORRUPT after the last piece.  A sink that
 * returns non-zero ends the call with that code, its text in *err.
 */
HPDSL_API int hpdsl_member_stream(const struct hpdsl_dataset *ds,
				  const struct hpdsl_member *m,
				  int (*sink)(void *arg, const void *buf,
					      size_t n,
					      struct hpdsl_error *err),
				  void *arg, struct hpdsl_error *err);

/*
 * Reads a whole sample, its members one behind the other in stored order, into
 * buf of cap bytes; ret_bytes is what that takes.  -ENOSPC: buf is too small
 * (ret_bytes is set in this case too).  Checksums are verified.
 */
HPDSL_API int hpdsl_sample_read(const struct hpdsl_dataset *ds,
				const struct hpdsl_sample *s, void *buf,
				size_t cap, size_t *ret_bytes,
				struct hpdsl_error *err);

/* ---- Verifying -------------------------------------------------------- */

struct hpdsl_damage {
	const char *file; /* of the dataset, or NULL */
	uint64_t sample;  /* or UINT64_MAX: no particular sample */
	const char *path; /* of the member or source file, or NULL */
	const char *reason;
};

struct hpdsl_verify_options {
	bool quick;	    /* manifest, sizes, headers only */
	bool thorough;	    /* parse the chunks with two tar readers too */
	const char *source; /* compare with the original files in this tree */
	bool foreign_owner; /* as HPDSL_OPEN_FOREIGN_OWNER */
	uint32_t threads;
	/* Called for everything damaged or different, one call at a time. */
	void (*damage)(void *arg, const struct hpdsl_damage *d);
	void *arg;
	struct hpdsl_watch watch;
};

/*
 * What a source has and its dataset does not keep, though no file differs; as
 * the report of a pack, see hpdsl-verify(1).  UINT64_MAX: not known.
 */
struct hpdsl_not_kept {
	uint64_t excluded, excluded_dirs; /* by the patterns of the pack */
	uint64_t symlinks_to_dirs;
	uint64_t linked_files; /* behind those that lead outside */
	uint64_t specials;     /* and what is no file there */
	uint64_t empty_dirs;
	uint64_t xattrs; /* files with user attributes or an ACL */
	uint64_t symlinks_followed, hard_links, sparse; /* stored as data */
};

struct hpdsl_verify_report {
	uint64_t chunks, samples, members, bytes; /* checked */
	uint64_t damaged_chunks, damaged_samples,
		damaged_files; /* files: manifest, index, chunks */
	uint64_t unlisted;     /* files the manifest does not know */
	/* Of a stage directory: chunks that are not here, and no damage. */
	bool staged;
	uint64_t absent_chunks;
	uint64_t
		differing; /* with source: files that differ, lack or are new */
	struct hpdsl_not_kept not_kept; /* with source */
	double seconds;
	uint8_t dataset_id[16];
	bool has_sha256; /* all files and members have it, and the next */
	uint8_t dataset_id_sha256[32];
};

/*
 * Verifies every byte of every file.  0: sound (and equal to source);
 * HPDSL_ECORRUPT: something is damaged; HPDSL_EDIFFERS: sound, but source
 * differs.  The report is filled in all three cases.  Other codes: it could
 * not be done.
 */
HPDSL_API int hpdsl_verify(const char *path,
			   const struct hpdsl_verify_options *opt,
			   struct hpdsl_verify_report *ret,
			   struct hpdsl_error *err);

/* ---- Other readers ----------------------------------------------------- */

/* Something that one reader would make of some members, samples or tars. */
struct hpdsl_compat_problem {
	unsigned reader;    /* one bit of enum hpdsl_reader */
	const char *effect; /* "drops", "renames", "splits or mixes",
			       "misreads", "refuses", "note"; static */
	bool note;	    /* it goes on all the same */
	const char *unit;   /* "member", "sample" or "tar"; static */
	const char *reason; /* "no suffix"; static */
	uint64_t count;
	const char *first; /* the first name or key, any bytes, or NULL */
	const char *tar;   /* that has it, or NULL for all */
};

struct hpdsl_compat_options {
	unsigned readers;   /* enum hpdsl_reader, or'ed */
	bool foreign_owner; /* as HPDSL_OPEN_FOREIGN_OWNER */
	uint32_t threads;
	/* Called when all has been looked at, reader by reader, in order. */
	void (*problem)(void *arg, const struct hpdsl_compat_problem *p);
	void *arg;
	struct hpdsl_watch watch;
};

struct hpdsl_compat_report {
	uint64_t tars, members, samples;
	unsigned trips; /* readers that would trip, notes apart */
	double seconds;
};

/*
 * What other readers would make of these datasets, tar files and folders of tar
 * files: from headers and indexes, no content is verified.  All are taken for
 * one dataset, in this order.
 */
HPDSL_API int hpdsl_compat(const char *const *paths, size_t n,
			   const struct hpdsl_compat_options *opt,
			   struct hpdsl_compat_report *ret,
			   struct hpdsl_error *err);

/* ---- Unpacking and rebuilding ----------------------------------------- */

struct hpdsl_unpack_options {
	/* Members to restore, any order; NULL: all. */
	const uint64_t *members;
	uint64_t n_members;
	bool foreign_owner; /* output may be anybody's */
	uint32_t threads;
	struct hpdsl_watch watch;
};

struct hpdsl_unpack_report {
	uint64_t members, bytes;
	uint64_t failed;    /* members left out: damaged, or impossible names */
	uint64_t generated; /* and those that the packer made */
	double seconds;
};

/*
 * Restores files (content, mode, mtime) below the new or empty directory
 * output, never outside it.  A member whose checksum differs does not get its
 * name; the others are restored, and the result is HPDSL_ECORRUPT.  *ret is
 * set whenever all was tried: with 0, or with failed members.  -EPERM: output
 * is there, and neither the caller's nor root's.
 */
HPDSL_API int hpdsl_unpack(const struct hpdsl_dataset *ds, const char *output,
			   const struct hpdsl_unpack_options *opt,
			   struct hpdsl_unpack_report *ret,
			   struct hpdsl_error *err);

struct hpdsl_reindex_options {
	bool force; /* replace an index that a chunk contradicts */
	/*
	 * Foreign tar files to adopt; none: those of the directory, unless it
	 * holds chunks of ours.
	 */
	const char *const *tars;
	size_t n_tars;
	const char *output; /* where index and manifest go; NULL: beside */
	bool foreign_owner; /* that directory may be anybody's */
	uint32_t threads;
	struct hpdsl_watch watch;
};

struct hpdsl_reindex_report {
	uint64_t chunks, samples, members, bytes;
	const char *
		lost; /* what could not be recovered, comma-separated; static */
	bool unchanged; /* all was there and sound: nothing was written */
	/* Tars of others, and what they hold besides: links, folders, devices
	 * and the like, which are passed over; samples whose key, members whose
	 * path came before; samples with two members of one suffix. */
	bool adopted;
	uint64_t links, folders, specials;
	uint64_t repeated_keys, repeated_paths, repeated_suffixes;
	double seconds;
	uint8_t dataset_id[16];
	bool has_sha256; /* the next */
	uint8_t dataset_id_sha256[32];
};

/*
 * Rebuilds index and manifest of the directory path from its chunks, or makes
 * them for tars of others, where these lie: for those in the directory path, or
 * for opt->tars (path is NULL then).  HPDSL_EDIFFERS: a chunk contradicts the
 * index that is there (see force); HPDSL_ECORRUPT; HPDSL_ENOTOURS: no dataset,
 * or archives that are compressed; -EOPNOTSUPP: a sparse file.
 */
HPDSL_API int hpdsl_reindex(const char *path,
			    const struct hpdsl_reindex_options *opt,
			    struct hpdsl_reindex_report *ret,
			    struct hpdsl_error *err);

/* ---- Snapshots --------------------------------------------------------- */

/*
 * A name space frozen in one file: folders, names, attributes.  An entry is one
 * name in it, a folder's own too; entries count from 0, which is the top.  The
 * entries of a folder are adjacent and sorted by the bytes of their names, and
 * whatever is below a folder is one range of numbers.
 *
 * Reading takes no lock, allocates nothing and makes no system call; a handle
 * may be used by any number of threads at a time.  The file is mapped, and all
 * processes of a node share the one copy.  No command of ours shortens such a
 * file, since files are replaced by rename; should somebody else do so,
 * touching what is gone raises SIGBUS, and the program may ask
 * hpdsl_snapshot_maps() whose file it was.  A handle opened with
 * HPDSL_SNAPSHOT_COPY cannot suffer that.
 */
struct hpdsl_snapshot;

enum {
	HPDSL_SNAPSHOT_COPY = 1 /* read into memory, once, instead of mapped */
};

/*
 * Opens the snapshot in file path: one mapping, of which the header alone is
 * looked at.  flags: 0 or HPDSL_SNAPSHOT_COPY.  io: NULL for the system's.
 * HPDSL_ENOTOURS, HPDSL_ETOONEW, HPDSL_ECORRUPT (also: another size than when
 * it was written), HPDSL_EUSAGE (other flags), -errno.
 */
HPDSL_API int hpdsl_snapshot_open(const char *path, unsigned flags,
				  const struct hp_io *io,
				  struct hpdsl_snapshot **ret,
				  struct hpdsl_error *err);
HPDSL_API void hpdsl_snapshot_close(struct hpdsl_snapshot *s);

struct hpdsl_snapshot_info {
	uint64_t entries; /* all of the next four, and the top */
	uint64_t folders; /* with the top */
	uint64_t files;	  /* regular ones */
	uint64_t symlinks;
	uint64_t others;     /* devices, FIFOs, sockets */
	uint64_t bytes;	     /* of the contents of regular files */
	uint64_t file_bytes; /* of the snapshot itself */
	/* XXH3-128, canonical, over what hpdsl-format(5) says: of all entries,
	 * and of regular files only. */
	uint8_t digest[16], files_digest[16];
	/* Made from a packed dataset: files have member numbers and checksums;
	 * of folders nothing but their names is known. */
	bool from_dataset;
	uint8_t dataset_id[16];
	uint8_t pack[16]; /* XXH3-128 of its index */
};

HPDSL_API void hpdsl_snapshot_info(const struct hpdsl_snapshot *s,
				   struct hpdsl_snapshot_info *ret);

/* Is addr inside the mapping of s?  May be asked in a signal handler. */
HPDSL_API bool hpdsl_snapshot_maps(const struct hpdsl_snapshot *s,
				   const void *addr);

#define HPDSL_NO_MEMBER UINT64_MAX

struct hpdsl_entry {
	uint64_t number;
	uint64_t parent; /* entry of its folder; the top's is the top */
	uint64_t size;	 /* of a symbolic link: bytes of its target */
	int64_t mtime;	 /* seconds since 1970, rounded down */
	uint32_t mtime_nsec;
	uint32_t mode;	  /* type and permission bits, as st_mode */
	uint64_t member;  /* number in the dataset, or HPDSL_NO_MEMBER */
	const char *name; /* NUL-terminated; "" of the top; in the mapping */
	size_t name_len;
};

/* Entry by number: its attributes.  -ERANGE past the end; HPDSL_ECORRUPT. */
HPDSL_API int hpdsl_snapshot_stat(const struct hpdsl_snapshot *s,
				  uint64_t number, struct hpdsl_entry *ret,
				  struct hpdsl_error *err);

/*
 * Entry by path: path_len bytes, relative to the top, with single slashes
 * between names and none at its ends; no bytes: the top.  -ENOENT;
 * HPDSL_ECORRUPT.
 */
HPDSL_API int hpdsl_snapshot_lookup(const struct hpdsl_snapshot *s,
				    const char *path, size_t path_len,
				    struct hpdsl_entry *ret,
				    struct hpdsl_error *err);

struct hpdsl_path {
	const char *path;
	size_t len;
};

/*
 * n of them at once, which hides what memory takes to answer.  codes[i] is
 * what hpdsl_snapshot_lookup would return, and ret[i] is set where that is 0.
 * Returns how many were found, or HPDSL_ECORRUPT (*err tells of one of them).
 */
HPDSL_API int64_t hpdsl_snapshot_lookup_many(const struct hpdsl_snapshot *s,
					     const struct hpdsl_path *paths,
					     size_t n, struct hpdsl_entry *ret,
					     int *codes,
					     struct hpdsl_error *err);

/*
 * The entries of a folder, in the order of their names: up to room of them from
 * *cursor on, which begins as 0 and is moved behind them; a cursor is a place
 * among the folder's entries and stays valid.  Returns how many, 0 at the end;
 * -ENOTDIR, -ERANGE (no such entry), HPDSL_ECORRUPT: then *cursor is where it
 * was, and ret may have been written to.
 */
HPDSL_API int64_t hpdsl_snapshot_readdir(const struct hpdsl_snapshot *s,
					 uint64_t folder, uint64_t *cursor,
					 struct hpdsl_entry *ret, size_t room,
					 struct hpdsl_error *err);

/*
 * What a folder holds: its own entries are *ret_first .. *ret_first + *ret_n -
 * 1, and all that is below it, these too, *ret_first .. *ret_end - 1.
 * -ENOTDIR, -ERANGE, HPDSL_ECORRUPT.
 */
HPDSL_API int hpdsl_snapshot_folder(const struct hpdsl_snapshot *s,
				    uint64_t folder, uint64_t *ret_first,
				    uint64_t *ret_n, uint64_t *ret_end,
				    struct hpdsl_error *err);

/*
 * Path of an entry, NUL-terminated, into buf of at least HPDSL_PATH_MAX + 1
 * bytes; "" of the top.  -ERANGE, HPDSL_ECORRUPT.
 */
HPDSL_API int hpdsl_snapshot_path(const struct hpdsl_snapshot *s,
				  uint64_t number, char *buf, size_t *ret_len,
				  struct hpdsl_error *err);

/*
 * Target of a symbolic link: e->size bytes and a NUL, in the mapping.  -EINVAL:
 * it is none; -ERANGE, HPDSL_ECORRUPT (or e is not of this snapshot).
 */
HPDSL_API int hpdsl_snapshot_target(const struct hpdsl_snapshot *s,
				    const struct hpdsl_entry *e,
				    const char **ret, struct hpdsl_error *err);

/* XXH3-64 of a file's content.  -ENODATA: not known; HPDSL_ECORRUPT. */
HPDSL_API int hpdsl_snapshot_checksum(const struct hpdsl_snapshot *s,
				      const struct hpdsl_entry *e,
				      uint64_t *ret, struct hpdsl_error *err);

/*
 * Proves all of it: every block, every row, how they fit together, that each
 * path is found, and both digests.  told() hears each thing that is wrong (told
 * may be NULL); the result is HPDSL_ECORRUPT with the first of them, or 0.
 */
HPDSL_API int hpdsl_snapshot_verify(const struct hpdsl_snapshot *s,
				    void (*told)(void *arg, const char *reason),
				    void *arg, struct hpdsl_error *err);

struct hpdsl_snapshot_options {
	/* fnmatch patterns of what is left out, see hpdsl-pack(1). */
	const char *const *exclude;
	size_t n_exclude;
	bool all_file_systems; /* enter what is mounted below the top */
	bool as_tree;	       /* a packed dataset is a folder like any other */
	bool foreign_owner;    /* as HPDSL_OPEN_FOREIGN_OWNER */
	/*
	 * Names asked for at a time: 0 takes 16; HPDSL_SERIAL does everything
	 * in place.  The result is the same for every value.
	 */
	uint32_t threads;
	struct hpdsl_watch watch;
};

struct hpdsl_snapshot_report {
	struct hpdsl_snapshot_info info;
	uint64_t excluded;     /* names left out by exclude */
	uint64_t mounts;       /* folders not entered: other file systems */
	uint64_t folders_kept; /* with since: not listed again */
	double walk_seconds, seconds;
};

/*
 * Writes the snapshot of source, a directory or a packed dataset, to file,
 * which appears whole or not at all, replacing an older one.  file itself is
 * left out if it lies in source.  The same name space gives the same bytes.
 * What cannot be read is an error, and nothing is written: HPDSL_ECHANGED (it
 * changed meanwhile), HPDSL_ESTOPPED, HPDSL_EUSAGE (paths of adopted tars that
 * repeat), -ENAMETOOLONG (a path over HPDSL_PATH_MAX), -EINVAL (file is there
 * and is no regular file, or is a symbolic link), -EBUSY (another process is
 * writing it), -errno.
 */
HPDSL_API int hpdsl_snapshot_create(const char *source, const char *file,
				    const struct hpdsl_snapshot_options *opt,
				    struct hpdsl_snapshot_report *ret,
				    struct hpdsl_error *err);

/*
 * The snapshot as text, see hpdsl-format(5): hands it to sink, in order.  A
 * sink that returns non-zero ends the call with that code, its text in *err.
 */
HPDSL_API int hpdsl_snapshot_dump(const struct hpdsl_snapshot *s,
				  int (*sink)(void *arg, const void *buf,
					      size_t n,
					      struct hpdsl_error *err),
				  void *arg, struct hpdsl_error *err);

/*
 * The snapshot that size bytes of such text describe, written to file as
 * hpdsl_snapshot_create does.  name is the text's, for messages.
 * HPDSL_ECORRUPT: a line that makes no sense; HPDSL_ETOONEW; -errno.
 */
HPDSL_API int hpdsl_snapshot_load(const char *text, size_t size,
				  const char *name, const char *file,
				  const struct hpdsl_snapshot_options *opt,
				  struct hpdsl_snapshot_report *ret,
				  struct hpdsl_error *err);

/*
 * What is different about an entry; or'ed.  Of another type it is that alone,
 * and what was or is below it is removed or added.
 */
enum {
	HPDSL_DIFF_TYPE = 1,
	HPDSL_DIFF_SIZE = 2,
	HPDSL_DIFF_MTIME = 4,
	HPDSL_DIFF_MODE = 8,
	HPDSL_DIFF_TARGET = 16,	 /* of a symbolic link */
	HPDSL_DIFF_CONTENT = 32, /* checksums, where both have them */
};

struct hpdsl_difference {
	const char *path; /* NUL-terminated; "" of the top */
	size_t path_len;
	const struct hpdsl_entry *before, *after; /* NULL: not there */
	unsigned fields;			  /* where both are there */
};

struct hpdsl_diff_options {
	/* Called for each difference, folders before what they hold, names
	 * sorted. */
	void (*difference)(void *arg, const struct hpdsl_difference *d);
	void *arg;
	struct hpdsl_watch watch;
};

struct hpdsl_diff_report {
	uint64_t compared; /* entries that are in both, of those compared */
	uint64_t added, removed, changed;
	int64_t newest; /* mtime of the newest of what was added or changed; 0
			   if nothing was */
	uint32_t newest_nsec;
	struct hpdsl_snapshot_report walk; /* of hpdsl_snapshot_check */
};

/*
 * Compares two snapshots: 0 equal, HPDSL_EDIFFERS (the report is filled in both
 * cases).  Size and mtime of a folder are no difference.  If one of them was
 * made from a packed dataset, folders are not compared, nor are permission bits
 * above 0777.
 */
HPDSL_API int hpdsl_snapshot_diff(const struct hpdsl_snapshot *before,
				  const struct hpdsl_snapshot *after,
				  const struct hpdsl_diff_options *opt,
				  struct hpdsl_diff_report *ret,
				  struct hpdsl_error *err);

struct hpdsl_check_options {
	struct hpdsl_snapshot_options walk;
	/*
	 * With has_since: a folder whose mtime is the recorded one and whose
	 * ctime is before this time is not listed, what it holds is taken for
	 * unchanged; its folders are asked in their turn.
	 */
	bool has_since;
	int64_t since;
	uint32_t since_nsec;
	struct hpdsl_diff_options diff;
};

/*
 * Compares a snapshot with source as it is now, the same way; file names the
 * snapshot's own file, which is left out if it lies in source, or is NULL.
 */
HPDSL_API int hpdsl_snapshot_check(const struct hpdsl_snapshot *s,
				   const char *file, const char *source,
				   const struct hpdsl_check_options *opt,
				   struct hpdsl_diff_report *ret,
				   struct hpdsl_error *err);

/* ---- Staging ---------------------------------------------------------- */

/*
 * A stage directory is a node's copy of a dataset, whole or in part: manifest,
 * index, the chunks that are here, and a small state file.  hpdsl_open() takes
 * it like any other dataset.  What is not here is read from the origin; for
 * what is coming a reader waits while the stager is at work.
 */

/* Where a dataset's bytes came from, since it was opened. */
struct hpdsl_sources {
	bool staged; /* it is a stage directory; else the rest is zero */
	uint64_t local_bytes, origin_bytes; /* of chunk files, as read */
	uint64_t absent_chunks;	   /* read from the origin: not planned here, */
	uint64_t overtaken_chunks; /* .. coming, but not in time or no more, */
	uint64_t failed_chunks;	   /* .. or no longer as they were staged */
	double wait_seconds; /* for chunks that were coming, by all threads */
};

HPDSL_API void hpdsl_sources(const struct hpdsl_dataset *ds,
			     struct hpdsl_sources *ret);
/*
 * How long a read waits for a chunk that is coming before it goes to the
 * origin; 300 unless set.  Not while others read.
 */
HPDSL_API void hpdsl_patience(struct hpdsl_dataset *ds, double seconds);

/* The parameters of an epoch's order; zero: the default in brackets. */
struct hpdsl_order {
	uint64_t seed, epoch, step;
	uint32_t window;    /* W, chunks [16] */
	uint32_t lanes;	    /* L, a multiple of D [8, or the next multiple] */
	uint32_t run;	    /* K, samples [32] */
	uint32_t step_runs; /* Q, runs [8] */
	uint32_t parts;	    /* D [1] */
};

/*
 * The dataset's chunks, all of them, in the order in which such an epoch, from
 * the step on, first wants them.  ret: a number for each.
 */
HPDSL_API int hpdsl_order_first_use(const struct hpdsl_dataset *ds,
				    const struct hpdsl_order *order,
				    uint32_t *ret, struct hpdsl_error *err);

enum hpdsl_stage_mode {
	HPDSL_STAGE_AUTO, /* as few parts as there is room for */
	HPDSL_STAGE_REPLICATE,
	HPDSL_STAGE_PARTITION,
	HPDSL_STAGE_COPIES,
};

/*
 * Who gets what: see hpdsl_stage_plan_new().  Chunk c is in part c mod parts,
 * node n holds part n mod parts.
 */
struct hpdsl_stage_plan;

struct hpdsl_stage_wish {
	enum hpdsl_stage_mode mode;
	uint32_t copies; /* with HPDSL_STAGE_COPIES */
	uint32_t nodes;
	const uint64_t *capacity; /* of each node, bytes for chunks */
	uint64_t chunks;
	const uint64_t *weight; /* of each chunk, bytes it takes on a node */
	const uint32_t *order;	/* the chunks' numbers in order of use */
	/* Names of the nodes, for messages; NULL: they have numbers only. */
	const char *const *hosts;
};

/*
 * Plans.  The arrays stay the caller's and must outlive the plan, but for
 * capacity.  -ENOSPC: a mode that was asked for does not fit, *err names a node
 * by its number; HPDSL_EUSAGE; -ENOMEM.  Automatic always fits: what has no
 * room anywhere is left at the origin.
 */
HPDSL_API int hpdsl_stage_plan_new(const struct hpdsl_stage_wish *wish,
				   struct hpdsl_stage_plan **ret,
				   struct hpdsl_error *err);
HPDSL_API void hpdsl_stage_plan_free(struct hpdsl_stage_plan *p);
HPDSL_API uint32_t hpdsl_stage_plan_parts(const struct hpdsl_stage_plan *p);

/* What a plan means for one node, in bytes and chunks, on an empty start. */
struct hpdsl_stage_share {
	uint64_t chunks, bytes; /* that it holds in the end */
	uint64_t origin_chunks, origin_bytes;
	uint64_t received_bytes, sent_bytes;
	uint64_t left_chunks, left_bytes; /* of its part, for lack of room */
	uint32_t receives_from, sends_to; /* neighbours */
};
HPDSL_API void hpdsl_stage_plan_share(const struct hpdsl_stage_plan *p,
				      uint32_t node,
				      struct hpdsl_stage_share *ret);

/* Bytes a second; 0: not known, and then no bound. */
struct hpdsl_stage_rates {
	double origin; /* all nodes together */
	double link;   /* a node, each way */
	double write;  /* a node's SSD */
	double read;   /* a node's SSD, when training reads it */
};
/*
 * What an earlier run reached, as lower bounds, from the text of its report
 * (hpdsl-stage(1), "Report").  read stays 0.  HPDSL_ECORRUPT.
 */
HPDSL_API int hpdsl_stage_rates_parse(const char *text, size_t size,
				      const char *name,
				      struct hpdsl_stage_rates *ret,
				      struct hpdsl_error *err);
struct hpdsl_stage_estimate {
	double origin_seconds, link_seconds, write_seconds; /* each alone */
	double seconds;	   /* the largest, and what fills the pipeline */
	const char *bound; /* "origin", "network", "SSD", "nothing known" */
	/* Epochs after which staging has paid, against reading the origin in
	 * each; 0: never, or not known. */
	double epochs;
};
HPDSL_API void hpdsl_stage_plan_estimate(const struct hpdsl_stage_plan *p,
					 const struct hpdsl_stage_rates *rates,
					 struct hpdsl_stage_estimate *ret);

/*
 * The origin, read once, by one process of a job, whatever the node count: its
 * manifest in memory, its index in pieces.  Nothing is mapped.
 * HPDSL_ENOTOURS; HPDSL_EUSAGE: it is a stage directory itself; HPDSL_ECORRUPT.
 */
struct hpdsl_stage_source;
HPDSL_API int hpdsl_stage_source_open(const char *path, const struct hp_io *io,
				      struct hpdsl_stage_source **ret,
				      struct hpdsl_error *err);
HPDSL_API void hpdsl_stage_source_close(struct hpdsl_stage_source *s);
/* Absolute path, manifest (text, bytes) and what it says of the index. */
struct hpdsl_stage_pack {
	const char *origin;
	const char *manifest;
	uint64_t manifest_bytes;
	uint64_t index_bytes;
	uint8_t pack[16];
	uint64_t chunks, bytes; /* of all chunks, as stored */
};
HPDSL_API void hpdsl_stage_source_pack(const struct hpdsl_stage_source *s,
				       struct hpdsl_stage_pack *ret);
/*
 * The next n bytes, or what is left, of the index: how many; -errno;
 * HPDSL_ECORRUPT in place of the last ones if it is not what the manifest
 * says, HPDSL_ECHANGED if the manifest does not say it any more.
 */
HPDSL_API ssize_t hpdsl_stage_source_index(struct hpdsl_stage_source *s,
					   void *buf, size_t n,
					   struct hpdsl_error *err);
/* A pack from a manifest that another process read; ret points into it. */
HPDSL_API int hpdsl_stage_pack_parse(const char *origin, const char *manifest,
				     size_t bytes, struct hpdsl_stage_pack *ret,
				     struct hpdsl_error *err);

/* A stage directory in the hands of a stager: locked. */
struct hpdsl_stage;

struct hpdsl_stage_at {
	uint32_t node, nodes;
	const char *job; /* "Slurm job 4711", for those who wait; or NULL */
	const struct hp_io *io;
};

/*
 * Takes the directory path, which is made (mode 0700, its parent has to be
 * there), and locks it.  Nothing else is changed.  Refused: a symbolic link,
 * somebody else's (-EPERM), what is not empty and no stage directory
 * (HPDSL_ENOTOURS), one that another stager holds (-EBUSY, *err names it).
 */
HPDSL_API int hpdsl_stage_open(const char *path,
			       const struct hpdsl_stage_at *at,
			       struct hpdsl_stage **ret,
			       struct hpdsl_error *err);
/* Unlocks.  NULL is harmless. */
HPDSL_API void hpdsl_stage_close(struct hpdsl_stage *s);

struct hpdsl_stage_place {
	uint64_t device, inode; /* of the directory */
	uint64_t free_bytes;	/* for this user, by the file system */
	uint64_t memory_bytes;	/* left to this job where it is RAM */
	bool ram;		/* tmpfs, ramfs */
	uint64_t held_bytes;	/* chunks that are there and count as room */
	uint64_t capacity;	/* free less 5 %, the smaller with memory, and
				   held_bytes */
};
HPDSL_API int hpdsl_stage_place(const struct hpdsl_stage *s,
				struct hpdsl_stage_place *ret,
				struct hpdsl_error *err);

/*
 * The index: is it there, for this pack, and sound?  1, 0 (it has to come), or
 * HPDSL_EDIFFERS: another pack is here.
 */
HPDSL_API int hpdsl_stage_has_index(struct hpdsl_stage *s,
				    const struct hpdsl_stage_pack *pack,
				    struct hpdsl_error *err);
/* Its bytes, in order; the last call has n = 0: it is checked and published. */
HPDSL_API int hpdsl_stage_put_index(struct hpdsl_stage *s,
				    const struct hpdsl_stage_pack *pack,
				    const void *bytes, size_t n,
				    struct hpdsl_error *err);

struct hpdsl_stage_begin {
	const struct hpdsl_stage_pack *pack;
	bool recheck; /* hash what is there, whatever is known of it */
	bool keep_compressed;
	uint32_t threads;
	struct hpdsl_watch watch;
};
/*
 * With the index in place: puts the manifest, finds the chunks that are there
 * (hashing them again if recheck, after another boot or an unclean end; what
 * does not agree is taken away and told as a warning), removes left-over
 * temporary files, and opens the directory as a dataset.
 */
HPDSL_API int hpdsl_stage_begin(struct hpdsl_stage *s,
				const struct hpdsl_stage_begin *opt,
				struct hpdsl_error *err);
/* After begin.  Owned by s. */
HPDSL_API struct hpdsl_dataset *hpdsl_stage_dataset(struct hpdsl_stage *s);
HPDSL_API bool hpdsl_stage_holds(const struct hpdsl_stage *s, uint64_t chunk);
/* Bytes of each chunk in this directory once it is here: n = chunks. */
HPDSL_API void hpdsl_stage_weights(const struct hpdsl_stage *s, uint64_t *ret);
/*
 * Publishes the plan: a new generation of the state file, in which the chunks
 * of this node that are not here are coming.
 */
HPDSL_API int hpdsl_stage_publish(struct hpdsl_stage *s,
				  const struct hpdsl_stage_plan *plan,
				  struct hpdsl_error *err);
/*
 * Bytes of chunks that are here, and that the plan has not for this node: they
 * stay, and take room that a plan may have counted on.
 */
HPDSL_API uint64_t hpdsl_stage_surplus(const struct hpdsl_stage *s,
				       const struct hpdsl_stage_plan *plan);
/* To be called once a second, by any thread. */
HPDSL_API void hpdsl_stage_beat(struct hpdsl_stage *s);
/* How it ended: 0, HPDSL_ESTOPPED or another failure; what is coming is not. */
HPDSL_API int hpdsl_stage_end(struct hpdsl_stage *s, int how,
			      struct hpdsl_error *err);

/*
 * Removes what was staged, and nothing else: *ret_left counts what else is in
 * the directory, which then stays.  As hpdsl_stage_open otherwise; -ENOENT.
 */
HPDSL_API int hpdsl_stage_clean(const char *path, const struct hp_io *io,
				uint64_t *ret_files, uint64_t *ret_bytes,
				uint64_t *ret_left, struct hpdsl_error *err);

struct hpdsl_stage_status {
	uint64_t chunks, ready, coming; /* of the dataset; here; on the way */
	uint64_t ready_bytes;
	uint32_t node, nodes, parts, part;
	bool at_work, complete, stale; /* stale: of another boot */
	double beat_age;	       /* seconds; with at_work */
	int64_t started;
	char host[128], job[128], origin[4096];
	uint8_t pack[16];
};
/* Of any stage directory, at work or not; takes no lock. */
HPDSL_API int hpdsl_stage_status(const char *path, const struct hp_io *io,
				 struct hpdsl_stage_status *ret,
				 struct hpdsl_error *err);

/*
 * When the stager that has it locked last showed that it gets on with what is
 * there, before its first beat, in nanoseconds since 1970.  -ENOENT, -errno.
 */
HPDSL_API int hpdsl_stage_touched(const char *path, const struct hp_io *io,
				  int64_t *ret, struct hpdsl_error *err);

/*
 * The stager of one node: reads its chunks from the origin, passes them on,
 * receives others, verifies, writes and publishes them.  It knows no MPI: the
 * caller carries its messages, in order between any two nodes.  All functions
 * are called by one thread, and none of them waits; files are the business of
 * the stager's own threads.
 */
struct hpdsl_stager;

struct hpdsl_stager_options {
	const char *origin; /* directory */
	uint32_t node;
	const struct hpdsl_stage_plan *plan;
	/* Of each chunk, a node that holds it, or UINT32_MAX.  Borrowed. */
	const uint32_t *holder;
	/* Does a node of this node's group lack a chunk that is planned for it?
	 * Asked during hpdsl_stager_new() only: of this node, then of those
	 * with lower numbers, and of those with higher ones, each time up to
	 * the nearest that lacks it, the group taken as a ring. */
	bool (*lacks)(void *arg, uint32_t node, uint64_t chunk);
	void *arg;
	uint64_t memory; /* bytes for buffers; 0: 256 MiB; at least 4 MiB */
	uint64_t rate;	 /* bytes a second from the origin; 0: no bound */
	bool direct;	 /* O_DIRECT, where there is such a thing */
	bool sync;	 /* fsync chunks before they are published */
	bool keep_compressed;
	uint32_t threads;
	struct hpdsl_watch watch; /* warn and io only */
};

HPDSL_API int hpdsl_stager_new(struct hpdsl_stage *s,
			       const struct hpdsl_stager_options *opt,
			       struct hpdsl_stager **ret,
			       struct hpdsl_error *err);
/*
 * Ends its threads.  One that does not return from the system within 5 seconds
 * is left behind, with the memory that it knows of.  NULL is harmless.
 */
HPDSL_API void hpdsl_stager_free(struct hpdsl_stager *s);

/* Bytes of the largest message. */
HPDSL_API size_t hpdsl_stager_message_max(const struct hpdsl_stager *s);

struct hpdsl_stager_message {
	uint32_t to;
	const void *p;
	size_t n;
	void *token; /* the stager's */
};
/*
 * The next message to send: 1, 0 (none now), or the failure of this node, told
 * once.  After HPDSL_ECORRUPT, a chunk cannot be had from the origin, it goes
 * on with the other chunks; more of them are warnings, and another failure may
 * follow.  A message stays as it is until it was sent.
 */
HPDSL_API int hpdsl_stager_next(struct hpdsl_stager *s,
				struct hpdsl_stager_message *ret,
				struct hpdsl_error *err);
HPDSL_API void hpdsl_stager_sent(struct hpdsl_stager *s,
				 const struct hpdsl_stager_message *m);
/*
 * Room for a message of n bytes from a node.  NULL: none could be that long, or
 * there are so many of the shortest kind already and no memory for more.
 */
enum { HPDSL_STAGER_WORDS = 64 };
HPDSL_API void *hpdsl_stager_room(struct hpdsl_stager *s, size_t n);
/* It is here.  A message that makes no sense is HPDSL_ECORRUPT. */
HPDSL_API int hpdsl_stager_received(struct hpdsl_stager *s, uint32_t from,
				    void *room, size_t n,
				    struct hpdsl_error *err);

/* The bound on bytes a second from the origin, from now on; 0: none. */
HPDSL_API void hpdsl_stager_rate(struct hpdsl_stager *s, uint64_t rate);

/*
 * Stops: nothing new is begun; with at_once what is under way is given up too.
 * It still serves others.
 */
HPDSL_API void hpdsl_stager_stop(struct hpdsl_stager *s, bool at_once);

struct hpdsl_stager_report {
	/* Nothing is left to do here but to serve others. */
	bool idle;
	uint64_t planned_chunks, planned_bytes; /* held ones included */
	uint64_t held_chunks, held_bytes;	/* at the start */
	uint64_t planned_origin_bytes;		/* to be read, as stored */
	uint64_t chunks;			/* published since */
	uint64_t origin_bytes, peer_bytes;	/* read; received from nodes */
	uint64_t sent_bytes, written_bytes;
	uint64_t retries;	 /* reads that failed, and were tried again */
	uint64_t refetch_chunks; /* whose hash did not agree, fetched again */
	uint64_t refetch_bytes;
	uint64_t lost_chunks; /* that cannot be had from the origin */
	double read_seconds, write_seconds, hash_seconds, expand_seconds;
	/* The operation that has been under way for the longest time. */
	double stuck_seconds;
	char stuck[160]; /* "reading chunk-000017.tar" */
};
HPDSL_API void hpdsl_stager_report(const struct hpdsl_stager *s,
				   struct hpdsl_stager_report *ret);
/*
 * When the chunk was published, seconds after hpdsl_stager_new(); 0: it was
 * held before; negative: it is not here.
 */
HPDSL_API double hpdsl_stager_ready(const struct hpdsl_stager *s,
				    uint64_t chunk);

/* ---- Choosing samples -------------------------------------------------- */

/*
 * Which samples an epoch has, and how often each: all of them once where there
 * is no choice.  Decided on the index alone; nothing is rewritten.  A choice is
 * never changed and may be used by any number of threads; the dataset it was
 * made of may be closed before it.
 */
struct hpdsl_choice;

/* Weights are in units of this: a weight of 1.5 is 3 * HPDSL_WEIGHT_ONE / 2. */
#define HPDSL_WEIGHT_ONE (UINT64_C(1) << 32)
#define HPDSL_WEIGHT_MOST (HPDSL_WEIGHT_ONE << 31) /* that can be given */
/* Shares of a split are in units of this. */
#define HPDSL_SPLIT_ONE UINT32_C(1000000000)

/* A sample has to pass all that is given. */
struct hpdsl_choice_options {
	/* Class numbers; HPDSL_NO_LABEL stands for samples without a class. */
	const uint32_t *labels;
	size_t n_labels;
	/* As hpdsl_glob_match; a sample is in if one of its members' paths
	 * matches, but out if any of them matches exclude. */
	const char *const *include, *const *exclude;
	size_t n_include, n_exclude;
	/* Sample numbers, in any order; one that repeats counts once.  NULL: no
	 * list. */
	const uint64_t *samples;
	uint64_t n_samples;
	/*
	 * A share of all n samples of the dataset, whatever else is asked:
	 * sample s is in if floor(from n / ONE) <= P(s) < floor(to n / ONE),
	 * ONE being HPDSL_SPLIT_ONE and P the permutation of n with key
	 * H(split_seed, "split").  So shares that do not overlap have no sample
	 * in common.  Both 0: no split.
	 */
	uint32_t split_from, split_to;
	uint64_t split_seed;
	/*
	 * How often a sample comes in an epoch, on average; at most one of
	 * these.  A sample of weight w comes floor(w) times, and once more if
	 * the upper half of H(seed, "weight", epoch, sample) is less than the
	 * fraction of w, in 32 bits.
	 */
	bool balanced; /* each class of the choice equally often, and as many
			  samples in all as were chosen; those without a class
			  count as one */
	const uint64_t *class_weight;  /* of each class, and one more: none */
	const uint64_t *sample_weight; /* of each sample of the dataset */
};

/*
 * HPDSL_EUSAGE: no such class or sample, shares that are none, two kinds of
 * weights, a weight above HPDSL_WEIGHT_MOST, or not one sample is left;
 * HPDSL_ECORRUPT, -ENOMEM.
 */
HPDSL_API int hpdsl_choose(const struct hpdsl_dataset *ds,
			   const struct hpdsl_choice_options *opt,
			   struct hpdsl_choice **ret, struct hpdsl_error *err);
/* NULL is harmless. */
HPDSL_API void hpdsl_choice_free(struct hpdsl_choice *c);
/* Samples chosen, each once, and whether one of them is it. */
HPDSL_API uint64_t hpdsl_choice_samples(const struct hpdsl_choice *c);
HPDSL_API bool hpdsl_choice_has(const struct hpdsl_choice *c, uint64_t sample);
/* What identifies it in a loader's state: see hpdsl-order(7). */
HPDSL_API void hpdsl_choice_digest(const struct hpdsl_choice *c,
				   uint8_t ret[16]);

/* ---- The order of an epoch --------------------------------------------- */

/*
 * Defined in hpdsl-order(7): a pure function of the dataset, the choice, and
 * struct hpdsl_order.  Memory: a few numbers a piece, and pieces are hardly
 * more than chunks and lanes; with a choice, a bit a sample besides.  Never
 * changed once made; any number of threads.
 */
struct hpdsl_epoch;

/* What the last step is like where samples do not fill it. */
enum hpdsl_end {
	HPDSL_END_MASK,	  /* filled from positions 0, 1, .. with mask 0 */
	HPDSL_END_REPEAT, /* the same, with mask 1 */
	HPDSL_END_DROP,	  /* there is no such step */
};

/*
 * choice: NULL, or one of this dataset; it must outlive the epoch, the dataset
 * need not.  order->step plays no part.  HPDSL_EUSAGE: D does not divide L, or
 * weights left not one sample; HPDSL_ECORRUPT, -ENOMEM.
 */
HPDSL_API int hpdsl_epoch_new(const struct hpdsl_dataset *ds,
			      const struct hpdsl_choice *choice,
			      const struct hpdsl_order *order,
			      struct hpdsl_epoch **ret,
			      struct hpdsl_error *err);
/* NULL is harmless. */
HPDSL_API void hpdsl_epoch_free(struct hpdsl_epoch *e);

struct hpdsl_epoch_info {
	struct hpdsl_order order; /* defaults filled in */
	uint64_t samples;	  /* N: positions 0 .. N - 1 */
	uint64_t chunks;	  /* that have any of them */
	uint64_t windows;	  /* of all lanes */
	uint64_t batch;		  /* G = QK: samples of a step, of all ranks */
};
HPDSL_API void hpdsl_epoch_info(const struct hpdsl_epoch *e,
				struct hpdsl_epoch_info *ret);
/* S. */
HPDSL_API uint64_t hpdsl_epoch_steps(const struct hpdsl_epoch *e,
				     enum hpdsl_end end);

/* The sample at a position.  -ERANGE from N on. */
HPDSL_API int hpdsl_epoch_at(const struct hpdsl_epoch *e, uint64_t position,
			     uint64_t *ret_sample, struct hpdsl_error *err);

/* Who of a job reads: rank of ranks, and of that rank worker of workers. */
struct hpdsl_share {
	uint32_t rank, ranks;	  /* 0 ranks: 1 */
	uint32_t worker, workers; /* 0 workers: 1 */
	/* Ranks that do not divide Q: batches then differ by a run. */
	bool uneven;
};

/* One place of a step. */
struct hpdsl_place {
	uint64_t position;
	uint64_t sample;
	bool real; /* the mask: false where it only fills the last step up */
};
/*
 * The places of a step that are rank's of ranks, in its order: how many, at
 * most room.  With ranks 1, or no share (NULL), it is the whole step.  A rank
 * has the same number of places, K * Q / ranks, in each step, if ranks divides
 * Q; ask for it with ret NULL and room 0.  Workers take whole steps in turn,
 * and change nothing here.  -ERANGE: no such step; HPDSL_EUSAGE: no such rank
 * or worker, more ranks than Q, ranks that do not divide Q (but see uneven);
 * -ENOSPC.
 */
HPDSL_API int64_t hpdsl_epoch_step(const struct hpdsl_epoch *e,
				   enum hpdsl_end end, uint64_t step,
				   const struct hpdsl_share *share,
				   struct hpdsl_place *ret, size_t room,
				   struct hpdsl_error *err);

/* What a window costs, and what a small one is worth. */
struct hpdsl_epoch_cost {
	uint64_t window_bytes; /* largest window, as stored */
	uint64_t job_bytes;    /* all lanes' windows at a time, at most */
	uint64_t reads;	       /* pieces: stretches of a chunk that are read */
	uint64_t smallest_read, median_read; /* bytes */
	/*
	 * Chunk-mates are two samples of one chunk.  How much likelier than in
	 * a full shuffle two of them meet in a step: the exact expectation for
	 * this epoch's windows, over all ways to shuffle within them, and what
	 * this epoch has.  NAN where no chunk has two, or no step.
	 */
	double mates_expected, mates_measured;
};
HPDSL_API int hpdsl_epoch_cost(const struct hpdsl_epoch *e,
			       const struct hpdsl_dataset *ds,
			       struct hpdsl_epoch_cost *ret,
			       struct hpdsl_error *err);

/* ---- Loading ------------------------------------------------------------ */

/*
 * Reads epochs in their order: own threads read whole windows ahead in large
 * reads, verify, and hand out batches that point into what was read.
 */
struct hpdsl_loader;

enum hpdsl_cache {
	/* What the page cache has is taken from there; what it has not is read
	 * past it, where the file system allows that. */
	HPDSL_CACHE_AUTO,
	/* All is read through the page cache, and stays as far as there is
	 * room: for data that fits into the node's memory. */
	HPDSL_CACHE_KEEP,
};

#define HPDSL_LOADER_MEMORY_LEAST (UINT64_C(16) << 20)

struct hpdsl_loader_options {
	struct hpdsl_order order;	   /* begins at its epoch and step */
	uint64_t epochs;		   /* how many; 0: no end */
	const struct hpdsl_choice *choice; /* borrowed; NULL: all samples */
	enum hpdsl_end end;
	struct hpdsl_share share;
	/*
	 * Members that are wanted, by their suffixes ("jpg"), in this order;
	 * what a sample lacks has no bytes, and of two members of one suffix it
	 * is the first.  None: all members but those that the packer made.
	 */
	const char *const *suffixes;
	size_t n_suffixes;
	/*
	 * Bytes for what was read; 0: 4 GiB.  If the windows of this share's
	 * lanes do not fit, samples are read one by one, in the same order;
	 * watch.warn says so, and if a single step does not fit, which is read
	 * all the same.
	 */
	uint64_t memory;
	uint32_t threads; /* that read and verify; 0: as many as cores, at least
			     4 */
	bool unchecked;	  /* checksums are not compared */
	bool skip_bad;	  /* a bad sample is told and comes without bytes */
	enum hpdsl_cache cache;
	/* Called for each bad sample that is skipped, one call at a time. */
	void (*bad)(void *arg, const struct hpdsl_damage *d);
	void *arg;
	struct hpdsl_watch watch; /* warn, stop and io */
	/* hpdsl_loader_next() gives up after so long with -EAGAIN, and may be
	 * called again; 0: it waits as long as it takes. */
	uint32_t wait_ms;
};

/*
 * A step's samples, those of this share: arrays of n, except where it says
 * otherwise.  All of it is read-only, and valid until it is released.
 */
struct hpdsl_batch {
	uint64_t epoch, step;
	size_t n;
	/* The content of its first wanted member; NULL: it has none. */
	const void *const *data;
	const size_t *size;
	const uint64_t *number; /* of the sample */
	const uint32_t *label;	/* class number or HPDSL_NO_LABEL */
	const uint8_t *mask;	/* 1: counts; 0: fills the step up */
	const uint8_t *bad;	/* 1: could not be read, and has no bytes */
	/* All wanted members of sample i: first[i] .. first[i + 1] - 1 of the
	 * three that follow; n + 1 of them. */
	const size_t *first;
	const void *const *member_data;
	const size_t *member_size;
	const uint64_t *member_number; /* UINT64_MAX: the sample has none */
};

/*
 * The dataset must outlive the loader.  HPDSL_EUSAGE: an order, a share or a
 * step that make no sense, ranks that do not divide Q (but see uneven), memory
 * below HPDSL_LOADER_MEMORY_LEAST, more threads than HPDSL_THREADS_MOST;
 * HPDSL_ECORRUPT, -ENOMEM.
 */
HPDSL_API int hpdsl_loader_new(const struct hpdsl_dataset *ds,
			       const struct hpdsl_loader_options *opt,
			       struct hpdsl_loader **ret,
			       struct hpdsl_error *err);
/*
 * Ends its threads, and waits for reads that are under way, but not for chunks
 * that a stager is bringing.  Batches that are out stay valid, and the blocks
 * of neighbouring samples that they are in, until they are released, even when
 * the dataset has been closed; all other memory goes back.  In a child of the
 * process that made it, which has none of its threads, nothing is done.  NULL
 * is harmless.
 */
HPDSL_API void hpdsl_loader_free(struct hpdsl_loader *l);
/*
 * The same for *l, which becomes NULL, in one step: for cleanup attributes, and
 * for languages in which an exception may come between any two.  Until it
 * returns, nobody else may be using the loader.
 */
HPDSL_API void hpdsl_loader_freep(struct hpdsl_loader **l);
/*
 * The next batch: 1; 0: the last epoch's last step was handed out.  A bad
 * sample is HPDSL_ECORRUPT or -errno, *err names chunk and sample, and the next
 * call goes on behind that step, which counts as reached when it has;
 * -ENOBUFS: nothing can be read, because two batches or more that were not
 * released hold all the memory; HPDSL_ESTOPPED, -EAGAIN.  After these three it
 * is the same step that comes next, after -ENOMEM it may be: the count of
 * failed_steps tells.  Once it has been stopped, neither bad nor watch.warn is
 * called any more.  One thread at a time.  NULL, as hpdsl_loader_freep() leaves
 * it, is HPDSL_ESTOPPED.
 */
HPDSL_API int hpdsl_loader_next(struct hpdsl_loader *l,
				const struct hpdsl_batch **ret,
				struct hpdsl_error *err);
/* Any thread, in any order; in a child nothing is done.  NULL is harmless. */
HPDSL_API void hpdsl_batch_release(const struct hpdsl_batch *b);
/* Steps of an epoch, of all workers; of NULL 0. */
HPDSL_API uint64_t hpdsl_loader_steps(const struct hpdsl_loader *l,
				      uint64_t epoch);

/*
 * Where a loop is that has got all steps before this one: text to be kept, for
 * hpdsl_state_parse(); a JSON object in one line.  Returns its length, at most
 * HPDSL_STATE_MAX with the closing NUL.
 */
#define HPDSL_STATE_MAX 512
struct hpdsl_state {
	struct hpdsl_order order; /* its step is the next one */
	enum hpdsl_end end;
	uint8_t pack[16]; /* XXH3-128 of the index; all zero: not known */
	bool has_choice;
	uint8_t choice[16];
};
HPDSL_API size_t hpdsl_state_format(const struct hpdsl_state *s, char *buf);
/*
 * Inverse: a JSON or YAML map.  One that has "format" is whole, and names that
 * are not known are passed over; in one without it, anything may be missing,
 * and is zero then, or the default, but not all, and no name is unknown.  name
 * is for messages.  HPDSL_ECORRUPT.
 */
HPDSL_API int hpdsl_state_parse(const char *text, size_t size, const char *name,
				struct hpdsl_state *ret,
				struct hpdsl_error *err);
/* Of what this loader has handed out: the state that resumes behind it.  Of
 * NULL it is all zero, and so are the statistics. */
HPDSL_API void hpdsl_loader_state(const struct hpdsl_loader *l,
				  struct hpdsl_state *ret);
/*
 * May a loader of this dataset and choice go on from there?  HPDSL_EDIFFERS: it
 * is of another pack or another choice, or its epoch has no such step;
 * HPDSL_EUSAGE, HPDSL_ECORRUPT, -ENOMEM: that epoch cannot be.
 */
HPDSL_API int hpdsl_state_check(const struct hpdsl_state *s,
				const struct hpdsl_dataset *ds,
				const struct hpdsl_choice *choice,
				const char *name, struct hpdsl_error *err);

struct hpdsl_loader_stats {
	/* Handed out, but for what fills a step up; bytes of members. */
	uint64_t steps, samples, bytes;
	uint64_t bad_samples;  /* of these samples: they came without bytes */
	uint64_t failed_steps; /* that gave an error in place of a batch */
	struct hpdsl_sources sources; /* since the loader was made */
	uint64_t reads, read_bytes;   /* of chunk files */
	uint64_t direct_bytes;	      /* of these past the page cache */
	uint64_t read_sizes[40];      /* reads of 2^i to 2^(i+1) - 1 bytes */
	double stall_seconds; /* hpdsl_loader_next() waited: data stall */
	double seconds;	      /* since the loader was made */
	uint64_t memory, memory_peak; /* bound, and bytes held at most */
	uint64_t windows_bytes;	      /* that the windows of the lanes take */
	bool one_by_one;	      /* they do not fit */
	bool unchecked;
};
HPDSL_API void hpdsl_loader_stats(const struct hpdsl_loader *l,
				  struct hpdsl_loader_stats *ret);

/* ---- Random access ------------------------------------------------------ */

/* A member to be read, whole, into buf of its size or more. */
struct hpdsl_request {
	uint64_t member;
	void *buf;
	size_t room;
	size_t size; /* set: its bytes; 0: there is no such member */
	int code;    /* set: 0, -ERANGE, -ENOSPC, HPDSL_ECORRUPT, -errno */
	/* NULL, or this member of hpdsl_.._rows of the same dataset, which is
	 * then believed and not looked up again; another one: HPDSL_EUSAGE. */
	const struct hpdsl_member *row;
};
/*
 * Reads them all, in the order in which they lie in the chunks, neighbours in
 * one read, with that many threads; checksums are verified.  Returns how many
 * could be read; *err tells of one that could not, the same for any number of
 * threads.  -ENOMEM: none was.
 */
HPDSL_API int64_t hpdsl_read_many(const struct hpdsl_dataset *ds,
				  struct hpdsl_request *req, size_t n,
				  uint32_t threads, struct hpdsl_error *err);

/* ---- Names ------------------------------------------------------------ */

/*
 * Length of the key of a path: up to the first dot of its base name, leading
 * dots belonging to the key.  The suffix is what follows that dot.
 */
HPDSL_API size_t hpdsl_key_length(const char *path, size_t path_len);

/*
 * Writes name with newline as \n and backslash as \\ (nothing else changes),
 * NUL-terminated, to out of at least 2 * len + 1 bytes; returns its length.
 */
HPDSL_API size_t hpdsl_name_escape(const char *name, size_t len, char *out);

/*
 * The inverse, in place; returns the new length, or (size_t)-1 for a backslash
 * followed by anything but n or a backslash.
 */
HPDSL_API size_t hpdsl_name_unescape(char *name, size_t len);

/*
 * Does the pattern, as in hpdsl-pack(1) --include, match the path of a file?
 * With a slash it is matched against the whole path, "*" and "?" not crossing
 * a slash, else against the base name; "dir/" matches all below folders dir,
 * and so does "dir" with a slash and two stars behind it, at the top.
 */
HPDSL_API bool hpdsl_glob_match(const char *pattern, const char *path);

#ifdef __cplusplus
}
#endif
#endif
