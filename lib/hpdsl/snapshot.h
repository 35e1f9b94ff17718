/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A name space frozen in one file: folders, names, attributes.  An entry is one
 * name in it, a folder's own too; entries count from 0, which is the top.  The
 * entries of a folder are adjacent and sorted by the bytes of their names, and
 * whatever is below a folder is one range of numbers.
 */
#ifndef HPDSL_SNAPSHOT_H
#define HPDSL_SNAPSHOT_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
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

/*
 * For a message about a path that there is not: "in 'a' there is 'b', 'c' and
 * others", the names of the last folder of it that there is which are nearest
 * to what follows, of at most 4,096; or "'a' is no folder".  Returns buf, in
 * which all is fit to print.
 */
#define HPDSL_SNAPSHOT_NEAR 1024
HPDSL_API const char *hpdsl_snapshot_near(const struct hpdsl_snapshot *s,
					  const char *path, size_t path_len,
					  char buf[HPDSL_SNAPSHOT_NEAR]);

/*
 * Entry by its name in a folder.  -ENOENT: there is none, or it is no name;
 * -ENOTDIR, -ERANGE (no such folder), HPDSL_ECORRUPT.
 */
HPDSL_API int hpdsl_snapshot_child(const struct hpdsl_snapshot *s,
				   uint64_t folder, const char *name,
				   size_t name_len, struct hpdsl_entry *ret,
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

#define HPDSL_NO_ENTRY UINT64_MAX

/* Of each path its entry, size and mode: arrays, or NULL if not wanted. */
struct hpdsl_found {
	uint64_t *number; /* HPDSL_NO_ENTRY: there is none, */
	uint64_t *size;	  /* and this is UINT64_MAX, */
	uint32_t *mode;	  /* and this is 0 */
};

/*
 * The same of n paths that lie one behind the other in size bytes, each with a
 * NUL behind it.  Paths that come in the order of the snapshot's entries, or
 * folder by folder in the order of names, are found several times as fast.
 * Returns how many were found; HPDSL_EUSAGE (these are not n paths),
 * HPDSL_ECORRUPT: then the arrays may have been written to.
 */
HPDSL_API int64_t hpdsl_snapshot_lookup_list(const struct hpdsl_snapshot *s,
					     const char *paths, size_t size,
					     size_t n,
					     const struct hpdsl_found *ret,
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

/* Room for names and types, and what was put there. */
struct hpdsl_name_list {
	char *buf;	/* names, each with a NUL behind it */
	size_t room;	/* bytes of it: at least HPDSL_PATH_MAX + 1 */
	uint8_t *types; /* of each; as d_type of readdir(3): DT_REG, DT_DIR.. */
	size_t most;	/* of these there is room for */
	uint64_t first; /* the entry of the first; the others follow it */
	uint64_t total; /* entries of the folder, given or not */
	size_t used;	/* bytes of buf */
};

/*
 * The same, names and types alone: as many as there is room for, which is for
 * who makes strings of them.  They are copies.  Returns how many, 0 at the end;
 * -ENOTDIR, -ERANGE, HPDSL_EUSAGE (less room), HPDSL_ECORRUPT: then *cursor is
 * where it was, and buf and types may have been written to.
 */
HPDSL_API int64_t hpdsl_snapshot_names(const struct hpdsl_snapshot *s,
				       uint64_t folder, uint64_t *cursor,
				       struct hpdsl_name_list *names,
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
 * Regular files by the ends of their names: what begins with the last dot that
 * has something else than dots before it.  ".gz" of "a.tar.gz", "." of "a.",
 * "" of "a", ".a" and "..a".
 */
struct hpdsl_extension {
	const char *name; /* NUL-terminated */
	size_t len;
	uint64_t files, bytes;
};

/*
 * Those of all files below a folder, the most frequent first, then by their
 * bytes.  *ret is an array of as many as the call returns, to be freed by
 * hpdsl_extensions_free.  -ENOTDIR, -ERANGE, -ENOMEM, HPDSL_ECORRUPT.
 */
HPDSL_API int64_t hpdsl_snapshot_extensions(const struct hpdsl_snapshot *s,
					    uint64_t folder,
					    struct hpdsl_extension **ret,
					    struct hpdsl_error *err);
HPDSL_API void hpdsl_extensions_free(struct hpdsl_extension *e);

/*
 * Proves all of it: every block, every row, how they fit together, that each
 * path is found, and both digests.  told() hears each thing that is wrong (told
 * may be NULL); the result is HPDSL_ECORRUPT with the first of them, or 0.
 */
HPDSL_API int hpdsl_snapshot_verify(const struct hpdsl_snapshot *s,
				    void (*told)(void *arg, const char *reason),
				    void *arg, struct hpdsl_error *err);

struct hpdsl_member; /* hpdsl/dataset.h */

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
	/*
	 * Of a packed dataset: is this member in it?  1, 0, or a code that ends
	 * the call, with its text in *err.  Asked of each that exclude leaves,
	 * by any number of threads at a time; folders without a member are not
	 * there.  NULL: all are.
	 */
	int (*choose)(void *arg, const struct hpdsl_member *m,
		      struct hpdsl_error *err);
	void *choose_arg;
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

struct hpdsl_dataset;

/*
 * The snapshot of a dataset that is open, in memory of its own or, where it has
 * more than 16 MiB, in a file without a name in $TMPDIR (/tmp), if that is on a
 * disk and has room.  Of opt (may be NULL), exclude, choose, threads and
 * watch.stop count.  The index is read once; about 130 bytes an entry are taken
 * for good, and twice as much of memory meanwhile.
 * Errors as of hpdsl_snapshot_create.
 */
HPDSL_API int hpdsl_snapshot_of(const struct hpdsl_dataset *ds,
				const struct hpdsl_snapshot_options *opt,
				struct hpdsl_snapshot **ret,
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
	/*
	 * Of a snapshot of a dataset and one of a tree behind it: what
	 * hpdsl_pack() leaves out as litter is no difference, unless the first
	 * has litter, too: then it was not left out.
	 */
	bool pass_litter;
	/* Called for each difference, folders before what they hold, names
	 * sorted. */
	void (*difference)(void *arg, const struct hpdsl_difference *d);
	void *arg;
	struct hpdsl_watch watch;
};

struct hpdsl_diff_report {
	uint64_t compared; /* entries that are in both, of those compared */
	uint64_t added, removed, changed;
	uint64_t litter; /* names passed over; a folder is one */
	int64_t newest;	 /* mtime of the newest of what was added or changed; 0
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

#ifdef __cplusplus
}
#endif
#endif
