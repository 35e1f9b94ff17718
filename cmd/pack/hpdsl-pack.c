/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-pack: from folders of small files to a packed dataset. */
#include "pack.h"

/* Divides the arguments into INPUT... and OUTPUT. */
static void take_arguments(struct pack *p, const struct argp_state *state)
{
	size_t n = p->args.n;

	if (!n)
		cmd_missing(state, p->files_from ? "OUTPUT" : "INPUT");
	if (n < 2 && !p->files_from)
		cmd_missing(state, "OUTPUT");
	if (n > 2 && (p->files_from || p->from_snapshot))
		cmd_not_also(state, "INPUT", p->args.v[1]);
	p->opt.output = p->args.v[n - 1];
	p->opt.inputs = p->args.v;
	p->opt.n_inputs = n - 1;
}

/* One size, by whatever name; the other ways to cut it are the library's. */
static void take_size(struct pack *p, const struct argp_state *state)
{
	if (!p->shard_size)
		return;
	if (p->opt.chunk_size && p->opt.chunk_size != p->shard_size)
		cmd_not_also(state, "--chunk-size", "--shard-size");
	p->opt.chunk_size = p->shard_size;
}

/*
 * What does not make sense together.  Not in the parser, as some of it may be
 * in the file of --config.
 */
static void check(struct pack *p)
{
	const struct argp_state state = cmd_after(pack_argp());

	take_arguments(p, &state);
	take_size(p, &state);
	if (p->null && !p->files_from)
		argp_error(&state, "--null goes with --files-from");
	if (p->from_snapshot && p->files_from)
		argp_error(&state, "--from-snapshot does not go with "
				   "--files-from");
	pack_for(p, &state);
}

static int take_names(struct pack *p)
{
	int status;

	if (!p->files_from)
		return CMD_DONE;
	status = cmd_names_read(&p->names, p->files_from, p->null);
	if (status)
		return status;
	/* an empty list is a list, too */
	p->opt.list = p->names.bytes;
	p->opt.list_bytes = p->names.size;
	return CMD_DONE;
}

static void planned(void *arg, const struct hpdsl_pack_report *plan)
{
	const struct pack *p = arg;

	if (!p->common.json) {
		pack_tell_sample(plan);
		pack_tell_litter(plan);
	}
	pack_tell_inside(plan);
	pack_tell_names(p, plan);
	pack_hint_members(p, plan);
}

static int prepare(struct pack *p)
{
	struct hpdsl_pack_options *o = &p->opt;
	int status = p->config ? pack_config(p) : CMD_DONE;

	if (status)
		return status;
	check(p);
	if (!pack_has(p, "group"))
		o->group = HPDSL_GROUP_LOOK;
	cmd_signals(o->output,
		    o->dry_run ? "" :
				 "; the same command with --resume completes "
				 "the pack");
	if (p->deadline)
		cmd_deadline(p->deadline);
	status = take_names(p);
	if (!status)
		status = pack_snapshot_begin(p);
	if (status)
		return status;
	o->include = p->include.v;
	o->n_include = p->include.n;
	o->exclude = p->exclude.v;
	o->n_exclude = p->exclude.n;
	o->meta = p->meta.v;
	o->n_meta = p->meta.n;
	if (p->keep_litter)
		o->litter = HPDSL_LITTER_KEEP;
	o->double_suffix = p->double_suffix.v;
	o->n_double_suffix = p->double_suffix.n;
	o->threads = p->common.threads;
	o->foreign_owner = p->common.foreign_owner;
	cmd_watch(&o->watch, p->common.quiet);
	o->watch.arg = p;
	if (!p->common.quiet)
		o->planned = planned;
	return CMD_DONE;
}

static int run(struct pack *p)
{
	struct hpdsl_pack_report report = { 0 };
	struct hpdsl_error err;
	int ret;

	/* Each INPUT and each reader takes one: a thousand class folders. */
	cmd_allow_open_files();
	ret = pack_tell_splits(p);
	if (ret)
		return ret;
	pack_hint_classes(p);
	ret = hpdsl_pack(&p->opt, &report, &err);
	if (ret < 0) {
		cmd_progress_end();
		return pack_tell(&err);
	}
	ret = pack_snapshot_write(p, &err);
	cmd_progress_end();
	/* the dataset is complete, whatever became of its snapshot */
	pack_report(p, &report);
	if (ret == 0) {
		pack_tell_next(p);
		return CMD_DONE;
	}
	ret = pack_tell(&err);
	cmd_message("%s: is complete, and only its snapshot is missing, which "
		    "--resume makes",
		    p->opt.output);
	return ret;
}

static void release(struct pack *p)
{
	pack_snapshot_end(p);
	pack_config_free(p->config_state);
	free(p->args.v);
	free(p->include.v);
	free(p->exclude.v);
	free(p->meta.v);
	free(p->double_suffix.v);
	free(p->names.bytes);
}

int main(int argc, char **argv)
{
	struct pack p = { 0 };
	int status;

	cmd_start(argv);
	argp_parse(pack_argp(), argc, argv, 0, NULL, &p);
	status = prepare(&p);
	if (!status)
		status = run(&p);
	release(&p);
	return status;
}
