/* SPDX-License-Identifier: Apache-2.0 */
/* An open dataset: its directory, its index, descriptors of its chunks. */
#ifndef HP_DATASET_H
#define HP_DATASET_H

#include "dataset/frame_cache.h"
#include "dataset/source.h"
#include "dataset/stage_read.h"
#include "index/index.h"
#include "sys/fd_cache.h"
#include "sys/view.h"

enum { HP_PACK_UNKNOWN, HP_PACK_BEING_KEPT, HP_PACK_KNOWN };

struct hpdsl_dataset {
	const struct hp_io *io;
	char *path; /* as given, for messages */
	int dir;
	struct hp_view view; /* of the index */
	struct hp_index *index;
	const struct hp_sources *sources;
	struct hp_fd_cache *files;
	struct hp_frame_cache *frames;
	struct hp_stage_read *stage; /* NULL: it is no stage directory */
	unsigned flags;		     /* HPDSL_OPEN_.., and HP_OPEN_PLAIN */
	/* hpdsl_pack_id(), once somebody has asked; without a lock, which a
	 * child of fork() could find held for ever. */
	unsigned pack_is; /* HP_PACK_.. */
	uint8_t pack[16];
};

/* Chunk files, open: chunk_files.c */

/* At most, as far as the process may: an epoch has many chunks in use at a
 * time, and a server answers each open. */
enum { HP_CHUNK_FILES = 2048 };

/* What a read of a chunk has tried in vain; zeros at first. */
struct hp_tried {
	struct hpdsl_error here; /* why what is here, or at other nodes, is of
				    no use; code 0: it was not tried */
	/* Why the origin's cannot be had, or else is of no use; code 0: it was
	 * not tried. */
	struct hpdsl_error origin;
	uint8_t asked; /* peers, for these forms: HP_ASKED_.. */
	/* Who sent what is wrong, HP_SENT_.., if others have it right. */
	uint32_t suspect;
	enum hp_chunk_at suspect_at;
};

/*
 * The source that has a chunk, given back with hp_chunk_file_put.  Any number
 * of threads.  What is not a regular file is HPDSL_ECORRUPT.  Of a stage
 * directory, the one that is to be read now, here, at another node or at the
 * origin; *tried becomes what was of no use.
 * HPDSL_ESTOPPED: it was still coming when *quit became true; NULL: never.
 */
int hp_chunk_file_get(const struct hpdsl_dataset *ds,
		      const struct hpdsl_chunk *c, const bool *quit,
		      struct hp_source *ret, struct hp_tried *tried,
		      struct hpdsl_error *err);
/* The same, but *why is that of the file that was tried last, ret->at. */
int hp_chunk_file_try(const struct hpdsl_dataset *ds,
		      const struct hpdsl_chunk *c, const bool *quit,
		      struct hp_source *ret, struct hp_tried *tried,
		      struct hpdsl_error *why);
/*
 * What is here of a chunk that is of no use as a whole, whatever its size: for
 * members that are found to be good, when the origin's is of no use either.
 * False: there is none.
 */
bool hp_chunk_file_rest(const struct hpdsl_dataset *ds,
			const struct hpdsl_chunk *c, struct hp_source *ret);
/* Why the origin's, which could not be got, is asked for, and that. */
int hp_chunk_file_nowhere(const struct hpdsl_dataset *ds,
			  const struct hpdsl_chunk *c,
			  const struct hpdsl_error *here,
			  const struct hpdsl_error *origin,
			  struct hpdsl_error *err);
/*
 * Another descriptor of the same file, opened with these flags too; the caller
 * closes it.
 */
int hp_chunk_file_open(const struct hpdsl_dataset *ds,
		       const struct hpdsl_chunk *c, const struct hp_source *f,
		       int flags, struct hpdsl_error *err);
/* That reason, and why the origin's file does not help. */
int hp_chunk_file_both(const struct hpdsl_error *here,
		       const struct hpdsl_error *origin,
		       struct hpdsl_error *err);
void hp_chunk_file_put(const struct hpdsl_dataset *ds,
		       const struct hp_source *f);
/*
 * Reading it failed with this code, or gave wrong bytes: is there another one,
 * at other nodes or at the origin?  Then that is what is got from now on: by
 * all, if it was here, and by this read, if it was at others'.  *tried is told,
 * but for the reason.
 */
bool hp_chunk_file_failed(const struct hpdsl_dataset *ds,
			  const struct hpdsl_chunk *c,
			  const struct hp_source *f, int code,
			  struct hp_tried *tried);
/* What others sent wrong another source has right: it was not the dataset. */
void hp_chunk_file_right(const struct hpdsl_dataset *ds,
			 const struct hpdsl_chunk *c, struct hp_tried *tried);
/* For the caches: the chunk's number and, in the upper half, which copy. */
static inline uint64_t hp_chunk_file_key(const struct hpdsl_chunk *c,
					 enum hp_chunk_at at)
{
	return c->number | (uint64_t)at << 32;
}
/* "out/chunk-000017.tar", as far as there is room.  Returns buf. */
#define HP_CHUNK_FILE_TEXT 700
const char *hp_chunk_file_text(const struct hpdsl_dataset *ds,
			       const struct hpdsl_chunk *c, enum hp_chunk_at at,
			       char buf[HP_CHUNK_FILE_TEXT]);

/* Opening: dataset.c */

/*
 * A flag beside those of hpdsl_open_with(): whatever the state file of a stage
 * directory says, so that nothing is waited for or read from an origin.
 */
#define HP_OPEN_PLAIN (1u << 31)
/* All but that. */
#define HP_OPEN_FLAGS \
	(HPDSL_OPEN_COPY | HPDSL_OPEN_FOREIGN_OWNER | HPDSL_OPEN_NO_PEERS)

/*
 * Is a directory a packed dataset, says its manifest?  1, 0 or -errno;
 * HPDSL_ENOTOURS: there is an index, but no manifest.
 */
int hp_dataset_is_one(const struct hp_io *io, int dir);

int hp_dataset_open(const char *path, unsigned flags, const struct hp_io *io,
		    struct hpdsl_dataset **ret, struct hpdsl_error *err);

/*
 * What was read, of a chunk or of the index, is not what the opened index says:
 * code and *err become HPDSL_ECHANGED if that is because index.hpdsl is of
 * another pack by now.  Returns the code; any other is left alone.
 */
int hp_dataset_blame(const struct hpdsl_dataset *ds, int code,
		     struct hpdsl_error *err);

#endif
