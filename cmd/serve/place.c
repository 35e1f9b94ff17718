/* SPDX-License-Identifier: Apache-2.0 */
/* LOCALDIR: ours alone, and where its socket is. */
#include "life.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fail(const char *path, int code, const char *why,
		struct hpdsl_error *err)
{
	err->code = code;
	snprintf(err->msg, sizeof(err->msg), "%.800s: %s", path, why);
	return code;
}

bool serve_socket_path(const char *real, char *ret, size_t cap)
{
	int n = snprintf(ret, cap, "%s/" HPDSL_SERVE_SOCKET,
			 strcmp(real, "/") == 0 ? "" : real);

	return n > 0 && (size_t)n < cap;
}

/* By the directory's own numbers, so that all find it. */
static void find_socket(struct serve_place *p, const struct stat *st)
{
	cmd_auto_free char *real = realpath(p->path, NULL);
	struct stat now;

	if (real && stat(real, &now) == 0 && now.st_dev == st->st_dev &&
	    now.st_ino == st->st_ino &&
	    serve_socket_path(real, p->socket, sizeof(p->socket)))
		return;
	p->elsewhere = true;
	snprintf(p->socket, sizeof(p->socket), "/tmp/hpdsl-%u/%llx-%llx.sock",
		 (unsigned)geteuid(), (unsigned long long)st->st_dev,
		 (unsigned long long)st->st_ino);
}

static int check(const char *path, const struct stat *st,
		 struct hpdsl_error *err)
{
	if (st->st_uid != geteuid()) {
		err->code = -EPERM;
		snprintf(err->msg, sizeof(err->msg),
			 "%.800s: belongs to another user (number %u)", path,
			 (unsigned)st->st_uid);
		return err->code;
	}
	if (st->st_mode & 022)
		return fail(path, -EPERM,
			    "others may write into it (its mode is to be 0700)",
			    err);
	return 0;
}

static int open_dir(const char *path, struct hpdsl_error *err)
{
	struct stat st;
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int code = -errno;

	if (dir >= 0)
		return dir;
	if ((code == -ELOOP || code == -ENOTDIR) && lstat(path, &st) == 0 &&
	    S_ISLNK(st.st_mode))
		return fail(path, -ELOOP,
			    "is a symbolic link, and those are not followed to "
			    "a stage directory",
			    err);
	return fail(path, code, strerror(-code), err);
}

int serve_place_open(const char *path, struct serve_place *ret,
		     struct hpdsl_error *err)
{
	struct serve_place p = { .path = path };
	/* a slash behind a link would follow it */
	size_t n = strlen(path);
	cmd_auto_free char *bare = strdup(path);
	struct stat st;
	int r;

	if (!bare)
		cmd_no_memory();
	while (n > 1 && bare[n - 1] == '/')
		bare[--n] = '\0';
	p.dir = open_dir(bare, err);
	if (p.dir < 0)
		return p.dir == -ENOENT ? 0 : p.dir;
	r = fstat(p.dir, &st) < 0 ? fail(path, -errno, strerror(errno), err) :
				    check(path, &st, err);
	if (r < 0) {
		close(p.dir);
		return r;
	}
	find_socket(&p, &st);
	*ret = p;
	return 1;
}

void serve_place_close(struct serve_place *p)
{
	if (p->dir >= 0)
		close(p->dir);
	p->dir = -1;
}

static bool has(const struct serve_place *p, const char *name)
{
	struct stat st;

	return fstatat(p->dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A stager's first file is its lock. */
bool serve_place_is_packed(const struct serve_place *p)
{
	return has(p, "dataset.yaml") && !has(p, ".stage.lock") &&
	       !has(p, "stage.hpdsl");
}

bool serve_place_is_staged(const struct serve_place *p)
{
	struct stat st;

	return fstatat(p->dir, "stage.hpdsl", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st.st_mode);
}
