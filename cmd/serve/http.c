/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads that carry requests.  To the job's nodes eight, each with its
 * share of the connections; what the page cache has not got is read from the
 * SSD in these threads, so that they are as many as an SSD needs to be busy.
 * To tools of this node one a connection: what is not here is fetched in it.
 */
#include "http.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
	THREADS = 8,
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
	r = guard_begin(&d->guard, s, local);
	if (r < 0) {
		close(mine);
		return r;
	}
	d->daemon = start(d, mine);
	if (d->daemon)
		return 0;
	r = errno ? -errno : -ENOMEM;
	guard_end(&d->guard);
	close(mine);
	return r;
}

static void close_door(struct serve_door *d)
{
	if (!d->daemon)
		return;
	/* One that waits would wait for ever. */
	if (!d->local)
		hpdsl_serve_quit(d->s);
	MHD_stop_daemon(d->daemon);
	guard_end(&d->guard);
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
