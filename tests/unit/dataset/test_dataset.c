/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a dataset and reading from its chunks, over files in memory. */
#include "hpdsl.h"
#include "make_index.h"
#include "memio.h"
#include "each_fault.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>

#include <sys/resource.h>

#include <cmocka.h>

struct fixture {
	struct memio *m;
	const struct hp_io *io;
	struct corpus c;
};

/* Byte k of member i. */
static uint8_t content(uint64_t i, uint64_t k)
{
	return (uint8_t)(i * 7 + k * 13 + (k >> 8));
}

/* Gives the chunk its bytes; headers stay zero, reading skips them. */
static void add_chunk(struct fixture *f, uint32_t chunk, uint64_t first,
		      uint64_t end)
{
	size_t size = (size_t)f->c.chunks[chunk].bytes;
	uint8_t *p = calloc(1, size);
	char path[MADE_PATH + 8];

	assert_non_null(p);
	for (uint64_t i = first; i < end; i++) {
		struct hp_index_member *m = &f->c.members[i];

		for (uint64_t k = 0; k < m->size; k++)
			p[m->offset + k] = content(i, k);
		m->checksum = hp_hash64(p + m->offset, m->size);
	}
	hp_hash128(p, size, f->c.chunks[chunk].checksum);
	snprintf(path, sizeof path, "out/%s", f->c.chunks[chunk].name);
	memio_add(f->m, path, p, size);
	free(p);
}

static void image_of(struct fixture *f)
{
	struct hpdsl_error err = { 0 };
	struct image im;

	if (image_write(&f->c, &im, &err) < 0)
		fail_msg("%s", err.msg);
	memio_add(f->m, "out/index.hpdsl", im.p, im.n);
	free(im.p);
}

/* large: the first member has this many bytes. */
static void set_up(struct fixture *f, uint64_t samples, uint32_t chunks,
		   uint64_t large)
{
	f->m = memio_new();
	f->io = memio_io(f->m);
	corpus_make(&f->c, samples, chunks, 2, 0);
	f->c.src.bytes += large;
	f->c.members[0].size += large;
	corpus_place(&f->c);
	for (uint32_t i = 0; i < chunks; i++)
		add_chunk(f, i, f->c.chunks[i].first_member,
			  i + 1 < chunks ? f->c.chunks[i + 1].first_member :
					   f->c.src.members);
	image_of(f);
	/* Nobody looks into it, but it has to be there. */
	memio_add(f->m, "out/dataset.yaml", "", 0);
}

static struct hpdsl_dataset *open_it(struct fixture *f)
{
	struct hpdsl_error err = { 0 };
	struct hpdsl_dataset *ds = NULL;

	if (hpdsl_open("out/", f->io, &ds, &err) < 0)
		fail_msg("%s", err.msg);
	return ds;
}

static void tear_down(struct fixture *f, struct hpdsl_dataset *ds)
{
	hpdsl_close(ds);
	memio_free(f->m);
	corpus_free(&f->c);
}

/* ---- Opening ---------------------------------------------------------- */

static void expect_open(struct fixture *f, int want, const char *msg)
{
	struct hpdsl_error err = { 0 };
	struct hpdsl_dataset *ds = NULL;

	assert_int_equal(hpdsl_open("out", f->io, &ds, &err), want);
	assert_int_equal(err.code, want);
	assert_string_equal(err.msg, msg);
	assert_null(ds);
	assert_int_equal(memio_open_count(f->m), 0);
}

static void test_open_fails(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f, 5, 2, 0);
	memio_resize(f.m, "out/index.hpdsl", 0);
	expect_open(&f, HPDSL_ECORRUPT, "out/index.hpdsl: is empty");
	memio_resize(f.m, "out/index.hpdsl", 4);
	expect_open(&f, HPDSL_ENOTOURS, "out/index.hpdsl: not an HPDSL index");
	memio_add(f.m, "out/index.hpdsl", HP_INDEX_MAGIC, 8);
	expect_open(&f, HPDSL_ECORRUPT,
		    "out/index.hpdsl: header: the file is too short");
	memio_remove(f.m, "out/dataset.yaml");
	image_of(&f);
	expect_open(&f, HPDSL_ENOTOURS,
		    "out: not a dataset: dataset.yaml is missing");
	memio_add(f.m, "out/dataset.yaml", "", 0);
	memio_remove(f.m, "out/index.hpdsl");
	expect_open(&f, HPDSL_ENOTOURS,
		    "out: not a dataset: index.hpdsl is missing");
	memio_add(f.m, "out/journal.hpdsl", "", 0);
	expect_open(&f, HPDSL_ENOTOURS, "out: an unfinished pack");
	memio_add(f.m, "out/index.hpdsl/x", "", 0);
	expect_open(&f, HPDSL_ECORRUPT, "out/index.hpdsl: not a regular file");
	memio_free(f.m);
	f.m = memio_new();
	f.io = memio_io(f.m);
	expect_open(&f, -ENOENT, "out: No such file or directory");
	memio_add(f.m, "out", "", 0);
	expect_open(&f, -ENOTDIR, "out: Not a directory; a dataset is one");
	tear_down(&f, NULL);
}

static void read_all(const struct fixture *f, const struct hpdsl_dataset *ds)
{
	static uint8_t buf[1 << 22];

	for (uint64_t i = 0; i < f->c.src.members; i++) {
		struct hpdsl_error err = { 0 };
		struct hpdsl_member m;

		assert_int_equal(hpdsl_member_find(ds, f->c.members[i].path,
						   f->c.members[i].path_len, &m,
						   &err),
				 0);
		assert_int_equal(m.number, i);
		assert_int_equal(hpdsl_member_get(ds, i, &m, &err), 0);
		if (hpdsl_member_read(ds, &m, 0, buf, m.size, &err) < 0)
			fail_msg("%s", err.msg);
		for (uint64_t k = 0; k < m.size; k++)
			if (buf[k] != content(i, k))
				fail_msg("member %d byte %d", (int)i, (int)k);
	}
}

/* Mapped, read where that cannot be, an error without memory. */
static void test_map(void **state)
{
	struct hpdsl_dataset *ds = NULL;
	struct hpdsl_counts n;
	struct fixture f;

	(void)state;
	set_up(&f, 20, 3, 0);
	ds = open_it(&f);
	/* The directory and the index. */
	assert_int_equal(memio_open_count(f.m), 2);
	read_all(&f, ds);
	assert_int_equal(memio_open_count(f.m), 5);
	hpdsl_close(ds);
	assert_int_equal(memio_open_count(f.m), 0);

	memio_set_map(f.m, -ENODEV);
	ds = open_it(&f);
	read_all(&f, ds);
	hpdsl_count(ds, &n);
	assert_int_equal(n.samples, 20);
	hpdsl_close(ds);

	memio_set_map(f.m, -ENOMEM);
	expect_open(&f, -ENOMEM, "out/index.hpdsl: Cannot allocate memory");
	tear_down(&f, NULL);
}

static void test_allocations_fail(void **state)
{
	struct hpdsl_error err;
	struct hpdsl_dataset *ds;
	struct fixture f;
	struct each_alloc e = { .k = 0 };
	int r = -ENOMEM;

	(void)state;
	set_up(&f, 5, 2, 0);
	memio_set_map(f.m, -ENODEV);
	while (r && each_alloc(&e)) {
		each_alloc_begin(&e);
		r = hpdsl_open("out", f.io, &ds, &err);
		each_alloc_end(&e);
		assert_true(r == 0 || r == -ENOMEM);
		assert_true(r == 0 || memio_open_count(f.m) == 0);
	}
	assert_int_equal(r, 0);
	assert_true(e.k > 4);
	tear_down(&f, ds);
}

/* ---- Reading ---------------------------------------------------------- */

static void test_ranges(void **state)
{
	struct hpdsl_member m;
	struct hpdsl_error err;
	struct hpdsl_dataset *ds;
	struct fixture f;
	uint8_t buf[3000];

	(void)state;
	set_up(&f, 5, 2, 2000);
	ds = open_it(&f);
	assert_int_equal(hpdsl_member_get(ds, 0, &m, &err), 0);
	assert_int_equal(m.size, 2000);
	for (uint64_t off = 0; off <= 2000; off += 250) {
		assert_int_equal(
			hpdsl_member_read(ds, &m, off, buf, 2000 - off, &err),
			0);
		for (uint64_t k = off; k < 2000; k++)
			assert_int_equal(buf[k - off], content(0, k));
		assert_int_equal(
			hpdsl_member_read(ds, &m, off, buf, 2001 - off, &err),
			-ERANGE);
	}
	assert_int_equal(hpdsl_member_read(ds, &m, 2001, buf, 0, &err),
			 -ERANGE);
	assert_int_equal(hpdsl_member_read(ds, &m, UINT64_MAX, buf, 2, &err),
			 -ERANGE);
	/* A struct that was made up reads nothing outside of the chunk. */
	m.size = UINT64_MAX;
	assert_int_equal(
		hpdsl_member_read(ds, &m, UINT64_MAX - 100, buf, 50, &err),
		HPDSL_ECORRUPT);
	m.chunk = 2;
	assert_int_equal(hpdsl_member_read(ds, &m, 0, buf, 50, &err), -ERANGE);
	tear_down(&f, ds);
}

struct taken {
	uint64_t bytes;
	int pieces, stop_at;
	bool wrong;
};

static int take(void *arg, const void *buf, size_t n, struct hpdsl_error *err)
{
	struct taken *t = arg;
	const uint8_t *p = buf;

	for (size_t k = 0; k < n; k++)
		t->wrong |= p[k] != content(0, t->bytes + k);
	t->bytes += n;
	if (++t->pieces != t->stop_at)
		return 0;
	strcpy(err->msg, "enough");
	return 77;
}

static void test_stream(void **state)
{
	struct hpdsl_member m;
	struct hpdsl_error err;
	struct hpdsl_dataset *ds;
	struct taken t = { 0 };
	struct fixture f;

	(void)state;
	set_up(&f, 5, 2, 3500000);
	ds = open_it(&f);
	assert_int_equal(hpdsl_member_get(ds, 0, &m, &err), 0);
	assert_int_equal(hpdsl_member_stream(ds, &m, take, &t, &err), 0);
	assert_int_equal(t.bytes, 3500000);
	assert_int_equal(t.pieces, 4);
	assert_false(t.wrong);
	t = (struct taken){ .stop_at = 2 };
	assert_int_equal(hpdsl_member_stream(ds, &m, take, &t, &err), 77);
	assert_string_equal(err.msg, "enough");
	assert_int_equal(t.pieces, 2);
	/* The last byte is bad: all of it is handed on, then it is told. */
	memio_flip(f.m, "out/chunk-000000.tar", (m.offset + m.size) * 8 - 1);
	t = (struct taken){ 0 };
	assert_int_equal(hpdsl_member_stream(ds, &m, take, &t, &err),
			 HPDSL_ECORRUPT);
	assert_int_equal(t.bytes, 3500000);
	assert_string_equal(err.msg, "out/chunk-000000.tar: member 0 "
				     "'in/s000000.m0': checksum differs");
	tear_down(&f, ds);
}

static void test_sample(void **state)
{
	struct hpdsl_sample s;
	struct hpdsl_error err;
	struct hpdsl_dataset *ds;
	struct fixture f;
	uint8_t buf[5000];
	size_t bytes = 0;
	uint64_t at = 0;

	(void)state;
	set_up(&f, 9, 2, 0);
	ds = open_it(&f);
	assert_int_equal(hpdsl_sample_get(ds, 8, &s, &err), 0);
	assert_int_equal(s.members, 3);
	assert_int_equal(hpdsl_sample_read(ds, &s, buf, 10, &bytes, &err),
			 -ENOSPC);
	assert_int_equal(
		hpdsl_sample_read(ds, &s, buf, bytes - 1, &bytes, &err),
		-ENOSPC);
	assert_int_equal(hpdsl_sample_read(ds, &s, buf, bytes, &bytes, &err),
			 0);
	for (uint64_t i = s.first_member; i < s.first_member + 3; i++)
		for (uint64_t k = 0; k < f.c.members[i].size; k++)
			assert_int_equal(buf[at++], content(i, k));
	assert_int_equal(at, bytes);
	tear_down(&f, ds);
}

/* The same labels as one by one, whatever the stretch. */
static void test_labels(void **state)
{
	struct hpdsl_sample s;
	struct hpdsl_error err;
	struct hpdsl_dataset *ds;
	struct fixture f;
	uint32_t labels[9];

	(void)state;
	set_up(&f, 9, 2, 0);
	ds = open_it(&f);
	for (uint64_t first = 0; first <= 9; first++)
		for (uint64_t n = 0; n <= 9 - first; n++) {
			memset(labels, 0x77, sizeof labels);
			assert_int_equal(
				hpdsl_sample_labels(ds, first, n, labels, &err),
				0);
			for (uint64_t i = 0; i < n; i++) {
				assert_int_equal(hpdsl_sample_get(ds, first + i,
								  &s, &err),
						 0);
				assert_int_equal(labels[i], s.label);
			}
			assert_true(n == 9 || labels[n] == 0x77777777);
		}
	assert_int_equal(hpdsl_sample_labels(ds, 0, 10, labels, &err), -ERANGE);
	assert_non_null(strstr(err.msg, "no samples 0 to 9, there are 9"));
	assert_int_equal(hpdsl_sample_labels(ds, 10, 0, labels, &err), -ERANGE);
	assert_int_equal(hpdsl_sample_labels(ds, 1, UINT64_MAX, labels, &err),
			 -ERANGE);
	tear_down(&f, ds);
}

/* ---- Damaged chunks --------------------------------------------------- */

/* Each bit of a content is missed by no way of reading the whole of it. */
static void test_every_bit(void **state)
{
	struct hpdsl_member m;
	struct hpdsl_error err;
	struct hpdsl_dataset *ds;
	struct fixture f;
	uint8_t buf[300];

	(void)state;
	set_up(&f, 3, 1, 300);
	ds = open_it(&f);
	assert_int_equal(hpdsl_member_get(ds, 0, &m, &err), 0);
	for (uint64_t bit = m.offset * 8; bit < (m.offset + m.size) * 8;
	     bit++) {
		memio_flip(f.m, "out/chunk-000000.tar", bit);
		assert_int_equal(
			hpdsl_member_read(ds, &m, 0, buf, m.size, &err),
			HPDSL_ECORRUPT);
		assert_int_equal(
			hpdsl_member_read(ds, &m, 1, buf, m.size - 1, &err), 0);
		memio_flip(f.m, "out/chunk-000000.tar", bit);
	}
	tear_down(&f, ds);
}

static void expect_absent(const struct hpdsl_dataset *ds, const char *path,
			  const char *msg)
{
	struct hpdsl_rows *rows = NULL;
	struct hpdsl_member m;
	struct hpdsl_error err;

	assert_int_equal(hpdsl_member_find(ds, path, strlen(path), &m, &err),
			 -ENOENT);
	assert_string_equal(err.msg, msg);
	assert_int_equal(hpdsl_path_rows(ds, path, strlen(path), &rows, &err),
			 -ENOENT);
	assert_string_equal(err.msg, msg);
	assert_int_equal(hpdsl_member_find(ds, path, strlen(path), &m, NULL),
			 -ENOENT);
}

/* What is asked for and not there is told with what is near to it. */
static void test_near(void **state)
{
	uint32_t label = 7;
	struct hpdsl_error err;
	struct hpdsl_dataset *ds;
	struct fixture f;

	(void)state;
	set_up(&f, 5, 2, 0);
	ds = open_it(&f);
	expect_absent(ds, "packed/in/s000000.m0",
		      "no member 'packed/in/s000000.m0'; there is "
		      "'in/s000000.m0'");
	expect_absent(ds, "S000001.m2",
		      "no member 'S000001.m2'; there are 's000001.m0', "
		      "'s000001.m1', 's000003.m0' and others");
	expect_absent(ds, "",
		      "no member ''; there are 's000001.m0', 's000001.m1', "
		      "'s000003.m0' and others");
	assert_int_equal(hpdsl_class_find(ds, "class 1", &label, &err), 0);
	assert_int_equal(label, 1);
	assert_int_equal(hpdsl_class_find(ds, "clss 1", &label, &err), -ENOENT);
	assert_string_equal(err.msg, "no class 'clss 1'; there are 'class 0', "
				     "'class 1'");
	assert_int_equal(hpdsl_class_find(ds, "class", &label, NULL), -ENOENT);
	assert_int_equal(label, 1);
	tear_down(&f, ds);
}

static void expect_read(struct fixture *f, int want, const char *msg)
{
	struct hpdsl_dataset *ds = open_it(f);
	struct hpdsl_member m;
	struct hpdsl_error err;
	uint8_t buf[2000];

	assert_int_equal(hpdsl_member_get(ds, 1, &m, &err), 0);
	assert_int_equal(hpdsl_member_read(ds, &m, 0, buf, m.size, &err), want);
	assert_string_equal(err.msg, msg);
	hpdsl_close(ds);
	assert_int_equal(memio_open_count(f->m), 0);
}

static void test_chunk_fails(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f, 5, 2, 0);
	memio_resize(f.m, "out/chunk-000000.tar", 600);
	expect_read(&f, HPDSL_ECORRUPT,
		    "out/chunk-000000.tar: member 1 's000001.m0': "
		    "the chunk ends in it");
	memio_resize(f.m, "out/chunk-000000.tar", 10240);
	expect_read(&f, HPDSL_ECORRUPT,
		    "out/chunk-000000.tar: member 1 's000001.m0': "
		    "checksum differs");
	memio_remove(f.m, "out/chunk-000000.tar");
	expect_read(&f, -ENOENT,
		    "out/chunk-000000.tar: No such file or directory");
	tear_down(&f, NULL);
}

/* A chunk that is cut while it is open. */
static void test_cut_while_open(void **state)
{
	struct hpdsl_member m;
	struct hpdsl_error err;
	struct hpdsl_dataset *ds;
	struct fixture f;
	uint8_t buf[2000];

	(void)state;
	set_up(&f, 5, 2, 0);
	ds = open_it(&f);
	assert_int_equal(hpdsl_member_get(ds, 1, &m, &err), 0);
	assert_int_equal(hpdsl_member_read(ds, &m, 0, buf, m.size, &err), 0);
	memio_resize(f.m, "out/chunk-000000.tar", m.offset + 1);
	assert_int_equal(hpdsl_member_read(ds, &m, 0, buf, m.size, &err),
			 HPDSL_ECORRUPT);
	assert_string_equal(err.msg, "out/chunk-000000.tar: member 1 "
				     "'s000001.m0': the chunk ends in it");
	tear_down(&f, ds);
}

/* ---- Descriptors ------------------------------------------------------ */

/* Then a dataset keeps an eighth: 256. */
static void limit_files(void)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = 2048;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* More chunks than descriptors are kept for. */
static void test_many_chunks(void **state)
{
	struct hpdsl_dataset *ds;
	struct fixture f;

	(void)state;
	limit_files();
	set_up(&f, 600, 300, 0);
	ds = open_it(&f);
	read_all(&f, ds);
	assert_int_equal(memio_open_count(f.m), 258);
	read_all(&f, ds);
	assert_int_equal(memio_open_count(f.m), 258);
	tear_down(&f, ds);
}

struct reader {
	const struct fixture *f;
	const struct hpdsl_dataset *ds;
	uint64_t seed;
	unsigned wrong;
};

static void *read_random(void *arg)
{
	struct reader *r = arg;
	uint8_t buf[2000];

	for (int n = 0; n < 4000; n++) {
		struct hpdsl_member m;
		uint64_t i;

		r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
		i = (r->seed >> 33) % r->f->c.src.members;
		if (hpdsl_member_get(r->ds, i, &m, NULL) ||
		    hpdsl_member_read(r->ds, &m, 0, buf, m.size, NULL) ||
		    (m.size && buf[m.size - 1] != content(i, m.size - 1)))
			r->wrong++;
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct reader r[4];
	pthread_t t[4];
	struct hpdsl_dataset *ds;
	struct fixture f;

	(void)state;
	limit_files();
	set_up(&f, 900, 300, 0);
	ds = open_it(&f);
	for (int i = 0; i < 4; i++) {
		r[i] = (struct reader){ &f, ds, (uint64_t)i, 0 };
		assert_int_equal(
			pthread_create(&t[i], NULL, read_random, &r[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(t[i], NULL);
		assert_int_equal(r[i].wrong, 0);
	}
	assert_true(memio_open_count(f.m) <= 258);
	tear_down(&f, ds);
}

static void test_version(void **state)
{
	(void)state;
	assert_string_equal(hpdsl_version(), HPDSL_VERSION);
	hpdsl_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open_fails),
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_allocations_fail),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_stream),
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_near),
		cmocka_unit_test(test_every_bit),
		cmocka_unit_test(test_chunk_fails),
		cmocka_unit_test(test_cut_while_open),
		cmocka_unit_test(test_many_chunks),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
