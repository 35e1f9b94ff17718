/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exchange, as one node sees it: what to read from the origin, what to ask
 * of whom, what to send next, and what to make of each message.  It decides,
 * and moves nothing: events come in, actions come out, and there is no clock,
 * no thread and no file in here.  So one process can play ten thousand nodes.
 *
 * How it goes.  Every node pulls, in the order of use.  It has a few incoming
 * streams; a stream is a chunk asked for from the node that the plan names
 * (hp_spread_from), and brings its own credits: so many segments may be under
 * way to it, and a credit is given back when a segment's buffer is free again.
 * Chunks that this node reads from the origin are streams too, of another kind.
 *
 * Whoever is asked sends as far as it has the chunk itself, from memory if the
 * segment happens to be there, else from its own file, though the chunk is not
 * verified yet.  So no buffer ever waits for another node: what was received is
 * written, which always ends, and is free; what is sent has a buffer waiting
 * for it, which was promised.  All nodes ask in the same order,
 * and the first chunk that is not everywhere has its source, which reads it,
 * and behind it nodes that all have asked for it: it goes on.  Hence there is
 * no deadlock, and memory does not depend on the number of nodes.
 *
 * A chunk keeps its stream, and its place in line, from the request until it is
 * here and verified: so the first chunk that is not everywhere always has a
 * stream on every node that lacks it, retries included.
 *
 * A node whose hash of a chunk does not agree asks again, with the next
 * attempt; who is asked so answers once it has verified its own.  Whom it has
 * sent bytes of the bad one it tells to do the same (HP_MSG_AGAIN).  After
 * HP_ATTEMPTS from there it reads the origin itself, at once if it is told that
 * the chunk will not come (HP_MSG_SORRY), and after as many of those, or at
 * once if it cannot be read, the chunk is given up (HP_ACT_GIVE_UP).  Whoever
 * does so although it was planned to get it from another node is the second to
 * have tried, and those behind it need not: it tells them to give it up as well
 * (HP_MSG_LOST).  A chunk that is damaged is so read by two nodes, not by all
 * of them one after the other.
 *
 * A stream ends when the receiver has all bytes, or by the sender's SORRY, LOST
 * or AGAIN, which it sends once no segment of the chunk is on its way; a CANCEL
 * is always answered by a SORRY.  So what was promised to a sender is never
 * taken back, and the buffers suffice at every moment.  For the same reason a
 * chunk begins anew only when none of its segments is under way, in or out.
 */
#ifndef HP_EXCHANGE_H
#define HP_EXCHANGE_H

#include "hpdsl/core.h"

enum { HP_ATTEMPTS = 3, HP_MESSAGE_HEADER = 32 };

/* What crosses the wire, before the segment if there is one: 32 bytes. */
enum hp_message_kind {
	HP_MSG_REQUEST = 1, /* of a chunk, with credits; attempt */
	HP_MSG_CREDIT = 2,  /* more of them */
	HP_MSG_DATA = 3,    /* offset, length; in the form */
	HP_MSG_SORRY = 4,   /* it will not come from me, or no more of it */
	HP_MSG_CANCEL = 5,  /* do not send more of it, and say SORRY */
	HP_MSG_AGAIN = 6,   /* it was bad: ask again, with the next attempt */
	HP_MSG_LOST = 7,    /* it cannot be had from anywhere: give it up */
};
struct hp_message {
	uint8_t kind;
	bool plain; /* DATA: the plain tar of a compressed chunk */
	uint16_t credits;
	uint32_t attempt;
	uint64_t chunk;
	uint64_t offset;
	uint32_t length; /* of the segment, behind the header */
};
void hp_message_put(const struct hp_message *m, uint8_t out[HP_MESSAGE_HEADER]);
/* n: bytes of the whole message.  0, or HPDSL_ECORRUPT for what no node of this
 * version sends. */
int hp_message_get(const uint8_t in[HP_MESSAGE_HEADER], size_t n,
		   struct hp_message *ret);

struct hp_exchange;

struct hp_exchange_config {
	uint32_t node;
	uint64_t chunks;
	uint32_t segment;    /* bytes, the same on all nodes */
	uint32_t in_streams; /* from other nodes, at a time; each has
				in_buffers / in_streams credits, so there
				are no more than buffers */
	uint32_t in_buffers; /* segments on their way to this node, at most */
	uint32_t origin_streams; /* chunks being read; one read each at a time.
				    See hp_exchange_read_streams() */
	uint32_t origin_buffers; /* segments being read or written */
	uint32_t out_buffers;	 /* segments on their way from this node */
	/* Segments are passed on as soon as they are here; those that are not
	 * WRITTEN yet go from their buffers.  Without it a segment waits at
	 * every node in the queue to its disk: the last of many nodes then
	 * waits for all of these. */
	bool early;
	/* Chunks to get, in order of use, and from whom: node itself means the
	 * origin.  Borrowed. */
	const uint32_t *want, *from;
	uint32_t n_want;
	/* Of each of these: will another node ask this one for it?  Then, as
	 * long as there are no more than keep of them, a chunk that is verified
	 * and kept in another form than it came in is not CLOSEd before that
	 * node has got it, so that it travels as it is stored.  NULL: no. */
	const bool *asked;
	uint32_t keep;
	/* Nothing is begun more than this many places of want[] ahead of the
	 * first chunk that is not here; 0: no bound. */
	uint32_t ahead;
	/* Bytes of a chunk as stored, or as the plain tar; 0: there is no such
	 * form.  A chunk that is not compressed has the first one only. */
	uint64_t (*bytes)(void *arg, uint64_t chunk, bool plain);
	/* Does this node have it from before, and in which form?  Asked when
	 * another node wants it. */
	bool (*held)(void *arg, uint64_t chunk, bool *ret_plain);
	void *arg;
};

/* -ENOMEM. */
int hp_exchange_new(const struct hp_exchange_config *c,
		    struct hp_exchange **ret, struct hpdsl_error *err);
void hp_exchange_free(struct hp_exchange *x);

/*
 * Messages to a node keep the order of their actions: DATA among themselves,
 * the others among themselves.
 */
enum hp_action_kind {
	HP_ACT_SEND = 1, /* msg to node; DATA: with the segment it describes,
			    of which HP_EV_SENT is to be told */
	HP_ACT_READ,	/* the origin: chunk, offset, length; then HP_EV_READ */
	HP_ACT_BEGIN,	/* chunk: its first bytes are here or about to be read;
			   plain is the form.  Once an attempt, before its
			   segments: empty the file, begin the hash.  It comes
			   before all actions of other kinds: take what there is
			   after a message, then hand its segment on. */
	HP_ACT_FINISH,	/* chunk: all is written; compare, expand, publish; then
			   HP_EV_VERIFIED or HP_EV_DIFFERS */
	HP_ACT_DROP,	/* chunk: given up, because all stops or as another node
			   said so; forget its file.
			   Nothing of it is under way. */
	HP_ACT_CLOSE,	/* chunk, verified: nobody reads it now; what it was
			   received as, if it is kept in another form, will not
			   be read again.  DATA before this is of the form as
			   received, after it as kept. */
	HP_ACT_GIVE_UP, /* chunk: it cannot be had; the node has failed.
			   Forget its file; nothing of it is under way. */
};
struct hp_action {
	enum hp_action_kind kind;
	uint32_t node;	       /* SEND */
	struct hp_message msg; /* SEND; of the others: chunk, attempt, offset,
				  length, plain */
};
/* The next thing to do: 1, or 0 until something happens. */
int hp_exchange_next(struct hp_exchange *x, struct hp_action *ret);
/* The same for HP_ACT_BEGIN only: what has to be done with the first segment of
 * a chunk at hand, before it can be passed on. */
int hp_exchange_next_begin(struct hp_exchange *x, struct hp_action *ret);

/*
 * A message of another node: 1, the segment is to be written (then
 * HP_EV_WRITTEN and HP_EV_FREE); 0, nothing more to do, a segment is thrown
 * away; HPDSL_ECORRUPT, nonsense; -ENOMEM.
 */
int hp_exchange_message(struct hp_exchange *x, uint32_t from,
			const struct hp_message *m);

/*
 * A segment that came or was read is WRITTEN, then FREE.  One that cannot be
 * written, or need not be since all was stopped, is FREE only.
 */
enum hp_event_kind {
	HP_EV_READ, /* from the origin, into memory; it is to be written next */
	HP_EV_READ_FAILED, /* it could not be read, its buffer is free; the
			      chunk begins anew */
	HP_EV_UNREADABLE,  /* the same, and it need not be tried again here:
			      the chunk is given up */
	HP_EV_WRITTEN,	   /* the segment at offset, length: in the file; those
			      of a chunk in their order */
	HP_EV_FREE,	   /* the buffer of a segment received or read */
	HP_EV_SENT,	   /* the buffer of a segment sent */
	HP_EV_VERIFIED,	   /* the chunk is published; plain is how it is kept */
	HP_EV_DIFFERS,	   /* its hash does not agree */
};
void hp_exchange_event(struct hp_exchange *x, enum hp_event_kind kind,
		       uint64_t chunk, uint64_t offset, uint32_t length,
		       bool plain);

/*
 * See hpdsl_stager_stop().  What has got no byte yet is not begun; the rest is
 * finished, but not tried again if it turns out bad; at_once: it is dropped,
 * but for what is being finished.  May be called again.
 */
void hp_exchange_stop(struct hp_exchange *x, bool at_once);

/*
 * From now on no more than n reads of the origin are begun at a time: 1 to
 * origin_streams, which it is in the beginning.  So many chunks are begun, and
 * another one when all of one is read.
 */
void hp_exchange_read_streams(struct hp_exchange *x, uint32_t n);

struct hp_exchange_counts {
	bool idle; /* nothing of want[] is under way or will be begun */
	uint64_t ready, given_up;
	uint64_t received_bytes, sent_bytes, read_bytes;
	uint64_t requests, messages; /* sent; messages: all of them */
	uint64_t refetch_chunks, refetch_bytes; /* begun anew; of those */
	/* Largest ever.  Streams out: of which bytes were sent and more are to
	 * come; others wait. */
	uint32_t in_streams, out_streams, in_buffers, out_buffers;
	uint32_t waiting_requests;
};
void hp_exchange_count(const struct hp_exchange *x,
		       struct hp_exchange_counts *ret);

#endif
