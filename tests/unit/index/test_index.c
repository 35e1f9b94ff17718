/* SPDX-License-Identifier: Apache-2.0 */
/* What is written into an index comes out of it again; how it is opened. */
#include "make_index.h"
#include "memio.h"
#include "each_fault.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static struct hp_index *open_image(const struct image *im)
{
	struct hpdsl_error err = { 0 };
	struct hp_index *ix = NULL;

	if (hp_index_open(im->p, im->n, "index.hpdsl", &ix, &err) < 0)
		fail_msg("%s", err.msg);
	return ix;
}

static void write_image(const struct corpus *c, struct image *im)
{
	struct hpdsl_error err = { 0 };

	if (image_write(c, im, &err) < 0)
		fail_msg("%s", err.msg);
}

/* ---- Round trip ------------------------------------------------------- */

static uint32_t chunk_of(const struct corpus *c, uint64_t sample)
{
	uint32_t i = 0;

	while (i + 1 < c->src.n_chunks &&
	       c->chunks[i + 1].first_sample <= sample)
		i++;
	return i;
}

static void compare_member(const struct corpus *c, const struct hp_index *ix,
			   uint64_t i)
{
	const struct hp_index_member *want = &c->members[i];
	struct hpdsl_member m;
	uint64_t found;

	assert_int_equal(hp_index_member(ix, i, &m, NULL), 0);
	assert_int_equal(m.number, i);
	assert_int_equal(m.sample, want->sample);
	assert_int_equal(m.chunk, chunk_of(c, want->sample));
	assert_int_equal(m.offset, want->offset);
	assert_int_equal(m.size, want->size);
	assert_int_equal(m.checksum, want->checksum);
	assert_int_equal(m.mtime, want->mtime);
	assert_int_equal(m.mtime_nsec, want->nsec);
	assert_int_equal(m.mode, want->mode & 07777);
	assert_int_equal(m.generated, (want->mode & HP_MEMBER_GENERATED) != 0);
	assert_int_equal(m.path_len, want->path_len);
	assert_string_equal(m.path, want->path);
	assert_int_equal(hp_index_find(ix, m.path, m.path_len, &found, NULL),
			 0);
	assert_int_equal(found, i);
	assert_int_equal(hp_index_next(ix, m.path, m.path_len, i, &found, NULL),
			 -ENOENT);
}

static void compare_extra(const struct corpus *c, const struct hp_index *ix,
			  uint64_t i)
{
	const struct hp_index_member *want = &c->members[i];
	uint8_t sha256[32];
	const char *name;
	size_t len;
	int r = hp_index_member_sha256(ix, i, sha256, NULL);

	assert_int_equal(r, want->sha256 ? 0 : -ENODATA);
	if (want->sha256)
		assert_memory_equal(sha256, want->sha256, 32);
	assert_int_equal(hp_index_stored(ix, i, &name, &len, NULL), 0);
	assert_int_equal(len, want->stored_len);
	if (want->stored)
		assert_string_equal(name, want->stored);
	else
		assert_null(name);
}

static void compare_samples(const struct corpus *c, const struct hp_index *ix)
{
	uint64_t member = 0;

	for (uint64_t i = 0; i < c->src.samples; i++) {
		struct hpdsl_sample s;
		uint64_t n = corpus_members(i, c->src.flags);
		const char *path = c->members[member].path;
		size_t len = c->members[member].path_len;

		assert_int_equal(hp_index_sample(ix, i, &s, NULL), 0);
		assert_int_equal(s.number, i);
		assert_int_equal(s.first_member, member);
		assert_int_equal(s.members, n);
		assert_int_equal(s.chunk, chunk_of(c, i));
		assert_int_equal(s.label, c->members[member].label);
		len = hp_key_length(&c->src.key, path, len);
		assert_int_equal(s.key_len, len);
		assert_memory_equal(s.key, path, len);
		member += n;
	}
}

static void compare_frames(const struct hp_index *ix,
			   const struct hpdsl_chunk *k,
			   const struct hp_chunk_made *want)
{
	for (uint32_t i = 0; i < k->frames; i++) {
		uint32_t found;
		struct hp_frame f;
		bool last = i + 1 == k->frames;

		assert_int_equal(hp_index_frame(ix, k, i, &f, NULL), 0);
		assert_int_equal(f.plain, want->frames[i].plain);
		assert_int_equal(f.stored, want->frames[i].stored);
		assert_int_equal(f.plain_end, last ? want->plain_bytes :
						     want->frames[i + 1].plain);
		assert_int_equal(f.stored_end,
				 last ? k->bytes - 17 - 12 * k->frames :
					want->frames[i + 1].stored);
		assert_int_equal(
			hp_index_frame_find(ix, k, f.plain, &found, NULL), 0);
		assert_int_equal(found, i);
		assert_int_equal(hp_index_frame_find(ix, k, f.plain_end - 1,
						     &found, NULL),
				 0);
		assert_int_equal(found, i);
	}
}

static void compare_forms(const struct hp_index *ix,
			  const struct hpdsl_chunk *k,
			  const struct hp_chunk_made *want)
{
	uint8_t sha256[32];
	struct hp_frame f;
	uint32_t frame;
	int r = hp_index_chunk_sha256(ix, k->number, sha256, NULL);

	assert_int_equal(r, want->has_sha256 ? 0 : -ENODATA);
	if (want->has_sha256)
		assert_memory_equal(sha256, want->sha256, 32);
	assert_int_equal(k->compressed, want->compressed);
	assert_int_equal(k->frames, want->n_frames);
	assert_int_equal(hp_index_frame(ix, k, k->frames, &f, NULL), -ERANGE);
	assert_int_equal(
		hp_index_frame_find(ix, k, k->plain_bytes, &frame, NULL),
		-ERANGE);
	if (!k->compressed) {
		assert_int_equal(k->plain_bytes, want->bytes);
		assert_memory_equal(k->plain_checksum, want->checksum, 16);
		assert_int_equal(hp_index_frame_find(ix, k, 0, &frame, NULL),
				 -ERANGE);
		return;
	}
	assert_int_equal(k->plain_bytes, want->plain_bytes);
	assert_memory_equal(k->plain_checksum, want->plain_checksum, 16);
	compare_frames(ix, k, want);
}

static void compare_chunks(const struct corpus *c, const struct hp_index *ix)
{
	uint64_t samples = 0, members = 0;

	for (uint32_t i = 0; i < c->src.n_chunks; i++) {
		struct hpdsl_chunk k;

		assert_int_equal(hp_index_chunk(ix, i, &k, NULL), 0);
		assert_string_equal(k.name, c->chunks[i].name);
		assert_int_equal(k.first_sample, samples);
		assert_int_equal(k.first_member, members);
		assert_int_equal(k.bytes, c->chunks[i].bytes);
		assert_memory_equal(k.checksum, c->chunks[i].checksum, 16);
		compare_forms(ix, &k, &c->chunks[i]);
		samples += k.samples;
		members += k.members;
	}
	assert_int_equal(samples, c->src.samples);
	assert_int_equal(members, c->src.members);
	for (uint32_t i = 0; i < c->src.n_classes; i++) {
		const char *name;

		assert_int_equal(hp_index_class(ix, i, &name, NULL), 0);
		assert_string_equal(name, c->classes[i]);
	}
}

/* Numbers past the end and paths that are not there are no damage. */
static void ask_beyond(const struct corpus *c, const struct hp_index *ix)
{
	struct hpdsl_member m;
	struct hpdsl_sample s;
	struct hpdsl_chunk k;
	struct hpdsl_error err;
	char path[MADE_PATH];
	uint8_t sha256[32];
	const char *name;
	size_t name_len;
	uint64_t n;

	assert_int_equal(hp_index_member(ix, c->src.members, &m, &err),
			 -ERANGE);
	assert_int_equal(hp_index_member(ix, UINT64_MAX, &m, &err), -ERANGE);
	assert_int_equal(hp_index_sample(ix, c->src.samples, &s, &err),
			 -ERANGE);
	assert_int_equal(hp_index_chunk(ix, c->src.n_chunks, &k, &err),
			 -ERANGE);
	assert_int_equal(hp_index_class(ix, c->src.n_classes, &name, &err),
			 -ERANGE);
	assert_int_equal(
		hp_index_stored(ix, c->src.members, &name, &name_len, &err),
		-ERANGE);
	assert_int_equal(
		hp_index_member_sha256(ix, c->src.members, sha256, &err),
		-ERANGE);
	assert_int_equal(
		hp_index_chunk_sha256(ix, c->src.n_chunks, sha256, &err),
		-ERANGE);
	assert_int_equal(hp_index_find(ix, "", 0, &n, &err), -ENOENT);
	for (unsigned i = 0; i < 1000; i++) {
		int len = snprintf(path, sizeof path, "absent/%u", i);

		assert_int_equal(hp_index_find(ix, path, (size_t)len, &n, &err),
				 -ENOENT);
	}
	assert_string_equal(err.msg, "no member 'absent/999'");
	if (c->src.members) {
		/* A part of a path is another path. */
		name = c->members[0].path;
		assert_int_equal(
			hp_index_find(ix, name, strlen(name) - 1, &n, &err),
			-ENOENT);
	}
}

/* What the writer is told of the size beforehand. */
static struct hp_index_extent extent(const struct corpus *c)
{
	struct hp_index_extent e = {
		.samples = c->src.samples,
		.members = c->src.members,
		.chunks = c->src.n_chunks,
		.sha256 = c->src.sha256,
	};

	for (uint64_t i = 0; i < e.members; i++) {
		e.path_bytes += c->members[i].path_len;
		e.stored += c->members[i].stored != NULL;
		e.stored_bytes += c->members[i].stored_len;
	}
	for (uint32_t i = 0; i < e.chunks; i++)
		e.frames += c->chunks[i].n_frames;
	return e;
}

static void write_and_compare(const struct corpus *c)
{
	struct hp_index_extent e = extent(c);
	struct hpdsl_counts n;
	struct hpdsl_error err;
	struct hp_index *ix;
	struct image im;

	write_image(c, &im);
	ix = open_image(&im);
	hp_index_count(ix, &n);
	assert_int_equal(n.samples, c->src.samples);
	assert_int_equal(n.members, c->src.members);
	assert_int_equal(n.chunks, c->src.n_chunks);
	assert_int_equal(n.classes, c->src.n_classes);
	assert_int_equal(n.bytes, c->src.bytes);
	assert_memory_equal(n.dataset_id, c->src.dataset_id, 16);
	assert_int_equal(hp_index_flags(ix), c->src.flags);
	assert_int_equal(n.shuffled, !!(c->src.flags & HP_INDEX_SHUFFLED));
	for (uint64_t i = 0; i < n.members; i++) {
		compare_member(c, ix, i);
		compare_extra(c, ix, i);
	}
	compare_samples(c, ix);
	compare_chunks(c, ix);
	ask_beyond(c, ix);
	if (hp_index_check(ix, NULL, NULL, &err) < 0)
		fail_msg("%s", err.msg);
	assert_true(hp_index_bound(&e) >= im.n);
	hp_index_free(ix);
	free(im.p);
}

static void round_trip(uint64_t samples, uint32_t chunks, uint32_t classes,
		       uint32_t flags)
{
	struct corpus c;

	corpus_make(&c, samples, chunks, classes, flags);
	write_and_compare(&c);
	corpus_enrich(&c);
	write_and_compare(&c);
	corpus_free(&c);
}

static void test_round_trip(void **state)
{
	(void)state;
	for (uint64_t n = 1; n < 40; n++) {
		round_trip(n, 1, 0, 0);
		round_trip(n, (uint32_t)n, 3, 0);
		round_trip(n, 1, 1, HP_INDEX_GROUP_NONE);
	}
	/* Several blocks a section, rows across their borders. */
	round_trip(20000, 17, 1000, 0);
	round_trip(20000, 5000, 0, HP_INDEX_GROUP_NONE);
	round_trip(100, 3, 2, HP_INDEX_SHUFFLED);
	round_trip(100, 3, 2, HP_INDEX_LAST);
}

/* Who does not know the rule refuses it, by the flag and by the section. */
static void test_doubles(void **state)
{
	static const char *const suffixes[] = { "5.m0", "seg.png" };
	struct hp_sections old = { .n = 0 };
	struct hp_layout layout = hp_index_layout;
	struct hpdsl_sample s;
	struct hp_index *ix;
	struct corpus c;
	struct image im;
	uint64_t len;

	(void)state;
	corpus_make(&c, 3, 1, 0, HP_INDEX_LAST);
	c.src.key.doubles = suffixes;
	c.src.key.n = 2;
	write_and_compare(&c);
	write_image(&c, &im);
	ix = open_image(&im);
	assert_int_equal(hp_index_sample(ix, 0, &s, NULL), 0);
	assert_int_equal(s.key_len, strlen("in/s000000"));
	hp_index_free(ix);
	assert_memory_equal(image_section(&im, HP_SECTION_DOUBLES, &len),
			    "5.m0\0seg.png", 13);
	assert_int_equal(len, 13);
	layout.n_kinds = HP_SECTION_CHUNK_SHA256;
	layout.kept &= ~(1u << HP_SECTION_DOUBLES);
	assert_int_equal(hp_sections_open(&old, &layout, im.p, im.n, "x", NULL),
			 HPDSL_ETOONEW);
	layout = hp_index_layout;
	layout.flags &= ~(uint32_t)HP_INDEX_LAST;
	assert_int_equal(hp_sections_open(&old, &layout, im.p, im.n, "x", NULL),
			 HPDSL_ETOONEW);
	free(im.p);
	corpus_free(&c);
}

static void refuses_doubles(const char *a, const char *b, bool last)
{
	const char *suffixes[] = { a, b };
	struct corpus c;
	struct image im;

	corpus_make(&c, 3, 1, 0, last ? HP_INDEX_LAST : 0);
	c.src.key.doubles = suffixes;
	c.src.key.n = 2;
	assert_int_equal(image_write(&c, &im, NULL), -EINVAL);
	free(im.p);
	corpus_free(&c);
}

/* No writer of ours makes them. */
static void test_doubles_refused(void **state)
{
	(void)state;
	refuses_doubles("a.b", "b.c", false);
	refuses_doubles("b.c", "a.b", true);
	refuses_doubles("a.b", "a.b", true);
	refuses_doubles("a.b", "png", true);
}

/* No members: nothing packs that, but the format can hold it. */
static void test_empty(void **state)
{
	(void)state;
	round_trip(0, 0, 0, 0);
	round_trip(0, 0, 4, 0);
}

/* At most 64 bytes a member and 16 a sample, besides the paths. */
static void test_size(void **state)
{
	uint64_t paths = 0;
	struct corpus c;
	struct image im;

	(void)state;
	corpus_make(&c, 20000, 10, 0, 0);
	write_image(&c, &im);
	for (uint64_t i = 0; i < c.src.members; i++)
		paths += c.members[i].path_len + 1;
	assert_true(im.n - paths <= 64 * c.src.members + 16 * c.src.samples +
					    100 * c.src.n_chunks + 1024);
	free(im.p);
	corpus_free(&c);
}

/* ---- Opening ---------------------------------------------------------- */

/* Everything but the header is out of reach. */
static void test_open_reads_header_only(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), room;
	struct hp_index *ix;
	struct corpus c;
	struct image im;
	uint8_t *p;

	(void)state;
	corpus_make(&c, 20000, 17, 5, 0);
	write_image(&c, &im);
	room = (im.n + page - 1) / page * page;
	p = mmap(NULL, room, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(p != MAP_FAILED);
	memcpy(p, im.p, im.n);
	assert_int_equal(mprotect(p + page, room - page, PROT_NONE), 0);
	assert_int_equal(hp_index_open(p, im.n, "index.hpdsl", &ix, NULL), 0);
	hp_index_free(ix);
	munmap(p, room);
	free(im.p);
	corpus_free(&c);
}

/* One change to the header, its checksum put right again, and what it gives. */
static void open_changed(size_t off, uint32_t value, int want)
{
	struct hpdsl_error err = { 0 };
	struct hp_index *ix = NULL;
	struct corpus c;
	struct image im;

	corpus_make(&c, 5, 2, 2, 0);
	write_image(&c, &im);
	hp_put32(im.p + off, value);
	hp_put64(im.p + HP_INDEX_FIXED + 256,
		 hp_hash64(im.p, HP_INDEX_FIXED + 256));
	assert_int_equal(hp_index_open(im.p, im.n, "index.hpdsl", &ix, &err),
			 want);
	assert_int_equal(err.code, want);
	assert_int_equal(strncmp(err.msg, "index.hpdsl: ", 13), 0);
	assert_null(ix);
	free(im.p);
	corpus_free(&c);
}

static void test_open_refuses(void **state)
{
	static const struct {
		size_t off;
		uint32_t value;
		int want;
	} bad[] = {
		{ 0, 0, HPDSL_ENOTOURS },
		{ 4, 0, HPDSL_ENOTOURS },
		{ 8, 2, HPDSL_ETOONEW },
		{ 60, 16, HPDSL_ETOONEW },
		{ 60, 9, HPDSL_ECORRUPT }, /* each file, and the last dot */
		{ 60, 0x80000000, HPDSL_ETOONEW },
		{ 80 + 4, 3, HPDSL_ETOONEW },	 /* a flag not known */
		{ 80 + 4, 0, HPDSL_ECORRUPT },	 /* not required? */
		{ 80 + 224, 15, HPDSL_ETOONEW }, /* a kind not known */
		{ 12, 80, HPDSL_ECORRUPT },	 /* header length */
		{ 16, 4096, HPDSL_ECORRUPT },	 /* file size */
		{ 20, 1, HPDSL_ECORRUPT },	 /* its upper half */
		{ 24, 6, HPDSL_ECORRUPT },	 /* samples */
		{ 32, 1, HPDSL_ECORRUPT },	 /* members */
		{ 36, 1, HPDSL_ECORRUPT },	 /* its upper half */
		{ 48, 3, HPDSL_ECORRUPT },	 /* chunks */
		{ 52, 0, HPDSL_ECORRUPT },	 /* classes */
		{ 56, 7, HPDSL_ECORRUPT },	 /* sections */
		{ 56, 0xffffffff, HPDSL_ECORRUPT },
		{ 80, 2, HPDSL_ECORRUPT },	 /* first kind */
		{ 80 + 8, 352, HPDSL_ECORRUPT }, /* offset */
		{ 80 + 12, 1, HPDSL_ECORRUPT },	 /* its upper half */
		{ 80 + 16, 0, HPDSL_ECORRUPT },	 /* length */
		{ 80 + 20, 0x80000000, HPDSL_ECORRUPT },
		{ 80 + 24, 17, HPDSL_ECORRUPT }, /* row size */
		{ 80 + 28, 1, HPDSL_ECORRUPT },	 /* padding */
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		open_changed(bad[i].off, bad[i].value, bad[i].want);
}

/* Adds an empty section of a later version to the table. */
static void add_section(struct image *im, uint32_t kind, uint32_t flags)
{
	size_t table = HP_INDEX_FIXED + HP_TABLE_ROW * HP_INDEX_FIRM;
	uint8_t *p = calloc(1, im->n + HP_TABLE_ROW), *row;

	assert_non_null(p);
	memcpy(p, im->p, table);
	memcpy(p + table + HP_TABLE_ROW, im->p + table, im->n - table);
	free(im->p);
	im->p = p;
	im->n += HP_TABLE_ROW;
	hp_put32(p + 12, hp_get32(p + 12) + HP_TABLE_ROW);
	hp_put64(p + 16, im->n);
	hp_put32(p + 56, HP_INDEX_FIRM + 1);
	for (row = p + HP_INDEX_FIXED; row < p + table; row += HP_TABLE_ROW)
		hp_put64(row + 8, hp_get64(row + 8) + HP_TABLE_ROW);
	hp_put32(row, kind);
	hp_put32(row + 4, flags);
	hp_put64(row + 8, im->n);
	image_repair(p, im->n);
}

/* Sections not known are passed over, unless they say that they are needed. */
static void test_later_section(void **state)
{
	struct hpdsl_error err = { 0 };
	struct hp_index *ix = NULL;
	struct corpus c;
	struct image im;

	(void)state;
	corpus_make(&c, 9, 2, 2, 0);
	write_image(&c, &im);
	add_section(&im, 15, 0);
	ix = open_image(&im);
	for (uint64_t i = 0; i < c.src.members; i++)
		compare_member(&c, ix, i);
	assert_int_equal(hp_index_check(ix, NULL, NULL, &err), 0);
	hp_index_free(ix);
	free(im.p);

	write_image(&c, &im);
	add_section(&im, 15, HP_SECTION_REQUIRED);
	assert_int_equal(hp_index_open(im.p, im.n, "index.hpdsl", &ix, &err),
			 HPDSL_ETOONEW);
	assert_string_equal(err.msg,
			    "index.hpdsl: section 15 of a later version is "
			    "needed to read it");
	free(im.p);
	corpus_free(&c);
}

/* ---- The writer's duties ---------------------------------------------- */

static int one_more(void *arg, struct hp_index_member *ret,
		    struct hpdsl_error *err)
{
	struct corpus *c = arg;

	(void)err;
	if (c->at > c->src.members)
		return 0;
	*ret = c->members[c->at++];
	return 1;
}

static void test_write_refuses(void **state)
{
	struct hpdsl_error err;
	struct corpus c;
	struct image im;

	(void)state;
	corpus_make(&c, 6, 2, 2, 0);
	c.members[3].sample += 2;
	assert_int_equal(image_write(&c, &im, &err), -EINVAL);
	c.members[3].sample -= 2;
	c.members[2].path_len = HPDSL_PATH_MAX + 1;
	assert_int_equal(image_write(&c, &im, &err), -EINVAL);
	c.members[2].path_len = 0;
	assert_int_equal(image_write(&c, &im, &err), -EINVAL);
	assert_string_equal(
		err.msg,
		"cannot index member 2: its path is empty or too long");
	c.members[2].path_len = strlen(c.members[2].path);
	c.src.bytes++;
	assert_int_equal(image_write(&c, &im, &err), -EINVAL);
	c.src.bytes--;
	c.src.samples++;
	assert_int_equal(image_write(&c, &im, &err), -EINVAL);
	c.src.samples--;
	c.src.members--;
	c.src.next = one_more;
	assert_int_equal(image_write(&c, &im, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "there are more than promised"));
	c.src.members++;
	c.src.next = corpus_next;
	assert_int_equal(image_write(&c, &im, &err), 0);
	free(im.p);
	corpus_free(&c);
}

static void test_write_refuses_rich(void **state)
{
	struct hpdsl_error err;
	struct corpus c;
	struct image im;

	(void)state;
	corpus_make(&c, 6, 2, 2, 0);
	corpus_enrich(&c);
	c.src.stored = false;
	assert_int_equal(image_write(&c, &im, &err), -EINVAL);
	c.src.stored = true;
	c.members[3].stored_len = 0;
	assert_int_equal(image_write(&c, &im, &err), -EINVAL);
	c.members[3].stored_len = HPDSL_PATH_MAX + 1;
	assert_int_equal(image_write(&c, &im, &err), -EINVAL);
	c.members[3].stored_len = strlen(c.members[3].stored);
	c.members[2].sha256 = NULL;
	assert_int_equal(image_write(&c, &im, &err), -EINVAL);
	assert_string_equal(err.msg,
			    "cannot index member 2: its SHA-256 is missing");
	c.members[2].sha256 = c.sha256[2];
	c.chunks[1].has_sha256 = false;
	assert_int_equal(image_write(&c, &im, &err), -EINVAL);
	c.chunks[1].has_sha256 = true;
	c.chunks[1].compressed = true;
	assert_int_equal(image_write(&c, &im, &err), -EINVAL);
	assert_string_equal(err.msg, "cannot index chunk 1: it has no frames");
	c.chunks[1].compressed = false;
	assert_int_equal(image_write(&c, &im, &err), 0);
	free(im.p);
	corpus_free(&c);
}

/* Room that was there before, so that only the writer allocates. */
static int add_to_room(void *arg, const void *buf, size_t n,
		       struct hpdsl_error *err)
{
	struct image *im = arg;

	(void)err;
	memcpy(im->p + im->n, buf, n);
	im->n += n;
	return 0;
}

static void test_allocations_fail(void **state)
{
	static uint8_t room[1 << 16];
	struct image im = { room, 0 };
	struct hp_sink sink = { add_to_room, &im };
	struct hpdsl_error err;
	struct hp_index *ix;
	struct corpus c;
	struct each_alloc e = { .k = 0 }, open = { .k = 0 };
	int r = -ENOMEM;

	(void)state;
	corpus_make(&c, 20, 3, 2, 0);
	corpus_enrich(&c);
	while (r && each_alloc(&e)) {
		im.n = 0;
		each_alloc_begin(&e);
		r = hp_index_write(&c.src, &sink, &err);
		each_alloc_end(&e);
		assert_true(r == 0 || r == -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_true(e.k > 3);
	for (r = -ENOMEM; r && each_alloc(&open);) {
		each_alloc_begin(&open);
		r = hp_index_open(room, im.n, "x", &ix, &err);
		each_alloc_end(&open);
		assert_true(r == 0 || r == -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_true(open.k > 2);
	wrap_fail_at(1, false);
	assert_int_equal(hp_index_check(ix, NULL, NULL, &err), -ENOMEM);
	wrap_fail_at(2, false);
	assert_int_equal(hp_index_check(ix, NULL, NULL, &err), -ENOMEM);
	wrap_fail_at(0, false);
	assert_int_equal(hp_index_check(ix, NULL, NULL, &err), 0);
	hp_index_free(ix);
	corpus_free(&c);
}

static void test_save(void **state)
{
	struct memio *m = memio_new();
	const struct hp_io *io = memio_io(m);
	int dir = io->open(io, AT_FDCWD, ".", O_RDONLY | O_DIRECTORY, 0);
	uint8_t sum[16], want[16];
	struct hpdsl_error err;
	const char *names[4];
	struct corpus c;
	struct image im;
	uint64_t bytes;
	size_t n;

	(void)state;
	corpus_make(&c, 3000, 3, 2, 0);
	write_image(&c, &im);
	memio_set_room(m, im.n / 2);
	assert_int_equal(
		hp_index_save(&c.src, io, dir, &bytes, sum, NULL, &err),
		-ENOSPC);
	assert_int_equal(memio_list(m, names, 4), 0);
	memio_set_room(m, 0);
	assert_int_equal(
		hp_index_save(&c.src, io, dir, &bytes, sum, NULL, &err), 0);
	assert_int_equal(memio_list(m, names, 4), 1);
	assert_int_equal(bytes, im.n);
	assert_memory_equal(memio_bytes(m, "index.hpdsl", &n), im.p, im.n);
	assert_int_equal(n, im.n);
	hp_hash128(im.p, im.n, want);
	assert_memory_equal(sum, want, 16);
	io->close(io, dir);
	memio_free(m);
	free(im.p);
	corpus_free(&c);
}

static int before(const void *a, const void *b)
{
	const struct hp_hashed *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* Many equal hashes and equal bytes of hashes are sorted too. */
static void test_sort(void **state)
{
	static const uint64_t masks[] = {
		UINT64_MAX, 0xff, 0xff00000000000000, 0, 0xf0f0, 1ull << 63
	};
	enum { N = 5000 };
	struct hp_hashed *v = calloc(N, sizeof *v), *w = calloc(N, sizeof *w);
	uint64_t x = 1;

	(void)state;
	for (size_t k = 0; k < sizeof masks / sizeof masks[0]; k++) {
		for (uint64_t i = 0; i < N; i++) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			v[i].hash = (x ^ x >> 29) & masks[k];
			v[i].number = i;
		}
		memcpy(w, v, N * sizeof *v);
		hp_lookup_sort(v, N);
		qsort(w, N, sizeof *w, before);
		assert_memory_equal(v, w, N * sizeof *v);
	}
	free(v);
	free(w);
}

/* From each member of a path the next one is found, behind the last none. */
static void test_equal_paths(void **state)
{
	struct hpdsl_error err;
	struct hp_index *ix;
	struct corpus c;
	struct image im;
	uint64_t found, n;

	(void)state;
	corpus_make(&c, 400, 3, 2, 0);
	n = c.src.members;
	for (uint64_t i = 5; i < n; i++) {
		strcpy(c.paths[i], c.paths[i % 5]);
		c.members[i].path_len = strlen(c.paths[i]);
	}
	c.src.flags |= HP_INDEX_FOREIGN;
	assert_int_equal(image_write(&c, &im, &err), 0);
	assert_int_equal(hp_index_open(im.p, im.n, "an index", &ix, &err), 0);
	for (uint64_t i = 0; i < n; i++) {
		int r = hp_index_next(ix, c.members[i].path,
				      c.members[i].path_len, i, &found, &err);

		assert_int_equal(r, i + 5 < n ? 0 : -ENOENT);
		if (r == 0)
			assert_int_equal(found, i + 5);
	}
	assert_non_null(strstr(err.msg, "no member 'in/s"));
	assert_int_equal(hp_index_next(ix, "absent", 6, 0, &found, &err),
			 -ENOENT);
	assert_string_equal(err.msg, "no member 'absent' from number 1 on");
	assert_int_equal(hp_index_next(ix, c.members[0].path,
				       c.members[0].path_len, UINT64_MAX,
				       &found, &err),
			 -ENOENT);
	assert_int_equal(hp_index_next(ix, "", 0, 0, &found, NULL), -ENOENT);
	hp_index_free(ix);
	free(im.p);
	corpus_free(&c);
}

/* ---- Threads ---------------------------------------------------------- */

static void *ask_all(void *arg)
{
	const struct hp_index *ix = arg;
	struct hpdsl_counts n;
	intptr_t wrong = 0;

	hp_index_count(ix, &n);
	for (uint64_t i = 0; i < n.members; i++) {
		struct hpdsl_member m;
		uint64_t found;

		if (hp_index_member(ix, i, &m, NULL) ||
		    hp_index_find(ix, m.path, m.path_len, &found, NULL) ||
		    found != i)
			wrong++;
	}
	return (void *)wrong;
}

/* They verify the same blocks at the same time. */
static void test_threads(void **state)
{
	pthread_t t[4];
	struct hp_index *ix;
	struct corpus c;
	struct image im;

	(void)state;
	corpus_make(&c, 10000, 3, 2, 0);
	write_image(&c, &im);
	ix = open_image(&im);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, ask_all, ix), 0);
	for (int i = 0; i < 4; i++) {
		void *wrong;

		pthread_join(t[i], &wrong);
		assert_null(wrong);
	}
	hp_index_free(ix);
	free(im.p);
	corpus_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_doubles),
		cmocka_unit_test(test_doubles_refused),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_open_reads_header_only),
		cmocka_unit_test(test_open_refuses),
		cmocka_unit_test(test_later_section),
		cmocka_unit_test(test_write_refuses),
		cmocka_unit_test(test_write_refuses_rich),
		cmocka_unit_test(test_allocations_fail),
		cmocka_unit_test(test_save),
		cmocka_unit_test(test_sort),
		cmocka_unit_test(test_equal_paths),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
