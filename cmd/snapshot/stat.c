/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-snapshot stat: all that a snapshot knows of an entry. */
#include "tour.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define LLU unsigned long long

const struct cmd_option snapshot_stat_options[] = {
	{ "json", NULL, "One JSON object a line",
	  CMD_FLAG(struct snapshot_paths, json) },
	{ "null", NULL, "End lines with a NUL byte and do not escape paths",
	  CMD_FLAG(struct snapshot_paths, null), .letter = '0' },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	return cmd_options_parse(snapshot_stat_options, key, arg, state) ?
		       snapshot_take_paths(key, state, state->input) :
		       0;
}

const struct argp snapshot_stat_argp = {
	NULL,
	parse,
	"FILE [PATH...]",
	"Show all that a snapshot knows of PATHs, or of its top.",
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

static void end_line(bool null)
{
	cmd_write(null ? "" : "\n", 1);
}

static void print_facts(const struct facts *f, bool null)
{
	const struct hpdsl_entry *e = &f->e;

	cmd_print("size:     %llu", (LLU)e->size);
	end_line(null);
	cmd_print("mode:     %04o %s", e->mode & 07777u,
		  snapshot_mode(e->mode).s);
	end_line(null);
	cmd_print("mtime:    %s.%09u UTC", cmd_time(e->mtime).s,
		  (unsigned)e->mtime_nsec);
	end_line(null);
	cmd_print("entry:    %llu, in %llu", (LLU)e->number, (LLU)e->parent);
	end_line(null);
	if (S_ISDIR(e->mode)) {
		cmd_print("holds:    %llu, %llu below", (LLU)f->entries,
			  (LLU)f->below);
		end_line(null);
	}
}

static void print_text(const struct facts *f, bool null)
{
	cmd_print("path:     ");
	snapshot_print_path(f->path, strlen(f->path), null);
	cmd_print("type:     %s", type_name(f->e.mode));
	end_line(null);
	print_facts(f, null);
	if (f->target) {
		cmd_print("target:   ");
		cmd_print_name(f->target, f->e.size, null);
	}
	if (f->e.member != HPDSL_NO_MEMBER) {
		cmd_print("member:   %llu", (LLU)f->e.member);
		end_line(null);
	}
	if (f->has_checksum) {
		cmd_print("checksum: %016llx", (LLU)f->checksum);
		end_line(null);
	}
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
		cmd_json_name(&j, "target", f->target, f->e.size);
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
		print_text(&f, p->null);
	return CMD_DONE;
}

int snapshot_stat(int argc, char **argv)
{
	struct snapshot_paths p = { 0 };

	cmd_parse(snapshot_stat_options, &snapshot_stat_argp, argc, argv, 0,
		  &p);
	return snapshot_each_path(&p, show, &p);
}
