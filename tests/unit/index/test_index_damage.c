/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An index with damage is never taken for a sound one: every bit, every cut.
 * And one that was made with intent, its checksums right, crashes nothing; what
 * does not fit together in it is found by the check.
 */
#include "base/path.h"
#include "make_index.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const char name[] = "index.hpdsl";

static void make(struct image *im, uint64_t samples)
{
	struct hpdsl_error err = { 0 };
	struct corpus c;

	corpus_make(&c, samples, 2, 2, 0);
	if (image_write(&c, im, &err) < 0)
		fail_msg("%s", err.msg);
	corpus_free(&c);
}

/* Opens and checks: 0, or what either found. */
static int judge(const uint8_t *p, size_t n, struct hpdsl_error *err)
{
	struct hp_index *ix;
	int r = hp_index_open(p, n, name, &ix, err);

	if (r < 0)
		return r;
	r = hp_index_check(ix, NULL, NULL, err);
	hp_index_free(ix);
	return r;
}

/* With all sections there can be. */
static void make_rich(struct image *im, uint64_t samples)
{
	struct hpdsl_error err = { 0 };
	struct corpus c;

	corpus_make(&c, samples, 2, 2, 0);
	corpus_enrich(&c);
	if (image_write(&c, im, &err) < 0)
		fail_msg("%s", err.msg);
	corpus_free(&c);
}

static void flip_every_bit(struct image im)
{
	struct hpdsl_error err;

	assert_int_equal(judge(im.p, im.n, &err), 0);
	for (size_t bit = 0; bit < im.n * 8; bit++) {
		im.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (judge(im.p, im.n, &err) == 0)
			fail_msg("bit %zu of %zu is missed", bit, im.n * 8);
		assert_int_equal(strncmp(err.msg, "index.hpdsl: ", 13), 0);
		im.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_int_equal(judge(im.p, im.n, &err), 0);
	free(im.p);
}

static void test_every_bit(void **state)
{
	struct image im;

	(void)state;
	make(&im, 7);
	flip_every_bit(im);
	make_rich(&im, 7);
	flip_every_bit(im);
}

/* A flipped bit is told by whoever touches its block, not only by the check. */
static void test_first_touch(void **state)
{
	struct hpdsl_member m;
	struct hpdsl_error err;
	struct hp_index *ix;
	struct corpus c;
	struct image im;
	uint64_t n = 0;

	(void)state;
	corpus_make(&c, 5000, 2, 2, 0);
	assert_int_equal(image_write(&c, &im, &err), 0);
	/* Row 5000 lies in the fourth block. */
	image_section(&im, HP_SECTION_MEMBERS, NULL)[5000 * HP_MEMBER_ROW] ^= 1;
	assert_int_equal(hp_index_open(im.p, im.n, name, &ix, &err), 0);
	assert_int_equal(hp_index_member(ix, 0, &m, &err), 0);
	assert_int_equal(hp_index_member(ix, 9900, &m, &err), 0);
	for (uint64_t i = 0; i < c.src.members; i++)
		n += hp_index_member(ix, i, &m, &err) == HPDSL_ECORRUPT;
	assert_int_equal(n, 65536 / HP_MEMBER_ROW + 2);
	assert_string_equal(err.msg, "index.hpdsl: section MEMBERS, block 3: "
				     "checksum differs");
	hp_index_free(ix);
	free(im.p);
	corpus_free(&c);
}

static void cut_at_every_length(struct image im)
{
	struct hpdsl_error err;

	for (size_t n = 0; n < im.n; n++) {
		uint8_t *p = malloc(n + !n); /* exact, for a sanitizer */

		assert_non_null(p);
		memcpy(p, im.p, n);
		assert_int_not_equal(judge(p, n, &err), 0);
		free(p);
	}
	im.p = realloc(im.p, im.n + 8);
	assert_non_null(im.p);
	for (int byte = 0; byte < 256; byte++) {
		memset(im.p + im.n, byte, 8);
		assert_int_equal(judge(im.p, im.n + 1, &err), HPDSL_ECORRUPT);
		assert_int_equal(judge(im.p, im.n + 8, &err), HPDSL_ECORRUPT);
	}
	free(im.p);
}

static void test_every_length(void **state)
{
	struct image im;

	(void)state;
	make(&im, 7);
	cut_at_every_length(im);
	make_rich(&im, 7);
	cut_at_every_length(im);
}

/* ---- With intent ------------------------------------------------------ */

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545F4914F6CDD1Dull;
}

static void mutate(uint8_t *p, size_t n, uint64_t *state)
{
	static const uint64_t values[] = { 0,	       1,	  0x7f,
					   0xff,       0xffff,	  0x7fffffff,
					   UINT32_MAX, INT64_MAX, UINT64_MAX };
	size_t at = next_random(state) % n;
	size_t len = (size_t)1 << next_random(state) % 4;
	uint64_t value = values[next_random(state) % 9];

	if (next_random(state) % 3 == 0)
		value = hp_get64(p + at % (n - 8)) + next_random(state) % 5 - 2;
	if (next_random(state) % 8 == 0)
		value = next_random(state);
	memcpy(p + at, &value, len < n - at ? len : n - at);
}

static void open_mutant(const uint8_t *p, size_t n)
{
	uint8_t *copy = malloc(n);
	struct hpdsl_error err;
	struct hp_index *ix;

	assert_non_null(copy);
	memcpy(copy, p, n);
	image_repair(copy, n);
	if (hp_index_open(copy, n, name, &ix, &err) == 0) {
		image_exercise(ix);
		hp_index_free(ix);
	}
	free(copy);
}

static void try_mutants(struct image im, uint64_t x)
{
	uint8_t *p = malloc(im.n);

	assert_non_null(p);
	for (int i = 0; i < 30000; i++) {
		memcpy(p, im.p, im.n);
		for (uint64_t k = next_random(&x) % 3 + 1; k > 0; k--)
			mutate(p, im.n, &x);
		open_mutant(p, im.n);
	}
	free(p);
	free(im.p);
}

static void test_mutants(void **state)
{
	struct image im;

	(void)state;
	make(&im, 9);
	try_mutants(im, 88172645463325252u);
	make_rich(&im, 9);
	try_mutants(im, 48172645463325252u);
}

/* Bytes written over a row of a section, checksums right again. */
struct forgery {
	unsigned section;
	size_t off;
	unsigned width;
	uint64_t value;
	const char *told; /* by the check, behind the file's name */
};

/*
 * Seven samples of 1, 2, 3, 1, 2, 3, 1 members, two chunks (3 and 4 samples),
 * paths of 13 and 10 bytes; 20 homes.
 */
static const struct forgery forgeries[] = {
	{ HP_SECTION_SAMPLES, 0, 8, 1,
	  "sample 0: has an impossible range of members" },
	{ HP_SECTION_SAMPLES, 48, 8, 5, "chunk 1: its first member is not" },
	{ HP_SECTION_SAMPLES, 16, 8, 0,
	  "sample 0: has an impossible range of members" },
	{ HP_SECTION_SAMPLES, 16, 8, UINT64_MAX,
	  "sample 0: has an impossible range of members" },
	{ HP_SECTION_SAMPLES, 16, 8, 2,
	  "member 1: is not among the members of its sample" },
	{ HP_SECTION_SAMPLES, 8, 4, 1, "sample 0: says chunk 1, lies in" },
	{ HP_SECTION_SAMPLES, 8, 4, 2,
	  "sample 0: is in a chunk that does not exist" },
	{ HP_SECTION_SAMPLES, 12, 4, 2,
	  "sample 0: has a label without a class" },
	{ HP_SECTION_MEMBERS, 0, 8, 513,
	  "member 0: its data lie where they cannot" },
	{ HP_SECTION_MEMBERS, 0, 8, 0,
	  "member 0: its data lie where they cannot" },
	{ HP_SECTION_MEMBERS, 0, 8, UINT64_MAX, "member 0: lies outside" },
	{ HP_SECTION_MEMBERS, 52, 8, 512,
	  "member 1: its data lie where they cannot" },
	{ HP_SECTION_MEMBERS, 8, 8, 1 << 20, "member 0: lies outside" },
	{ HP_SECTION_MEMBERS, 8, 8, UINT64_MAX, "member 0: lies outside" },
	{ HP_SECTION_MEMBERS, 8, 8, 1,
	  "member 1: its data lie where they cannot" },
	{ HP_SECTION_MEMBERS, 12 * 52 + 8, 8, 445, "header: " },
	{ HP_SECTION_MEMBERS, 32, 4, 1000000000,
	  "member 0: has an impossible time" },
	{ HP_SECTION_MEMBERS, 36, 2, 0, "member 0: has an invalid path" },
	{ HP_SECTION_MEMBERS, 36, 2, 12, "member 0: has an invalid path" },
	{ HP_SECTION_MEMBERS, 36, 2, 4096, "bytes 0 to 4097 lie outside of" },
	{ HP_SECTION_MEMBERS, 38, 2, 0x2000, "member 0 is of a later version" },
	{ HP_SECTION_MEMBERS, 40, 4, 3, "member 0: has an invalid path" },
	{ HP_SECTION_MEMBERS, 40, 4, 36, "member 0: gap or overlap of paths" },
	{ HP_SECTION_MEMBERS, 46, 4, 1,
	  "member 0: is not among the members of its sample" },
	{ HP_SECTION_MEMBERS, 46, 4, 7,
	  "member 0: is of a sample that does not" },
	{ HP_SECTION_PATHS, 13, 1, 'x', "member 0: has an invalid path" },
	{ HP_SECTION_PATHS, 3, 1, 0, "member 0: has an invalid path" },
	{ HP_SECTION_PATHS, 0, 1, '/', "member 0: has an invalid path" },
	{ HP_SECTION_PATHS, 0, 3, 0x2f2e2e, "member 0: has an invalid path" },
	{ HP_SECTION_PATHS, 0, 1, 'x', "lookup slot" },
	{ HP_SECTION_CHUNKS, 0, 8, 1, "chunk 0: does not begin" },
	{ HP_SECTION_CHUNKS, 88, 8, 0,
	  "chunk 0: has an impossible range of samples" },
	{ HP_SECTION_CHUNKS, 88, 8, 8,
	  "chunk 0: has an impossible range of samples" },
	{ HP_SECTION_CHUNKS, 96, 8, 0,
	  "chunk 0: has an impossible range of samples" },
	{ HP_SECTION_CHUNKS, 96, 8, 14,
	  "chunk 0: has an impossible range of samples" },
	{ HP_SECTION_CHUNKS, 88, 8, 2, "chunk 1: its first member is not" },
	{ HP_SECTION_CHUNKS, 96, 8, 5, "chunk 1: its first member is not" },
	{ HP_SECTION_CHUNKS, 16, 8, 512, "chunk 0: stored and plain" },
	{ HP_SECTION_CHUNKS, 24, 8, 0, "chunk 0: stored and plain" },
	{ HP_SECTION_CHUNKS, 64, 8, 1, "chunk 0: stored and plain" },
	{ HP_SECTION_CHUNKS, 84, 4, 1, "chunk 0: stored and plain" },
	{ HP_SECTION_CHUNKS, 80, 4, 2, "chunk 0 is of a later version" },
	{ HP_SECTION_CHUNKS, 80, 4, 1, "chunk 0: has an impossible range of" },
	{ HP_SECTION_CHUNKS, 72, 4, 1, "name at 1: it does not end" },
	{ HP_SECTION_CHUNKS, 72, 4, 17, "section NAMES: gap or overlap at 0" },
	{ HP_SECTION_CHUNKS, 78, 2, 0, "name at 0: it does not end" },
	{ HP_SECTION_NAMES, 0, 2, 0x2e2f,
	  "chunk 0: has a name that is no plain file name" },
	{ HP_SECTION_NAMES, 5, 1, 0, "name at 0: it does not end" },
	{ HP_SECTION_CLASSES, 0, 4, 8, "section CLASS_NAMES: gap or overlap" },
	{ HP_SECTION_CLASSES, 6, 2, 6, "name at 0: it does not end" },
	{ HP_SECTION_CLASSES, 6, 2, 600, "bytes 0 to 601 lie outside of" },
};

/*
 * The same with all sections.  Members 0, 3, 6, 9, 12 have other names; chunk 0
 * has 167 bytes, 10240 plain, and frames at 0, 512, 2560 and 5632 of these.
 */
static const struct forgery rich_forgeries[] = {
	{ HP_SECTION_STORED, 0, 8, 13, "section STORED, row 0: out of order" },
	{ HP_SECTION_STORED, 0, 8, UINT64_MAX,
	  "section STORED, row 0: out of order" },
	{ HP_SECTION_STORED, 16, 8, 0, "section STORED, row 1: out of order" },
	{ HP_SECTION_STORED, 0, 8, 6, "section STORED, row 1: out of order" },
	{ HP_SECTION_STORED, 8, 4, 4,
	  "section STORED_PATHS: gap or overlap at 0" },
	{ HP_SECTION_STORED, 12, 2, 0xffff,
	  "bytes 281470681743360 to 2814706" },
	{ HP_SECTION_STORED, 14, 2, 2, "name at 0: it does not end" },
	{ HP_SECTION_STORED, 14, 2, 0, "name at 0: it does not end" },
	{ HP_SECTION_STORED, 14, 2, 600, "bytes 0 to 601 lie outside of" },
	{ HP_SECTION_STORED_PATHS, 0, 1, '/',
	  "member 0: has an invalid name in its chunk" },
	{ HP_SECTION_STORED_PATHS, 4, 3, 0x2f2e2e,
	  "member 3: has an invalid name in its chunk" },
	{ HP_SECTION_FRAMES, 0, 8, 512, "chunk 0: frame 0 lies where it can" },
	{ HP_SECTION_FRAMES, 8, 8, 1, "chunk 0: frame 0 lies where it can" },
	{ HP_SECTION_FRAMES, 16, 8, 0, "chunk 0: frame 0 lies where it can" },
	{ HP_SECTION_FRAMES, 24, 8, 0, "chunk 0: frame 0 lies where it can" },
	{ HP_SECTION_FRAMES, 16, 8, UINT64_MAX, "chunk 0: frame 0 lies where" },
	{ HP_SECTION_FRAMES, 24, 8, UINT64_MAX, "chunk 0: frame 0 lies where" },
	{ HP_SECTION_FRAMES, 32, 8, 512, "chunk 0: frame 1 lies where it can" },
	{ HP_SECTION_FRAMES, 48, 8, 10240, "chunk 0: frame 3 lies where" },
	{ HP_SECTION_FRAMES, 56, 8, 102, "chunk 0: frame 3 lies where it" },
	{ HP_SECTION_FRAMES, 16, 8, 256, "chunk 0: frame 1 begins within a" },
	{ HP_SECTION_FRAMES, 16, 8, 1536, "chunk 0: frame 1 begins within a" },
	{ HP_SECTION_FRAMES, 48, 8, 6144, "chunk 0: frame 3 begins within a" },
	{ HP_SECTION_CHUNKS, 16, 8, 65, "chunk 0: has an impossible range of" },
	{ HP_SECTION_CHUNKS, 16, 8, 121, "chunk 0: frame 3 lies where it" },
	{ HP_SECTION_CHUNKS, 16, 8, UINT64_MAX, "chunk 0: has a size that no" },
	{ HP_SECTION_CHUNKS, 40, 8, UINT64_MAX, "chunk 0: has a size that no" },
	{ HP_SECTION_CHUNKS, 40, 8, 1ull << 40, "chunk 0: frame 3 lies where" },
	{ HP_SECTION_CHUNKS, 40, 8, 5632, "chunk 0: frame 3 lies where it" },
	{ HP_SECTION_CHUNKS, 40, 8, 512, "member 1: lies outside of its chun" },
	{ HP_SECTION_CHUNKS, 64, 8, 1, "chunk 0: has an impossible range of" },
	{ HP_SECTION_CHUNKS, 64, 8, UINT64_MAX, "chunk 0: has an impossible" },
	{ HP_SECTION_CHUNKS, 80, 4, 0, "chunk 0: stored and plain form" },
	{ HP_SECTION_CHUNKS, 80, 4, 3, "chunk 0 is of a later version" },
	{ HP_SECTION_CHUNKS, 84, 4, 0, "chunk 0: has an impossible range of" },
	{ HP_SECTION_CHUNKS, 84, 4, 5, "chunk 0: has an impossible range of" },
	{ HP_SECTION_CHUNKS, 84, 4, UINT32_MAX, "chunk 0: has an impossible" },
	{ HP_SECTION_CHUNKS, 84, 4, 3,
	  "section FRAMES: rows that no chunk has" },
	{ HP_SECTION_CHUNKS, 88 + 64, 8, 1, "chunk 1: stored and plain form" },
	{ HP_SECTION_CHUNKS, 88 + 84, 4, 1, "chunk 1: stored and plain form" },
};

static void put_value(uint8_t *p, uint64_t value, unsigned width)
{
	uint8_t bytes[8];

	hp_put64(bytes, value);
	memcpy(p, bytes, width);
}

static void expect(struct image *im, const char *told)
{
	struct hpdsl_error err;
	struct hp_index *ix;
	int r, code = strstr(told, "later version") ? HPDSL_ETOONEW :
						      HPDSL_ECORRUPT;
	char want[128];

	image_repair(im->p, im->n);
	assert_int_equal(hp_index_open(im->p, im->n, name, &ix, &err), 0);
	image_exercise(ix);
	r = hp_index_check(ix, NULL, NULL, &err);
	snprintf(want, sizeof want, "%s: %s", name, told);
	if (r != code || strncmp(err.msg, want, strlen(want)))
		fail_msg("'%s', not '%s'", r ? err.msg : "sound", want);
	hp_index_free(ix);
}

static void test_forgeries(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof forgeries / sizeof forgeries[0]; i++) {
		const struct forgery *f = &forgeries[i];
		struct image im;

		make(&im, 7);
		put_value(image_section(&im, f->section, NULL) + f->off,
			  f->value, f->width);
		expect(&im, f->told);
		free(im.p);
	}
}

static void test_rich_forgeries(void **state)
{
	size_t n = sizeof rich_forgeries / sizeof rich_forgeries[0];

	(void)state;
	for (size_t i = 0; i < n; i++) {
		const struct forgery *f = &rich_forgeries[i];
		struct image im;

		make_rich(&im, 7);
		put_value(image_section(&im, f->section, NULL) + f->off,
			  f->value, f->width);
		expect(&im, f->told);
		free(im.p);
	}
}

/* One byte of a row of the section table, as long as before when padded. */
static void open_rich(unsigned kind, size_t off, uint8_t value)
{
	struct hpdsl_error err = { 0 };
	struct hp_index *ix = NULL;
	struct image im;
	uint8_t *row;

	make_rich(&im, 7);
	row = im.p + HP_INDEX_FIXED + HP_TABLE_ROW * (kind - 1);
	assert_int_equal(hp_get32(row), kind);
	row[off] = value;
	image_repair(im.p, im.n);
	assert_int_equal(hp_index_open(im.p, im.n, name, &ix, &err),
			 HPDSL_ECORRUPT);
	assert_int_equal(strncmp(err.msg, "index.hpdsl: header: ", 21), 0);
	free(im.p);
}

static void test_rich_table(void **state)
{
	(void)state;
	open_rich(HP_SECTION_STORED, 16, 5 * 16 - 1);
	open_rich(HP_SECTION_FRAMES, 16, 4 * 16 - 1);
	open_rich(HP_SECTION_CHUNK_SHA256, 16, 2 * 32 - 1);
	open_rich(HP_SECTION_MEMBER_SHA256, 16, (13 * 32 - 1) & 0xff);
	for (unsigned k = HP_SECTION_STORED; k <= HP_SECTION_CHUNK_SHA256;
	     k++) {
		bool optional = k == HP_SECTION_MEMBER_SHA256 ||
				k == HP_SECTION_CHUNK_SHA256;

		open_rich(k, 0, (uint8_t)(k - 1)); /* twice */
		open_rich(k, 4, optional);	   /* required or not */
		open_rich(k, 24, 1);		   /* row size */
		open_rich(k, 28, 1);		   /* padding */
	}
}

/* A name in the chunk is told only where it is another one, and just one's. */
static void test_stored_not_unique(void **state)
{
	struct hpdsl_error err;
	struct corpus c;
	struct image im;

	(void)state;
	corpus_make(&c, 7, 2, 2, 0);
	corpus_enrich(&c);
	c.members[3].stored = c.members[3].path;
	c.members[3].stored_len = c.members[3].path_len;
	assert_int_equal(image_write(&c, &im, &err), 0);
	expect(&im, "member 3: its name in its chunk is its path");
	free(im.p);
	c.members[3].stored = c.members[4].path;
	c.members[3].stored_len = c.members[4].path_len;
	assert_int_equal(image_write(&c, &im, &err), 0);
	expect(&im, "member 3: its name in its chunk is the path of another");
	free(im.p);
	/* Of a member that has another name itself. */
	c.members[3].stored = c.members[6].path;
	c.members[3].stored_len = c.members[6].path_len;
	assert_int_equal(image_write(&c, &im, &err), 0);
	assert_int_equal(judge(im.p, im.n, &err), 0);
	free(im.p);
	c.members[3].stored = c.members[9].stored;
	c.members[3].stored_len = c.members[9].stored_len;
	assert_int_equal(image_write(&c, &im, &err), 0);
	expect(&im, "member 9: its name in its chunk is another member's too");
	free(im.p);
	corpus_free(&c);
}

/* ---- Adopted tars ----------------------------------------------------- */

static void write_foreign(struct corpus *c, struct image *im)
{
	struct hpdsl_error err;

	c->src.flags |= HP_INDEX_FOREIGN;
	if (image_write(c, im, &err) < 0)
		fail_msg("%s", err.msg);
}

/* Chunks are named by path, members in them anything. */
static void test_foreign_names(void **state)
{
	static const char *const names[] = { "/data/a.tar", "../b/c.tar",
					     "sub/d.tar" };
	struct hpdsl_error err;
	struct hpdsl_chunk k;
	struct hp_index *ix;
	struct corpus c;
	struct image im;
	const char *stored;
	size_t len;

	(void)state;
	corpus_make(&c, 7, 3, 2, 0);
	c.src.stored = true;
	c.members[2].stored = "./../x//";
	c.members[2].stored_len = 8;
	for (int i = 0; i < 3; i++)
		c.chunks[i].name = names[i];
	write_foreign(&c, &im);
	assert_int_equal(judge(im.p, im.n, &err), 0);
	assert_int_equal(hp_index_open(im.p, im.n, name, &ix, &err), 0);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(hp_index_chunk(ix, i, &k, &err), 0);
		assert_string_equal(k.name, names[i]);
	}
	assert_int_equal(hp_index_stored(ix, 2, &stored, &len, &err), 0);
	assert_string_equal(stored, "./../x//");
	hp_index_free(ix);
	/* The same bytes without the flag. */
	hp_put32(im.p + 60, 0);
	expect(&im, "chunk 0: has a name that is no plain file name");
	free(im.p);
	corpus_free(&c);
}

/* Paths may repeat: the first is found. */
static void test_foreign_paths(void **state)
{
	struct hpdsl_error err;
	struct hp_index *ix;
	struct corpus c;
	struct image im;
	uint64_t number;

	(void)state;
	corpus_make(&c, 400, 3, 2, 0);
	for (uint64_t i = 5; i < c.src.members; i++) {
		strcpy(c.paths[i], c.paths[i % 2 ? 1 : 4]);
		c.members[i].path_len = strlen(c.paths[i]);
	}
	write_foreign(&c, &im);
	assert_int_equal(judge(im.p, im.n, &err), 0);
	assert_int_equal(hp_index_open(im.p, im.n, name, &ix, &err), 0);
	for (uint64_t i = 0; i < c.src.members; i++) {
		assert_int_equal(hp_index_find(ix, c.members[i].path,
					       c.members[i].path_len, &number,
					       &err),
				 0);
		assert_int_equal(number, i < 5 ? i : i % 2 ? 1 : 4);
	}
	hp_index_free(ix);
	hp_put32(im.p + 60, 0);
	image_repair(im.p, im.n);
	assert_int_equal(judge(im.p, im.n, &err), HPDSL_ECORRUPT);
	assert_non_null(strstr(err.msg, ": cannot be found by its path"));
	free(im.p);
	corpus_free(&c);
}

/* Contents may lie anywhere in the chunk, but in whole blocks. */
static void test_foreign_offsets(void **state)
{
	struct hpdsl_error err;
	struct corpus c;
	uint64_t was;
	struct image im;

	(void)state;
	corpus_make(&c, 7, 2, 2, 0);
	write_foreign(&c, &im);
	assert_int_equal(judge(im.p, im.n, &err), 0);
	free(im.p);
	was = c.members[3].offset;
	c.members[3].offset = c.members[0].offset;
	write_foreign(&c, &im);
	expect(&im, "member 3: its data lie where they cannot");
	free(im.p);
	c.members[3].offset = was + 8;
	write_foreign(&c, &im);
	expect(&im, "member 3: its data lie where they cannot");
	free(im.p);
	c.members[3].offset = 0;
	write_foreign(&c, &im);
	expect(&im, "member 3: its data lie where they cannot");
	free(im.p);
	corpus_free(&c);
}

/* Frames of adopted tars begin anywhere, but are no larger than others. */
static void test_foreign_frames(void **state)
{
	const uint64_t most = 5632 + (UINT64_C(1) << 30);
	struct hpdsl_error err;
	struct image im;

	(void)state;
	make_rich(&im, 7);
	hp_put32(im.p + 60, hp_get32(im.p + 60) | HP_INDEX_FOREIGN);
	put_value(image_section(&im, HP_SECTION_FRAMES, NULL) + 16, 256, 8);
	put_value(image_section(&im, HP_SECTION_CHUNKS, NULL) + 40, most, 8);
	image_repair(im.p, im.n);
	assert_int_equal(judge(im.p, im.n, &err), 0);
	put_value(image_section(&im, HP_SECTION_CHUNKS, NULL) + 40, most + 1,
		  8);
	expect(&im, "chunk 0: frame 3 lies where it cannot");
	free(im.p);
}

/* A read so far into a file is another error: it must not come to that. */
static void test_chunk_of_exabytes(void **state)
{
	struct image im;
	uint8_t *row;

	(void)state;
	make(&im, 7);
	row = image_section(&im, HP_SECTION_CHUNKS, NULL);
	put_value(row + 16, UINT64_MAX, 8);
	put_value(row + 40, UINT64_MAX, 8);
	expect(&im, "chunk 0: has a size that no file has");
	free(im.p);
}

/* ---- The lookup table ------------------------------------------------- */

enum edit { CLEAR, TAG, NUMBER, TWICE, MOVE, FILL };

/* One edit of the first used slot that has an empty one behind it. */
static void edit_lookup(struct image *im, enum edit edit)
{
	uint64_t len;
	uint8_t *p = image_section(im, HP_SECTION_LOOKUP, &len);
	uint64_t slots = len / 8, i = 0, slot;

	if (edit == FILL) {
		for (; i < slots; i++)
			hp_put64(p + i * 8, UINT64_C(0xabcdef0000000001));
		return;
	}
	while (!hp_get64(p + i * 8) || hp_get64(p + i * 8 + 8))
		i++;
	slot = hp_get64(p + i * 8);
	if (edit == CLEAR || edit == MOVE)
		hp_put64(p + i * 8, 0);
	if (edit == TWICE || edit == MOVE)
		hp_put64(p + i * 8 + 8, slot);
	if (edit == TAG)
		hp_put64(p + i * 8, slot ^ UINT64_C(1) << 63);
	if (edit == NUMBER)
		hp_put64(p + i * 8, slot | HP_SLOT_NUMBER);
}

static void test_lookup_edits(void **state)
{
	(void)state;
	for (enum edit e = CLEAR; e <= FILL; e++) {
		struct image im;

		make(&im, 7);
		edit_lookup(&im, e);
		expect(&im, e == CLEAR ? "lookup table: 12 members of 13" :
					 "lookup slot ");
		free(im.p);
	}
}

/* A search in a table without an empty slot comes to an end. */
static void test_full_lookup(void **state)
{
	struct hpdsl_error err;
	struct hp_index *ix;
	uint64_t number;
	struct image im;

	(void)state;
	make(&im, 7);
	edit_lookup(&im, FILL);
	image_repair(im.p, im.n);
	assert_int_equal(hp_index_open(im.p, im.n, name, &ix, &err), 0);
	assert_int_equal(hp_index_find(ix, "absent", 6, &number, &err),
			 HPDSL_ECORRUPT);
	assert_string_equal(err.msg,
			    "index.hpdsl: the lookup table has no end");
	hp_index_free(ix);
	free(im.p);
}

/* Two members with one path: only one of them can be found. */
static void test_equal_paths(void **state)
{
	struct hpdsl_error err;
	struct corpus c;
	struct image im;

	(void)state;
	corpus_make(&c, 7, 2, 2, 0);
	strcpy(c.paths[5], c.paths[0]);
	c.members[5].path_len = c.members[0].path_len;
	assert_int_equal(image_write(&c, &im, &err), 0);
	expect(&im, "member 5: cannot be found by its path");
	free(im.p);
	corpus_free(&c);
}

/* With --group=none a sample has one member. */
static void test_ungrouped(void **state)
{
	struct image im;

	(void)state;
	make(&im, 7);
	hp_put32(im.p + 60, HP_INDEX_GROUP_NONE);
	expect(&im, "sample 1: has more than one member");
	free(im.p);
}

/* An index of one member with this path is as good as the path. */
static void try_path(char *path, size_t len)
{
	bool valid = hp_path_valid(path, len);
	struct hpdsl_member m;
	struct hpdsl_error err;
	struct hp_index *ix;
	struct corpus c;
	struct image im;
	int r;

	corpus_make(&c, 1, 1, 0, 0);
	c.members[0].path = path;
	c.members[0].path_len = len;
	assert_int_equal(image_write(&c, &im, &err), 0);
	assert_int_equal(hp_index_open(im.p, im.n, name, &ix, &err), 0);
	r = hp_index_member(ix, 0, &m, &err);
	if (r != (valid ? 0 : HPDSL_ECORRUPT))
		fail_msg("'%.*s': %d", (int)len, path, r);
	hp_index_free(ix);
	free(im.p);
	corpus_free(&c);
}

/* Slashes, dots and NULs at each place of short and longer paths. */
static void test_paths(void **state)
{
	static const char *const bits[] = { "/",    ".",   "//",  "/.",
					    "./",   "..",  "/./", "/..",
					    "/../", "/.x", "-",	  "/.." };
	char path[64];

	(void)state;
	for (size_t len = 1; len < 52; len++) {
		for (size_t at = 0; at < len * 12; at++) {
			const char *s = bits[at % 12];
			size_t n = strlen(s);

			memset(path, 'a', sizeof path);
			if (at / 12 + n > len)
				continue;
			memcpy(path + at / 12, s, n);
			try_path(path, len);
			path[at / 12] = '\0';
			try_path(path, len);
		}
	}
}

static void count(void *arg, const char *reason)
{
	(void)reason;
	++*(unsigned *)arg;
}

/* Each finding is told, but not millions of them. */
static void test_told(void **state)
{
	struct hpdsl_error err;
	struct hp_index *ix;
	struct corpus c;
	struct image im;
	uint64_t len;
	uint8_t *p;
	unsigned n = 0;

	(void)state;
	corpus_make(&c, 5000, 2, 2, 0);
	assert_int_equal(image_write(&c, &im, &err), 0);
	p = image_section(&im, HP_SECTION_MEMBERS, &len);
	for (uint64_t i = 0; i < len; i += HP_BLOCK)
		p[i] ^= 1;
	assert_int_equal(hp_index_open(im.p, im.n, name, &ix, &err), 0);
	assert_int_equal(hp_index_check(ix, count, &n, &err), HPDSL_ECORRUPT);
	assert_int_equal(n, (len + HP_BLOCK - 1) / HP_BLOCK);
	hp_index_free(ix);
	for (uint64_t i = 0; i < len; i += HP_MEMBER_ROW)
		hp_put64(p + i, 1);
	image_repair(im.p, im.n);
	n = 0;
	assert_int_equal(hp_index_open(im.p, im.n, name, &ix, &err), 0);
	assert_int_equal(hp_index_check(ix, count, &n, &err), HPDSL_ECORRUPT);
	assert_in_range(n, 100, 102);
	hp_index_free(ix);
	free(im.p);
	corpus_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_bit),
		cmocka_unit_test(test_first_touch),
		cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_mutants),
		cmocka_unit_test(test_forgeries),
		cmocka_unit_test(test_rich_forgeries),
		cmocka_unit_test(test_rich_table),
		cmocka_unit_test(test_stored_not_unique),
		cmocka_unit_test(test_foreign_names),
		cmocka_unit_test(test_foreign_paths),
		cmocka_unit_test(test_foreign_offsets),
		cmocka_unit_test(test_foreign_frames),
		cmocka_unit_test(test_chunk_of_exabytes),
		cmocka_unit_test(test_lookup_edits),
		cmocka_unit_test(test_full_lookup),
		cmocka_unit_test(test_equal_paths),
		cmocka_unit_test(test_ungrouped),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
