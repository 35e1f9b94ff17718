/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of the files that are chosen, by what the options say. */
#include "choice.h"
#include "mount.h"

#include <errno.h>
#include <string.h>

bool mount_chooses(const struct mount_options *o)
{
	return o->include.n || o->exclude.n || o->labels.n;
}

static int find_labels(const struct cmd_strings *from,
		       const struct hpdsl_dataset *ds, uint32_t *ret,
		       struct hpdsl_error *err)
{
	for (size_t i = 0; i < from->n; i++) {
		int r = cmd_select_class(ds, from->v[i], &ret[i], err);

		if (r < 0)
			return err->code = r == -ENOENT ? -ENODATA : r;
	}
	return 0;
}

/* Has the dataset any file there, chosen or not? */
static bool has_folder(const struct mount_choice *c)
{
	struct hpdsl_error err;
	struct hpdsl_counts n;
	struct hpdsl_member m;

	hpdsl_count(c->ds, &n);
	for (uint64_t i = 0; i < n.members; i++)
		if (hpdsl_member_get(c->ds, i, &m, &err) == 0 && !m.generated &&
		    mount_choice_below(c, &m))
			return true;
	return false;
}

static int nothing(const struct mount_options *o, struct hpdsl_error *err)
{
	if (o->folder)
		snprintf(err->msg, sizeof(err->msg),
			 "%s: no file in folder '%s' is chosen", o->dataset,
			 o->folder);
	else
		snprintf(err->msg, sizeof(err->msg), "%s: no file is chosen",
			 o->dataset);
	return err->code = -ENODATA;
}

static void tell_absent(const struct mount_choice *c)
{
	for (size_t i = 0; i < c->n_include; i++)
		if (!c->hit[i])
			cmd_warning("--include=%s: no file matches",
				    c->include[i]);
}

static int make(const struct mount_options *o, struct mount_choice *c,
		struct hpdsl_snapshot **ret, struct hpdsl_error *err)
{
	const struct hpdsl_snapshot_options opt = {
		.exclude = o->exclude.v,
		.n_exclude = o->exclude.n,
		.choose = mount_choice_has,
		.choose_arg = c,
	};
	struct hpdsl_snapshot_info info;
	struct hpdsl_snapshot *s;
	int r = hpdsl_snapshot_of(c->ds, &opt, &s, err);

	if (r < 0)
		return r;
	hpdsl_snapshot_info(s, &info);
	if (!info.files && mount_chooses(o) && has_folder(c)) {
		hpdsl_snapshot_close(s);
		return nothing(o, err);
	}
	if (info.files)
		tell_absent(c);
	*ret = s;
	return 0;
}

int mount_choose(const struct mount_options *o, const struct hpdsl_dataset *ds,
		 struct hpdsl_snapshot **ret, struct hpdsl_error *err)
{
	cmd_auto_free uint32_t *labels =
		cmd_alloc(o->labels.n, sizeof(*labels));
	cmd_auto_free _Atomic bool *hit = cmd_alloc(o->include.n, sizeof(*hit));
	struct mount_choice c = {
		.ds = ds,
		.folder = o->folder ? o->folder : "",
		.include = o->include.v,
		.n_include = o->include.n,
		.labels = labels,
		.n_labels = o->labels.n,
		.hit = hit,
	};
	int r = find_labels(&o->labels, ds, labels, err);

	return r < 0 ? r : make(o, &c, ret, err);
}
