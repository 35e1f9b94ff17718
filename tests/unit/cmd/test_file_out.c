/* SPDX-License-Identifier: Apache-2.0 */
/* Small files that commands leave: whole, whoever else writes them. */
#include "cmd/common/file_out.c"
#include "tmp.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* What it needs of the other files. */
void cmd_no_memory(void)
{
	abort();
}

int cmd_parse_count(const char *s, uint64_t *ret)
{
	char *end;

	*ret = strtoull(s, &end, 10);
	return end == s || *end ? -1 : 0;
}

/* ---- A folder of its own ---------------------------------------------- */

static char folder[TMP_NAME];

static int enter_folder(void **state)
{
	(void)state;
	return tmp_folder(folder, sizeof folder, "file") && !chdir(folder) ? 0 :
									     -1;
}

static int leave_folder(void **state)
{
	(void)state;
	return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static void put(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void holds(const char *name, const char *text)
{
	char buf[200] = "";
	FILE *f = fopen(name, "r");

	assert_non_null(f);
	(void)!fread(buf, 1, sizeof(buf) - 1, f);
	fclose(f);
	assert_string_equal(buf, text);
}

static void begin(struct cmd_file *f, const char *name, const char *text)
{
	struct hpdsl_error err;

	assert_int_equal(cmd_file_try(name, &err), 0);
	assert_int_equal(cmd_file_open(f, name, &err), 0);
	assert_true(fputs(text, f->out) >= 0);
}

/* ---- Tests ------------------------------------------------------------ */

static void two_at_once(void **state)
{
	struct hpdsl_error err;
	struct cmd_file a, b;

	(void)state;
	put("r", "before");
	begin(&a, "r", "the first one, which ends last");
	begin(&b, "r", "the second one");
	holds("r", "before");
	assert_int_equal(cmd_file_close(&b, &err), 0);
	holds("r", "the second one");
	assert_int_equal(cmd_file_close(&a, &err), 0);
	holds("r", "the first one, which ends last");
	unlink("r"); /* and leave_folder: nothing else is there */
}

static void mode_is_kept(void **state)
{
	struct hpdsl_error err;
	struct cmd_file f;
	struct stat st;

	(void)state;
	umask(022);
	put("r", "private");
	assert_int_equal(chmod("r", 0640), 0);
	begin(&f, "r", "new");
	assert_int_equal(cmd_file_close(&f, &err), 0);
	assert_int_equal(stat("r", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0640);
	unlink("r");
	begin(&f, "r", "new");
	assert_int_equal(cmd_file_close(&f, &err), 0);
	assert_int_equal(stat("r", &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	unlink("r");
}

static void long_name(void **state)
{
	struct hpdsl_error err;
	char name[NAME_MAX + 2];
	struct cmd_file f;

	(void)state;
	memset(name, 'n', sizeof(name));
	name[NAME_MAX] = '\0';
	begin(&f, name, "long");
	assert_int_equal(strlen(f.temporary), NAME_MAX);
	assert_int_equal(cmd_file_close(&f, &err), 0);
	holds(name, "long");
	unlink(name);
	name[NAME_MAX] = 'n';
	name[NAME_MAX + 1] = '\0';
	assert_int_equal(cmd_file_try(name, &err), -ENAMETOOLONG);
}

/* The link stays, and the file that it leads to is replaced. */
static void own_link(void **state)
{
	struct hpdsl_error err;
	struct cmd_file f;
	char text[10];

	(void)state;
	assert_int_equal(mkdir("d", 0777), 0);
	assert_int_equal(symlink("d/to", "r"), 0);
	assert_int_equal(symlink("../file", "d/to"), 0);
	begin(&f, "r", "made");
	assert_int_equal(cmd_file_close(&f, &err), 0);
	holds("file", "made");
	begin(&f, "r", "replaced");
	holds("file", "made");
	assert_int_equal(cmd_file_close(&f, &err), 0);
	holds("file", "replaced");
	assert_int_equal(readlink("r", text, sizeof(text)), 4);
	assert_int_equal(unlink("file") | unlink("r") | unlink("d/to"), 0);
	assert_int_equal(rmdir("d"), 0);
	assert_int_equal(symlink("r", "r"), 0);
	assert_int_equal(cmd_file_try("r", &err), -ELOOP);
	unlink("r");
}

/* What is open goes on where it is, as a descriptor that is inherited. */
static void open_already(void **state)
{
	struct hpdsl_error err;
	struct cmd_file f;
	char name[40];
	int fd = open("log", O_WRONLY | O_CREAT, 0666);

	(void)state;
	assert_true(fd >= 0 && write(fd, "one\n", 4) == 4);
	snprintf(name, sizeof(name), "/dev/fd/%d", fd);
	begin(&f, name, "two\n");
	assert_int_equal(cmd_file_close(&f, &err), 0);
	assert_int_equal(write(fd, "three\n", 6), 6);
	close(fd);
	holds("log", "one\ntwo\nthree\n");
	unlink("log");
}

static void others_link(void **state)
{
	const uid_t other = geteuid() + 1;
	struct hpdsl_error err;
	struct cmd_file f;
	char want[100];

	(void)state;
	put("theirs", "precious");
	assert_int_equal(symlink("theirs", "r"), 0);
	if (lchown("r", other, (gid_t)-1) < 0) { /* not root */
		unlink("r");
		unlink("theirs");
		skip();
	}
	snprintf(want, sizeof(want),
		 "r: is a symbolic link of another user (number %u)",
		 (unsigned)other);
	assert_int_equal(cmd_file_try("r", &err), -ELOOP);
	assert_non_null(strstr(err.msg, want));
	assert_int_equal(cmd_file_open(&f, "r", &err), -ELOOP);
	holds("theirs", "precious");
	unlink("r");
	unlink("theirs");
}

static void others_pipe(void **state)
{
	struct hpdsl_error err;
	struct cmd_file f;

	(void)state;
	assert_int_equal(mkdir("d", 0777) | mkfifo("d/r", 0666), 0);
	if (chown("d/r", 65534, 65534) == 0) {
		assert_int_equal(cmd_file_try("d/r", &err), 0);
		assert_int_equal(chmod("d", 01777), 0);
		assert_int_equal(cmd_file_try("d/r", &err), -EPERM);
		assert_int_equal(cmd_file_open(&f, "d/r", &err), -EPERM);
		assert_int_equal(chown("d/r", geteuid(), getegid()), 0);
	}
	assert_int_equal(chmod("d", 01777), 0);
	assert_int_equal(cmd_file_try("d/r", &err), 0);
	assert_int_equal(unlink("d/r") | rmdir("d"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_at_once),	cmocka_unit_test(mode_is_kept),
		cmocka_unit_test(long_name),	cmocka_unit_test(own_link),
		cmocka_unit_test(open_already), cmocka_unit_test(others_link),
		cmocka_unit_test(others_pipe),
	};

	return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
