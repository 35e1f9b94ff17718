/* SPDX-License-Identifier: Apache-2.0 */
/*
 * There is one way to write each line, and only that is read: what a proof is
 * over are the numbers, not their text, so two texts must not be one number.
 */
#include "peers/wire.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/sha256.h"

#include <inttypes.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

enum { ASK_BYTES = 76, ANSWER_BYTES = 94, ROLE_ASK = 1, ROLE_ANSWER = 2 };

/* ---- Proof ------------------------------------------------------------ */

static void put_ask(const struct hp_book_head *b, const struct hp_ask *a,
		    uint8_t role, uint8_t *p)
{
	p[0] = role;
	p[1] = (uint8_t)a->method;
	p[2] = (uint8_t)a->kind;
	p[3] = a->adopt;
	memcpy(p + 4, b->id, 16);
	memcpy(p + 20, b->pack, 16);
	hp_put32(p + 36, a->node);
	hp_put32(p + 40, a->chunk);
	hp_put64(p + 44, a->first);
	hp_put64(p + 52, a->last);
	memcpy(p + 60, a->nonce, 16);
}

static bool sign(const struct hp_book_head *b, const uint8_t *p, size_t n,
		 uint8_t ret[HP_MAC])
{
	return hp_hmac_sha256(b->secret, p, n, ret);
}

bool hp_ask_mac(const struct hp_book_head *b, const struct hp_ask *a,
		uint8_t ret[HP_MAC])
{
	uint8_t p[ASK_BYTES];

	put_ask(b, a, ROLE_ASK, p);
	return sign(b, p, sizeof p, ret);
}

bool hp_answer_mac(const struct hp_book_head *b, const struct hp_ask *a,
		   const struct hp_answer *n, uint8_t ret[HP_MAC])
{
	uint8_t p[ANSWER_BYTES];

	put_ask(b, a, ROLE_ANSWER, p);
	hp_put16(p + 76, n->status);
	hp_put64(p + 78, n->length);
	hp_put64(p + 86, n->load);
	return sign(b, p, sizeof p, ret);
}

bool hp_mac_is(const uint8_t a[HP_MAC], const uint8_t b[HP_MAC])
{
	return CRYPTO_memcmp(a, b, HP_MAC) == 0;
}

/* ---- Words and numbers ------------------------------------------------ */

/* Behind what must stand there; NULL: it does not, or s is NULL. */
static const char *behind(const char *s, const char *what)
{
	size_t n = strlen(what);

	return s && strncmp(s, what, n) == 0 ? s + n : NULL;
}

/* Decimal, without a zero in front of it, up to most. */
static const char *number(const char *s, uint64_t most, uint64_t *ret)
{
	uint64_t v = 0;

	if (!s || *s < '0' || *s > '9' ||
	    (*s == '0' && s[1] >= '0' && s[1] <= '9'))
		return NULL;
	for (; *s >= '0' && *s <= '9'; s++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v) ||
		    v > most)
			return NULL;
	*ret = v;
	return s;
}

/* 2 n hexadecimal digits, small ones. */
static const char *digits(const char *s, uint8_t *ret, size_t n)
{
	static const char of[] = "0123456789abcdef";

	if (!s || strnlen(s, 2 * n) < 2 * n || strspn(s, of) < 2 * n ||
	    hp_unhex(s, 2 * n, ret, n) < 0)
		return NULL;
	return s + 2 * n;
}

static bool ends(const char *s)
{
	return s && !*s;
}

/* ---- A request, written ----------------------------------------------- */

static const char *const forms[] = {
	[HP_ASK_PLAIN] = "plain", [HP_ASK_STORED] = "stored"
};
static const char *const wholes[] = {
	[HP_ASK_HAVE] = "/v1/have", [HP_ASK_STATUS] = "/v1/status"
};

static bool is_chunk(const struct hp_ask *a)
{
	return a->kind == HP_ASK_PLAIN || a->kind == HP_ASK_STORED;
}

void hp_ask_path(const struct hp_ask *a, char ret[HP_ASK_PATH])
{
	if (is_chunk(a))
		snprintf(ret, HP_ASK_PATH, "/v1/c/%" PRIu32 "/%s", a->chunk,
			 forms[a->kind]);
	else
		snprintf(ret, HP_ASK_PATH, "%s", wholes[a->kind]);
}

void hp_ask_range(const struct hp_ask *a, char ret[HP_ASK_RANGE])
{
	*ret = '\0';
	if (a->last != HP_ASK_NO_LAST)
		snprintf(ret, HP_ASK_RANGE, "bytes=%" PRIu64 "-%" PRIu64,
			 a->first, a->last);
}

void hp_ask_proof(const struct hp_book_head *b, const struct hp_ask *a,
		  const uint8_t mac[HP_MAC], char ret[HP_ASK_PROOF])
{
	char id[33], nonce[33], hex[2 * HP_MAC + 1];

	hp_hex(b->id, 16, id);
	hp_hex(a->nonce, 16, nonce);
	hp_hex(mac, HP_MAC, hex);
	snprintf(ret, HP_ASK_PROOF, "v1 %s %" PRIu32 " %s %d %s", id, a->node,
		 nonce, a->adopt, hex);
}

/* ---- A request, read -------------------------------------------------- */

static bool get_method(const char *s, struct hp_ask *a)
{
	if (s && strcmp(s, "GET") == 0)
		a->method = HP_ASK_GET;
	else if (s && strcmp(s, "HEAD") == 0)
		a->method = HP_ASK_HEAD;
	return a->method;
}

static bool get_path(const char *s, struct hp_ask *a)
{
	const char *in = behind(s, "/v1/c/");
	uint64_t chunk;

	a->chunk = HP_ASK_NO_CHUNK;
	for (int k = HP_ASK_HAVE; s && k <= HP_ASK_STATUS; k++)
		if (strcmp(s, wholes[k]) == 0)
			a->kind = (enum hp_ask_kind)k;
	in = behind(number(in, HP_ASK_NO_CHUNK - 1, &chunk), "/");
	for (int k = HP_ASK_PLAIN; in && k <= HP_ASK_STORED; k++)
		if (strcmp(in, forms[k]) == 0) {
			a->kind = (enum hp_ask_kind)k;
			a->chunk = (uint32_t)chunk;
		}
	return a->kind;
}

/* Of a chunk there is one, of other things none. */
static bool get_range(const char *s, struct hp_ask *a)
{
	a->last = HP_ASK_NO_LAST;
	if (!is_chunk(a))
		return !s;
	s = behind(number(behind(s, "bytes="), HP_ASK_NO_LAST, &a->first), "-");
	return ends(number(s, HP_ASK_NO_LAST - 1, &a->last)) &&
	       a->first <= a->last && a->last - a->first < HP_ASK_MOST;
}

static bool get_proof(const struct hp_book_head *b, const char *s,
		      struct hp_ask *a, uint8_t mac[HP_MAC])
{
	uint64_t node, adopt;
	uint8_t id[16];

	s = behind(digits(behind(s, "v1 "), id, 16), " ");
	s = behind(number(s, HP_BOOK_NODES - 1, &node), " ");
	s = behind(digits(s, a->nonce, 16), " ");
	s = behind(number(s, 1, &adopt), " ");
	if (!ends(digits(s, mac, HP_MAC)) || node != b->node ||
	    memcmp(id, b->id, 16) != 0)
		return false;
	a->node = (uint32_t)node;
	a->adopt = adopt;
	return true;
}

/* Nobody is told anything who has no proof: all else is looked at after it. */
int hp_asked(const struct hp_book_head *b, const struct hp_asked *what,
	     struct hp_ask *ret)
{
	uint8_t is[HP_MAC], should[HP_MAC];
	struct hp_ask a = { .last = HP_ASK_NO_LAST };
	bool method = get_method(what->method, &a);
	bool path = get_path(what->path, &a);
	bool range = get_range(what->range, &a);

	if (!range) {
		a.first = 0;
		a.last = HP_ASK_NO_LAST;
	}
	if (!get_proof(b, what->proof, &a, is) || !hp_ask_mac(b, &a, should) ||
	    !hp_mac_is(is, should))
		return HP_ASKED_UNPROVEN;
	*ret = a;
	if (!method)
		return HP_ASKED_OTHERS;
	if (!path)
		return HP_ASKED_NOTHING;
	return range ? HP_ASKED_WELL : HP_ASKED_BAD;
}

/* ---- An answer -------------------------------------------------------- */

void hp_answer_proof(const struct hp_ask *a, const struct hp_answer *n,
		     const uint8_t mac[HP_MAC], char ret[HP_ANSWER_PROOF])
{
	char hex[2 * HP_MAC + 1];

	hp_hex(mac, HP_MAC, hex);
	snprintf(ret, HP_ANSWER_PROOF, "v1 %" PRIu32 " %" PRIu64 " %s", a->node,
		 n->load, hex);
}

void hp_answer_tag(const uint8_t pack[16], const uint8_t digest[16],
		   char ret[HP_ANSWER_TAG])
{
	char of[33], hex[33] = "";

	hp_hex(pack, 16, of);
	if (digest)
		hp_hex(digest, 16, hex);
	snprintf(ret, HP_ANSWER_TAG, "\"%s%s%s\"", of, digest ? "-" : "", hex);
}

static bool is_proven(const struct hp_book_head *b, const struct hp_ask *a,
		      const struct hp_answered *what, struct hp_answer *n)
{
	uint8_t is[HP_MAC], should[HP_MAC];
	const char *s = behind(what->proof, "v1 ");
	uint64_t node;

	if (what->status > UINT16_MAX ||
	    !ends(number(what->length, UINT64_MAX, &n->length)))
		return false;
	n->status = (uint16_t)what->status;
	s = behind(number(s, HP_BOOK_NODES - 1, &node), " ");
	s = behind(number(s, UINT64_MAX, &n->load), " ");
	return ends(digits(s, is, HP_MAC)) && node == a->node &&
	       hp_answer_mac(b, a, n, should) && hp_mac_is(is, should);
}

/* The range that was asked for, whole, of a thing of that size. */
static bool is_range(const struct hp_ask *a, const struct hp_expected *e,
		     const char *s)
{
	uint64_t first, last, size;

	s = behind(number(behind(s, "bytes "), UINT64_MAX, &first), "-");
	s = behind(number(s, UINT64_MAX, &last), "/");
	return ends(number(s, UINT64_MAX, &size)) && first == a->first &&
	       last == a->last && size == e->size;
}

static bool is_what_was_asked(const struct hp_book_head *b,
			      const struct hp_ask *a,
			      const struct hp_expected *e,
			      const struct hp_answered *what,
			      const struct hp_answer *n)
{
	char tag[HP_ANSWER_TAG];

	hp_answer_tag(b->pack, e->digest, tag);
	if (what->encoding || !what->tag || strcmp(what->tag, tag) != 0)
		return false;
	if (is_chunk(a))
		return n->status == 206 && is_range(a, e, what->range) &&
		       n->length == a->last - a->first + 1;
	return n->status == 200 && !what->range &&
	       (a->kind == HP_ASK_STATUS || n->length == e->size);
}

enum hp_answer_is hp_answered(const struct hp_book_head *b,
			      const struct hp_ask *a,
			      const struct hp_expected *e,
			      const struct hp_answered *what,
			      struct hp_answer *ret)
{
	struct hp_answer n = { 0 };

	if (!is_proven(b, a, what, &n))
		return HP_ANSWER_UNPROVEN;
	*ret = n;
	if (n.status == 404)
		return HP_ANSWER_ABSENT;
	if (n.status == 503)
		return HP_ANSWER_BUSY;
	return is_what_was_asked(b, a, e, what, &n) ? HP_ANSWER_GOOD :
						      HP_ANSWER_WRONG;
}

/* ---- What a node has -------------------------------------------------- */

uint64_t hp_have_size(uint32_t chunks)
{
	return ((uint64_t)chunks + 3) / 4;
}

enum hp_have hp_have_get(const uint8_t *p, uint32_t chunk)
{
	return (enum hp_have)(p[chunk / 4] >> chunk % 4 * 2 & 3);
}

void hp_have_set(uint8_t *p, uint32_t chunk, enum hp_have h)
{
	const unsigned shift = chunk % 4 * 2;

	p[chunk / 4] = (uint8_t)((p[chunk / 4] & ~(3U << shift)) |
				 (unsigned)h << shift);
}

bool hp_have_is_whole(const uint8_t *p, uint32_t chunks)
{
	return chunks % 4 == 0 || !(p[chunks / 4] >> chunks % 4 * 2);
}
