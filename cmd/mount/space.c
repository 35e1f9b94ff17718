/* SPDX-License-Identifier: Apache-2.0 */
#include "space.h"

#include "common/common.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

__attribute__((format(printf, 3, 4))) static int fail(struct hpdsl_error *err,
						      int code, const char *fmt,
						      ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	return err->code = code;
}

/* ---- Name spaces ------------------------------------------------------ */

static int put(const char *file, const char *text, struct hpdsl_error *err)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC), r = 0;

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		r = -errno;
	if (fd >= 0)
		close(fd);
	return r == 0 ? 0 : fail(err, r, "%s: %s", file, strerror(-r));
}

/* Numbers mean what they meant; groups cannot be changed any more. */
static int map_self(uid_t uid, gid_t gid, struct hpdsl_error *err)
{
	char text[64];
	int r;

	snprintf(text, sizeof(text), "%u %u 1\n", uid, uid);
	r = put("/proc/self/uid_map", text, err);
	/* Before Linux 3.19 there is none. */
	if (r == 0 && access("/proc/self/setgroups", F_OK) == 0)
		r = put("/proc/self/setgroups", "deny\n", err);
	snprintf(text, sizeof(text), "%u %u 1\n", gid, gid);
	return r < 0 ? r : put("/proc/self/gid_map", text, err);
}

static int no_space(int code, struct hpdsl_error *err)
{
	const char *why =
		code == -ENOSPC ?
			"the system allows none (max_user_namespaces)" :
		code == -EPERM ? "the system forbids them to users" :
				 strerror(-code);

	return fail(err, code, "no user name space: %s", why);
}

int mount_space_enter(struct hpdsl_error *err)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	bool root = uid == 0;

	if (unshare(CLONE_NEWNS | (root ? 0 : CLONE_NEWUSER)) < 0) {
		if (!root)
			return no_space(-errno, err);
		return fail(err, -errno, "no mount name space: %s",
			    strerror(errno));
	}
	if (!root) {
		int r = map_self(uid, gid, err);

		if (r < 0)
			return r;
	}
	/* What is mounted outside later is seen here, and nothing there. */
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return fail(err, -errno, "/: %s", strerror(errno));
	return 0;
}

/* ---- Mounting --------------------------------------------------------- */

int mount_space_mount(const struct mount_point *m, struct hpdsl_error *err)
{
	char data[160];
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return fail(err, -errno, "/dev/fuse: %s", strerror(errno));
	snprintf(data, sizeof(data),
		 "fd=%d,rootmode=%o,user_id=%u,group_id=%u,default_permissions%"
		 "s",
		 fd, S_IFDIR | 0755, geteuid(), getegid(),
		 m->allow_other ? ",allow_other" : "");
	if (mount("hpdsl", m->path, "fuse.hpdsl",
		  MS_RDONLY | MS_NOSUID | MS_NODEV, data) == 0)
		return fd;
	fail(err, -errno, "%s: cannot be mounted on: %s", m->path,
	     strerror(errno));
	close(fd);
	return err->code;
}

int mount_space_clone(int fd)
{
	uint32_t of = (uint32_t)fd;
	int r = open("/dev/fuse", O_RDWR | O_CLOEXEC);

	if (r < 0 || ioctl(r, FUSE_DEV_IOC_CLONE, &of) == 0)
		return r;
	close(r);
	return -1;
}

int mount_undo(const char *path, struct hpdsl_error *err)
{
	if (umount2(path, UMOUNT_NOFOLLOW | MNT_DETACH) == 0)
		return 0;
	return fail(err, -errno, "%s: %s", path, strerror(errno));
}
