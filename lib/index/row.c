/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of the index.  Each row is checked when it is read, against the rows it
 * points to: what these functions give out is in range, whatever the bytes
 * were.
 */
#include "index/copy.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/path.h"
#include "chunk/seek_table.h"

#include <errno.h>
#include <inttypes.h>

HP_COLD int hp_index_out_of_range(const struct hp_index *ix, const char *what,
				  uint64_t number, uint64_t count,
				  struct hpdsl_error *err)
{
	return hp_fail(err, -ERANGE,
		       "%s: no %s %" PRIu64 ", there are %" PRIu64, ix->name,
		       what, number, count);
}

HP_COLD int hp_index_bad_row(const struct hp_index *ix, const char *what,
			     uint64_t number, const char *why,
			     struct hpdsl_error *err)
{
	return hp_fail(err, HPDSL_ECORRUPT, "%s: %s %" PRIu64 ": %s", ix->name,
		       what, number, why);
}

/* ---- Samples ---------------------------------------------------------- */

static inline __attribute__((always_inline)) int sample_row(
	const struct hp_index *ix, uint64_t number, struct hp_sample_row *ret,
	struct hpdsl_error *err)
{
	/* Its members end where the next sample's begin. */
	bool last = number + 1 == ix->count.samples;
	uint8_t row[2 * HP_SAMPLE_ROW];
	int r;

	if (ix->copy && ix->copy->sample == number) {
		*ret = ix->copy->row;
		return 0;
	}
	if (last)
		r = hp_index_take_row(ix, HP_SECTION_SAMPLES,
				      number * HP_SAMPLE_ROW, row,
				      HP_SAMPLE_ROW, err);
	else
		r = hp_index_take_row(ix, HP_SECTION_SAMPLES,
				      number * HP_SAMPLE_ROW, row,
				      2 * HP_SAMPLE_ROW, err);
	if (r < 0)
		return r;
	ret->first = hp_get64(row);
	ret->end = last ? ix->count.members : hp_get64(row + HP_SAMPLE_ROW);
	ret->chunk = hp_get32(row + 8);
	ret->label = hp_get32(row + 12);
	if (ret->first >= ret->end || ret->end > ix->count.members)
		return hp_index_bad_row(ix, "sample", number,
					"has an impossible range of members",
					err);
	if (ret->chunk >= ix->count.chunks)
		return hp_index_bad_row(ix, "sample", number,
					"is in a chunk that does not exist",
					err);
	if (ret->label >= ix->count.classes && ret->label != HPDSL_NO_LABEL)
		return hp_index_bad_row(ix, "sample", number,
					"has a label without a class", err);
	if (ix->copy) {
		ix->copy->sample = number;
		ix->copy->row = *ret;
	}
	return 0;
}

int hp_index_sample_row(const struct hp_index *ix, uint64_t number,
			struct hp_sample_row *ret, struct hpdsl_error *err)
{
	return sample_row(ix, number, ret, err);
}

int hp_index_sample(const struct hp_index *ix, uint64_t number,
		    struct hpdsl_sample *ret, struct hpdsl_error *err)
{
	struct hp_sample_row row;
	struct hpdsl_member first;
	int r;

	if (number >= ix->count.samples)
		return hp_index_out_of_range(ix, "sample", number,
					     ix->count.samples, err);
	r = hp_index_sample_row(ix, number, &row, err);
	if (r == 0)
		r = hp_index_member(ix, row.first, &first, err);
	if (r < 0)
		return r;
	if (first.sample != number)
		return hp_index_bad_row(ix, "sample", number,
					"its first member is another sample's",
					err);
	*ret = (struct hpdsl_sample){
		.number = number,
		.first_member = row.first,
		.members = row.end - row.first,
		.chunk = row.chunk,
		.label = row.label,
		.key = first.path,
		.key_len = hp_key_length(&ix->key, first.path, first.path_len),
	};
	return 0;
}

/* ---- Members ---------------------------------------------------------- */

/* Of a copied row: no load of bytes 46 to 49, which are not copied at once, and
 * would have to wait. */
static inline uint64_t sample_of(const uint8_t *row)
{
	return hp_get16(row + 46) | (uint64_t)hp_get32(row + 48) << 16;
}

/* Its chunk.  The member's sample and chunk have to agree that it is theirs. */
static int member_chunk(const struct hp_index *ix, uint64_t number,
			const uint8_t *row, uint32_t *ret,
			struct hpdsl_error *err)
{
	uint64_t of = sample_of(row);
	struct hp_sample_row sample;
	uint8_t bytes[8];
	int r;

	if (of >= ix->count.samples)
		return hp_index_bad_row(ix, "member", number,
					"is of a sample that does not exist",
					err);
	r = sample_row(ix, of, &sample, err);
	if (r < 0)
		return r;
	if (number < sample.first || number >= sample.end)
		return hp_index_bad_row(
			ix, "member", number,
			"is not among the members of its sample", err);
	r = hp_index_take(ix, HP_SECTION_CHUNKS,
			  (uint64_t)sample.chunk * HP_CHUNK_ROW + 40, bytes,
			  sizeof bytes, err);
	if (r < 0)
		return r;
	if (!hp_within(hp_get64(row), hp_get64(row + 8), hp_get64(bytes)))
		return hp_index_bad_row(ix, "member", number,
					"lies outside of its chunk", err);
	*ret = sample.chunk;
	return 0;
}

typedef uint8_t bytes16 __attribute__((vector_size(16)));

/*
 * Can it be seen at a glance that a NUL-terminated path is valid?  False also
 * for valid ones that are short, or have a component that begins with a dot.
 */
static bool plainly_valid(const char *path, size_t len)
{
	bytes16 bad = { 0 };
	uint64_t half[2];

	if (len < 16 || len > HPDSL_PATH_MAX || (path[0] | 1) == '/' ||
	    path[len - 1] == '/')
		return false;
	/* A slash with a slash or a dot (one bit apart) behind it, or a NUL. */
	for (size_t i = 0;; i = i + 16 < len - 16 ? i + 16 : len - 16) {
		bytes16 here, next;

		memcpy(&here, path + i, 16);
		memcpy(&next, path + i + 1, 16);
		bad |= (bytes16)((here == '/') & ((next | 1) == '/')) |
		       (bytes16)(here == 0);
		if (i == len - 16)
			break;
	}
	memcpy(half, &bad, 16);
	return (half[0] | half[1]) == 0;
}

/* Of one that has a copy, there; else where it lies, as it is now. */
static int member_path(const struct hp_index *ix, uint64_t number,
		       const uint8_t *row, const char **ret,
		       struct hpdsl_error *err)
{
	size_t len = hp_get16(row + 36);
	uint64_t off = hp_get48(row + 40);
	const char *path;
	const uint8_t *p;
	int r;

	p = ix->copy ? hp_copy_here(ix, HP_SECTION_PATHS, off, len + 1) : NULL;
	if (p) {
		r = 0;
	} else if (ix->copy && len <= HPDSL_PATH_MAX) {
		p = (const uint8_t *)ix->copy->path;
		r = hp_index_take(ix, HP_SECTION_PATHS, off, ix->copy->path,
				  len + 1, err);
	} else {
		r = hp_index_bytes(ix, HP_SECTION_PATHS, off, len + 1, &p, err);
	}
	if (r < 0)
		return r;
	path = (const char *)p;
	if (path[len] ||
	    (!plainly_valid(path, len) && !hp_path_valid(path, len)))
		return hp_index_bad_row(ix, "member", number,
					"has an invalid path", err);
	*ret = path;
	return 0;
}

/* Field by field: a copy would wait for what was just written. */
static void fill_member(uint64_t number, const uint8_t *row, uint32_t chunk,
			const char *path, struct hpdsl_member *ret)
{
	uint32_t mode = hp_get16(row + 38);

	ret->number = number;
	ret->sample = sample_of(row);
	ret->chunk = chunk;
	ret->mode = mode & 07777;
	ret->generated = mode & HP_MEMBER_GENERATED;
	ret->offset = hp_get64(row);
	ret->size = hp_get64(row + 8);
	ret->checksum = hp_get64(row + 16);
	ret->mtime = (int64_t)hp_get64(row + 24);
	ret->mtime_nsec = hp_get32(row + 32);
	ret->path = path;
	ret->path_len = hp_get16(row + 36);
}

static inline __attribute__((always_inline)) int get_member(
	const struct hp_index *ix, uint64_t number, bool with_path,
	struct hpdsl_member *ret, struct hpdsl_error *err)
{
	uint8_t row[HP_MEMBER_ROW];
	const char *path = NULL;
	uint32_t chunk = 0;
	int r;

	if (number >= ix->count.members)
		return hp_index_out_of_range(ix, "member", number,
					     ix->count.members, err);
	r = hp_index_take_row(ix, HP_SECTION_MEMBERS, number * HP_MEMBER_ROW,
			      row, sizeof row, err);
	if (r < 0)
		return r;
	if (hp_get32(row + 32) > 999999999)
		return hp_index_bad_row(ix, "member", number,
					"has an impossible time", err);
	if (hp_get16(row + 38) & ~(07777u | HP_MEMBER_GENERATED))
		return hp_fail(err, HPDSL_ETOONEW,
			       "%s: member %" PRIu64
			       " is of a later version's kind",
			       ix->name, number);
	r = member_chunk(ix, number, row, &chunk, err);
	if (r == 0 && with_path)
		r = member_path(ix, number, row, &path, err);
	if (r == 0)
		fill_member(number, row, chunk, path, ret);
	return r;
}

int hp_index_member(const struct hp_index *ix, uint64_t number,
		    struct hpdsl_member *ret, struct hpdsl_error *err)
{
	return get_member(ix, number, true, ret, err);
}

int hp_index_place(const struct hp_index *ix, uint64_t number,
		   struct hpdsl_member *ret, struct hpdsl_error *err)
{
	return get_member(ix, number, false, ret, err);
}

/* ---- Chunks and classes ----------------------------------------------- */

/* A NUL-terminated name without a NUL inside. */
int hp_index_name(const struct hp_index *ix, enum hp_index_section kind,
		  uint64_t off, uint16_t len, const char **ret,
		  struct hpdsl_error *err)
{
	const uint8_t *p;
	int r = hp_index_bytes(ix, kind, off, len + 1u, &p, err);

	if (r < 0)
		return r;
	if (len == 0 || memchr(p, '\0', len + 1u) != p + len)
		return hp_index_bad_row(ix, "name at", off,
					"it does not end where it should", err);
	*ret = (const char *)p;
	return 0;
}

/* First sample and member behind the chunk. */
static int chunk_end(const struct hp_index *ix, uint32_t number,
		     uint64_t *ret_sample, uint64_t *ret_member,
		     struct hpdsl_error *err)
{
	const uint8_t *row;
	int r;

	if (number + 1 == ix->count.chunks) {
		*ret_sample = ix->count.samples;
		*ret_member = ix->count.members;
		return 0;
	}
	r = hp_index_bytes(ix, HP_SECTION_CHUNKS,
			   (uint64_t)(number + 1) * HP_CHUNK_ROW, HP_CHUNK_ROW,
			   &row, err);
	if (r < 0)
		return r;
	*ret_sample = hp_get64(row);
	*ret_member = hp_get64(row + 8);
	return 0;
}

/* The two forms of a chunk, stored and plain, from its row. */
static int chunk_forms(const struct hp_index *ix, const uint8_t *row,
		       struct hpdsl_chunk *c, struct hpdsl_error *err)
{
	uint32_t flags = hp_get32(row + 80);
	const char *why = NULL;

	if (flags & ~(uint32_t)HP_CHUNK_COMPRESSED)
		return hp_fail(err, HPDSL_ETOONEW,
			       "%s: chunk %" PRIu32
			       " is of a later version's kind",
			       ix->name, c->number);
	c->compressed = flags & HP_CHUNK_COMPRESSED;
	c->bytes = hp_get64(row + 16);
	memcpy(c->checksum, row + 24, 16);
	c->plain_bytes = hp_get64(row + 40);
	memcpy(c->plain_checksum, row + 48, 16);
	c->first_frame = hp_get64(row + 64);
	c->frames = hp_get32(row + 84);
	if (c->bytes > INT64_MAX || c->plain_bytes > INT64_MAX)
		why = "has a size that no file has";
	else if (!c->compressed &&
		 (c->bytes != c->plain_bytes || c->first_frame || c->frames ||
		  memcmp(c->checksum, c->plain_checksum, 16)))
		why = "stored and plain form disagree";
	else if (c->compressed &&
		 (c->frames == 0 || c->frames > HP_SEEK_FRAMES ||
		  c->bytes <= hp_seek_table_bytes(c->frames) ||
		  !hp_within(c->first_frame, c->frames,
			     hp_index_rows(ix, HP_SECTION_FRAMES))))
		why = "has an impossible range of frames";
	return why ? hp_index_bad_row(ix, "chunk", c->number, why, err) : 0;
}

/* It is opened in the dataset's directory, and nowhere else. */
static bool is_file_name(const char *name)
{
	return !strchr(name, '/') && strcmp(name, ".") && strcmp(name, "..");
}

int hp_index_chunk(const struct hp_index *ix, uint32_t number,
		   struct hpdsl_chunk *ret, struct hpdsl_error *err)
{
	struct hpdsl_chunk c = { .number = number };
	uint64_t sample_end, member_end;
	const uint8_t *row;
	int r;

	if (number >= ix->count.chunks)
		return hp_index_out_of_range(ix, "chunk", number,
					     ix->count.chunks, err);
	r = hp_index_bytes(ix, HP_SECTION_CHUNKS,
			   (uint64_t)number * HP_CHUNK_ROW, HP_CHUNK_ROW, &row,
			   err);
	if (r == 0)
		r = chunk_end(ix, number, &sample_end, &member_end, err);
	if (r == 0)
		r = chunk_forms(ix, row, &c, err);
	if (r < 0)
		return r;
	c.first_sample = hp_get64(row);
	c.first_member = hp_get64(row + 8);
	if (c.first_sample >= sample_end || sample_end > ix->count.samples ||
	    c.first_member >= member_end || member_end > ix->count.members)
		return hp_index_bad_row(ix, "chunk", number,
					"has an impossible range of samples",
					err);
	c.samples = sample_end - c.first_sample;
	c.members = member_end - c.first_member;
	r = hp_index_name(ix, HP_SECTION_NAMES, hp_get48(row + 72),
			  hp_get16(row + 78), &c.name, err);
	if (r < 0)
		return r;
	if (!(ix->flags & HP_INDEX_FOREIGN) && !is_file_name(c.name))
		return hp_index_bad_row(ix, "chunk", number,
					"has a name that is no plain file name",
					err);
	*ret = c;
	return 0;
}

int hp_index_class(const struct hp_index *ix, uint32_t label, const char **ret,
		   struct hpdsl_error *err)
{
	const uint8_t *row;
	int r;

	if (label >= ix->count.classes)
		return hp_index_out_of_range(ix, "class", label,
					     ix->count.classes, err);
	r = hp_index_bytes(ix, HP_SECTION_CLASSES,
			   (uint64_t)label * HP_CLASS_ROW, HP_CLASS_ROW, &row,
			   err);
	if (r < 0)
		return r;
	return hp_index_name(ix, HP_SECTION_CLASS_NAMES, hp_get48(row),
			     hp_get16(row + 6), ret, err);
}
