/* SPDX-License-Identifier: Apache-2.0 */
/* What is in the page cache, where the kernel says so and where it does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io.h"

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

enum { SIZE = 1 << 20, CANNOT = 77 };

/* A file that has just been written, and so is in the page cache. */
static int make_file(void)
{
	static char bytes[SIZE];
	char name[] = "/tmp/test_cached.XXXXXX";
	int fd = mkstemp(name);

	assert_true(fd >= 0);
	unlink(name);
	assert_int_equal(write(fd, bytes, SIZE), SIZE);
	return fd;
}

static int64_t cached(int fd)
{
	return hp_io_system_cached(NULL, fd, 0, SIZE);
}

/* From now on, for this process. */
static void answer(uint32_t what)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_cachestat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, what),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = sizeof f / sizeof *f, .filter = f };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0)
		_exit(CANNOT);
}

/*
 * How a process ends for which cachestat(2) fails, and who asks a second time
 * is killed.
 */
static int ask_twice(int fd, uint32_t error)
{
	static const struct rlimit no_core;
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child) {
		int64_t first;

		setrlimit(RLIMIT_CORE, &no_core);
		answer(SECCOMP_RET_ERRNO | error);
		first = cached(fd);
		answer(SECCOMP_RET_KILL_PROCESS);
		_exit(cached(fd) == first ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT)
		skip();
	return status;
}

static void a_kernel_without_it_is_asked_once(void **state)
{
	int fd = make_file();

	(void)state;
	assert_int_equal(ask_twice(fd, ENOSYS), 0);
	close(fd);
}

/* Which may be a matter of the file. */
static void one_that_refuses_is_asked_again(void **state)
{
	int fd = make_file(), status = ask_twice(fd, EPERM);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
	close(fd);
}

static void what_was_written_is_there(void **state)
{
	int fd = make_file();

	(void)state;
	if (cached(fd) < 0) /* an old kernel and a tmpfs */
		skip();
	assert_int_equal(cached(fd), SIZE);
	assert_int_equal(hp_io_system_cached(NULL, fd, 0, 0), 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kernel_without_it_is_asked_once),
		cmocka_unit_test(one_that_refuses_is_asked_again),
		cmocka_unit_test(what_was_written_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
