/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file system that plays a slow, shared one: a read-only view of a folder, in
 * which a question costs time, operations and bytes a second are bounded, and
 * all that is asked is counted.  The kernel keeps nothing of it, but for files
 * that are mapped.  README.md tells its options.
 */
#define FUSE_USE_VERSION 314
#include <dirent.h>
#include <fuse3/fuse_lowlevel.h>
#include <poll.h>
#include <search.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "budget.h"
#include "faults.h"

#define STATS ".origin-stats"
#define READ_MAX (1u << 20)
#define THREADS 64

/* A file that was looked up; there to the end.  Its address is its number. */
struct node {
	const char *name; /* the end of path */
	_Atomic uint64_t opens, reads, bytes;
	char path[]; /* below the source; "." at the top */
};

enum count {
	LOOKUPS,
	GETATTRS,
	OPENS,
	OPENDIRS,
	READDIRS,
	READS,
	BYTES,
	BUSY,
	BUSIEST,
	COUNTS
};
static const char *const count_names[COUNTS] = {
	"lookups", "getattrs", "opens",	    "opendirs",	     "readdirs",
	"reads",   "bytes",    "reads_now", "reads_at_once",
};

static struct {
	char *op_ms, *ops, *rate, *budget, *stats, *control, *mapped, *watch;
} opt; /* as on the command line; NULL: not given */
static struct fuse_session *session;
static const char *mount_point, *mapped;
static int source = -1;
static struct budget *budget;
static double op_cost_ns, ops_rate, bytes_rate;
static struct faults faults = { .lock = PTHREAD_MUTEX_INITIALIZER };
static _Atomic uint64_t counts[COUNTS];
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

/* A metadata operation: counted, and as slow as it has to be. */
static void pay(enum count what)
{
	uint64_t until = budget_take(&budget->ops, 1, ops_rate);

	counts[what]++;
	budget_wait(until + (uint64_t)op_cost_ns);
}

static void print_node(const void *at, VISIT visit, void *out)
{
	const struct node *n = *(const struct node *const *)at;

	if ((visit == postorder || visit == leaf) && n->opens &&
	    n != stats_node)
		fprintf(out, "file %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n",
			n->bytes, n->reads, n->opens, n->path);
}

static void print_stats(FILE *out)
{
	fprintf(out, "pid %d\n", getpid());
	for (int i = 0; i < COUNTS; i++)
		fprintf(out, "%s %" PRIu64 "\n", count_names[i], counts[i]);
	pthread_mutex_lock(&nodes_lock);
	twalk_r(nodes, print_node, out);
	pthread_mutex_unlock(&nodes_lock);
}

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
	struct fuse_entry_param e = { 0 };
	struct node *n = node_find(node_of(parent), name);
	int rc;

	if (n != stats_node)
		pay(LOOKUPS);
	rc = n ? node_stat(n, &e.attr) : ENOMEM;
	e.ino = (uintptr_t)n;
	if (rc)
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
		pay(GETATTRS);
	rc = node_stat(node_of(ino), &st);
	if (rc)
		fuse_reply_err(req, rc);
	else
		fuse_reply_attr(req, &st, 0);
}

static void on_readlink(fuse_req_t req, fuse_ino_t ino)
{
	char to[4096];
	ssize_t n;

	pay(GETATTRS);
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
		print_stats(out);
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
		pay(OPENS);
	fd = n == stats_node ? open_stats() :
			       openat(source, n->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		fuse_reply_err(req, errno);
		return;
	}
	n->opens++;
	fi->fh = (uint64_t)fd;
	fi->direct_io = strcmp(n->name, mapped) != 0;
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

static void hang(const char *name)
{
	while (faults_hit(&faults, "hang", name, 0, 0, NULL) &&
	       !fuse_session_exited(session))
		budget_wait(budget_now() + 20000000);
}

static ssize_t read_node(struct node *n, int fd, char *buf, size_t size,
			 uint64_t at)
{
	uint64_t now = ++counts[BUSY], most = counts[BUSIEST], byte;
	ssize_t got;

	while (now > most &&
	       !atomic_compare_exchange_weak(&counts[BUSIEST], &most, now))
		;
	hang(n->name);
	got = pread(fd, buf, size, (off_t)at);
	if (faults_hit(&faults, "eio", n->name, at, size, NULL)) {
		got = -1;
		errno = EIO;
	}
	if (got > 0) {
		if (faults_hit(&faults, "flip", n->name, at, (uint64_t)got,
			       &byte))
			buf[byte - at] ^= 0x40;
		counts[BYTES] += (uint64_t)got;
		n->bytes += (uint64_t)got;
		budget_wait(
			budget_take(&budget->bytes, (uint64_t)got, bytes_rate));
	}
	counts[READS]++;
	n->reads++;
	counts[BUSY]--;
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

	pay(OPENDIRS);
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
	pay(READDIRS);
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
	conn->max_background = THREADS;
}

static const struct fuse_lowlevel_ops operations = {
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

/* Ends the program when process opt.watch ends, whatever hangs by then. */
static void *watch(void *arg)
{
	/* A zombie has ended too. */
	struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open,
						 atoi(opt.watch), 0),
			      .events = POLLIN };

	(void)arg;
	while (end.fd >= 0 && poll(&end, 1, -1) < 0 && errno == EINTR)
		;
	kill(getpid(), SIGTERM);
	budget_wait(budget_now() + 2000000000);
	umount2(mount_point, MNT_DETACH);
	_exit(3);
}

static void begin_watch(void)
{
	sigset_t all, was;
	pthread_t id;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &was);
	if (!pthread_create(&id, NULL, watch, NULL))
		pthread_detach(id);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
}

/* "100M": bytes, or operations. */
static double number(const char *text)
{
	static const char units[] = "KMGT";
	char *end = NULL;
	double x = text ? strtod(text, &end) : 0;
	const char *unit = text && *end ? strchr(units, *end) : NULL;

	if (text && (x < 0 || (*end && (!unit || end[1])))) {
		fprintf(stderr, "origin: no number: %s\n", text);
		exit(2);
	}
	for (; unit && unit >= units; unit--)
		x *= 1024;
	return x;
}

static void use_options(const char *folder)
{
	op_cost_ns = number(opt.op_ms) * 1e6;
	ops_rate = number(opt.ops);
	bytes_rate = number(opt.rate);
	faults.path = opt.control;
	mapped = opt.mapped ? opt.mapped : "index.hpdsl";
	budget = budget_open(opt.budget);
	source = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	top = node_find(NULL, ".");
	stats_node = node_find(NULL, STATS);
	if (source < 0 || !budget || !top || !stats_node) {
		fprintf(stderr, "origin: %s: %s\n",
			source < 0 ? folder : "budget", strerror(errno));
		exit(3);
	}
}

static int keep_argument(void *data, const char *arg, int key,
			 struct fuse_args *args)
{
	const char **folder = data;

	(void)args;
	if (key != FUSE_OPT_KEY_NONOPT || *folder)
		return 1;
	*folder = strdup(arg);
	return *folder ? 0 : -1;
}

static int serve(struct fuse_cmdline_opts *line)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	int rc;

	fuse_loop_cfg_set_clone_fd(config, 0);
	fuse_loop_cfg_set_idle_threads(config, THREADS);
	fuse_loop_cfg_set_max_threads(config, THREADS);
	/* The folder "/" would keep other mounts busy; paths stay as they are.
	 */
	if (!line->foreground && daemon(1, 0))
		return 3;
	if (opt.watch)
		begin_watch();
	rc = fuse_session_loop_mt(session, config);
	fuse_loop_cfg_destroy(config);
	return rc < 0 ? 3 : 0;
}

static void leave_stats(void)
{
	FILE *out = opt.stats ? fopen(opt.stats, "we") : NULL;

	if (!out)
		return;
	print_stats(out);
	fclose(out);
}

int main(int argc, char **argv)
{
#define OPTION(name)                                            \
	{                                                       \
#name "=%s", offsetof(__typeof__(opt), name), 0 \
	}
	static const struct fuse_opt specs[] = {
		OPTION(op_ms),	OPTION(ops),   OPTION(rate),
		OPTION(budget), OPTION(stats), OPTION(control),
		OPTION(mapped), OPTION(watch), FUSE_OPT_END
	};
	struct fuse_args args = FUSE_ARGS_INIT(argc, argv);
	struct fuse_cmdline_opts line;
	const char *folder = NULL;
	int rc = 3;

	if (fuse_opt_parse(&args, &opt, specs, NULL) ||
	    fuse_opt_parse(&args, &folder, NULL, keep_argument) ||
	    fuse_parse_cmdline(&args, &line) || !folder || !line.mountpoint) {
		fprintf(stderr, "usage: origin SOURCE MOUNT [-f] [-o OPTION,..]"
				"; see README.md\n");
		return 2;
	}
	use_options(folder);
	mount_point = realpath(line.mountpoint, NULL);
	fuse_opt_add_arg(&args, "-oro,fsname=origin,subtype=bed,"
				"default_permissions,auto_unmount");
	if (!geteuid())
		fuse_opt_add_arg(&args, "-oallow_other");
	session =
		fuse_session_new(&args, &operations, sizeof(operations), NULL);
	if (mount_point && session && !fuse_set_signal_handlers(session) &&
	    !fuse_session_mount(session, mount_point)) {
		rc = serve(&line);
		fuse_session_unmount(session);
		leave_stats();
	}
	return rc;
}
