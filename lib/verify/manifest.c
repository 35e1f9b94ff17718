/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules about the manifest, where it is sound: a reader passes over what it
 * does not know, whoever checks does not.
 */
#include "verify/rules.h"

#include "base/error.h"
#include "format/names.h"

#include <string.h>

const char *hp_rules_option(const struct hp_verify *v, const char *key)
{
	const struct hp_pairs *p = &v->manifest.options;

	for (size_t i = 0; v->has_manifest && i < p->n; i++)
		if (!strcmp(p->v[i].key, key))
			return p->v[i].value;
	return "";
}

/* Says the manifest of the keys what bit 0 of the index's flags says? */
static bool group_agrees(const struct hp_verify *v)
{
	const char *group = hp_rules_option(v, "group");

	if (!*group)
		return v->manifest.rebuilt;
	if (strcmp(group, "none") != 0 && strcmp(group, "key") != 0)
		return false;
	return !v->index ||
	       !strcmp(group, "none") ==
		       !!(hp_index_flags(v->index) & HP_INDEX_GROUP_NONE);
}

/* Says it of the order of samples what bit 2 of them says? */
static bool shuffle_agrees(const struct hp_verify *v)
{
	const char *shuffle = hp_rules_option(v, "shuffle");

	if (*shuffle && strcmp(shuffle, "none") != 0 &&
	    strcmp(shuffle, "global") != 0)
		return false;
	return !v->index ||
	       !strcmp(shuffle, "global") ==
		       !!(hp_index_flags(v->index) & HP_INDEX_SHUFFLED);
}

/* The options that the manifest of adopted tars has. */
static bool options_fit(const struct hp_manifest *m)
{
	const struct hp_pair *v = m->options.v;
	size_t n = m->options.n;

	if (!m->adopted)
		return true;
	if (n == 2 && !strcmp(v[0].key, "shuffle") &&
	    !strcmp(v[0].value, "global")) {
		v++;
		n--;
	}
	if (!n || strcmp(v->key, "group") != 0)
		return false;
	for (size_t i = 1; i < n; i++)
		if (strncmp(v[i].key, "label", 5) != 0)
			return false;
	return true;
}

static void wrong(struct hp_verify *v, bool *told, const char *what)
{
	struct hp_damage_place spot = { HP_MANIFEST_NAME, UINT64_MAX, NULL };

	hp_verify_tell(v, spot, "%s", what);
	v->report->damaged_files += !*told;
	*told = true;
}

void hp_rules_manifest(struct hp_verify *v)
{
	const struct hp_manifest *m = &v->manifest;
	bool told = false;

	if (!v->has_manifest)
		return;
	if (m->odd[0])
		wrong(v, &told, m->odd);
	if (strcmp(m->index.name, HP_INDEX_NAME) != 0)
		wrong(v, &told, "names another index than " HP_INDEX_NAME);
	if (!group_agrees(v))
		wrong(v, &told, "group is not what the index says");
	if (!shuffle_agrees(v))
		wrong(v, &told, "shuffle is not what the index says");
	if (!options_fit(m))
		wrong(v, &told, "has options that adopted tars do not have");
}
