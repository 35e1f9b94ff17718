/* SPDX-License-Identifier: Apache-2.0 */
/* LOCALDIR on a node: its path, which directory that is, and its room. */
#include "stage.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

char *stage_expand(const char *local, const struct stage_where *w)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool known = true;

	if (!out)
		cmd_no_memory();
	for (const char *s = local; *s && known; s++) {
		if (*s != '%') {
			fputc(*s, out);
			continue;
		}
		switch (*++s) {
		case 'n':
			fprintf(out, "%u", w->node);
			break;
		case 'r':
			fprintf(out, "%d", w->rank);
			break;
		case 'h':
			fputs(w->host, out);
			break;
		case '%':
			fputc('%', out);
			break;
		default:
			known = false;
		}
	}
	if (fclose(out) != 0)
		cmd_no_memory();
	if (known)
		return text;
	free(text);
	return NULL;
}

/* The path's directory, without slashes behind it. */
static char *parent(const char *path, const char **ret_name)
{
	char *dir = strdup(path), *slash;
	size_t n = strlen(path);

	if (!dir)
		cmd_no_memory();
	while (n > 1 && dir[n - 1] == '/')
		dir[--n] = '\0';
	slash = strrchr(dir, '/');
	*ret_name = path + (slash ? slash + 1 - dir : 0);
	if (!slash)
		strcpy(dir, n ? "." : "");
	else if (slash == dir)
		slash[1] = '\0';
	else
		*slash = '\0';
	return dir;
}

static int failed(const char *path, struct hpdsl_error *err)
{
	int code = -errno;

	err->code = code;
	snprintf(err->msg, sizeof(err->msg), "%.900s: %s", path,
		 strerror(-code));
	return code;
}

static void boot_id(uint8_t *ret, size_t size)
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	memset(ret, 0, size);
	if (!f)
		return;
	if (fread(ret, 1, size - 1, f) < 36)
		memset(ret, 0, size);
	fclose(f);
}

int stage_key(const char *path, struct stage_key *ret, struct hpdsl_error *err)
{
	const char *name;
	cmd_auto_free char *dir = parent(path, &name);
	struct stat st;

	*ret = (struct stage_key){ 0 };
	boot_id(ret->boot, sizeof(ret->boot));
	if (stat(path, &st) < 0) {
		if (errno != ENOENT)
			return failed(path, err);
		if (stat(dir, &st) < 0)
			return failed(dir, err);
		ret->name = 14695981039346656037U; /* FNV-1a */
		for (; *name && *name != '/'; name++)
			ret->name =
				(ret->name ^ (uint8_t)*name) * 1099511628211U;
	}
	ret->device = st.st_dev;
	ret->inode = st.st_ino;
	return 0;
}

int stage_free(const char *path, uint64_t *ret, struct hpdsl_error *err)
{
	const char *name;
	cmd_auto_free char *dir = parent(path, &name);
	struct statvfs st;

	if (statvfs(path, &st) < 0 && statvfs(dir, &st) < 0)
		return failed(dir, err);
	*ret = (uint64_t)st.f_bavail * st.f_frsize;
	return 0;
}

uint64_t stage_capacity(const struct stage_options *o,
			const struct hpdsl_stage_place *p)
{
	uint64_t room = p->free_bytes;

	if (!o->capacity_given)
		return p->capacity;
	if (!o->capacity_percent)
		return o->capacity;
	if (p->ram && p->memory_bytes < room)
		room = p->memory_bytes;
	return room / 100 * o->capacity + p->held_bytes;
}
