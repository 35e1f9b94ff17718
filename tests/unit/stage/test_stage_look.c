/* SPDX-License-Identifier: Apache-2.0 */
/* Where a stage directory may be made, and what it will take there. */
#include "shell.h"
#include "stage_work.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static uint64_t kind;

static int fs_type(const struct hp_io *io, int fd, uint64_t *ret)
{
	(void)io;
	(void)fd;
	*ret = kind;
	return 0;
}

static struct hpdsl_stage_ground look(uint64_t as)
{
	struct hp_io io = hp_io_system;
	struct hpdsl_stage_ground g;
	struct hpdsl_error err;

	io.fs_type = fs_type;
	kind = as;
	if (hpdsl_stage_look(work_fix.top, &io, &g, &err))
		fail_msg("%s", err.msg);
	return g;
}

/* By the number of the kind, signed or not, whatever else is there. */
static void test_kinds(void **unused)
{
	static const struct {
		uint64_t type;
		const char *shared;
		bool ram;
	} is[] = {
		{ 0x6969, "nfs", false },
		{ 0x0bd00bd0, "lustre", false },
		{ 0x47504653, "gpfs", false },
		{ 0x65735546, "fuse", false },
		{ 0xff534d42, "cifs", false },
		{ 0xffffffffff534d42, "cifs", false },
		{ 0xef53, "", false },	   /* ext4 */
		{ 0x58465342, "", false }, /* xfs */
		{ 0x794c7630, "", false }, /* overlayfs */
		{ 0x01021994, "", true },  /* tmpfs */
		{ 0x858458f6, "", true },  /* ramfs */
	};

	(void)unused;
	work_fresh();
	for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
		struct hpdsl_stage_ground g = look(is[i].type);

		assert_string_equal(g.shared, is[i].shared);
		assert_int_equal(g.place.ram, is[i].ram);
		assert_true(g.place.capacity <= g.place.free_bytes);
		assert_int_equal(g.place.memory_bytes > 0, is[i].ram);
		assert_true(!g.place.ram ||
			    g.place.capacity <= g.place.memory_bytes);
		assert_int_equal(g.place.held_bytes, 0);
	}
}

static void test_refusals(void **unused)
{
	struct hpdsl_stage_ground g;
	struct hpdsl_error err;

	(void)unused;
	work_fresh();
	run("touch %s/file", work_fix.top);
	assert_int_equal(hpdsl_stage_look(work_dir, NULL, &g, &err), -ENOENT);
	assert_non_null(strstr(err.msg, work_dir));
	run("mv %s/file %s", work_fix.top, work_dir);
	assert_int_equal(hpdsl_stage_look(work_dir, NULL, &g, &err), -ENOTDIR);
	work_fresh();
}

/* The manifest says what the index will. */
static void weights_are(struct work *w, const char *from, bool compressed)
{
	uint64_t early[4], late[4];
	uint8_t id[16], none[16] = { 0 };
	struct hpdsl_error err;

	work_fresh();
	assert_int_equal(work_begin(w, from, work_dir, NULL, &err), 0);
	assert_int_equal(w->pack.chunks, 4);
	hpdsl_stage_weights(w->s, late);
	assert_int_equal(
		hpdsl_stage_pack_weights(&w->pack, compressed, early, &err), 0);
	assert_memory_equal(early, late, sizeof early);
	assert_int_equal(hpdsl_stage_pack_id(&w->pack, id, &err), 0);
	assert_memory_not_equal(id, none, 16);
	w->pack.chunks--;
	assert_int_equal(
		hpdsl_stage_pack_weights(&w->pack, compressed, early, &err),
		HPDSL_EUSAGE);
	w->pack.manifest_bytes--;
	assert_int_equal(
		hpdsl_stage_pack_weights(&w->pack, compressed, early, &err),
		HPDSL_ECORRUPT);
	assert_int_equal(hpdsl_stage_pack_id(&w->pack, id, &err),
			 HPDSL_ECORRUPT);
	work_release(w);
}

static void test_weights(void **unused)
{
	struct work w = { .job = NULL };

	(void)unused;
	weights_are(&w, work_plain, false);
	w = (struct work){ .job = NULL };
	weights_are(&w, work_zst, false);
	w = (struct work){ .keep_compressed = true };
	weights_are(&w, work_zst, true);
	work_fresh();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_weights),
	};

	return cmocka_run_group_tests(tests, work_setup, work_teardown);
}
