/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-verify: is every byte of a dataset what was written?  Damage is data:
 * it goes to standard output, a line or a JSON object each.
 */
#include "verify.h"

#include "common/option_table.h"

#include <string.h>

struct verify {
	struct cmd_common common;
	struct cmd_strings args; /* DATASET, or with --compat tars, too */
	unsigned readers;	 /* --compat */
	struct hpdsl_verify_options opt;
	uint64_t told;
	/* With --json: the elements of "damage", until the object is begun. */
	struct cmd_json list;
	char *list_text;
	size_t list_size;
};

static int take_compat(const struct cmd_option *o, void *to, const char *arg,
		       struct cmd_why *why)
{
	struct verify *v = to;

	(void)o;
	v->readers = compat_readers(arg, why);
	return v->readers ? 0 : -1;
}

static const struct cmd_option options[] = {
	{ "quick", NULL,
	  "Only the manifest, sizes and headers, not the chunks' bytes",
	  CMD_FLAG(struct verify, opt.quick) },
	{ "source", "TREE",
	  "Compare with the original files in TREE, a folder or archive, too",
	  CMD_STRING(struct verify, opt.source) },
	{ "peers", NULL,
	  "Ask the job's other nodes for chunks that are not here, and verify "
	  "these, too",
	  CMD_FLAG(struct verify, opt.peers) },
	{ "thorough", NULL,
	  "Parse the chunks with two independent tar readers, too",
	  CMD_FLAG(struct verify, opt.thorough) },
	{ "compat", "LIST",
	  "Instead, say what other readers would make of the names and "
	  "headers: webdataset, dali, energon, wids, hf, ray, or all",
	  .take = take_compat },
	{ 0 }
};

static void check_arguments(const struct verify *v,
			    const struct argp_state *state)
{
	if (!v->args.n)
		cmd_missing(state, "DATASET");
	if (v->args.n > 1 && !v->readers)
		cmd_not_also(state, "DATASET", v->args.v[1]);
	if (v->readers && (v->opt.quick || v->opt.thorough || v->opt.source))
		argp_error(state, "--compat looks at headers alone: not with "
				  "--quick, --thorough or --source");
	if (v->opt.peers &&
	    (v->readers || v->opt.quick || v->opt.thorough || v->opt.source))
		argp_error(state, "--peers reads chunks: not with --compat, "
				  "--quick, --thorough or --source");
	if (v->opt.quick && v->opt.thorough)
		argp_error(state, "--quick and --thorough exclude each other");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct verify *v = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &v->common;
		return 0;
	case ARGP_KEY_ARG:
		cmd_strings_add(&v->args, arg);
		return 0;
	case ARGP_KEY_END:
		check_arguments(v, state);
		return 0;
	default:
		return cmd_options_parse(options, key, arg, state);
	}
}

static const struct argp argp = {
	NULL,
	parse,
	"DATASET\n--compat=LIST DATASET|TAR|FOLDER...",
	"Verify every byte of a packed dataset.\v"
	"What is damaged goes to standard output, one line each. Exit status: "
	"0 all is sound, 1 something is damaged or differs from TREE, or a "
	"reader of LIST would trip, 3 it could not be verified, or not all "
	"of it.",
	cmd_common_children,
	NULL,
	NULL
};

static void json_damage(struct verify *v, const struct hpdsl_damage *d)
{
	struct cmd_json *j = &v->list;

	cmd_json_open(j, NULL, '{');
	if (d->file)
		cmd_json_name(j, "file", d->file, strlen(d->file));
	if (d->sample != UINT64_MAX)
		cmd_json_u64(j, "sample", d->sample);
	if (d->path)
		cmd_json_name(j, "path", d->path, strlen(d->path));
	cmd_json_string(j, "reason", d->reason);
	cmd_json_close(j, '}');
}

static void print_damage(void *arg, const struct hpdsl_damage *d)
{
	struct verify *v = arg;
	/* a manifest, too, may hold names of any bytes */
	cmd_auto_free char *file =
		d->file ? cmd_escape(d->file, strlen(d->file)) : NULL;
	cmd_auto_free char *path =
		d->path ? cmd_escape(d->path, strlen(d->path)) : NULL;

	v->told++;
	if (v->common.json) {
		json_damage(v, d);
		return;
	}
	cmd_progress_clear();
	if (file)
		cmd_print("%s: ", file);
	if (d->sample != UINT64_MAX)
		cmd_print("sample %llu: ", (unsigned long long)d->sample);
	if (path)
		cmd_print("%s: ", path);
	cmd_print("%s\n", d->reason);
	cmd_flush(); /* whoever waits for a long run sees it now */
}

static void print_json(struct verify *v, const struct hpdsl_verify_report *r,
		       int code)
{
	struct cmd_json j = { .out = stdout };

	if (fflush(v->list.out) != 0 || ferror(v->list.out))
		cmd_no_memory();
	cmd_json_open(&j, NULL, '{');
	cmd_json_bool(&j, "sound", code != HPDSL_ECORRUPT);
	cmd_json_bool(&j, "quick", v->opt.quick);
	cmd_json_bool(&j, "thorough", v->opt.thorough);
	cmd_json_u64(&j, "chunks", r->chunks);
	cmd_json_u64(&j, "samples", r->samples);
	cmd_json_u64(&j, "members", r->members);
	cmd_json_u64(&j, "bytes", r->bytes);
	cmd_json_u64(&j, "damaged_files", r->damaged_files);
	cmd_json_u64(&j, "damaged_chunks", r->damaged_chunks);
	cmd_json_u64(&j, "damaged_samples", r->damaged_samples);
	cmd_json_u64(&j, "unlisted", r->unlisted);
	cmd_json_bool(&j, "staged", r->staged);
	cmd_json_u64(&j, "absent_chunks", r->absent_chunks);
	if (v->opt.peers) {
		cmd_json_u64(&j, "peer_chunks", r->peer_chunks);
		cmd_json_u64(&j, "unsent_chunks", r->unsent_chunks);
	}
	if (v->opt.source) {
		cmd_json_u64(&j, "differing", r->differing);
		verify_json_not_kept(&j, &r->not_kept);
	}
	cmd_json_real(&j, "seconds", r->seconds);
	cmd_json_hex(&j, "dataset_id", r->dataset_id, sizeof(r->dataset_id));
	if (r->has_sha256)
		cmd_json_hex(&j, "dataset_id_sha256", r->dataset_id_sha256,
			     sizeof(r->dataset_id_sha256));
	cmd_json_open(&j, "damage", '[');
	cmd_write(v->list_text, v->list_size);
	cmd_json_close(&j, ']');
	cmd_json_line(&j);
}

static void print_sound(const struct verify *v,
			const struct hpdsl_verify_report *r)
{
	const char *quick = v->opt.quick ? " (quick)" : "";
	char lost[VERIFY_NOT_KEPT];

	if (r->staged && !r->chunks) {
		cmd_message("no chunk is here: nothing but manifest and index "
			    "was verified, and these are sound");
		return;
	}
	verify_not_kept(&r->not_kept, lost);
	if (*lost)
		cmd_message("sound%s, but not kept: %s", quick, lost);
	cmd_message("%s%s%s%s, %s in %s, %s read, %s, %s/s",
		    *lost ? "" : "sound", *lost ? "" : quick, *lost ? "" : ": ",
		    cmd_many(r->samples, "sample").s,
		    cmd_many(r->members, "member").s,
		    cmd_many(r->chunks, "chunk").s, cmd_bytes(r->bytes).s,
		    cmd_seconds(r->seconds).s,
		    cmd_bytes((uint64_t)cmd_rate(r->bytes, r->seconds)).s);
}

static void print_summary(struct verify *v, const struct hpdsl_verify_report *r,
			  int code)
{
	if (code == HPDSL_ECORRUPT)
		cmd_message("damaged: %s (%s), %s",
			    cmd_many(r->damaged_files, "file").s,
			    cmd_many(r->damaged_chunks, "chunk").s,
			    cmd_many(r->damaged_samples, "sample").s);
	else
		print_sound(v, r);
	if (r->peer_chunks)
		cmd_message("of these from other nodes: %s",
			    cmd_many(r->peer_chunks, "chunk").s);
	if (r->absent_chunks && !r->unsent_chunks)
		cmd_message("not staged here: %s",
			    cmd_many(r->absent_chunks, "chunk").s);
	if (r->differing)
		cmd_message("different from %s: %s", v->opt.source,
			    cmd_many(r->differing, "file").s);
}

static int run(struct verify *v)
{
	struct hpdsl_verify_report report = { 0 };
	struct hpdsl_error err = { 0 };
	int code = hpdsl_verify(v->args.v[0], &v->opt, &report, &err);

	cmd_progress_end();
	if (code < 0 && code != HPDSL_ECORRUPT && code != HPDSL_EDIFFERS)
		return cmd_tell(&err);
	if (v->common.json)
		print_json(v, &report, code);
	else if (!v->common.quiet)
		print_summary(v, &report, code);
	/* they are told as a warning */
	if (!code)
		return report.unsent_chunks ? CMD_TROUBLE : CMD_DONE;
	if (!v->told)
		return cmd_tell(&err);
	return CMD_NO;
}

int main(int argc, char **argv)
{
	struct verify v = { 0 };
	int status;

	cmd_start(argv);
	cmd_parse(options, &argp, argc, argv, 0, &v);
	cmd_signals(v.args.v[0], "");
	if (v.readers) {
		status = compat_run(&v.args, v.readers, &v.common);
		free(v.args.v);
		return status;
	}
	v.list.out = open_memstream(&v.list_text, &v.list_size);
	if (!v.list.out)
		cmd_no_memory();
	v.opt.threads = v.common.threads;
	v.opt.foreign_owner = v.common.foreign_owner;
	v.opt.damage = print_damage;
	v.opt.arg = &v;
	cmd_watch(&v.opt.watch, v.common.quiet);
	status = run(&v);
	fclose(v.list.out);
	free(v.list_text);
	free(v.args.v);
	return status;
}
