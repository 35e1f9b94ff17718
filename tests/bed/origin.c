/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file system that plays a slow, shared one: a read-only view of a folder, in
 * which a question costs time, operations and bytes a second are bounded, and
 * all that is asked is counted.  README.md tells its options.
 */
#define FUSE_USE_VERSION 314
#include "origin.h"

#include <errno.h>
#include <fuse3/fuse_lowlevel.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
	char *op_ms, *op_cv, *ops, *rate, *keep, *budget, *stats, *control,
		*mapped, *watch;
} opt; /* as on the command line; NULL: not given */
static struct fuse_session *session;
static const char *mount_point;

static bool ending(void)
{
	return fuse_session_exited(session);
}

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
	sleep(2);
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
	const struct costs c = {
		.op_ns = number(opt.op_ms) * 1e6,
		.op_cv = number(opt.op_cv),
		.ops = number(opt.ops),
		.rate = number(opt.rate),
		.budget = opt.budget,
		.control = opt.control,
		.ending = ending,
	};
	const char *wrong = NULL;

	if (!costs_begin(&c))
		wrong = opt.budget ? opt.budget : "budget";
	else if (!fs_begin(folder, opt.mapped ? opt.mapped : "index.hpdsl",
			   number(opt.keep)))
		wrong = folder;
	if (wrong) {
		fprintf(stderr, "origin: %s: %s\n", wrong, strerror(errno));
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
	fuse_loop_cfg_set_idle_threads(config, FS_THREADS);
	fuse_loop_cfg_set_max_threads(config, FS_THREADS);
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
	fs_print_stats(out);
	fclose(out);
}

int main(int argc, char **argv)
{
#define OPTION(name)                                            \
	{                                                       \
#name "=%s", offsetof(__typeof__(opt), name), 0 \
	}
	static const struct fuse_opt specs[] = {
		OPTION(op_ms),	OPTION(op_cv),	OPTION(ops),   OPTION(rate),
		OPTION(keep),	OPTION(budget), OPTION(stats), OPTION(control),
		OPTION(mapped), OPTION(watch),	FUSE_OPT_END
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
	session = fuse_session_new(&args, &fs_operations, sizeof(fs_operations),
				   NULL);
	if (mount_point && session && !fuse_set_signal_handlers(session) &&
	    !fuse_session_mount(session, mount_point)) {
		rc = serve(&line);
		fuse_session_unmount(session);
		leave_stats();
	}
	return rc;
}
