/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of hosts: a line a node, its name and maybe its addresses.  What
 * launchers write is one, with a line for each slot.
 */
#include "peers/hosts.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { WORD = 80 };

struct list {
	const char *name; /* for messages */
	unsigned line;
	struct hpdsl_peer_node *node;
	uint32_t n;
	uint32_t *slot; /* of names that are there: number plus 1 */
	uint32_t slots; /* a power of two */
};

static int bad(const struct list *l, const char *why, struct hpdsl_error *err)
{
	return hp_fail(err, HPDSL_EUSAGE, "%.600s, line %u: %s", l->name,
		       l->line, why);
}

/* ---- Words ------------------------------------------------------------ */

/* IPv6 may stand in brackets. */
static bool parse_address(const char *word, uint8_t ret[16])
{
	char bare[WORD];
	size_t n = strlen(word);
	uint8_t four[4];

	if (inet_pton(AF_INET, word, four) == 1) {
		hp_book_ipv4(four, ret);
		return true;
	}
	if (n > 2 && word[0] == '[' && word[n - 1] == ']') {
		memcpy(bare, word + 1, n - 2);
		bare[n - 2] = '\0';
		word = bare;
	}
	return inet_pton(AF_INET6, word, ret) == 1;
}

static bool add_address(struct hpdsl_peer_node *node, const uint8_t ip[16])
{
	for (uint32_t i = 0; i < node->offers; i++)
		if (memcmp(node->offer[i].ip, ip, 16) == 0)
			return true;
	if (node->offers == HPDSL_PEER_ADDRESSES)
		return false;
	memcpy(node->offer[node->offers++].ip, ip, 16);
	return true;
}

/* A host's name, or an address: what a resolver is to be given. */
static bool is_name(const char *word)
{
	for (const char *p = word; *p; p++)
		if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
		      (*p >= '0' && *p <= '9') || strchr("-._:[]", *p)))
			return false;
	return *word != '-';
}

/* ---- Names that are there --------------------------------------------- */

static uint32_t *slot_of(const struct list *l, const char *host)
{
	uint32_t i = (uint32_t)hp_hash64(host, strlen(host));

	for (;; i++) {
		uint32_t *s = &l->slot[i & (l->slots - 1)];

		if (!*s || strcmp(l->node[*s - 1].host, host) == 0)
			return s;
	}
}

/* The node of that name, made if there is none. */
static int node_of(struct list *l, const char *host,
		   struct hpdsl_peer_node **ret, struct hpdsl_error *err)
{
	uint32_t *s = slot_of(l, host);

	if (!*s) {
		if (l->n == HP_BOOK_NODES)
			return bad(l, "more nodes than a job can have", err);
		memcpy(l->node[l->n].host, host, strlen(host) + 1);
		*s = ++l->n;
	}
	*ret = &l->node[*s - 1];
	return 0;
}

/* ---- Lines ------------------------------------------------------------ */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The next word of p, up to end; its bytes, 0: there is none. */
static size_t next_word(const char **p, const char *end)
{
	size_t n = 0;

	while (*p < end && is_blank(**p))
		(*p)++;
	if (*p < end && **p == '#')
		*p = end;
	while (*p + n < end && !is_blank((*p)[n]) && (*p)[n] != '#')
		n++;
	return n;
}

static int take_word(struct list *l, const char *p, size_t n, char ret[WORD],
		     struct hpdsl_error *err)
{
	if (n >= WORD || memchr(p, '\0', n))
		return bad(l, "no name and no address", err);
	memcpy(ret, p, n);
	ret[n] = '\0';
	return 0;
}

static int take_line(struct list *l, const char *p, const char *end,
		     struct hpdsl_error *err)
{
	struct hpdsl_peer_node *node = NULL;
	char word[WORD];
	uint8_t ip[16];
	size_t n;
	int r;

	for (; (n = next_word(&p, end)); p += n) {
		r = take_word(l, p, n, word, err);
		if (r < 0)
			return r;
		if (!node) {
			if (n >= HPDSL_PEER_HOST || !is_name(word))
				return bad(l, "no host's name", err);
			r = node_of(l, word, &node, err);
			if (r < 0)
				return r;
			if (parse_address(word, ip))
				add_address(node, ip);
			continue;
		}
		if (!parse_address(word, ip))
			return bad(l,
				   "behind a name there are addresses, in "
				   "digits",
				   err);
		if (!add_address(node, ip))
			return bad(l, "more addresses than a node can have",
				   err);
	}
	return 0;
}

static int take_lines(struct list *l, const char *text, size_t size,
		      struct hpdsl_error *err)
{
	const char *p = text, *end = text + size;
	int r = 0;

	while (p < end && r == 0) {
		const char *stop = memchr(p, '\n', (size_t)(end - p));

		stop = stop ? stop : end;
		l->line++;
		r = take_line(l, p, stop, err);
		p = stop + (stop < end);
	}
	return r;
}

static uint32_t count_lines(const char *text, size_t size)
{
	size_t n = 1;

	for (size_t i = 0; i < size; i++)
		n += text[i] == '\n';
	return n < HP_BOOK_NODES ? (uint32_t)n : HP_BOOK_NODES;
}

int hpdsl_peer_hosts(const char *text, size_t size, const char *name,
		     struct hpdsl_peer_node **ret, uint32_t *ret_n,
		     struct hpdsl_error *err)
{
	const uint32_t most = count_lines(text, size);
	struct list l = { .name = name, .slots = 1 };
	int r;

	while (l.slots < 2 * most)
		l.slots *= 2;
	l.node = calloc(most, sizeof *l.node);
	l.slot = calloc(l.slots, sizeof *l.slot);
	r = l.node && l.slot ? take_lines(&l, text, size, err) :
			       hp_fail_nomem(err);
	free(l.slot);
	if (r == 0 && !l.n)
		r = hp_fail(err, HPDSL_EUSAGE, "%.600s: names no host", name);
	if (r < 0) {
		free(l.node);
		return r;
	}
	*ret = l.node;
	*ret_n = l.n;
	return 0;
}

/* ---- Which one is this one? ------------------------------------------- */

/* One may have the domain, and the other not. */
static bool same_host(const char *a, const char *b)
{
	size_t n = strcspn(a, "."), m = strcspn(b, ".");

	return (!a[n] || !b[m] || strcmp(a + n, b + m) == 0) && n == m &&
	       strncasecmp(a, b, n) == 0;
}

static bool has_one_of(const struct hpdsl_peer_node *node,
		       const struct hpdsl_peer_node *own)
{
	for (uint32_t i = 0; i < node->offers; i++)
		for (uint32_t k = 0; k < own->offers; k++)
			if (memcmp(node->offer[i].ip, own->offer[k].ip, 16) ==
			    0)
				return true;
	return false;
}

uint32_t hpdsl_peer_hosts_own(const struct hpdsl_peer_node *nodes, uint32_t n,
			      const struct hpdsl_peer_node *own)
{
	uint32_t by_name = UINT32_MAX, by_address = UINT32_MAX;
	uint32_t names = 0, addresses = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (same_host(nodes[i].host, own->host)) {
			by_name = i;
			names++;
		}
		if (has_one_of(&nodes[i], own)) {
			by_address = i;
			addresses++;
		}
	}
	/* Names are what was listed; addresses may be of an image's. */
	if (names == 1)
		return by_name;
	return !names && addresses == 1 ? by_address : UINT32_MAX;
}
