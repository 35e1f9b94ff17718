/* SPDX-License-Identifier: Apache-2.0 */
#include "mount.h"
#include "share.h"

#include "common/option_table.h"

#include <string.h>

#define FLAG(member) CMD_FLAG(struct mount_options, member)
#define STRINGS(member) CMD_STRINGS(struct mount_options, member)

static const struct cmd_option options[] = {
	{ "view", "VIEW",
	  "files: the tree that it was packed from; chunks: its chunks as "
	  "plain tar files, and what lies beside them",
	  CMD_WORD(struct mount_options, view, "files chunks",
		   "neither files nor chunks") },
	{ "no-links", NULL,
	  "With --view=chunks: no symbolic links to plain chunks that are here",
	  FLAG(no_links) },
	{ "folder", "DIR", "Mount this folder of the dataset alone",
	  CMD_STRING(struct mount_options, folder) },
	{ "include", "GLOB", "Only files that match; may be repeated",
	  STRINGS(include) },
	{ "exclude", "GLOB", "No files or folders that match; may be repeated",
	  STRINGS(exclude) },
	{ "label", "CLASS",
	  "Only files of samples of this class, by name or number; may be "
	  "repeated",
	  STRINGS(labels) },
	{ "verify", "WHEN",
	  "auto: members up to 16 MiB, and what is read whole; all: larger "
	  "ones too, before their first byte",
	  CMD_WORD(struct mount_options, verify, "auto all",
		   "neither auto nor all") },
	{ "fill", "WHEN",
	  "Store a chunk's files in the page cache when one of them is read: "
	  "auto (if there is memory for all), on, off",
	  CMD_WORD(struct mount_options, fill, "auto on off",
		   "neither auto, on nor off") },
	{ "memory", "SIZE",
	  "Memory for bytes on their way to the kernel (default 64M)",
	  CMD_SIZE(struct mount_options, memory, MOUNT_MEMORY_LEAST) },
	{ "xattr", NULL,
	  "Files have attributes user.hpdsl.* that say where their bytes are",
	  FLAG(attrs) },
	{ "allow-other", NULL, "Other users see it, too (not for COMMAND)",
	  FLAG(allow_other) },
	{ "join", NULL,
	  "One mount for all processes of the node that say the same",
	  FLAG(join) },
	{ "isatty", NULL,
	  "COMMAND does not ask the mount whether files are terminals",
	  FLAG(isatty) },
	{ "while", "PID", "Unmount when that process is gone",
	  CMD_NUMBER(struct mount_options, process, 1, INT32_MAX) },
	{ "foreground", NULL, "Serve in the foreground until unmounted",
	  FLAG(foreground), .letter = 'f' },
	{ "unmount", NULL, "Unmount MNT", FLAG(undo), .letter = 'u' },
	{ "status", NULL, "Say what is mounted on this node, and what it did",
	  FLAG(status) },
	{ "json", NULL, "Say it as JSON", FLAG(json) },
	{ "check", NULL, "Say which ways to mount work here", FLAG(check) },
	{ "foreign-owner", NULL, CMD_FOREIGN_OWNER_TEXT, FLAG(foreign_owner) },
	{ 0 }
};

static error_t take(struct mount_options *o, char *arg,
		    struct argp_state *state)
{
	/* Its options would be taken for ours. */
	bool behind = state->quoted && state->next > state->quoted;

	if (behind) {
		o->command = state->argv + state->next - 1;
		state->next = state->argc;
	} else if (!o->dataset && !o->undo && !o->status) {
		o->dataset = arg;
	} else if (!o->point) {
		o->point = arg;
	} else {
		argp_error(state, "COMMAND goes behind --");
	}
	return 0;
}

/* What is of files alone, or of chunks alone. */
static void check_view(const struct mount_options *o, struct argp_state *state)
{
	if (o->view == MOUNT_VIEW_FILES) {
		if (o->no_links)
			argp_error(state, "--no-links goes with --view=chunks");
		return;
	}
	if (o->folder || o->attrs || o->fill || mount_chooses(o))
		argp_error(state,
			   "--view=chunks goes with neither --folder, "
			   "--include, --exclude, --label, --fill nor --xattr");
}

static void complete(const struct mount_options *o, struct argp_state *state)
{
	if (o->json && !o->status)
		argp_error(state, "--json goes with --status");
	if (o->check) {
		if (o->dataset || o->undo)
			argp_error(state, "--check takes no arguments");
		return;
	}
	if (o->status) {
		if (o->undo || o->command)
			argp_error(state, "--status goes with MNT alone");
		return;
	}
	if (!o->undo && !o->dataset)
		cmd_missing(state, "DATASET");
	if (!o->point)
		cmd_missing(state, "MNT");
	check_view(o, state);
	if (o->join && !o->command)
		argp_error(state, "--join goes with COMMAND");
	if (o->isatty && !o->command)
		argp_error(state, "--isatty goes with COMMAND");
	if (o->process && (o->command || o->undo))
		argp_error(state, "--while goes with DATASET MNT alone");
	if (o->command && (o->undo || o->foreground || o->allow_other))
		argp_error(state, "COMMAND goes with neither -f, -u nor "
				  "--allow-other");
}

/* As shells complete it, and as scripts put it together: "./train//".  It
 * becomes no longer, so it stays where main() was given it. */
static void trim(struct mount_options *o)
{
	char *folder = (char *)o->folder;
	const char *given = o->folder;
	size_t n = 0;

	if (!given)
		return;
	for (;;) {
		size_t len = strcspn(given, "/");

		if (len && !(len == 1 && *given == '.')) {
			if (n)
				folder[n++] = '/';
			memmove(folder + n, given, len);
			n += len;
		}
		if (!given[len])
			break;
		given += len + 1;
	}
	folder[n] = '\0';
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct mount_options *o = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		return take(o, arg, state);
	case ARGP_KEY_END:
		trim(o);
		complete(o, state);
		return 0;
	default:
		return cmd_options_parse(options, key, arg, state);
	}
}

static const struct argp argp = {
	NULL,
	parse,
	"DATASET MNT -- COMMAND...\nDATASET MNT\n-u MNT\n--status [MNT]\n"
	"--check",
	"Mount a dataset as the tree that it was packed from.\v"
	"With COMMAND the mount is COMMAND's and its children's alone, needs "
	"no "
	"helper, and ends with the last of them; hpdsl-mount becomes COMMAND.",
	NULL,
	NULL,
	NULL
};

void mount_parse(int argc, char **argv, struct mount_options *ret)
{
	ret->memory = MOUNT_MEMORY;
	/* in order: else all arguments would be behind -- */
	cmd_parse(options, &argp, argc, argv, ARGP_IN_ORDER, ret);
}
