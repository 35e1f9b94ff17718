/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client in a process: what it costs before it is needed, where there are
 * no descriptors, beside a proxy, over fork(), and when it is closed in the
 * midst of its work.
 */
#include "peer_read.h"

#include "base/mem.h"
#include "peers/book_file.h"
#include "peers/table.h"
#include "peers/whom.h"
#include "shell.h"
#include "until.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* It has a thread of its own, and forbids children to have any. */
#if defined(__SANITIZE_THREAD__)
#define HAS_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_TSAN 1
#endif
#endif
#ifndef HAS_TSAN
#define HAS_TSAN 0
#endif

static struct fault_nodes three;

static bool is_loaded(const char *what)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[4096];
	bool found = false;

	assert_non_null(f);
	while (fgets(line, sizeof line, f))
		found |= strstr(line, what) != NULL;
	fclose(f);
	return found;
}

/* ---- Before it is needed ---------------------------------------------- */

/* The first test: nothing may have loaded it. */
static void what_is_not_needed_is_not_loaded(void **state)
{
	const int threads = count_threads();
	struct hp_client *c = fault_nodes_client(&three);

	(void)state;
	assert_false(is_loaded("libcurl"));
	assert_int_equal(count_threads(), threads);
	fault_nodes_close(&three, c);
	c = fault_nodes_client(&three);
	assert_int_equal(peer_read(&three, c, 1, 0, 1000).n, 1000);
	assert_true(is_loaded("libcurl"));
	assert_true(HAS_TSAN || count_threads() == threads + 1);
	fault_nodes_close(&three, c);
	assert_true(HAS_TSAN || count_threads() == threads);
}

/* Another libcurl: none. */
static int no_libcurl(void)
{
	struct fault_nodes none = { 0 };
	struct hp_client *c;
	char note[HP_CLIENT_NOTE] = "";
	struct hp_client_got got;

	fault_nodes_book(&none, 3, 1);
	c = fault_nodes_client(&none);
	got = peer_read(&none, c, 1, 0, 1000);
	hp_client_note(c, note);
	fault_nodes_close(&none, c);
	if (got.n == -EHOSTUNREACH && got.why == HP_CLIENT_NO_ENGINE &&
	    strstr(note, "libcurl.so.4"))
		return 0;
	printf("got %zd, why %d, note '%s'\n", got.n, got.why, note);
	return 1;
}

static char self[4096];

static void without_libcurl_it_is_the_origin(void **state)
{
	char folder[TMP_NAME];

	(void)state;
	assert_non_null(tmp_folder(folder, sizeof folder, "lib"));
	run("echo nothing > %s/libcurl.so.4", folder);
	run("NO_LIBCURL=1 LD_LIBRARY_PATH=%s:$LD_LIBRARY_PATH %s %s", folder,
	    self, "test_client_process");
	run("rm -rf %s", folder);
}

/* ---- The gate --------------------------------------------------------- */

struct gate {
	struct hp_book_head head; /* of the book that is written */
	bool book, table;
	bool others_read;
	const char *env;
};

/* Is somebody to be asked?  *err is as hp_client_open() leaves it. */
static bool is_open(const struct gate *g, struct hpdsl_error *err)
{
	const struct hp_client_facts facts = fault_nodes_facts(&three);
	char stage[TMP_NAME], name[TMP_NAME + 16];
	struct hp_table_file table = { 0 };
	struct hp_client *c = NULL;
	bool ret;
	int dir;

	assert_non_null(tmp_folder(stage, sizeof stage, "gate"));
	dir = open(stage, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (g->book)
		assert_int_equal(hp_book_save(&hp_io_system, dir, stage,
					      &g->head, three.node, err),
				 0);
	if (g->table)
		assert_int_equal(hp_table_make(&hp_io_system, dir, stage,
					       &three.head, &table, err),
				 0);
	hp_table_leave(&table);
	snprintf(name, sizeof name, "%s/%s", stage, HP_BOOK_NAME);
	if (g->others_read)
		assert_int_equal(chmod(name, 0644), 0);
	if (g->env)
		setenv("HPDSL_PEERS", g->env, 1);
	assert_int_equal(
		hp_client_open(&hp_io_system, dir, stage, &facts, &c, err), 0);
	unsetenv("HPDSL_PEERS");
	ret = c != NULL;
	hp_client_close(c);
	close(dir);
	run("rm -rf %s", stage);
	return ret;
}

static void the_gate(void **state)
{
	struct gate g = { .head = three.head, .book = true, .table = true };
	struct hpdsl_error err;

	(void)state;
	assert_true(is_open(&g, &err));
	g.env = "on";
	assert_true(is_open(&g, &err));
	g.env = "off";
	assert_false(is_open(&g, &err));
	g.env = NULL;
	g.table = false;
	assert_false(is_open(&g, &err));
	assert_int_equal(err.code, 0);
	g.book = false;
	assert_false(is_open(&g, &err));
	assert_int_equal(err.code, 0);
	g.book = g.table = true;
	/* the table is of another book */
	g.head.id[0]++;
	assert_false(is_open(&g, &err));
	assert_int_equal(err.code, 0);
	g.head = three.head;
	/* the book is of another dataset, or of nobody else */
	g.head.pack[0]++;
	assert_false(is_open(&g, &err));
	assert_int_equal(err.code, 0);
	g.head = three.head;
	g.head.nodes = 1;
	assert_false(is_open(&g, &err));
	assert_int_equal(err.code, 0);
	g.head = three.head;
	/* what anybody could have read is no secret, and that is said */
	g.others_read = true;
	assert_false(is_open(&g, &err));
	assert_int_equal(err.code, -EPERM);
	assert_non_null(strstr(err.msg, HP_BOOK_NAME));
}

/* ---- What a process has ----------------------------------------------- */

/* F27 */
static void a_proxy_is_not_for_the_nodes_of_a_job(void **state)
{
	struct hp_client *c = fault_nodes_client(&three);

	(void)state;
	setenv("http_proxy", "http://127.0.0.1:9", 1);
	setenv("all_proxy", "http://127.0.0.1:9", 1);
	assert_int_equal(peer_read(&three, c, 1, 0, 1000).n, 1000);
	unsetenv("http_proxy");
	unsetenv("all_proxy");
	fault_nodes_close(&three, c);
}

static int lowest_free(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

/* F17: that is our lack, and says nothing of who is asked. */
static void without_descriptors(void **state)
{
	struct hp_client *c = fault_nodes_client(&three);
	struct rlimit was, none;
	struct hp_client_got got;

	(void)state;
	getrlimit(RLIMIT_NOFILE, &was);
	/* not even for its thread to be woken; then not for a connection */
	for (int spare = 0; spare < 3; spare++) {
		none = was;
		none.rlim_cur = (rlim_t)(lowest_free() + spare);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
		got = peer_read(&three, c, 1, 0, 1000);
		assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
		if (got.n < 0) {
			assert_int_equal(got.n, -EHOSTUNREACH);
			assert_int_equal(got.why, HP_CLIENT_NO_ENGINE);
		}
		assert_true(spare || got.n < 0);
	}
	got = peer_read(&three, c, 1, 0, 1000);
	assert_int_equal(got.n, 1000);
	assert_false(got.adopted);
	fault_nodes_close(&three, c);
}

/* With the connections that are open all else goes on. */
static void with_no_more_descriptors(void **state)
{
	struct hp_client *c = fault_nodes_client(&three);
	struct hp_client *d;
	struct rlimit was, none;
	char stage[TMP_NAME];

	(void)state;
	for (uint32_t k = 1; k < FN_CHUNKS; k++)
		assert_int_equal(peer_read(&three, c, k, 0, 1000).n, 1000);
	getrlimit(RLIMIT_NOFILE, &was);
	none = was;
	none.rlim_cur = (rlim_t)lowest_free();
	memcpy(stage, three.stage, sizeof stage);
	d = fault_nodes_client(&three);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	for (uint32_t k = 1; k < FN_CHUNKS; k++)
		assert_int_equal(peer_read(&three, c, k, 0, 1000).n, 1000);
	/* another directory's shares them */
	assert_int_equal(peer_read(&three, d, 1, 0, 1000).n, 1000);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	fault_nodes_close(&three, d);
	memcpy(three.stage, stage, sizeof stage);
	fault_nodes_close(&three, c);
}

/* ---- fork() ----------------------------------------------------------- */

static void read_many(struct hp_client *c, uint32_t from)
{
	for (uint32_t i = 0; i < 150; i++)
		assert_int_equal(peer_read(&three, c, (from + i) % FN_CHUNKS,
					   i * 100, 100000)
					 .n,
				 100000);
}

/* Both go on, each with connections of its own: no byte is the other's. */
static void parent_and_child_read_on(void **state)
{
	struct hp_client *c = fault_nodes_client(&three);
	int status;
	pid_t pid;

	(void)state;
	if (HAS_TSAN)
		skip();
	read_many(c, 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		const struct hp_client_got got =
			peer_read(&three, c, 1, 0, 1000);
		bool well = got.n == 1000;

		for (uint32_t i = 0; well && i < 150; i++)
			well = peer_read(&three, c, i % FN_CHUNKS, i * 100,
					 100000)
				       .n == 100000;
		hp_client_close(c);
		_exit(well ? 0 : 1);
	}
	read_many(c, 3);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	/* the child's end is none of ours */
	read_many(c, 5);
	fault_nodes_close(&three, c);
}

/* In the midst of its work, and nothing is closed. */
/* So many of them are done; what was asked for next is under way. */
static void await_done(struct peer_read *r, unsigned n, unsigned done)
{
	struct until u = { 0 };
	unsigned is;

	do {
		is = 0;
		for (unsigned i = 0; i < n; i++)
			is += peer_read_is_done(&r[i]);
		if (is < done)
			until_next(&u);
	} while (is < done);
}

static void forget_asked(void)
{
	unsigned asked, adopt;

	for (uint32_t node = 1; node < 3; node++)
		fault_nodes_asked(&three, node, &asked, &adopt);
}

static void await_asked(void)
{
	struct until u = { 0 };
	unsigned asked = 0, adopt;

	for (uint32_t node = 1; !asked; node = 3 - node) {
		fault_nodes_asked(&three, node, &asked, &adopt);
		until_next(&u);
	}
}

static void a_process_ends(void **state)
{
	enum { MANY = 20 };

	(void)state;
	if (HAS_TSAN)
		skip();
	for (int i = 0; i < 20; i++) {
		struct hp_client *c = fault_nodes_client(&three);
		int status;
		pid_t pid;

		fflush(NULL);
		pid = fork();
		assert_true(pid >= 0);
		if (!pid) {
			static struct peer_read r[MANY];

			for (uint32_t k = 0; k < MANY; k++)
				peer_read_begin(&r[k], c, k % FN_CHUNKS, 0,
						FN_SMALL, 0);
			await_done(r, MANY, (unsigned)i);
			exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
		fault_nodes_close(&three, c);
	}
}

/* Of a process that ends: what it does after the engine's end. */
static struct {
	struct hp_client *c;
	struct peer_read under_way;
	bool waits, reads;
} ending;

static void still_there(void)
{
	bool well = true;

	if (!ending.c)
		return;
	if (ending.waits) {
		peer_read_wait(&ending.under_way);
		well = ending.under_way.got.n == -EHOSTUNREACH;
	}
	if (ending.reads) {
		struct peer_read r;

		peer_read_begin(&r, ending.c, 1, 0, 1000, 0);
		peer_read_wait(&r);
		well &= r.got.n == -EHOSTUNREACH;
	}
	hp_client_close(ending.c);
	_exit(well ? 0 : 1);
}

/* Closed, or read, by what a process does as its last: none waits for ever. */
static void what_comes_after_the_end(void **state)
{
	(void)state;
	if (HAS_TSAN)
		skip();
	fault_nodes_tell(&three, "do 2 silent");
	fault_nodes_tell(&three, "do 1 stall");
	for (int i = 0; i < 16; i++) {
		struct hp_client *c = fault_nodes_client(&three);
		int status;
		pid_t pid;

		fflush(NULL);
		pid = fork();
		assert_true(pid >= 0);
		if (!pid) {
			alarm(UNTIL_SECONDS);
			ending.c = c;
			ending.waits = i & 1;
			ending.reads = i & 2;
			/* of its own engine, or of one that nobody began */
			forget_asked();
			if (i & 4 || ending.waits) {
				peer_read_begin(&ending.under_way, c, 0, 0,
						FN_LARGE, 0);
				if (i & 8)
					await_asked();
			}
			exit(2);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
		fault_nodes_close(&three, c);
	}
	fault_nodes_tell(&three, "do 1 well");
	fault_nodes_tell(&three, "do 2 well");
}

static int option(int fd, int what)
{
	socklen_t n = sizeof(int);
	int value;

	assert_int_equal(getsockopt(fd, IPPROTO_TCP, what, &value, &n), 0);
	return value;
}

static void check_options(int fd)
{
	char how[16] = "";
	socklen_t n = sizeof how;

	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, how, &n),
			 0);
	assert_string_equal(how, "reno");
	assert_int_equal(option(fd, TCP_NODELAY), 1);
	assert_int_equal(option(fd, TCP_USER_TIMEOUT), 3000);
	assert_int_equal(option(fd, TCP_KEEPCNT), 3);
}

/* No connection outlives exec: libcurl itself makes sure of it only since 8.17.
 * Two ends of a pair, of its own, it leaves before 8.8. */
static void what_a_connection_is_like(void **state)
{
	struct hp_client *c = fault_nodes_client(&three);
	int found = 0;

	(void)state;
	setenv("HPDSL_TCP_CONGESTION", "reno", 1);
	assert_int_equal(peer_read(&three, c, 1, 0, 1000).n, 1000);
	for (int fd = 0; fd < 1000; fd++) {
		socklen_t n = sizeof(int);
		int domain;

		if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) < 0 ||
		    domain != AF_INET)
			continue;
		found++;
		assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		check_options(fd);
	}
	assert_true(found > 0);
	unsetenv("HPDSL_TCP_CONGESTION");
	fault_nodes_close(&three, c);
}

/* ---- Closed ----------------------------------------------------------- */

static void what_is_under_way_is_given_up(void **state)
{
	enum { MANY = 20 };
	struct hp_client *c = fault_nodes_client(&three);
	struct peer_read r[MANY];

	(void)state;
	fault_nodes_tell(&three, "do 1 stall");
	fault_nodes_tell(&three, "do 2 silent");
	forget_asked();
	for (uint32_t i = 0; i < MANY; i++)
		peer_read_begin(&r[i], c, i % FN_CHUNKS, 0, FN_SMALL, 0);
	await_asked();
	fault_nodes_close(&three, c);
	for (uint32_t i = 0; i < MANY; i++) {
		assert_true(r[i].done);
		assert_int_equal(r[i].got.n, -ECANCELED);
		peer_read_end(&r[i]);
	}
	fault_nodes_tell(&three, "do 1 well");
	fault_nodes_tell(&three, "do 2 well");
}

/* Again and again, from several threads. */
static void *come_and_go(void *arg)
{
	const struct hp_client_facts facts = fault_nodes_facts(&three);
	const char *stage = arg;

	for (int i = 0; i < 20; i++) {
		int dir = open(stage, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		struct hp_client *c;
		struct hpdsl_error err;
		struct peer_read r;
		bool well;

		if (hp_client_open(&hp_io_system, dir, stage, &facts, &c,
				   &err) < 0 ||
		    !c)
			return arg;
		close(dir);
		peer_read_begin(&r, c, 1 + (uint32_t)i % 3, 0, 1000, 0);
		peer_read_wait(&r);
		well = r.got.n == 1000;
		hp_client_close(c);
		free(r.buf);
		if (!well)
			return arg;
	}
	return NULL;
}

static void many_come_and_go(void **state)
{
	struct hp_client *c = fault_nodes_client(&three);
	const int threads = count_threads(), fds = count_fds();
	pthread_t t[4];

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(
			pthread_create(&t[i], NULL, come_and_go, three.stage),
			0);
	for (int i = 0; i < 4; i++) {
		void *failed;

		pthread_join(t[i], &failed);
		assert_null(failed);
	}
	assert_int_equal(count_threads(), threads);
	assert_int_equal(count_fds(), fds);
	fault_nodes_close(&three, c);
}

/* ---------------------------------------------------------------------- */

static struct rlimit files;

/* A test that failed in the midst of it leaves others what they need. */
static int restore(void **state)
{
	(void)state;
	return setrlimit(RLIMIT_NOFILE, &files);
}

static int begin(void **state)
{
	(void)state;
	getrlimit(RLIMIT_NOFILE, &files);
	fault_nodes_start(&three, 3, 1);
	return 0;
}

static int end(void **state)
{
	(void)state;
	fault_nodes_stop(&three);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_needed_is_not_loaded),
		cmocka_unit_test(without_libcurl_it_is_the_origin),
		cmocka_unit_test(the_gate),
		cmocka_unit_test(a_proxy_is_not_for_the_nodes_of_a_job),
		cmocka_unit_test_teardown(without_descriptors, restore),
		cmocka_unit_test_teardown(with_no_more_descriptors, restore),
		cmocka_unit_test(parent_and_child_read_on),
		cmocka_unit_test(a_process_ends),
		cmocka_unit_test(what_comes_after_the_end),
		cmocka_unit_test(what_a_connection_is_like),
		cmocka_unit_test(what_is_under_way_is_given_up),
		cmocka_unit_test(many_come_and_go),
	};

	if (getenv("NO_LIBCURL"))
		return no_libcurl();
	assert_non_null(realpath("/proc/self/exe", self));
	/* Before libcurl and the engine: what is last goes first. */
	atexit(still_there);
	return cmocka_run_group_tests(tests, begin, end);
}
