/* SPDX-License-Identifier: Apache-2.0 */
/* --status and --clean, of one directory: what they do, and what they print. */
#include "stage.h"

#include <string.h>

#define LLU unsigned long long

/* Beats come every second; after a kill nothing tells but their age. */
#define LATE 3.0

static void print_word(const struct hpdsl_stage_status *s)
{
	if (s->at_work && s->beat_age > LATE)
		cmd_print("a stager was at work %s ago",
			  cmd_seconds(s->beat_age).s);
	else if (s->at_work)
		cmd_print("a stager is at work");
	else if (s->stale)
		cmd_print("of before this node was started: to be verified");
	else if (s->complete)
		cmd_print("all that was planned");
	else if (s->lost)
		cmd_print("not all that was planned: %s or cut off",
			  s->lost == 1 ? "a chunk is gone" : "chunks are gone");
	else
		cmd_print("not all that was planned: no stager is at work");
}

static void print_text(const char *path, const struct hpdsl_stage_status *s)
{
	/* whoever wrote the state file may have written anything */
	cmd_auto_free char *host = cmd_escape(s->host, strlen(s->host)),
			   *job = cmd_escape(s->job, strlen(s->job)),
			   *origin = cmd_escape(s->origin, strlen(s->origin));
	char pack[33];

	cmd_hex(pack, s->pack, sizeof(s->pack));
	cmd_print("%s: %llu of %s, ", path, (LLU)s->ready,
		  cmd_many(s->chunks, "chunk").s);
	cmd_print("%s, here, ", cmd_bytes(s->ready_bytes).s);
	if (cmd_stage_missing(s))
		cmd_print("%llu missing, ", (LLU)cmd_stage_missing(s));
	cmd_print("%llu coming; ", (LLU)(s->at_work ? s->coming : 0));
	print_word(s);
	cmd_print("\n  node %u of %u (%s), ", s->node, s->nodes, host);
	/* one part is all of it */
	if (s->parts > 1)
		cmd_print(
			"%s of %u, ",
			stage_parts(s->part, s->last_part, "part ", "parts ").s,
			s->parts);
	cmd_print("since %s UTC%s%s\n", cmd_time(s->started).s,
		  *job ? ", " : "", job);
	cmd_print("  origin %s, pack %s\n", origin, pack);
}

static void print_json(const char *path, const struct hpdsl_stage_status *s,
		       struct cmd_json *j)
{
	cmd_json_open(j, NULL, '{');
	cmd_json_name(j, "directory", path, strlen(path));
	cmd_json_u64(j, "chunks", s->chunks);
	cmd_json_stage(j, s);
	cmd_json_hex(j, "pack", s->pack, sizeof(s->pack));
	cmd_json_close(j, '}');
}

int stage_status_or_clean(const struct stage_options *o, const char *path,
			  const struct hp_io *io, struct stage_found *ret,
			  struct hpdsl_error *err)
{
	if (o->status)
		return hpdsl_stage_status(path, io, &ret->status, err);
	return hpdsl_stage_clean(path, io, &ret->files, &ret->bytes, &ret->left,
				 err);
}

void stage_found_print(const struct stage_options *o, const char *path,
		       const struct stage_found *f, struct cmd_json *j)
{
	if (o->status) {
		if (o->common.json)
			print_json(path, &f->status, j);
		else
			print_text(path, &f->status);
		return;
	}
	if (o->common.json) {
		cmd_json_open(j, NULL, '{');
		cmd_json_name(j, "directory", path, strlen(path));
		cmd_json_u64(j, "files", f->files);
		cmd_json_u64(j, "bytes", f->bytes);
		cmd_json_u64(j, "left", f->left);
		cmd_json_close(j, '}');
	} else if (!o->common.quiet) {
		cmd_message("%s: %s removed, %s", path,
			    cmd_many(f->files, "file").s,
			    cmd_bytes(f->bytes).s);
	}
	if (f->left)
		cmd_warning("%s: stays, for %s of others in it", path,
			    cmd_many(f->left, "file").s);
}
