/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads that carry requests.  To the job's nodes two, each with its
 * share of the connections, which wait for no disk: what the page cache has not
 * got is read by other threads.
 * To tools of this node one a connection: what is not here is fetched in it.
 */
#include "http.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	THREADS = 2,
	MEMORY = 8 << 10, /* bytes for a request's header */
	TOOLS = 64,	  /* connections of them */
	NICE = 5,
};

struct serve_http {
	struct serve_listen listen;
	struct serve_door nodes, tools;
};

static int fail(struct hpdsl_error *err, int code, const char *what)
{
	err->code = code;
	snprintf(err->msg, sizeof err->msg, "cannot serve %s: %s", what,
		 strerror(-code));
	return code;
}

/* Who could not begin may have closed it, or not: by version. */
static void close_own(int mine, int fd)
{
	struct stat a, b;

	if (fstat(mine, &a) == 0 && fstat(fd, &b) == 0 &&
	    a.st_dev == b.st_dev && a.st_ino == b.st_ino)
		close(mine);
}

/* A descriptor that the daemon may close. */
static int own(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return fd < 0 ? -errno : fd;
}

static struct MHD_Daemon *start(struct serve_door *d, int fd)
{
	unsigned flags = d->local ? MHD_USE_THREAD_PER_CONNECTION |
					    MHD_USE_INTERNAL_POLLING_THREAD |
					    MHD_USE_POLL :
				    MHD_USE_EPOLL_INTERNAL_THREAD |
					    MHD_ALLOW_SUSPEND_RESUME;

	return MHD_start_daemon(
		flags, 0, guard_policy, &d->guard, answer_request, d,
		MHD_OPTION_LISTEN_SOCKET, (MHD_socket)fd,
		MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)(d->local ? TOOLS : SERVE_CONNECTIONS),
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)SERVE_UNUSED,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_CONNECTION,
		guard_notify, &d->guard, MHD_OPTION_URI_LOG_CALLBACK,
		answer_begin, d, MHD_OPTION_NOTIFY_COMPLETED, answer_end, d,
		d->local ? MHD_OPTION_END : MHD_OPTION_THREAD_POOL_SIZE,
		(unsigned)THREADS, MHD_OPTION_END);
}

static int begin_threads(struct serve_door *d)
{
	int r = guard_begin(&d->guard, d->s, d->local);

	if (r < 0)
		return r;
	r = pacer_begin(&d->pacer);
	if (r < 0) {
		guard_end(&d->guard);
		return r;
	}
	r = d->local ? 0 : readers_begin(&d->readers);
	if (r < 0) {
		pacer_quit(&d->pacer);
		pacer_end(&d->pacer);
		guard_end(&d->guard);
	}
	return r;
}

/* All are awake when it returns. */
static void quit_threads(struct serve_door *d)
{
	pacer_quit(&d->pacer);
	if (!d->local)
		readers_quit(&d->readers);
}

static void end_threads(struct serve_door *d)
{
	if (!d->local)
		readers_end(&d->readers);
	pacer_end(&d->pacer);
	guard_end(&d->guard);
}

static int open_door(struct serve_door *d, struct serve_http *h,
		     struct hpdsl_serve *s, int fd, bool local)
{
	int mine, r;

	d->s = s;
	d->listen = &h->listen;
	d->local = local;
	mine = own(fd);
	if (mine < 0)
		return mine;
	r = begin_threads(d);
	if (r < 0) {
		close(mine);
		return r;
	}
	d->daemon = start(d, mine);
	if (d->daemon)
		return 0;
	r = errno ? -errno : -ENOMEM;
	quit_threads(d);
	end_threads(d);
	close_own(mine, fd);
	return r;
}

static void close_door(struct serve_door *d)
{
	if (!d->daemon)
		return;
	/* One that waits would wait for ever. */
	hpdsl_serve_quit(d->s);
	quit_threads(d);
	MHD_stop_daemon(d->daemon);
	end_threads(d);
}

int serve_http_start(struct serve_http **ret, struct hpdsl_serve *s,
		     const struct serve_listen *what, struct hpdsl_error *err)
{
	struct serve_http *h = cmd_alloc(1, sizeof *h);
	int r = 0;

	h->listen = *what;
	/* Training comes first.  Its threads have it from this one. */
	setpriority(PRIO_PROCESS, 0, NICE);
	if (what->unix_fd >= 0)
		r = open_door(&h->tools, h, s, what->unix_fd, true);
	if (r < 0)
		fail(err, r, "tools of this node");
	if (r == 0 && what->tcp_fd >= 0) {
		r = open_door(&h->nodes, h, s, what->tcp_fd, false);
		if (r < 0)
			fail(err, r, "other nodes");
	}
	if (r == 0)
		*ret = h;
	else
		serve_http_stop(h);
	return r;
}

void serve_http_stop(struct serve_http *h)
{
	if (!h)
		return;
	close_door(&h->nodes);
	close_door(&h->tools);
	free(h);
}
