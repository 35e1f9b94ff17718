/* SPDX-License-Identifier: Apache-2.0 */
/* What a server is and did, in words and as an object. */
#include "mount.h"
#include "status.h"

#include <string.h>
#include <time.h>

static const char *const ways[] = {
	[MOUNT_WAY_COMMAND] = "command",
	[MOUNT_WAY_FUSERMOUNT] = "fusermount",
	[MOUNT_WAY_ROOT] = "root",
};

static double age(const struct mount_figures *f)
{
	const int64_t now = time(NULL);

	return now > f->since ? (double)(now - f->since) : 0;
}

static void put_words(const struct mount_figures *f, FILE *out)
{
	cmd_auto_free char *point = cmd_escape(f->place, strlen(f->place));
	cmd_auto_free char *data = cmd_escape(f->dataset, strlen(f->dataset));
	const uint64_t *n = f->n;

	fprintf(out, "%s: %s", point, data);
	if (f->has_folder) {
		cmd_auto_free char *folder =
			cmd_escape(f->folder, strlen(f->folder));

		fprintf(out, ", folder %s", folder);
	}
	if (f->view == MOUNT_VIEW_CHUNKS)
		fprintf(out, ", its chunks");
	if (f->chosen)
		fprintf(out, ", some of its files");
	fprintf(out, "\n  server %u, for %s%s", f->keeper,
		cmd_seconds(age(f)).s,
		f->way == MOUNT_WAY_COMMAND ? ", in a command's name space" :
					      "");
	if (n[MOUNT_N_REPLACED])
		fprintf(out, ", replaced %s",
			cmd_many(n[MOUNT_N_REPLACED], "time").s);
	fputc('\n', out);
	fprintf(out, "  %s: ", cmd_many(n[MOUNT_N_REQUESTS], "request").s);
	fprintf(out, "%s, ", cmd_many(n[MOUNT_N_LOOKUPS], "name").s);
	fprintf(out, "%s, ", cmd_many(n[MOUNT_N_LISTINGS], "listing").s);
	fprintf(out, "%s of %s; ", cmd_many(n[MOUNT_N_READS], "read").s,
		cmd_bytes(n[MOUNT_N_BYTES]).s);
	fprintf(out, "%s before being asked; ",
		cmd_many(n[MOUNT_N_FILLED], "file").s);
	fprintf(out, "%s failed\n", cmd_thousands(n[MOUNT_N_FAILED]).s);
}

static void put_object(const struct mount_figures *f, FILE *out)
{
	struct cmd_json j = { .out = out };

	cmd_json_open(&j, NULL, '{');
	cmd_json_name(&j, "mount", f->place, strlen(f->place));
	cmd_json_name(&j, "dataset", f->dataset, strlen(f->dataset));
	if (f->has_folder)
		cmd_json_name(&j, "folder", f->folder, strlen(f->folder));
	else
		cmd_json_null(&j, "folder");
	cmd_json_string(&j, "view",
			f->view == MOUNT_VIEW_CHUNKS ? "chunks" : "files");
	cmd_json_bool(&j, "chosen", f->chosen);
	cmd_json_string(&j, "way", ways[f->way]);
	cmd_json_u64(&j, "pid", f->keeper);
	cmd_json_u64(&j, "worker", f->worker);
	cmd_json_u64(&j, "replaced", f->n[MOUNT_N_REPLACED]);
	cmd_json_i64(&j, "since", f->since);
	cmd_json_u64(&j, "requests", f->n[MOUNT_N_REQUESTS]);
	cmd_json_u64(&j, "lookups", f->n[MOUNT_N_LOOKUPS]);
	cmd_json_u64(&j, "listings", f->n[MOUNT_N_LISTINGS]);
	cmd_json_u64(&j, "reads", f->n[MOUNT_N_READS]);
	cmd_json_u64(&j, "bytes", f->n[MOUNT_N_BYTES]);
	cmd_json_u64(&j, "interrupted", f->n[MOUNT_N_INTERRUPTED]);
	cmd_json_u64(&j, "filled", f->n[MOUNT_N_FILLED]);
	cmd_json_u64(&j, "failed", f->n[MOUNT_N_FAILED]);
	cmd_json_close(&j, '}');
}

void mount_status_put(const struct mount_figures *f, bool json, FILE *out)
{
	if (json)
		put_object(f, out);
	else
		put_words(f, out);
}
