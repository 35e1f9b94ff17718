/* SPDX-License-Identifier: Apache-2.0 */
/* What the names in a stage directory mean, and which of them are ours. */
#include "stage/private.h"

#include "format/manifest.h"
#include "format/names.h"
#include "index/index.h"
#include "peers/names.h"
#include "sys/dir.h"
#include "sys/outfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const fixed[] = { HP_INDEX_NAME, HP_MANIFEST_NAME,
				     HP_STATE_NAME, HP_STAGE_LOCK };

static bool is_fixed(const char *name)
{
	for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
		if (!strcmp(name, fixed[i]))
			return true;
	return hp_peers_name_is(name);
}

/* "chunk-000017.tar" or "chunk-000017.tar.zst", and nothing like it. */
static bool read_chunk(const char *name, uint64_t chunks,
		       struct hp_stage_name *ret)
{
	struct hpdsl_chunk c = { .compressed = true };
	char again[HP_STAGE_NAME];
	uint64_t number;

	if (strncmp(name, "chunk-", 6) != 0 || name[6] < '0' || name[6] > '9')
		return false;
	number = strtoull(name + 6, NULL, 10);
	if (number >= chunks || number > UINT32_MAX)
		return false;
	c.number = (uint32_t)number;
	ret->chunk = number;
	ret->zst = strcmp(name, hp_stage_chunk_name(&c, false, again)) == 0;
	return ret->zst ||
	       strcmp(name, hp_stage_chunk_name(&c, true, again)) == 0;
}

/* A side file that is in no folder. */
static bool read_side(const char *name, uint64_t chunks,
		      struct hp_stage_name *ret)
{
	uint32_t chunk = 0;
	uint8_t kind;

	if (strchr(name, '/') || !hp_side_read(name, chunks, &kind, &chunk))
		return false;
	ret->chunk = chunk;
	return true;
}

/* A temporary name of a name of ours. */
static bool read_part(const char *name, uint64_t chunks,
		      struct hp_stage_name *ret)
{
	size_t n = strlen(name), end = strlen(".part");
	char whole[HP_STAGE_NAME], again[HP_OUTFILE_NAME];
	struct hp_stage_name in;

	if (!hp_name_is_part(name) || n - end > sizeof whole)
		return false;
	memcpy(whole, name + 1, n - end - 1);
	whole[n - end - 1] = '\0';
	hp_stage_name_read(whole, chunks, &in);
	hp_outfile_temp(whole, again);
	ret->chunk = in.chunk;
	return (in.kind == HP_NAME_CHUNK || in.kind == HP_NAME_FIXED ||
		in.kind == HP_NAME_SIDE) &&
	       strcmp(name, again) == 0;
}

void hp_stage_name_read(const char *name, uint64_t chunks,
			struct hp_stage_name *ret)
{
	*ret = (struct hp_stage_name){ .kind = HP_NAME_OTHER };
	if (is_fixed(name))
		ret->kind = HP_NAME_FIXED;
	if (ret->kind == HP_NAME_OTHER && read_chunk(name, chunks, ret))
		ret->kind = HP_NAME_CHUNK;
	if (ret->kind == HP_NAME_OTHER && read_side(name, chunks, ret))
		ret->kind = HP_NAME_SIDE;
	if (ret->kind == HP_NAME_OTHER && strcmp(name, HP_SIDE_FOLDER) == 0)
		ret->kind = HP_NAME_FOLDER;
	if (ret->kind == HP_NAME_OTHER && read_part(name, chunks, ret))
		ret->kind = HP_NAME_PART;
}

bool hp_stage_is_file(const struct hpdsl_stage *s, const char *name)
{
	struct stat st;

	return s->io->stat(s->io, s->dir, name, &st, AT_SYMLINK_NOFOLLOW) ==
		       0 &&
	       S_ISREG(st.st_mode);
}

int hp_stage_list(const struct hpdsl_stage *s,
		  int (*each)(void *arg, const char *name), void *arg)
{
	/* A descriptor of its own: that of another listing stands elsewhere. */
	hp_auto_fd f = { s->io, s->io->open(s->io, s->dir, ".",
					    O_RDONLY | O_DIRECTORY, 0) };

	return f.fd < 0 ? f.fd : hp_listdir(s->io, f.fd, each, arg);
}

int hp_stage_chunk(const struct hpdsl_stage *s, uint64_t chunk, bool expanded,
		   struct hpdsl_chunk *ret, char name[HP_STAGE_NAME],
		   struct hpdsl_error *err)
{
	int r = hpdsl_chunk_get(s->ds, (uint32_t)chunk, ret, err);

	if (r == 0)
		hp_stage_chunk_name(ret, expanded, name);
	return r;
}
