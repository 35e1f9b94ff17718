/* SPDX-License-Identifier: Apache-2.0 */
/* What a sample is: of files that are to be packed, or of a dataset. */
#include "info.h"

#include <string.h>

enum { MEMBERS = 16384 }; /* of a dataset that are looked at, about */

void info_look(struct info *i, const struct hpdsl_group_look *look)
{
	cmd_auto_free char *sets = cmd_look_sets(look);
	cmd_auto_free char *parted = cmd_look_parted(look);
	char text[HPDSL_LOOK_TEXT];

	if (info_json(i)) {
		cmd_json_look(info_json(i), look);
		return;
	}
	info_row(i, "sample", "%s",
		 *look->example ? look->example : "each file is one");
	if (look->verdict != HPDSL_LOOK_PASS)
		info_row(i, "names", "%s%s", hpdsl_look_text(look, text),
			 look->last ? HPDSL_LOOK_MENDS " (--group=last)" : "");
	if (sets)
		info_row(i, "sets", "%s", sets);
	if (parted)
		info_row(i, "apart", "%s", parted);
}

bool info_look_names(struct info *i, const struct cmd_strings *names,
		     struct hpdsl_group_look *ret)
{
	struct hpdsl_error err;

	if (!names->n)
		return false;
	if (hpdsl_group_look(NULL, names->v, names->n, ret, &err) == 0)
		return true;
	info_failed(i, &err);
	return false;
}

static bool is_each_file(const struct hpdsl_pairs *options)
{
	for (size_t k = 0; k < options->n; k++)
		if (!strcmp(options->v[k].key, "group"))
			return !strcmp(options->v[k].value, "none");
	return false;
}

/* Paths of the first samples, which are whole; false: they cannot be had. */
static bool add_paths(struct info *i, const struct hpdsl_dataset *ds,
		      struct cmd_strings *paths)
{
	struct hpdsl_member m = { .sample = 0 };
	struct hpdsl_counts n;
	struct hpdsl_error err;

	hpdsl_count(ds, &n);
	for (uint64_t k = 0; k < n.members; k++) {
		uint64_t last = m.sample;

		if (hpdsl_member_get(ds, k, &m, &err) < 0) {
			info_failed(i, &err);
			return false;
		}
		if (k >= MEMBERS && m.sample != last)
			break;
		/* two neighbours of adopted tars may have one key */
		if (k && m.sample != last)
			cmd_strings_add(paths, NULL);
		if (!m.generated)
			cmd_strings_add(paths, m.path);
	}
	return true;
}

void info_look_dataset(struct info *i, const struct info_pack *p,
		       struct hpdsl_group_look *ret)
{
	struct cmd_strings paths = { 0 };
	struct hpdsl_error err;

	*ret = (struct hpdsl_group_look){ 0 };
	if (!p->ds)
		return;
	if (p->manifest && is_each_file(&p->m.options)) {
		info_look(i, ret);
		return;
	}
	if (add_paths(i, p->ds, &paths)) {
		if (hpdsl_group_look(p->ds, paths.v, paths.n, ret, &err) < 0)
			info_failed(i, &err);
		else
			info_look(i, ret);
	}
	free(paths.v);
}
