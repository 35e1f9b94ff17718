/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-mount: which stretches of chunks are kept for those who read on, and
 * what is remembered of members that are damaged.
 */
#include <hpdsl.h>

/* A dataset of one member, which counts how often it is read. */
static int fake_member_get(const struct hpdsl_dataset *ds, uint64_t i,
			   struct hpdsl_member *ret, struct hpdsl_error *err);
static int fake_member_read(const struct hpdsl_dataset *ds,
			    const struct hpdsl_member *m, uint64_t offset,
			    void *buf, size_t n, struct hpdsl_error *err);
static int fake_chunk_get(const struct hpdsl_dataset *ds, uint32_t i,
			  struct hpdsl_chunk *ret, struct hpdsl_error *err);
static void fake_count(const struct hpdsl_dataset *ds,
		       struct hpdsl_counts *ret);

#define hpdsl_member_get fake_member_get
#define hpdsl_member_read fake_member_read
#define hpdsl_member_read_now fake_member_read
#define hpdsl_chunk_get fake_chunk_get
#define hpdsl_count fake_count
#include "cmd/mount/bad.c"
#include "cmd/mount/bytes.c"
#include "cmd/mount/window.c"
#include "tmp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { ASKED = 128 << 10 };

static int take(struct mount_windows *w, uint32_t chunk, uint64_t number)
{
	return mount_windows_take(w, chunk, number, MOUNT_WINDOW);
}

/* Who reads on is known to, whoever else reads; who jumps is not. */
static void test_goes_on(void **state)
{
	static struct mount_windows w = { .n = MOUNT_WINDOWS };
	const uint64_t far = 100 << 20;

	(void)state;
	for (uint32_t c = 0; c < MOUNT_STREAMS; c++)
		assert_false(mount_windows_goes_on(&w, c, 0, ASKED));
	for (uint64_t at = ASKED; at < 20 * ASKED; at += ASKED)
		for (uint32_t c = 0; c < MOUNT_STREAMS; c++)
			assert_true(mount_windows_goes_on(&w, c, at, ASKED));
	/* two in the other order */
	assert_true(mount_windows_goes_on(&w, 3, 21 * ASKED, ASKED));
	assert_true(mount_windows_goes_on(&w, 3, 20 * ASKED, ASKED));
	/* chunk 0 was heard of longest ago, and is forgotten for this */
	assert_false(mount_windows_goes_on(&w, 5, far, ASKED));
	assert_true(mount_windows_goes_on(&w, 5, far + ASKED, ASKED));
	assert_false(mount_windows_goes_on(&w, 0, 20 * ASKED, ASKED));
	assert_true(mount_windows_goes_on(&w, 5, 20 * ASKED, ASKED));
}

/* None is taken from who needs it. */
static void test_take(void **state)
{
	static struct mount_windows w = { .n = MOUNT_WINDOWS };

	(void)state;
	for (int i = 0; i < MOUNT_WINDOWS; i++) {
		int is = take(&w, 7, (uint64_t)i);

		assert_true(is >= 0);
		assert_int_equal(mount_windows_find(&w, 7, (uint64_t)i), is);
		assert_int_equal(w.v[is].is, MOUNT_WINDOW_COMING);
	}
	assert_int_equal(mount_windows_find(&w, 8, 0), MOUNT_WINDOW_NONE);
	assert_int_equal(take(&w, 8, 0), MOUNT_WINDOW_NONE);
	for (int i = 0; i < MOUNT_WINDOWS; i++)
		w.v[i].is = MOUNT_WINDOW_HERE;
	assert_int_equal(take(&w, 8, 0), MOUNT_WINDOW_NONE);
	/* given, but somebody copies from it */
	w.v[5].users = 1;
	mount_windows_given(&w, 5, 0, MOUNT_WINDOW);
	mount_windows_given(&w, 6, 0, MOUNT_WINDOW - 1);
	assert_int_equal(take(&w, 8, 0), MOUNT_WINDOW_NONE);
	w.v[5].users = 0;
	assert_int_equal(take(&w, 8, 0), 5);
	assert_int_equal(mount_windows_find(&w, 7, 5), MOUNT_WINDOW_NONE);
	assert_int_equal(mount_windows_find(&w, 8, 0), 5);
	/* who is at its end has been in it */
	w.v[5].is = MOUNT_WINDOW_HERE;
	mount_windows_given(&w, 7, MOUNT_WINDOW - 9, 9);
	assert_int_equal(take(&w, 8, 1), 7);
	assert_int_equal(take(&w, 8, 2), MOUNT_WINDOW_NONE);
}

/* What nobody comes for is given up, the oldest first. */
static void test_forgotten(void **state)
{
	static struct mount_windows w = { .n = MOUNT_WINDOWS };

	(void)state;
	for (int i = 0; i < MOUNT_WINDOWS; i++)
		w.v[take(&w, 7, (uint64_t)i)].is =
			i % 2 ? MOUNT_WINDOW_HERE : MOUNT_WINDOW_BAD;
	for (int i = 0; i < MOUNT_WINDOWS; i++) {
		mount_windows_goes_on(&w, 1, (uint64_t)i << 30, ASKED);
		mount_windows_given(&w, (i + 9) % MOUNT_WINDOWS, 0, 1);
	}
	assert_int_equal(take(&w, 8, 0), MOUNT_WINDOW_NONE);
	/* not long: eight requests are a window's */
	for (uint64_t i = 0; i < 9 * MOUNT_WINDOWS; i++)
		mount_windows_goes_on(&w, 1, i << 30, ASKED);
	assert_int_equal(take(&w, 8, 0), 9);
	assert_int_equal(take(&w, 8, 1), 10);
}

/* ---- Members that are damaged ----------------------------------------- */

enum { SIZE = 5 << 20, PAGE = 4096 };

static struct {
	bool damaged;
	unsigned verified, told;
} fake;

static int fake_member_get(const struct hpdsl_dataset *ds, uint64_t i,
			   struct hpdsl_member *ret, struct hpdsl_error *err)
{
	(void)ds;
	(void)err;
	*ret = (struct hpdsl_member){ .number = i, .size = SIZE };
	return 0;
}

static int fake_member_read(const struct hpdsl_dataset *ds,
			    const struct hpdsl_member *m, uint64_t offset,
			    void *buf, size_t n, struct hpdsl_error *err)
{
	(void)ds;
	(void)offset;
	memset(buf, 'x', n);
	if (n < m->size)
		return 0;
	fake.verified++;
	snprintf(err->msg, sizeof(err->msg), "checksum differs");
	return err->code = fake.damaged ? HPDSL_ECORRUPT : 0;
}

static int fake_chunk_get(const struct hpdsl_dataset *ds, uint32_t i,
			  struct hpdsl_chunk *ret, struct hpdsl_error *err)
{
	(void)ds;
	(void)err;
	*ret = (struct hpdsl_chunk){ .number = i,
				     .name = "chunk",
				     .members = 1 };
	return 0;
}

static void fake_count(const struct hpdsl_dataset *ds, struct hpdsl_counts *ret)
{
	(void)ds;
	*ret = (struct hpdsl_counts){ .members = 1 };
}

void mount_errors_tell(struct mount_errors *e, const char *text)
{
	(void)e;
	assert_string_equal(text, "checksum differs");
	fake.told++;
}

/* Pages of it, each by itself; EIO of all of them, or of none. */
static void read_pages(struct mount_bytes *b, int64_t each)
{
	static uint8_t page[PAGE];

	for (uint64_t at = 0; at < SIZE; at += 64 * PAGE) {
		assert_int_equal(mount_bytes_read(b, 0, at, page, PAGE), each);
		assert_int_not_equal(mount_bytes_now(b, 0, at, page, PAGE), 0);
	}
}

static void write_chunk(const char *dir, const char *text)
{
	char path[TMP_NAME + 8];
	FILE *f;

	snprintf(path, sizeof(path), "%s/chunk", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_damaged(void **state)
{
	char dir[TMP_NAME], path[TMP_NAME + 8];
	_Atomic uint64_t wrong = 0;
	struct mount_bytes b = { .wrong = &wrong };

	(void)state;
	assert_non_null(tmp_folder(dir, sizeof(dir), "bad"));
	write_chunk(dir, "a");
	fake.damaged = true;
	assert_int_equal(mount_bytes_init(&b, NULL, dir, false, SIZE), 0);
	/* and once more, before it is believed */
	read_pages(&b, -EIO);
	assert_int_equal(fake.verified, 2);
	assert_int_equal(fake.told, 1);
	assert_int_equal(wrong, SIZE / PAGE / 64);
	/* another file, which is damaged, too */
	write_chunk(dir, "of another size");
	read_pages(&b, -EIO);
	assert_int_equal(fake.verified, 4);
	/* and one that is not: it is verified once, as all are */
	write_chunk(dir, "good");
	fake.damaged = false;
	read_pages(&b, PAGE);
	assert_int_equal(fake.verified, 5);
	mount_bytes_release(&b);
	snprintf(path, sizeof(path), "%s/chunk", dir);
	remove(path);
	remove(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_goes_on),
		cmocka_unit_test(test_take),
		cmocka_unit_test(test_forgotten),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
