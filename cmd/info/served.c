/* SPDX-License-Identifier: Apache-2.0 */
/* Does a server of this node hand out what is here, and to whom? */
#include "info.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The server ------------------------------------------------------- */

/* The line that it has put into its lock, as far as it is for people. */
static void read_line(int fd, char *ret, size_t cap)
{
	ssize_t n = pread(fd, ret, cap - 1, 0);

	ret[n < 0 ? 0 : n] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
	if (strstr(ret, " ("))
		*strstr(ret, " (") = '\0';
}

/* Is the lock held?  What only has its name is none. */
static bool is_held(int dir, char *ret_who, size_t cap)
{
	int fd = openat(dir, HPDSL_SERVE_LOCK,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
				O_CLOEXEC);
	struct stat st;
	bool held;

	if (fd < 0)
		return false;
	held = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
	if (held)
		read_line(fd, ret_who, cap);
	close(fd);
	return held;
}

static bool has_socket(int dir)
{
	struct stat st;

	return fstatat(dir, HPDSL_SERVE_SOCKET, &st, AT_SYMLINK_NOFOLLOW) ==
		       0 &&
	       S_ISSOCK(st.st_mode);
}

/* True: there is one, and its socket is here. */
static bool tell_server(struct info *i, int dir, bool several)
{
	cmd_auto_free char *real = realpath(i->path, NULL), *socket = NULL;
	char who[256];

	if (!is_held(dir, who, sizeof(who))) {
		if (several)
			info_row(i, "served", "not now");
		if (info_json(i))
			cmd_json_bool(info_json(i), "served", false);
		return false;
	}
	info_row(i, "served", "by %s", *who ? who : "a server");
	if (info_json(i)) {
		cmd_json_bool(info_json(i), "served", true);
		cmd_json_name(info_json(i), "server", who, strlen(who));
	}
	/* one that lies elsewhere hpdsl-serve --status knows */
	if (!has_socket(dir) || !real)
		return false;
	if (asprintf(&socket, "%s/" HPDSL_SERVE_SOCKET, real) < 0)
		cmd_no_memory();
	info_name(i, "socket", "socket", socket);
	return true;
}

/* ---- The book --------------------------------------------------------- */

static void tell_book(struct info *i, const struct hpdsl_peer_about *b)
{
	struct cmd_json *j = info_json(i);

	/* of one node it says nothing to anybody */
	if (b->nodes > 1)
		info_row(i, "book", "node %u of %u, ports %u to %u%s%s",
			 b->node, b->nodes, b->port, b->port + b->ports - 1,
			 *b->job ? ", " : "", b->job);
	if (!j)
		return;
	cmd_json_open(j, "book", '{');
	cmd_json_hex(j, "id", b->id, sizeof(b->id));
	cmd_json_u64(j, "node", b->node);
	cmd_json_u64(j, "nodes", b->nodes);
	cmd_json_u64(j, "port", b->port);
	cmd_json_u64(j, "ports", b->ports);
	cmd_json_name(j, "job", b->job, strlen(b->job));
	cmd_json_i64(j, "made", b->made);
	cmd_json_close(j, '}');
}

/*
 * Nodes of it; 0: there is none.  Of one that is not believed the reason is
 * worth a row.
 */
static uint32_t tell_any_book(struct info *i)
{
	struct hpdsl_peer_about b = { .nodes = 0 };
	struct hpdsl_error err;

	if (hpdsl_peer_about(i->path, NULL, &b, &err) == 0)
		tell_book(i, &b);
	else if (err.code != -ENOENT)
		info_name(i, "no book", "no_book", err.msg);
	return b.nodes;
}

bool info_served(struct info *i)
{
	int dir = open(i->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool socket = false;
	uint32_t nodes;
	struct stat st;

	if (dir < 0)
		return false;
	nodes = tell_any_book(i);
	if (nodes ||
	    fstatat(dir, HPDSL_SERVE_LOCK, &st, AT_SYMLINK_NOFOLLOW) == 0)
		socket = tell_server(i, dir, nodes > 1);
	close(dir);
	return socket;
}
