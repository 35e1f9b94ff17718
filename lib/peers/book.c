/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The book over memory.  A header, a row for each node, one for each address,
 * and the nodes' names, each where the one before it ends: there is one way to
 * write a book, and nothing in it that is not looked at.
 */
#include "peers/book.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

/* Where the fields are. */
enum {
	AT_VERSION = 8,
	AT_FLAGS = 12,
	AT_ID = 16,
	AT_PACK = 32,
	AT_SECRET = 48,
	AT_SIZE = 80,
	AT_MADE = 88,
	AT_RATE = 96,
	AT_NODES = 104,
	AT_NODE = 108,
	AT_PARTS = 112,
	AT_ADDRESSES = 116,
	AT_HOSTS = 120,
	AT_PORT = 124,
	AT_JOB = 128,
	NODE_ROW = 16,
	ADDRESS_ROW = 24,
	CHECKSUM = 8,
};

/* The least port, how many there are, and the last one that is any. */
enum { PORT = 20000, PORTS = 12000, PORT_LAST = 65536 - HP_BOOK_PORTS };

/* What a book has room for: the sums of its nodes. */
struct layout {
	uint32_t nodes, addresses, hosts;
};

static uint64_t addresses_at(const struct layout *l)
{
	return HP_BOOK_FIXED + (uint64_t)l->nodes * NODE_ROW;
}

static uint64_t hosts_at(const struct layout *l)
{
	return addresses_at(l) + (uint64_t)l->addresses * ADDRESS_ROW;
}

static uint64_t size_of(const struct layout *l)
{
	return hosts_at(l) + l->hosts + CHECKSUM;
}

/* ---- Written ---------------------------------------------------------- */

static bool is_sound(const struct hp_book_head *h)
{
	return h->nodes && h->nodes <= HP_BOOK_NODES && h->node < h->nodes &&
	       h->parts && h->port && h->port <= PORT_LAST;
}

static bool lay_out(const struct hp_book_head *h,
		    const struct hp_book_node *nodes, struct layout *ret)
{
	*ret = (struct layout){ .nodes = h->nodes };
	if (!is_sound(h))
		return false;
	for (uint32_t i = 0; i < h->nodes; i++) {
		size_t n = strlen(nodes[i].host);

		if (!n || n >= HP_BOOK_HOST ||
		    nodes[i].addresses > HP_BOOK_ADDRESSES)
			return false;
		ret->addresses += nodes[i].addresses;
		ret->hosts += (uint32_t)n + 1;
	}
	return true;
}

uint64_t hp_book_size(const struct hp_book_head *h,
		      const struct hp_book_node *nodes)
{
	struct layout l;

	return lay_out(h, nodes, &l) ? size_of(&l) : 0;
}

static void put_head(const struct hp_book_head *h, const struct layout *l,
		     uint8_t *b)
{
	memcpy(b, HP_BOOK_MAGIC, 8);
	hp_put32(b + AT_VERSION, HP_BOOK_VERSION);
	memcpy(b + AT_ID, h->id, 16);
	memcpy(b + AT_PACK, h->pack, 16);
	memcpy(b + AT_SECRET, h->secret, HP_BOOK_SECRET);
	hp_put64(b + AT_SIZE, size_of(l));
	hp_put64(b + AT_MADE, (uint64_t)h->made);
	hp_put64(b + AT_RATE, h->rate);
	hp_put32(b + AT_NODES, h->nodes);
	hp_put32(b + AT_NODE, h->node);
	hp_put32(b + AT_PARTS, h->parts);
	hp_put32(b + AT_ADDRESSES, l->addresses);
	hp_put32(b + AT_HOSTS, l->hosts);
	hp_put16(b + AT_PORT, h->port);
	memcpy(b + AT_JOB, h->job, strnlen(h->job, HP_BOOK_TEXT - 1));
}

static void put_node(const struct hp_book_node *n, uint8_t *row,
		     uint8_t *address, uint32_t address_row, uint8_t *host,
		     uint32_t host_place)
{
	hp_put32(row, host_place);
	hp_put32(row + 4, address_row);
	hp_put32(row + 8, n->addresses);
	hp_put32(row + 12, n->rack);
	for (uint32_t i = 0; i < n->addresses; i++, address += ADDRESS_ROW) {
		memcpy(address, n->address[i].ip, 16);
		hp_put32(address + 16, n->address[i].mbits);
	}
	memcpy(host, n->host, strlen(n->host));
}

void hp_book_format(const struct hp_book_head *h,
		    const struct hp_book_node *nodes, void *p)
{
	uint32_t address = 0, host = 0;
	struct layout l;
	uint8_t *b = p;

	lay_out(h, nodes, &l);
	memset(b, 0, size_of(&l));
	put_head(h, &l, b);
	for (uint32_t i = 0; i < h->nodes; i++) {
		put_node(&nodes[i], b + HP_BOOK_FIXED + (size_t)i * NODE_ROW,
			 b + addresses_at(&l) + (size_t)address * ADDRESS_ROW,
			 address, b + hosts_at(&l) + host, host);
		address += nodes[i].addresses;
		host += (uint32_t)strlen(nodes[i].host) + 1;
	}
	hp_put64(b + size_of(&l) - CHECKSUM,
		 hp_hash64(b, size_of(&l) - CHECKSUM));
}

/* ---- Read ------------------------------------------------------------- */

static const uint8_t *row_of(const struct hp_book *b, uint32_t node)
{
	return b->p + HP_BOOK_FIXED + (size_t)node * NODE_ROW;
}

static struct layout layout_of(const struct hp_book *b)
{
	return (struct layout){ .nodes = b->head.nodes,
				.addresses = b->addresses };
}

/* A text with nothing but NULs behind it, and one at least. */
static bool get_job(const uint8_t *b, char ret[HP_BOOK_TEXT])
{
	size_t n = strnlen((const char *)b + AT_JOB, HP_BOOK_TEXT);

	memcpy(ret, b + AT_JOB, HP_BOOK_TEXT);
	for (size_t i = n; i < HP_BOOK_TEXT; i++)
		if (ret[i])
			return false;
	return n < HP_BOOK_TEXT;
}

static void get_head(const uint8_t *b, struct hp_book_head *h)
{
	memcpy(h->id, b + AT_ID, 16);
	memcpy(h->pack, b + AT_PACK, 16);
	memcpy(h->secret, b + AT_SECRET, HP_BOOK_SECRET);
	h->made = (int64_t)hp_get64(b + AT_MADE);
	h->rate = hp_get64(b + AT_RATE);
	h->nodes = hp_get32(b + AT_NODES);
	h->node = hp_get32(b + AT_NODE);
	h->parts = hp_get32(b + AT_PARTS);
	h->port = hp_get16(b + AT_PORT);
}

/* Each row follows from the one before it, and the last one ends the table. */
static bool rows_follow(const struct hp_book *b, const struct layout *l)
{
	const char *hosts = (const char *)b->p + hosts_at(l);
	uint32_t address = 0, host = 0;

	for (uint32_t i = 0; i < l->nodes; i++) {
		const uint8_t *row = row_of(b, i);
		uint32_t n = hp_get32(row + 8);
		size_t length;

		if (hp_get32(row) != host || hp_get32(row + 4) != address ||
		    n > HP_BOOK_ADDRESSES || n > l->addresses - address)
			return false;
		length = strnlen(hosts + host, l->hosts - host);
		if (!length || length >= HP_BOOK_HOST ||
		    length == l->hosts - host)
			return false;
		address += n;
		host += (uint32_t)length + 1;
	}
	return address == l->addresses && host == l->hosts;
}

static bool addresses_are_whole(const struct hp_book *b, const struct layout *l)
{
	const uint8_t *row = b->p + addresses_at(l);

	for (uint32_t i = 0; i < l->addresses; i++, row += ADDRESS_ROW)
		if (hp_get32(row + 20))
			return false;
	return true;
}

/* What is wrong with it; NULL: nothing. */
static const char *get_all(struct hp_book *b, uint64_t size)
{
	struct hp_book_head *h = &b->head;
	struct layout l;

	get_head(b->p, h);
	b->addresses = hp_get32(b->p + AT_ADDRESSES);
	l = (struct layout){ h->nodes, b->addresses,
			     hp_get32(b->p + AT_HOSTS) };
	if (!is_sound(h))
		return "nodes, parts or port make no sense";
	if (hp_get64(b->p + AT_SIZE) != size || size_of(&l) != size)
		return "its size is not that of its nodes";
	if (hp_get16(b->p + AT_PORT + 2) || !addresses_are_whole(b, &l))
		return "not zero where it has to be";
	if (!get_job(b->p, h->job))
		return "a text does not end";
	return rows_follow(b, &l) ? NULL : "its nodes do not follow each other";
}

static int parse_all(const uint8_t *p, uint64_t size, const char *name,
		     struct hp_book *ret, struct hpdsl_error *err)
{
	struct hp_book b = { .p = p };
	const char *wrong;

	if (hp_get64(p + size - CHECKSUM) != hp_hash64(p, size - CHECKSUM))
		return hp_fail(err, HPDSL_ECORRUPT, "%s: checksum differs",
			       name);
	if (hp_get32(p + AT_FLAGS))
		return hp_fail(err, HPDSL_ETOONEW,
			       "%s: has flags of a newer version", name);
	wrong = get_all(&b, size);
	if (wrong)
		return hp_fail(err, HPDSL_ECORRUPT, "%s: %s", name, wrong);
	*ret = b;
	return 0;
}

int hp_book_parse(const void *p, uint64_t size, const char *name,
		  struct hp_book *ret, struct hpdsl_error *err)
{
	const uint8_t *b = p;

	if (size < 8 || memcmp(b, HP_BOOK_MAGIC, 8) != 0)
		return hp_fail(err, HPDSL_ENOTOURS,
			       "%s: not the book of a job's nodes", name);
	if (size < AT_FLAGS || hp_get32(b + AT_VERSION) == 0)
		return hp_fail(err, HPDSL_ECORRUPT, "%s: damaged", name);
	if (hp_get32(b + AT_VERSION) > HP_BOOK_VERSION)
		return hp_fail(err, HPDSL_ETOONEW,
			       "%s: version %" PRIu32
			       " is newer than this program",
			       name, hp_get32(b + AT_VERSION));
	if (size < HP_BOOK_FIXED + CHECKSUM)
		return hp_fail(err, HPDSL_ECORRUPT, "%s: cut short", name);
	return parse_all(b, size, name, ret, err);
}

/* ---- Asked ------------------------------------------------------------ */

const char *hp_book_host(const struct hp_book *b, uint32_t node)
{
	const struct layout l = layout_of(b);

	return (const char *)b->p + hosts_at(&l) + hp_get32(row_of(b, node));
}

uint32_t hp_book_rack(const struct hp_book *b, uint32_t node)
{
	return hp_get32(row_of(b, node) + 12);
}

uint32_t hp_book_addresses(const struct hp_book *b, uint32_t node)
{
	return hp_get32(row_of(b, node) + 8);
}

static struct hp_book_address address_of(const struct hp_book *b, uint32_t row)
{
	const struct layout l = layout_of(b);
	const uint8_t *p = b->p + addresses_at(&l) + (size_t)row * ADDRESS_ROW;
	struct hp_book_address ret = { .mbits = hp_get32(p + 16) };

	memcpy(ret.ip, p, 16);
	return ret;
}

struct hp_book_address hp_book_address(const struct hp_book *b, uint32_t node,
				       uint32_t i)
{
	return address_of(b, hp_get32(row_of(b, node) + 4) + i);
}

uint32_t hp_book_find(const struct hp_book *b, const uint8_t ip[16])
{
	for (uint32_t i = 0; i < b->head.nodes; i++)
		for (uint32_t k = 0; k < hp_book_addresses(b, i); k++) {
			const struct hp_book_address a =
				hp_book_address(b, i, k);

			if (memcmp(a.ip, ip, 16) == 0)
				return i;
		}
	return UINT32_MAX;
}

bool hp_book_same_nodes(const struct hp_book *a, const struct hp_book *b)
{
	if (a->head.nodes != b->head.nodes || a->addresses != b->addresses)
		return false;
	for (uint32_t i = 0; i < a->head.nodes; i++)
		if (strcmp(hp_book_host(a, i), hp_book_host(b, i)) != 0 ||
		    hp_book_addresses(a, i) != hp_book_addresses(b, i))
			return false;
	for (uint32_t i = 0; i < a->addresses; i++) {
		const struct hp_book_address x = address_of(a, i);
		const struct hp_book_address y = address_of(b, i);

		if (memcmp(x.ip, y.ip, 16) != 0)
			return false;
	}
	return true;
}

uint16_t hp_book_port(const uint8_t secret[HP_BOOK_SECRET])
{
	return (uint16_t)(PORT + hp_hash64(secret, HP_BOOK_SECRET) % PORTS);
}

void hp_book_ipv4(const uint8_t four[4], uint8_t ret[16])
{
	memset(ret, 0, 10);
	memset(ret + 10, 0xff, 2);
	memcpy(ret + 12, four, 4);
}
