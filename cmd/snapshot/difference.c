/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Differences between two name spaces, one line each: "+ PATH", "- PATH", or
 * "~ PATH", a tab and what has changed; and as JSON.
 */
#include "snapshot.h"

#include <string.h>

#define LLU unsigned long long

static const struct {
	unsigned bit;
	const char *name;
} fields[] = {
	{ HPDSL_DIFF_TYPE, "type" },	 { HPDSL_DIFF_SIZE, "size" },
	{ HPDSL_DIFF_MTIME, "mtime" },	 { HPDSL_DIFF_MODE, "mode" },
	{ HPDSL_DIFF_TARGET, "target" }, { HPDSL_DIFF_CONTENT, "content" },
};

#define FIELDS (sizeof(fields) / sizeof(*fields))

/* Nanoseconds where they alone tell the two apart. */
static struct cmd_text time_of(const struct hpdsl_entry *e, bool exact)
{
	struct cmd_text t = cmd_time(e->mtime);
	size_t n = strlen(t.s);

	if (exact)
		snprintf(t.s + n, sizeof(t.s) - n, ".%09u", e->mtime_nsec);
	return t;
}

/* " 10 -> 12" behind the name of the field, if there is more to say. */
static void print_field(unsigned bit, const struct hpdsl_entry *a,
			const struct hpdsl_entry *b)
{
	bool exact = a->mtime == b->mtime;

	switch (bit) {
	case HPDSL_DIFF_TYPE:
		cmd_print(" %c -> %c", snapshot_type(a->mode),
			  snapshot_type(b->mode));
		break;
	case HPDSL_DIFF_SIZE:
		cmd_print(" %llu -> %llu", (LLU)a->size, (LLU)b->size);
		break;
	case HPDSL_DIFF_MTIME:
		cmd_print(" %s -> %s", time_of(a, exact).s,
			  time_of(b, exact).s);
		break;
	case HPDSL_DIFF_MODE:
		cmd_print(" %04o -> %04o", a->mode & 07777u, b->mode & 07777u);
		break;
	default:
		break;
	}
}

static void print_fields(const struct hpdsl_difference *d)
{
	const char *before = "\t";

	for (size_t i = 0; i < FIELDS; i++) {
		if (!(d->fields & fields[i].bit))
			continue;
		cmd_print("%s%s", before, fields[i].name);
		print_field(fields[i].bit, d->before, d->after);
		before = ", ";
	}
}

static void print_line(const struct hpdsl_difference *d, bool null)
{
	size_t len = d->path_len;
	const char *path = snapshot_path_shown(d->path, &len);
	char escaped[CMD_ESCAPED(HPDSL_PATH_MAX)];

	cmd_print("%c ", !d->before ? '+' : d->after ? '~' : '-');
	if (!null) {
		len = cmd_escape_name(path, len, escaped);
		path = escaped;
	}
	cmd_write(path, len);
	if (d->before && d->after)
		print_fields(d);
	cmd_write(null ? "" : "\n", 1);
}

static void json_entry(struct cmd_json *j, const char *name,
		       const struct hpdsl_entry *e)
{
	if (!e)
		return;
	cmd_json_open(j, name, '{');
	snapshot_json_entry(j, e);
	cmd_json_close(j, '}');
}

static void json_difference(struct cmd_json *j,
			    const struct hpdsl_difference *d)
{
	size_t len = d->path_len;
	const char *path = snapshot_path_shown(d->path, &len);

	cmd_json_open(j, NULL, '{');
	cmd_json_name(j, "path", path, len);
	cmd_json_string(j, "change",
			!d->before ? "added" :
			d->after   ? "changed" :
				     "removed");
	if (d->before && d->after) {
		cmd_json_open(j, "fields", '[');
		for (size_t i = 0; i < FIELDS; i++)
			if (d->fields & fields[i].bit)
				cmd_json_string(j, NULL, fields[i].name);
		cmd_json_close(j, ']');
	}
	json_entry(j, "before", d->before);
	json_entry(j, "after", d->after);
	cmd_json_close(j, '}');
}

static void begin(struct snapshot_differences *d)
{
	if (d->begun)
		return;
	d->begun = true;
	d->j.out = stdout;
	cmd_json_open(&d->j, NULL, '{');
	cmd_json_open(&d->j, "differences", '[');
}

void snapshot_difference(void *arg, const struct hpdsl_difference *d)
{
	struct snapshot_differences *all = arg;

	cmd_progress_clear();
	if (all->json) {
		begin(all);
		json_difference(&all->j, d);
	} else {
		print_line(d, all->null);
	}
}

struct cmd_json *snapshot_differences_end(struct snapshot_differences *d,
					  const struct hpdsl_error *err)
{
	/* what was begun has to be an object, even so */
	if (!d->json || (err && !d->begun))
		return NULL;
	begin(d);
	cmd_json_close(&d->j, ']');
	if (!err)
		return &d->j;
	cmd_json_string(&d->j, "error", err->msg);
	cmd_json_line(&d->j);
	return NULL;
}

void snapshot_json_diff(struct cmd_json *j, const struct hpdsl_diff_report *r,
			uint64_t n)
{
	bool any = r->added || r->changed;

	cmd_json_bool(j, "equal", !any && !r->removed);
	cmd_json_u64(j, "entries", n);
	cmd_json_u64(j, "compared", r->compared);
	cmd_json_u64(j, "added", r->added);
	cmd_json_u64(j, "removed", r->removed);
	cmd_json_u64(j, "changed", r->changed);
	if (any) {
		cmd_json_i64(j, "newest", r->newest);
		cmd_json_u64(j, "newest_nsec", r->newest_nsec);
	} else {
		cmd_json_null(j, "newest");
		cmd_json_null(j, "newest_nsec");
	}
}

struct snapshot_line snapshot_diff_counts(const struct hpdsl_diff_report *r,
					  uint64_t n)
{
	struct snapshot_line l;
	int at;

	if (!r->added && !r->removed && !r->changed) {
		snprintf(l.s, sizeof(l.s), "equal: %s", snapshot_entries(n).s);
		return l;
	}
	at = snprintf(l.s, sizeof(l.s), "%s added, ",
		      cmd_thousands(r->added).s);
	at += snprintf(l.s + at, sizeof(l.s) - (size_t)at, "%s removed, ",
		       cmd_thousands(r->removed).s);
	at += snprintf(l.s + at, sizeof(l.s) - (size_t)at, "%s changed of %s",
		       cmd_thousands(r->changed).s, snapshot_entries(n).s);
	if (r->added || r->changed)
		snprintf(l.s + at, sizeof(l.s) - (size_t)at,
			 "; newest change %s", cmd_time(r->newest).s);
	return l;
}
