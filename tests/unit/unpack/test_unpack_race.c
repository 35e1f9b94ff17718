/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl_unpack while somebody writes the index that it has mapped: between two
 * system calls of its own, so that each attack meets the same moment always.
 */
#include "packed.h"
#include "sys/io.h"
#include "unpack/restore.h"

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct packed packed;
static char back[128];

static int begin(void **state)
{
	(void)state;
	packed_begin(&packed);
	snprintf(back, sizeof back, "%s/back", packed.top);
	return 0;
}

static int end(void **state)
{
	(void)state;
	packed_end(&packed);
	return 0;
}

/* Names in the fixture's top: nothing but what the test made is there. */
static void nothing_else(void)
{
	DIR *d = opendir(packed.top);
	struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL)
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") &&
		    strcmp(e->d_name, "tree") && strcmp(e->d_name, "out") &&
		    strcmp(e->d_name, "back"))
			fail_msg("there is '%s'", e->d_name);
	closedir(d);
}

/* ---- The attacker ----------------------------------------------------- */

static struct {
	const char *was, *is; /* a path in the index, what it becomes */
	size_t n;	      /* bytes of it */
	bool armed, done;
} attack;

static void strike(void)
{
	struct stat st;
	char *p, *at;
	int fd;

	if (!attack.armed || attack.done)
		return;
	fd = open(packed_at(&packed, "out/index.hpdsl"), O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		 fd, 0);
	assert_true(p != MAP_FAILED);
	at = memmem(p, (size_t)st.st_size, attack.was, attack.n);
	assert_non_null(at);
	memcpy(at, attack.is, attack.n);
	munmap(p, (size_t)st.st_size);
	close(fd);
	attack.done = true;
}

/* When the contents of a member are read: its path has been looked at. */
static ssize_t strike_at_pread(const struct hp_io *io, int fd, void *buf,
			       size_t n, uint64_t off)
{
	(void)io;
	strike();
	return hp_io_system.pread(&hp_io_system, fd, buf, n, off);
}

/* When its file is complete but for the name. */
static int strike_at_chmod(const struct hp_io *io, int fd, mode_t mode)
{
	(void)io;
	strike();
	return hp_io_system.chmod(&hp_io_system, fd, mode);
}

/* Whatever comes of it, all that is written is below back. */
static void unpack_under(const struct hp_io *io)
{
	struct hpdsl_unpack_options opt = { .threads = HPDSL_SERIAL,
					    .watch.io = io };
	struct hpdsl_unpack_report report;
	struct hpdsl_dataset *ds;
	struct hpdsl_error err;

	packed_file(&packed, "aa/x", 100, 0644, 0, 0);
	packed_file(&packed, "bb/outer/y", 100, 0644, 0, 0);
	packed_pack(&packed,
		    (struct hpdsl_pack_options){
			    .chunks = 1, .shuffle = HPDSL_SHUFFLE_NONE });
	attack.armed = attack.done = false;
	assert_int_equal(hpdsl_open(packed.out, io, &ds, &err), 0);
	attack.armed = true;
	hpdsl_unpack(ds, back, &opt, &report, &err);
	hpdsl_close(ds);
	assert_true(attack.done);
	nothing_else();
}

static void test_path_turned(void **state)
{
	struct hp_io io = hp_io_system;

	(void)state;
	attack.was = "aa/x";
	attack.is = "../x";
	attack.n = 5;
	io.pread = strike_at_pread;
	unpack_under(&io);
}

/* The NUL behind the path goes, and with it where its last name ends. */
static void test_end_moved(void **state)
{
	struct hp_io io = hp_io_system;

	(void)state;
	attack.was = "aa/x\0bb/out";
	attack.is = "aa/../../y";
	attack.n = 11;
	io.chmod = strike_at_chmod;
	unpack_under(&io);
}

/* ---- What restores ---------------------------------------------------- */

static int restore_len(int root, const char *path, size_t len)
{
	struct hpdsl_member m = { .path = path, .path_len = len, .mode = 0644 };
	struct hpdsl_error err;
	struct hp_restore place;
	int r;

	hp_restore_init(&place, &hp_io_system, root);
	r = hp_restore_open(&place, &m, &err);
	if (r == 0)
		r = hp_restore_commit(&place, &m, &err);
	hp_restore_release(&place);
	return r;
}

static int restore(int root, const char *path)
{
	return restore_len(root, path, strlen(path));
}

static int open_back(void)
{
	int root;

	assert_int_equal(mkdir(back, 0777), 0);
	root = open(back, O_RDONLY | O_DIRECTORY);
	assert_true(root >= 0);
	return root;
}

static void test_bad_paths(void **state)
{
	const char *const bad[] = { "../x",  "/tmp/x", "a/../../x", "a//x",
				    "a/./x", "a/x/",   "..",	    "" };
	int root = open_back();

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(restore(root, bad[i]), -EINVAL);
	assert_int_equal(rmdir(back), 0);
	close(root);
	nothing_else();
}

static void test_length(void **state)
{
	const size_t len = 60000;
	char *path = malloc(len + 1);
	int root = open_back();

	(void)state;
	assert_non_null(path);
	memset(path, 'a', len);
	path[len] = '\0';
	path[len - 2] = '/';
	assert_int_equal(restore_len(root, path, len), -EINVAL);
	free(path);
	close(root);
}

/* ---- Beneath a directory ---------------------------------------------- */

static int try_beneath(int dir, const char *name)
{
	int fd = hp_io_system.open(&hp_io_system, dir, name,
				   O_RDONLY | HP_O_BENEATH, 0);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static int names_hold(int root)
{
	return try_beneath(root, "in/f") == 0 &&
	       try_beneath(root, "in..f/..f") == 0 &&
	       try_beneath(root, "in") == 0 &&
	       try_beneath(root, "..") == -EXDEV &&
	       try_beneath(root, "in/../../out") == -EXDEV &&
	       try_beneath(root, "/etc") == -EXDEV &&
	       restore(root, "made/by/restore") == 0 &&
	       restore(root, "../x") == -EINVAL;
}

static int make_tree(void)
{
	int root = open_back();

	packed_put(packed_at(&packed, "back/f"), "x", 1);
	assert_int_equal(mkdirat(root, "in", 0777), 0);
	assert_int_equal(mkdirat(root, "in..f", 0777), 0);
	packed_put(packed_at(&packed, "back/in/f"), "x", 1);
	packed_put(packed_at(&packed, "back/in..f/..f"), "x", 1);
	assert_int_equal(symlinkat("in/f", root, "within"), 0);
	assert_int_equal(symlinkat("..", root, "up"), 0);
	assert_int_equal(symlinkat("/", root, "top"), 0);
	return root;
}

static bool has_openat2(void)
{
	return syscall(SYS_openat2, -1, NULL, NULL, 0) < 0 && errno == EINVAL;
}

static void test_beneath(void **state)
{
	int root = make_tree();

	(void)state;
	assert_true(names_hold(root));
	assert_int_equal(try_beneath(root, "within"), 0);
	if (has_openat2()) {
		assert_int_equal(try_beneath(root, "up/back"), -EXDEV);
		assert_int_equal(try_beneath(root, "top/etc"), -EXDEV);
	}
	close(root);
	nothing_else();
}

/* In a child, which does not come back: is openat2 refused with code now? */
static bool without_openat2(int code)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)code),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof f / sizeof *f, f };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0 &&
	       syscall(SYS_openat2, -1, NULL, NULL, 0) < 0 && errno == code;
}

/* 0: it held; 77: it could not be tried. */
static int try_without(int root, int code)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(!without_openat2(code) ? 77 : names_hold(root) ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void test_fallback(void **state)
{
	const int codes[] = { ENOSYS, EPERM };
	int root = make_tree(), status = 0;

	(void)state;
	for (size_t i = 0; i < 2 && status != 77; i++) {
		status = try_without(root, codes[i]);
		assert_true(status == 0 || status == 77);
		assert_int_equal(unlinkat(root, "made/by/restore", 0),
				 status ? -1 : 0);
	}
	close(root);
	nothing_else();
	if (status == 77)
		skip(); /* no seccomp filters here */
}

#define HERE(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(test_path_turned), HERE(test_end_moved),
		HERE(test_bad_paths),	HERE(test_length),
		HERE(test_beneath),	HERE(test_fallback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
