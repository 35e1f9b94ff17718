/* SPDX-License-Identifier: Apache-2.0 */
/* What a server is and did, in words and as an object. */
#include "mount.h"
#include "status.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

struct figures {
	uint64_t all, lookups, lists, reads, bytes, interrupted, wrong, stored;
	uint64_t replaced;
};

static struct figures figures(const struct mount_status *s)
{
	const struct mount_counts *c = &s->slots->counts;

	return (struct figures){
		atomic_load(&c->all),	   atomic_load(&c->lookups),
		atomic_load(&c->lists),	   atomic_load(&c->reads),
		atomic_load(&c->bytes),	   atomic_load(&c->interrupted),
		atomic_load(&c->wrong),	   atomic_load(&c->stored),
		atomic_load(&c->replaced),
	};
}

static const char *way(const struct mount_options *o)
{
	return o->command ? "command" : geteuid() == 0 ? "root" : "fusermount";
}

static const char *dataset(const struct mount_options *o)
{
	return o->data ? o->data : o->dataset;
}

static void put_words(const struct mount_status *s, const struct figures *f,
		      FILE *out)
{
	const struct mount_options *o = s->o;
	cmd_auto_free char *point = cmd_escape(o->place, strlen(o->place));
	cmd_auto_free char *data = cmd_escape(dataset(o), strlen(dataset(o)));

	fprintf(out, "%s: %s", point, data);
	if (o->folder) {
		cmd_auto_free char *folder =
			cmd_escape(o->folder, strlen(o->folder));

		fprintf(out, ", folder %s", folder);
	}
	if (o->view == MOUNT_VIEW_CHUNKS)
		fprintf(out, ", its chunks");
	if (mount_chooses(o))
		fprintf(out, ", some of its files");
	fprintf(out, "\n  server %ld, for %s%s", (long)s->slots->keeper,
		cmd_seconds((double)(time(NULL) - s->slots->since)).s,
		o->command ? ", in a command's name space" : "");
	if (f->replaced)
		fprintf(out, ", replaced %s", cmd_many(f->replaced, "time").s);
	fputc('\n', out);
	fprintf(out, "  %s: ", cmd_many(f->all, "request").s);
	fprintf(out, "%s, ", cmd_many(f->lookups, "name").s);
	fprintf(out, "%s, ", cmd_many(f->lists, "listing").s);
	fprintf(out, "%s of %s; ", cmd_many(f->reads, "read").s,
		cmd_bytes(f->bytes).s);
	fprintf(out, "%s before being asked; ", cmd_many(f->stored, "file").s);
	fprintf(out, "%s failed\n", cmd_thousands(f->wrong).s);
}

static void put_name(struct cmd_json *j, const char *name, const char *s)
{
	if (s)
		cmd_json_name(j, name, s, strlen(s));
	else
		cmd_json_null(j, name);
}

static void put_object(const struct mount_status *s, const struct figures *f,
		       FILE *out)
{
	struct cmd_json j = { .out = out };

	cmd_json_open(&j, NULL, '{');
	put_name(&j, "mount", s->o->place);
	put_name(&j, "dataset", dataset(s->o));
	put_name(&j, "folder", s->o->folder);
	cmd_json_string(&j, "view",
			s->o->view == MOUNT_VIEW_CHUNKS ? "chunks" : "files");
	cmd_json_bool(&j, "chosen", mount_chooses(s->o));
	cmd_json_string(&j, "way", way(s->o));
	cmd_json_u64(&j, "pid", (uint64_t)s->slots->keeper);
	cmd_json_u64(&j, "worker", (uint64_t)getpid());
	cmd_json_u64(&j, "replaced", f->replaced);
	cmd_json_i64(&j, "since", s->slots->since);
	cmd_json_u64(&j, "requests", f->all);
	cmd_json_u64(&j, "lookups", f->lookups);
	cmd_json_u64(&j, "listings", f->lists);
	cmd_json_u64(&j, "reads", f->reads);
	cmd_json_u64(&j, "bytes", f->bytes);
	cmd_json_u64(&j, "interrupted", f->interrupted);
	cmd_json_u64(&j, "filled", f->stored);
	cmd_json_u64(&j, "failed", f->wrong);
	cmd_json_close(&j, '}');
}

void mount_status_put(const struct mount_status *s, bool json, FILE *out)
{
	const struct figures f = figures(s);

	if (json)
		put_object(s, &f, out);
	else
		put_words(s, &f, out);
}
