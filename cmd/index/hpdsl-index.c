/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-index: makes index and manifest anew, or for the first time for tar
 * files of others.
 */
#include "common/option_table.h"

#include <string.h>
#include <sys/stat.h>

struct index {
	struct cmd_common common;
	struct cmd_strings args;
	struct cmd_strings double_suffix;
	const char *dataset; /* a directory, or NULL: tar files */
	struct hpdsl_reindex_options opt;
};

static int take_labels(const struct cmd_option *o, void *to, const char *arg,
		       struct cmd_why *why)
{
	struct index *x = to;
	struct cmd_labels labels;

	if (cmd_value_labels(o->name, arg, x->opt.label_file, &labels, why) < 0)
		return -1;
	CMD_SET_LABELS(&x->opt, labels);
	return 0;
}

static const struct cmd_option options[] = {
	{ "output", "DIR",
	  "Put index and manifest of tar files of others into DIR",
	  CMD_STRING(struct index, opt.output), .letter = 'o' },
	{ "force", NULL, "Replace an index that a chunk contradicts",
	  CMD_FLAG(struct index, opt.force) },
	{ "shuffled", NULL,
	  "The author of the tar files, or of chunks that are all that is "
	  "left, "
	  "shuffled their samples",
	  CMD_FLAG(struct index, opt.shuffled) },
	{ "labels", "HOW",
	  "Classes of tar files of others, as hpdsl-pack has them: dir[:N], "
	  "parent, cls, json:FIELD, FILE, or none",
	  .take = take_labels },
	{ "label-columns", "NAME,CLASS",
	  "Columns of a FILE called .csv, .tsv or .jsonl, by name or number",
	  CMD_STRING(struct index, opt.label_columns) },
	{ "group", "HOW",
	  "How files become samples, where index and manifest do not say it: "
	  "key, last or none, as hpdsl-pack has it",
	  CMD_WORD(struct index, opt.group, "key none last",
		   "not key, last or none") },
	{ "double-suffix", "SUFFIX",
	  "With --group=last: a suffix with a dot inside; may be repeated",
	  CMD_STRINGS(struct index, double_suffix) },
	{ 0 }
};

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* A directory, or tar files.  What is neither is told when it is opened. */
static void take_args(struct index *x, struct argp_state *state)
{
	struct stat st;

	if (!x->args.n)
		cmd_missing(state, "DIR or TAR");
	if (x->args.n == 1 &&
	    (stat(x->args.v[0], &st) < 0 || S_ISDIR(st.st_mode))) {
		x->dataset = x->args.v[0];
		return;
	}
	if (is_dir(x->args.v[0]))
		cmd_not_also(state, "DIR", x->args.v[1]);
	for (size_t i = 1; i < x->args.n; i++)
		if (is_dir(x->args.v[i]))
			argp_error(state,
				   "TAR files, not also the directory '%s'",
				   x->args.v[i]);
	x->opt.tars = x->args.v;
	x->opt.n_tars = x->args.n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct index *x = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &x->common;
		return 0;
	case ARGP_KEY_ARG:
		cmd_strings_add(&x->args, arg);
		return 0;
	case ARGP_KEY_END:
		take_args(x, state);
		return 0;
	default:
		return cmd_options_parse(options, key, arg, state);
	}
}

static const struct argp argp = {
	NULL,
	parse,
	"DIR|TAR...",
	"Rebuild the index and the manifest of a dataset from its chunks, or "
	"make them for tar files of others, which stay as they are.\v"
	"What only the index or the manifest knew is taken from what is left "
	"of them, or listed as lost. Exit status 1: a chunk contradicts the "
	"index that is there.",
	cmd_common_children,
	NULL,
	NULL
};

static void print_json(const struct hpdsl_reindex_report *r)
{
	struct cmd_json j = { .out = stdout };

	cmd_json_open(&j, NULL, '{');
	cmd_json_u64(&j, "chunks", r->chunks);
	cmd_json_u64(&j, "samples", r->samples);
	cmd_json_u64(&j, "members", r->members);
	cmd_json_u64(&j, "bytes", r->bytes);
	cmd_json_bool(&j, "adopted", r->adopted);
	cmd_json_u64(&j, "links", r->links);
	cmd_json_u64(&j, "folders", r->folders);
	cmd_json_u64(&j, "specials", r->specials);
	cmd_json_u64(&j, "repeated_keys", r->repeated_keys);
	cmd_json_u64(&j, "replaced", r->replaced);
	cmd_json_u64(&j, "repeated_paths", r->repeated_paths);
	cmd_json_u64(&j, "repeated_suffixes", r->repeated_suffixes);
	cmd_json_u64(&j, "classes", r->classes);
	cmd_json_u64(&j, "unlabelled", r->unlabelled);
	cmd_json_u64(&j, "label_members", r->label_members);
	cmd_json_u64(&j, "label_bytes", r->label_bytes);
	cmd_json_u64(&j, "cls_members", r->cls_members);
	cmd_json_bool(&j, "unchanged", r->unchanged);
	cmd_json_string(&j, "group", hpdsl_group_word(r->group));
	cmd_json_bool(&j, "shuffled", r->shuffled);
	cmd_json_string(&j, "lost", r->lost ? r->lost : "");
	cmd_json_real(&j, "seconds", r->seconds);
	cmd_json_hex(&j, "dataset_id", r->dataset_id, sizeof(r->dataset_id));
	if (r->has_sha256)
		cmd_json_hex(&j, "dataset_id_sha256", r->dataset_id_sha256,
			     sizeof(r->dataset_id_sha256));
	cmd_json_line(&j);
}

static void print_summary(const struct hpdsl_reindex_report *r)
{
	const char *what = r->adopted ? "adopted" : "rebuilt";

	cmd_message("%s: %s, %s, %s in %s, %s",
		    r->unchanged ? "sound, nothing to rebuild" : what,
		    cmd_many(r->samples, "sample").s,
		    cmd_many(r->members, "member").s, cmd_bytes(r->bytes).s,
		    cmd_many(r->chunks, "chunk").s, cmd_seconds(r->seconds).s);
	if (r->label_members)
		cmd_message("for the classes %s were read once more, %s",
			    cmd_many(r->label_members, "member").s,
			    cmd_bytes(r->label_bytes).s);
	if (r->adopted && r->classes)
		cmd_message("classes: %llu, %s without",
			    (unsigned long long)r->classes,
			    cmd_many(r->unlabelled, "sample").s);
	if (r->lost && *r->lost)
		cmd_message("lost: %s", r->lost);
	if (r->shuffle_lost)
		cmd_message("not known whether it was shuffled: it counts as "
			    "not shuffled, and is another pack if it was "
			    "(--shuffled: it was)");
	else if (r->adopted && !r->shuffled && !r->unchanged)
		cmd_message("counts as not shuffled (--shuffled: the author of "
			    "the tar files shuffled the samples)");
}

/* The dataset, as an argument of the next run: index and manifest lie there. */
static char *place(const struct index *x)
{
	const char *at = x->opt.output ? x->opt.output : x->dataset;
	const char *tar = x->args.v[0], *slash = strrchr(tar, '/');
	cmd_auto_free char *folder = NULL;

	if (!at) {
		folder = !slash	      ? strdup(".") :
			 slash == tar ? strdup("/") :
					strndup(tar, (size_t)(slash - tar));
		if (!folder)
			cmd_no_memory();
		at = folder;
	}
	return cmd_quoted_path(at);
}

static void print_labels(const struct index *x,
			 const struct hpdsl_reindex_report *r)
{
	cmd_auto_free char *at = r->cls_members ? place(x) : NULL;

	if (at)
		cmd_message("no sample has a label, and %s .cls may say them: "
			    "hpdsl-index --labels=cls %s",
			    cmd_many(r->cls_members, "member").s, at);
}

int main(int argc, char **argv)
{
	struct index x = { .opt.group = HPDSL_GROUP_LOOK };
	struct hpdsl_reindex_report report = { 0 };
	struct hpdsl_error err;
	int ret;

	cmd_start(argv);
	cmd_parse(options, &argp, argc, argv, 0, &x);
	cmd_signals(x.opt.output ? x.opt.output : x.args.v[0], "");
	x.opt.has_group = x.opt.group != HPDSL_GROUP_LOOK;
	x.opt.double_suffix = x.double_suffix.v;
	x.opt.n_double_suffix = x.double_suffix.n;
	x.opt.threads = x.common.threads;
	x.opt.foreign_owner = x.common.foreign_owner;
	cmd_watch(&x.opt.watch, x.common.quiet);
	ret = hpdsl_reindex(x.dataset, &x.opt, &report, &err);
	cmd_progress_end();
	if (ret == 0 && x.common.json)
		print_json(&report);
	else if (ret == 0 && !x.common.quiet)
		print_summary(&report);
	if (ret == 0 && !x.common.quiet)
		print_labels(&x, &report);
	free(x.args.v);
	free(x.double_suffix.v);
	return ret < 0 ? cmd_tell(&err) : CMD_DONE;
}
