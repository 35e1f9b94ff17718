/* SPDX-License-Identifier: Apache-2.0 */
/* What a stage directory says of itself, to whoever asks. */
#include "stage/private.h"

#include "base/error.h"
#include "base/mem.h"
#include "format/manifest.h"
#include "sys/clock.h"
#include "sys/view.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int no_state(const struct hpdsl_stage *s, struct hpdsl_error *err)
{
	return hp_fail(err, HPDSL_ENOTOURS,
		       hp_stage_is_file(s, HP_STAGE_LOCK) ?
			       "%s: nothing is staged here yet" :
			       "%s: not a stage directory (no " HP_STATE_NAME
			       ")",
		       s->path);
}

/* Bytes of the chunk's file in the form that the state says; -errno. */
static int64_t file_bytes(const struct hpdsl_stage *s, uint64_t chunk,
			  bool expanded)
{
	struct hpdsl_chunk c = { .number = (uint32_t)chunk };
	char name[HP_STAGE_NAME];
	struct stat st;
	int r;

	r = s->io->stat(s->io, s->dir, hp_stage_chunk_name(&c, true, name), &st,
			AT_SYMLINK_NOFOLLOW);
	/* As it is stored it has one of two names, which the index knows. */
	c.compressed = true;
	if (r == -ENOENT && !expanded)
		r = s->io->stat(s->io, s->dir,
				hp_stage_chunk_name(&c, false, name), &st,
				AT_SYMLINK_NOFOLLOW);
	return r < 0 ? r : (int64_t)st.st_size;
}

/*
 * The manifest, for the sizes that files should have; without chunks: it is of
 * no use.  While a stager is at work they are its business.
 */
static void read_sizes(const struct hpdsl_stage *s,
		       const struct hpdsl_stage_status *st,
		       struct hp_manifest *ret)
{
	hp_auto_free char *text = NULL;
	struct hpdsl_error why;
	size_t len;

	*ret = (struct hp_manifest){ .memory = NULL };
	if (st->at_work ||
	    hp_io_slurp(s->io, s->dir, HP_MANIFEST_NAME, HP_MANIFEST_MAX, &text,
			&len) < 0 ||
	    hp_manifest_parse(text, len, HP_MANIFEST_NAME, ret, &why) < 0) {
		*ret = (struct hp_manifest){ .memory = NULL };
		return;
	}
	if (ret->n_chunks == st->chunks &&
	    memcmp(ret->index.checksum, st->pack, sizeof st->pack) == 0)
		return;
	hp_manifest_release(ret);
	*ret = (struct hp_manifest){ .memory = NULL };
}

static bool is_size(const struct hp_manifest *m, uint64_t chunk, bool expanded,
		    uint64_t bytes)
{
	const struct hp_manifest_file *c = m->chunks + chunk;

	if (!m->n_chunks)
		return true;
	return bytes == (expanded && c->compressed ? c->plain_bytes : c->bytes);
}

static void count(const struct hpdsl_stage *s, const void *state,
		  const struct hp_manifest *m, struct hpdsl_stage_status *ret)
{
	for (uint64_t i = 0; i < ret->chunks; i++) {
		enum hp_chunk_state how = hp_state_get(state, i);
		bool expanded = how == HP_CHUNK_EXPANDED;
		int64_t bytes;

		ret->coming += how == HP_CHUNK_COMING;
		if (how != HP_CHUNK_READY && !expanded)
			continue;
		bytes = file_bytes(s, i, expanded);
		if (bytes < 0 || !is_size(m, i, expanded, (uint64_t)bytes)) {
			ret->lost++;
			continue;
		}
		ret->ready++;
		ret->ready_bytes += (uint64_t)bytes;
	}
}

/* By the rule, as the state tells only the first. */
static uint32_t last_part(const struct hp_state_header *h)
{
	struct hpdsl_stage_span s = { h->part, h->part };

	if (h->nodes && h->parts)
		s = hpdsl_stage_parts_of(h->nodes, h->parts, h->node);
	return s.first == h->part ? s.last : h->part;
}

static void fill(const struct hpdsl_stage *s, const void *state,
		 const struct hp_state_header *h,
		 struct hpdsl_stage_status *ret)
{
	struct hp_manifest m;
	uint64_t now = hp_monotonic(), beat = hp_state_last_beat(state);

	*ret = (struct hpdsl_stage_status){ .chunks = h->chunks,
					    .node = h->node,
					    .nodes = h->nodes,
					    .parts = h->parts,
					    .part = h->part,
					    .last_part = last_part(h),
					    .started = h->started };
	memcpy(ret->host, h->host, sizeof ret->host);
	memcpy(ret->job, h->job, sizeof ret->job);
	memcpy(ret->origin, h->origin, sizeof ret->origin);
	memcpy(ret->pack, h->pack, sizeof ret->pack);
	ret->stale = !hp_state_same_boot(h, s->boot_id);
	ret->at_work = hp_state_alive(state, h, s->boot_id, now);
	if (ret->at_work)
		ret->beat_age = now > beat ? (double)(now - beat) / 1e9 : 0;
	read_sizes(s, ret, &m);
	count(s, state, &m, ret);
	hp_manifest_release(&m);
	ret->complete =
		hp_state_ended(state) == HP_STAGE_COMPLETE && !ret->lost;
}

static int read_state(struct hpdsl_stage *s, struct hpdsl_stage_status *ret,
		      struct hpdsl_error *err)
{
	struct hp_view v = { .p = NULL };
	struct hp_state_header h;
	struct hpdsl_error why;
	int r;

	s->dir = s->io->open(s->io, AT_FDCWD, s->path, O_RDONLY | O_DIRECTORY,
			     0);
	if (s->dir < 0)
		return hp_fail_errno(err, s->dir, "%s", s->path);
	r = hp_view_read(&v, s->io, s->dir, HP_STATE_NAME, &why);
	if (r == -ENOENT)
		return no_state(s, err);
	if (r == 0)
		r = hp_state_parse(v.p, v.size, HP_STATE_NAME, &h, &why);
	if (r == 0)
		fill(s, v.p, &h, ret);
	else
		hp_fail(err, r, "%s/%s", s->path, why.msg);
	hp_view_close(&v);
	return r;
}

int hpdsl_stage_touched(const char *path, const struct hp_io *io, int64_t *ret,
			struct hpdsl_error *err)
{
	hp_auto_free char *name = NULL;
	struct stat st;
	int r;

	io = hp_io_or_system(io);
	if (asprintf(&name, "%s/%s", path, HP_STAGE_LOCK) < 0) {
		name = NULL;
		return hp_fail_nomem(err);
	}
	r = io->stat(io, AT_FDCWD, name, &st, AT_SYMLINK_NOFOLLOW);
	if (r < 0)
		return hp_fail_errno(err, r, "%s", name);
	*ret = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	return 0;
}

int hpdsl_stage_status(const char *path, const struct hp_io *io,
		       struct hpdsl_stage_status *ret, struct hpdsl_error *err)
{
	struct hpdsl_stage *s;
	int r = hp_stage_new(path, io, &s, err);

	if (r < 0)
		return r;
	r = read_state(s, ret, err);
	hpdsl_stage_close(s);
	return r;
}
