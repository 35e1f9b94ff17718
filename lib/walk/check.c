/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot, and what it was made of as that is now. */
#include "base/error.h"
#include "base/mem.h"
#include "snap/write.h"
#include "sys/clock.h"
#include "sys/meter.h"
#include "walk/walk.h"

/* The source as it is now: a snapshot over *ret_bytes. */
static int snapshot_now(const char *source, const struct hp_walk_options *with,
			void **ret_bytes, struct hpdsl_snapshot **ret,
			struct hpdsl_snapshot_report *report,
			struct hpdsl_error *err)
{
	struct hp_tree t = { 0 };
	int r = hp_tree_of(source, with, &t, report, err);

	if (r < 0)
		return r;
	if (hp_stopped(&with->opt->watch))
		r = hp_fail(err, HPDSL_ESTOPPED, "stopped");
	else
		r = hp_snap_in_memory(&t, with->opt->threads, source, ret_bytes,
				      ret, err);
	hp_tree_release(&t);
	return r;
}

/* Of a dataset's folders nothing is known that could have stayed the same. */
static void trust_known(struct hp_walk_options *with,
			const struct hpdsl_snapshot *s,
			const struct hpdsl_check_options *opt)
{
	struct hpdsl_snapshot_info info;

	hpdsl_snapshot_info(s, &info);
	if (!opt->has_since || info.from_dataset)
		return;
	with->known = s;
	with->since = opt->since;
	with->since_nsec = opt->since_nsec;
}

int hpdsl_snapshot_check(const struct hpdsl_snapshot *s, const char *file,
			 const char *source,
			 const struct hpdsl_check_options *opt,
			 struct hpdsl_diff_report *ret, struct hpdsl_error *err)
{
	const struct hpdsl_check_options none = { 0 };
	const struct hpdsl_check_options *how = opt ? opt : &none;
	struct hp_walk_options with = { .opt = &how->walk };
	struct hpdsl_diff_report found = { 0 };
	struct hpdsl_snapshot_report report = { 0 };
	hp_auto_free void *bytes = NULL;
	double start = hp_now();
	struct hpdsl_snapshot *now;
	int r = 0;

	trust_known(&with, s, how);
	if (file)
		r = hp_walk_skip(&with, file, err);
	if (r == 0)
		r = snapshot_now(source, &with, &bytes, &now, &report, err);
	if (r < 0)
		return r;
	hpdsl_snapshot_info(now, &report.info);
	r = hpdsl_snapshot_diff(s, now, &how->diff, &found, err);
	hpdsl_snapshot_close(now);
	if (r < 0 && r != HPDSL_EDIFFERS)
		return r;
	report.seconds = hp_now() - start;
	found.walk = report;
	if (ret)
		*ret = found;
	return r;
}
