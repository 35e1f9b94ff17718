/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a snapshot is: how many entries of which kind, its size, and the digests
 * by which a job log can name the metadata that it saw.
 */
#include "snapshot.h"

#include <string.h>

static double bytes_per_entry(const struct hpdsl_snapshot_info *i)
{
	return i->entries ? (double)i->file_bytes / (double)i->entries : 0;
}

/* ", 2,000 files" behind what is there, for people who read large numbers. */
static void add(struct snapshot_line *l, const char *before, uint64_t n,
		const char *one)
{
	size_t at = strlen(l->s);

	snprintf(l->s + at, sizeof(l->s) - at, "%s%s %s%s", before,
		 cmd_thousands(n).s, one, n == 1 ? "" : "s");
}

struct snapshot_line snapshot_counts(const struct hpdsl_snapshot_info *i)
{
	struct snapshot_line l;
	size_t at;

	snprintf(l.s, sizeof(l.s), "%s: ", snapshot_entries(i->entries).s);
	add(&l, "", i->folders, "folder");
	add(&l, ", ", i->files, "file");
	at = strlen(l.s);
	snprintf(l.s + at, sizeof(l.s) - at, " of %s", cmd_bytes(i->bytes).s);
	if (i->symlinks)
		add(&l, ", ", i->symlinks, "symbolic link");
	if (i->others)
		add(&l, ", ", i->others, "other");
	return l;
}

static void tell_hex(const char *what, const uint8_t digest[16])
{
	char text[33];

	cmd_hex(text, digest, 16);
	cmd_message("%s %s", what, text);
}

void snapshot_tell_info(const struct hpdsl_snapshot_info *i)
{
	cmd_message("snapshot of %s, %.1f bytes an entry",
		    cmd_bytes(i->file_bytes).s, bytes_per_entry(i));
	tell_hex("digest", i->digest);
	tell_hex("files digest", i->files_digest);
	if (i->from_dataset)
		tell_hex("dataset id", i->dataset_id);
}

void snapshot_json_info(struct cmd_json *j, const struct hpdsl_snapshot_info *i)
{
	cmd_json_u64(j, "entries", i->entries);
	cmd_json_u64(j, "folders", i->folders);
	cmd_json_u64(j, "files", i->files);
	cmd_json_u64(j, "symlinks", i->symlinks);
	cmd_json_u64(j, "others", i->others);
	cmd_json_u64(j, "bytes", i->bytes);
	cmd_json_u64(j, "file_bytes", i->file_bytes);
	cmd_json_real(j, "bytes_per_entry", bytes_per_entry(i));
	cmd_json_hex(j, "digest", i->digest, sizeof(i->digest));
	cmd_json_hex(j, "files_digest", i->files_digest,
		     sizeof(i->files_digest));
	if (!i->from_dataset)
		return;
	cmd_json_hex(j, "dataset_id", i->dataset_id, sizeof(i->dataset_id));
	cmd_json_hex(j, "pack", i->pack, sizeof(i->pack));
}

void snapshot_tell_passed(const struct hpdsl_snapshot_report *r)
{
	if (r->excluded)
		cmd_message("left out by --exclude: %s",
			    cmd_many(r->excluded, "name").s);
	if (r->mounts)
		cmd_message("not entered: %s of other file systems",
			    cmd_many(r->mounts, "folder").s);
}

static void print_json(const struct hpdsl_snapshot_report *r)
{
	struct cmd_json j = { .out = stdout };

	cmd_json_open(&j, NULL, '{');
	snapshot_json_info(&j, &r->info);
	cmd_json_u64(&j, "excluded", r->excluded);
	cmd_json_u64(&j, "mounts", r->mounts);
	cmd_json_real(&j, "walk_seconds", r->walk_seconds);
	cmd_json_real(&j, "seconds", r->seconds);
	cmd_json_real(&j, "entries_per_second",
		      cmd_rate(r->info.entries, r->seconds));
	cmd_json_line(&j);
}

void snapshot_made(const struct cmd_common *c,
		   const struct hpdsl_snapshot_report *r)
{
	double rate = cmd_rate(r->info.entries, r->seconds);

	if (c->json) {
		print_json(r);
		return;
	}
	if (c->quiet)
		return;
	cmd_message("%s, %s, %s/s", snapshot_counts(&r->info).s,
		    cmd_seconds(r->seconds).s,
		    snapshot_entries((uint64_t)rate).s);
	snapshot_tell_passed(r);
	snapshot_tell_info(&r->info);
}
