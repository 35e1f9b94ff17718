/* SPDX-License-Identifier: Apache-2.0 */
#include "meet.h"
#include "sum.h"

#include "mount.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A file of so many is no list of a node's ranks. */
enum { MOST = 1 << 20, LINE = 128, WORD_AFTER_MS = 10000, LOOK_MS = 50 };

static int fail(const char *what, int code, struct hpdsl_error *err)
{
	snprintf(err->msg, sizeof(err->msg), "%.800s: %s", what,
		 strerror(-code));
	return err->code = code;
}

/* ---- Where ------------------------------------------------------------ */

void mount_meet_folder(uid_t user, char ret[32])
{
	snprintf(ret, 32, "/tmp/hpdsl-%u", (unsigned)user);
}

/* Each with its end, and an end of them all, which no string is. */
static uint64_t sum_strings(uint64_t h, const struct cmd_strings *s)
{
	for (size_t i = 0; i < s->n; i++)
		h = mount_sum(h, s->v[i], strlen(s->v[i]) + 1);
	return mount_sum(h, "\xff", 2);
}

/* What is mounted where, and how: those who agree in all of it share it. */
static int name_of(const struct mount_options *o, char *ret, size_t cap,
		   struct hpdsl_error *err)
{
	const char *folder = o->folder ? o->folder : "";
	uint64_t h = mount_sum(MOUNT_SUM_BEGIN, folder, strlen(folder));
	struct stat data, point;

	h = mount_sum(h, &o->verify, sizeof(o->verify));
	h = mount_sum(h, &o->view, sizeof(o->view));
	h = mount_sum(h, &o->no_links, sizeof(o->no_links));
	h = mount_sum(h, &o->attrs, sizeof(o->attrs));
	h = sum_strings(h, &o->include);
	h = sum_strings(h, &o->exclude);
	h = sum_strings(h, &o->labels);
	if (stat(o->dataset, &data) < 0)
		return fail(o->dataset, -errno, err);
	if (stat(o->point, &point) < 0)
		return fail(o->point, -errno, err);
	snprintf(ret, cap, "mount-%llx-%llx-%llx-%llx-%016llx.join",
		 (unsigned long long)data.st_dev,
		 (unsigned long long)data.st_ino,
		 (unsigned long long)point.st_dev,
		 (unsigned long long)point.st_ino, (unsigned long long)h);
	return 0;
}

/* ---- The lock --------------------------------------------------------- */

/* Who is about to mount opens the dataset, which may take its time. */
static int lock(int fd, const char *point)
{
	const struct timespec nap = { 0, LOOK_MS * 1000000 };
	int waited = 0;

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		nanosleep(&nap, NULL);
		waited += LOOK_MS;
		if (waited == WORD_AFTER_MS && point)
			cmd_message("%s: waiting for another process of this "
				    "node, which is about to mount it",
				    point);
	}
	return 0;
}

/* The file that has the name now, locked; -errno. */
static int open_locked(int dir, const char *name, int flags, const char *point)
{
	struct stat mine, named;

	for (;;) {
		int fd = openat(dir, name,
				O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
		int r = fd < 0 ? -errno : lock(fd, point);

		if (r == 0 && fstat(fd, &mine) < 0)
			r = -errno;
		if (r == 0 &&
		    fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
		    mine.st_ino == named.st_ino && mine.st_dev == named.st_dev)
			return fd;
		if (fd >= 0)
			close(fd);
		if (r < 0)
			return r;
	}
}

int mount_meet(const struct mount_options *o, struct mount_meeting *ret,
	       struct hpdsl_error *err)
{
	int dir, r;

	ret->file = -1;
	mount_meet_folder(geteuid(), ret->folder);
	r = name_of(o, ret->name, sizeof(ret->name), err);
	if (r < 0)
		return r;
	dir = cmd_own_folder(ret->folder, true, err);
	if (dir < 0)
		return dir;
	ret->file = open_locked(dir, ret->name, O_CREAT, o->point);
	close(dir);
	return ret->file < 0 ? fail(ret->folder, ret->file, err) : 0;
}

/* ---- Who lives -------------------------------------------------------- */

static uint64_t space_of_numbers(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) < 0 ? 0 : st.st_ino;
}

static bool lives(uint64_t pid, uint64_t start)
{
	return start && cmd_process_start((pid_t)pid) == start;
}

/*
 * A descriptor of one of its name spaces; -1.  Until it runs its program, which
 * gives the lock back an instant earlier, they are not shown.
 */
static int open_space(const struct mount_process *p, const char *kind)
{
	const struct timespec nap = { 0, 10 * 1000000 };
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "/proc/%llu/ns/%s",
		 (unsigned long long)p->pid, kind);
	for (int i = 0; i < 20; i++) {
		fd = open(name, O_RDONLY | O_CLOEXEC);
		if (fd >= 0 || !lives(p->pid, p->start))
			break;
		nanosleep(&nap, NULL);
	}
	return fd;
}

/* Is this process in it already? */
static bool is_mine(int fd, const char *kind)
{
	char name[64];
	struct stat mine, its;

	snprintf(name, sizeof(name), "/proc/self/ns/%s", kind);
	return stat(name, &mine) == 0 && fstat(fd, &its) == 0 &&
	       mine.st_ino == its.st_ino && mine.st_dev == its.st_dev;
}

static bool enter_one(int fd, const char *kind, int flag)
{
	return is_mine(fd, kind) || setns(fd, flag) == 0;
}

/* Its name spaces, as long as it is sure that they are its. */
static bool enter(const struct mount_process *p)
{
	int user = open_space(p, "user"), mnt = open_space(p, "mnt");
	bool in = user >= 0 && mnt >= 0 && lives(p->pid, p->start) &&
		  enter_one(user, "user", CLONE_NEWUSER) &&
		  enter_one(mnt, "mnt", CLONE_NEWNS);

	if (user >= 0)
		close(user);
	if (mnt >= 0)
		close(mnt);
	return in;
}

/* ---- The file --------------------------------------------------------- */

static FILE *lines(const struct mount_meeting *m)
{
	int fd = fcntl(m->file, F_DUPFD_CLOEXEC, 3);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (!f && fd >= 0)
		close(fd);
	if (f)
		rewind(f);
	return f;
}

/*
 * The next that may be joined.  In another name space of numbers than this one
 * may be living ones that are not seen from here.
 */
static bool next_living(FILE *f, uint64_t space, struct mount_meeter *ret)
{
	char line[LINE];

	while (fgets(line, sizeof(line), f))
		if (mount_meeter_parse(line, ret) &&
		    (ret->who.space != space ||
		     (lives(ret->who.pid, ret->who.start) &&
		      lives(ret->server, ret->server_start))))
			return true;
	return false;
}

/* Puts the living ones, and one more, in the place of all. */
static int write_all(struct mount_meeting *m, const struct mount_meeter *more)
{
	cmd_auto_free char *text = malloc(MOST + LINE);
	FILE *f = text ? lines(m) : NULL;
	struct mount_meeter one;
	size_t n = 0;

	if (!f)
		return -ENOMEM;
	while (n < MOST && next_living(f, more->who.space, &one))
		n += (size_t)mount_meeter_format(&one, text + n, LINE);
	fclose(f);
	n += (size_t)mount_meeter_format(more, text + n, LINE);
	if (pwrite(m->file, text, n, 0) != (ssize_t)n ||
	    ftruncate(m->file, (off_t)n) < 0)
		return errno ? -errno : -ENOSPC;
	return 0;
}

static int add(struct mount_meeting *m, uint64_t server, uint64_t start,
	       struct hpdsl_error *err)
{
	const struct mount_meeter me = { { space_of_numbers(),
					   (uint64_t)getpid(),
					   cmd_process_start(getpid()) },
					 server,
					 start };
	int r;

	errno = 0;
	r = write_all(m, &me);
	return r < 0 ? fail(m->folder, r, err) : 0;
}

int mount_meet_join(struct mount_meeting *m, struct hpdsl_error *err)
{
	const uint64_t space = space_of_numbers();
	struct mount_meeter one;
	FILE *f = lines(m);
	bool in = false;

	if (!f)
		return fail(m->folder, -errno, err);
	while (!in && next_living(f, space, &one))
		in = one.who.space == space && enter(&one.who);
	fclose(f);
	if (!in)
		return 0;
	return add(m, one.server, one.server_start, err) < 0 ? err->code : 1;
}

int mount_meet_add(struct mount_meeting *m, pid_t server,
		   struct hpdsl_error *err)
{
	return add(m, (uint64_t)server, cmd_process_start(server), err);
}

void mount_meet_end(const struct mount_meeting *m)
{
	struct hpdsl_error err;
	struct mount_meeting mine = *m;
	struct mount_meeter one;
	int dir = cmd_own_folder(m->folder, false, &err);
	bool others = false;
	FILE *f;

	if (dir < 0)
		return;
	mine.file = open_locked(dir, m->name, 0, NULL);
	f = mine.file < 0 ? NULL : lines(&mine);
	while (f && !others && next_living(f, space_of_numbers(), &one))
		others = one.server != (uint64_t)getpid();
	if (f && !others)
		unlinkat(dir, m->name, 0);
	if (f)
		fclose(f);
	if (mine.file >= 0)
		close(mine.file);
	close(dir);
}
