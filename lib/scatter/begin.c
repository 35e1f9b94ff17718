/* SPDX-License-Identifier: Apache-2.0 */
/* What an interrupted run left of scattered chunks, and whether it can be used.
 */
#include "scatter/scatter.h"

#include "base/error.h"
#include "format/names.h"
#include "sys/dir.h"
#include "sys/outfile.h"
#include "write/target_known.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool hp_scatter_wanted(const struct hp_writing *p)
{
	for (size_t i = 0; i < p->list.n_roots; i++)
		if (p->list.roots[i].kind == HP_ROOT_STREAM)
			return true;
	return false;
}

bool hp_scatter_resumes(const struct hp_writing *p)
{
	for (size_t i = 0; i < p->list.n_roots; i++)
		if (p->list.roots[i].kind == HP_ROOT_STREAM &&
		    hp_journal_position(p->journal, (uint32_t)i))
			return true;
	return false;
}

/* The number of the chunk that is written under this temporary name, or -1. */
static int64_t part_number(const char *name)
{
	char again[HP_CHUNK_NAME + 8], chunk[HP_CHUNK_NAME];
	size_t n = strlen(name);
	int64_t c;

	if (!hp_name_is_part(name) || n - 6 >= sizeof chunk)
		return -1;
	memcpy(chunk, name + 1, n - 6);
	chunk[n - 6] = '\0';
	c = hp_chunk_number(chunk);
	if (c < 0)
		return -1;
	hp_chunk_name((uint32_t)c, chunk); /* not that of a compressed one */
	snprintf(again, sizeof again, ".%s.part", chunk);
	return strcmp(name, again) ? -1 : c;
}

static int clear_one(void *arg, const char *name)
{
	const struct hp_writing *p = arg;
	int64_t c = part_number(name);
	int r;

	if (hp_target_name(name, p->plan.n_chunks, false) != HP_OUR_PART ||
	    (c >= 0 && c < p->plan.n_chunks && !p->done[c].done))
		return 0;
	r = p->io->unlink(p->io, p->dir, name, 0);
	return r == -ENOENT ? 0 : r;
}

int hp_scatter_clear(const struct hp_writing *p, struct hpdsl_error *err)
{
	int r = p->io->open(p->io, p->dir, ".", O_RDONLY | O_DIRECTORY, 0);
	hp_auto_fd f = { p->io, r };

	if (r >= 0)
		r = hp_listdir(p->io, f.fd, clear_one, (void *)p);
	if (r < 0)
		return hp_fail_errno(err, r, "%s: cannot clear",
				     p->opt->output);
	return 0;
}

uint64_t hp_scatter_space(const struct hp_writing *p, uint32_t c)
{
	uint64_t bytes = hp_plan_chunk_bytes(&p->plan, c), there;
	char name[HP_CHUNK_NAME], part[HP_CHUNK_NAME + 8];
	struct stat st;

	hp_chunk_name(c, name);
	snprintf(part, sizeof part, ".%s.part", name);
	if (p->io->stat(p->io, p->dir, part, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	there = (uint64_t)st.st_blocks * 512;
	return there < bytes ? there : bytes;
}
