/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-pack and snapshots: the one that it reads in place of a walk, and the
 * one of the new dataset, which a run of hours must not fail to write at its
 * end for a reason that was there at its beginning.
 */
#include "pack.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int trouble(const char *name, const char *what)
{
	cmd_message("%s: %s", name, what);
	return CMD_TROUBLE;
}

/* The folder that a file is in. */
static char *folder_of(const char *name)
{
	const char *slash = strrchr(name, '/');
	size_t n = slash ? (size_t)(slash - name) : 1;
	char *ret = cmd_alloc(n + 2, 1);

	memcpy(ret, slash ? name : ".", n);
	ret[n] = '\0';
	return slash && !n ? strcpy(ret, "/") : ret;
}

/* It would be no part of the dataset. */
static bool is_in_output(const char *folder, const char *output)
{
	cmd_auto_free char *in = realpath(folder, NULL);
	cmd_auto_free char *out = realpath(output, NULL);
	size_t n = out ? strlen(out) : 0;

	if (!out && errno == ENOENT && strcmp(folder, output) == 0)
		return true; /* the output that is to be */
	return in && out && strncmp(in, out, n) == 0 &&
	       (in[n] == '/' || !in[n]);
}

static bool is_same(const char *one, const char *other)
{
	struct stat a, b;

	return one && other && stat(one, &a) == 0 && stat(other, &b) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int check_place(const struct pack *p)
{
	const char *name = p->snapshot_file;
	cmd_auto_free char *folder = folder_of(name);
	struct stat st;

	if (is_same(name, p->from_snapshot)) {
		cmd_message("%s: --from-snapshot and --snapshot are one file",
			    name);
		return CMD_USAGE;
	}
	if (lstat(name, &st) < 0) {
		if (errno != ENOENT)
			return trouble(name, strerror(errno));
	} else if (S_ISLNK(st.st_mode)) {
		return trouble(name,
			       "is a symbolic link, which is not replaced");
	} else if (!S_ISREG(st.st_mode)) {
		return trouble(name, "is there and is no regular file");
	}
	if (is_in_output(folder, p->opt.output)) {
		cmd_message("%s: a snapshot cannot lie in the dataset %s", name,
			    p->opt.output);
		return CMD_USAGE;
	}
	if (!*name || name[strlen(name) - 1] == '/')
		return trouble(name, strerror(*name ? EISDIR : ENOENT));
	if (access(folder, R_OK | W_OK | X_OK) < 0)
		return trouble(name, strerror(errno));
	return CMD_DONE;
}

void pack_snapshot_end(struct pack *p)
{
	cmd_bus_forget(p->from);
	hpdsl_snapshot_close(p->from);
}

int pack_snapshot_begin(struct pack *p)
{
	struct hpdsl_error err;
	int status = CMD_DONE;

	if (p->snapshot_file && !p->opt.dry_run)
		status = check_place(p);
	if (status || !p->from_snapshot)
		return status;
	if (hpdsl_snapshot_open(p->from_snapshot, 0, NULL, &p->from, &err) < 0)
		return pack_tell(&err);
	cmd_bus_snapshot(p->from, p->from_snapshot);
	p->opt.snapshot = p->from;
	return CMD_DONE;
}

int pack_snapshot_write(struct pack *p, struct hpdsl_error *err)
{
	struct hpdsl_snapshot_options opt = { .threads = p->common.threads,
					      .foreign_owner =
						      p->common.foreign_owner,
					      .watch = p->opt.watch };

	if (!p->snapshot_file || p->opt.dry_run)
		return 0;
	return hpdsl_snapshot_create(p->opt.output, p->snapshot_file, &opt,
				     &p->snapshot, err);
}

void pack_snapshot_tell(const struct pack *p)
{
	const struct hpdsl_snapshot_info *info = &p->snapshot.info;
	char all[33], files[33];

	if (!info->entries)
		return;
	cmd_hex(all, info->digest, 16);
	cmd_hex(files, info->files_digest, 16);
	cmd_message("snapshot %s: %s entries, digest %s, files digest %s",
		    p->snapshot_file, cmd_thousands(info->entries).s, all,
		    files);
}

void pack_snapshot_json(struct cmd_json *j, const struct pack *p)
{
	const struct hpdsl_snapshot_info *info = &p->snapshot.info;

	if (!p->snapshot_file)
		return;
	if (!info->entries) { /* a dry run, or it could not be written */
		cmd_json_null(j, "snapshot");
		return;
	}
	cmd_json_open(j, "snapshot", '{');
	cmd_json_name(j, "file", p->snapshot_file, strlen(p->snapshot_file));
	cmd_json_u64(j, "entries", info->entries);
	cmd_json_u64(j, "bytes", info->file_bytes);
	cmd_json_hex(j, "digest", info->digest, sizeof(info->digest));
	cmd_json_hex(j, "files_digest", info->files_digest,
		     sizeof(info->files_digest));
	cmd_json_close(j, '}');
}
