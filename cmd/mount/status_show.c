/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what the servers of this user have written; for root, those of all.
 * Each writes it anew when it was read, so that all of them are read, and
 * waited for together, and read again.  Of other users root shows what the
 * kernel says, too: the file is the user's, a process of his holds it, and
 * where that is, there is such a mount of his.  One that a command has for
 * itself is in a name space that is not looked into.
 */
#include "meet.h"
#include "mount.h"
#include "status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	LOOKED_AT = 10000, /* names in one folder: nobody keeps root busy */
	PATIENCE_MS = 5000,
};

/* A folder of a user's. */
struct folder {
	int dir;
	char name[32];
	uid_t owner;
};

/* A file in it. */
struct server {
	const struct folder *in;
	char name[64];
	uint32_t turn; /* when it was read first */
	bool renewed;  /* since */
};

struct asker {
	const char *path; /* of the mount that is asked for; "": all */
	bool json;
	struct folder *folder;
	struct server *server;
	size_t folders, servers;
	unsigned mounts;
	bool silent; /* one does not answer */
};

/* ---- One server ------------------------------------------------------- */

/* Who a process runs as; -1: it is not there. */
static int64_t user_of(pid_t pid)
{
	char name[40];
	struct stat st;

	snprintf(name, sizeof(name), "/proc/%ld", (long)pid);
	return stat(name, &st) < 0 ? -1 : (int64_t)st.st_uid;
}

/* Why root is not to show it; NULL: he may. */
static const char *suspicion(const struct folder *in,
			     const struct mount_figures *f, pid_t holder)
{
	if (in->owner == geteuid())
		return NULL;
	if (holder == 0)
		return "its process is in a container";
	if (user_of(holder) != (int64_t)in->owner)
		return "another user's process holds it";
	if (f->way != MOUNT_WAY_COMMAND &&
	    !mount_is_users(f->place, in->owner, holder))
		return "what it names is no mount of its user's";
	return NULL;
}

static bool may_show(const struct folder *in, const char *name,
		     const struct mount_figures *f, pid_t holder)
{
	const char *why = suspicion(in, f, holder);

	if (why)
		cmd_warning("%s/%s: not shown: %s", in->name, name, why);
	return !why;
}

static const char *reason(int code)
{
	switch (code) {
	case -ENXIO: /* a pipe, a socket */
	case -ELOOP:
	case -EXDEV:
	case HPDSL_ENOTOURS:
	case HPDSL_ECORRUPT:
		return "is not what a server of hpdsl-mount writes: remove it";
	case HPDSL_ETOONEW:
		return "is of another version of hpdsl-mount: ask with that "
		       "one";
	default:
		return strerror(-code);
	}
}

/* 1: it is a living server's; 0: it is nobody's any more. */
static int read_figures(int fd, uid_t owner, struct mount_figures *ret,
			pid_t *ret_holder)
{
	uint8_t bytes[MOUNT_FIGURES_BYTES + 1];
	struct stat st;
	ssize_t n;
	int r;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != owner)
		return HPDSL_ENOTOURS;
	*ret_holder = mount_figures_holder(fd);
	if (*ret_holder < 0)
		return 0;
	n = pread(fd, bytes, sizeof(bytes), 0);
	if (n < 0)
		return -errno;
	r = mount_figures_decode(bytes, (size_t)n, ret);
	return r < 0 ? r : 1;
}

static bool is_stopped(pid_t pid)
{
	char name[40], text[512];
	const char *end;
	ssize_t n;
	int fd;

	snprintf(name, sizeof(name), "/proc/%ld/stat", (long)pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	end = strrchr(text, ')');
	return end &&
	       (strncmp(end, ") T", 3) == 0 || strncmp(end, ") t", 3) == 0);
}

/* The same of one by its name, which is told where it is no such file. */
static int take(const struct folder *in, const char *name,
		struct mount_figures *ret, pid_t *ret_holder)
{
	int fd = mount_figures_open(in->dir, name, O_RDONLY), r = fd;

	if (fd >= 0) {
		r = read_figures(fd, in->owner, ret, ret_holder);
		close(fd);
	}
	if (r == 0 && in->owner == geteuid())
		unlinkat(in->dir, name, 0); /* its server was killed */
	if (r < 0 && r != -ENOENT)
		cmd_warning("%s/%s: %s", in->name, name, reason(r));
	return r > 0;
}

static void tell_of_silent(struct asker *a, const struct server *s,
			   const struct mount_figures *f, pid_t holder)
{
	const pid_t worker = (pid_t)f->worker;

	if (!s->renewed)
		cmd_warning("server %u does not answer: what is told of it may "
			    "be old",
			    f->keeper);
	else if (holder && user_of(worker) == (int64_t)s->in->owner &&
		 is_stopped(worker))
		cmd_warning("server %ld is stopped: who reads waits until it "
			    "goes on",
			    (long)worker);
	else
		return;
	a->silent = true;
}

static void show(struct asker *a, const struct server *s)
{
	struct mount_figures f;
	pid_t holder;

	/* what is shown is what was looked at */
	if (!take(s->in, s->name, &f, &holder) ||
	    !may_show(s->in, s->name, &f, holder))
		return;
	if (holder)
		f.keeper = (uint32_t)holder;
	if (a->json && a->mounts)
		cmd_print(", ");
	mount_status_put(&f, a->json, stdout);
	a->mounts++;
	tell_of_silent(a, s, &f, holder);
}

/* ---- All of them ------------------------------------------------------ */

static void find(struct asker *a, const struct folder *in, const char *name)
{
	struct mount_figures f;
	pid_t holder;

	if (!take(in, name, &f, &holder) ||
	    (*a->path && strcmp(a->path, f.place) != 0) ||
	    !may_show(in, name, &f, holder))
		return;
	a->server = cmd_grow(a->server, a->servers, sizeof(*a->server));
	a->server[a->servers] = (struct server){ .in = in, .turn = f.turn };
	snprintf(a->server[a->servers++].name, sizeof(a->server->name), "%s",
		 name);
}

static void look_in(struct asker *a, const struct folder *in)
{
	int fd = fcntl(in->dir, F_DUPFD_CLOEXEC, 3);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	int n = 0;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((e = readdir(d)) && n++ < LOOKED_AT)
		if (mount_figures_is_name(e->d_name))
			find(a, in, e->d_name);
	if (e)
		cmd_warning("%s: there are more than %d files: not all were "
			    "looked at",
			    in->name, LOOKED_AT);
	closedir(d);
}

static void add_folder(struct asker *a, int dir, uid_t owner)
{
	struct folder *f;

	a->folder = cmd_grow(a->folder, a->folders, sizeof(*a->folder));
	f = &a->folder[a->folders++];
	*f = (struct folder){ .dir = dir, .owner = owner };
	mount_meet_folder(owner, f->name);
}

static void find_mine(struct asker *a)
{
	struct hpdsl_error err;
	char name[32];
	int dir;

	mount_meet_folder(geteuid(), name);
	dir = cmd_own_folder(name, false, &err);
	if (dir >= 0)
		add_folder(a, dir, geteuid());
	else if (dir != -ENOENT)
		cmd_warning("%s", err.msg);
}

/* Root looks into all users' folders, and nowhere that they would lead: what is
 * mounted there may never answer. */
static void find_others(struct asker *a)
{
	DIR *d = opendir("/tmp");
	struct dirent *e;

	while (d && (e = readdir(d))) {
		unsigned user;
		struct stat st;
		char end;
		int dir;

		if (sscanf(e->d_name, "hpdsl-%9u%c", &user, &end) != 1 ||
		    user == geteuid())
			continue;
		dir = mount_figures_open(dirfd(d), e->d_name,
					 O_RDONLY | O_DIRECTORY);
		if (dir < 0)
			continue;
		if (fstat(dir, &st) == 0 && st.st_uid == user)
			add_folder(a, dir, user);
		else
			close(dir);
	}
	if (d)
		closedir(d);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Until all of them have written anew. */
static void await_all(struct asker *a)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	const int64_t until = now_ms() + PATIENCE_MS;
	size_t left = a->servers;

	while (left && now_ms() < until) {
		nanosleep(&nap, NULL);
		for (size_t i = 0; i < a->servers; i++) {
			struct server *s = &a->server[i];
			struct mount_figures f;
			pid_t holder;

			if (s->renewed)
				continue;
			s->renewed = !take(s->in, s->name, &f, &holder) ||
				     f.turn != s->turn;
			left -= s->renewed;
		}
	}
}

static void show_all(struct asker *a)
{
	find_mine(a);
	if (geteuid() == 0)
		find_others(a);
	for (size_t i = 0; i < a->folders; i++)
		look_in(a, &a->folder[i]);
	await_all(a);
	for (size_t i = 0; i < a->servers; i++)
		show(a, &a->server[i]);
	for (size_t i = 0; i < a->folders; i++)
		close(a->folder[i].dir);
	free(a->server);
	free(a->folder);
}

int mount_status_show(const struct mount_options *o)
{
	cmd_auto_free char *place = o->point ? realpath(o->point, NULL) : NULL;
	struct asker a = {
		.path = place	 ? place :
			o->point ? o->point :
				   "",
		.json = o->json,
	};

	cmd_output_start();
	if (a.json)
		cmd_print("{\"mounts\": [");
	show_all(&a);
	if (a.json)
		cmd_print("]}\n");
	if (a.silent)
		return CMD_TROUBLE;
	if (!a.mounts && !a.json)
		cmd_print(o->point ? "nothing is mounted there\n" :
				     "nothing is mounted on this node\n");
	return a.mounts ? CMD_DONE : CMD_NO;
}
