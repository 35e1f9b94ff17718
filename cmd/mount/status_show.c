/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the servers of this user; for root, those of all. */
#include "meet.h"
#include "mount.h"
#include "status.h"
#include "status_socket.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_MS = 5000, ANSWER_MOST = 64 << 10, RESET = -2 };

struct asker {
	const char *asked; /* what is sent */
	bool json;
	char prefix[32]; /* of the names of sockets that are asked */
	unsigned mounts, silent;
	bool warned;
};

#define warn(a, ...) ((a)->warned = true, cmd_warning(__VA_ARGS__))

/* ---- One server ------------------------------------------------------- */

static pid_t whose(int fd)
{
	struct ucred c = { 0 };
	socklen_t n = sizeof(c);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &n) < 0 ? 0 : c.pid;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* All that comes, into a buffer of ANSWER_MOST; -1: it does not end; RESET: who
 * was asked has closed it. */
static ssize_t hear(int fd, char *ret)
{
	const int64_t until = now_ms() + PATIENCE_MS;
	size_t n = 0;

	while (n < ANSWER_MOST) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left = until - now_ms();
		ssize_t r;

		if (left <= 0 || poll(&p, 1, (int)left) == 0)
			return -1;
		r = recv(fd, ret + n, ANSWER_MOST - n, MSG_DONTWAIT);
		if (r == 0)
			return (ssize_t)n;
		if (r < 0 && errno != EINTR && errno != EAGAIN)
			return errno == ECONNRESET ? RESET : -1;
		n += r > 0 ? (size_t)r : 0;
	}
	return -1;
}

/* Root asks servers of others: what they say is not to drive a terminal. */
static void soften(char *text, size_t n)
{
	unsigned char *s = (unsigned char *)text;

	for (size_t i = 0; i < n; i++) {
		bool c1 = i + 1 < n && s[i] == 0xc2 && s[i + 1] < 0xa0;

		if ((s[i] < 0x20 && s[i] != '\n') || s[i] == 0x7f || c1)
			s[i] = '?';
		if (c1)
			s[i + 1] = '?';
	}
}

/* The answer, to be freed; NULL: none comes, and *ret_n says why. */
static char *converse(int fd, const char *asked, ssize_t *ret_n)
{
	const size_t n = strlen(asked);
	char *text = malloc(ANSWER_MOST);

	if (!text)
		cmd_no_memory();
	*ret_n = RESET;
	if (send(fd, asked, n, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)n &&
	    shutdown(fd, SHUT_WR) == 0)
		*ret_n = hear(fd, text);
	if (*ret_n >= 0) {
		soften(text, (size_t)*ret_n);
		return text;
	}
	free(text);
	return NULL;
}

/* It was killed with the question at hand. */
static bool is_gone(const struct sockaddr_un *to)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool gone = fd >= 0 &&
		    connect(fd, (const struct sockaddr *)to, sizeof(*to)) < 0 &&
		    (errno == ECONNREFUSED || errno == ENOENT);

	if (fd >= 0)
		close(fd);
	return gone;
}

static void ask(struct asker *a, int dir, const char *folder, const char *name)
{
	struct sockaddr_un to = mount_status_address(dir, name);
	cmd_auto_free char *text = NULL;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ssize_t n = 0;

	if (fd < 0)
		cmd_no_memory();
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
		if (errno == ECONNREFUSED) /* its server was killed */
			unlinkat(dir, name, 0);
		else if (errno != ENOENT)
			warn(a, "%s/%s: %s", folder, name, strerror(errno));
		close(fd);
		return;
	}
	text = converse(fd, a->asked, &n);
	if (n == RESET && is_gone(&to)) {
		unlinkat(dir, name, 0);
	} else if (!text) {
		cmd_warning("server %ld does not answer", (long)whose(fd));
		a->silent++;
	} else if (n) {
		if (a->json && a->mounts)
			cmd_print(", ");
		cmd_write(text, (size_t)n);
		a->mounts++;
	}
	close(fd);
}

/* ---- All of them ------------------------------------------------------ */

static bool is_meant(const struct asker *a, const char *name)
{
	const size_t n = strlen(name);

	return strncmp(name, a->prefix, strlen(a->prefix)) == 0 && n > 5 &&
	       strcmp(name + n - 5, ".sock") == 0;
}

static void ask_in(struct asker *a, int dir, const char *folder)
{
	int fd = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((e = readdir(d)))
		if (is_meant(a, e->d_name))
			ask(a, dir, folder, e->d_name);
	closedir(d);
}

static void ask_mine(struct asker *a)
{
	char folder[32];
	struct hpdsl_error err;
	int dir;

	mount_meet_folder(geteuid(), folder);
	dir = cmd_own_folder(folder, false, &err);
	if (dir >= 0) {
		ask_in(a, dir, folder);
		close(dir);
	} else if (dir != -ENOENT) {
		warn(a, "%s", err.msg);
	}
}

/* Root may look into all users' folders, wherever their links would lead. */
static void ask_all(struct asker *a)
{
	DIR *d = opendir("/tmp");
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char folder[32], end;
		unsigned user;
		struct stat st;
		int dir;

		if (sscanf(e->d_name, "hpdsl-%9u%c", &user, &end) != 1)
			continue;
		mount_meet_folder(user, folder);
		dir = open(folder,
			   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (dir < 0)
			continue;
		if (fstat(dir, &st) == 0 && st.st_uid == user)
			ask_in(a, dir, folder);
		close(dir);
	}
	if (d)
		closedir(d);
}

static void ask_servers(struct asker *a)
{
	if (geteuid() == 0)
		ask_all(a);
	else
		ask_mine(a);
}

/* Between a worker that was killed and the next one nobody hears. */
static void ask_again(struct asker *a, const char *place)
{
	const struct timespec nap = { .tv_nsec = 20000000 };

	for (int i = 0; i < 100 && !a->mounts && !a->silent && !a->warned;
	     i++) {
		if (!mount_is_ours(place))
			return;
		nanosleep(&nap, NULL);
		ask_servers(a);
	}
}

int mount_status_show(const struct mount_options *o)
{
	cmd_auto_free char *place = o->point ? realpath(o->point, NULL) : NULL;
	const char *path = place ? place : o->point ? o->point : "";
	char asked[MOUNT_ASKED_MOST];
	struct asker a = { .asked = asked, .json = o->json };

	snprintf(a.prefix, sizeof(a.prefix), "mount-");
	if (*path)
		mount_status_prefix(path, a.prefix);

	if (snprintf(asked, sizeof(asked), "%c%s",
		     o->json ? MOUNT_ASK_JSON : MOUNT_ASK_WORDS,
		     path) >= (int)sizeof(asked)) {
		cmd_message("%s: %s", o->point, strerror(ENAMETOOLONG));
		return CMD_TROUBLE;
	}
	cmd_output_start();
	if (a.json)
		cmd_print("{\"mounts\": [");
	ask_servers(&a);
	/* one that is dead has no absolute path */
	if (place)
		ask_again(&a, place);
	if (a.json)
		cmd_print("]}\n");
	if (a.silent)
		return CMD_TROUBLE;
	if (!a.mounts && !a.json)
		cmd_print(o->point ? "nothing is mounted there\n" :
				     "nothing is mounted on this node\n");
	return a.mounts ? CMD_DONE : CMD_NO;
}
