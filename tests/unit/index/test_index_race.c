/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Somebody writes to the index while every call that looks at it is made: no
 * call reads or writes where it must not, which a sanitizer tells, and what a
 * loader hands out is right.  Bytes are changed through another mapping, so
 * that they change between any two instructions, and are put back.
 */
#include "packed.h"

#include "hpdsl.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { SAMPLES = 300, ROOM = 4096, ROUNDS = 20 };

static struct packed packed;
static struct hpdsl_dataset *good; /* of an index in memory */

/* ---- Who writes ------------------------------------------------------- */

struct writer {
	uint8_t *p;
	size_t n;
	pthread_t thread;
	bool quit;
	uint64_t writes;
};

static uint64_t draw(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

/* A byte becomes another one, or all that a length or an offset can be. */
static void change(struct writer *w, uint64_t *x)
{
	static const uint8_t some[] = { 0, 1, 0x7f, 0x80, 0xff, '/', '.' };
	size_t at = draw(x) % w->n, n = 1 + draw(x) % 8;
	uint8_t was[8];

	if (n > w->n - at)
		n = w->n - at;
	memcpy(was, w->p + at, n);
	for (unsigned k = 0; k < 20; k++)
		for (size_t i = 0; i < n; i++) {
			uint8_t to = some[draw(x) % sizeof some];

			__atomic_store_n(&w->p[at + i], k % 2 ? was[i] : to,
					 __ATOMIC_RELAXED);
		}
	for (size_t i = 0; i < n; i++)
		__atomic_store_n(&w->p[at + i], was[i], __ATOMIC_RELAXED);
	w->writes++;
}

static void *write_on(void *arg)
{
	struct writer *w = arg;
	uint64_t x = 88172645463325252u;

	while (!__atomic_load_n(&w->quit, __ATOMIC_RELAXED))
		change(w, &x);
	return NULL;
}

static void writer_begin(struct writer *w, const char *name)
{
	int fd = open(name, O_RDWR | O_CLOEXEC);
	struct stat st;

	*w = (struct writer){ 0 };
	assert_int_equal(fstat(fd, &st), 0);
	w->n = (size_t)st.st_size;
	w->p = mmap(NULL, w->n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(w->p != MAP_FAILED);
	close(fd);
	assert_int_equal(pthread_create(&w->thread, NULL, write_on, w), 0);
}

static void writer_end(struct writer *w)
{
	__atomic_store_n(&w->quit, true, __ATOMIC_RELAXED);
	pthread_join(w->thread, NULL);
	munmap(w->p, w->n);
	assert_true(w->writes > 0);
}

/* ---- Every call ------------------------------------------------------- */

static struct hpdsl_counts n;
static unsigned sum; /* of what was looked at: each byte has to be there */

static void look(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sum += (unsigned char)s[i];
}

static int take(void *arg, const void *buf, size_t size,
		struct hpdsl_error *err)
{
	(void)arg;
	(void)err;
	look(buf, size);
	return 0;
}

static void ask_member(const struct hpdsl_dataset *ds, uint64_t number)
{
	struct hpdsl_error err;
	struct hpdsl_member m;
	uint8_t sha[32];
	char buf[ROOM];
	const char *name;
	size_t len;

	hpdsl_member_sha256(ds, number, sha, &err);
	if (hpdsl_member_get(ds, number, &m, &err) < 0)
		return;
	look(m.path, m.path_len);
	if (hpdsl_member_stored(ds, &m, &name, &len, &err) == 0)
		look(name, len);
	if (m.size <= sizeof buf)
		hpdsl_member_read(ds, &m, 0, buf, m.size, &err);
	hpdsl_member_read(ds, &m, m.size, buf, 1, &err);
	hpdsl_member_stream(ds, &m, take, NULL, &err);
}

static void ask_path(const struct hpdsl_dataset *ds, uint64_t number)
{
	struct hpdsl_rows *rows = NULL;
	struct hpdsl_member is, m;
	struct hpdsl_error err;

	assert_int_equal(hpdsl_member_get(good, number, &is, NULL), 0);
	if (hpdsl_member_find(ds, is.path, is.path_len, &m, &err) == 0)
		look(m.path, m.path_len);
	if (hpdsl_path_rows(ds, is.path, is.path_len, &rows, &err) == 0)
		look(rows->member[0].path, strlen(rows->member[0].path) + 1);
	hpdsl_rows_free(rows);
}

static void ask_sample(const struct hpdsl_dataset *ds, uint64_t number)
{
	struct hpdsl_request req[3] = { 0 };
	struct hpdsl_rows *rows = NULL;
	struct hpdsl_error err;
	struct hpdsl_sample s;
	char buf[3][ROOM];
	uint32_t label;
	size_t len;

	hpdsl_sample_labels(ds, number, 1, &label, &err);
	if (hpdsl_sample_get(ds, number, &s, &err) == 0) {
		look(s.key, s.key_len);
		hpdsl_sample_read(ds, &s, buf, sizeof buf, &len, &err);
	}
	if (hpdsl_sample_rows(ds, number, &rows, &err) == 0)
		look(rows->sample.key, rows->sample.key_len + 1);
	hpdsl_rows_free(rows);
	for (unsigned i = 0; i < 3; i++)
		req[i] = (struct hpdsl_request){ .member = number * 2 + i,
						 .buf = buf[i],
						 .room = ROOM };
	hpdsl_read_many(ds, req, 3, HPDSL_SERIAL, &err);
}

static void ask_tables(const struct hpdsl_dataset *ds)
{
	struct hpdsl_error err;
	struct hpdsl_chunk c;
	const char *name;
	uint8_t sha[32];

	hpdsl_pack_id(ds, sha);
	hpdsl_index_digest(ds, sha);
	for (uint32_t i = 0; i < n.chunks; i++) {
		hpdsl_chunk_sha256(ds, i, sha, &err);
		if (hpdsl_chunk_get(ds, i, &c, &err) == 0)
			look(c.name, strlen(c.name));
	}
	for (uint32_t i = 0; i < n.classes; i++)
		if (hpdsl_class_name(ds, i, &name, &err) == 0)
			look(name, strlen(name));
}

static void ask_order(const struct hpdsl_dataset *ds)
{
	const char *const patterns[] = { "*/00*", "c1/*" };
	const uint32_t labels[] = { 0, 1 };
	struct hpdsl_choice_options opt = { .labels = labels,
					    .n_labels = 2,
					    .include = patterns,
					    .n_include = 2,
					    .balanced = true };
	struct hpdsl_order_start start = { .batch_size = 8 };
	struct hpdsl_cost_options all = { .memory = 0 };
	struct hpdsl_order o = { .seed = 1 };
	struct hpdsl_choice *choice = NULL;
	struct hpdsl_epoch *e = NULL;
	struct hpdsl_epoch_cost cost;
	struct hpdsl_error err;
	uint32_t first[64];
	uint64_t position;

	hpdsl_choose(ds, &opt, &choice, &err);
	start.choice = choice;
	if (hpdsl_order_fill(ds, &start, &o, &err) == 0 &&
	    hpdsl_epoch_new(ds, choice, &o, &e, &err) == 0) {
		hpdsl_epoch_cost(e, ds, &all, &cost, &err);
		hpdsl_epoch_where(e, 0, 0, &position, &err);
	}
	hpdsl_epoch_free(e);
	hpdsl_choice_free(choice);
	o = (struct hpdsl_order){ 0 };
	if (hpdsl_order_fill(ds, NULL, &o, &err) == 0)
		hpdsl_order_first_use(ds, &o, first, &err);
}

static void check_sample(const struct hpdsl_batch *b, size_t i)
{
	for (size_t k = b->first[i]; k < b->first[i + 1]; k++) {
		struct hpdsl_member m;
		char buf[ROOM];

		assert_int_equal(
			hpdsl_member_get(good, b->member_number[k], &m, NULL),
			0);
		assert_int_equal(m.sample, b->number[i]);
		assert_int_equal(m.size, b->member_size[k]);
		assert_int_equal(
			hpdsl_member_read(good, &m, 0, buf, m.size, NULL), 0);
		assert_memory_equal(buf, b->member_data[k], m.size);
	}
}

static void tell_bad(void *arg, const struct hpdsl_damage *d)
{
	(void)arg;
	look(d->reason, strlen(d->reason));
	if (d->path)
		look(d->path, strlen(d->path));
}

static void load(const struct hpdsl_dataset *ds, size_t n_suffixes)
{
	static const char *const suffixes[] = { "bin", "a" };
	struct hpdsl_loader_options opt = { .epochs = 1,
					    .threads = 2,
					    .suffixes = suffixes,
					    .n_suffixes = n_suffixes,
					    .skip_bad = true,
					    .bad = tell_bad };
	struct hpdsl_loader *l = NULL;
	const struct hpdsl_batch *b;
	struct hpdsl_error err;

	if (hpdsl_loader_new(ds, &opt, &l, &err) < 0)
		return;
	while (hpdsl_loader_next(l, &b, &err) > 0) {
		for (size_t i = 0; i < b->n; i++)
			if (b->mask[i] && !b->bad[i] && !n_suffixes)
				check_sample(b, i);
		hpdsl_batch_release(b);
	}
	hpdsl_loader_free(l);
}

static void tell_damage(void *arg, const struct hpdsl_damage *d)
{
	tell_bad(arg, d);
}

static void whole(void)
{
	struct hpdsl_verify_options opt = { .damage = tell_damage,
					    .threads = HPDSL_SERIAL,
					    .thorough = true };
	struct hpdsl_compat_options compat = { .readers = HPDSL_READERS_ALL,
					       .threads = HPDSL_SERIAL };
	struct hpdsl_snapshot_report made;
	struct hpdsl_compat_report told;
	struct hpdsl_verify_report report;
	struct hpdsl_error err;
	const char *dir = packed.out;

	hpdsl_verify(packed.out, &opt, &report, &err);
	hpdsl_compat(&dir, 1, &compat, &told, &err);
	hpdsl_snapshot_create(packed.out, packed_at(&packed, "snap"),
			      &(struct hpdsl_snapshot_options){ 0 }, &made,
			      &err);
}

static void every_call(const struct hpdsl_dataset *ds, uint64_t *x)
{
	for (unsigned i = 0; i < 60; i++) {
		ask_member(ds, draw(x) % n.members);
		ask_path(ds, draw(x) % n.members);
		ask_sample(ds, draw(x) % n.samples);
	}
	ask_tables(ds);
	ask_order(ds);
	load(ds, draw(x) % 3);
}

/* All blocks were found to be sound before the first byte is changed. */
static void run(int zstd)
{
	struct hpdsl_dataset *ds = NULL;
	uint64_t x = 42;
	struct writer w;

	snprintf(packed.out, sizeof packed.out, "%s/out%d", packed.top, zstd);
	packed_pack(&packed, (struct hpdsl_pack_options){
				     .zstd = zstd,
				     .chunks = 3,
				     .labels = HPDSL_LABELS_DIR,
				     .cls = true,
				     .names = HPDSL_NAMES_PORTABLE,
				     .digest = HPDSL_DIGEST_SHA256 });
	assert_int_equal(
		hpdsl_open_with(packed.out, HPDSL_OPEN_COPY, NULL, &good, NULL),
		0);
	assert_int_equal(hpdsl_open(packed.out, NULL, &ds, NULL), 0);
	hpdsl_count(ds, &n);
	for (uint64_t i = 0; i < n.members; i++) {
		ask_member(ds, i);
		ask_path(ds, i);
	}
	for (uint64_t i = 0; i < n.samples; i++)
		ask_sample(ds, i);
	writer_begin(&w, packed_at(&packed, zstd ? "out3/index.hpdsl" :
						   "out0/index.hpdsl"));
	for (int i = 0; i < ROUNDS; i++) {
		struct hpdsl_dataset *anew = NULL;

		every_call(ds, &x);
		if (hpdsl_open(packed.out, NULL, &anew, NULL) == 0)
			every_call(anew, &x);
		hpdsl_close(anew);
		whole();
	}
	writer_end(&w);
	/* All is as it was. */
	for (uint64_t i = 0; i < n.samples; i++) {
		struct hpdsl_sample s = { .number = i };
		char buf[3 * ROOM];
		size_t len;

		assert_int_equal(
			hpdsl_sample_read(ds, &s, buf, sizeof buf, &len, NULL),
			0);
	}
	hpdsl_close(ds);
	hpdsl_close(good);
}

static void test_plain(void **state)
{
	(void)state;
	run(0);
}

static void test_compressed(void **state)
{
	(void)state;
	run(3);
}

static int begin(void **state)
{
	static const char zeros[3000];
	char name[80];

	(void)state;
	packed_begin(&packed);
	for (unsigned i = 0; i < SAMPLES; i++) {
		snprintf(name, sizeof name, "c%u/%04u x.a", i % 4, i);
		packed_file(&packed, name, i * 3, 0644, 1, 0);
		snprintf(name, sizeof name, "c%u/%04u x.bin", i % 4, i);
		packed_file(&packed, name, 1, 0644, 1, 0);
		/* Which is compressed. */
		snprintf(name, sizeof name, "tree/c%u/%04u x.bin", i % 4, i);
		packed_put(packed_at(&packed, name), zeros, i % 3 * 1000);
	}
	return 0;
}

static int end(void **state)
{
	(void)state;
	packed_end(&packed);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_compressed),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
