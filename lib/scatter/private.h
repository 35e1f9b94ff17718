/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks with files of compressed archives.  Such an archive, a stream, can
 * only be read front to back, and a shuffle puts its files everywhere.  So the
 * chunks that hold any of them, the scattered ones, are made at their full size
 * at once, each file goes to its places when the stream comes to it, and when
 * all is there the chunks are read back and get their names.
 *
 * A decoder (one thread a stream) fills buffers, writers put them into the
 * chunks; every few seconds all is synced, and the journal notes how far it is.
 * One lock guards what is not said to belong to somebody.  With no threads the
 * calling one does it all.
 */
#ifndef HP_SCATTER_PRIVATE_H
#define HP_SCATTER_PRIVATE_H

#include "format/names.h"
#include "sys/meter.h"
#include "write/parts.h"

/* A place for a file of a stream. */
struct hp_stream_spot {
	uint64_t ordinal; /* of the file in its stream */
	uint64_t header;  /* offset of its header in the chunk */
	uint64_t file : 44;
	uint64_t chunk : 20;
};

_Static_assert(sizeof(struct hp_stream_spot) == 24,
	       "the memory promise counts it");
_Static_assert(HP_CHUNKS_MAX <= 1 << 20, "chunks have 20 bits");

struct hp_scatter_buffer;

struct hp_stream {
	struct hp_root *root;
	struct hp_stream_spot *spots; /* by ordinal */
	uint64_t n_spots;
	/* Up to here an earlier run came; the rest of it is not used. */
	struct hp_journal_position before;
	/* In their places, without a gap; and what the journal has of it. */
	struct hp_journal_position at, noted;
	/* Handed to the writers, in order. */
	struct hp_scatter_buffer *first, **last;
};

/* A run of bytes of one file's content, with the header or padding beside. */
struct hp_scatter_piece {
	const struct hp_stream_spot *spots; /* n of them, for one ordinal */
	uint64_t n;
	uint64_t offset;  /* of the bytes in the content */
	uint32_t at, len; /* in the buffer */
	bool compare;	  /* an earlier run has probably put it there */
};

enum { HP_SCATTER_PIECES = 1024 };

struct hp_scatter_buffer {
	struct hp_scatter_buffer *next;	  /* free, or to be written */
	struct hp_scatter_buffer *behind; /* in its stream */
	struct hp_stream *stream;
	uint8_t *data;
	uint32_t used, n;
	bool written;
	uint64_t bytes;		    /* of contents */
	uint64_t files, file_bytes; /* the stream's position behind it */
	struct hp_scatter_piece piece[HP_SCATTER_PIECES];
};

struct hp_scatter {
	struct hp_writing *w;
	struct hp_parts parts;
	struct hp_meter meter;

	struct hp_stream_spot *spots; /* of all streams */
	struct hp_stream *streams;
	uint32_t n_streams;
	uint32_t *chunks; /* the scattered ones that are not done */
	uint32_t n_chunks;
	uint64_t stream_bytes; /* to be put into them from streams, .. */
	uint64_t other_bytes;  /* .. and from other files */

	pthread_mutex_t lock;
	pthread_cond_t freed; /* a buffer is free, or the end */
	pthread_cond_t ready; /* a buffer can be written, or the end */
	pthread_cond_t due;   /* the end */
	struct hp_scatter_buffer *buffers, *free;
	struct hp_scatter_buffer *queue, **queue_end;
	uint32_t buffer_size, n_buffers;
	uint8_t *memory;
	uint32_t writers; /* threads that write; 0: the decoder does it */
	bool syncing;	  /* a thread of its own does that */
	bool ended;
	bool stopped; /* asked to, streams are not at their ends */
	int failed;
	struct hpdsl_error err;

	double next_sync, interval; /* by hp_now(), seconds */
};

/* plan.c: streams, their spots, and the scattered chunks. */
int hp_scatter_plan(struct hp_scatter *s, struct hpdsl_error *err);

/* decode.c: a stream from its beginning to its end, or a stop. */
int hp_scatter_decode(struct hp_scatter *s, struct hp_stream *stream,
		      struct hpdsl_error *err);

/* write.c */
int hp_scatter_buffers(struct hp_scatter *s, uint32_t decoders,
		       struct hpdsl_error *err);
void hp_scatter_buffers_free(struct hp_scatter *s);
/* An empty one; NULL: the run has failed. */
struct hp_scatter_buffer *hp_scatter_get(struct hp_scatter *s,
					 struct hp_stream *stream);
/* It is written, later or now; its pieces were filled. */
void hp_scatter_submit(struct hp_scatter *s, struct hp_scatter_buffer *b);
/* A thread that writes until the end. */
void *hp_scatter_writer(void *arg);
/*
 * Puts a piece into its place for one spot: before its bytes there is room for
 * the header, behind them for padding.  compare: writes what differs only.
 */
int hp_scatter_put(struct hp_scatter *s, const struct hp_stream_spot *spot,
		   const struct hp_scatter_piece *piece, uint8_t *data,
		   struct hpdsl_error *err);

/* sync.c: all that is in its place to the disk, positions noted. */
int hp_scatter_sync(struct hp_scatter *s, struct hpdsl_error *err);
/* The same if it is time. */
void hp_scatter_sync_if_due(struct hp_scatter *s);
/* A thread that does so until the end. */
void *hp_scatter_syncer(void *arg);
/* Notes the first failure and wakes everybody. */
void hp_scatter_fail(struct hp_scatter *s, int code,
		     const struct hpdsl_error *err);

/* copy.c: the other members of scattered chunks.  HPDSL_ESTOPPED. */
int hp_scatter_copy(struct hp_scatter *s, struct hpdsl_error *err);

/* finish.c: checks, names.  HPDSL_ESTOPPED. */
int hp_scatter_finish(struct hp_scatter *s, struct hpdsl_error *err);

/* Does the file come from a stream? */
static inline bool hp_scatter_streamed(const struct hp_list *list,
				       const struct hp_file *f)
{
	return list->roots[f->root].kind == HP_ROOT_STREAM &&
	       !(f->flags & HP_FILE_GENERATED);
}

static inline const struct hpdsl_watch *hp_scatter_watch(
	const struct hp_scatter *s)
{
	return &s->w->opt->watch;
}

#endif
