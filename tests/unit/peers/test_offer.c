/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which addresses a node offers, of lists that machines of clusters have; and
 * what all of them have in common.
 */
#include "peers/offer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hpdsl/core.h"
#include "peers/book.h"

/* "10.0.0.1", or IPv6's. */
static void ip_of(const char *text, uint8_t ret[16])
{
	uint8_t four[4];

	if (inet_pton(AF_INET, text, four) == 1)
		hp_book_ipv4(four, ret);
	else
		assert_int_equal(inet_pton(AF_INET6, text, ret), 1);
}

/* "eth0 10.0.0.1/24 1000"; behind it down, or loopback. */
static struct hp_interface read_one(const char *text)
{
	struct hp_interface f = { .up = !strstr(text, " down"),
				  .loopback = strstr(text, " loopback") };
	char ip[64];

	assert_int_equal(sscanf(text, "%15s %63[^/]/%u %u", f.address.interface,
				ip, &f.address.prefix, &f.address.mbits),
			 4);
	ip_of(ip, f.address.ip);
	if (!strchr(ip, ':'))
		f.address.prefix += 96;
	return f;
}

/* Lines of that, and what is offered of them: names and addresses. */
static const char *offered(const char *lines, const char *only,
			   struct hpdsl_peer_node *node)
{
	static char said[2000];
	struct hp_interface all[64];
	char copy[4000], *save = NULL, *line;
	struct hp_only wanted;
	size_t n = 0;

	snprintf(copy, sizeof copy, "%s", lines);
	for (line = strtok_r(copy, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		all[n++] = read_one(line);
	assert_int_equal(hp_only_parse(only, &wanted), 0);
	hp_offer(all, n, &wanted, node);
	said[0] = '\0';
	for (uint32_t i = 0; i < node->offers; i++) {
		const struct hpdsl_peer_address *a = &node->offer[i];
		char ip[INET6_ADDRSTRLEN];
		size_t k = strlen(said);

		inet_ntop(AF_INET6, a->ip, ip, sizeof ip);
		snprintf(said + k, sizeof said - k, "%s%s %s", k ? ", " : "",
			 a->interface,
			 strncmp(ip, "::ffff:", 7) == 0 ? ip + 7 : ip);
	}
	return said;
}

#define MACHINE                           \
	"lo 127.0.0.1/8 0 loopback\n"     \
	"lo ::1/128 0 loopback\n"         \
	"eno1 192.168.3.7/16 1000\n"      \
	"eno1 fe80::1/64 1000\n"          \
	"eno2 172.30.0.7/16 10000 down\n" \
	"enx0 169.254.3.1/24 100\n"       \
	"ib0 10.8.0.7/22 200000\n"        \
	"ib0 fd00:8::7/64 200000\n"       \
	"docker0 172.17.0.1/16 10000\n"   \
	"br-12ab 172.18.0.1/16 10000\n"   \
	"virbr0 192.168.122.1/24 0\n"     \
	"cni0 10.244.1.1/24 10000\n"      \
	"hsn0 10.9.0.7/16 200000\n"       \
	"tun0 10.99.0.1/24 0\n"

static void test_offer(void **unused)
{
	struct hpdsl_peer_node node;

	(void)unused;
	assert_string_equal(offered(MACHINE, NULL, &node),
			    "hsn0 10.9.0.7, ib0 10.8.0.7, ib0 fd00:8::7, "
			    "eno1 192.168.3.7, tun0 10.99.0.1");
	/* By a name's beginning, and by subnets. */
	assert_string_equal(offered(MACHINE, "ib", &node),
			    "ib0 10.8.0.7, ib0 fd00:8::7");
	assert_string_equal(offered(MACHINE, "eno1", &node),
			    "eno1 192.168.3.7");
	assert_string_equal(offered(MACHINE, "10.8.0.0/15", &node),
			    "hsn0 10.9.0.7, ib0 10.8.0.7");
	assert_string_equal(offered(MACHINE, "10.8.3.255/22", &node),
			    "ib0 10.8.0.7");
	assert_string_equal(offered(MACHINE, "fd00::/12", &node),
			    "ib0 fd00:8::7");
	assert_string_equal(offered(MACHINE, "0.0.0.0/0", &node),
			    "hsn0 10.9.0.7, ib0 10.8.0.7, br-12ab 172.18.0.1, "
			    "cni0 10.244.1.1, docker0 172.17.0.1, "
			    "eno1 192.168.3.7, lo 127.0.0.1, "
			    "tun0 10.99.0.1, virbr0 192.168.122.1");
	/* Who asks for these shall have them; not what is down. */
	assert_string_equal(offered(MACHINE, "lo", &node),
			    "lo 127.0.0.1, lo ::1");
	assert_string_equal(offered(MACHINE, "docker", &node),
			    "docker0 172.17.0.1");
	assert_string_equal(offered(MACHINE, "eno2", &node), "");
	assert_string_equal(offered(MACHINE, "wlan", &node), "");
	assert_string_equal(offered("", NULL, &node), "");
}

static void test_only(void **unused)
{
	static const char *const bad[] = { "",
					   "/",
					   "10.0.0.0/",
					   "10.0.0.0/33",
					   "10.0.0/8",
					   "10.0.0.0/8x",
					   "10.0.0.0/-1",
					   "fd00::/129",
					   "ib0/24",
					   "sixteen-letters-" };
	struct hp_only o;

	(void)unused;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		if (hpdsl_peer_only_check(bad[i]))
			fail_msg("'%s' was taken", bad[i]);
		assert_int_equal(hp_only_parse(bad[i], &o), -EINVAL);
	}
	assert_true(hpdsl_peer_only_check("ib"));
	assert_true(hpdsl_peer_only_check("10.0.0.0/8"));
	assert_true(hpdsl_peer_only_check("fd00::/128"));
	assert_false(hpdsl_peer_only_check(NULL));
	assert_int_equal(hp_only_parse(NULL, &o), 0);
	assert_true(o.any);
}

/* More than there is room for: the best stay, whatever order they come in. */
static void test_many(void **unused)
{
	struct hpdsl_peer_node up, down;
	char lines[4000] = "", back[4000] = "", line[64];

	(void)unused;
	for (int i = 0; i < 40; i++) {
		snprintf(line, sizeof line, "e%02d 10.0.%d.1/24 %d\n", i, i,
			 1000 + i);
		strcat(lines, line);
		snprintf(line, sizeof line, "e%02d 10.0.%d.1/24 %d\n", 39 - i,
			 39 - i, 1000 + 39 - i);
		strcat(back, line);
	}
	offered(lines, NULL, &up);
	offered(back, NULL, &down);
	assert_int_equal(up.offers, HPDSL_PEER_OFFERS);
	assert_int_equal(down.offers, HPDSL_PEER_OFFERS);
	for (uint32_t i = 0; i < up.offers; i++) {
		assert_int_equal(up.offer[i].mbits, 1039 - i);
		assert_memory_equal(&up.offer[i], &down.offer[i],
				    sizeof up.offer[i]);
	}
	/* The same one twice. */
	offered("a 10.0.0.1/24 1000\na:1 10.0.0.1/24 1000\n", NULL, &up);
	assert_int_equal(up.offers, 1);
}

/* ---- Of all nodes ----------------------------------------------------- */

static void put_node(struct hpdsl_peer_node *node, const char *host,
		     const char *lines)
{
	memset(node, 0, sizeof *node);
	snprintf(node->host, sizeof node->host, "%s", host);
	offered(lines, NULL, node);
}

static void is_at(const struct hpdsl_peer_node *node, uint32_t i,
		  const char *text)
{
	uint8_t ip[16];

	ip_of(text, ip);
	assert_true(i < node->offers);
	assert_memory_equal(node->offer[i].ip, ip, 16);
}

static void test_common(void **unused)
{
	struct hpdsl_peer_node n[3];

	(void)unused;
	/* The fast one is another network on each node: not before the others.
	 */
	put_node(&n[0], "a",
		 "ib0 10.1.0.1/24 200000\neth0 10.0.0.1/16 1000\n"
		 "eth1 fd00::1/64 10000\n");
	put_node(&n[1], "b",
		 "ib0 10.2.0.1/24 200000\neth0 10.0.0.2/16 1000\n"
		 "eth1 fd00::2/64 10000\n");
	put_node(&n[2], "c", "eth5 fd00::3/64 25000\neth0 10.0.7.3/16 1000\n");
	assert_int_equal(hpdsl_peer_choose(n, 3), 2);
	is_at(&n[0], 0, "fd00::1");
	is_at(&n[0], 1, "10.0.0.1");
	is_at(&n[0], 2, "10.1.0.1");
	is_at(&n[1], 0, "fd00::2");
	is_at(&n[2], 0, "fd00::3");
	is_at(&n[2], 1, "10.0.7.3");
	assert_int_equal(n[0].offers, 3);
	assert_int_equal(n[2].offers, 2);
	/* The same network with another length is another one. */
	put_node(&n[1], "b", "eth0 10.0.0.2/24 1000\n");
	assert_int_equal(hpdsl_peer_choose(n, 2), 0);
	is_at(&n[0], 0, "10.1.0.1");
	assert_true(hpdsl_peer_prefer(&n[0], n[0].offer[2].ip));
	is_at(&n[0], 0, "10.0.0.1");
	is_at(&n[0], 1, "10.1.0.1");
	is_at(&n[0], 2, "fd00::1");
	assert_false(hpdsl_peer_prefer(&n[0], n[1].offer[0].ip));
	/* One has nothing. */
	put_node(&n[1], "b", "");
	assert_int_equal(hpdsl_peer_choose(n, 3), 0);
	assert_int_equal(n[1].offers, 0);
	assert_int_equal(hpdsl_peer_choose(n, 1), 3);
	assert_int_equal(hpdsl_peer_choose(n, 0), 0);
}

/* A bridge by an unknown name is alike on all hosts, and leads to none. */
static void test_twice(void **unused)
{
	struct hpdsl_peer_node n[3];

	(void)unused;
	put_node(&n[0], "a", "x0 10.88.0.1/16 10000\neth0 10.0.0.1/16 1000\n");
	put_node(&n[1], "b", "x0 10.88.0.1/16 10000\neth0 10.0.0.2/16 1000\n");
	put_node(&n[2], "c", "eth0 10.0.0.3/16 1000\n");
	assert_int_equal(hpdsl_peer_choose(n, 3), 1);
	assert_int_equal(n[0].offers, 1);
	is_at(&n[0], 0, "10.0.0.1");
	is_at(&n[1], 0, "10.0.0.2");
	/* Nodes that one machine pretends to be. */
	put_node(&n[0], "a", "eth0 10.0.0.1/16 1000\n");
	put_node(&n[1], "a", "eth0 10.0.0.1/16 1000\n");
	assert_int_equal(hpdsl_peer_choose(n, 2), 1);
	is_at(&n[1], 0, "10.0.0.1");
}

/* This machine's, of which nothing is known but that it has itself. */
static void test_here(void **unused)
{
	struct hpdsl_peer_node node;
	struct hpdsl_error err;
	int r = hpdsl_peer_interfaces(NULL, NULL, &node, &err);

	(void)unused;
	assert_true(r == 0 ? node.offers > 0 : r == -ENODEV);
	for (uint32_t i = 0; i < node.offers; i++) {
		assert_true(node.offer[i].interface[0]);
		assert_true(node.offer[i].prefix <= 128);
	}
	assert_int_equal(hpdsl_peer_interfaces("nosuch", NULL, &node, &err),
			 -ENODEV);
	assert_non_null(strstr(err.msg, "nosuch"));
	assert_int_equal(node.offers, 0);
	assert_int_equal(hpdsl_peer_interfaces("a/b", NULL, &node, &err),
			 HPDSL_EUSAGE);
	assert_non_null(strstr(err.msg, "'a/b'"));
	if (hpdsl_peer_interfaces("127.0.0.0/8", NULL, &node, &err) == 0)
		is_at(&node, 0, "127.0.0.1");
}

static void test_rack(void **unused)
{
	(void)unused;
	assert_int_equal(hpdsl_peer_rack(NULL), 0);
	assert_int_equal(hpdsl_peer_rack(""), 0);
	assert_int_equal(hpdsl_peer_rack("nid7"), 0);
	assert_int_equal(hpdsl_peer_rack(".nid7"), 0);
	assert_true(hpdsl_peer_rack("s0.l4.nid7"));
	assert_int_equal(hpdsl_peer_rack("s0.l4.nid7"),
			 hpdsl_peer_rack("s0.l4.nid8"));
	assert_int_not_equal(hpdsl_peer_rack("s0.l4.nid7"),
			     hpdsl_peer_rack("s0.l5.nid7"));
}

static void test_efficiency(void **unused)
{
	(void)unused;
	assert_true(hpdsl_peer_efficiency(2, 1) == 0.81);
	assert_true(hpdsl_peer_efficiency(16, 1) == 0.81);
	assert_true(hpdsl_peer_efficiency(64, 1) == 0.71);
	assert_true(hpdsl_peer_efficiency(10000, 1) == 0.71);
	assert_true(hpdsl_peer_efficiency(16, 2) == 0.92);
	assert_true(hpdsl_peer_efficiency(64, 3) == 0.91);
	assert_float_equal(hpdsl_peer_efficiency(32, 1), 0.76, 1e-9);
	for (uint32_t n = 2; n < 100; n++)
		for (uint32_t c = 1; c < 4; c++)
			assert_true(hpdsl_peer_efficiency(n + 1, c) <=
				    hpdsl_peer_efficiency(n, c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_offer), cmocka_unit_test(test_only),
		cmocka_unit_test(test_many),  cmocka_unit_test(test_common),
		cmocka_unit_test(test_twice), cmocka_unit_test(test_here),
		cmocka_unit_test(test_rack),  cmocka_unit_test(test_efficiency),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
