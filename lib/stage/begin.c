/* SPDX-License-Identifier: Apache-2.0 */
/* What a stager begins with: manifest, index, and the chunks that are here. */
#include "stage/private.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "dataset/dataset.h"
#include "format/manifest.h"
#include "format/names.h"
#include "index/index.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Is something there that cannot be one? */
static bool is_no_manifest(int code)
{
	return code == -EISDIR || code == -EINVAL || code == -EFBIG ||
	       code == -EIO;
}

static int put_manifest(struct hpdsl_stage *s,
			const struct hpdsl_stage_pack *pack,
			struct hpdsl_error *err)
{
	hp_auto_free char *here = NULL;
	size_t n = 0;
	int r = hp_io_slurp(s->io, s->dir, HP_MANIFEST_NAME, HP_MANIFEST_MAX,
			    &here, &n);

	if (r == 0 && n == pack->manifest_bytes &&
	    memcmp(here, pack->manifest, n) == 0)
		return 0;
	if (r < 0 && r != -ENOENT && !is_no_manifest(r))
		return hp_fail_errno(err, r, "%s/%s", s->path,
				     HP_MANIFEST_NAME);
	/* Without either nothing was staged yet. */
	if (r != -ENOENT || s->has_old)
		r = hp_stage_drop_sides(s, r < 0 ? NULL : here, n, pack, err);
	else
		r = 0;
	if (r < 0)
		return r;
	return hp_stage_put(s, HP_MANIFEST_NAME, pack->manifest,
			    pack->manifest_bytes, err);
}

/* Takes away an index that is damaged: the next run brings it again. */
static int recheck_index(struct hpdsl_stage *s, struct hpdsl_error *err)
{
	uint8_t hash[16];
	int r = hp_stage_hash(s, HP_INDEX_NAME, NULL, hash);

	if (r < 0)
		return hp_fail_errno(err, r, "%s/%s", s->path, HP_INDEX_NAME);
	if (memcmp(hash, s->pack, 16) == 0)
		return 0;
	s->has_index = false;
	s->io->unlink(s->io, s->dir, HP_INDEX_NAME, 0);
	return hp_fail(err, HPDSL_ECORRUPT,
		       "%s/%s: damaged, and removed; the next run brings it "
		       "again",
		       s->path, HP_INDEX_NAME);
}

static int need_index(struct hpdsl_stage *s,
		      const struct hpdsl_stage_begin *opt,
		      struct hpdsl_error *err)
{
	int r;

	if (!s->has_index || memcmp(s->pack, opt->pack->pack, 16) != 0) {
		r = hpdsl_stage_has_index(s, opt->pack, err);
		if (r == 0)
			r = hp_fail_errno(err, -ENOENT, "%s/%s", s->path,
					  HP_INDEX_NAME);
		if (r < 0)
			return r;
	}
	return opt->recheck ? recheck_index(s, err) : 0;
}

/* One that makes no sense would keep readers out, us too. */
static int drop_bad_state(struct hpdsl_stage *s,
			  const struct hpdsl_stage_pack *pack,
			  struct hpdsl_error *err)
{
	int r = s->has_old && s->old.chunks == pack->chunks ?
			0 :
			s->io->unlink(s->io, s->dir, HP_STATE_NAME, 0);

	return r < 0 && r != -ENOENT ?
		       hp_fail_errno(err, r, "%s/%s: cannot be removed",
				     s->path, HP_STATE_NAME) :
		       0;
}

static int open_dataset(struct hpdsl_stage *s,
			const struct hpdsl_stage_pack *pack,
			struct hpdsl_error *err)
{
	struct hpdsl_counts counts;
	/* Whatever state file an earlier stager left. */
	int r = hp_dataset_open(s->path, HP_OPEN_PLAIN, s->io, &s->ds, err);

	if (r < 0)
		return r;
	hpdsl_count(s->ds, &counts);
	if (counts.chunks != pack->chunks)
		return hp_fail(err, HPDSL_ECORRUPT,
			       "%s: index and manifest do not agree: %" PRIu64
			       " and %" PRIu64 " chunks",
			       s->path, (uint64_t)counts.chunks, pack->chunks);
	s->chunks = counts.chunks;
	s->here = calloc(s->chunks ? s->chunks : 1, 1);
	return s->here ? 0 : hp_fail_nomem(err);
}

static int list_sides(struct hpdsl_stage *s,
		      const struct hpdsl_stage_pack *pack,
		      struct hpdsl_error *err)
{
	struct hp_manifest m = { .memory = NULL };
	int r = hp_manifest_parse(pack->manifest, pack->manifest_bytes,
				  HP_MANIFEST_NAME, &m, err);

	if (r < 0)
		return r;
	r = hp_sides_new(&m, s->keep_compressed, NULL, NULL, &s->sides, err);
	hp_manifest_release(&m);
	return r;
}

/* As if it had not begun. */
static void forget(struct hpdsl_stage *s)
{
	hpdsl_close(hp_take(s->ds));
	free(hp_take(s->here));
	free(hp_take(s->origin));
	hp_sides_release(&s->sides);
	s->chunks = 0;
}

static int begin(struct hpdsl_stage *s, const struct hpdsl_stage_begin *opt,
		 struct hpdsl_error *err)
{
	int r = need_index(s, opt, err);

	if (r == 0)
		r = put_manifest(s, opt->pack, err);
	if (r == 0)
		r = drop_bad_state(s, opt->pack, err);
	if (r == 0)
		r = open_dataset(s, opt->pack, err);
	if (r == 0)
		r = list_sides(s, opt->pack, err);
	if (r < 0)
		return r;
	s->origin = strdup(opt->pack->origin);
	if (!s->origin)
		return hp_fail_nomem(err);
	return hp_stage_find(s, opt, err);
}

int hpdsl_stage_begin(struct hpdsl_stage *s,
		      const struct hpdsl_stage_begin *opt,
		      struct hpdsl_error *err)
{
	struct hpdsl_error why;
	int r = hp_stage_in_order(s, __func__, HP_STEP(HP_STEP_OPENED), err);

	if (r < 0)
		return r;
	if (opt->pack->origin[0] != '/' ||
	    strlen(opt->pack->origin) >= HP_STATE_ORIGIN)
		return hp_fail(err, HPDSL_EUSAGE,
			       "%s: the origin's path is not absolute, or too "
			       "long",
			       s->path);
	forget(s);
	s->keep_compressed = opt->keep_compressed;
	r = begin(s, opt, err);
	if (r == 0)
		return 0;
	forget(s);
	/* It was taken for sound because of its size: that ends here. */
	if (s->has_index && (r == HPDSL_ECORRUPT || r == HPDSL_ENOTOURS) &&
	    recheck_index(s, &why) == HPDSL_ECORRUPT)
		return hp_fail(err, HPDSL_ECORRUPT, "%s", why.msg);
	return r;
}

struct hpdsl_dataset *hpdsl_stage_dataset(struct hpdsl_stage *s)
{
	return s->ds;
}

enum hp_chunk_state hp_stage_here(const struct hpdsl_stage *s, uint64_t chunk)
{
	return chunk < s->chunks ? (enum hp_chunk_state)__atomic_load_n(
					   s->here + chunk, __ATOMIC_ACQUIRE) :
				   HP_CHUNK_ABSENT;
}

bool hpdsl_stage_holds(const struct hpdsl_stage *s, uint64_t chunk)
{
	return hp_stage_here(s, chunk) != HP_CHUNK_ABSENT;
}

uint64_t hp_stage_chunk_bytes(const struct hpdsl_stage *s, uint64_t chunk)
{
	struct hpdsl_chunk c;

	/* The rows were all read when the directory was begun. */
	if (hpdsl_chunk_get(s->ds, (uint32_t)chunk, &c, NULL) < 0)
		return 0;
	return c.compressed && !s->keep_compressed ? c.plain_bytes : c.bytes;
}

/* The same on all nodes, in whatever form a chunk is on one of them. */
void hpdsl_stage_weights(const struct hpdsl_stage *s, uint64_t *ret)
{
	for (uint64_t i = 0; i < s->chunks; i++)
		ret[i] = hp_stage_chunk_bytes(s, i);
	if (s->chunks)
		hp_sides_weigh(&s->sides, ret);
}

uint64_t hpdsl_stage_whole(const struct hpdsl_stage *s)
{
	return hp_sides_weigh(&s->sides, NULL);
}
