/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot: what its header says. */
#include "info.h"

static void put_json(struct cmd_json *j, const struct hpdsl_snapshot_info *s)
{
	cmd_json_u64(j, "entries", s->entries);
	cmd_json_u64(j, "folders", s->folders);
	cmd_json_u64(j, "files", s->files);
	cmd_json_u64(j, "symlinks", s->symlinks);
	cmd_json_u64(j, "others", s->others);
	cmd_json_u64(j, "bytes", s->bytes);
	cmd_json_u64(j, "file_bytes", s->file_bytes);
}

static void put_text(struct info *i, const struct hpdsl_snapshot_info *s)
{
	info_row(i, "entries", "%s", cmd_thousands(s->entries).s);
	info_row(i, "folders", "%s", cmd_thousands(s->folders).s);
	info_row(i, "files", "%s, %s", cmd_thousands(s->files).s,
		 cmd_bytes(s->bytes).s);
	if (s->symlinks)
		info_row(i, "links", "%s", cmd_thousands(s->symlinks).s);
	if (s->others)
		info_row(i, "others", "%s", cmd_thousands(s->others).s);
	info_row(i, "size", "%s", cmd_bytes(s->file_bytes).s);
}

static void tell(struct info *i, const struct hpdsl_snapshot_info *s)
{
	info_says(i, s->from_dataset ? "a snapshot of a packed dataset" :
				       "a snapshot of a directory");
	if (info_json(i))
		put_json(info_json(i), s);
	else
		put_text(i, s);
	info_hex(i, "digest", "digest", s->digest, sizeof(s->digest));
	info_hex(i, "files digest", "files_digest", s->files_digest,
		 sizeof(s->files_digest));
	if (!s->from_dataset)
		return;
	info_hex(i, "dataset id", "dataset_id", s->dataset_id,
		 sizeof(s->dataset_id));
	info_hex(i, "pack id", "pack", s->pack, sizeof(s->pack));
}

void info_snapshot(struct info *i)
{
	struct hpdsl_snapshot *s;
	struct hpdsl_snapshot_info info;
	struct hpdsl_error err;

	if (hpdsl_snapshot_open(i->path, 0, NULL, &s, &err) < 0) {
		info_says(i, "a snapshot that cannot be read");
		info_failed(i, &err);
		return;
	}
	hpdsl_snapshot_info(s, &info);
	tell(i, &info);
	info_next(i, "hpdsl-snapshot ls -l");
	info_next_path(i, i->path);
	hpdsl_snapshot_close(s);
}
