/* SPDX-License-Identifier: Apache-2.0 */
/* What comes next for chunks without an index, or without one that is sound. */
#include "info.h"

#include <dirent.h>
#include <string.h>

struct chunks {
	unsigned long n, end; /* end: behind the last number */
	bool compressed;
	bool tars; /* there are others */
};

static void count_chunk(struct chunks *c, const char *name)
{
	static const char tar[] = ".tar", zst[] = ".tar.zst", head[] = "chunk-";
	size_t len = strlen(name);
	unsigned long number;
	char *end;

	c->tars |= len > strlen(tar) && !strcmp(name + len - strlen(tar), tar);
	if (strncmp(name, head, strlen(head)) != 0)
		return;
	number = strtoul(name + strlen(head), &end, 10);
	if (end - name != (long)strlen(head) + 6 ||
	    (strcmp(end, tar) != 0 && strcmp(end, zst) != 0))
		return;
	c->n++;
	c->compressed |= !strcmp(end, zst);
	if (number >= c->end)
		c->end = number + 1;
}

void info_next_chunks(struct info *i, const char *folder, bool adopted)
{
	DIR *dir = opendir(folder);
	const struct dirent *d;
	struct chunks c = { 0 };

	while (dir && (d = readdir(dir)))
		count_chunk(&c, d->d_name);
	if (dir)
		closedir(dir);
	/* Nothing that an index could be made of. */
	if (!c.n && !c.tars && !adopted)
		return;
	/* Without some of them they are tar files like any other. */
	if (c.n == c.end) {
		info_next(i, "hpdsl-index");
		info_next_path(i, folder);
		return;
	}
	info_next(i, c.compressed ? "hpdsl-pack" : "hpdsl-index -o");
	if (!c.compressed)
		info_next_output(i, folder);
	info_next_path(i, folder);
	info_next_more(i, "/chunk-*.tar*");
	if (c.compressed)
		info_next_output(i, folder);
}
