/* SPDX-License-Identifier: Apache-2.0 */
/* Side files for other readers: the golden vector, names of files, edges. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/bytes.h"
#include "format/emit.h"
#include "format/names.h"

/* Two samples of two members each: names, sizes, places in the tar. */
static const struct hp_emit_member golden[] = {
	{ "a/0001.cls", 10, 0, 512, 1, true },
	{ "a/0001.jpg", 10, 1024, 1536, 700, false },
	{ "a/0002.cls", 10, 2560, 3072, 2, true },
	{ "a/0002.jpg", 10, 3584, 4096, 512, false },
};

static void is_text(struct hp_text *t, const char *want)
{
	assert_false(t->failed);
	assert_int_equal(t->n, strlen(want));
	assert_memory_equal(t->p, want, t->n);
	hp_text_release(t);
}

static void dali(bool names, const char *want)
{
	struct hp_text t = { 0 };

	hp_emit_dali_begin(&t, 2, names);
	for (int i = 0; i < 4; i++)
		hp_emit_dali_member(&t, &golden[i], names);
	hp_emit_dali_end(&t);
	is_text(&t, want);
}

static void dali_golden(void **state)
{
	(void)state;
	dali(true, "v1.2 2\n"
		   "cls 512 1 a/0001.cls jpg 1536 700 a/0001.jpg\n"
		   "cls 3072 2 a/0002.cls jpg 4096 512 a/0002.jpg\n");
	dali(false, "v1.1 2\ncls 512 1 jpg 1536 700\n"
		    "cls 3072 2 jpg 4096 512\n");
}

/* What separates words in C++'s streams, and nothing else. */
static void dali_blanks(void **state)
{
	(void)state;
	for (int c = 1; c < 256; c++) {
		char s[3] = { 'a', (char)c, 'b' };

		assert_int_equal(hp_emit_dali_blank(s, 3),
				 strchr(" \t\n\v\f\r", c) != NULL);
	}
	assert_false(hp_emit_dali_blank("", 0));
	assert_false(hp_emit_dali_blank("ab ", 2));
}

static void energon_golden(void **state)
{
	static const uint64_t want[] = { 0, 2560, 4608 };
	struct hp_text t = { 0 };

	(void)state;
	for (int i = 0; i < 4; i++)
		hp_emit_energon_member(&t, &golden[i]);
	hp_emit_energon_end(&t, 4608);
	assert_int_equal(t.n, sizeof want);
	for (int i = 0; i < 3; i++)
		assert_int_equal(hp_get64(t.p + 8 * i), want[i]);
	hp_text_release(&t);
}

static void energon_meta(void **state)
{
	struct hp_emit_chunk v[2] = { { .samples = 2 }, { .samples = 1 } };
	struct hp_text t = { 0 };

	(void)state;
	hp_chunk_name(0, v[0].name);
	hp_chunk_name(1, v[1].name);
	hp_emit_energon_info(&t, v, 2);
	is_text(&t, "{\n  \"shard_counts\": {\n"
		    "    \"chunk-000000.tar\": 2,\n"
		    "    \"chunk-000001.tar\": 1\n  }\n}\n");
	hp_emit_energon_split(&t, v, 2);
	is_text(&t, "exclude: []\nsplit_parts:\n  train:\n"
		    "  - chunk-000000.tar\n  - chunk-000001.tar\n");
	hp_emit_energon_dataset(&t);
	is_text(&t,
		"__module__: megatron.energon\n__class__: CrudeWebdataset\n");
}

/* Another pack of the same names has another name for wids' cache. */
static void wids(void **state)
{
	struct hp_emit_chunk v = { .samples = 2, .bytes = 10240 };
	struct hp_text a = { 0 }, b = { 0 };
	const char *rest;

	(void)state;
	hp_chunk_name(0, v.name);
	hp_emit_wids(&a, &v, 1);
	v.checksum[15] = 1;
	hp_emit_wids(&b, &v, 1);
	assert_int_equal(a.n, b.n);
	assert_memory_not_equal(a.p, b.p, a.n);
	hp_text_release(&b);
	hp_text_add(&a, "", 1);
	rest = strstr(a.p, "  \"shardlist\"");
	assert_non_null(rest);
	assert_string_equal(rest,
			    "  \"shardlist\": [\n"
			    "    {\"url\": \"chunk-000000.tar\", "
			    "\"nsamples\": 2, \"filesize\": 10240}\n  ]\n}\n");
	assert_memory_equal(a.p, "{\n  \"__kind__\": \"wids-shard-index-v1\",",
			    38);
	hp_text_release(&a);
}

static void names(void **state)
{
	char name[HP_SIDE_NAME];

	(void)state;
	hp_side_name(HP_SIDE_DALI, 12, name);
	assert_string_equal(name, "chunk-000012.idx");
	hp_side_name(HP_SIDE_ENERGON, 999999, name);
	assert_string_equal(name, "chunk-999999.tar.idx");
	hp_side_name(HP_SIDE_ENERGON_INFO, 0, name);
	assert_string_equal(name, ".nv-meta/.info.json");
	for (int side = 0; side < HP_SIDES; side++) {
		const char *slash;

		hp_side_name((enum hp_side_file)side, 7, name);
		slash = strchr(name, '/');
		assert_true(hp_side_is_name(slash ? slash + 1 : name, slash));
		assert_false(hp_side_is_name(slash ? slash + 1 : name, !slash));
	}
	assert_false(hp_side_is_name("chunk-000000.tar", false));
	assert_false(hp_side_is_name("chunk-00000.idx", false));
	assert_false(hp_side_is_name("chunk-0000000.idx", false));
	assert_false(hp_side_is_name("chunk-000000.tar.tar.idx", false));
	assert_false(hp_side_is_name(".idx", false));
	assert_false(hp_side_is_name("", false));
	assert_false(hp_side_is_name("index.sqlite", true));
	assert_false(hp_side_is_name("dataset.yaml", false));
	assert_false(hp_side_is_name("chunk-000000-and-a-name-that-is-long.idx",
				     false));
}

static void text_grows(void **state)
{
	struct hp_text t = { 0 };

	(void)state;
	for (unsigned i = 0; i < 100000; i++)
		hp_text_u64(&t, i % 10);
	hp_text_le64(&t, UINT64_C(0x0102030405060708));
	assert_int_equal(t.n, 100008);
	for (unsigned i = 0; i < 100000; i++)
		assert_int_equal(t.p[i], '0' + i % 10);
	assert_memory_equal(t.p + 100000, "\10\7\6\5\4\3\2\1", 8);
	hp_text_release(&t);
	hp_text_release(&t);
	/* Too much for any memory: passed over from then on. */
	hp_text_puts(&t, "a");
	hp_text_add(&t, "b", SIZE_MAX);
	hp_text_puts(&t, "c");
	assert_true(t.failed);
	assert_int_equal(t.n, 1);
	hp_text_release(&t);
	assert_false(t.failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dali_golden),
		cmocka_unit_test(dali_blanks),
		cmocka_unit_test(energon_golden),
		cmocka_unit_test(energon_meta),
		cmocka_unit_test(wids),
		cmocka_unit_test(names),
		cmocka_unit_test(text_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
