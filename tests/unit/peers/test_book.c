/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The book of a job's nodes over memory: what is written is read, byte for byte
 * as hpdsl-format(5) has it; whatever byte is changed, and wherever it is cut,
 * it is refused.
 */
#include "base/bytes.h"
#include "base/hash.h"
#include "peers/book.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- One of three nodes ----------------------------------------------- */

static const struct hp_book_head head = {
	.id = "book............",
	.pack = "pack............",
	.secret = "secret..........................",
	.made = -2,
	.rate = 0x0102030405060708,
	.nodes = 3,
	.node = 1,
	.parts = 2,
	.port = 23456,
	.job = "Slurm job 4711",
};

static struct hp_book_node nodes[3] = {
	{ "nid7", 5, 2, { { { 0 }, 10000 }, { { 0xfd, [15] = 9 }, 0 } } },
	{ "nid8.cluster", 0, 0, { { { 0 }, 0 } } },
	{ "x", 5, 1, { { { 0 }, 100 } } },
};

static uint8_t *book;
static uint64_t size;

static int make(void **state)
{
	(void)state;
	hp_book_ipv4((const uint8_t[]){ 10, 1, 2, 3 }, nodes[0].address[0].ip);
	hp_book_ipv4((const uint8_t[]){ 10, 1, 2, 4 }, nodes[2].address[0].ip);
	size = hp_book_size(&head, nodes);
	book = malloc(size);
	assert_non_null(book);
	memset(book, 0xaa, size);
	hp_book_format(&head, nodes, book);
	return 0;
}

static int forget(void **state)
{
	(void)state;
	free(book);
	return 0;
}

/* Of the very size, so that a byte beyond it is seen. */
static int parse_copy(const uint8_t *p, uint64_t n, char *ret_text)
{
	uint8_t *copy = malloc(n + !n);
	struct hpdsl_error err = { 0 };
	struct hp_book b;
	int r;

	assert_non_null(copy);
	memcpy(copy, p, n);
	r = hp_book_parse(copy, n, "it", &b, &err);
	if (ret_text)
		snprintf(ret_text, sizeof err.msg, "%s", err.msg);
	free(copy);
	return r;
}

static void sign(uint8_t *p, uint64_t n)
{
	hp_put64(p + n - 8, hp_hash64(p, n - 8));
}

/* ---- What it says ----------------------------------------------------- */

static void what_is_written_is_read(void **state)
{
	static const uint8_t other[16] = { 1 };
	struct hpdsl_error err;
	struct hp_book b;

	(void)state;
	assert_int_equal(hp_book_parse(book, size, "it", &b, &err), 0);
	assert_memory_equal(b.head.id, head.id, 16);
	assert_memory_equal(b.head.pack, head.pack, 16);
	assert_memory_equal(b.head.secret, head.secret, HP_BOOK_SECRET);
	assert_true(b.head.made == -2 && b.head.rate == head.rate);
	assert_true(b.head.nodes == 3 && b.head.node == 1);
	assert_true(b.head.parts == 2 && b.head.port == 23456);
	assert_string_equal(b.head.job, "Slurm job 4711");
	for (uint32_t i = 0; i < 3; i++) {
		assert_string_equal(hp_book_host(&b, i), nodes[i].host);
		assert_int_equal(hp_book_rack(&b, i), nodes[i].rack);
		assert_int_equal(hp_book_addresses(&b, i), nodes[i].addresses);
		for (uint32_t k = 0; k < nodes[i].addresses; k++) {
			struct hp_book_address a = hp_book_address(&b, i, k);

			assert_memory_equal(a.ip, nodes[i].address[k].ip, 16);
			assert_int_equal(a.mbits, nodes[i].address[k].mbits);
			assert_int_equal(hp_book_find(&b, a.ip), i);
		}
	}
	assert_true(hp_book_find(&b, other) == UINT32_MAX);
}

/* The places of hpdsl-format(5), by hand. */
static void it_is_as_the_page_has_it(void **state)
{
	static const uint8_t ipv4[16] = { [10] = 0xff, 0xff, 10, 1, 2, 3 };

	(void)state;
	assert_int_equal(size, 256 + 3 * 16 + 3 * 24 + 20 + 8);
	assert_memory_equal(book, "\x89HPDSLB\n\1\0\0\0\0\0\0\0", 16);
	assert_memory_equal(book + 16, "book............", 16);
	assert_memory_equal(book + 32, "pack............", 16);
	assert_memory_equal(book + 48, head.secret, 32);
	assert_true(hp_get64(book + 80) == size);
	assert_true(hp_get64(book + 88) == (uint64_t)-2);
	assert_memory_equal(book + 96, "\10\7\6\5\4\3\2\1", 8);
	assert_memory_equal(book + 104, "\3\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0", 16);
	assert_memory_equal(book + 120, "\24\0\0\0\xa0\x5b\0\0", 8);
	assert_memory_equal(book + 128, "Slurm job 4711\0\0", 16);
	/* the last node's row: where its host begins, and its address's row */
	assert_memory_equal(book + 288, "\22\0\0\0\2\0\0\0\1\0\0\0\5\0\0\0",
			    16);
	assert_memory_equal(book + 304, ipv4, 16);
	assert_memory_equal(book + 320, "\x10\x27\0\0\0\0\0\0", 8);
	assert_memory_equal(book + 376, "nid7\0nid8.cluster\0x", 20);
	assert_true(hp_get64(book + 396) == hp_hash64(book, 396));
}

/* ---- What is refused -------------------------------------------------- */

static void a_changed_byte_is_seen(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < size; i++)
		for (int bit = 0; bit < 8; bit++) {
			book[i] ^= (uint8_t)(1 << bit);
			assert_true(parse_copy(book, size, NULL) < 0);
			book[i] ^= (uint8_t)(1 << bit);
		}
	for (uint64_t n = 0; n < size; n++)
		assert_true(parse_copy(book, n, NULL) < 0);
	assert_int_equal(parse_copy(book, size, NULL), 0);
}

/* With its checksum put right: then what it says has to make sense. */
static void refused(uint64_t at, uint32_t value, unsigned bytes, int code,
		    const char *text)
{
	uint8_t was[4];
	char said[1024];

	memcpy(was, book + at, bytes);
	if (bytes == 4)
		hp_put32(book + at, value);
	else if (bytes == 2)
		hp_put16(book + at, (uint16_t)value);
	else
		book[at] = (uint8_t)value;
	sign(book, size);
	assert_int_equal(parse_copy(book, size, said), code);
	if (!strstr(said, text))
		fail_msg("'%s' has no '%s'", said, text);
	memcpy(book + at, was, bytes);
	sign(book, size);
	assert_int_equal(parse_copy(book, size, NULL), 0);
}

static void nonsense_is_refused(void **state)
{
	const int bad = HPDSL_ECORRUPT;

	(void)state;
	refused(0, 0, 1, HPDSL_ENOTOURS, "not the book");
	refused(8, 0, 4, bad, "damaged");
	refused(8, 2, 4, HPDSL_ETOONEW, "version 2");
	refused(12, 1, 4, HPDSL_ETOONEW, "newer version");
	refused(80, 1, 4, bad, "its size");
	refused(104, 0, 4, bad, "make no sense");
	refused(104, HP_BOOK_NODES + 1, 4, bad, "make no sense");
	refused(104, 4, 4, bad, "its size");
	refused(108, 3, 4, bad, "make no sense");
	refused(112, 0, 4, bad, "make no sense");
	refused(116, 4, 4, bad, "its size");
	refused(116, UINT32_MAX, 4, bad, "its size");
	refused(120, UINT32_MAX, 4, bad, "its size");
	refused(124, 0, 2, bad, "make no sense");
	refused(124, 65521, 2, bad, "make no sense");
	refused(126, 1, 2, bad, "not zero");
	refused(128 + 127, 'x', 1, bad, "does not end");
	refused(324, 1, 4, bad, "not zero"); /* behind an address */
}

static void rows_follow_each_other(void **state)
{
	const int bad = HPDSL_ECORRUPT;

	(void)state;
	for (uint64_t at = 256; at < 304; at += 16) {
		refused(at, 1, 4, bad, "follow");
		refused(at + 4, 9, 4, bad, "follow");
		refused(at + 8, 9, 4, bad, "follow");
		refused(at + 8, UINT32_MAX, 4, bad, "follow");
	}
	/* a host without an end, an empty one, two in one */
	refused(size - 9, 'x', 1, bad, "follow");
	refused(376, 0, 1, bad, "follow");
	refused(376 + 4, 'x', 1, bad, "follow");
	refused(376 + 7, 0, 1, bad, "follow");
}

/* ---- What is too much ------------------------------------------------- */

static void limits_are_kept(void **state)
{
	char host[HP_BOOK_HOST + 1];
	struct hp_book_head h = head;
	struct hp_book_node n = { .host = host };

	(void)state;
	h.nodes = 1;
	assert_int_equal(hp_book_size(&h, &n), 0); /* node 1 of 1 */
	h.node = 0;
	memset(host, 'h', sizeof host);
	host[HP_BOOK_HOST - 1] = '\0';
	assert_int_equal(hp_book_size(&h, &n), 256 + 16 + 256 + 8);
	memset(host, 'h', sizeof host);
	host[HP_BOOK_HOST] = '\0';
	assert_int_equal(hp_book_size(&h, &n), 0);
	host[0] = '\0';
	assert_int_equal(hp_book_size(&h, &n), 0);
	n.host = "a";
	n.addresses = HP_BOOK_ADDRESSES;
	assert_int_equal(hp_book_size(&h, &n), 256 + 16 + 8 * 24 + 2 + 8);
	n.addresses++;
	assert_int_equal(hp_book_size(&h, &n), 0);
	h.nodes = 0;
	assert_int_equal(hp_book_size(&h, &n), 0);
	h.nodes = HP_BOOK_NODES + 1;
	assert_int_equal(hp_book_size(&h, &n), 0);
}

/* As many nodes as a machine has ever had: about 100 bytes a node. */
static void ten_thousand_nodes(void **state)
{
	enum { MANY = 10000 };
	struct hp_book_node *all = calloc(MANY, sizeof *all);
	char(*host)[16] = calloc(MANY, sizeof *host);
	struct hp_book_head h = head;
	struct hpdsl_error err;
	struct hp_book b;
	uint8_t *p;
	uint64_t n;

	(void)state;
	assert_true(all && host);
	h.nodes = MANY;
	h.node = MANY - 1;
	for (uint32_t i = 0; i < MANY; i++) {
		snprintf(host[i], sizeof host[i], "nid%06u", i);
		all[i].host = host[i];
		all[i].rack = i / 64 + 1;
		all[i].addresses = 2;
		hp_put32(all[i].address[0].ip, i + 1);
		hp_put32(all[i].address[1].ip, i + 1 + MANY);
	}
	n = hp_book_size(&h, all);
	assert_true(n < 100 * MANY);
	p = malloc(n);
	assert_non_null(p);
	hp_book_format(&h, all, p);
	assert_int_equal(hp_book_parse(p, n, "it", &b, &err), 0);
	assert_string_equal(hp_book_host(&b, MANY - 1), "nid009999");
	assert_int_equal(hp_book_find(&b, all[777].address[1].ip), 777);
	assert_true(hp_book_same_nodes(&b, &b));
	free(p);
	free(host);
	free(all);
}

/* ---- A secret may be kept --------------------------------------------- */

static bool is_same(const struct hp_book_head *h, const struct hp_book_node *n)
{
	uint64_t bytes = hp_book_size(h, n);
	uint8_t *p = malloc(bytes);
	struct hpdsl_error err;
	struct hp_book a, b;
	bool ret;

	assert_non_null(p);
	hp_book_format(h, n, p);
	assert_int_equal(hp_book_parse(book, size, "it", &a, &err), 0);
	assert_int_equal(hp_book_parse(p, bytes, "other", &b, &err), 0);
	ret = hp_book_same_nodes(&a, &b);
	assert_int_equal(hp_book_same_nodes(&b, &a), ret);
	free(p);
	return ret;
}

static void other_nodes_are_told(void **state)
{
	struct hp_book_head h = head;
	struct hp_book_node n[3];

	(void)state;
	memcpy(n, nodes, sizeof n);
	/* another pack, secret, node, parts: the same nodes */
	memset(&h, 7, 64);
	h.node = 2;
	h.parts = 9;
	h.rate = 0;
	n[0].rack = 0;
	n[0].address[0].mbits = 1;
	assert_true(is_same(&h, n));
	h.nodes = 2;
	h.node = 0;
	assert_false(is_same(&h, n));
	h.nodes = 3;
	n[2].host = "y";
	assert_false(is_same(&h, n));
	n[2].host = "x";
	n[2].address[0].ip[15]++;
	assert_false(is_same(&h, n));
	n[2].address[0].ip[15]--;
	/* as many addresses, but another's */
	n[1].addresses = 1;
	n[2].addresses = 0;
	assert_false(is_same(&h, n));
}

static void ports_are_below_the_systems(void **state)
{
	uint8_t secret[HP_BOOK_SECRET] = { 0 };
	unsigned different = 0;
	uint16_t last = 0;

	(void)state;
	/* xxhsum -H3 of 32 zeros: a057271c9071c99d */
	assert_int_equal(hp_book_port(secret), 28669);
	for (int i = 0; i < 256; i++) {
		uint16_t port;

		secret[0] = (uint8_t)i;
		port = hp_book_port(secret);
		assert_true(port >= 20000 && port < 32000);
		different += port != last;
		last = port;
	}
	assert_true(different > 250);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(it_is_as_the_page_has_it),
		cmocka_unit_test(a_changed_byte_is_seen),
		cmocka_unit_test(nonsense_is_refused),
		cmocka_unit_test(rows_follow_each_other),
		cmocka_unit_test(limits_are_kept),
		cmocka_unit_test(ten_thousand_nodes),
		cmocka_unit_test(other_nodes_are_told),
		cmocka_unit_test(ports_are_below_the_systems),
	};

	return cmocka_run_group_tests(tests, make, forget);
}
