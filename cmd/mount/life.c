/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who becomes what.  The server is a process of its own, a grandchild in a
 * session of its own: no child of COMMAND, which this process becomes, so that
 * COMMAND has its number, waits for no stranger, and is in the name spaces
 * alone. The two talk over a socket: the server's status, the descriptor, its
 * status again when the kernel has been answered.  It is the keeper, who begins
 * workers (keep.h).
 */
#include "keep.h"
#include "meet.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- The server ------------------------------------------------------- */

/* Nothing of the command's but where messages go. */
static void leave_all(int *socket)
{
	int null = open("/dev/null", O_RDWR);

	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
	}
	*socket = dup2(*socket, STDERR_FILENO + 1);
	closefrom(STDERR_FILENO + 2);
	fcntl(*socket, F_SETFD, FD_CLOEXEC);
}

static void say_ready(void *arg)
{
	int *socket = arg;

	mount_say(*socket, CMD_DONE);
	close(*socket);
	*socket = -1;
}

static int serve(const struct mount_options *o, const struct mount_meeting *m,
		 int socket)
{
	const int32_t me = getpid();
	struct mount_device d;
	struct mount_keeper k;
	int status;

	leave_all(&socket);
	status = mount_keep_begin(&k, o);
	mount_say(socket, status);
	if (status)
		return status;
	send(socket, &me, sizeof(me), MSG_NOSIGNAL);
	/* That it could not be mounted was told. */
	if (mount_take_device(socket, &d) < 0)
		return CMD_TROUBLE;
	status = mount_keep_run(&k, &d, say_ready, &socket);
	if (*m->name)
		mount_meet_end(m);
	return status;
}

/* The socket to a server that begins; -1: told. */
static int begin(const struct mount_options *o, const struct mount_meeting *m)
{
	int ends[2], status;
	pid_t child = -1;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0)
		child = fork();
	if (child < 0) {
		cmd_message("no process or descriptor for the server: %s",
			    strerror(errno));
		return -1;
	}
	if (child == 0) {
		close(ends[1]);
		setsid();
		child = fork();
		_exit(child == 0 ? serve(o, m, ends[0]) : child < 0);
	}
	close(ends[0]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return ends[1];
}

/* ---- This process ----------------------------------------------------- */

static int tell(const struct hpdsl_error *err)
{
	cmd_message("%s", err->msg);
	return CMD_TROUBLE;
}

static int do_mount(const struct mount_options *o, struct mount_device *ret,
		    struct hpdsl_error *err)
{
	const struct mount_point m = { o->point, o->allow_other };
	int r = o->command ? mount_space_enter(err) : 0;

	if (r < 0)
		return r;
	ret->fd = o->command || geteuid() == 0 ? mount_space_mount(&m, err) :
						 mount_by_helper(&m, err);
	if (ret->fd < 0)
		return ret->fd;
	ret->clone = mount_space_clone(ret->fd);
	return 0;
}

/* The folder may be one that is mounted on now. */
static void come_back(const char *here)
{
	if (here && chdir(here) < 0)
		cmd_warning("%s: %s", here, strerror(errno));
}

static int become(char **command)
{
	execvp(*command, command);
	cmd_message("%s: %s", *command, strerror(errno));
	return errno == ENOENT ? 127 : 126;
}

/* The server's status, and its number; CMD_TROUBLE: it has told. */
static int hear_server(int socket, pid_t *ret)
{
	int status = mount_hear(socket);
	int32_t pid = 0;

	if (status < 0) {
		cmd_message("the server was killed");
		return CMD_TROUBLE;
	}
	if (status)
		return status;
	if (recv(socket, &pid, sizeof(pid), MSG_WAITALL) != sizeof(pid))
		return CMD_TROUBLE;
	*ret = pid;
	return CMD_DONE;
}

/* Is this process in the mount of another one now? */
static bool join(const struct mount_options *o, struct mount_meeting *m)
{
	struct hpdsl_error err;
	int r = mount_meet(o, m, &err);

	if (r == 0)
		r = mount_meet_join(m, &err);
	if (r < 0) {
		/* without a name there is nothing to mount, as is told then */
		if (*m->name)
			cmd_warning("%s: mounting for this process alone",
				    err.msg);
		*m->name = '\0';
	}
	return r > 0;
}

/* Mounted, and answering: an exit status. */
static int mount_here(const struct mount_options *o, struct mount_meeting *m)
{
	int socket = begin(o, m), status, r;
	struct mount_device d;
	struct hpdsl_error err;
	pid_t server = 0;

	if (socket < 0)
		return CMD_TROUBLE;
	status = hear_server(socket, &server);
	if (status)
		return status;
	if (do_mount(o, &d, &err) < 0)
		return tell(&err);
	r = mount_send_device(socket, &d);
	close(d.fd);
	if (d.clone >= 0)
		close(d.clone);
	if (r < 0 || mount_hear(socket)) {
		cmd_message("%s: the server ended early", o->point);
		return CMD_TROUBLE;
	}
	close(socket);
	if (*m->name && mount_meet_add(m, server, &err) < 0)
		cmd_warning("%s: others cannot join", err.msg);
	return CMD_DONE;
}

int mount_run(const struct mount_options *o)
{
	cmd_auto_free char *here = getcwd(NULL, 0);
	struct mount_meeting m = { .file = -1 };

	if (o->command && !o->join && mount_is_first_of_several())
		cmd_warning("several processes of this node mount it, each "
			    "with a page cache of its own; --join shares one");
	if (!o->join || !join(o, &m)) {
		int status = mount_here(o, &m);

		if (status && *m.name) {
			close(m.file);
			mount_meet_end(&m);
		}
		if (status || !o->command)
			return status;
	}
	come_back(here);
	return become(o->command);
}

/* ---- In the foreground ------------------------------------------------ */

int mount_foreground(const struct mount_options *o)
{
	struct mount_device d;
	struct hpdsl_error err;
	struct mount_keeper k;
	int status = mount_keep_begin(&k, o);

	if (status)
		return status;
	if (do_mount(o, &d, &err) < 0)
		return tell(&err);
	return mount_keep_run(&k, &d, NULL, NULL);
}
