/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state file over memory.  What is fixed is copied out and checked once;
 * what changes is loaded and stored with single atomic operations, so any
 * number of processes may look while one writes.
 */
#include "format/stage_state.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>

/* Where the fields are. */
enum {
	AT_VERSION = 8,
	AT_FLAGS = 12,
	AT_PACK = 16,
	AT_BOOT_ID = 32,
	AT_CHUNKS = 48,
	AT_GENERATION = 56,
	AT_STARTED = 64,
	AT_PID_START = 72,
	AT_PID = 80,
	AT_NODE = 84,
	AT_NODES = 88,
	AT_PARTS = 92,
	AT_PART = 96,
	AT_HOST = 128,
	AT_JOB = 256,
	AT_ORIGIN = 512,
	AT_CHECKSUM = AT_ORIGIN + HP_STATE_ORIGIN,
	AT_BEAT = HP_STATE_FIXED,
	AT_END = AT_BEAT + 8,
};

static const struct {
	uint32_t from, to;
} zeros[] = {
	{ AT_PART + 4, AT_HOST },
	{ AT_JOB + HP_STATE_TEXT, AT_ORIGIN },
	{ AT_CHECKSUM + 8, AT_BEAT },
	{ AT_END + 4, HP_STATE_CHUNKS },
};

uint64_t hp_state_size(uint64_t chunks)
{
	return chunks <= UINT32_MAX ? HP_STATE_CHUNKS + chunks : 0;
}

/* ---- What is fixed ---------------------------------------------------- */

static void put_text(uint8_t *to, const char *text, size_t size)
{
	memcpy(to, text, strnlen(text, size - 1));
}

void hp_state_format(const struct hp_state_header *h, void *p)
{
	uint8_t *b = p;

	memset(b, 0, HP_STATE_CHUNKS + h->chunks);
	memcpy(b, HP_STATE_MAGIC, 8);
	hp_put32(b + AT_VERSION, HP_STATE_VERSION);
	memcpy(b + AT_PACK, h->pack, 16);
	memcpy(b + AT_BOOT_ID, h->boot_id, 16);
	hp_put64(b + AT_CHUNKS, h->chunks);
	hp_put64(b + AT_GENERATION, h->generation);
	hp_put64(b + AT_STARTED, (uint64_t)h->started);
	hp_put64(b + AT_PID_START, h->pid_start);
	hp_put32(b + AT_PID, h->pid);
	hp_put32(b + AT_NODE, h->node);
	hp_put32(b + AT_NODES, h->nodes);
	hp_put32(b + AT_PARTS, h->parts);
	hp_put32(b + AT_PART, h->part);
	put_text(b + AT_HOST, h->host, HP_STATE_TEXT);
	put_text(b + AT_JOB, h->job, HP_STATE_TEXT);
	put_text(b + AT_ORIGIN, h->origin, HP_STATE_ORIGIN);
	hp_put64(b + AT_CHECKSUM, hp_hash64(b, AT_CHECKSUM));
}

/* A text with nothing but NULs behind it. */
static bool get_text(const uint8_t *b, size_t size, char *ret)
{
	size_t n = strnlen((const char *)b, size);

	for (size_t i = n; i < size; i++)
		if (b[i])
			return false;
	memcpy(ret, b, size);
	return n < size;
}

static bool all_zeros(const uint8_t *b)
{
	for (size_t i = 0; i < sizeof zeros / sizeof *zeros; i++)
		for (uint32_t at = zeros[i].from; at < zeros[i].to; at++)
			if (b[at])
				return false;
	return true;
}

/* What is wrong with the numbers; NULL: nothing. */
static const char *get_fields(const uint8_t *b, uint64_t size,
			      struct hp_state_header *h)
{
	memcpy(h->pack, b + AT_PACK, 16);
	memcpy(h->boot_id, b + AT_BOOT_ID, 16);
	h->chunks = hp_get64(b + AT_CHUNKS);
	h->generation = hp_get64(b + AT_GENERATION);
	h->started = (int64_t)hp_get64(b + AT_STARTED);
	h->pid_start = hp_get64(b + AT_PID_START);
	h->pid = hp_get32(b + AT_PID);
	h->node = hp_get32(b + AT_NODE);
	h->nodes = hp_get32(b + AT_NODES);
	h->parts = hp_get32(b + AT_PARTS);
	h->part = hp_get32(b + AT_PART);
	if (hp_state_size(h->chunks) != size)
		return "its size is not that of its chunks";
	if (!h->generation)
		return "it has no generation";
	if (h->node >= h->nodes || h->part >= h->parts)
		return "nodes or parts make no sense";
	if (!get_text(b + AT_HOST, sizeof h->host, h->host) ||
	    !get_text(b + AT_JOB, sizeof h->job, h->job) ||
	    !get_text(b + AT_ORIGIN, sizeof h->origin, h->origin))
		return "a text does not end";
	if (h->origin[0] != '/')
		return "the origin is no absolute path";
	return all_zeros(b) ? NULL : "not zero where it has to be";
}

/* Of a copy, from which nobody takes away what was seen in it. */
static int parse_fixed(const uint8_t *b, uint64_t size, const char *name,
		       struct hp_state_header *ret, struct hpdsl_error *err)
{
	struct hp_state_header h;
	const char *wrong;

	if (hp_get64(b + AT_CHECKSUM) != hp_hash64(b, AT_CHECKSUM))
		return hp_fail(err, HPDSL_ECORRUPT, "%s: checksum differs",
			       name);
	if (hp_get32(b + AT_FLAGS))
		return hp_fail(err, HPDSL_ETOONEW,
			       "%s: has flags of a newer version", name);
	wrong = get_fields(b, size, &h);
	if (wrong)
		return hp_fail(err, HPDSL_ECORRUPT, "%s: %s", name, wrong);
	*ret = h;
	return 0;
}

int hp_state_parse(const void *p, uint64_t size, const char *name,
		   struct hp_state_header *ret, struct hpdsl_error *err)
{
	uint8_t b[HP_STATE_CHUNKS] = { 0 };

	hp_copy_once(b, p, size < sizeof b ? size : sizeof b);
	if (size < 8 || memcmp(b, HP_STATE_MAGIC, 8) != 0)
		return hp_fail(err, HPDSL_ENOTOURS,
			       "%s: not the state of a stage directory", name);
	if (size < AT_FLAGS || hp_get32(b + AT_VERSION) == 0)
		return hp_fail(err, HPDSL_ECORRUPT, "%s: damaged", name);
	if (hp_get32(b + AT_VERSION) > HP_STATE_VERSION)
		return hp_fail(err, HPDSL_ETOONEW,
			       "%s: version %" PRIu32
			       " is newer than this program",
			       name, hp_get32(b + AT_VERSION));
	if (size < HP_STATE_CHUNKS)
		return hp_fail(err, HPDSL_ECORRUPT, "%s: cut short", name);
	return parse_fixed(b, size, name, ret, err);
}

/* ---- What changes ----------------------------------------------------- */

enum hp_chunk_state hp_state_of(uint8_t byte)
{
	return byte <= HP_CHUNK_EXPANDED ? (enum hp_chunk_state)byte :
					   HP_CHUNK_ABSENT;
}

enum hp_chunk_state hp_state_get(const void *p, uint64_t chunk)
{
	const uint8_t *b = p;

	return hp_state_of(
		__atomic_load_n(b + HP_STATE_CHUNKS + chunk, __ATOMIC_ACQUIRE));
}

void hp_state_set(void *p, uint64_t chunk, enum hp_chunk_state s)
{
	uint8_t *b = p;

	__atomic_store_n(b + HP_STATE_CHUNKS + chunk, (uint8_t)s,
			 __ATOMIC_RELEASE);
}

/* The file begins at a page, or at an allocation: these are aligned. */
static uint64_t *beat_of(const void *p)
{
	return (uint64_t *)(uintptr_t)((const uint8_t *)p + AT_BEAT);
}

static uint32_t *end_of(const void *p)
{
	return (uint32_t *)(uintptr_t)((const uint8_t *)p + AT_END);
}

void hp_state_beat(void *p, uint64_t now)
{
	__atomic_store_n(beat_of(p), htole64(now), __ATOMIC_RELEASE);
}

uint64_t hp_state_last_beat(const void *p)
{
	return le64toh(__atomic_load_n(beat_of(p), __ATOMIC_ACQUIRE));
}

void hp_state_end(void *p, enum hp_stage_end end)
{
	__atomic_store_n(end_of(p), htole32((uint32_t)end), __ATOMIC_RELEASE);
}

/* What no version of ours wrote counts as a stager that was killed. */
enum hp_stage_end hp_state_ended(const void *p)
{
	uint32_t end = le32toh(__atomic_load_n(end_of(p), __ATOMIC_ACQUIRE));

	return end <= HP_STAGE_FAILED ? (enum hp_stage_end)end :
					HP_STAGE_AT_WORK;
}

bool hp_state_alive(const void *p, const struct hp_state_header *h,
		    const uint8_t boot_id[16], uint64_t now)
{
	const uint64_t most = HP_STATE_DEAD_SECONDS * UINT64_C(1000000000);
	uint64_t beat = hp_state_last_beat(p);

	if (!hp_state_same_boot(h, boot_id) || !beat ||
	    hp_state_ended(p) != HP_STAGE_AT_WORK)
		return false;
	/* It may have beaten since the caller looked at the clock. */
	return beat < now ? now - beat <= most : beat - now <= most;
}

bool hp_state_same_boot(const struct hp_state_header *h,
			const uint8_t boot_id[16])
{
	static const uint8_t unknown[16];

	return memcmp(boot_id, unknown, 16) != 0 &&
	       memcmp(h->boot_id, boot_id, 16) == 0;
}

/* ---- Names ------------------------------------------------------------ */

/*
 * By number: that is what a packed dataset's own names are, and of adopted
 * tars no two come together, whatever they are called.
 */
const char *hp_stage_chunk_name(const struct hpdsl_chunk *c, bool expanded,
				char buf[HP_STAGE_NAME])
{
	snprintf(buf, HP_STAGE_NAME, "chunk-%06" PRIu32 ".tar%s", c->number,
		 c->compressed && !expanded ? ".zst" : "");
	return buf;
}
