/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-snapshot stat: all that a snapshot knows of an entry. */
#include "snapshot_tour.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define LLU unsigned long long

static const struct argp_option options[] = {
	{ "json", CMD_OPT_JSON, NULL, 0, "One JSON object a line", 0 }, { 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct snapshot_paths *p = state->input;

	(void)arg;
	if (key == ARGP_KEY_END && p->file && !p->n)
		argp_error(state, "PATH is missing");
	return snapshot_take_paths(key, state, p);
}

const struct argp snapshot_stat_argp = {
	options,
	parse,
	"FILE PATH...",
	"Show all that a snapshot knows of PATHs.",
	NULL,
	NULL,
	NULL
};

/* An entry, and what is asked for besides. */
struct facts {
	struct hpdsl_entry e;
	const char *path, *target; /* target: NULL unless it is a link */
	bool has_checksum;
	uint64_t checksum;
	uint64_t entries, below; /* of a folder */
};

static int look(const struct hpdsl_snapshot *s, const struct hpdsl_entry *e,
		const char *path, struct facts *ret, struct hpdsl_error *err)
{
	uint64_t first, end;
	int code = 0;

	*ret = (struct facts){ .e = *e, .path = path };
	if (S_ISDIR(e->mode)) {
		code = hpdsl_snapshot_folder(s, e->number, &first,
					     &ret->entries, &end, err);
		ret->below = code < 0 ? 0 : end - first;
	} else if (S_ISLNK(e->mode)) {
		code = hpdsl_snapshot_target(s, e, &ret->target, err);
	} else if (S_ISREG(e->mode)) {
		code = hpdsl_snapshot_checksum(s, e, &ret->checksum, err);
		ret->has_checksum = code == 0;
		if (code == -ENODATA)
			code = 0;
	}
	return code;
}

static const char *type_name(uint32_t mode)
{
	switch (snapshot_type(mode)) {
	case 'd':
		return "folder";
	case 'l':
		return "symbolic link";
	case 'p':
		return "FIFO";
	case 'c':
		return "character device";
	case 'b':
		return "block device";
	case 's':
		return "socket";
	default:
		return "file";
	}
}

static void print_text(const struct facts *f)
{
	const struct hpdsl_entry *e = &f->e;

	cmd_print("path:     ");
	snapshot_print_path(f->path, strlen(f->path), false);
	cmd_print("type:     %s\n", type_name(e->mode));
	cmd_print("size:     %llu\n", (LLU)e->size);
	cmd_print("mode:     %04o %s\n", e->mode & 07777u,
		  snapshot_mode(e->mode).s);
	cmd_print("mtime:    %s.%09u UTC\n", cmd_time(e->mtime).s,
		  (unsigned)e->mtime_nsec);
	cmd_print("entry:    %llu, in %llu\n", (LLU)e->number, (LLU)e->parent);
	if (S_ISDIR(e->mode))
		cmd_print("holds:    %llu, %llu below\n", (LLU)f->entries,
			  (LLU)f->below);
	if (f->target) {
		cmd_print("target:   ");
		cmd_print_name(f->target, strlen(f->target), false);
	}
	if (e->member != HPDSL_NO_MEMBER)
		cmd_print("member:   %llu\n", (LLU)e->member);
	if (f->has_checksum)
		cmd_print("checksum: %016llx\n", (LLU)f->checksum);
}

static void print_json(const struct facts *f)
{
	struct cmd_json j = { .out = stdout };
	size_t len = strlen(f->path);
	const char *path = snapshot_path_shown(f->path, &len);
	char checksum[17];

	cmd_json_open(&j, NULL, '{');
	cmd_json_name(&j, "path", path, len);
	snapshot_json_entry(&j, &f->e);
	cmd_json_u64(&j, "entry", f->e.number);
	cmd_json_u64(&j, "parent", f->e.parent);
	if (S_ISDIR(f->e.mode)) {
		cmd_json_u64(&j, "holds", f->entries);
		cmd_json_u64(&j, "below", f->below);
	}
	if (f->target)
		cmd_json_name(&j, "target", f->target, strlen(f->target));
	if (f->has_checksum) {
		snprintf(checksum, sizeof(checksum), "%016llx",
			 (LLU)f->checksum);
		cmd_json_string(&j, "xxh3_64", checksum);
	}
	cmd_json_line(&j);
}

static int show(void *arg, const struct hpdsl_snapshot *s,
		const struct hpdsl_entry *e, const char *path)
{
	const struct snapshot_paths *p = arg;
	struct hpdsl_error err;
	struct facts f;

	if (look(s, e, path, &f, &err) < 0)
		return cmd_tell(&err);
	if (p->json)
		print_json(&f);
	else
		print_text(&f);
	return CMD_DONE;
}

int snapshot_stat(int argc, char **argv)
{
	struct snapshot_paths p = { 0 };

	argp_parse(&snapshot_stat_argp, argc, argv, 0, NULL, &p);
	return snapshot_each_path(&p, show, &p);
}
