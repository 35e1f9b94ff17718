/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What nodes of a job say to each other, in HTTP/1.1, over memory: the lines of
 * a request and of its answer, and the proof in both that somebody knows the
 * book's secret and means this request.  No connection, no clock.
 * hpdsl-format(5), "WIRE OF A JOB'S NODES".
 */
#ifndef HP_PEERS_WIRE_H
#define HP_PEERS_WIRE_H

#include "peers/book.h"

#include <stdbool.h>

#define HP_WIRE_HEADER "HPDSL" /* the name of the header field */

enum {
	HP_ASK_MOST = 4 << 20, /* bytes of a range */
	HP_ASK_PATH = 32,      /* of its text, with the NUL */
	HP_ASK_RANGE = 56,
	HP_ASK_PROOF = 160,
	HP_ANSWER_PROOF = 112,
	HP_ANSWER_TAG = 72,
	HP_MAC = 32,
};

enum hp_ask_method { HP_ASK_GET = 1, HP_ASK_HEAD = 2 };

enum hp_ask_kind {
	HP_ASK_PLAIN = 1,  /* of a chunk's plain tar */
	HP_ASK_STORED = 2, /* of a compressed chunk, as it is stored */
	HP_ASK_HAVE = 3,
	HP_ASK_STATUS = 4,
};

/* No chunk and no range: of what is asked for as a whole. */
#define HP_ASK_NO_CHUNK UINT32_MAX
#define HP_ASK_NO_LAST UINT64_MAX

struct hp_ask {
	enum hp_ask_method method;
	enum hp_ask_kind kind;
	bool adopt;    /* fetch it, if it is not there */
	uint32_t node; /* who is asked */
	uint32_t chunk;
	uint64_t first, last; /* bytes, both inclusive; 0 and HP_ASK_NO_LAST */
	uint8_t nonce[16];    /* drawn for this request alone */
};

struct hp_answer {
	uint16_t status;
	uint64_t length; /* of the body */
	uint64_t load;	 /* bytes that the server still owes, to all */
};

/* ---- Proof ------------------------------------------------------------ */

/* HMAC-SHA256 under the book's secret.  False: no memory. */
bool hp_ask_mac(const struct hp_book_head *b, const struct hp_ask *a,
		uint8_t ret[HP_MAC]);
bool hp_answer_mac(const struct hp_book_head *b, const struct hp_ask *a,
		   const struct hp_answer *n, uint8_t ret[HP_MAC]);
/* In the same time, whatever they are. */
bool hp_mac_is(const uint8_t a[HP_MAC], const uint8_t b[HP_MAC]);

/* ---- A request -------------------------------------------------------- */

/* The path; the Range field's value, "" without a range; the proof's. */
void hp_ask_path(const struct hp_ask *a, char ret[HP_ASK_PATH]);
void hp_ask_range(const struct hp_ask *a, char ret[HP_ASK_RANGE]);
void hp_ask_proof(const struct hp_book_head *b, const struct hp_ask *a,
		  const uint8_t mac[HP_MAC], char ret[HP_ASK_PROOF]);

/* What a server has read; a field that is not there is NULL. */
struct hp_asked {
	const char *method, *path, *range, *proof;
};

/* What is said to a request; other than 0 is an HTTP status. */
enum {
	HP_ASKED_WELL = 0,
	HP_ASKED_UNPROVEN = 403,
	HP_ASKED_NOTHING = 404, /* no such path */
	HP_ASKED_OTHERS = 405,	/* no such method */
	HP_ASKED_BAD = 416,	/* no such range */
};

/*
 * Reads a request and checks its proof.  What is said before the proof is right
 * is 403, whatever else is wrong.  Whether there is such a chunk, and so many
 * bytes in it, is still to be looked at.  *ret is set unless it is 403: the
 * answer's proof needs it, whatever is said; what could not be read is 0 in it.
 */
int hp_asked(const struct hp_book_head *b, const struct hp_asked *what,
	     struct hp_ask *ret);

/* ---- An answer -------------------------------------------------------- */

/* The proof's field. */
void hp_answer_proof(const struct hp_ask *a, const struct hp_answer *n,
		     const uint8_t mac[HP_MAC], char ret[HP_ANSWER_PROOF]);
/* The ETag's: of a chunk by the digest of this form, NULL of other things. */
void hp_answer_tag(const uint8_t pack[16], const uint8_t digest[16],
		   char ret[HP_ANSWER_TAG]);

/* What a client has read; a field that is not there is NULL. */
struct hp_answered {
	unsigned status;
	const char *length, *range, *tag, *proof;
	const char *encoding; /* Content-Encoding */
};

enum hp_answer_is {
	HP_ANSWER_GOOD, /* what was asked for comes */
	HP_ANSWER_ABSENT,
	HP_ANSWER_BUSY,
	HP_ANSWER_UNPROVEN, /* not by who was asked, or not to this */
	HP_ANSWER_WRONG,    /* by him, but not what was asked for */
};

/* What the client knows of what it asked for. */
struct hp_expected {
	uint64_t size;	       /* of the whole, in this form */
	const uint8_t *digest; /* the same; NULL: of no chunk */
};

/*
 * Before a byte of the body is taken.  *ret is set unless it is unproven.
 */
enum hp_answer_is hp_answered(const struct hp_book_head *b,
			      const struct hp_ask *a,
			      const struct hp_expected *e,
			      const struct hp_answered *what,
			      struct hp_answer *ret);

/* ---- What a node has -------------------------------------------------- */

/* Two bits a chunk. */
enum hp_have {
	HP_HAVE_NOT = 0,
	HP_HAVE_COMING = 1,
	HP_HAVE_STORED = 2,
	HP_HAVE_PLAIN = 3,
};

uint64_t hp_have_size(uint32_t chunks); /* bytes */
enum hp_have hp_have_get(const uint8_t *p, uint32_t chunk);
void hp_have_set(uint8_t *p, uint32_t chunk, enum hp_have h);
/* Are the bits behind the last chunk zero? */
bool hp_have_is_whole(const uint8_t *p, uint32_t chunks);

#endif
