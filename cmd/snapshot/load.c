/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-snapshot load: a snapshot from its text. */
#include "snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE (1 << 20)

struct load {
	struct cmd_common common;
	const char *text, *file;
	/* What there is to read: mapped, or read into memory. */
	char *bytes;
	size_t size;
	bool mapped;
};

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "The snapshot to write; needed", 0 },
	{ "threads", 'j', "N", 0,
	  "Threads for CPU work (default: one a core, at most 16); 0 does "
	  "everything in place, in one thread",
	  9 },
	{ "quiet", 'q', NULL, 0, "No progress and no summary", 9 },
	{ "json", CMD_OPT_JSON, NULL, 0,
	  "The summary as one JSON object on standard output", 9 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static const char *const names[] = { "TEXT" };
	struct load *l = state->input;
	struct cmd_why why;
	int ret;

	switch (key) {
	case 'o':
		l->file = arg;
		return 0;
	case ARGP_KEY_SUCCESS:
		if (!l->file)
			argp_error(state, "-o FILE is missing");
		return 0;
	case 'j':
	case 'q':
	case CMD_OPT_JSON:
		ret = cmd_common_set(&l->common, key, arg, &why);
		if (ret < 0)
			argp_error(state, "--%s", why.text);
		return ret;
	default:
		return snapshot_take(key, arg, state, names, &l->text, 1);
	}
}

const struct argp snapshot_load_argp = {
	options,
	parse,
	"TEXT -o FILE",
	"Write the snapshot that a text describes.\v"
	"TEXT (-: standard input) is what 'hpdsl-snapshot dump' prints, or "
	"what somebody made of it; its lines may come in any order. FILE "
	"appears whole, or not at all.",
	NULL,
	NULL,
	NULL
};

/* 0, or -1 with errno set. */
static int read_all(struct load *l, int fd)
{
	size_t room = 0;
	ssize_t n;

	do {
		if (room - l->size < PIECE) {
			room = room ? room * 2 : 4 * PIECE;
			l->bytes = realloc(l->bytes, room);
			if (!l->bytes)
				cmd_no_memory();
		}
		do
			n = read(fd, l->bytes + l->size, PIECE);
		while (n < 0 && errno == EINTR);
		if (n < 0)
			return -1;
		l->size += (size_t)n;
	} while (n);
	return 0;
}

/* A file is mapped; a pipe, and what is empty or cannot be mapped, is read. */
static int take_text(struct load *l, int fd)
{
	struct stat st;
	void *p;

	if (fstat(fd, &st) < 0)
		return -1;
	if (S_ISREG(st.st_mode) && st.st_size > 0) {
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd,
			 0);
		if (p != MAP_FAILED) {
			l->bytes = p;
			l->size = (size_t)st.st_size;
			l->mapped = true;
			return 0;
		}
	}
	return read_all(l, fd);
}

static int get_text(struct load *l)
{
	bool is_stdin = strcmp(l->text, "-") == 0;
	int fd, ret;

	if (is_stdin)
		l->text = "standard input";
	fd = is_stdin ? STDIN_FILENO : open(l->text, O_RDONLY | O_CLOEXEC);
	ret = fd < 0 ? -1 : take_text(l, fd);
	if (ret < 0)
		cmd_message("%s: %s", l->text, strerror(errno));
	if (fd > STDIN_FILENO)
		close(fd);
	return ret < 0 ? CMD_TROUBLE : CMD_DONE;
}

static int write_snapshot(struct load *l)
{
	struct hpdsl_snapshot_options opt = { .threads = l->common.threads };
	struct hpdsl_snapshot_report report = { 0 };
	struct hpdsl_error err;
	int code;

	cmd_watch(&opt.watch, l->common.quiet);
	code = hpdsl_snapshot_load(l->bytes, l->size, l->text, l->file, &opt,
				   &report, &err);
	cmd_progress_end();
	if (code < 0)
		return cmd_tell(&err);
	snapshot_made(&l->common, &report);
	return CMD_DONE;
}

int snapshot_load(int argc, char **argv)
{
	struct load l = { 0 };
	int status;

	argp_parse(&snapshot_load_argp, argc, argv, 0, NULL, &l);
	cmd_signals(l.text, "; no snapshot was written");
	status = get_text(&l);
	if (status == CMD_DONE)
		status = write_snapshot(&l);
	if (l.mapped)
		munmap(l.bytes, l.size);
	else
		free(l.bytes);
	return status;
}
