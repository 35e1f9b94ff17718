/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-mount: a dataset as the tree that it was packed from, for programs that
 * open files.
 */
#include "mount.h"
#include "status.h"

#include <errno.h>
#include <string.h>

static int undo(const struct mount_options *o)
{
	struct hpdsl_error err;
	int r = mount_unmount(o->point, &err);

	if (r == 0)
		return CMD_DONE;
	cmd_message("%s", err.msg);
	return r == -EINVAL || r == -ENOENT ? CMD_NO : CMD_TROUBLE;
}

/* What a server that was killed has left goes, where that can be. */
static void make_way(const struct mount_options *o)
{
	struct hpdsl_error err;

	if (o->command || !mount_is_dead(o->point))
		return;
	if (mount_unmount(o->point, &err) < 0)
		cmd_warning("%s", err.msg);
	else
		cmd_warning("%s: the mount of a server that was killed is "
			    "unmounted",
			    o->point);
}

/* The directory and the process are there; an exit status. */
static int look(struct mount_options *o)
{
	make_way(o);
	o->data = realpath(o->dataset, NULL);
	o->place = realpath(o->point, NULL);
	if (!o->place) {
		cmd_message("%s: cannot be mounted on: %s", o->point,
			    strerror(errno));
		return CMD_TROUBLE;
	}
	if (!o->command && mount_is_in(o->data, o->place)) {
		cmd_message(
			"%s: the dataset is there, and would be hidden from "
			"those who serve it",
			o->point);
		return CMD_TROUBLE;
	}
	if (!o->process)
		return CMD_DONE;
	o->process_start = cmd_process_start((pid_t)o->process);
	if (!o->process_start) {
		cmd_message("--while=%u: no such process", o->process);
		return CMD_TROUBLE;
	}
	return CMD_DONE;
}

static int do_mount(struct mount_options *o)
{
	int status = o->isatty ? cmd_preload("isatty.so") : CMD_DONE;

	if (!status)
		status = look(o);
	if (!status)
		status = o->foreground ? mount_foreground(o) : mount_run(o);
	free(o->place);
	free(o->data);
	free(o->include.v);
	free(o->exclude.v);
	free(o->labels.v);
	return status;
}

int main(int argc, char **argv)
{
	struct mount_options o = { 0 };

	cmd_start(argv);
	mount_parse(argc, argv, &o);
	if (o.check)
		return mount_check();
	if (o.undo)
		return undo(&o);
	if (o.status)
		return mount_status_show(&o);
	return do_mount(&o);
}
