/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a snapshot answers costs neither a system call nor memory.  That no call
 * is made is held by the kernel: the reader is a process that may do nothing
 * but exit.
 */
#include "snap_file.h"
#include "wrap.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED
#endif

static struct hpdsl_snapshot *open_it(const struct snap_file *f)
{
	struct hpdsl_snapshot *s = NULL;
	struct hpdsl_error err;

	assert_int_equal(hpdsl_snapshot_open(f->path, 0, NULL, &s, &err), 0);
	return s;
}

static void test_no_allocation(void **state)
{
	struct snap_file *f = *state;
	struct hpdsl_snapshot *s = open_it(f);

	wrap_fail_at(1, true);
	snap_file_read(f, s, 0);
	assert_int_equal(wrap_count(), 0);
	wrap_fail_at(0, false);
	hpdsl_snapshot_close(s);
}

#ifndef SANITIZED
/* From here on any system call but the last one ends the process. */
static int nothing_but_exit(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof code / sizeof *code, code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* Runs it so restricted; the status that it ended with. */
static int confined(const struct snap_file *f, bool calls)
{
	struct hpdsl_snapshot *s = open_it(f);
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (nothing_but_exit() < 0)
			_exit(77);
		if (calls)
			getppid();
		snap_file_read(f, s, 1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	hpdsl_snapshot_close(s);
	return status;
}

static void test_no_system_call(void **state)
{
	struct snap_file *f = *state;
	int status = confined(f, false);

	if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
		print_message("# no seccomp filters here\n");
		skip();
	}
	assert_int_equal(status, 0);
	/* The net does catch something. */
	assert_true(WIFSIGNALED(confined(f, true)));
}
#endif

static int make(void **state)
{
	static struct snap_file f;

	snap_file_make(&f, 30, 1000);
	*state = &f;
	return 0;
}

static int unmake(void **state)
{
	snap_file_remove(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_allocation),
#ifndef SANITIZED
		cmocka_unit_test(test_no_system_call),
#endif
	};

	return cmocka_run_group_tests(tests, make, unmake);
}
