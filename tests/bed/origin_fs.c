/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A read-only view of a folder, of which the kernel keeps nothing, but for
 * files that are mapped, and names and attributes for as long as was said; what
 * it is asked for it pays in origin_costs.c.
 */
#define FUSE_USE_VERSION 314
#include "origin.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse_lowlevel.h>
#include <inttypes.h>
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STATS ".origin-stats"
#define READ_MAX (1u << 20)

/* A file that was looked up; there to the end.  Its address is its number. */
struct node {
	const char *name; /* the end of path */
	_Atomic uint64_t opens, reads, bytes;
	char path[]; /* below the source; "." at the top */
};

static int source = -1;
static const char *mapped;
static double keep;
static pthread_mutex_t nodes_lock = PTHREAD_MUTEX_INITIALIZER;
static void *nodes; /* of tsearch */
static struct node *top, *stats_node;

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct node *)a)->path,
		      ((const struct node *)b)->path);
}

static struct node *node_find(const struct node *dir, const char *name)
{
	size_t n = (dir ? strlen(dir->path) : 0) + strlen(name) + 2;
	struct node *new = calloc(1, sizeof(*new) + n), **old;

	if (!new)
		return NULL;
	snprintf(new->path, n, "%s%s%s", dir && dir != top ? dir->path : "",
		 dir && dir != top ? "/" : "", name);
	new->name = new->path + strlen(new->path) - strlen(name);
	pthread_mutex_lock(&nodes_lock);
	old = tsearch(new, &nodes, by_path);
	pthread_mutex_unlock(&nodes_lock);
	if (!old || *old != new)
		free(new);
	return old ? *old : NULL;
}

static struct node *node_of(fuse_ino_t ino)
{
	return ino == FUSE_ROOT_ID ? top : (struct node *)(uintptr_t)ino;
}

static void print_node(const void *at, VISIT visit, void *out)
{
	const struct node *n = *(const struct node *const *)at;

	if ((visit == postorder || visit == leaf) && n->opens &&
	    n != stats_node)
		fprintf(out, "file %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n",
			n->bytes, n->reads, n->opens, n->path);
}

void fs_print_stats(FILE *out)
{
	fprintf(out, "pid %d\n", getpid());
	costs_print(out);
	pthread_mutex_lock(&nodes_lock);
	twalk_r(nodes, print_node, out);
	pthread_mutex_unlock(&nodes_lock);
}

bool fs_begin(const char *folder, const char *mapped_name, double seconds)
{
	mapped = mapped_name;
	keep = seconds;
	source = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	top = node_find(NULL, ".");
	stats_node = node_find(NULL, STATS);
	return source >= 0 && top && stats_node;
}

/* ---- What it is asked ------------------------------------------------- */

static int node_stat(struct node *n, struct stat *ret)
{
	if (n == stats_node) {
		*ret = (struct stat){ .st_mode = S_IFREG | 0444,
				      .st_nlink = 1 };
		return 0;
	}
	return fstatat(source, n->path, ret, AT_SYMLINK_NOFOLLOW) ? errno : 0;
}

static void on_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct node *n = node_find(node_of(parent), name);
	const double seconds = n == stats_node ? 0 : keep;
	struct fuse_entry_param e = { .entry_timeout = seconds,
				      .attr_timeout = seconds };
	int rc;

	if (n != stats_node)
		cost_pay(LOOKUPS);
	rc = n ? node_stat(n, &e.attr) : ENOMEM;
	/* Number 0: there is none, and that is kept, too. */
	e.ino = rc ? 0 : (uintptr_t)n;
	if (rc && (rc != ENOENT || seconds <= 0))
		fuse_reply_err(req, rc);
	else
		fuse_reply_entry(req, &e);
}

static void on_getattr(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	struct stat st;
	int rc;

	(void)fi;
	if (node_of(ino) != stats_node)
		cost_pay(GETATTRS);
	rc = node_stat(node_of(ino), &st);
	if (rc)
		fuse_reply_err(req, rc);
	else
		fuse_reply_attr(req, &st,
				node_of(ino) == stats_node ? 0 : keep);
}

static void on_readlink(fuse_req_t req, fuse_ino_t ino)
{
	char to[4096];
	ssize_t n;

	cost_pay(GETATTRS);
	n = readlinkat(source, node_of(ino)->path, to, sizeof(to) - 1);
	if (n < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	to[n] = 0;
	fuse_reply_readlink(req, to);
}

/* An open of the counters takes them as they are now. */
static int open_stats(void)
{
	int fd = memfd_create("stats", MFD_CLOEXEC);
	FILE *out = fd < 0 ? NULL : fdopen(dup(fd), "w");

	if (out) {
		fs_print_stats(out);
		fclose(out);
	}
	return fd;
}

static void on_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct node *n = node_of(ino);
	int fd;

	if ((fi->flags & O_ACCMODE) != O_RDONLY) {
		fuse_reply_err(req, EROFS);
		return;
	}
	if (n != stats_node)
		cost_pay(OPENS);
	fd = n == stats_node ? open_stats() :
			       openat(source, n->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	n->opens++;
	fi->fh = (uint64_t)fd;
	fi->keep_cache = strcmp(mapped, "*") == 0;
	fi->direct_io = !fi->keep_cache && strcmp(n->name, mapped) != 0;
	if (fuse_reply_open(req, fi))
		close(fd);
}

static void on_release(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	(void)ino;
	close((int)fi->fh);
	fuse_reply_err(req, 0);
}

static ssize_t read_node(struct node *n, int fd, char *buf, size_t size,
			 uint64_t at)
{
	ssize_t got = cost_read(n->name, fd, buf, size, at);

	if (got > 0)
		n->bytes += (uint64_t)got;
	n->reads++;
	return got;
}

static void on_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t at,
		    struct fuse_file_info *fi)
{
	static _Thread_local char *buf;
	struct node *n = node_of(ino);
	ssize_t got = -1;

	if (!buf)
		buf = malloc(READ_MAX);
	if (size > READ_MAX)
		size = READ_MAX;
	errno = ENOMEM;
	if (buf && n == stats_node)
		got = pread((int)fi->fh, buf, size, at);
	else if (buf)
		got = read_node(n, (int)fi->fh, buf, size, (uint64_t)at);
	if (got < 0)
		fuse_reply_err(req, errno);
	else
		fuse_reply_buf(req, buf, (size_t)got);
}

static void on_opendir(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	int fd;
	DIR *d;

	cost_pay(OPENDIRS);
	fd = openat(source, node_of(ino)->path,
		    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		fuse_reply_err(req, errno);
		return;
	}
	fi->fh = (uintptr_t)d;
	fuse_reply_open(req, fi);
}

static void on_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t at,
		       struct fuse_file_info *fi)
{
	DIR *d = (DIR *)(uintptr_t)fi->fh;
	char *buf = malloc(size);
	size_t used = 0, n;
	struct dirent *e;

	(void)ino;
	cost_pay(READDIRS);
	if (!buf) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	seekdir(d, at);
	while ((e = readdir(d))) {
		struct stat st = { .st_ino = e->d_ino,
				   .st_mode = (mode_t)e->d_type << 12 };

		n = fuse_add_direntry(req, buf + used, size - used, e->d_name,
				      &st, telldir(d));
		if (n > size - used)
			break;
		used += n;
	}
	fuse_reply_buf(req, buf, used);
	free(buf);
}

static void on_releasedir(fuse_req_t req, fuse_ino_t ino,
			  struct fuse_file_info *fi)
{
	(void)ino;
	closedir((DIR *)(uintptr_t)fi->fh);
	fuse_reply_err(req, 0);
}

static void on_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs st;

	(void)ino;
	if (fstatvfs(source, &st))
		fuse_reply_err(req, errno);
	else
		fuse_reply_statfs(req, &st);
}

static void on_init(void *data, struct fuse_conn_info *conn)
{
	(void)data;
	conn->want &=
		~(unsigned)(FUSE_CAP_READDIRPLUS | FUSE_CAP_AUTO_INVAL_DATA);
	conn->want |= FUSE_CAP_PARALLEL_DIROPS & conn->capable;
	conn->max_background = FS_THREADS;
}

const struct fuse_lowlevel_ops fs_operations = {
	.init = on_init,
	.lookup = on_lookup,
	.getattr = on_getattr,
	.readlink = on_readlink,
	.open = on_open,
	.read = on_read,
	.release = on_release,
	.opendir = on_opendir,
	.readdir = on_readdir,
	.releasedir = on_releasedir,
	.statfs = on_statfs,
};
