/* SPDX-License-Identifier: Apache-2.0 */
/* What is read lies where other processes see it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "load_work.h"
#include "shell.h"
#include "until.h"

/* ---- The same batches ------------------------------------------------- */

static void test_same(void **state)
{
	static const uint32_t threads[] = { HPDSL_SERIAL, 1, 4 };

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct load_case c = { .opt = load_base() };

		c.opt.shared = true;
		c.opt.threads = threads[i];
		load_check(load_plain, &c);
		load_check(load_zst, &c);
		c.opt.memory = 16 << 20;
		c.opt.order.batch = 4;
		c.opt.order.lanes = 8;
		c.hold = (uint32_t)i % 2;
		load_check(load_big, &c);
		assert_int_equal(c.told_over, 0);
		/* A step that does not fit is within it all the same. */
		c.opt.order.batch = c.opt.order.lanes = 40;
		load_check(load_big, &c);
		assert_int_equal(c.told_over, 1);
	}
}

/* ---- Another process -------------------------------------------------- */

/* Where a member is, within the mapping. */
struct word {
	uint64_t at, size, hash;
};

/* Is it there, too, where another process maps the file? */
static bool is_in_file(int fd, const struct word *w)
{
	uint64_t begin = w->at / 4096 * 4096;
	size_t n = (size_t)(w->at + w->size - begin);
	uint8_t *p = mmap(NULL, n, PROT_READ, MAP_SHARED, fd, (off_t)begin);
	bool is;

	if (p == MAP_FAILED)
		return false;
	is = hp_hash64(p + (w->at - begin), w->size) == w->hash;
	munmap(p, n);
	return is;
}

/* Reads what it is told of, in the mapping that it has from its parent, and in
 * one of its own; until there is no more. */
static int child(int in, int out, int fd, const uint8_t *base, size_t size)
{
	struct word w;

	while (read(in, &w, sizeof w) == (ssize_t)sizeof w) {
		char good = w.at <= size && w.size <= size - w.at &&
			    hp_hash64(base + w.at, w.size) == w.hash &&
			    is_in_file(fd, &w);

		if (write(out, &good, 1) != 1)
			return 1;
	}
	return 0;
}

struct other {
	pid_t pid;
	int to, from;
	const uint8_t *base;
	size_t size;
};

static void fork_other(struct other *o, const struct hpdsl_loader *l)
{
	int to[2], from[2], fd;
	const void *base;

	assert_int_equal(hpdsl_loader_mapping(l, &fd, &base, &o->size, NULL),
			 0);
	o->base = base;
	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	o->pid = fork();
	if (o->pid == 0) {
		alarm(UNTIL_SECONDS);
		close(to[1]);
		_exit(child(to[0], from[1], fd, base, o->size));
	}
	assert_true(o->pid > 0);
	close(to[0]);
	close(from[1]);
	o->to = to[1];
	o->from = from[0];
}

static void end_other(struct other *o)
{
	int status;

	close(o->to);
	assert_int_equal(waitpid(o->pid, &status, 0), o->pid);
	assert_int_equal(status, 0);
	close(o->from);
}

static void ask_other(const struct other *o, const void *data, size_t size)
{
	uint64_t at = (uint64_t)((const uint8_t *)data - o->base);
	struct word w = { at, size, hp_hash64(data, size) };
	char good = 0;

	assert_true(at < o->size && size <= o->size - at);
	assert_int_equal(write(o->to, &w, sizeof w), sizeof w);
	assert_int_equal(read(o->from, &good, 1), 1);
	assert_true(good);
}

static void ask_batch(const struct other *o, const struct hpdsl_batch *b)
{
	for (size_t i = 0; i < b->first[b->n]; i++)
		if (b->member_size[i])
			ask_other(o, b->member_data[i], b->member_size[i]);
}

static void check_dir(const char *dir, uint64_t memory)
{
	struct hpdsl_loader_options opt = load_base();
	struct hpdsl_dataset *ds = load_open(dir, NULL);
	const struct hpdsl_batch *b, *last = NULL;
	struct hpdsl_loader *l;
	struct other o;
	int n = 0;

	opt.shared = true;
	opt.memory = memory;
	opt.epochs = 2;
	l = load_new(ds, &opt);
	fork_other(&o, l);
	while (hpdsl_loader_next(l, &b, NULL) == 1) {
		ask_batch(&o, b);
		hpdsl_batch_release(last);
		last = b;
		n++;
	}
	assert_true(n > 0);
	/* It is there as long as a batch is out. */
	hpdsl_loader_free(l);
	ask_batch(&o, last);
	hpdsl_batch_release(last);
	end_other(&o);
	hpdsl_close(ds);
}

static void test_other_process(void **state)
{
	int fds = count_fds();

	(void)state;
	check_dir(load_plain, 0);
	check_dir(load_zst, 16 << 20);
	check_dir(load_big, 16 << 20);
	assert_int_equal(count_fds(), fds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_other_process),
	};

	return cmocka_run_group_tests(tests, load_setup, load_teardown);
}
