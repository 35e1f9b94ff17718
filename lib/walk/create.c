/* SPDX-License-Identifier: Apache-2.0 */
/* From a directory or a dataset to a snapshot. */
#include "base/error.h"
#include "base/mem.h"
#include "dataset/dataset.h"
#include "format/manifest.h"
#include "snap/write.h"
#include "sys/clock.h"
#include "sys/meter.h"
#include "walk/walk.h"

#include <errno.h>
#include <string.h>

static int is_dataset(const char *source,
		      const struct hpdsl_snapshot_options *opt,
		      struct hpdsl_error *err)
{
	const struct hp_io *io = hp_io_or_system(opt->watch.io);
	hp_auto_fd dir = { io, -1 };
	char buf[HP_PRINTABLE];
	struct stat st;
	int r;

	if (opt->as_tree)
		return 0;
	hp_printable(source, strlen(source), buf);
	dir.fd = io->open(io, AT_FDCWD, source, O_PATH | O_DIRECTORY, 0);
	if (dir.fd < 0)
		return hp_fail_errno(err, dir.fd, "%s", buf);
	r = hp_dataset_is_one(io, dir.fd);
	if (r == HPDSL_ENOTOURS)
		return hp_manifest_missing(io, dir.fd, buf, err);
	/* Is it the folder that may not be entered? */
	if (r == -EACCES && io->stat(io, dir.fd, HP_MANIFEST_NAME, &st,
				     AT_SYMLINK_NOFOLLOW) == r)
		return hp_fail_errno(err, r, "%s", buf);
	return r < 0 ? hp_fail_errno(err, r, "%s/%s", buf, HP_MANIFEST_NAME) :
		       r;
}

int hp_tree_of(const char *source, const struct hp_walk_options *opt,
	       struct hp_tree *t, struct hpdsl_snapshot_report *report,
	       struct hpdsl_error *err)
{
	double start = hp_now();
	int r = is_dataset(source, opt->opt, err);

	if (r < 0)
		return r;
	if (r == 0)
		return hp_walk(source, opt, t, report, err);
	r = hp_tree_of_dataset(t, source, opt->opt, err);
	if (r < 0)
		return r;
	report->excluded = t->excluded;
	report->walk_seconds = hp_now() - start;
	return 0;
}

int hpdsl_snapshot_create(const char *source, const char *file,
			  const struct hpdsl_snapshot_options *opt,
			  struct hpdsl_snapshot_report *ret,
			  struct hpdsl_error *err)
{
	const struct hpdsl_snapshot_options none = { 0 };
	struct hp_walk_options with = { .opt = opt ? opt : &none };
	struct hpdsl_snapshot_report report = { 0 };
	double start = hp_now();
	struct hp_tree t = { 0 };
	int r = hp_snap_save_check(with.opt->watch.io, file, err);

	if (r == 0)
		r = hp_walk_skip(&with, file, err);
	if (r == 0)
		r = hp_tree_of(source, &with, &t, &report, err);
	if (r < 0)
		return r;
	if (hp_stopped(&with.opt->watch))
		r = hp_fail(err, HPDSL_ESTOPPED, "stopped");
	else
		r = hp_snap_save(&t, with.opt->threads, with.opt->watch.io,
				 file, &report.info, err);
	hp_tree_release(&t);
	report.seconds = hp_now() - start;
	if (r == 0 && ret)
		*ret = report;
	return r;
}
