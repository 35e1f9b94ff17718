/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fusermount3, or fusermount: a setuid program that mounts for users, and sends
 * the descriptor over a socket whose number it is told in _FUSE_COMMFD.  Its
 * own words about what is wrong go to standard error.
 */
#include "space.h"

#include "common/common.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const helpers[] = { "fusermount3", "fusermount" };

enum { NOT_THERE = 127 };

static void run(const char **argv, int socket)
{
	char number[16];

	if (socket >= 0) {
		int fd = dup(socket); /* without close-on-exec */

		snprintf(number, sizeof(number), "%d", fd);
		setenv("_FUSE_COMMFD", number, 1);
	}
	for (size_t i = 0; i < sizeof(helpers) / sizeof(*helpers); i++) {
		argv[0] = helpers[i];
		execvp(helpers[i], (char *const *)argv);
	}
	_exit(NOT_THERE);
}

/* Its exit status, or -errno. */
static int run_and_wait(const char **argv, int socket)
{
	pid_t child;
	int status;

	/* Ignored, as it may be by whoever began this, there is no status. */
	signal(SIGCHLD, SIG_DFL);
	child = fork();

	if (child < 0)
		return -errno;
	if (child == 0)
		run(argv, socket);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int failed(int status, const char *path, struct hpdsl_error *err)
{
	if (status == NOT_THERE) {
		snprintf(err->msg, sizeof(err->msg),
			 "%s: neither fusermount3 nor fusermount is here",
			 path);
		return err->code = -ENOENT;
	}
	snprintf(err->msg, sizeof(err->msg), "%s: %s", path,
		 status < 0 ? strerror(-status) : "fusermount3 failed");
	return err->code = status < 0 ? status : -EPERM;
}

int mount_by_helper(const struct mount_point *m, struct hpdsl_error *err)
{
	const char *argv[] = {
		NULL,
		"-o",
		m->allow_other ?
			"ro,nosuid,nodev,default_permissions,fsname=hpdsl,"
			"subtype=hpdsl,allow_other" :
			"ro,nosuid,nodev,default_permissions,fsname=hpdsl,"
			"subtype=hpdsl",
		"--",
		m->path,
		NULL
	};
	struct mount_device d = { -1, -1 };
	int ends[2], status, r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return failed(-errno, m->path, err);
	status = run_and_wait(argv, ends[0]);
	close(ends[0]);
	r = status == 0 ? mount_take_device(ends[1], &d) : status;
	close(ends[1]);
	return r ? failed(r, m->path, err) : d.fd;
}

int mount_undo_by_helper(const char *path, struct hpdsl_error *err)
{
	const char *argv[] = { NULL, "-u", "-z", "--", path, NULL };
	int status = run_and_wait(argv, -1);

	return status ? failed(status, path, err) : 0;
}
