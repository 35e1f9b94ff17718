/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot's file out of its text. */
#include "snap/text.h"

#include "snap/write.h"
#include "sys/clock.h"
#include "sys/io.h"

int hpdsl_snapshot_load(const char *text, size_t size, const char *name,
			const char *file,
			const struct hpdsl_snapshot_options *opt,
			struct hpdsl_snapshot_report *ret,
			struct hpdsl_error *err)
{
	const struct hp_snap_text t = {
		.p = text, .size = size, .name = name, .watch = &opt->watch
	};
	struct hpdsl_snapshot_report report = { .excluded = 0 };
	struct hp_tree tree = { .arena = NULL };
	double start = hp_now();
	int r = hp_snap_parse(&t, &tree, err);

	if (r < 0)
		return r;
	r = hp_snap_save(&tree, opt->threads, hp_io_or_system(opt->watch.io),
			 file, &report.info, err);
	hp_tree_release(&tree);
	if (r < 0)
		return r;
	report.seconds = hp_now() - start;
	*ret = report;
	return 0;
}
