/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a snapshot is: how many entries of which kind, its size, and the digests
 * by which a job log can name the metadata that it saw.
 */
#include "snapshot.h"

#include <string.h>

#define LLU unsigned long long

static double bytes_per_entry(const struct hpdsl_snapshot_info *i)
{
	return i->entries ? (double)i->file_bytes / (double)i->entries : 0;
}

static void add(struct snapshot_line *l, const char *text)
{
	size_t n = strlen(l->s);

	snprintf(l->s + n, sizeof(l->s) - n, "%s", text);
}

struct snapshot_line snapshot_counts(const struct hpdsl_snapshot_info *i)
{
	const struct {
		uint64_t n;
		const char *one;
	} more[] = { { i->symlinks, "symbolic link" }, { i->others, "other" } };
	struct snapshot_line l = { "" };

	add(&l, snapshot_entries(i->entries).s);
	add(&l, ": ");
	add(&l, cmd_many(i->folders, "folder").s);
	add(&l, ", ");
	add(&l, cmd_many(i->files, "file").s);
	add(&l, " of ");
	add(&l, cmd_bytes(i->bytes).s);
	for (size_t k = 0; k < 2; k++) {
		if (!more[k].n)
			continue;
		add(&l, ", ");
		add(&l, cmd_many(more[k].n, more[k].one).s);
	}
	return l;
}

static void tell_hex(const char *what, const uint8_t digest[16])
{
	char text[33];

	for (size_t i = 0; i < 16; i++)
		sprintf(text + 2 * i, "%02x", digest[i]);
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
