/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands of hpdsl-snapshot share: the file, paths, entries. */
#include "snapshot.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

int snapshot_open(const char *file, struct hpdsl_snapshot **ret)
{
	struct hpdsl_error err;

	cmd_signals(file, "");
	if (hpdsl_snapshot_open(file, 0, NULL, ret, &err) < 0)
		return cmd_tell(&err);
	cmd_bus_snapshot(*ret, file);
	return CMD_DONE;
}

void snapshot_close(struct hpdsl_snapshot *s)
{
	cmd_bus_forget(s);
	hpdsl_snapshot_close(s);
}

size_t snapshot_path_clean(char *path)
{
	char *in = path, *out = path;

	for (;;) {
		size_t n;

		in += strspn(in, "/");
		n = strcspn(in, "/");
		if (!n)
			break;
		if (n > 1 || *in != '.') {
			if (out > path)
				*out++ = '/';
			memmove(out, in, n);
			out += n;
		}
		in += n;
	}
	*out = '\0';
	return (size_t)(out - path);
}

int snapshot_lookup(const struct hpdsl_snapshot *s, char *path,
		    struct hpdsl_entry *ret)
{
	size_t len = snapshot_path_clean(path);
	char near[HPDSL_SNAPSHOT_NEAR];
	struct hpdsl_error err;
	int code = hpdsl_snapshot_lookup(s, path, len, ret, &err);

	if (code == -ENOENT) {
		cmd_message("%s: no such entry; %s", path,
			    hpdsl_snapshot_near(s, path, len, near));
		return CMD_NO;
	}
	return code < 0 ? cmd_tell(&err) : CMD_DONE;
}

const char *snapshot_path_shown(const char *path, size_t *len)
{
	if (*len)
		return path;
	*len = 1;
	return ".";
}

void snapshot_print_path(const char *path, size_t len, bool null)
{
	path = snapshot_path_shown(path, &len);
	cmd_print_name(path, len, null);
}

char snapshot_type(uint32_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return 'd';
	case S_IFLNK:
		return 'l';
	case S_IFIFO:
		return 'p';
	case S_IFCHR:
		return 'c';
	case S_IFBLK:
		return 'b';
	case S_IFSOCK:
		return 's';
	default:
		return 'f';
	}
}

/* The letter for x and a bit that stands in its place. */
static char special(uint32_t mode, uint32_t bit, uint32_t x, char both,
		    char alone)
{
	if (mode & bit)
		return mode & x ? both : alone;
	return mode & x ? 'x' : '-';
}

struct cmd_text snapshot_mode(uint32_t mode)
{
	struct cmd_text t = cmd_mode(mode);
	char type = snapshot_type(mode);

	t.s[0] = type == 'f' ? '-' : type;
	t.s[3] = special(mode, S_ISUID, S_IXUSR, 's', 'S');
	t.s[6] = special(mode, S_ISGID, S_IXGRP, 's', 'S');
	t.s[9] = special(mode, S_ISVTX, S_IXOTH, 't', 'T');
	return t;
}

struct cmd_text snapshot_entries(uint64_t n)
{
	struct cmd_text t = cmd_thousands(n);

	strcat(t.s, n == 1 ? " entry" : " entries"); /* at most 26 before */
	return t;
}

void snapshot_json_entry(struct cmd_json *j, const struct hpdsl_entry *e)
{
	char type[2] = { snapshot_type(e->mode) }, mode[8];

	snprintf(mode, sizeof(mode), "%04o", e->mode & 07777u);
	cmd_json_string(j, "type", type);
	cmd_json_string(j, "mode", mode);
	cmd_json_u64(j, "size", e->size);
	cmd_json_i64(j, "mtime", e->mtime);
	cmd_json_u64(j, "mtime_nsec", e->mtime_nsec);
	if (e->member != HPDSL_NO_MEMBER)
		cmd_json_u64(j, "member", e->member);
}
