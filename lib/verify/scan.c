/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk of a source, with the options of the pack, and what it counts of
 * things that no dataset keeps.
 */
#include "verify/source.h"

#include "base/error.h"
#include "base/litter.h"
#include "base/mem.h"
#include "plan/lost.h"
#include "scan/scan.h"

#include <string.h>

static const char *option(const struct hp_verify *v, const char *key)
{
	const struct hp_pairs *p = &v->manifest.options;

	for (size_t i = 0; v->has_manifest && i < p->n; i++) {
		if (!strcmp(p->v[i].key, key))
			return p->v[i].value;
	}
	return "";
}

/* All values of a repeated key; *ret has room for all pairs. */
static size_t values(const struct hp_verify *v, const char *key,
		     const char **ret)
{
	const struct hp_pairs *p = &v->manifest.options;
	size_t n = 0;

	for (size_t i = 0; v->has_manifest && i < p->n; i++) {
		if (!strcmp(p->v[i].key, key))
			ret[n++] = p->v[i].value;
	}
	return n;
}

/* A list of a later version has other rows. */
static int take_litter(const struct hp_verify *v,
		       struct hpdsl_pack_options *opt, struct hpdsl_error *err)
{
	const char *is = option(v, HP_LITTER);

	if (*is && strcmp(is, HP_LITTER_VERSION) && strcmp(is, HP_LITTER_KEPT))
		return hp_fail(err, HPDSL_ETOONEW,
			       "the packer left out litter of version %s, and "
			       "only version " HP_LITTER_VERSION " is known",
			       is);
	return hp_lost_litter(v->index,
			      (struct hp_lost_option){
				      .value = *is ? is : NULL,
				      .lost = !v->has_manifest ||
					      hp_lost_options(v->manifest.lost),
			      },
			      &opt->litter, err);
}

/* How the packer walked it, as far as the manifest tells. */
static int make_options(struct hp_compare *c, struct hpdsl_error *err)
{
	const struct hp_verify *v = c->v;
	size_t n = v->has_manifest ? v->manifest.options.n : 0;
	struct hpdsl_pack_options *opt = &c->opt;

	c->include = hp_array(n, sizeof *c->include);
	c->exclude = hp_array(n, sizeof *c->exclude);
	if (!c->include || !c->exclude)
		return hp_fail_nomem(err);
	*opt = (struct hpdsl_pack_options){
		.inputs = &v->opt->source,
		.n_inputs = 1,
		.prefix_input = !strcmp(option(v, "prefix_input"), "true"),
		.nested = !strcmp(option(v, "nested"), "true"),
		.foreign_owner = v->opt->foreign_owner,
		.include = c->include,
		.n_include = values(v, "include", c->include),
		.exclude = c->exclude,
		.n_exclude = values(v, "exclude", c->exclude),
		.threads = v->opt->threads,
		.watch = v->opt->watch,
	};
	if (!strcmp(option(v, "symlinks"), "follow-all"))
		opt->symlinks = HPDSL_SYMLINKS_FOLLOW_ALL;
	return take_litter(v, opt, err);
}

/* Attributes are counted where files are read; nobody knows those of others. */
static void note_counts(struct hp_compare *c,
			const struct hpdsl_pack_report *counts)
{
	bool dir = c->list.n_roots && c->list.roots[0].kind == HP_ROOT_DIR;

	c->v->report->not_kept = (struct hpdsl_not_kept){
		.excluded = counts->excluded,
		.excluded_dirs = counts->excluded_dirs,
		.litter = counts->litter.files,
		.litter_dirs = counts->litter.folders,
		.symlinks_to_dirs = counts->symlinks_to_dirs,
		.empty_dirs = counts->empty_dirs,
		.xattrs = dir ? 0 : UINT64_MAX,
		.symlinks_followed = counts->symlinks_followed,
		.hard_links = counts->hard_links,
		.sparse = counts->sparse,
	};
}

int hp_compare_scan(struct hp_compare *c, struct hpdsl_error *err)
{
	struct hpdsl_pack_report counts = { 0 };
	int r = make_options(c, err);

	/* Without files there all of ours are absent, or behind links. */
	c->list.note_linked = true;
	if (r == 0)
		r = hp_scan(&c->list, &c->opt, &counts, err);
	if (r == 0)
		note_counts(c, &counts);
	return r;
}
