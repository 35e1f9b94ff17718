/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stage directory is a node's copy of a dataset, whole or in part: manifest,
 * index, the chunks that are here, and a small state file.  hpdsl_open() takes
 * it like any other dataset.  What is not here is read from the origin; for
 * what is coming a reader waits while the stager is at work.
 */
#ifndef HPDSL_STAGE_H
#define HPDSL_STAGE_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

struct hpdsl_dataset;

/* ---- Who gets what ---------------------------------------------------- */

enum hpdsl_stage_mode {
	HPDSL_STAGE_AUTO, /* as few parts as there is room for */
	HPDSL_STAGE_REPLICATE,
	HPDSL_STAGE_PARTITION,
	HPDSL_STAGE_COPIES,
};

/*
 * Who gets what: see hpdsl_stage_plan_new().  Chunk c is in part c mod parts;
 * nodes hold parts in blocks, as launchers place ranks.
 */
struct hpdsl_stage_plan;

/*
 * From first to last.  With D parts on n nodes, node k holds the parts
 * floor(k D / n) .. ceil((k + 1) D / n) - 1: one where D divides n, two where a
 * border of parts is inside the node, more where there are more parts than
 * nodes.
 */
struct hpdsl_stage_span {
	uint32_t first, last;
};
HPDSL_API struct hpdsl_stage_span hpdsl_stage_parts_of(uint32_t nodes,
						       uint32_t parts,
						       uint32_t node);
/* A part's group, the nodes that hold it. */
HPDSL_API struct hpdsl_stage_span hpdsl_stage_group_of(uint32_t nodes,
						       uint32_t parts,
						       uint32_t part);

struct hpdsl_stage_wish {
	enum hpdsl_stage_mode mode;
	uint32_t copies; /* with HPDSL_STAGE_COPIES */
	/* With HPDSL_STAGE_AUTO: of the order that training goes on with.
	 * Where a node has no room for everything there are as many, so that
	 * ranks find their part on their node.  0: any number will do. */
	uint32_t parts;
	uint32_t nodes;
	const uint64_t *capacity; /* of each node, bytes for chunks */
	uint64_t chunks;
	const uint64_t *weight; /* of each chunk, bytes it takes on a node */
	const uint32_t *order;	/* the chunks' numbers in order of use */
	/* Names of the nodes, for messages; NULL: they have numbers only. */
	const char *const *hosts;
	/* Bytes that a node with every chunk takes besides: side files of the
	 * whole dataset. */
	uint64_t whole;
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

/* Of the dataset, each part counted once. */
struct hpdsl_stage_sums {
	uint64_t chunks, bytes; /* that nodes hold in the end */
	uint64_t left_chunks, left_bytes;
};
HPDSL_API void hpdsl_stage_plan_sums(const struct hpdsl_stage_plan *p,
				     struct hpdsl_stage_sums *ret);

/* What a plan means for one node, in bytes and chunks, on an empty start. */
struct hpdsl_stage_share {
	uint64_t chunks, bytes; /* that it holds in the end */
	uint64_t origin_chunks, origin_bytes;
	uint64_t received_bytes, sent_bytes;
	uint64_t left_chunks, left_bytes; /* of its parts, for lack of room */
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

/* ---- The origin ------------------------------------------------------- */

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
/*
 * What side files take on a node, by the manifest: those of each chunk are
 * added to add (NULL: not wanted), of the whole dataset to *ret_whole.  Files
 * that are listed and no side files that are known are told to watch (NULL:
 * nobody).  HPDSL_ECORRUPT.
 */
HPDSL_API int hpdsl_stage_pack_sides(const struct hpdsl_stage_pack *pack,
				     bool keep_compressed,
				     const struct hpdsl_watch *watch,
				     uint64_t *add, uint64_t *ret_whole,
				     struct hpdsl_error *err);

/*
 * From the manifest alone, before the index is there: the dataset's id, and
 * bytes of each chunk on a node, as hpdsl_stage_weights() has them later.
 */
HPDSL_API int hpdsl_stage_pack_id(const struct hpdsl_stage_pack *pack,
				  uint8_t ret[16], struct hpdsl_error *err);
HPDSL_API int hpdsl_stage_pack_weights(const struct hpdsl_stage_pack *pack,
				       bool keep_compressed, uint64_t *ret,
				       struct hpdsl_error *err);

/* ---- A stage directory ------------------------------------------------ */

/*
 * A stage directory in the hands of a stager: locked.  libhpdsl(3), "Staging",
 * has a table of what may be called when; a call that is out of order is
 * HPDSL_EUSAGE, and changes nothing.
 */
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
/*
 * Before a plan is published: takes away what came into a directory that was
 * empty when it was opened, and the directory if it was made.  One that was not
 * empty stays as it is.  Then nothing but hpdsl_stage_close() is left.
 */
HPDSL_API int hpdsl_stage_undo(struct hpdsl_stage *s, struct hpdsl_error *err);

struct hpdsl_stage_place {
	uint64_t device, inode; /* of the directory */
	uint64_t free_bytes;	/* for this user, by the file system */
	uint64_t memory_bytes;	/* left to this job where it is RAM */
	bool ram;		/* tmpfs, ramfs */
	uint64_t held_bytes;	/* chunks and side files that are there and
				   count as room */
	uint64_t capacity;	/* free less 5 %, the smaller with memory, and
				   held_bytes */
};
HPDSL_API int hpdsl_stage_place(const struct hpdsl_stage *s,
				struct hpdsl_stage_place *ret,
				struct hpdsl_error *err);
/*
 * Of any directory, in which a stage directory may be made: its room, with
 * held_bytes 0, and what kind of file system it is in.  Nothing is made.
 * -ENOTDIR, -errno.
 */
struct hpdsl_stage_ground {
	struct hpdsl_stage_place place;
	/* "lustre": of a kind that is made to be shared by machines; "": that
	 * is not known of it. */
	char shared[16];
};
HPDSL_API int hpdsl_stage_look(const char *path, const struct hp_io *io,
			       struct hpdsl_stage_ground *ret,
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
/* Owned by s.  Before begin there is none: NULL. */
HPDSL_API struct hpdsl_dataset *hpdsl_stage_dataset(struct hpdsl_stage *s);
/* Before begin: false. */
HPDSL_API bool hpdsl_stage_holds(const struct hpdsl_stage *s, uint64_t chunk);
/*
 * Bytes of each chunk in this directory once it is here, with its side files:
 * n = chunks.  Before begin nothing is written to ret.
 */
HPDSL_API void hpdsl_stage_weights(const struct hpdsl_stage *s, uint64_t *ret);
/* What a wish has as whole.  Before begin: 0. */
HPDSL_API uint64_t hpdsl_stage_whole(const struct hpdsl_stage *s);
/*
 * Publishes the plan: a new generation of the state file, in which the chunks
 * of this node that are not here are coming.
 */
HPDSL_API int hpdsl_stage_publish(struct hpdsl_stage *s,
				  const struct hpdsl_stage_plan *plan,
				  struct hpdsl_error *err);
/*
 * Bytes of chunks and side files that are here, and that the plan has not for
 * this node: they stay, and take room that a plan may have counted on.  Before
 * begin: 0.
 */
HPDSL_API uint64_t hpdsl_stage_surplus(const struct hpdsl_stage *s,
				       const struct hpdsl_stage_plan *plan);
/* To be called once a second, by any thread. */
HPDSL_API void hpdsl_stage_beat(struct hpdsl_stage *s);
/*
 * How it ended: 0, HPDSL_ESTOPPED or another failure; what is coming is not.
 * After hpdsl_stager_free(), and then nothing but hpdsl_stage_close() is left.
 */
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
	uint32_t node, nodes, parts, part, last_part;
	bool at_work, complete, stale; /* stale: of another boot */
	double beat_age;	       /* seconds; with at_work */
	int64_t started;
	char host[128], job[128], origin[4096];
	uint8_t pack[16];
	/* That were here, and are gone, or, with no stager at work, of another
	 * size than the manifest says; complete: there is none. */
	uint64_t lost;
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

/* ---- Side files ------------------------------------------------------- */

/*
 * Side files that go along, by numbers from 0, the same on all nodes.  Once
 * there is a plan, and before it is published, a node of those that the plan
 * has them for reads them from the origin, as streams, and all write them.
 * Before begin there are none.
 */
HPDSL_API uint32_t hpdsl_stage_side_count(const struct hpdsl_stage *s);

struct hpdsl_stage_side {
	char name[40]; /* in the dataset */
	uint64_t bytes;
	uint32_t chunk; /* whose it is; UINT32_MAX: the whole dataset's */
	bool planned;	/* for this node */
	bool here;	/* complete and verified */
	bool unread;	/* could not be read here, when that was tried last */
};
HPDSL_API void hpdsl_stage_side_get(const struct hpdsl_stage *s,
				    const struct hpdsl_stage_plan *plan,
				    uint32_t side,
				    struct hpdsl_stage_side *ret);
/*
 * What is wrong with one that could not be had, as an error: it is unread here,
 * or what came of it differed.
 */
HPDSL_API int hpdsl_stage_side_why(const struct hpdsl_stage *s, uint32_t side,
				   struct hpdsl_error *err);

/*
 * Some of them, one behind the other: a stream of bytes.  It is used by one
 * thread at a time; side stays the caller's and must outlive it.
 */
struct hpdsl_stage_sides;
struct hpdsl_stage_sides_of {
	const struct hpdsl_stage_plan *plan;
	const uint32_t *side; /* numbers */
	uint32_t sides;
	bool sync; /* fsync each before it gets its name */
};
HPDSL_API int hpdsl_stage_sides_new(struct hpdsl_stage *s,
				    const struct hpdsl_stage_sides_of *of,
				    struct hpdsl_stage_sides **ret,
				    struct hpdsl_error *err);
/* What is not complete is removed.  NULL is harmless. */
HPDSL_API void hpdsl_stage_sides_free(struct hpdsl_stage_sides *t);
HPDSL_API uint64_t hpdsl_stage_sides_bytes(const struct hpdsl_stage_sides *t);
/*
 * The stream's next n bytes, from the origin, into buf.  Each file is opened
 * once.  Of one that cannot be read, or is not what the manifest says, zeros
 * come, so that nobody takes it: it is unread.  Returns bytes read.
 */
HPDSL_API size_t hpdsl_stage_sides_read(struct hpdsl_stage_sides *t, void *buf,
					size_t n);
/*
 * The stream's next n bytes: of those files that are planned for this node and
 * not here.  A file gets its name when all of it is here and its checksum
 * agrees.  A failure is of this node's directory; the rest is then passed over.
 */
HPDSL_API int hpdsl_stage_sides_write(struct hpdsl_stage_sides *t,
				      const void *buf, size_t n,
				      struct hpdsl_error *err);

/* ---- The stager of one node ------------------------------------------- */

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

/* With a plan published; one at a time in a directory. */
HPDSL_API int hpdsl_stager_new(struct hpdsl_stage *s,
			       const struct hpdsl_stager_options *opt,
			       struct hpdsl_stager **ret,
			       struct hpdsl_error *err);
/*
 * Ends its threads.  One that does not return from the system within 5 seconds
 * is left behind, with the memory that it knows of.  Before the directory is
 * closed.  NULL is harmless.
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

#ifdef __cplusplus
}
#endif
#endif
