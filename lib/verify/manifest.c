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

/* Says the manifest of the keys what bits 0 and 3 of the index's flags say? */
static bool group_agrees(const struct hp_verify *v)
{
	const char *group = hp_rules_option(v, "group");
	uint32_t flags = v->index ? hp_index_flags(v->index) : 0;
	enum hpdsl_group is = flags & HP_INDEX_GROUP_NONE ? HPDSL_GROUP_NONE :
			      flags & HP_INDEX_LAST	  ? HPDSL_GROUP_LAST :
							    HPDSL_GROUP_KEY;

	if (!*group)
		return v->manifest.rebuilt;
	if (v->index)
		return !strcmp(group, hpdsl_group_word(is));
	return !strcmp(group, "none") || !strcmp(group, "key") ||
	       !strcmp(group, "last");
}

/* And of double suffixes what its section says? */
static bool doubles_agree(const struct hp_verify *v)
{
	const struct hp_pairs *p = &v->manifest.options;
	const struct hp_key_rule *rule;
	uint32_t n = 0;

	if (!v->index)
		return true;
	rule = hp_index_key_rule(v->index);
	for (size_t i = 0; i < p->n; i++) {
		if (strcmp(p->v[i].key, HP_DOUBLE_SUFFIX) != 0)
			continue;
		if (n == rule->n || strcmp(p->v[i].value, rule->doubles[n]))
			return false;
		n++;
	}
	return n == rule->n;
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
	if (n && !strcmp(v[0].key, "shuffle") &&
	    !strcmp(v[0].value, "global")) {
		v++;
		n--;
	}
	if (!n || strcmp(v->key, "group") != 0)
		return false;
	for (size_t i = 1; i < n; i++)
		if (strcmp(v[i].key, HP_DOUBLE_SUFFIX) != 0 &&
		    strncmp(v[i].key, "label", 5) != 0)
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
	if (!doubles_agree(v))
		wrong(v, &told, "double_suffix is not what the index says");
	if (!shuffle_agrees(v))
		wrong(v, &told, "shuffle is not what the index says");
	if (!options_fit(m))
		wrong(v, &told, "has options that adopted tars do not have");
}
