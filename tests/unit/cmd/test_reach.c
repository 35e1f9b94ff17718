/* SPDX-License-Identifier: Apache-2.0 */
/* One connection from node to node, here over this machine's own addresses. */
#include "cmd/stage/reach.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { HERE = 18400 };

static const uint8_t here[16] = { [10] = 0xff, [11] = 0xff, 127, 0, 0, 1 };
static const uint8_t here6[16] = { [15] = 1 };

static void test_text(void **unused)
{
	static const uint8_t six[16] = { 0xfd, [15] = 7 };

	(void)unused;
	assert_string_equal(reach_text(here).s, "127.0.0.1");
	assert_string_equal(reach_text(six).s, "fd00::7");
}

static void connects(const uint8_t ip[16])
{
	uint32_t first = 0, second = 0;
	int a = reach_listen(ip, HERE, &first), b;

	if (a == -EADDRNOTAVAIL || a == -EAFNOSUPPORT) {
		skip(); /* no IPv6 */
		return;
	}
	assert_true(a >= 0);
	assert_in_range(first, HERE, HERE + 15);
	/* What has a listener already is left to it. */
	b = reach_listen(ip, first, &second);
	assert_true(b >= 0);
	assert_in_range(second, first + 1, first + 15);
	assert_int_equal(reach_try(ip, first, 5000), 0);
	assert_int_equal(reach_try(ip, second, 5000), 0);
	close(b);
	assert_int_equal(reach_try(ip, second, 5000), -ECONNREFUSED);
	close(a);
}

static void test_ipv4(void **unused)
{
	(void)unused;
	connects(here);
}

static void test_ipv6(void **unused)
{
	(void)unused;
	connects(here6);
}

/* All sixteen are taken. */
static void test_full(void **unused)
{
	uint32_t first, port, next;
	int fd[16], over;

	(void)unused;
	fd[0] = reach_listen(here, HERE + 100, &first);
	assert_true(fd[0] >= 0);
	for (uint32_t i = 1; i < 16; i++) {
		fd[i] = reach_listen(here, first + i, &port);
		assert_true(fd[i] >= 0);
	}
	over = reach_listen(here, first, &next);
	assert_int_equal(over, -EADDRINUSE);
	for (int i = 0; i < 16; i++)
		close(fd[i]);
}

/* A listener whose queue is full says nothing at all: that ends, too. */
static void test_silence(void **unused)
{
	int fds[64], n = 0, code = 0, fd;
	uint32_t port;

	(void)unused;
	fd = reach_listen(here, HERE + 200, &port);
	assert_true(fd >= 0);
	while (n < 64 && code == 0) {
		union address a;
		socklen_t size = put(here, port, &a);

		fds[n] = new_socket(&a, SOCK_STREAM);
		connect(fds[n++], &a.any, size);
		code = reach_try(here, port, 20);
	}
	assert_int_equal(code, -ETIMEDOUT);
	while (n)
		close(fds[--n]);
	close(fd);
}

static void test_from(void **unused)
{
	static const uint8_t other[16] = { [10] = 0xff, [11] = 0xff, 127,
					   0,		0,	     99 };
	uint8_t ip[16];

	(void)unused;
	assert_true(reach_from(here, ip));
	assert_memory_equal(ip, here, 16);
	assert_true(reach_from(other, ip));
	assert_int_equal(ip[12], 127);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),	cmocka_unit_test(test_ipv4),
		cmocka_unit_test(test_ipv6),	cmocka_unit_test(test_full),
		cmocka_unit_test(test_silence), cmocka_unit_test(test_from),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
