/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed chunks: members and samples read from them, and verifying. */
#include "each_fault.h"
#include "format/names.h"
#include "make_index.h"
#include "memdir.h"
#include "packed.h"
#include "zst.h"

#include "base/hash.h"
#include "dataset/dataset.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct packed packed;

static int begin(void **state)
{
	(void)state;
	packed_begin(&packed);
	zst_frame_max = 1u << 30;
	return 0;
}

static int end(void **state)
{
	(void)state;
	packed_end(&packed);
	return 0;
}

/* A file of text, which compresses well. */
static void text_file(const char *path, size_t size)
{
	char name[PACKED_PATH], *data = malloc(size + 32);

	packed_file(&packed, path, 0, 0644, 1000, 0);
	for (size_t i = 0; i < size;)
		i += (size_t)sprintf(data + i, "line %zu of it\n", i * i % 997);
	snprintf(name, sizeof name, "%s/%s", packed.tree, path);
	packed_put(name, data, size);
	free(data);
}

/* Small samples, some of 200 KiB in three members, two of many MiB. */
static void make_tree(void)
{
	char name[64];

	for (int i = 0; i < 120; i++) {
		snprintf(name, sizeof name, "s/%03d.a", i);
		packed_file(&packed, name, (size_t)i * 40, 0644, i, 0);
		snprintf(name, sizeof name, "s/%03d.b", i);
		text_file(name, (size_t)i * 100);
	}
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 3; k++) {
			snprintf(name, sizeof name, "m/%d.%d", i, k);
			text_file(name, 70000);
		}
	}
	packed_file(&packed, "l/random.bin", 9000000, 0644, 1, 1);
	packed_file(&packed, "l/random.txt", 300, 0644, 1, 1);
	text_file("l/text.bin", 7000001);
	text_file("l/text.txt", 9);
}

static void pack(uint64_t chunks)
{
	packed_pack(&packed, (struct hpdsl_pack_options){ .chunks = chunks });
	zst_dataset(packed.out, UINT64_MAX);
}

static struct hpdsl_dataset *open_at(const struct hp_io *io)
{
	struct hpdsl_error err;
	struct hpdsl_dataset *ds = NULL;

	/* Its reads are those of chunks. */
	if (hpdsl_open_with(packed.out, HPDSL_OPEN_COPY, io, &ds, &err) < 0)
		fail_msg("%s", err.msg);
	return ds;
}

static const char *chunk(uint32_t number)
{
	char name[64];

	snprintf(name, sizeof name, "out/chunk-%06u.tar.zst", number);
	return packed_at(&packed, name);
}

/* ---- File operations that are counted --------------------------------- */

static struct counting {
	struct hp_io io;
	uint64_t reads, bytes;
} counting;

static ssize_t counted_pread(const struct hp_io *io, int fd, void *buf,
			     size_t n, uint64_t off)
{
	ssize_t k = hp_io_system.pread(&hp_io_system, fd, buf, n, off);

	(void)io;
	counting.reads++;
	counting.bytes += k > 0 ? (uint64_t)k : 0;
	return k;
}

static const struct hp_io *count_from_now(void)
{
	counting = (struct counting){ .io = hp_io_system };
	counting.io.pread = counted_pread;
	return &counting.io;
}

/* ---- Contents --------------------------------------------------------- */

static char *original(const struct hpdsl_member *m)
{
	char name[PACKED_PATH];
	size_t n;
	char *data;

	snprintf(name, sizeof name, "%s/%s", packed.tree, m->path);
	data = packed_get(name, &n);
	assert_int_equal(n, m->size);
	return data;
}

struct taken {
	const char *want;
	uint64_t at;
	bool wrong;
};

static int take(void *arg, const void *buf, size_t n, struct hpdsl_error *err)
{
	struct taken *t = arg;

	(void)err;
	t->wrong |= memcmp(t->want + t->at, buf, n) != 0;
	t->at += n;
	return 0;
}

static void check_member(struct hpdsl_dataset *ds, uint64_t number)
{
	struct hpdsl_member m;
	struct hpdsl_error err;
	struct taken t = { 0 };
	char *want, *buf;

	assert_int_equal(hpdsl_member_get(ds, number, &m, NULL), 0);
	want = original(&m);
	buf = malloc(m.size + 1);
	if (hpdsl_member_read(ds, &m, 0, buf, m.size, &err) < 0)
		fail_msg("%s", err.msg);
	assert_memory_equal(buf, want, m.size);
	/* Parts of it, also backwards. */
	for (uint64_t k = 3; k > 0; k--) {
		uint64_t from = m.size / 3 * (k - 1), n = m.size / 5;

		assert_int_equal(hpdsl_member_read(ds, &m, from, buf, n, &err),
				 0);
		assert_memory_equal(buf, want + from, n);
	}
	t.want = want;
	assert_int_equal(hpdsl_member_stream(ds, &m, take, &t, &err), 0);
	assert_int_equal(t.at, m.size);
	assert_false(t.wrong);
	free(want);
	free(buf);
}

static void check_sample(struct hpdsl_dataset *ds, uint64_t number)
{
	struct hpdsl_sample s;
	struct hpdsl_error err;
	struct hpdsl_member m;
	size_t cap = 17 << 20, n, at = 0;
	char *buf = malloc(cap);

	assert_int_equal(hpdsl_sample_get(ds, number, &s, NULL), 0);
	if (hpdsl_sample_read(ds, &s, buf, cap, &n, &err) < 0)
		fail_msg("%s", err.msg);
	for (uint64_t i = 0; i < s.members; i++) {
		char *want;

		assert_int_equal(
			hpdsl_member_get(ds, s.first_member + i, &m, NULL), 0);
		want = original(&m);
		assert_memory_equal(buf + at, want, m.size);
		at += m.size;
		free(want);
	}
	assert_int_equal(at, n);
	free(buf);
}

static void check_contents(void)
{
	struct hpdsl_dataset *ds = open_at(NULL);
	struct hpdsl_counts n;

	hpdsl_count(ds, &n);
	for (uint64_t i = 0; i < n.members; i++)
		check_member(ds, i * 7919 % n.members);
	for (uint64_t i = 0; i < n.samples; i++)
		check_sample(ds, i * 104729 % n.samples);
	hpdsl_close(ds);
}

static void test_contents(void **state)
{
	(void)state;
	make_tree();
	pack(2);
	check_contents();
}

/* A large sample in several frames, members across their ends. */
static void test_cut_samples(void **state)
{
	(void)state;
	make_tree();
	zst_frame_max = 150000;
	pack(1);
	check_contents();
	zst_frame_max = 5 << 20;
	packed_pack(&packed,
		    (struct hpdsl_pack_options){ .chunks = 1, .force = true });
	zst_dataset(packed.out, UINT64_MAX);
	check_contents();
}

/* Some chunks compressed, others not. */
static void test_mixed(void **state)
{
	struct hpdsl_verify_options opt = { .source = packed.tree };
	struct hpdsl_verify_report report;
	struct hpdsl_error err;

	(void)state;
	make_tree();
	packed_pack(&packed, (struct hpdsl_pack_options){ .chunks = 5 });
	zst_dataset(packed.out, 0x0a);
	check_contents();
	if (hpdsl_verify(packed.out, &opt, &report, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(report.chunks, 5);
}

/* ---- What it costs ---------------------------------------------------- */

/* The frame that holds a sample of one frame. */
static struct hp_frame frame_of(struct hpdsl_dataset *ds, uint64_t sample)
{
	struct hpdsl_sample s;
	struct hpdsl_member m;
	struct hpdsl_chunk c;
	struct hp_frame f;
	uint32_t number;

	assert_int_equal(hpdsl_sample_get(ds, sample, &s, NULL), 0);
	assert_int_equal(hpdsl_member_get(ds, s.first_member, &m, NULL), 0);
	assert_int_equal(hpdsl_chunk_get(ds, m.chunk, &c, NULL), 0);
	assert_int_equal(
		hp_index_frame_find(ds->index, &c, m.offset, &number, NULL), 0);
	assert_int_equal(hp_index_frame(ds->index, &c, number, &f, NULL), 0);
	return f;
}

/* One read of just that frame; what else lies in it costs nothing. */
static void test_sample_costs_a_frame(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_counts n;
	char *buf = malloc(17 << 20);

	(void)state;
	make_tree();
	pack(2);
	ds = open_at(NULL);
	hpdsl_count(ds, &n);
	hpdsl_close(ds);
	for (uint64_t i = 0; i < n.samples; i++) {
		struct hpdsl_sample s;
		struct hp_frame f;
		size_t bytes;

		ds = open_at(count_from_now());
		f = frame_of(ds, i);
		assert_int_equal(hpdsl_sample_get(ds, i, &s, NULL), 0);
		counting.reads = counting.bytes = 0;
		assert_int_equal(
			hpdsl_sample_read(ds, &s, buf, 17 << 20, &bytes, NULL),
			0);
		assert_int_equal(counting.bytes,
				 bytes ? f.stored_end - f.stored : 0);
		if (bytes && f.plain_end - f.plain <= 4 << 20)
			assert_int_equal(counting.reads, 1);
		for (uint64_t k = i; k < n.samples; k++) {
			struct hp_frame other = frame_of(ds, k);

			if (!bytes || other.stored != f.stored ||
			    bytes > 4 << 20)
				break;
			hpdsl_sample_get(ds, k, &s, NULL);
			hpdsl_sample_read(ds, &s, buf, 17 << 20, &bytes, NULL);
			assert_int_equal(counting.bytes,
					 f.stored_end - f.stored);
		}
		hpdsl_close(ds);
	}
	free(buf);
}

/* In stored order each frame is read once, the trailers' not at all. */
static void test_order_costs_each_frame_once(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_counts n;
	uint64_t stored = 0;
	char *buf = malloc(10 << 20);

	(void)state;
	make_tree();
	pack(2);
	ds = open_at(count_from_now());
	hpdsl_count(ds, &n);
	for (uint32_t c = 0; c < n.chunks; c++) {
		struct hpdsl_chunk row;
		struct hp_frame f;

		assert_int_equal(hpdsl_chunk_get(ds, c, &row, NULL), 0);
		hp_index_frame(ds->index, &row, row.frames - 1, &f, NULL);
		stored += f.stored;
	}
	counting.bytes = 0;
	for (uint64_t i = 0; i < n.members; i++) {
		struct hpdsl_member m;

		hpdsl_member_get(ds, i, &m, NULL);
		assert_int_equal(
			hpdsl_member_read(ds, &m, 0, buf, m.size, NULL), 0);
	}
	assert_true(counting.bytes <= stored);
	assert_true(counting.bytes > stored - 1000);
	hpdsl_close(ds);
	free(buf);
}

struct reader {
	struct hpdsl_dataset *ds;
	uint64_t seed, members;
	int wrong;
};

static void *read_random(void *arg)
{
	struct reader *r = arg;
	char *buf = malloc(10 << 20);

	for (int i = 0; i < 300; i++) {
		struct hpdsl_member m;

		r->seed = r->seed * 6364136223846793005u + 1442695040888963407u;
		if (hpdsl_member_get(r->ds, (r->seed >> 33) % r->members, &m,
				     NULL) ||
		    hpdsl_member_read(r->ds, &m, 0, buf, m.size, NULL))
			r->wrong++;
	}
	free(buf);
	return NULL;
}

/* Each member has its checksum: what another thread decodes does no harm. */
static void test_threads(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_counts n;
	struct reader r[12];
	pthread_t t[12];

	(void)state;
	make_tree();
	pack(3);
	ds = open_at(NULL);
	hpdsl_count(ds, &n);
	for (int i = 0; i < 12; i++) {
		r[i] = (struct reader){ ds, (uint64_t)i, n.members, 0 };
		pthread_create(&t[i], NULL, read_random, &r[i]);
	}
	for (int i = 0; i < 12; i++) {
		pthread_join(t[i], NULL);
		assert_int_equal(r[i].wrong, 0);
	}
	hpdsl_close(ds);
}

/* ---- Damage, as a reader meets it ------------------------------------- */

static void small_tree(void)
{
	for (int i = 0; i < 4; i++) {
		char name[16];

		snprintf(name, sizeof name, "%d.a", i);
		packed_file(&packed, name, (size_t)(20 + i), 0644, i, 0);
		snprintf(name, sizeof name, "%d.b", i);
		text_file(name, (size_t)(90 * i));
	}
}

/*
 * Each bit of the frames: the members of that frame cannot be read, or are
 * what they were (zstd has a bit that means nothing); never other bytes.
 */
static void test_read_every_bit(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_member m;
	struct hpdsl_error err;
	struct memdir mem;
	struct memdir_file *f;
	char buf[1000];
	unsigned bad = 0, good = 0;

	(void)state;
	small_tree();
	pack(1);
	memdir_load(&mem, packed.out);
	f = memdir_find(&mem, "chunk-000000.tar.zst");
	for (uint64_t bit = 0; bit < 8 * f->size; bit++) {
		f->data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(hpdsl_open(MEMDIR_NAME, &mem.io, &ds, NULL),
				 0);
		assert_int_equal(hpdsl_member_get(ds, 5, &m, NULL), 0);
		memset(&err, 0, sizeof err);
		if (hpdsl_member_read(ds, &m, 0, buf, m.size, &err)) {
			assert_int_equal(err.code, HPDSL_ECORRUPT);
			assert_non_null(strstr(err.msg, MEMDIR_NAME
					       "/chunk-000000.tar.zst: "
					       "member 5 '"));
			bad++;
		} else {
			assert_int_equal(hp_hash64(buf, m.size), m.checksum);
			good++;
		}
		hpdsl_close(ds);
		f->data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	/* The first frame is most of the file; table and trailer are not
	 * looked at. */
	assert_true(bad > 8 * 300);
	assert_true(good < 8 * 150);
	memdir_free(&mem);
}

static void test_read_cut(void **state)
{
	struct hpdsl_dataset *ds;
	struct hpdsl_error err;
	struct hpdsl_member m;
	struct hp_frame f;
	char *buf = malloc(10 << 20);

	(void)state;
	make_tree();
	pack(1);
	ds = open_at(NULL);
	hpdsl_member_find(ds, "l/random.bin", 12, &m, NULL);
	f = frame_of(ds, m.sample);
	hpdsl_close(ds);
	assert_int_equal(truncate(chunk(0), (off_t)f.stored_end - 5), 0);
	ds = open_at(NULL);
	assert_int_equal(hpdsl_member_read(ds, &m, 0, buf, m.size, &err), 0);
	hpdsl_member_find(ds, "l/random.txt", 12, &m, NULL);
	assert_int_equal(hpdsl_member_read(ds, &m, 0, buf, m.size, &err),
			 HPDSL_ECORRUPT);
	hpdsl_close(ds);
	assert_int_equal(truncate(chunk(0), (off_t)f.stored + 500000), 0);
	ds = open_at(NULL);
	hpdsl_member_find(ds, "l/random.bin", 12, &m, NULL);
	assert_int_equal(hpdsl_member_read(ds, &m, 0, buf, m.size, &err),
			 HPDSL_ECORRUPT);
	assert_non_null(strstr(err.msg, "the chunk ends in it"));
	/* What lies before it is there. */
	assert_int_equal(hpdsl_member_read(ds, &m, 0, buf, 100000, &err), 0);
	hpdsl_close(ds);
	free(buf);
}

/* ---- Verifying -------------------------------------------------------- */

struct told {
	char text[65536];
	size_t n;
	uint64_t samples;
};

static void on_damage(void *arg, const struct hpdsl_damage *d)
{
	struct told *t = arg;

	if (d->sample != UINT64_MAX)
		t->samples |= UINT64_C(1) << d->sample % 64;
	t->n += (size_t)snprintf(t->text + t->n, sizeof t->text - t->n,
				 "%s: %lld '%s': %s\n", d->file,
				 (long long)d->sample, d->path ? d->path : "",
				 d->reason);
	if (t->n > sizeof t->text - 2048)
		t->n = sizeof t->text - 2048;
}

static int look(const struct hp_io *io, bool quick, struct told *told,
		struct hpdsl_verify_report *report)
{
	struct hpdsl_verify_options opt = { .quick = quick,
					    .threads = HPDSL_SERIAL,
					    .damage = on_damage,
					    .arg = told };
	struct hpdsl_error err;

	opt.watch.io = io;
	told->n = 0;
	told->samples = 0;
	told->text[0] = '\0';
	memset(report, 0, sizeof *report);
	return hpdsl_verify(io ? MEMDIR_NAME : packed.out, &opt, report, &err);
}

/* Every bit of every file, and the report counts damage if there is some. */
static void test_verify_every_bit(void **state)
{
	struct hpdsl_verify_report report;
	struct told told;
	struct memdir mem;

	(void)state;
	small_tree();
	pack(2);
	memdir_load(&mem, packed.out);
	assert_int_equal(look(&mem.io, false, &told, &report), 0);
	assert_int_equal(look(&mem.io, true, &told, &report), 0);
	for (int i = 0; i < mem.n; i++) {
		struct memdir_file *f = &mem.files[i];

		for (uint64_t bit = 0; bit < 8 * f->size; bit++) {
			int r;

			f->data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			r = look(&mem.io, false, &told, &report);
			if (r == 0 || !told.n)
				fail_msg("%s: bit %llu: %d", f->name,
					 (unsigned long long)bit, r);
			if (hp_chunk_number(f->name) >= 0)
				assert_int_equal(report.damaged_chunks, 1);
			f->data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
	}
	assert_int_equal(look(&mem.io, false, &told, &report), 0);
	memdir_free(&mem);
}

static void test_verify_every_length(void **state)
{
	struct hpdsl_verify_report report;
	struct memdir_file *f;
	struct memdir mem;
	struct hpdsl_dataset *ds;
	struct told told;
	size_t size, first;

	(void)state;
	small_tree();
	pack(1);
	ds = open_at(NULL);
	first = (size_t)frame_of(ds, 0).stored_end;
	hpdsl_close(ds);
	memdir_load(&mem, packed.out);
	f = memdir_find(&mem, "chunk-000000.tar.zst");
	size = f->size;
	for (f->size = 0; f->size < size; f->size++) {
		for (int quick = 0; quick < 2; quick++) {
			if (look(&mem.io, quick, &told, &report) !=
				    HPDSL_ECORRUPT ||
			    !strstr(told.text, " expected"))
				fail_msg("%zu bytes: %s", f->size, told.text);
			/* All four samples lie in the first frame. */
			if (quick || f->size < first)
				assert_non_null(strstr(
					told.text, "expected (samples 0-3)\n"));
		}
		/* Without an index too. */
		memdir_find(&mem, "index.hpdsl")->absent = true;
		assert_int_equal(look(&mem.io, false, &told, &report),
				 HPDSL_ECORRUPT);
		assert_int_equal(report.damaged_chunks, 1);
		for (int i = 0; i < mem.n; i++)
			mem.files[i].absent = false;
	}
	f->data = realloc(f->data, size + 1);
	f->data[size] = 0;
	f->size = size + 1;
	assert_int_equal(look(&mem.io, false, &told, &report), HPDSL_ECORRUPT);
	assert_non_null(strstr(told.text, "is longer than it should be"));
	assert_int_equal(look(&mem.io, true, &told, &report), HPDSL_ECORRUPT);
	memdir_free(&mem);
}

/* A flip in a frame is told for its samples and for no others. */
static void test_verify_names_samples(void **state)
{
	struct hpdsl_verify_report report;
	struct hpdsl_dataset *ds;
	struct hpdsl_counts n;
	struct hpdsl_chunk row;
	struct hp_frame f;
	struct told told;
	uint32_t frames;
	char name[64];

	(void)state;
	for (int i = 0; i < 60; i++) {
		snprintf(name, sizeof name, "%02d.a", i);
		packed_file(&packed, name, 20000, 0644, i, 0);
		snprintf(name, sizeof name, "%02d.b", i);
		packed_file(&packed, name, i % 8 ? 3000 : 150000, 0644, i, 0);
	}
	pack(1);
	ds = open_at(NULL);
	hpdsl_count(ds, &n);
	assert_int_equal(n.samples, 60);
	assert_int_equal(hpdsl_chunk_get(ds, 0, &row, NULL), 0);
	frames = row.frames;
	assert_true(frames > 10);
	for (uint32_t i = 0; i < frames; i++) {
		uint64_t want = 0;
		size_t count = 0;

		hp_index_frame(ds->index, &row, i, &f, NULL);
		for (uint64_t k = 0; k < n.members; k++) {
			struct hpdsl_member m;

			hpdsl_member_get(ds, k, &m, NULL);
			if (m.offset - 512 < f.plain_end &&
			    m.offset + m.size > f.plain)
				want |= UINT64_C(1) << m.sample;
		}
		packed_flip(chunk(0), (f.stored + f.stored_end) / 2, 2);
		assert_int_equal(look(NULL, false, &told, &report),
				 HPDSL_ECORRUPT);
		if (told.samples != want)
			fail_msg("frame %u: %llx, not %llx\n%s", i,
				 (unsigned long long)told.samples,
				 (unsigned long long)want, told.text);
		for (uint64_t w = want; w; w &= w - 1)
			count++;
		assert_int_equal(report.damaged_samples, count);
		assert_int_equal(report.damaged_chunks, 1);
		snprintf(name, sizeof name, ": frame %u: ", i);
		assert_non_null(strstr(told.text, name));
		packed_flip(chunk(0), (f.stored + f.stored_end) / 2, 2);
	}
	/* Two of them, and the table. */
	hp_index_frame(ds->index, &row, 1, &f, NULL);
	packed_flip(chunk(0), f.stored + 50, 0);
	hp_index_frame(ds->index, &row, frames - 2, &f, NULL);
	packed_flip(chunk(0), f.stored + 50, 0);
	packed_flip(chunk(0), row.bytes - 30, 0);
	assert_int_equal(look(NULL, false, &told, &report), HPDSL_ECORRUPT);
	assert_non_null(strstr(told.text, "frame 1: "));
	snprintf(name, sizeof name, "frame %u: ", frames - 2);
	assert_non_null(strstr(told.text, name));
	hpdsl_close(ds);
}

static void test_verify_table(void **state)
{
	struct hpdsl_verify_report report;
	struct hpdsl_dataset *ds;
	struct hpdsl_chunk row;
	struct told told;

	(void)state;
	small_tree();
	pack(1);
	ds = open_at(NULL);
	hpdsl_chunk_get(ds, 0, &row, NULL);
	packed_flip(chunk(0), row.bytes - 12, 0);
	hpdsl_close(ds);
	assert_int_equal(look(NULL, false, &told, &report), HPDSL_ECORRUPT);
	assert_string_equal(told.text, "chunk-000000.tar.zst: -1 '': the seek "
				       "table is damaged\n");
	assert_int_equal(report.damaged_samples, 0);
}

/* Without an index, by the manifest's two checksums. */
static void test_verify_without_index(void **state)
{
	struct hpdsl_verify_report report;
	struct told told;

	(void)state;
	make_tree();
	pack(2);
	unlink(packed_at(&packed, "out/index.hpdsl"));
	assert_int_equal(look(NULL, false, &told, &report), HPDSL_ECORRUPT);
	assert_int_equal(report.damaged_files, 1);
	assert_int_equal(report.damaged_chunks, 0);
	packed_flip(chunk(1), 50, 4);
	assert_int_equal(look(NULL, false, &told, &report), HPDSL_ECORRUPT);
	assert_int_equal(report.damaged_chunks, 1);
	assert_non_null(strstr(told.text, "chunk-000001.tar.zst: -1 '': frame "
					  "0: "));
}

static void test_allocations_fail(void **state)
{
	struct hpdsl_verify_report report;
	struct hpdsl_dataset *ds;
	struct hpdsl_sample s;
	struct told told;
	char buf[5000];
	size_t n;
	struct each_alloc looks = { .k = 0 }, reads = { .k = 0 };
	int r = -ENOMEM;

	(void)state;
	small_tree();
	pack(2);
	while (r && each_alloc(&looks)) {
		each_alloc_begin(&looks);
		r = look(NULL, false, &told, &report);
		each_alloc_end(&looks);
		assert_true(r == 0 || r == -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_true(looks.k > 10);
	for (r = -ENOMEM; r && each_alloc(&reads);) {
		struct hpdsl_error err;

		ds = open_at(NULL);
		hpdsl_sample_get(ds, 2, &s, NULL);
		each_alloc_begin(&reads);
		r = hpdsl_sample_read(ds, &s, buf, sizeof buf, &n, &err);
		each_alloc_end(&reads);
		assert_true(r == 0 || r == -ENOMEM);
		hpdsl_close(ds);
	}
	assert_int_equal(r, 0);
	assert_true(reads.k > 3);
}

/* Each file operation fails once: what is told is that, not damage or luck. */
static void test_reads_fail(void **state)
{
	struct hpdsl_reindex_report rebuilt;
	struct hpdsl_sample s;
	struct hpdsl_dataset *ds;
	struct hpdsl_error err;
	struct each_fault reads = { .code = -EACCES };
	struct each_fault makes = { .code = -EACCES };
	char buf[5000];
	size_t n;
	int r;

	(void)state;
	small_tree();
	pack(2);
	while (each_fault(&reads)) {
		r = hpdsl_open(packed.out, &reads.f.io, &ds, &err);
		if (r == 0) {
			hpdsl_sample_get(ds, 2, &s, NULL);
			r = hpdsl_sample_read(ds, &s, buf, sizeof buf, &n,
					      &err);
			hpdsl_close(ds);
		}
		assert_true(r == 0 || r == -EACCES);
		assert_true(r == 0 || strstr(err.msg, "Permission denied"));
	}
	assert_true(reads.k > 6);
	while (each_fault(&makes)) {
		struct hpdsl_reindex_options opt = { .threads = HPDSL_SERIAL };

		opt.watch.io = &makes.f.io;
		r = hpdsl_reindex(packed.out, &opt, &rebuilt, &err);
		assert_true(r == 0 || r == -EACCES);
	}
	assert_true(makes.k > 20);
	assert_true(rebuilt.unchanged);
}

static void test_unpack(void **state)
{
	struct hpdsl_unpack_options opt = { 0 };
	struct hpdsl_unpack_report report;
	struct hpdsl_dataset *ds;
	struct hpdsl_error err;

	(void)state;
	make_tree();
	pack(2);
	ds = open_at(NULL);
	if (hpdsl_unpack(ds, packed_at(&packed, "back"), &opt, &report, &err) <
	    0)
		fail_msg("%s", err.msg);
	packed_same(&packed, packed_at(&packed, "back"));
	hpdsl_close(ds);
}

/* ---- Rows of frames that lie ------------------------------------------ */

/* What is read is right, or it is an error. */
static void read_everything(const struct hp_io *io)
{
	static char buf[6 << 20];
	struct hpdsl_dataset *ds;
	struct hpdsl_counts n;
	struct hpdsl_member m;

	if (hpdsl_open(MEMDIR_NAME, io, &ds, NULL) < 0)
		return;
	hpdsl_count(ds, &n);
	for (uint64_t i = 0; i < n.members; i++) {
		if (hpdsl_member_get(ds, i, &m, NULL) < 0 ||
		    hpdsl_member_read(ds, &m, 0, buf, m.size, NULL) < 0)
			continue;
		assert_int_equal(hp_hash64(buf, m.size), m.checksum);
		assert_int_equal(
			hpdsl_member_read(ds, &m, m.size / 2, buf, 1, NULL),
			m.size ? 0 : -ERANGE);
	}
	hpdsl_close(ds);
}

static void test_lying_rows(void **state)
{
	static const uint64_t odd[] = { 0,	    1,	       511,
					131072,	    1u << 30,  UINT32_MAX,
					1ull << 40, UINT64_MAX };
	struct hpdsl_verify_report report;
	struct memdir_file *f;
	struct memdir mem;
	struct told told;
	uint64_t x = 1, n = 0;
	uint8_t *good;

	(void)state;
	small_tree();
	packed_file(&packed, "5.a", 200000, 0644, 1, 1);
	text_file("6.a", 6000000);
	pack(1);
	memdir_load(&mem, packed.out);
	/* The manifest would vouch for the index. */
	memdir_find(&mem, "dataset.yaml")->absent = true;
	f = memdir_find(&mem, "index.hpdsl");
	good = malloc(f->size);
	memcpy(good, f->data, f->size);
	for (int i = 0; i < 400; i++) {
		uint32_t kind = i % 4 ? HP_SECTION_FRAMES : HP_SECTION_CHUNKS;
		struct image im = { .p = f->data, .n = f->size };
		uint8_t *p = image_section(&im, kind, &n);
		uint64_t at;

		x = x * 6364136223846793005u + 1442695040888963407u;
		at = (x >> 33) % (n / 8) * 8;
		if (i % 3)
			hp_put64(p + at, odd[(x >> 50) % 8]);
		else
			hp_put64(p + at, hp_get64(p + at) + (x >> 40) % 1000);
		image_repair(f->data, f->size);
		look(&mem.io, false, &told, &report);
		look(&mem.io, true, &told, &report);
		read_everything(&mem.io);
		memcpy(f->data, good, f->size);
	}
	free(good);
	memdir_free(&mem);
}

/* ---- Rebuilding ------------------------------------------------------- */

static int reindex(bool shuffled, struct hpdsl_reindex_report *ret,
		   struct hpdsl_error *err)
{
	struct hpdsl_reindex_options opt = { .threads = HPDSL_SERIAL,
					     .shuffled = shuffled };

	memset(err, 0, sizeof *err);
	return hpdsl_reindex(packed.out, &opt, ret, err);
}

static void test_reindex(void **state)
{
	struct hpdsl_reindex_report report;
	struct hpdsl_error err;
	char *was, *is;
	size_t n, k;

	(void)state;
	for (int i = 0; i < 200; i++) {
		char name[64];

		snprintf(name, sizeof name, "%03d.%c", i / 2, 'a' + i % 2);
		packed_file(&packed, name, (size_t)i * 50, 0644, i, 0);
	}
	pack(3);
	was = packed_get(packed_at(&packed, "out/index.hpdsl"), &n);
	unlink(packed_at(&packed, "out/index.hpdsl"));
	if (reindex(false, &report, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(report.chunks, 3);
	assert_int_equal(report.samples, 100);
	is = packed_get(packed_at(&packed, "out/index.hpdsl"), &k);
	assert_int_equal(n, k);
	assert_memory_equal(was, is, n);
	free(is);
	/* Nothing but the chunks is left. */
	unlink(packed_at(&packed, "out/index.hpdsl"));
	unlink(packed_at(&packed, "out/dataset.yaml"));
	if (reindex(true, &report, &err) < 0)
		fail_msg("%s", err.msg);
	assert_false(report.shuffle_lost);
	is = packed_get(packed_at(&packed, "out/index.hpdsl"), &k);
	assert_int_equal(n, k);
	assert_memory_equal(was, is, n);
	free(is);
	free(was);
}

/* Frames that begin between members of one key: keys made no samples. */
static void test_reindex_ungrouped(void **state)
{
	struct hpdsl_reindex_report report;
	struct hpdsl_error err;
	char name[64];

	(void)state;
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof name, "%02d.%d", i / 4, i % 4);
		packed_file(&packed, name, 40000, 0644, i, 0);
	}
	packed_pack(&packed, (struct hpdsl_pack_options){
				     .chunks = 1,
				     .shuffle = HPDSL_SHUFFLE_NONE,
				     .group = HPDSL_GROUP_NONE,
			     });
	zst_dataset(packed.out, 1);
	unlink(packed_at(&packed, "out/index.hpdsl"));
	unlink(packed_at(&packed, "out/dataset.yaml"));
	if (reindex(false, &report, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(report.samples, 40);
	assert_int_equal(hpdsl_verify(packed.out,
				      &(struct hpdsl_verify_options){ 0 },
				      &(struct hpdsl_verify_report){ 0 }, &err),
			 0);
}

/* No damage of a chunk gets into an index: each bit, each length. */
static void test_reindex_damage(void **state)
{
	struct hpdsl_reindex_report report;
	struct hpdsl_error err;
	char *data;
	size_t n;

	(void)state;
	small_tree();
	pack(1);
	unlink(packed_at(&packed, "out/index.hpdsl"));
	unlink(packed_at(&packed, "out/dataset.yaml"));
	data = packed_get(chunk(0), &n);
	for (uint64_t bit = 0; bit < 8 * n; bit++) {
		data[bit / 8] = (char)(data[bit / 8] ^ 1 << bit % 8);
		packed_put(chunk(0), data, n);
		data[bit / 8] = (char)(data[bit / 8] ^ 1 << bit % 8);
		if (reindex(false, &report, &err) == 0) {
			/* A bit that zstd does not look at. */
			assert_int_equal(report.members, 8);
			unlink(packed_at(&packed, "out/index.hpdsl"));
			unlink(packed_at(&packed, "out/dataset.yaml"));
			continue;
		}
		assert_int_equal(err.code, HPDSL_ECORRUPT);
		assert_non_null(strstr(err.msg, "chunk-000000.tar.zst: "));
	}
	for (size_t k = 0; k < n; k++) {
		packed_put(chunk(0), data, k);
		assert_int_equal(reindex(false, &report, &err), HPDSL_ECORRUPT);
	}
	assert_false(packed_has(&packed, "out/index.hpdsl"));
	free(data);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_contents),
		TEST(test_cut_samples),
		TEST(test_mixed),
		TEST(test_sample_costs_a_frame),
		TEST(test_order_costs_each_frame_once),
		TEST(test_threads),
		TEST(test_read_every_bit),
		TEST(test_read_cut),
		TEST(test_verify_every_bit),
		TEST(test_verify_every_length),
		TEST(test_verify_names_samples),
		TEST(test_verify_table),
		TEST(test_verify_without_index),
		TEST(test_allocations_fail),
		TEST(test_reads_fail),
		TEST(test_unpack),
		TEST(test_lying_rows),
		TEST(test_reindex),
		TEST(test_reindex_ungrouped),
		TEST(test_reindex_damage),
	};

	return cmocka_run_group_tests_name("zst", tests, NULL, NULL);
}
