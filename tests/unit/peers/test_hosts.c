/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of hosts, and the id that follows from one. */
#include "peers/hosts.h"

#include "hpdsl/peers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct hpdsl_peer_node *nodes;
static uint32_t n;
static struct hpdsl_error err;

static int parse(const char *text, size_t size)
{
	free(nodes);
	nodes = NULL;
	return hpdsl_peer_hosts(text, size, "list", &nodes, &n, &err);
}

static int parse_text(const char *text)
{
	return parse(text, strlen(text));
}

static void refused(const char *text, size_t size, const char *why)
{
	assert_int_equal(parse(text, size), HPDSL_EUSAGE);
	if (!strstr(err.msg, why))
		fail_msg("'%s' is not in '%s'", why, err.msg);
}

static void is_ipv4(uint32_t node, uint32_t i, const char *four)
{
	uint8_t ip[16];

	hp_book_ipv4((const uint8_t *)four, ip);
	assert_memory_equal(nodes[node].offer[i].ip, ip, 16);
}

static void test_lists(void **state)
{
	(void)state;
	/* as PBS has it: a line for each slot */
	assert_int_equal(parse_text("b\nb\na.site\nb\na.site"), 0);
	assert_int_equal(n, 2);
	assert_string_equal(nodes[0].host, "b");
	assert_string_equal(nodes[1].host, "a.site");
	assert_int_equal(nodes[0].offers, 0);
	/* with addresses, in several lines, comments, and a foreign end */
	assert_int_equal(parse_text("# the nodes\r\n\r\n"
				    "  n1 10.0.0.1 fd00::1#x\r\n"
				    "n2\t[fd00::2] # y\n"
				    "n1 10.0.0.1 10.0.1.1\n"
				    "10.0.0.3\n"),
			 0);
	assert_int_equal(n, 3);
	assert_int_equal(nodes[0].offers, 3);
	is_ipv4(0, 0, "\x0a\0\0\x01");
	assert_int_equal(nodes[0].offer[1].ip[0], 0xfd);
	is_ipv4(0, 2, "\x0a\0\x01\x01");
	assert_int_equal(nodes[1].offers, 1);
	assert_int_equal(nodes[1].offer[0].ip[15], 2);
	assert_string_equal(nodes[2].host, "10.0.0.3");
	is_ipv4(2, 0, "\x0a\0\0\x03");
}

static void test_hostile(void **state)
{
	char many[4096] = "n";

	(void)state;
	refused("", 0, "names no host");
	refused("# a\n\n", 5, "names no host");
	refused("a\nb c\n", 6, "line 2: behind a name");
	refused("a\nb\0c\n", 6, "line 2");
	refused("a\n-x\n", 5, "line 2");
	refused("a\xc3\xa4\n", 4, "line 1");
	refused("a/b\n", 4, "line 1");
	memset(many, 'a', 200);
	refused(many, 200, "line 1");
	memset(many, 'a', 64);
	refused(many, 64, "line 1");
	assert_int_equal(parse(many, 63), 0);
	strcpy(many, "n");
	for (int i = 1; i < 10; i++)
		sprintf(many + strlen(many), " 10.0.0.%d", i);
	refused(many, strlen(many), "more addresses");
}

static void test_many(void **state)
{
	enum { MANY = 10000 };
	char *text = malloc(MANY * 2 * 12), *p = text;

	(void)state;
	assert_non_null(text);
	for (int twice = 0; twice < 2; twice++)
		for (int i = 0; i < MANY; i++)
			p += sprintf(p, "nid%06d\n", i);
	assert_int_equal(parse(text, (size_t)(p - text)), 0);
	assert_int_equal(n, MANY);
	assert_string_equal(nodes[MANY - 1].host, "nid009999");
	free(text);
}

/* ---- Which is this one ------------------------------------------------ */

static uint32_t own(const char *host, const char *four)
{
	struct hpdsl_peer_node is = { .offers = four ? 1 : 0 };

	snprintf(is.host, sizeof is.host, "%s", host);
	if (four)
		hp_book_ipv4((const uint8_t *)four, is.offer[0].ip);
	return hpdsl_peer_hosts_own(nodes, n, &is);
}

static void test_own(void **state)
{
	(void)state;
	assert_int_equal(parse_text("n1 10.0.0.1\nn2.site\nN3\nn1.other\n"), 0);
	assert_int_equal(own("n2", NULL), 1);
	assert_int_equal(own("n2.site", NULL), 1);
	assert_int_equal(own("n2.elsewhere", NULL), UINT32_MAX);
	assert_int_equal(own("n3.site", NULL), 2);
	/* two have it, without the domain */
	assert_int_equal(own("n1", NULL), UINT32_MAX);
	assert_int_equal(own("x", "\x0a\0\0\x01"), 0);
	assert_int_equal(own("x", "\x0a\0\0\x02"), UINT32_MAX);
	/* a name counts before an address */
	assert_int_equal(own("n2", "\x0a\0\0\x01"), 1);
}

/* ---- The id ----------------------------------------------------------- */

static void test_id(void **state)
{
	struct hp_book_head h = { .parts = 1, .secret = { 1 } };
	uint8_t a[16], b[16];

	(void)state;
	assert_int_equal(parse_text("n1 10.0.0.1\nn2 10.0.0.2"), 0);
	h.nodes = n;
	assert_true(hp_hosts_id(&h, nodes, a));
	/* neither addresses nor which node it is */
	assert_int_equal(parse_text("n1\nn2 10.0.0.7"), 0);
	h.node = 1;
	assert_true(hp_hosts_id(&h, nodes, b));
	assert_memory_equal(a, b, 16);
	/* but all else */
	h.parts = 2;
	assert_true(hp_hosts_id(&h, nodes, b));
	assert_memory_not_equal(a, b, 16);
	h.parts = 1;
	h.secret[31] = 1;
	assert_true(hp_hosts_id(&h, nodes, b));
	assert_memory_not_equal(a, b, 16);
	h.secret[31] = 0;
	h.pack[0] = 1;
	assert_true(hp_hosts_id(&h, nodes, b));
	assert_memory_not_equal(a, b, 16);
	h.pack[0] = 0;
	assert_int_equal(parse_text("n2\nn1"), 0);
	assert_true(hp_hosts_id(&h, nodes, b));
	assert_memory_not_equal(a, b, 16);
	assert_int_equal(parse_text("n1n\n2"), 0);
	assert_true(hp_hosts_id(&h, nodes, b));
	assert_memory_not_equal(a, b, 16);
}

static int end(void **state)
{
	(void)state;
	free(nodes);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lists), cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_many),  cmocka_unit_test(test_own),
		cmocka_unit_test(test_id),
	};

	return cmocka_run_group_tests(tests, NULL, end);
}
