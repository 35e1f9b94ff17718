/* SPDX-License-Identifier: Apache-2.0 */
/* Which ways to mount work here, each tried, in a child that leaves nothing. */
#include "mount.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void show(const char *way, bool works, const char *why)
{
	cmd_print("%-12s %-4s %s\n", way, works ? "yes" : "no", why);
}

/* As with COMMAND: in name spaces that are gone with the child. */
static bool try_command(char *why, size_t room)
{
	const struct mount_point m = { .path = "/" };
	struct hpdsl_error err = { 0 };
	int ends[2], status = 0;
	ssize_t n = 0;
	pid_t child = -1;

	if (pipe(ends) == 0)
		child = fork();
	if (child == 0) {
		if (mount_space_enter(&err) == 0 &&
		    mount_space_mount(&m, &err) >= 0)
			_exit(0);
		if (write(ends[1], err.msg, strlen(err.msg)) < 0)
			_exit(2);
		_exit(1);
	}
	if (child < 0) {
		snprintf(why, room, "%s", strerror(errno));
		return false;
	}
	close(ends[1]);
	n = read(ends[0], why, room - 1);
	close(ends[0]);
	why[n > 0 ? n : 0] = '\0';
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The first of that name in PATH; false: there is none. */
static bool find(const char *name, char *ret, size_t room)
{
	const char *path = getenv("PATH"), *at = path ? path : "/bin:/usr/bin";

	for (;;) {
		size_t n = strcspn(at, ":");

		snprintf(ret, room, "%.*s/%s", (int)n, at, name);
		if (access(ret, X_OK) == 0)
			return true;
		if (!at[n])
			return false;
		at += n + 1;
	}
}

static bool try_helper(char *why, size_t room)
{
	char file[4096];
	struct stat st;

	if (!find("fusermount3", file, sizeof(file)) &&
	    !find("fusermount", file, sizeof(file))) {
		snprintf(why, room,
			 "neither fusermount3 nor fusermount is "
			 "here");
		return false;
	}
	if (stat(file, &st) < 0 || !(st.st_mode & S_ISUID) || st.st_uid) {
		snprintf(why, room, "%s is not setuid root", file);
		return false;
	}
	if (access("/dev/fuse", R_OK | W_OK) < 0) {
		snprintf(why, room, "/dev/fuse: %s", strerror(errno));
		return false;
	}
	snprintf(why, room, "%s", file);
	return true;
}

int mount_check(void)
{
	char why[4200];
	bool command, other;

	cmd_output_start();
	command = try_command(why, sizeof(why));
	show("-- COMMAND", command,
	     command ? "a mount of the command's own, gone with it" : why);
	if (geteuid() == 0) {
		/* It was tried just now, where nobody saw it. */
		other = command;
		show("root", other, other ? "mount(2)" : why);
	} else {
		other = try_helper(why, sizeof(why));
		show("fusermount3", other, why);
	}
	return command || other ? CMD_DONE : CMD_NO;
}
