/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ranks of one hpdsl-stage: who they are, mail between them, watching each
 * other, and waiting for what takes long.
 *
 * All MPI is the main thread's.  It never blocks: whatever it waits for, it
 * goes round in job_pass(), which moves mail, beats and watches, and sleeps in
 * job_rest() when nothing happens.  Files are touched by other threads only:
 * job_work() runs a function in one.
 */
#ifndef CMD_STAGE_JOB_H
#define CMD_STAGE_JOB_H

#include "peers.h"
#include "stage.h"

#include <mpi.h>
#include <pthread.h>

/* Kinds of mail; DATA goes from leader to leader, beside the mail. */
enum stage_tag {
	TAG_HELLO = 1, /* to rank 0: I am there: version, host, options */
	TAG_GO,	       /* the answer; these two are the same in every version */
	TAG_INFO,      /* to rank 0: whom I share memory with */
	TAG_ROLE,      /* the answer: which node, who leads it */
	TAG_MASK,      /* to the leader: my cores */
	TAG_BEAT,
	TAG_ECHO,
	TAG_WISH,	 /* to rank 0: let us stop early */
	TAG_FAIL,	 /* to rank 0: I have failed */
	TAG_STOP,	 /* from rank 0 */
	TAG_IDLE,	 /* to rank 0: I have nothing left to do */
	TAG_DONE,	 /* from rank 0: nobody has */
	TAG_NEAR_BEFORE, /* from leader to leader: who lacks what */
	TAG_NEAR_AFTER,
	TAG_ROW,   /* to rank 0: my part of the report */
	TAG_ASK,   /* from rank 0: for the rest of it */
	TAG_READY, /* to rank 0: that */
	TAG_PATH,  /* to rank 0: my LOCALDIR */
	TAG_FINAL, /* the exit status */
	TAG_BYE,   /* to who watches me: I go, with all whom I watch */
	TAG_DATA,
};

struct stage_mail {
	struct stage_mail *next;
	int tag, source;
	size_t n;
	MPI_Request request;
	_Alignas(8) unsigned char bytes[];
};

/* The oldest first. */
struct stage_mails {
	struct stage_mail *first, *last; /* last: if there is a first */
	size_t n;
};

/* What came in the way, and where. */
struct stage_failure {
	struct hpdsl_error err;
	uint32_t node;
	bool global; /* not of one node */
	char host[STAGE_HOST];
};

struct stage_job {
	const struct stage_options *o;
	int rank, ranks;
	char host[STAGE_HOST], boot[40];
	double started;
	uint32_t node, nodes;
	int leader;	/* of this node, a rank */
	int *leaders;	/* rank of each node's leader */
	MPI_Comm leads; /* the leaders: rank is node */
	bool ready;	/* nodes are known, and beats are sent */

	/* comm.c */
	struct stage_mails inbox[TAG_DATA]; /* of each kind */
	struct stage_mails arriving, sending;

	double nap; /* round.c */

	/* watch.c */
	/* Whom this rank watches: on rank 0 first the other leaders, by node;
	 * then the helpers, by rank. */
	struct stage_peer *peers;
	size_t n_peers, n_helpers;
	int boss; /* gets the beats; this rank: nobody */
	bool watches_boss, beat_under_way;
	struct stage_peer boss_peer;
	double beat_at, pass_at, check_at;
	double named_at; /* of warnings: the first of so many */
	unsigned named;
	bool stuck_sent;
	bool wish; /* to stop early: this rank's or another's */
	struct stage_beat now;
	struct stage_peer self; /* what was told of this rank */
	/* Once a second, what the directory needs. */
	void (*tick)(void *arg);
	void *tick_arg;
	double tick_at;

	/* work.c: the operation that the other thread is at */
	pthread_mutex_t lock;
	char doing[STAGE_DOING];
	double doing_since; /* 0: none */
};

double stage_now(void);

/* ---- comm.c ----------------------------------------------------------- */

/* Sends a copy; to itself, too. */
void job_post(struct stage_job *j, int to, int tag, const void *p, size_t n);
/* The oldest mail of that kind, to be freed, or NULL. */
struct stage_mail *job_take(struct stage_job *j, int tag);
struct stage_mail *job_take_from(struct stage_job *j, int tag, int source);
/* Sends and receives what can be: true if anything was. */
bool job_move_mail(struct stage_job *j);
void job_free(struct stage_job *j);
/* One line, and the end of all ranks, with status 3. */
__attribute__((noreturn, format(printf, 1, 2))) void job_abort(const char *fmt,
							       ...);

/* ---- guard.c ---------------------------------------------------------- */

/* While MPI itself is waited for: ends the process after the timeout. */
void job_guard(const struct stage_job *j, const char *what);
/* Says, in another thread, who or what has not returned for so long. */
typedef void job_tell_fn(const struct stage_job *j, uint64_t seconds);
/* The same while there are rounds, each of which is to be told. */
void job_guard_rounds(const struct stage_job *j, job_tell_fn *tell);
void job_guard_round(void);
void job_unguard(void);

/* ---- watch.c ---------------------------------------------------------- */

/* From now on: beats, and a look at those who should. */
void job_watch(struct stage_job *j, const int *helpers, size_t n_helpers);
bool job_watch_pass(struct stage_job *j);
/* It need not be watched any longer. */
void job_watch_gone(struct stage_job *j, int rank);
/* Seconds after which somebody is named. */
double job_patience(const struct stage_job *j);

/* ---- round.c ---------------------------------------------------------- */

/* Moves what can be moved: true if anything was. */
bool job_pass(struct stage_job *j);
/* Sleeps, unless busy: the longer the longer there is nothing to do. */
void job_rest(struct stage_job *j, bool busy);
/* Waits for a request. */
void job_wait(struct stage_job *j, MPI_Request *r);
/* Waits until all mail is on its way. */
void job_flush(struct stage_job *j);
/* As job_take(), waited for. */
struct stage_mail *job_await(struct stage_job *j, int tag);
struct stage_mail *job_await_from(struct stage_job *j, int tag, int source);
/* Waits until all whom this rank watches have gone, and goes. */
void job_bye(struct stage_job *j);

/* Collective among the leaders. */
void job_bcast(struct stage_job *j, void *p, size_t n, uint32_t from);
/* n bytes of each leader: ret has nodes times as many. */
void job_allgather(struct stage_job *j, const void *p, size_t n, void *ret);
void job_min(struct stage_job *j, uint32_t *v, size_t n);
/*
 * Do all go on?  mine: what came in the way here, code 0: nothing.  If anybody
 * has failed all get the same failure: its code, else 0.  A wish to stop early
 * is one, too.
 */
int job_agree(struct stage_job *j, const struct stage_failure *mine,
	      struct stage_failure *ret);

/* ---- work.c ----------------------------------------------------------- */

/*
 * Runs fn in a thread of its own, and passes.  what: "opening /local/x"; if it
 * takes too long, that is told.
 */
__attribute__((format(printf, 4, 5))) int job_work(struct stage_job *j,
						   int (*fn)(void *arg),
						   void *arg, const char *fmt,
						   ...);
/* It is not stuck, it only takes long: called by any thread. */
void job_moves(struct stage_job *j);

/* ---- carry.c ---------------------------------------------------------- */

/*
 * Carries the stager's messages until no node has anything left to do, and
 * nothing is under way.  What came in the way, of this node or of another, is
 * in *ret; code 0: nothing.  *ret_stopped: early, as asked.
 */
struct stage_carry {
	struct hpdsl_stager *stager;
	void (*progress)(void *arg); /* on rank 0, now and then */
	void *arg;
	struct stage_failure failure;
	bool stopped;
};
void job_carry(struct stage_job *j, struct stage_carry *c);

/* ---- hello.c ---------------------------------------------------------- */

/* Rank 0: mail of that kind from all ranks, by rank; who is silent is named. */
struct stage_mail **job_gather(struct stage_job *j, int tag);
void job_forget(struct stage_job *j, struct stage_mail **all);
/* The answer of rank 0, whom nobody else watches yet. */
struct stage_mail *job_answer(struct stage_job *j, int tag);
/*
 * Are all there, and alike?  0 or an exit status, which rank 0 has explained.
 * Rank 0 gets all hellos, to be forgotten.
 */
int job_hello(struct stage_job *j, struct stage_mail ***ret_all);
/* The host that sent a hello. */
const char *job_hello_host(const struct stage_mail *hello);

/* ---- nodes.c ---------------------------------------------------------- */

/*
 * Finds the nodes, and compares the ranks.  0, or an exit status: all ranks
 * have the same, and it has been told.
 */
int job_begin(struct stage_job *j);
/* The node that a rank leads; as many as there are: none.  For leaders. */
uint32_t job_node_of(const struct stage_job *j, int rank);
/* "node 2 (nid0042)", or nothing where there is one node. */
struct stage_name {
	char s[STAGE_HOST + 32];
};
struct stage_name stage_node_name(uint32_t node, const char *host);
/* The status of rank 0 is that of all; returns it. */
int job_end(struct stage_job *j, int status);

#endif
