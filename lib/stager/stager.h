/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stager: threads and files around one exchange.
 *
 * The caller's thread alone touches the exchange and the buffers.  Work that
 * may wait for a file is a job, done by one of these threads, and comes back on
 * a list that hpdsl_stager_next() empties:
 *
 *   origin   8: read from the origin, as many at a time as the tempo says
 *   serve    2: read what was written, for another node; close files
 *   chunks   2 and one for each core (hp_threads), fewer with little memory:
 *            begin, write, verify, expand and publish chunks
 *
 * With HPDSL_SERIAL there is one of each kind.
 *
 * Jobs of one chunk that change its file are done in order, one at a time; they
 * queue at the chunk.  There are never more jobs than buffers and four for
 * each chunk under way.
 */
#ifndef HP_STAGER_H
#define HP_STAGER_H

#include "base/error.h"
#include "base/file_digest.h"
#include "dataset/source.h"
#include "spread/exchange.h"
#include "spread/plan.h"
#include "stage/stage.h"
#include "stager/buffers.h"
#include "base/pace.h"
#include "stager/tempo.h"
#include "sys/fd_cache.h"
#include "sys/outfile.h"

#include <pthread.h>

enum hp_job_kind {
	HP_JOB_READ,  /* the origin */
	HP_JOB_BLAME, /* why can this chunk not be had? */
	HP_JOB_FILL,  /* a buffer, to be sent */
	HP_JOB_PUT,   /* a file that is not needed any more */
	HP_JOB_BEGIN, /* from here on: of a chunk, in order */
	HP_JOB_WRITE,
	HP_JOB_FINISH,
	HP_JOB_DROP,
};

enum hp_stager_crew { HP_CREW_ORIGIN, HP_CREW_SERVE, HP_CREW_CHUNKS, HP_CREWS };

/* The file of a chunk that is coming; who holds it may read it. */
struct hp_coming_file {
	uint32_t users; /* atomic */
	int fd;
	struct hp_outfile out; /* of who writes it; without descriptor */
};

struct hp_job {
	struct hp_job *next;
	enum hp_job_kind kind;
	struct hp_stager_chunk *chunk;
	struct hp_buffer *buffer;
	/* FILL, PUT: of these; BEGIN: what came of it. */
	struct hp_coming_file *part;
	struct hp_outgoing *out; /* FILL */
	struct hp_segment_id id; /* of the segment; BEGIN, FINISH: plain */
	bool differs;		 /* FINISH: what came of it */
	bool plain;		 /* FINISH: how it is kept */
	bool written;		 /* WRITE */
	bool again;		 /* READ: it was wrong before */
	double since;		 /* READ: when it was to be begun */
	int result;
};

struct hp_jobs {
	struct hp_job *first, **last;
};

/* A chunk that is coming, or from which another node gets something. */
struct hp_stager_chunk {
	uint64_t number;
	struct hpdsl_chunk row;	  /* with a name of our own */
	char name[HP_STAGE_NAME]; /* as the dataset stores it */

	/* Of the caller's thread. */
	uint32_t jobs, sends;	     /* under way */
	struct hp_coming_file *part; /* to be read from, or NULL; .. */
	bool part_plain;	     /* .. in this form */

	/* Under the lock. */
	struct hp_jobs queue;
	bool at_work;
	struct hp_stager_chunk *next; /* that has something queued */

	/* Of the thread that is at work on it. */
	struct hp_coming_file *writing;
	struct hp_file_digest *digest;
	uint64_t at;  /* bytes so far */
	bool plain;   /* in this form */
	bool damaged; /* segments came in another order */
};

/* Bits: what went wrong with a chunk until now. */
enum {
	HP_TROUBLE_DIFFERED = 1, /* what came of it */
	HP_TROUBLE_TOLD = 2,	 /* that it cannot be had from the origin */
};

/* What a thread does now; read by the caller's thread at any time. */
struct hp_operation {
	uint64_t since; /* hp_monotonic(); 0: nothing */
	const char *what;
	const char *name; /* lives as long as the operation is noted */
};

struct hp_stager_thread {
	struct hpdsl_stager *s;
	enum hp_stager_crew crew;
	struct hp_operation now; /* atomics */
	pthread_t id;
};

/* A message on its way to another node. */
struct hp_outgoing {
	struct hp_outgoing *next;
	struct hp_stager_chunk *chunk;
	uint32_t to;
	bool filled, handed;
	struct hp_segment_id id;
	struct hp_buffer *buffer; /* NULL: a header alone */
	uint8_t header[HP_MESSAGE_HEADER];
};

struct hp_outgoings {
	struct hp_outgoing *first, **last;
};

/* A message of another node that is a header alone. */
struct hp_word {
	struct hp_word *next;
	uint32_t from;
	_Alignas(8) uint8_t bytes[HP_MESSAGE_HEADER];
};

/* Under the lock. */
struct hp_stager_counts {
	uint64_t origin_bytes, written_bytes, retries;
	double read_seconds, write_seconds, hash_seconds, expand_seconds;
};

/* What the caller's thread alone has. */
struct hp_stager_own {
	struct hp_exchange *x;
	struct hp_tempo tempo;
	struct hp_buffers buffers;
	struct hp_stager_chunk **chunk; /* of those under way, by number */
	float *ready;			/* of each chunk: seconds; < 0: no */
	uint8_t *trouble;		/* of each chunk: HP_TROUBLE_* */
	uint32_t *want, *from;
	bool *asked; /* of each of want: will another node ask for it? */
	uint32_t n_want;
	struct hp_outgoings data, words; /* with and without a segment */
	struct hp_outgoing *spare_outgoings;
	struct hp_word *spare_words;
	struct hp_word *unheard, **unheard_last; /* for lack of memory */
	uint32_t jobs; /* under way, but those to serve others */
	struct hpdsl_stager_report report;
	int failing, told; /* failed, as it is known here; and as it was told */
	bool stopped;	   /* because that is fatal */
};

/* Between the threads: under the lock, but for atomics and what has its own. */
struct hp_stager_shared {
	pthread_mutex_t lock;
	pthread_cond_t wake[HP_CREWS];
	pthread_cond_t pause; /* of those who sleep; its clock is monotonic */
	struct hp_jobs origin_jobs, serve_jobs, spare;
	struct hp_stager_chunk *busy, **busy_last;
	struct hp_jobs done;
	struct hp_stager_counts counts;
	struct hp_pace pace;
	struct hp_fd_cache *origin_files, *own_files;
	int origin_dir;	     /* once it is open */
	uint32_t unreadable; /* chunks of the origin, in a row */
	uint32_t damaged;    /* chunks that cannot be had from there */
	int failed;
	bool fatal; /* .. and nothing more is to come here */
	struct hpdsl_error err;
	bool any_done;	/* atomic: done is not empty, or failed was set */
	bool giving_up; /* atomic: what is under way is of no use any more */
	bool ending;	/* atomic: threads are to end */
	uint32_t alive; /* threads */
	uint32_t n_threads;
	struct hp_stager_thread *thread;
};

struct hpdsl_stager {
	/* Fixed. */
	struct hpdsl_stage *stage; /* unless abandoned: */
	pthread_mutex_t stage_lock;
	bool abandoned;
	/* The stage directory and its lock, of our own: threads may outlive
	 * them, and change files for as long as they live. */
	int dir, lock_fd;
	const struct hp_io *io;
	const struct hp_sources *sources;
	const struct hpdsl_stage_plan *plan;
	uint32_t node;
	bool direct, sync, keep_compressed;
	struct hpdsl_watch watch;
	char *origin;
	uint64_t chunks;
	double started;
	double patience; /* seconds to wait for threads in the end */

	struct hp_stager_own own;
	struct hp_stager_shared shared;
};

/* ---- Jobs: jobs.c ----------------------------------------------------- */

/* NULL: no memory, and the node has failed. */
struct hp_job *hp_job_new(struct hpdsl_stager *s, enum hp_job_kind kind,
			  struct hp_stager_chunk *c);
void hp_job_start(struct hpdsl_stager *s, struct hp_job *j);
/* All that are done, in the order in which they were. */
struct hp_job *hp_jobs_done(struct hpdsl_stager *s);
void hp_job_free(struct hpdsl_stager *s, struct hp_job *j);
void hp_jobs_add(struct hp_jobs *q, struct hp_job *j);
struct hp_job *hp_jobs_take(struct hp_jobs *q);

enum hp_stager_crew hp_job_crew(const struct hp_job *j);
/* Under the lock: something is queued at the chunk. */
void hp_stager_make_busy(struct hpdsl_stager *s, struct hp_stager_chunk *c);

/* The first failure of the node; any thread. */
void hp_stager_fail(struct hpdsl_stager *s, int code,
		    const struct hpdsl_error *err);
/*
 * One chunk cannot be had from the origin, but it goes on: the first is the
 * node's failure, some more are warnings.
 */
void hp_stager_damage(struct hpdsl_stager *s, const struct hpdsl_error *err);
bool hp_stager_ends(const struct hpdsl_stager *s);
/* What is coming is of no use any more. */
void hp_stager_give_up(struct hpdsl_stager *s);
/* Is there no use in going on with what is coming? */
bool hp_stager_gives_up(const struct hpdsl_stager *s);

/*
 * No memory for what the exchange wanted, of this segment: it is told what came
 * of it.
 */
void hp_stager_lost(struct hpdsl_stager *s, enum hp_event_kind kind,
		    const struct hp_segment_id *id);

/*
 * Around what may take long: false if the stager ends, and nothing may be done
 * any more; else a time for hp_operation_end(), which gives the seconds since.
 */
bool hp_operation_begin(struct hp_stager_thread *t, const char *what,
			const char *name, double *ret_since);
double hp_operation_end(struct hp_stager_thread *t, double since);
/* Waits, unless the stager gives up. */
void hp_stager_sleep(struct hpdsl_stager *s, double seconds);

/* ---- Threads: threads.c ----------------------------------------------- */

int hp_stager_threads(struct hpdsl_stager *s, uint32_t threads,
		      struct hpdsl_error *err);
/* False: a thread is still in an operation that does not return. */
bool hp_stager_join(struct hpdsl_stager *s);

/* ---- Where segments come from: source.c ------------------------------- */

/* A chunk there, that is still to be opened. */
struct hp_source hp_stager_source(const struct hpdsl_stager *s,
				  const struct hp_stager_chunk *c,
				  enum hp_chunk_at at);
/*
 * The segment of a job into its buffer: its bytes or more, fewer at the end, or
 * -errno.  With blocks it may be open with O_DIRECT: whole blocks are asked
 * for, up to the end of the file; where that cannot be done, without it.
 */
ssize_t hp_stager_segment(const struct hp_source *from, const struct hp_job *j,
			  bool blocks);

/* ---- What the threads do ---------------------------------------------- */

/* 0, or the failure of this node. */
int hp_stager_read(struct hp_stager_thread *t, struct hp_job *j,
		   struct hpdsl_error *err);
int hp_stager_fill(struct hp_stager_thread *t, struct hp_job *j,
		   struct hpdsl_error *err);
int hp_stager_begin(struct hp_stager_thread *t, struct hp_job *j,
		    struct hpdsl_error *err);
int hp_stager_write(struct hp_stager_thread *t, struct hp_job *j,
		    struct hpdsl_error *err);
int hp_stager_finish(struct hp_stager_thread *t, struct hp_job *j,
		     struct hpdsl_error *err);
int hp_stager_drop(struct hp_stager_thread *t, struct hp_job *j);
/* Writes the plain form of what is in c->writing to out. */
int hp_stager_expand(struct hp_stager_thread *t, struct hp_stager_chunk *c,
		     struct hp_outfile *out, bool *ret_differs,
		     struct hpdsl_error *err);

/* A write that failed: "chunk-000017.tar: No space left on device". */
int hp_stager_fail_write(const char *name, int code, struct hpdsl_error *err);

struct hp_coming_file *hp_coming_file_new(const struct hp_outfile *out);
struct hp_coming_file *hp_coming_file_hold(struct hp_coming_file *p);
/* The last one closes it. */
void hp_coming_file_put(struct hpdsl_stager *s, struct hp_coming_file *p);
/* Takes its name away, if it has its temporary one. */
void hp_coming_file_unname(struct hp_coming_file *p);
/* What a chunk that is given up, or began anew, has written. */
void hp_stager_forget(struct hpdsl_stager *s, struct hp_stager_chunk *c);

/* ---- What is wrong at the origin: blame.c ----------------------------- */

/* Its directory: opened by who needs it first, kept to the end; or -errno. */
int hp_stager_origin_dir(struct hpdsl_stager *s);
/* Something was read there. */
void hp_stager_readable(struct hpdsl_stager *s);
/*
 * Why this chunk cannot be read ("is missing"), with its name; HPDSL_ECORRUPT:
 * it alone is given up.  Anything else ends the node.
 */
int hp_stager_unreadable(struct hp_stager_thread *t,
			 const struct hp_stager_chunk *c,
			 const struct hpdsl_error *why,
			 struct hpdsl_error *err);
/* The same of a chunk that was read, and differs again and again. */
int hp_stager_blame(struct hp_stager_thread *t, struct hp_job *j,
		    struct hpdsl_error *err);

/* ---- Room: room.c ----------------------------------------------------- */

/* Chunks that may stay in both forms for other nodes. */
uint32_t hp_stager_keep_some(const struct hpdsl_stager *s);
/* Of bytes that are free, that will be taken, and of the largest of them. */
uint32_t hp_stager_keep_of(uint64_t room, uint64_t coming, uint64_t largest);

/* ---- Chunks under way: chunk.c ---------------------------------------- */

/* NULL: no memory, or damage to the index, and the node has failed. */
struct hp_stager_chunk *hp_stager_chunk(struct hpdsl_stager *s,
					uint64_t number);
/* If nothing is under way with it, it is forgotten. */
void hp_stager_chunk_done(struct hpdsl_stager *s, struct hp_stager_chunk *c);
void hp_stager_chunk_free(struct hpdsl_stager *s, struct hp_stager_chunk *c);

/* ---- The exchange: actions.c, events.c -------------------------------- */

/* Does what the exchange wants, until it wants nothing more. */
void hp_stager_act(struct hpdsl_stager *s);
void hp_stager_act_begin(struct hpdsl_stager *s);
/* A segment that was received or read, in this buffer, is to be written. */
void hp_stager_keep(struct hpdsl_stager *s, struct hp_stager_chunk *c,
		    struct hp_buffer *b);
/* Tells the exchange what the threads have done. */
void hp_stager_tell(struct hpdsl_stager *s);

/* ---- Messages: messages.c, receive.c ---------------------------------- */

/*
 * Is there what the next message of the exchange needs?  Else later: one that
 * is on its way gives it back.  It has to be so before the exchange is asked.
 */
bool hp_stager_can_send(struct hpdsl_stager *s);
void hp_stager_send(struct hpdsl_stager *s, const struct hp_action *a);
void hp_outgoings_free(struct hp_outgoing *first);

/* Makes room for some.  -ENOMEM. */
int hp_stager_words(struct hpdsl_stager *s, struct hpdsl_error *err);
/* What there was no memory for, once more. */
void hp_stager_hear(struct hpdsl_stager *s);
void hp_words_free(struct hp_word *w);

#endif
