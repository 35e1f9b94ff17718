/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The book of a node's peers in a real directory, which nobody else ever has a
 * right to.  What is not its owner's alone, or a link, is not believed;
 * whatever operation fails, an old one stays or a new one is whole.
 */
#include "each_fault.h"
#include "tmp.h"
#include "base/error.h"
#include "peers/book_file.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct hp_book_head head = {
	.id = "book............",
	.pack = "pack............",
	.secret = "secret..........................",
	.made = 7,
	.nodes = 2,
	.node = 1,
	.parts = 2,
	.port = 23456,
	.job = "Slurm job 4711",
};
static const struct hp_book_node nodes[2] = { { .host = "nid7" },
					      { .host = "nid8" } };

static char folder[TMP_NAME];
static int dir;

static int enter(void **state)
{
	(void)state;
	assert_non_null(tmp_folder(folder, sizeof folder, "peers"));
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0;
}

static int leave(void **state)
{
	static const char *const names[] = { HP_BOOK_NAME, "other" };

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		unlinkat(dir, names[i], 0);
	close(dir);
	/* Nothing else is left. */
	return rmdir(folder);
}

static mode_t mode_of(const char *name)
{
	struct stat st;

	assert_int_equal(fstatat(dir, name, &st, 0), 0);
	return st.st_mode & 07777;
}

static int save(const struct hp_io *io)
{
	struct hpdsl_error err;

	return hp_book_save(io, dir, folder, &head, nodes, &err);
}

/* ---- The book --------------------------------------------------------- */

static int load_code(struct hpdsl_error *err)
{
	struct hp_book_file *f = NULL;
	int r = hp_book_load(&hp_io_system, dir, folder, &f, err);

	assert_true((r == 0) == (f != NULL));
	hp_book_unload(f);
	return r;
}

static void test_book(void **state)
{
	static const mode_t masks[] = { 0, 0022, 0777 };
	struct hp_book_file *f = NULL;
	struct hpdsl_error err;

	(void)state;
	assert_int_equal(load_code(&err), -ENOENT);
	for (size_t i = 0; i < 3; i++) {
		mode_t old = umask(masks[i]);
		int r = save(&hp_io_system);

		umask(old);
		assert_int_equal(r, 0);
		assert_int_equal(mode_of(HP_BOOK_NAME), 0600);
	}
	assert_int_equal(hp_book_load(&hp_io_system, dir, folder, &f, &err), 0);
	assert_memory_equal(f->book.head.secret, head.secret, 32);
	assert_string_equal(hp_book_host(&f->book, 1), "nid8");
	assert_true(hp_book_is_still(&hp_io_system, dir, f));
	assert_int_equal(save(&hp_io_system), 0);
	assert_false(hp_book_is_still(&hp_io_system, dir, f));
	assert_int_equal(unlinkat(dir, HP_BOOK_NAME, 0), 0);
	assert_false(hp_book_is_still(&hp_io_system, dir, f));
	hp_book_unload(f);
	hp_book_unload(NULL);
}

static void test_book_refused(void **state)
{
	struct hpdsl_error err;

	(void)state;
	assert_int_equal(save(&hp_io_system), 0);
	assert_int_equal(fchmodat(dir, HP_BOOK_NAME, 0640, 0), 0);
	assert_int_equal(load_code(&err), -EPERM);
	assert_non_null(strstr(err.msg, "/peers.hpdsl: others have rights to "
					"it (mode 0640, and not 0600)"));
	assert_int_equal(fchmodat(dir, HP_BOOK_NAME, 0600, 0), 0);
	assert_int_equal(load_code(&err), 0);

	assert_int_equal(renameat(dir, HP_BOOK_NAME, dir, "other"), 0);
	assert_int_equal(symlinkat("other", dir, HP_BOOK_NAME), 0);
	assert_int_equal(load_code(&err), -EPERM);
	assert_non_null(strstr(err.msg, "/peers.hpdsl: a symbolic link"));
	assert_int_equal(unlinkat(dir, HP_BOOK_NAME, 0), 0);

	assert_int_equal(mkfifoat(dir, HP_BOOK_NAME, 0600), 0);
	assert_int_equal(load_code(&err), -EPERM);
	assert_non_null(strstr(err.msg, "not a regular file"));
	assert_int_equal(unlinkat(dir, HP_BOOK_NAME, 0), 0);

	assert_int_equal(save(&hp_io_system), 0);
	if (geteuid() == 0) {
		assert_int_equal(fchownat(dir, HP_BOOK_NAME, 12345, 0, 0), 0);
		assert_int_equal(load_code(&err), -EPERM);
		assert_non_null(strstr(err.msg, "belongs to user 12345"));
	}
	assert_int_equal(save(&hp_io_system), 0);
	for (off_t n = 0; n < 400; n += 57) {
		char name[TMP_NAME + 20];

		snprintf(name, sizeof name, "%s/" HP_BOOK_NAME, folder);
		assert_int_equal(save(&hp_io_system), 0);
		assert_int_equal(truncate(name, n), 0);
		assert_true(load_code(&err) <= HPDSL_ECORRUPT);
	}
}

static void test_too_much(void **state)
{
	struct hp_book_head h = head;
	struct hpdsl_error err;

	(void)state;
	h.node = 2;
	assert_int_equal(
		hp_book_save(&hp_io_system, dir, folder, &h, nodes, &err),
		-EINVAL);
}

static void test_book_faults(void **state)
{
	struct hpdsl_error err;

	(void)state;
	assert_int_equal(save(&hp_io_system), 0);
	for (struct each_fault e = { .code = -EIO }; each_fault(&e);) {
		int r = save(&e.f.io);

		assert_true(r == 0 || r == -EIO);
		assert_int_equal(load_code(&err), 0);
	}
	for (struct each_fault e = { .code = -EIO }; each_fault(&e);) {
		struct hp_book_file *f = NULL;
		int r = hp_book_load(&e.f.io, dir, folder, &f, &err);

		assert_true(r == 0 || r == -EIO);
		hp_book_unload(r == 0 ? f : NULL);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, enter, leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_book),
		TEST(test_book_refused),
		TEST(test_too_much),
		TEST(test_book_faults),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
