/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verifying a stage directory: what its state file says is here is held against
 * the rows of the table, each in the form that it has here.  All the rest of
 * the dataset is elsewhere, and no damage.
 */
#include "verify/verify.h"

#include "base/error.h"
#include "base/mem.h"
#include "dataset/stage_watch.h"
#include "format/names.h"
#include "hpdsl/stage.h"
#include "peers/names.h"
#include "plan/list.h"
#include "stage/sides.h"

#include <errno.h>
#include <string.h>

struct hp_verify_stage {
	struct hp_stage_watch watch;
	bool watching;		/* it is sound, and open */
	struct hp_arena *names; /* of files */
	/* Of each chunk, when it was looked at first; 0: not here. */
	uint8_t *state;
	/* Then, too: this node, and into how many parts the chunks are cut; 0:
	 * there is no word of that. */
	uint32_t node, nodes, parts;
};

static bool exists(const struct hp_verify *v, const char *name)
{
	struct stat st;

	return v->io->stat(v->io, v->dir, name, &st, 0) == 0;
}

/* What it is called here, and, of an expanded one, what it is. */
static int change_row(struct hp_verify *v, struct hpdsl_chunk *row,
		      bool expanded)
{
	char buf[HP_STAGE_NAME];
	const char *name = hp_stage_chunk_name(row, expanded, buf);

	row->name = hp_arena_add(v->stage->names, name, strlen(name));
	if (!row->name)
		return -ENOMEM;
	if (!expanded)
		return 0;
	row->bytes = row->plain_bytes;
	memcpy(row->checksum, row->plain_checksum, sizeof row->checksum);
	row->compressed = false;
	return 0;
}

static int take_chunk(struct hp_verify *v, uint32_t number)
{
	struct hpdsl_chunk *row = &v->chunks[number];
	struct hp_stage_seen seen;

	hp_stage_watch_see(&v->stage->watch, number, &seen);
	if (!seen.counts ||
	    (seen.state != HP_CHUNK_READY && seen.state != HP_CHUNK_EXPANDED))
		return 0;
	if (!row->compressed)
		seen.state = HP_CHUNK_READY;
	v->stage->state[number] = (uint8_t)seen.state;
	return change_row(v, row, seen.state == HP_CHUNK_EXPANDED);
}

/*
 * Is it of the pack that the index is?  With --quick the manifest's word
 * counts; where neither is known, nothing does.
 */
static bool is_of_pack(const struct hp_verify *v)
{
	const uint8_t *pack =
		v->has_manifest ? v->manifest.index.checksum : v->index_hash;

	return (!v->has_manifest && (!v->index || v->opt->quick)) ||
	       memcmp(v->stage->watch.header.pack, pack, 16) == 0;
}

static int take_state(struct hp_verify *v, struct hpdsl_error *err)
{
	struct hp_verify_stage *s = v->stage;

	if (s->watch.fd < 0)
		return 0;
	if (!is_of_pack(v)) {
		hp_verify_file(v, HP_STATE_NAME, "is of another dataset");
		return 0;
	}
	if (!hp_state_same_boot(&s->watch.header, s->watch.boot_id))
		hp_meter_warn(&v->meter,
			      "%s: staged before this machine was started: "
			      "nothing here counts until hpdsl-stage has read "
			      "it again",
			      v->path);
	s->node = s->watch.header.node;
	s->nodes = s->watch.header.nodes;
	s->parts = s->watch.header.parts;
	for (uint32_t c = 0; c < v->n_chunks; c++)
		if (take_chunk(v, c) < 0)
			return hp_fail_nomem(err);
	return 0;
}

static int load(struct hp_verify *v, struct hpdsl_error *err)
{
	struct hp_verify_stage *s = v->stage;
	struct hpdsl_error why;
	int r;

	s->watch.foreign_owner = v->opt->foreign_owner;
	r = hp_stage_watch_open(&s->watch, v->io, v->dir, v->n_chunks, &why);
	s->watching = r == 0;
	if (r == 0)
		return take_state(v, err);
	if (!hp_verify_is_damage(r))
		return hp_fail(err, r, "%s: %s", v->path, why.msg);
	hp_verify_file(v, HP_STATE_NAME, "%s",
		       hp_verify_reason(&why, HP_STATE_NAME));
	return 0;
}

int hp_verify_stage_load(struct hp_verify *v, struct hpdsl_error *err)
{
	struct hp_verify_stage *s;

	/* Also one that cannot be read is no plain dataset. */
	if (!exists(v, HP_STATE_NAME) && !exists(v, HP_STAGE_LOCK))
		return 0;
	v->report->staged = true;
	v->stage = s = calloc(1, sizeof *s);
	if (!s)
		return hp_fail_nomem(err);
	s->names = hp_arena_new();
	s->state = calloc(v->n_chunks ? v->n_chunks : 1, 1);
	return s->names && s->state ? load(v, err) : hp_fail_nomem(err);
}

void hp_verify_stage_unload(struct hp_verify *v)
{
	struct hp_verify_stage *s = v->stage;

	if (!s)
		return;
	if (s->watching)
		hp_stage_watch_close(&s->watch);
	hp_arena_free(s->names);
	free(s->state);
	free(s);
}

bool hp_verify_absent(struct hp_verify *v, uint32_t chunk)
{
	struct hp_stage_seen seen;

	if (!v->stage)
		return false;
	if (!v->stage->state[chunk])
		return true;
	/* hpdsl-stage --clean takes away what is said to be here. */
	hp_stage_watch_see(&v->stage->watch, chunk, &seen);
	return seen.state != HP_CHUNK_READY && seen.state != HP_CHUNK_EXPANDED;
}

bool hp_verify_expanded(const struct hp_verify *v, uint32_t chunk)
{
	return v->stage && v->stage->state[chunk] == HP_CHUNK_EXPANDED;
}

/* Are all chunks here, in the forms that the dataset has them in? */
static bool all_here(const struct hp_verify *v, bool *ret_as_stored)
{
	const struct hp_verify_stage *s = v->stage;

	*ret_as_stored = !v->manifest.adopted;
	for (uint32_t c = 0; c < v->n_chunks; c++) {
		if (s->state[c] == HP_CHUNK_ABSENT)
			return false;
		if (s->state[c] == HP_CHUNK_EXPANDED)
			*ret_as_stored = false;
	}
	return true;
}

bool hp_verify_stage_wants(const struct hp_verify *v, const char *name)
{
	const struct hp_verify_stage *s = v->stage;
	struct hpdsl_stage_span parts;
	uint32_t chunk = 0;
	uint8_t kind;
	bool as_stored;

	/* Without a word of a stager that counts no chunk is here. */
	if (!s->parts || !hp_side_read(name, v->n_chunks, &kind, &chunk))
		return false;
	if (kind != HP_SIDE_SUMS && hp_side_of_chunk((enum hp_side_file)kind)) {
		parts = hpdsl_stage_parts_of(s->nodes, s->parts, s->node);
		return s->state[chunk] != HP_CHUNK_ABSENT &&
		       chunk % s->parts >= parts.first &&
		       chunk % s->parts <= parts.last;
	}
	return s->parts == 1 && all_here(v, &as_stored) &&
	       (kind != HP_SIDE_SUMS || as_stored);
}

bool hp_verify_stage_knows(const struct hp_verify *v, const char *name)
{
	int64_t number;

	if (!v->stage)
		return false;
	if (strcmp(name, HP_STATE_NAME) == 0 ||
	    strcmp(name, HP_STAGE_LOCK) == 0 || hp_peers_name_is(name) ||
	    hp_name_is_part(name))
		return true;
	/* Staging may go on meanwhile, and bring it in either form. */
	number = hp_chunk_number(name);
	return number >= 0 && number < v->n_chunks;
}
