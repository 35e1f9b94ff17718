/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's side: a thread that serves nothing else, and wakes now and then
 * where there are metrics to be written.
 */
#include "status.h"

#include "meet.h"
#include "mount.h"
#include "status_socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOOK_MS = 1000 };

/* Who asks nothing is not waited for. */
static void limit(int fd)
{
	const struct timeval second = { 1, 0 };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof(second));
}

/* All that is asked: how, and of which directory; false: nothing sound. */
static bool hear(int fd, char *ret, size_t cap)
{
	size_t n = 0;

	while (n < cap) {
		ssize_t r = recv(fd, ret + n, cap - n, 0);

		if (r == 0) {
			ret[n] = '\0';
			return n > 0;
		}
		if (r < 0 && errno != EINTR)
			return false;
		n += r > 0 ? (size_t)r : 0;
	}
	return false;
}

static void tell(int fd, const char *text, size_t n)
{
	while (n) {
		ssize_t r = send(fd, text, n, MSG_NOSIGNAL);

		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			return;
		text += r;
		n -= (size_t)r;
	}
}

static void answer(const struct mount_status *s, int fd)
{
	char asked[MOUNT_ASKED_MOST];
	cmd_auto_free char *text = NULL;
	size_t n;
	FILE *out;

	limit(fd);
	if (!hear(fd, asked, sizeof(asked)) ||
	    (asked[1] && strcmp(asked + 1, s->o->place) != 0))
		return;
	out = open_memstream(&text, &n);
	if (!out)
		return;
	mount_status_put(s, *asked == MOUNT_ASK_JSON, out);
	if (fclose(out) == 0)
		tell(fd, text, n);
}

/* Somebody asks, or it was shut down. */
static void wait_for_asker(const struct mount_status *s)
{
	struct pollfd p = { .fd = s->socket, .events = POLLIN };

	while (poll(&p, 1, LOOK_MS) <= 0)
		mount_metrics_look(&s->metrics, s->slots);
	mount_metrics_look(&s->metrics, s->slots);
}

static void *thread(void *arg)
{
	const struct mount_status *s = arg;

	for (;;) {
		int fd;

		if (s->metrics.m)
			wait_for_asker(s);
		fd = accept4(s->socket, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0) {
			answer(s, fd);
			close(fd);
		} else if (errno == EINVAL) { /* it was shut down */
			return NULL;
		} else if (errno != EINTR && errno != ECONNABORTED) {
			sleep(1); /* no descriptors, say */
		}
	}
}

/* What it is called before it listens. */
static void early_name(const char *name, char ret[80])
{
	snprintf(ret, 80, ".%s", name);
}

static void forget(const struct mount_status *s, int dir)
{
	char before[80];

	if (!*s->slots->socket)
		return;
	early_name(s->slots->socket, before);
	unlinkat(dir, before, 0);
	unlinkat(dir, s->slots->socket, 0);
}

/*
 * It gets its name when it listens: whoever finds one that does not takes it
 * for what a dead server has left.
 */
static int listen_as(int fd, int dir, const char *name)
{
	char before[80];
	struct sockaddr_un a;
	int r = 0;

	early_name(name, before);
	a = mount_status_address(dir, before);
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		return -errno;
	if (listen(fd, 64) < 0 || linkat(dir, before, dir, name, 0) < 0)
		r = -errno;
	unlinkat(dir, before, 0);
	return r;
}

/* A name that nobody has: numbers of processes may be those of a container. */
static int listen_in(struct mount_status *s, int dir)
{
	char *name = s->slots->socket, prefix[32];
	int r = -EADDRINUSE;

	mount_status_prefix(s->o->place, prefix);
	forget(s, dir); /* of a worker that died */

	for (unsigned i = 0; r == -EADDRINUSE && i < 1000; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		snprintf(name, sizeof(s->slots->socket), "%s%ld-%u.sock",
			 prefix, (long)getpid(), i);
		r = fd < 0 ? -errno : listen_as(fd, dir, name);
		if (r == 0)
			return fd;
		if (fd >= 0)
			close(fd);
		if (r == -EEXIST)
			r = -EADDRINUSE;
	}
	return r;
}

void mount_status_begin(struct mount_status *s)
{
	struct hpdsl_error err;
	char folder[32];
	int dir;

	s->socket = -1;
	mount_meet_folder(geteuid(), folder);
	dir = cmd_own_folder(folder, true, &err);
	if (dir < 0) {
		cmd_warning("%s: --status will not know this mount", err.msg);
		return;
	}
	s->socket = listen_in(s, dir);
	close(dir);
	if (s->socket < 0) {
		cmd_warning("%s: %s: --status will not know this mount", folder,
			    strerror(-s->socket));
		return;
	}
	mount_metrics_begin(&s->metrics, s->slots);
	if (pthread_create(&s->thread, NULL, thread, s)) {
		cmd_warning("no thread: --status will not know this mount");
		mount_metrics_end(&s->metrics, s->slots);
		close(s->socket);
		s->socket = -1;
	}
}

void mount_status_end(struct mount_status *s)
{
	struct hpdsl_error err;
	char folder[32];
	int dir;

	if (s->socket < 0)
		return;
	mount_meet_folder(geteuid(), folder);
	dir = cmd_own_folder(folder, false, &err);
	if (dir >= 0) {
		forget(s, dir);
		close(dir);
	}
	shutdown(s->socket, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->socket);
	mount_metrics_end(&s->metrics, s->slots);
}
