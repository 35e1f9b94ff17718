/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small file that a command leaves.  It appears whole, as datasets do: under
 * a name that nobody else has, then by a rename, so who is the last to write it
 * wins, and nobody's file is damaged.  What is no regular file (/dev/stdout, a
 * pipe) is written to as it is.  A link is followed if it is the caller's own
 * or root's: others may put one where a file is expected.
 */
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { LINKS = 40, TRIES = 100, RANDOM = 6 };

/* Where a name leads. */
struct place {
	int dir;
	char *name;	/* in dir */
	struct stat st; /* st_mode is 0: there is nothing */
	int own;	/* a descriptor of this process; -1: it is none */
	bool magic;	/* a link in /proc, which has no text to follow */
};

static int fail(const char *file, int code, struct hpdsl_error *err)
{
	err->code = code;
	snprintf(err->msg, sizeof(err->msg), "%.900s: %s", file,
		 strerror(-code));
	return code;
}

static int fail_link(const char *file, const struct stat *st,
		     struct hpdsl_error *err)
{
	err->code = -ELOOP;
	snprintf(err->msg, sizeof(err->msg),
		 "%.900s: is a symbolic link of another user (number %u), and "
		 "not followed",
		 file, (unsigned)st->st_uid);
	return err->code;
}

/* ---- Where it is ------------------------------------------------------ */

static void place_release(struct place *p)
{
	if (p->dir >= 0)
		close(p->dir);
	p->dir = -1;
	free(p->name);
	p->name = NULL;
}

#define auto_place __attribute__((cleanup(place_release))) struct place

/* Goes to the folder of path, which is relative to the one p is in. */
static int enter(struct place *p, const char *path)
{
	const char *slash = strrchr(path, '/');
	cmd_auto_free char *folder =
		slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
	int dir;

	if (!folder)
		cmd_no_memory();
	dir = openat(p->dir, folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	place_release(p);
	p->dir = dir;
	p->name = strdup(slash ? slash + 1 : path);
	if (!p->name)
		cmd_no_memory();
	return !*p->name ? -EISDIR : 0;
}

/* /dev/stdout and the like: the number of what is open, or -1. */
static int own_descriptor(const struct place *p)
{
	struct stat fds, dir;
	uint64_t n;

	if (cmd_parse_count(p->name, &n) < 0 || n > INT_MAX ||
	    stat("/proc/self/fd", &fds) < 0 || fstat(p->dir, &dir) < 0 ||
	    fds.st_dev != dir.st_dev || fds.st_ino != dir.st_ino)
		return -1;
	return (int)n;
}

static bool is_magic(const struct place *p)
{
	struct statfs fs;

	return fstatfs(p->dir, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/*
 * May it be followed?  One that lies in /dev is the system's, whatever its
 * owner is called: in a user's name space, as containers have them, root's
 * number is that of nobody.
 */
static bool is_trusted(const struct place *p)
{
	struct stat dev, dir;

	if (p->st.st_uid == geteuid() || p->st.st_uid == 0)
		return true;
	return stat("/dev", &dev) == 0 && fstat(p->dir, &dir) == 0 &&
	       dev.st_dev == dir.st_dev && dev.st_ino == dir.st_ino;
}

/* 1: a link, and its text; 0: *p is complete. */
static int look(struct place *p, const char *file, char text[PATH_MAX],
		struct hpdsl_error *err)
{
	int fd = openat(p->dir, p->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	int code = fd < 0 || fstat(fd, &p->st) < 0 ? -errno : 0;
	ssize_t n = 0;

	if (code == 0 && S_ISLNK(p->st.st_mode)) {
		p->own = own_descriptor(p);
		p->magic = is_magic(p);
		if (p->magic)
			code = fstatat(p->dir, p->name, &p->st, 0) ? -errno : 0;
		else if (!is_trusted(p))
			code = fail_link(file, &p->st, err);
		else if ((n = readlinkat(fd, "", text, PATH_MAX - 1)) <= 0)
			code = n < 0 ? -errno : -ENOENT;
		text[n > 0 ? n : 0] = '\0';
	} else if (code == -ENOENT) {
		p->st.st_mode = 0;
		code = 0;
	}
	if (fd >= 0)
		close(fd);
	return code < 0 ? code : n > 0;
}

/*
 * A pipe that somebody else has put into a folder as /tmp, where a file is
 * expected: he would read what is written, or let the writer wait for ever.
 */
static bool is_trap(const struct place *p)
{
	struct stat dir;

	return S_ISFIFO(p->st.st_mode) && !p->magic && p->st.st_uid != 0 &&
	       p->st.st_uid != geteuid() && fstat(p->dir, &dir) == 0 &&
	       dir.st_mode & S_ISVTX && dir.st_uid != p->st.st_uid;
}

static int find(const char *file, struct place *p, struct hpdsl_error *err)
{
	char text[PATH_MAX];
	const char *path = file;
	int r = 1;

	*p = (struct place){ .dir = AT_FDCWD, .own = -1 };
	err->code = 0;
	for (int i = 0; i < LINKS && r > 0; i++) {
		r = enter(p, path);
		if (r == 0)
			r = look(p, file, text, err);
		path = text;
	}
	if (r > 0)
		r = -ELOOP;
	if (r == 0 && S_ISDIR(p->st.st_mode))
		r = -EISDIR;
	if (r == 0 && is_trap(p))
		r = -EPERM;
	if (r < 0 && !err->code)
		fail(file, r, err);
	return r;
}

static bool is_replaced(const struct place *p)
{
	return !p->magic && (S_ISREG(p->st.st_mode) || !p->st.st_mode);
}

/* ---- What is written -------------------------------------------------- */

/* What is no regular file, or is open already: neither cut nor replaced. */
static int open_special(const struct place *p)
{
	const int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY;
	struct stat st;
	int fd;

	if (p->own >= 0) {
		fflush(stdout); /* what is said before comes before */
		fd = fcntl(p->own, F_DUPFD_CLOEXEC, 0);
		return fd < 0 ? -errno : fd;
	}
	fd = openat(p->dir, p->name, flags | (p->magic ? 0 : O_NOFOLLOW));
	if (fd < 0)
		return -errno;
	/* somebody else may just have put another file there */
	if (fstat(fd, &st) < 0 || st.st_dev != p->st.st_dev ||
	    st.st_ino != p->st.st_ino) {
		close(fd);
		return -EAGAIN;
	}
	return fd;
}

/* ".report-x7Qk2a.part", of which the name is cut where there is no room. */
static int temporary_name(const char *name, char ret[NAME_MAX + 1])
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
				      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
	const int most = NAME_MAX - (int)strlen(".-.part") - RANDOM;
	unsigned char random[RANDOM];
	char text[RANDOM + 1] = "";

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	for (int i = 0; i < RANDOM; i++)
		text[i] = letters[random[i] & 63];
	snprintf(ret, NAME_MAX + 1, ".%.*s-%s.part", most, name, text);
	return 0;
}

/* The mode of what is replaced is the caller's word, if the file is his. */
static bool keeps_mode(const struct place *p)
{
	return p->st.st_mode && p->st.st_uid == geteuid();
}

static int open_temporary(struct cmd_file *f, const struct place *p)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	int fd = -1, r;

	errno = EEXIST;
	for (int i = 0; fd < 0 && errno == EEXIST && i < TRIES; i++) {
		r = temporary_name(p->name, f->temporary);
		if (r < 0)
			return r;
		fd = openat(p->dir, f->temporary, flags,
			    keeps_mode(p) ? 0600 : 0666);
	}
	if (fd < 0)
		return -errno;
	if (keeps_mode(p) && fchmod(fd, p->st.st_mode & 0777) < 0) {
		r = -errno;
		close(fd);
		unlinkat(p->dir, f->temporary, 0);
		return r;
	}
	return fd;
}

int cmd_file_open(struct cmd_file *f, const char *file, struct hpdsl_error *err)
{
	auto_place p;
	int fd = find(file, &p, err);

	*f = (struct cmd_file){ .file = file, .dir = -1 };
	if (fd < 0)
		return fd;
	fd = is_replaced(&p) ? open_temporary(f, &p) : open_special(&p);
	if (fd < 0)
		return fail(file, fd, err);
	f->out = fdopen(fd, "w");
	if (!f->out)
		cmd_no_memory();
	if (is_replaced(&p)) {
		f->dir = p.dir;
		f->name = p.name;
		p.dir = -1;
		p.name = NULL;
	}
	return 0;
}

/* ---- Before and after ------------------------------------------------- */

/* In a folder as /tmp others' files can be neither removed nor replaced. */
static bool is_others(const struct place *p)
{
	struct stat dir;
	uid_t me = geteuid();

	return p->st.st_mode && me != 0 && p->st.st_uid != me &&
	       fstat(p->dir, &dir) == 0 && dir.st_mode & S_ISVTX &&
	       dir.st_uid != me;
}

/* A pipe may have no reader yet: nothing is opened. */
static int try_special(const struct place *p)
{
	int flags;

	if (p->own < 0)
		return faccessat(p->dir, p->name, W_OK, AT_EACCESS) < 0 ?
			       -errno :
			       0;
	flags = fcntl(p->own, F_GETFL);
	return flags < 0		       ? -errno :
	       (flags & O_ACCMODE) == O_RDONLY ? -EBADF :
						 0;
}

int cmd_file_try(const char *file, struct hpdsl_error *err)
{
	auto_place p;
	struct cmd_file f;
	int r = find(file, &p, err);

	if (r < 0)
		return r;
	if (!is_replaced(&p)) {
		r = try_special(&p);
	} else if (is_others(&p)) {
		r = -EPERM;
	} else {
		r = open_temporary(&f, &p);
		if (r >= 0) {
			close(r);
			unlinkat(p.dir, f.temporary, 0);
			r = 0;
		}
	}
	return r < 0 ? fail(file, r, err) : 0;
}

static int write_out(FILE *out, bool sync)
{
	bool bad = ferror(out);

	errno = 0;
	bad |= fflush(out) != 0;
	bad |= !bad && sync && fsync(fileno(out)) != 0;
	bad |= fclose(out) != 0;
	return !bad ? 0 : errno ? -errno : -EIO;
}

/* Not every file system can, and not every folder may be read. */
static int sync_folder(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;

	if (fd < 0)
		return errno == EACCES ? 0 : -errno;
	r = fsync(fd) < 0 && errno == EIO ? -errno : 0;
	close(fd);
	return r;
}

int cmd_file_close(struct cmd_file *f, struct hpdsl_error *err)
{
	int r = write_out(f->out, f->name);

	if (f->name) {
		if (r == 0 &&
		    renameat(f->dir, f->temporary, f->dir, f->name) < 0)
			r = -errno;
		if (r < 0)
			unlinkat(f->dir, f->temporary, 0);
		else
			r = sync_folder(f->dir);
		close(f->dir);
		free(f->name);
	}
	return r < 0 ? fail(f->file, r, err) : 0;
}
