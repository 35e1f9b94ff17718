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

const struct cmd_option snapshot_load_options[] = {
	{ "output", "FILE", "The snapshot to write; needed",
	  CMD_STRING(struct load, file), .letter = 'o' },
	{ "threads", "N", CMD_THREADS_TEXT,
	  CMD_THREADS(struct load, common.threads), .letter = 'j', .group = 9 },
	{ "quiet", NULL, "No progress and no summary",
	  CMD_FLAG(struct load, common.quiet), .letter = 'q', .group = 9 },
	{ "json", NULL, "The summary as one JSON object on standard output",
	  CMD_FLAG(struct load, common.json), .group = 9 },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static const char *const names[] = { "TEXT" };
	struct load *l = state->input;

	if (key == ARGP_KEY_SUCCESS && !l->file)
		cmd_missing(state, "-o FILE");
	return cmd_options_parse(snapshot_load_options, key, arg, state) ?
		       cmd_take_arguments(key, arg, state, names, &l->text, 1) :
		       0;
}

const struct argp snapshot_load_argp = {
	NULL,
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

	cmd_parse(snapshot_load_options, &snapshot_load_argp, argc, argv, 0,
		  &l);
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
