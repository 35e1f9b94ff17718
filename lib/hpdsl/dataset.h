/* SPDX-License-Identifier: Apache-2.0 */
/* A dataset that is open: its samples, members and chunks, and their bytes. */
#ifndef HPDSL_DATASET_H
#define HPDSL_DATASET_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

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
 *    (hpdsl_member_read, hpdsl_chunk_read, hpdsl_member_stream,
 *    hpdsl_reading_read, hpdsl_sample_read, hpdsl_read_many, loaders,
 *    hpdsl_unpack), and hpdsl_.._rows, goes by the index that was opened: it
 *    reads rows anew and holds them against checksums kept since then.
 *    Loaders do so with every row; the others if size, mtime or ctime of the
 *    open index are not what they were when that was last done, and so do not
 *    notice what is written through a mapping, or within one tick of the file
 *    system's clock.  All others look things up in the mapping: they give what
 *    is there now, and strings (path, key, name in a chunk) point there: they
 *    change with the file, and lose the NUL behind them.  Names of chunks and
 *    classes do not.
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
	/*
	 * What a stage directory has not got comes from the origin, also where
	 * other nodes of the job serve it.  HPDSL_PEERS=off in the environment
	 * says the same.
	 */
	HPDSL_OPEN_NO_PEERS = 4,
};

/* The same; flags: 0 or those of HPDSL_OPEN_, or'ed; others: HPDSL_EUSAGE. */
HPDSL_API int hpdsl_open_with(const char *path, unsigned flags,
			      const struct hp_io *io,
			      struct hpdsl_dataset **ret,
			      struct hpdsl_error *err);
HPDSL_API void hpdsl_close(struct hpdsl_dataset *ds);

/*
 * What reading has found out about the job's other nodes, and nobody has asked
 * for yet: that one cannot be used, and why, each thing once.  False: nothing
 * more.  Any thread; a loader tells it itself.
 */
#define HPDSL_PEER_NOTE 912
HPDSL_API bool hpdsl_peer_note(const struct hpdsl_dataset *ds,
			       char ret[HPDSL_PEER_NOTE]);

struct hpdsl_counts {
	uint64_t samples, members, chunks, classes;
	uint64_t bytes; /* of all members' contents */
	uint8_t dataset_id[16];
	/* When it was packed, or its tars' author says so; else, and where
	 * nobody knows, it is not. */
	bool shuffled;
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

/*
 * Length of the key of a path, by the rule that the dataset was packed with:
 * hpdsl_key_length(), or up to the last dot but for double suffixes.  The
 * suffix is what follows that dot.  Members of a sample have the sample's key.
 */
HPDSL_API size_t hpdsl_dataset_key_length(const struct hpdsl_dataset *ds,
					  const char *path, size_t path_len);

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

/*
 * Member by path (path_len bytes).  -ENOENT if there is none; *err then has the
 * nearest of 4,096 members, too, which takes some milliseconds: who only asks
 * whether it is there gives no err.
 */
HPDSL_API int hpdsl_member_find(const struct hpdsl_dataset *ds,
				const char *path, size_t path_len,
				struct hpdsl_member *ret,
				struct hpdsl_error *err);

/*
 * Of several members of this path, as adopted tars may have them, the first
 * whose number is greater than after.  -ENOENT: there is none.
 */
HPDSL_API int hpdsl_member_next(const struct hpdsl_dataset *ds,
				const char *path, size_t path_len,
				uint64_t after, struct hpdsl_member *ret,
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

/*
 * Reads size bytes of the chunk's plain tar from offset into buf, also of one
 * that is compressed, or not here; reading past its plain_bytes is -ERANGE.
 * Members that are in there whole are verified: HPDSL_ECORRUPT.  Of headers,
 * and of members that are there in part, no checksum is known.
 */
HPDSL_API int hpdsl_chunk_read(const struct hpdsl_dataset *ds, uint32_t number,
			       uint64_t offset, void *buf, size_t size,
			       struct hpdsl_error *err);
/*
 * Is the chunk's plain tar a file in the dataset's directory now, that anybody
 * can open there?  1, and its name in ret; 0: it is compressed, or not here, or
 * its name takes more than room bytes.  HPDSL_ECORRUPT, -ERANGE.
 */
HPDSL_API int hpdsl_chunk_plain_file(const struct hpdsl_dataset *ds,
				     uint32_t number, char *ret, size_t room,
				     struct hpdsl_error *err);

/*
 * Members that come with this one: whole in the frames of a compressed chunk
 * that hold it, so that who reads it has them decoded, too.  Sets the first one
 * and how many, itself with them.  Of a plain chunk, and where a frame is of
 * more than 4 MiB, or it is as large, it is that member alone.  -ERANGE,
 * HPDSL_ECORRUPT.
 */
HPDSL_API int hpdsl_member_mates(const struct hpdsl_dataset *ds,
				 uint64_t number, uint64_t *ret_first,
				 uint64_t *ret_n, struct hpdsl_error *err);

/* Class name of a label.  NUL-terminated. -ERANGE past the end. */
HPDSL_API int hpdsl_class_name(const struct hpdsl_dataset *ds, uint32_t label,
			       const char **ret, struct hpdsl_error *err);
/* The number of the class of that name.  -ENOENT: there is none, and *err has
 * the nearest; HPDSL_ECORRUPT. */
HPDSL_API int hpdsl_class_find(const struct hpdsl_dataset *ds, const char *name,
			       uint32_t *ret, struct hpdsl_error *err);

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
 * The same if that waits for nothing: the chunk is here, plain, and in use, and
 * the page cache has the bytes, as far as can be known.  -EAGAIN: it would have
 * to wait, or what was read is not right; hpdsl_member_read() says more.
 */
HPDSL_API int hpdsl_member_read_now(const struct hpdsl_dataset *ds,
				    const struct hpdsl_member *m,
				    uint64_t offset, void *buf, size_t size,
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
 * A member that is read in parts, as a file is, by one thread at a time.  m is
 * copied, but for its path.  It belongs to no handle: each read is given one,
 * which may be another one of the same pack, as after a fork.  -ENOMEM.
 */
struct hpdsl_reading;
HPDSL_API int hpdsl_reading_new(const struct hpdsl_member *m,
				struct hpdsl_reading **ret,
				struct hpdsl_error *err);
/*
 * Reads size bytes from offset into buf, and returns how many there were:
 * fewer at the end, and none behind it.  Verified is what is read whole, and
 * what is read from offset 0 to the end in sequence, whatever else is read
 * between: the read that would have the last byte is HPDSL_ECORRUPT then.  So
 * is from there on each that is not in sequence from 0, where it begins anew.
 * Of a stage directory the next pass goes to another source.  -errno,
 * HPDSL_ECHANGED: it cannot be read.
 */
HPDSL_API int64_t hpdsl_reading_read(struct hpdsl_reading *r,
				     const struct hpdsl_dataset *ds,
				     uint64_t offset, void *buf, size_t size,
				     struct hpdsl_error *err);
/* NULL is harmless. */
HPDSL_API void hpdsl_reading_free(struct hpdsl_reading *r);

/*
 * Reads a whole sample, its members one behind the other in stored order, into
 * buf of cap bytes; ret_bytes is what that takes.  -ENOSPC: buf is too small
 * (ret_bytes is set in this case too).  Checksums are verified.
 */
HPDSL_API int hpdsl_sample_read(const struct hpdsl_dataset *ds,
				const struct hpdsl_sample *s, void *buf,
				size_t cap, size_t *ret_bytes,
				struct hpdsl_error *err);

/* ---- Folders ---------------------------------------------------------- */

struct hpdsl_folders_options {
	/* Below which members are wanted: below_len bytes, without a slash at
	 * their ends; none: all of the dataset. */
	const char *below;
	size_t below_len;
	/* What their names end in, n_suffixes strings, in each of which A to Z
	 * of the name count as small letters; none: anything. */
	const char *const *suffixes;
	size_t n_suffixes;
};

struct hpdsl_folder {
	const char *path; /* in the dataset, NUL-terminated; "" is its top */
	size_t path_len;
	uint64_t first;	  /* its members are member[first] .. */
	uint64_t members; /* .. first + members - 1 of hpdsl_folders */
	bool utf8;	  /* its path and the names of its members are UTF-8 */
};

struct hpdsl_folders {
	const struct hpdsl_folder *folder;
	uint64_t n;
	const uint64_t *member; /* numbers */
	uint64_t members;
};

/*
 * Every folder that holds members, and their numbers, in the order of a program
 * that takes the folders directly below the wanted one by their names, those
 * that each of them holds by their whole paths, and in each the files by their
 * names, all of them by bytes ("a/x", "a/x-y", "a/x/z", "a-b"); the wanted
 * folder comes first.  Members without a wanted suffix are not there, but their
 * folders are; what the packer made is not.  Of members of one path there is
 * the one that hpdsl_member_find() gives.  8 bytes a member are taken for good,
 * and 20 more meanwhile.  opt: NULL is all zero.
 * *ret is freed by hpdsl_folders_free(), and needs ds no more.  -ENOENT: there
 * is no such folder; -EOVERFLOW: more than 2^32 of them; -ENOMEM,
 * HPDSL_ECORRUPT.
 */
HPDSL_API int hpdsl_folders_of(const struct hpdsl_dataset *ds,
			       const struct hpdsl_folders_options *opt,
			       struct hpdsl_folders **ret,
			       struct hpdsl_error *err);
/* NULL is harmless. */
HPDSL_API void hpdsl_folders_free(struct hpdsl_folders *folders);

/*
 * Paths of n members, each with a NUL behind it, into buf of room bytes.
 * Returns how many of them found room, from the first one on.  -ENOSPC: not
 * one did; -ERANGE, HPDSL_ECORRUPT: buf may have been written to.
 */
HPDSL_API int64_t hpdsl_member_paths(const struct hpdsl_dataset *ds,
				     const uint64_t *number, size_t n,
				     char *buf, size_t room,
				     struct hpdsl_error *err);

/* Where a member is: in a sample, behind so many that the packer did not
 * make. */
struct hpdsl_seat {
	uint64_t sample, before;
};
/* Of n members.  -ERANGE, HPDSL_ECORRUPT: ret may have been written to. */
HPDSL_API int hpdsl_member_seats(const struct hpdsl_dataset *ds,
				 const uint64_t *number, size_t n,
				 struct hpdsl_seat *ret,
				 struct hpdsl_error *err);

/* ---- Random access ---------------------------------------------------- */

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

/* ---- Where bytes come from -------------------------------------------- */

/* Where a dataset's bytes came from, since it was opened. */
struct hpdsl_sources {
	bool staged; /* it is a stage directory; else the rest is zero */
	uint64_t local_bytes, origin_bytes; /* of chunk files, as read */
	uint64_t absent_chunks;	   /* read from the origin: not planned here */
	uint64_t overtaken_chunks; /* .. or from other nodes: coming, but not in
				      time or no more, */
	uint64_t failed_chunks;	   /* .. or no longer as they were staged */
	double wait_seconds; /* for chunks that were coming, by all threads */
	/*
	 * From the job's other nodes, where they serve; peers.hpdsl in
	 * hpdsl-format(5).
	 */
	uint64_t peer_bytes;  /* as read */
	uint64_t peer_chunks; /* for which they were asked */
	uint64_t peer_reads;  /* requests that they answered */
	uint64_t peer_failed; /* .. not, or wrongly: they went to the origin */
	uint64_t hedged;      /* asked of another one, as the first was late */
	uint64_t adopted;     /* answered by one that had fetched it for all */
};

HPDSL_API void hpdsl_sources(const struct hpdsl_dataset *ds,
			     struct hpdsl_sources *ret);
/*
 * How long a read waits for a chunk that is coming before it goes to the
 * origin; 300 unless set.  Not while others read.
 */
HPDSL_API void hpdsl_patience(struct hpdsl_dataset *ds, double seconds);

#ifdef __cplusplus
}
#endif
#endif
