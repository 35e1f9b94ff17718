/* SPDX-License-Identifier: Apache-2.0 */
/* A pack that is at work, or was ended: how far it is, and how it goes on. */
#include "info.h"

#include <string.h>
#include <unistd.h>

/* Is it at work, as far as this machine can tell? */
enum at_work { NO, YES, ELSEWHERE };

/* By the process's name: another one may have its number by now. */
static enum at_work is_at_work(const struct hpdsl_unfinished_info *u)
{
	char host[256] = "", name[64] = "", path[64];
	FILE *f;

	gethostname(host, sizeof(host) - 1);
	if (strncmp(host, u->host, strlen(u->host)) != 0)
		return ELSEWHERE;
	snprintf(path, sizeof(path), "/proc/%u/comm", (unsigned)u->process);
	f = u->process ? fopen(path, "r") : NULL;
	if (!f)
		return NO;
	if (!fgets(name, sizeof(name), f))
		*name = '\0';
	fclose(f);
	return strcmp(name, "hpdsl-pack\n") == 0 ? YES : NO;
}

static void put_json(struct cmd_json *j, const struct hpdsl_unfinished_info *u,
		     enum at_work at_work)
{
	cmd_json_bool(j, "begun", u->begun);
	cmd_json_u64(j, "files", u->files);
	cmd_json_u64(j, "chunks", u->chunks);
	cmd_json_u64(j, "chunks_done", u->chunks_done);
	cmd_json_u64(j, "bytes_done", u->bytes_done);
	cmd_json_name(j, "host", u->host, strlen(u->host));
	cmd_json_u64(j, "process", u->process);
	if (at_work != ELSEWHERE)
		cmd_json_bool(j, "at_work", at_work == YES);
	cmd_json_i64(j, "written", u->written);
}

static void put_text(struct info *i, const struct hpdsl_unfinished_info *u)
{
	if (u->begun)
		info_row(i, "done", "%llu of %s, %s",
			 (unsigned long long)u->chunks_done,
			 cmd_many(u->chunks, "chunk").s,
			 cmd_bytes(u->bytes_done).s);
	else
		info_row(i, "done", "nothing was written yet");
	if (u->begun)
		info_row(i, "files", "%llu", (unsigned long long)u->files);
	info_row(i, "packed by", "process %u on %s, last at %s UTC",
		 (unsigned)u->process, *u->host ? u->host : "?",
		 cmd_time(u->written).s);
}

/* ---- How it goes on --------------------------------------------------- */

/* What is so without an option, too. */
static bool is_usual(const struct hpdsl_pair *p)
{
	static const struct hpdsl_pair usual[] = {
		{ "shuffle", "global" },     { "seed", "0" },
		{ "group", "key" },	     { "labels", "none" },
		{ "labels", "keep" },	     { "symlinks", "follow" },
		{ "prefix_input", "false" }, { "chunk_size", "67108864" },
		{ "litter", "1" },
	};

	for (size_t k = 0; k < sizeof(usual) / sizeof(*usual); k++)
		if (!strcmp(p->key, usual[k].key) &&
		    !strcmp(p->value, usual[k].value))
			return true;
	/* of the file that --labels names, and what the inputs say */
	return strcmp(p->key, "labels_xxh3_128") == 0 ||
	       strcmp(p->key, "label_numbers") == 0;
}

static void add_option(struct info *i, const struct hpdsl_pair *p)
{
	char flag[64];

	if (is_usual(p))
		return;
	if (!strcmp(p->key, "labels") && !strcmp(p->value, "file")) {
		info_next_more(i, " --labels=FILE");
		return;
	}
	if (!strcmp(p->key, "litter")) {
		info_next_more(i, " --keep-litter");
		return;
	}
	if (strcmp(p->value, "true") != 0) {
		info_next_option(i, p->key, p->value);
		return;
	}
	snprintf(flag, sizeof(flag), " --%s", p->key);
	for (char *c = flag; *c; c++)
		if (*c == '_')
			*c = '-';
	info_next_more(i, flag);
}

/* ".NAME.hpdsl-new" is made to replace NAME, which is returned, to be freed. */
static char *replaced(const char *path)
{
	static const char end[] = ".hpdsl-new";
	size_t len = strlen(path), n = sizeof(end) - 1;
	const char *base;
	char *name;

	while (len > 1 && path[len - 1] == '/')
		len--;
	base = memrchr(path, '/', len);
	base = base ? base + 1 : path;
	len -= (size_t)(base - path);
	if (len < n + 2 || *base != '.' || strncmp(base + len - n, end, n) != 0)
		return NULL;
	if (asprintf(&name, "%.*s%.*s", (int)(base - path), path,
		     (int)(len - n - 1), base + 1) < 0)
		cmd_no_memory();
	return name;
}

static void set_next(struct info *i, const struct hpdsl_unfinished_info *u,
		     enum at_work at_work)
{
	cmd_auto_free char *name = replaced(i->path);

	if (at_work == YES) {
		info_next(i, "hpdsl-info");
		info_next_path(i, i->path);
		return;
	}
	info_next(i,
		  name ? "hpdsl-pack --resume --force" : "hpdsl-pack --resume");
	for (size_t k = 0; k < u->options.n; k++)
		add_option(i, &u->options.v[k]);
	info_next_more(i, " INPUT");
	info_next_path(i, name ? name : i->path);
}

void info_unfinished(struct info *i)
{
	struct hpdsl_unfinished_info info = { .host = "" };
	struct hpdsl_unfinished *u = NULL;
	enum at_work at_work = ELSEWHERE;
	struct hpdsl_error err;

	if (hpdsl_unfinished_open(i->path, NULL, &u, &err) < 0) {
		info_failed(i, &err);
	} else {
		hpdsl_unfinished_info(u, &info);
		at_work = is_at_work(&info);
	}
	info_says(i, at_work == YES ? "a pack that is at work" :
				      "an unfinished pack");
	if (u && info_json(i))
		put_json(info_json(i), &info, at_work);
	else if (u)
		put_text(i, &info);
	if (info.begun)
		info_pairs(i, "options", "options", &info.options);
	set_next(i, &info, at_work);
	hpdsl_unfinished_close(u);
}
