/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-pack --for: options that readers want, by the names of the readers.
 * hpdsl-recipes(7) and hpdsl(7), "Names and other readers", have the reasons.
 */
#include "pack.h"

static const struct {
	const char *name;
	unsigned emit; /* its index files */
} readers[] = {
	{ "webdataset", 0 },
	{ "dali", HPDSL_EMIT_DALI },
	{ "energon", HPDSL_EMIT_ENERGON },
	{ "wids", HPDSL_EMIT_WIDS },
	{ "torch", 0 },
};

#define N_READERS (sizeof(readers) / sizeof(*readers))

struct pack_list pack_readers(unsigned bits)
{
	struct pack_list list = { "" };
	size_t n = 0;

	for (size_t i = 0; i < N_READERS; i++)
		if (bits & 1u << i)
			n += (size_t)snprintf(list.s + n, sizeof(list.s) - n,
					      "%s%s", n ? "," : "",
					      readers[i].name);
	return list;
}

/* Have all inputs, packed datasets, classes that they keep? */
static bool keeps_classes(const struct pack *p)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_counts counts;
	struct hpdsl_error err;

	for (size_t i = 0; i < p->opt.n_inputs; i++) {
		/* what is none, packing will tell */
		if (cmd_open(p->opt.inputs[i], p->common.foreign_owner, &ds,
			     &err) < 0)
			return false;
		hpdsl_count(ds, &counts);
		hpdsl_close(ds);
		if (!counts.classes)
			return false;
	}
	return p->opt.n_inputs && !p->files_from && !p->from_snapshot;
}

static bool has_labels(const struct pack *p)
{
	switch (p->opt.labels) {
	case HPDSL_LABELS_KEEP:
		return keeps_classes(p);
	case HPDSL_LABELS_NONE:
		return false;
	default:
		return true;
	}
}

struct pack_place pack_place(const struct pack *p, const char *name)
{
	struct pack_place place = { "" };
	size_t line = p->config && !pack_on_line(p, name) ?
			      pack_config_line(p->config_state, name) :
			      0;

	if (line)
		snprintf(place.s, sizeof(place.s), " (%s, line %zu)", p->config,
			 line);
	return place;
}

/* What the command line asks for is stronger than what the file says. */
static bool wants_names_kept(const struct pack *p)
{
	return pack_has(p, "names") && p->opt.names == HPDSL_NAMES_KEEP &&
	       (pack_on_line(p, "names") || !pack_on_line(p, "for"));
}

/* Names both; none of these readers does without what it asks for. */
static void check(const struct pack *p, const char *who, bool labels,
		  const struct argp_state *state)
{
	struct pack_place at = pack_place(p, "for");

	if (p->opt.zstd)
		argp_error(state,
			   "--for=%s%s does not go with --zstd%s: such chunks "
			   "are not read there",
			   who, at.s, pack_place(p, "zstd").s);
	if (wants_names_kept(p))
		argp_error(state,
			   "--for=%s%s does not go with --names=keep%s: not "
			   "every name is read there",
			   who, at.s, pack_place(p, "names").s);
	if (labels && p->opt.group == HPDSL_GROUP_NONE)
		argp_error(state,
			   "--for=%s%s adds members .cls for the classes, "
			   "which do not go with --group=none%s",
			   who, at.s, pack_place(p, "group").s);
}

static void tell(const struct pack *p, const char *who)
{
	static const struct {
		unsigned bit;
		const char *text;
	} files[] = { { HPDSL_EMIT_DALI, "dali" },
		      { HPDSL_EMIT_ENERGON, "energon" },
		      { HPDSL_EMIT_WIDS, "wids" } };
	char emit[40] = "";
	size_t n = 0;

	for (size_t i = 0; i < 3; i++)
		if (p->opt.emit & files[i].bit)
			n += (size_t)snprintf(
				emit + n, sizeof(emit) - n, "%s%s",
				n ? "," : " --emit=", files[i].text);
	cmd_message("--for=%s sets --names=portable%s%s%s", who,
		    p->opt.cls ? " --cls" : "", emit,
		    p->opt.cls || p->opt.labels == HPDSL_LABELS_CLS ?
			    "" :
			    "; no members .cls without --labels");
}

void pack_for(struct pack *p, const struct argp_state *state)
{
	struct pack_list all = pack_readers(p->readers);
	struct pack_list of_tar = pack_readers(p->readers & PACK_OF_TAR);
	bool labels;

	if (!p->readers)
		return;
	if (!*of_tar.s) {
		if (!p->common.quiet)
			cmd_message("--for=%s sets nothing: it reads every "
				    "packed dataset",
				    all.s);
		return;
	}
	/* with cls they are there */
	labels = has_labels(p) && p->opt.labels != HPDSL_LABELS_CLS;
	check(p, of_tar.s, labels, state);
	p->opt.names = HPDSL_NAMES_PORTABLE;
	p->opt.cls |= labels;
	for (size_t i = 0; i < N_READERS; i++)
		if (p->readers & 1u << i)
			p->opt.emit |= readers[i].emit;
	if (!p->common.quiet)
		tell(p, all.s);
}
