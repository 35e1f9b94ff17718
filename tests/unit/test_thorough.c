/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl_verify, thorough: an index that is sound in itself, of a tar that is
 * what its checksum says, but of which two readers find something else.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "chunk/tar.h"
#include "index/index.h"
#include "index/write.h"
#include "packed.h"

enum { MEMBERS = 4, TAR = 10240 };

static struct packed packed;

/* What the index says; the tar is always the same. */
struct lies {
	struct hp_index_member members[MEMBERS + 1];
	uint64_t n;
	uint64_t at;
	uint32_t flags;
};

static const char *const names[MEMBERS] = { "a/1.jpg", "a/1.txt", "b/2.jpg",
					    "b/2.txt" };
static const uint64_t sizes[MEMBERS] = { 700, 3, 0, 512 };
static uint8_t tar[TAR];

static struct lies truth(void)
{
	struct lies l = { .n = MEMBERS, .flags = HP_INDEX_FOREIGN };
	size_t at = 0;

	memset(tar, 0, sizeof tar);
	for (int i = 0; i < MEMBERS; i++) {
		struct hp_tar_member m = { names[i], strlen(names[i]), sizes[i],
					   1000 + i, 0640 };

		at += hp_tar_header_write(&m, tar + at);
		memset(tar + at, 'a' + i, (size_t)sizes[i]);
		l.members[i] = (struct hp_index_member){
			.path = names[i],
			.path_len = strlen(names[i]),
			.offset = at,
			.size = sizes[i],
			.checksum = hp_hash64(tar + at, (size_t)sizes[i]),
			.mtime = 1000 + i,
			.mode = 0640,
			.sample = (uint64_t)i / 2,
			.label = HPDSL_NO_LABEL,
		};
		at += (size_t)hp_tar_padded(sizes[i]);
	}
	return l;
}

static void begin(void *arg)
{
	((struct lies *)arg)->at = 0;
}

static int next(void *arg, struct hp_index_member *ret, struct hpdsl_error *err)
{
	struct lies *l = arg;

	(void)err;
	if (l->at == l->n)
		return 0;
	*ret = l->members[l->at++];
	return 1;
}

/* The dataset id of what the index says to be in the tar. */
static void make_id(const struct lies *l, uint8_t ret[16])
{
	uint8_t all[(MEMBERS + 1) * 300], *p = all;
	bool done[MEMBERS + 1] = { false };

	for (uint64_t k = 0; k < l->n; k++) {
		const struct hp_index_member *m = NULL;

		for (uint64_t i = 0; i < l->n; i++)
			if (!done[i] &&
			    (!m || strcmp(l->members[i].path, m->path) < 0))
				m = &l->members[i];
		done[m - l->members] = true;
		assert_true(m->path_len < 200);
		memcpy(p, m->path, m->path_len + 1);
		p += m->path_len + 1;
		hp_put64(p, m->size);
		hp_hash128(tar + m->offset, (size_t)m->size, p + 8);
		p += 24;
	}
	hp_hash128(all, (size_t)(p - all), ret);
}

/* Writes tar and index to packed.out. */
static void put(struct lies *l)
{
	struct hp_chunk_made chunk = { .name = "chunk-000000.tar",
				       .bytes = sizeof tar };
	struct hp_index_source src = {
		.samples = l->members[l->n - 1].sample + 1,
		.members = l->n,
		.flags = l->flags,
		.chunks = &chunk,
		.n_chunks = 1,
		.arg = l,
		.begin = begin,
		.next = next,
	};
	uint8_t checksum[16];
	uint64_t bytes;
	struct stat st;
	int dir;

	for (uint64_t i = 0; i < l->n; i++) {
		src.bytes += l->members[i].size;
		src.stored |= l->members[i].stored != NULL;
	}
	make_id(l, src.dataset_id);
	hp_hash128(tar, sizeof tar, chunk.checksum);
	if (stat(packed.out, &st) != 0)
		assert_int_equal(mkdir(packed.out, 0700), 0);
	dir = hp_io_system.open(&hp_io_system, AT_FDCWD, packed.out,
				O_RDONLY | O_DIRECTORY, 0);
	assert_true(dir >= 0);
	assert_int_equal(hp_index_save(&src, &hp_io_system, dir, &bytes,
				       checksum, NULL, NULL),
			 0);
	hp_io_system.close(&hp_io_system, dir);
	packed_put(packed_at(&packed, "out/chunk-000000.tar"), tar, sizeof tar);
}

static char told[8192];

static void hear(void *arg, const struct hpdsl_damage *d)
{
	size_t n = strlen(told);

	(void)arg;
	/* That there is no manifest is always told. */
	if (d->file && !strcmp(d->file, "dataset.yaml"))
		return;
	snprintf(told + n, sizeof told - n, "%s|", d->path ? d->path : "-");
	n = strlen(told);
	snprintf(told + n, sizeof told - n, "%s\n", d->reason);
}

/* What is told is just this; how many samples are damaged. */
static void finds(struct lies *l, const char *want, uint64_t samples)
{
	struct hpdsl_verify_options opt = { .thorough = true,
					    .threads = HPDSL_SERIAL,
					    .damage = hear };
	struct hpdsl_verify_report r = { 0 };
	struct hpdsl_error err = { 0 };

	put(l);
	told[0] = '\0';
	assert_int_equal(hpdsl_verify(packed.out, &opt, &r, &err),
			 HPDSL_ECORRUPT);
	assert_string_equal(told, want);
	assert_int_equal(r.damaged_samples, samples);
	assert_int_equal(r.damaged_chunks, *want ? 1 : 0);
	assert_int_equal(r.damaged_files, *want ? 2 : 1);
	/* Without it all of this passes. */
	opt.thorough = false;
	told[0] = '\0';
	assert_int_equal(hpdsl_verify(packed.out, &opt, &r, &err),
			 HPDSL_ECORRUPT);
	assert_string_equal(told, "");
}

static void agreement(void **state)
{
	struct lies l = truth();

	(void)state;
	finds(&l, "", 0);
	l.flags = 0;
	finds(&l, "", 0);
}

static void fields(void **state)
{
	struct lies l = truth();

	(void)state;
	l.members[1].mode = 0600;
	finds(&l,
	      "a/1.txt|tar reader: mode differs\n"
	      "a/1.txt|libarchive: mode differs\n",
	      1);
	l = truth();
	l.members[0].mtime = 7;
	l.members[3].mtime = 7;
	finds(&l,
	      "a/1.jpg|tar reader: mtime differs\n"
	      "b/2.txt|tar reader: mtime differs\n"
	      "a/1.jpg|libarchive: mtime differs\n"
	      "b/2.txt|libarchive: mtime differs\n",
	      2);
}

static void another_name(void **state)
{
	struct lies l = truth();

	(void)state;
	l.members[2].path = "b/2.jpx";
	finds(&l,
	      "b/2.jpx|tar reader: there is 'b/2.jpg'\n"
	      "b/2.jpx|libarchive: there is 'b/2.jpg'\n",
	      1);
	/* Under a name of its own in the tar all is well. */
	l = truth();
	l.members[2].path = "b/2.jpx";
	l.members[2].stored = "b/2.jpg";
	l.members[2].stored_len = 7;
	finds(&l, "", 0);
}

static void another_size(void **state)
{
	struct lies l = truth();

	(void)state;
	l.members[1].size = 2;
	l.members[1].checksum = hp_hash64("bb", 2);
	finds(&l,
	      "a/1.txt|tar reader: size differs\n"
	      "a/1.txt|libarchive: size differs\n",
	      1);
}

static void more_or_fewer(void **state)
{
	struct lies l = truth();

	(void)state;
	l.n = 2;
	finds(&l,
	      "-|tar reader: 'b/2.jpg' is not in the index\n"
	      "-|libarchive: 'b/2.jpg' is not in the index\n",
	      0);
	l = truth();
	l.members[4] = l.members[3];
	l.members[4].path = "b/3.txt";
	l.members[4].offset = l.members[3].offset + 1024;
	l.members[4].size = 0;
	l.members[4].checksum = hp_hash64("", 0);
	l.members[4].sample = 2;
	l.n = 5;
	finds(&l,
	      "-|tar reader: 1 members are not there\n"
	      "-|libarchive: 1 members are not there\n",
	      0);
}

/* What is damaged already is not told twice. */
static void damaged(void **state)
{
	struct hpdsl_verify_options opt = { .thorough = true, .damage = hear };
	struct hpdsl_verify_report r;
	struct lies l = truth();

	(void)state;
	put(&l);
	packed_flip(packed_at(&packed, "out/chunk-000000.tar"), 600, 0);
	told[0] = '\0';
	assert_int_equal(hpdsl_verify(packed.out, &opt, &r, NULL),
			 HPDSL_ECORRUPT);
	assert_string_equal(told, "a/1.jpg|checksum differs\n");
}

static int setup(void **state)
{
	(void)state;
	packed_begin(&packed);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	packed_end(&packed);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(agreement, setup, teardown),
		cmocka_unit_test_setup_teardown(fields, setup, teardown),
		cmocka_unit_test_setup_teardown(another_name, setup, teardown),
		cmocka_unit_test_setup_teardown(another_size, setup, teardown),
		cmocka_unit_test_setup_teardown(more_or_fewer, setup, teardown),
		cmocka_unit_test_setup_teardown(damaged, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
