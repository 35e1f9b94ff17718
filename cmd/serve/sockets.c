/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets that listen, and one that asks. */
#include "life.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define BACKLOG 4096
#define SWEEP_AFTER 60 /* seconds */

static int fail(const char *what, int code, const char *why,
		struct hpdsl_error *err)
{
	err->code = code;
	snprintf(err->msg, sizeof(err->msg), "%.800s: %s", what, why);
	return code;
}

/* ---- The Unix socket -------------------------------------------------- */

/* The folder that the socket is in, to be closed, and its name there. */
static int open_folder(const struct serve_place *p, bool make,
		       const char **ret_name, struct hpdsl_error *err)
{
	const char *slash = strrchr(p->socket, '/');
	char folder[sizeof(p->socket)];
	int dir;

	*ret_name = slash + 1;
	if (p->elsewhere) {
		snprintf(folder, sizeof(folder), "%.*s",
			 (int)(slash - p->socket), p->socket);
		return cmd_own_folder(folder, make, err);
	}
	dir = fcntl(p->dir, F_DUPFD_CLOEXEC, 3);
	return dir < 0 ? fail(p->path, -errno, strerror(errno), err) : dir;
}

/* By the folder that is open, whatever its path has become meanwhile. */
static struct sockaddr_un address(int dir, const char *name)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/%.64s", dir,
		 name);
	return a;
}

/* What a dead server has left goes; what is no socket of ours stays. */
static int clear(const struct serve_place *p, int dir, const char *name,
		 struct hpdsl_error *err)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ?
			       0 :
			       fail(p->socket, -errno, strerror(errno), err);
	if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
		return fail(p->socket, HPDSL_ENOTOURS,
			    "is there, and no socket of this user", err);
	if (unlinkat(dir, name, 0) < 0 && errno != ENOENT)
		return fail(p->socket, -errno, strerror(errno), err);
	return 0;
}

/* Does nobody listen there any more? */
static bool is_dead(int dir, const char *name)
{
	struct sockaddr_un a = address(dir, name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool dead = fd >= 0 &&
		    connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0 &&
		    errno == ECONNREFUSED;

	if (fd >= 0)
		close(fd);
	return dead;
}

/* As place.c calls them: hpdsl-mount has others in that folder. */
static bool is_ours(const char *name)
{
	return strcmp(name + strspn(name, "0123456789abcdef-"), ".sock") == 0;
}

/*
 * Sockets of servers that were killed, whose directories have gone since, so
 * that nobody else takes them away.  One that was just made may not listen yet.
 */
static void sweep(int dir)
{
	const time_t old = time(NULL) - SWEEP_AFTER;
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *all = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *d;
	struct stat st;

	if (!all) {
		if (copy >= 0)
			close(copy);
		return;
	}
	while ((d = readdir(all)))
		if (is_ours(d->d_name) &&
		    fstatat(dir, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISSOCK(st.st_mode) && st.st_mtime < old &&
		    is_dead(dir, d->d_name))
			unlinkat(dir, d->d_name, 0);
	closedir(all);
}

static int listen_at(const struct serve_place *p, int dir, const char *name,
		     struct hpdsl_error *err)
{
	struct sockaddr_un a = address(dir, name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), r;
	mode_t was;

	if (fd < 0)
		return fail(p->socket, -errno, strerror(errno), err);
	/* nobody else's for an instant either */
	was = umask(0177);
	r = bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ? -errno : 0;
	umask(was);
	if (r == 0 && listen(fd, BACKLOG) < 0)
		r = -errno;
	if (r == 0)
		return fd;
	close(fd);
	return fail(p->socket, r, strerror(-r), err);
}

int serve_unix_listen(struct serve_place *p, struct hpdsl_error *err)
{
	const char *name;
	int dir = open_folder(p, true, &name, err), r;
	struct stat st;

	if (dir < 0)
		return dir;
	r = clear(p, dir, name, err);
	if (p->elsewhere)
		sweep(dir);
	if (r == 0)
		r = listen_at(p, dir, name, err);
	if (r >= 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		p->socket_dev = st.st_dev;
		p->socket_ino = st.st_ino;
	}
	close(dir);
	return r;
}

void serve_unix_remove(const struct serve_place *p)
{
	struct hpdsl_error err;
	const char *name;
	int dir = open_folder(p, false, &name, &err);
	struct stat st;

	if (dir < 0)
		return;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_dev == p->socket_dev && st.st_ino == p->socket_ino)
		unlinkat(dir, name, 0);
	close(dir);
}

static int check_peer(const struct serve_place *p, int fd, pid_t *ret_pid,
		      struct hpdsl_error *err)
{
	struct ucred who;
	socklen_t n = sizeof(who);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0)
		return fail(p->socket, -errno, strerror(errno), err);
	if (who.uid != geteuid())
		return fail(p->socket, -EPERM, "is another user's", err);
	*ret_pid = who.pid;
	return 0;
}

int serve_unix_connect(const struct serve_place *p, int seconds, pid_t *ret_pid,
		       struct hpdsl_error *err)
{
	const struct timeval limit = { .tv_sec = seconds };
	const char *name;
	int dir = open_folder(p, false, &name, err), fd, r;
	struct sockaddr_un a;

	if (dir < 0)
		return dir;
	a = address(dir, name);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) <
		    0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) <
		    0 ||
	    connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		r = fail(p->socket, -errno, strerror(errno), err);
	else
		r = check_peer(p, fd, ret_pid, err);
	close(dir);
	if (r == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return r;
}

/* ---- TCP -------------------------------------------------------------- */

/* One for IPv6 and IPv4, or for IPv4 where there is no other. */
static int tcp_socket(bool *six)
{
	static const int on = 1, off = 0;
	const char *control = getenv("HPDSL_TCP_CONGESTION");
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*six = fd >= 0 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off,
				     sizeof(off)) == 0;
	if (!*six) {
		if (fd >= 0)
			close(fd);
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	}
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (control)
		setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, control,
			   (socklen_t)strlen(control));
	return fd;
}

/* A socket that could not be bound is not used again: listen() may be what
 * finds the port taken. */
static int try_port(const uint8_t *ip, uint16_t port)
{
	bool six;
	int fd = tcp_socket(&six), r;
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6,
				   .sin6_port = htons(port) };
	struct sockaddr_in a4 = { .sin_family = AF_INET,
				  .sin_port = htons(port) };

	if (ip) {
		memcpy(&a6.sin6_addr, ip, 16);
		memcpy(&a4.sin_addr, ip + 12, 4);
	}

	if (fd < 0)
		return fd;
	r = six ? bind(fd, (struct sockaddr *)&a6, sizeof(a6)) :
		  bind(fd, (struct sockaddr *)&a4, sizeof(a4));
	if (r < 0 || listen(fd, BACKLOG) < 0) {
		r = -errno;
		close(fd);
		return r;
	}
	return fd;
}

int serve_tcp_listen(const uint8_t *ip, uint16_t first, uint16_t ports,
		     uint16_t *ret_port, struct hpdsl_error *err)
{
	int r = -EADDRINUSE;

	for (uint32_t i = 0; i < ports && first + i <= UINT16_MAX; i++) {
		r = try_port(ip, (uint16_t)(first + i));
		if (r >= 0) {
			*ret_port = (uint16_t)(first + i);
			return r;
		}
	}
	err->code = r;
	snprintf(err->msg, sizeof(err->msg),
		 "ports %d to %d: none can be had: %s", first,
		 first + ports - 1, strerror(-r));
	return r;
}
