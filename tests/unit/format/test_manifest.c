/* SPDX-License-Identifier: Apache-2.0 */
/* The manifest: its text, what comes back from it, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/hash.h"
#include "format/manifest.h"
#include "format/yaml_writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME HP_MANIFEST_NAME

/* What YAML takes for something else, cannot print, or treats specially. */
static const char *const nasty[] = {
	"001",
	"no",
	"1e5",
	"cat",
	"n01440764",
	" blank ",
	"a\nb",
	"\xff",
	"",
	"-",
	"x: y",
	"12:30:45",
	"0x1f",
	"3dshapes",
	"null",
	"~",
	"Yes",
	"#a",
	"\xc3\xa4pfel",
	"=",
	"<<",
	"2001-01-01",
	"a #b",
	"it's",
	"\"q\"",
	"\\",
	"\x01",
	"\t",
	"\x7f",
	"\xc2\x85",
	"\xe2\x80\xa8",
	"\xef\xbb\xbf",
	"\xed\xa0\x80",
	"\xf0\x9f\x98\x80",
	"\xc0\xaf",
	"\xf5\x80\x80\x80",
	"\xe2\x82",
	"*a",
	"&a",
	"!!str",
	"|",
	">",
	"%TAG",
	"@",
	"`",
	"{a: b}",
	"[a]",
	"a,b",
	"? a",
	"--- a",
	"...",
	"+1",
	".5",
	"1_000",
	".inf",
	"11111111111111111111111111111111",
	"123e5678901234567890123456789012",
	"a\r",
	"a:",
	"trailing ",
	":",
	"true",
	"\x80",
	"a\xff-",
	"\xef\xbf\xbf",
};
enum { N_NASTY = sizeof nasty / sizeof nasty[0] };

static struct hp_manifest_file chunks[] = {
	{ .name = "chunk-000000.tar",
	  .bytes = 20480,
	  .samples = 3,
	  .checksum = { 0xfe, 1, 2 } },
	{ .name = "chunk-000001.tar",
	  .bytes = 10240,
	  .samples = 2,
	  .checksum = { 0x11, 0x11, 3 } },
};

static struct hp_manifest small(void)
{
	struct hp_manifest m = {
		.dataset_id = { 0xab, 0xcd },
		.samples = 5,
		.members = 10,
		.bytes = 12345,
		.has_seed = true,
		.seed = UINT64_MAX,
		.index = { .name = "index.hpdsl", .bytes = 999 },
		.chunks = chunks,
		.n_chunks = 2,
	};
	return m;
}

static struct hp_manifest_file forms[] = {
	{ .name = "chunk-000000.tar.zst",
	  .bytes = 7000,
	  .samples = 5,
	  .checksum = { 0xfe, 1, 2 },
	  .compressed = true,
	  .plain_bytes = 20480,
	  .plain_checksum = { 0x0f },
	  .has_sha256 = true,
	  .sha256 = { 0xaa, 0xbb } },
	{ .name = "chunk-000001.tar",
	  .bytes = 10240,
	  .checksum = { 0x11, 0x11, 3 },
	  .has_sha256 = true,
	  .sha256 = { 0x11 } },
};

static struct hp_manifest_file side_files[] = {
	{ .name = "chunk-000000.idx",
	  .bytes = 1,
	  .checksum = { 0xa },
	  .has_sha256 = true,
	  .sha256 = { 0xcc } },
	{ .name = ".nv-meta/.info.json",
	  .bytes = UINT64_MAX,
	  .has_sha256 = true },
};

/* All that a manifest can hold of its files. */
static struct hp_manifest rich(void)
{
	struct hp_manifest m = small();

	m.has_sha256 = true;
	m.dataset_id_sha256[0] = 0xde;
	m.dataset_id_sha256[31] = 0xad;
	m.index.has_sha256 = true;
	m.chunks = forms;
	m.files = side_files;
	m.n_files = 2;
	return m;
}

static char *format(const struct hp_manifest *m, size_t *ret_len)
{
	struct hpdsl_error err;
	char *text;

	assert_int_equal(hp_manifest_format(m, &text, ret_len, &err), 0);
	assert_int_equal(strlen(text), *ret_len);
	return text;
}

/* ---- Text ------------------------------------------------------------- */

static void test_text(void **state)
{
	static const char *const include[] = { "*.jpg" };
	static const char *const classes[] = { "cat", "001" };
	static const char *const meta[] = { "licence=CC-BY-4.0", "year=2024" };
	struct hpdsl_pack_options opt = {
		.include = include,
		.n_include = 1,
		.labels = HPDSL_LABELS_DIR,
		.meta = meta,
		.n_meta = 2,
	};
	struct hp_manifest m = small();
	size_t n;
	char *text;

	(void)state;
	assert_int_equal(hp_options_pairs(&opt, NULL, &m.options, NULL), 0);
	assert_int_equal(hp_meta_pairs(&opt, &m.meta, NULL), 0);
	m.classes = classes;
	m.n_classes = 2;
	text = format(&m, &n);
	text[n - 33] = '\0';
	assert_string_equal(
		text, "format: hpdsl-dataset\n"
		      "version: 1\n"
		      "dataset_id: abcd0000000000000000000000000000\n"
		      "samples: 5\n"
		      "members: 10\n"
		      "bytes: 12345\n"
		      "seed: 18446744073709551615\n"
		      "options:\n"
		      "  shuffle: global\n"
		      "  group: key\n"
		      "  labels: dir:1\n"
		      "  symlinks: follow\n"
		      "  prefix_input: false\n"
		      "  litter: '1'\n"
		      "  chunk_size: 67108864\n"
		      "  include:\n"
		      "  - '*.jpg'\n"
		      "classes:\n"
		      "- cat\n"
		      "- '001'\n"
		      "meta:\n"
		      "  licence: CC-BY-4.0\n"
		      "  year: '2024'\n"
		      "index: {name: index.hpdsl, bytes: 999, xxh3_128: "
		      "'00000000000000000000000000000000'}\n"
		      "chunks:\n"
		      "- {name: chunk-000000.tar, bytes: 20480, samples: 3, "
		      "xxh3_128: fe010200000000000000000000000000}\n"
		      "- {name: chunk-000001.tar, bytes: 10240, samples: 2, "
		      "xxh3_128: '11110300000000000000000000000000'}\n"
		      "checksum: ");
	free(text);
	hp_pairs_release(&m.options);
	hp_pairs_release(&m.meta);
}

#define ZEROS62 "00000000000000000000000000000000000000000000000000000000000000"

static void test_text_of_files(void **state)
{
	struct hp_manifest m = rich();
	size_t n;
	char *text;

	(void)state;
	m.adopted = true;
	text = format(&m, &n);
	text[n - 33] = '\0';
	assert_string_equal(
		text,
		"format: hpdsl-dataset\n"
		"version: 1\n"
		"dataset_id: abcd0000000000000000000000000000\n"
		"dataset_id_sha256: de000000000000000000000000000000"
		"000000000000000000000000000000ad\n"
		"samples: 5\n"
		"members: 10\n"
		"bytes: 12345\n"
		"seed: 18446744073709551615\n"
		"adopted: true\n"
		"options: {}\n"
		"index: {name: index.hpdsl, bytes: 999, xxh3_128: "
		"'00000000000000000000000000000000', sha256: '00" ZEROS62 "'}\n"
		"chunks:\n"
		"- {name: chunk-000000.tar.zst, bytes: 7000, samples: 5, "
		"xxh3_128: fe010200000000000000000000000000, "
		"plain_bytes: 20480, "
		"plain_xxh3_128: 0f000000000000000000000000000000, "
		"sha256: aabb000000000000000000000000000000000000000000000000"
		"000000000000}\n"
		"- {name: chunk-000001.tar, bytes: 10240, samples: 0, "
		"xxh3_128: '11110300000000000000000000000000', "
		"sha256: '11" ZEROS62 "'}\n"
		"files:\n"
		"- {name: chunk-000000.idx, bytes: 1, "
		"xxh3_128: 0a000000000000000000000000000000, "
		"sha256: cc" ZEROS62 "}\n"
		"- {name: '.nv-meta/.info.json', bytes: 18446744073709551615, "
		"xxh3_128: '00000000000000000000000000000000', "
		"sha256: '00" ZEROS62 "'}\n"
		"checksum: ");
	free(text);
}

/* ---- Round trips ------------------------------------------------------ */

static void same_pairs(const struct hp_pairs *a, const struct hp_pairs *b)
{
	assert_int_equal(a->n, b->n);
	for (size_t i = 0; i < a->n; i++) {
		assert_string_equal(a->v[i].key, b->v[i].key);
		assert_string_equal(a->v[i].value, b->v[i].value);
	}
}

static void same_file(const struct hp_manifest_file *a,
		      const struct hp_manifest_file *b)
{
	assert_string_equal(a->name, b->name);
	assert_int_equal(a->bytes, b->bytes);
	assert_int_equal(a->samples, b->samples);
	assert_memory_equal(a->checksum, b->checksum, 16);
	assert_int_equal(a->compressed, b->compressed);
	assert_int_equal(a->plain_bytes, b->plain_bytes);
	assert_memory_equal(a->plain_checksum, b->plain_checksum, 16);
	assert_int_equal(a->has_sha256, b->has_sha256);
	assert_memory_equal(a->sha256, b->sha256, 32);
}

static void same(const struct hp_manifest *a, const struct hp_manifest *b)
{
	assert_memory_equal(a->dataset_id, b->dataset_id, 16);
	assert_int_equal(a->samples, b->samples);
	assert_int_equal(a->members, b->members);
	assert_int_equal(a->bytes, b->bytes);
	assert_int_equal(a->has_seed, b->has_seed);
	assert_int_equal(a->seed, b->seed);
	assert_int_equal(a->rebuilt, b->rebuilt);
	assert_int_equal(a->adopted, b->adopted);
	assert_int_equal(a->has_sha256, b->has_sha256);
	assert_memory_equal(a->dataset_id_sha256, b->dataset_id_sha256, 32);
	assert_int_equal(!a->lost, !b->lost);
	if (a->lost)
		assert_string_equal(a->lost, b->lost);
	same_pairs(&a->options, &b->options);
	same_pairs(&a->meta, &b->meta);
	assert_int_equal(a->n_classes, b->n_classes);
	for (size_t i = 0; i < a->n_classes; i++)
		assert_string_equal(a->classes[i], b->classes[i]);
	same_file(&a->index, &b->index);
	assert_int_equal(a->n_chunks, b->n_chunks);
	for (size_t i = 0; i < a->n_chunks; i++)
		same_file(&a->chunks[i], &b->chunks[i]);
	assert_int_equal(a->n_files, b->n_files);
	for (size_t i = 0; i < a->n_files; i++)
		same_file(&a->files[i], &b->files[i]);
}

static void round_trip(const struct hp_manifest *m)
{
	struct hpdsl_error err = { 0 };
	struct hp_manifest back;
	size_t n;
	char *text = format(m, &n);

	if (hp_manifest_parse(text, n, NAME, &back, &err) < 0)
		fail_msg("%s\n%s", err.msg, text);
	same(m, &back);
	hp_manifest_release(&back);
	assert_null(back.memory);
	free(text);
}

static void test_round_trip_empty(void **state)
{
	struct hp_manifest m = { .index.name = "i" };

	(void)state;
	round_trip(&m);
	m.rebuilt = true;
	m.lost = "seed, nanoseconds";
	round_trip(&m);
}

static void test_round_trip_files(void **state)
{
	struct hp_manifest m = rich();
	struct hp_manifest_file v[2];

	(void)state;
	round_trip(&m);
	m.rebuilt = m.adopted = true;
	memcpy(v, forms, sizeof v);
	v[0].name = "../shards/a b/train.tar";
	v[1].name = "/data/"
		    "\xff"
		    "/x.tar";
	m.chunks = v;
	round_trip(&m);
}

/* As class, value, key and pattern. */
static void test_round_trip_nasty(void **state)
{
	struct hp_pair meta[N_NASTY], options[N_NASTY + 1];
	struct hp_manifest m = small();

	(void)state;
	options[N_NASTY] = (struct hp_pair){ "chunk_size", "007" };
	for (size_t i = 0; i < N_NASTY; i++) {
		meta[i].key = nasty[i];
		meta[i].value = nasty[N_NASTY - 1 - i];
		options[i].key = "include";
		options[i].value = nasty[i];
	}
	m.classes = nasty;
	m.n_classes = N_NASTY;
	m.meta = (struct hp_pairs){ meta, N_NASTY };
	m.options = (struct hp_pairs){ options, N_NASTY + 1 };
	m.lost = "a\nb";
	round_trip(&m);
}

/* Long strings of every kind, as values and as keys. */
static void test_round_trip_long(void **state)
{
	char text[5000], bytes[5000];
	struct hp_pair meta[] = { { text, bytes }, { bytes, text } };
	struct hp_manifest m = small();

	(void)state;
	memset(text, 'a', sizeof text);
	for (size_t i = 7; i < sizeof text; i += 50)
		text[i] = ' ';
	text[900] = '\0'; /* what YAML allows for a key in one line is 1024 */
	memset(bytes, 0xfe, sizeof bytes);
	bytes[600] = '\0';
	m.meta = (struct hp_pairs){ meta, 2 };
	round_trip(&m);
	text[900] = 'a';
	text[sizeof text - 1] = '\0';
	meta[1].key = "b";
	round_trip(&m);
}

static void test_many_chunks(void **state)
{
	enum { N = 20000 };
	struct hp_manifest m = small();
	char(*names)[32] = calloc(N, sizeof *names);

	(void)state;
	m.chunks = calloc(N, sizeof *m.chunks);
	m.n_chunks = N;
	m.samples = 0;
	for (size_t i = 0; i < N; i++) {
		snprintf(names[i], sizeof names[i], "chunk-%06zu.tar", i);
		m.chunks[i].name = names[i];
		m.chunks[i].bytes = i << 40;
		m.chunks[i].samples = i;
		hp_hash128(names[i], 8, m.chunks[i].checksum);
		m.samples += i;
	}
	round_trip(&m);
	free(m.chunks);
	free(names);
}

/* ---- Damage ----------------------------------------------------------- */

static int parse(const char *text, size_t n, struct hpdsl_error *err)
{
	struct hp_manifest m;
	char *copy = malloc(n + 1); /* without a NUL behind it */
	int r;

	memcpy(copy + 1, text, n);
	r = hp_manifest_parse(copy + 1, n, NAME, &m, err);
	if (r == 0)
		hp_manifest_release(&m);
	free(copy);
	return r;
}

static void test_every_bit(void **state)
{
	struct hp_manifest m = rich();
	struct hpdsl_error err;
	size_t n;
	char *text = format(&m, &n);

	(void)state;
	for (size_t i = 0; i < 8 * n; i++) {
		int r;

		text[i / 8] ^= (char)(1 << i % 8);
		r = parse(text, n, &err);
		if (i / 8 < strlen("format: hpdsl-dataset\n"))
			assert_int_equal(r, HPDSL_ENOTOURS);
		else
			assert_int_equal(r, HPDSL_ECORRUPT);
		text[i / 8] ^= (char)(1 << i % 8);
	}
	assert_int_equal(parse(text, n, &err), 0);
	free(text);
}

static void test_every_length(void **state)
{
	struct hp_manifest m = rich();
	struct hpdsl_error err;
	size_t n;
	char *text = format(&m, &n);

	(void)state;
	for (size_t i = 0; i < n; i++)
		assert_true(parse(text, i, &err) < 0);
	text[n] = '\n'; /* in the place of the NUL */
	assert_int_equal(parse(text, n + 1, &err), HPDSL_ECORRUPT);
	assert_string_equal(err.msg, NAME ": checksum differs");
	text = realloc(text, 2 * n);
	memcpy(text + n, text, n);
	assert_int_equal(parse(text, 2 * n, &err), HPDSL_ECORRUPT);
	free(text);
}

/* ---- What is refused although its checksum is right ------------------- */

#define ID "11111111111111111111111111111111"
#define NUMBERS "samples: 1\nmembers: 2\nbytes: 3\n"
#define TOP "format: hpdsl-dataset\nversion: 1\ndataset_id: " ID "\n" NUMBERS
#define INDEX "index: {name: i, bytes: 1, xxh3_128: " ID "}\n"
#define CHUNK(name) "{name: " name ", bytes: 1, samples: 1, xxh3_128: " ID "}"
#define CHUNKS "chunks:\n- " CHUNK("c") "\n"
#define END "options: {}\n" INDEX CHUNKS
#define SHA ID ID
#define SIDE(name) "{name: " name ", bytes: 1, xxh3_128: " ID "}"
/* A chunk's row with something behind it, and all of the text to its line. */
#define ROW(name, rest)                               \
	"options: {}\n" INDEX "chunks: [{name: " name \
	", bytes: 1, samples: 1, "                    \
	"xxh3_128: " ID rest "}]\n"

static int parse_body(const char *body, struct hpdsl_error *err)
{
	size_t n = strlen(body);
	uint8_t digest[16];
	char hex[33], *text = malloc(n + 64);
	int r;

	hp_hash128(body, n, digest);
	hp_hex128(digest, hex);
	r = parse(text, (size_t)sprintf(text, "%schecksum: %s\n", body, hex),
		  err);
	free(text);
	return r;
}

static void test_accepted(void **state)
{
	static const char *const bodies[] = {
		TOP END,
		TOP "new: 1\n" END,
		TOP "new: {a: [b, {c: d}], e: [[], {}]}\n" END,
		TOP "new:\n- a\n- b: c\n? d\n: e\n" END,
		TOP "# a remark\n" END,
		TOP
		"options: {a: b, c: [], d: [e, f], meta: x, seed: 2}\n" INDEX
			CHUNKS,
		TOP "options: {}\nindex: {new: [1], name: i, bytes: 1, "
		    "xxh3_128: " ID "}\n" CHUNKS,
		TOP "meta: {a: !!binary YQ==}\n" END,
		TOP "meta: {a: !!binary ' YQ== '}\nnew: !x y\n" END,
		TOP END "files: []\n",
		TOP END "files: [" SIDE("a") ", " SIDE(".b/..c") "]\n",
		TOP ROW("c", ", plain_bytes: 9, plain_xxh3_128: " ID),
		TOP "adopted: false\n" END,
		TOP "adopted: true\n" ROW("../a/c", ""),
		TOP "adopted: true\n" ROW("/a/c", ""),
	};

	(void)state;
	for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
		struct hpdsl_error err;

		if (parse_body(bodies[i], &err) < 0)
			fail_msg("%zu: %s", i, err.msg);
	}
}

struct refused {
	const char *body, *msg;
};

static const struct refused refused[] = {
	{ TOP "options: {}\n" CHUNKS, "'index' is missing" },
	{ TOP INDEX CHUNKS, "'options' is missing" },
	{ TOP "options: {}\n" INDEX, "'chunks' is missing" },
	{ "format: hpdsl-dataset\nversion: 1\n" NUMBERS END,
	  "'dataset_id' is missing" },
	{ TOP "samples: 1\n" END, "line 7: this key is given twice" },
	{ TOP "checksum: a\n" END, "this key is given twice" },
	{ TOP "meta: {a: b, c: d, a: b}\n" END, "a key is given twice" },
	{ TOP "meta: {a: [b]}\n" END, "text was expected" },
	{ TOP "meta: {[a]: b}\n" END, "text was expected" },
	{ TOP "options: {a: {b: c}}\n" INDEX CHUNKS, "text was expected" },
	{ TOP "options: {a: [x], a: y}\n" INDEX CHUNKS, "given twice" },
	{ TOP "options: 1\n" INDEX CHUNKS, "a mapping was expected" },
	{ TOP "seed: -1\n" END, "line 7: not a number" },
	{ TOP "seed: 01\n" END, "not a number" },
	{ TOP "seed: 0x1\n" END, "not a number" },
	{ TOP "seed: 1_0\n" END, "not a number" },
	{ TOP "seed: ''\n" END, "not a number" },
	{ TOP "seed:\n" END, "not a number" },
	{ TOP "seed: [1]\n" END, "a number was expected" },
	{ TOP "seed: 18446744073709551616\n" END, "too large" },
	{ TOP "seed: 99999999999999999999\n" END, "too large" },
	{ TOP "rebuilt: yes\n" END, "true or false" },
	{ TOP "lost: \"a\\0b\"\n" END, "a NUL byte" },
	{ TOP "lost: !!binary AAAA\n" END, "a NUL byte" },
	{ TOP "lost: !!binary a\n" END, "not base64" },
	{ TOP "lost: !!binary YR==\n" END, "not base64" },
	{ TOP "lost: !!binary YQ==YQ==\n" END, "not base64" },
	{ TOP "lost: !!binary ====\n" END, "not base64" },
	{ TOP "lost: !!binary A===\n" END, "not base64" },
	{ TOP "classes: {}\n" END, "a list was expected" },
	{ TOP "classes: [[a]]\n" END, "text was expected" },
	{ TOP "meta: {a: &x b, c: *x}\n" END, "aliases" },
	{ TOP "new: &x {a: *x}\n" END, "aliases" },
	{ TOP "new: *x\n" END, "aliases" },
	{ TOP "options: {}\n" INDEX "chunks: []\n", "do not add up" },
	{ TOP "options: {}\n" INDEX "chunks: [a]\n", "mapping was expected" },
	{ TOP "options: {}\n" INDEX "chunks: [" CHUNK("../c") "]\n",
	  "not a file name" },
	{ TOP "options: {}\n" INDEX "chunks: [" CHUNK("..") "]\n",
	  "not a file name" },
	{ TOP "options: {}\n" INDEX "chunks: [" CHUNK("''") "]\n",
	  "not a file name" },
	{ TOP "options: {}\n" INDEX "chunks: [{name: c}]\n",
	  "'bytes' is missing" },
	{ TOP "options: {}\nindex: {name: i, bytes: 1, xxh3_128: 1}\n" CHUNKS,
	  "32 hex digits" },
	{ TOP ROW("c", ", plain_bytes: 9"), "come together" },
	{ TOP ROW("c", ", plain_xxh3_128: " ID), "come together" },
	{ TOP ROW("c", ", plain_bytes: 9, plain_xxh3_128: 1"),
	  "32 hex digits" },
	{ TOP ROW("c", ", sha256: " SHA), "others have none" },
	{ TOP ROW("c", ", sha256: " ID), "64 hex digits" },
	{ TOP "dataset_id_sha256: " SHA "\n" END, "others have none" },
	{ TOP "dataset_id_sha256: " ID "\n" END, "64 hex digits" },
	{ TOP END "files: {}\n", "a list was expected" },
	{ TOP END "files: [" SIDE("") "]\n", "not a file name" },
	{ TOP END "files: [" SIDE("/a") "]\n", "not a file name" },
	{ TOP END "files: [" SIDE("a/") "]\n", "not a file name" },
	{ TOP END "files: [" SIDE("../a") "]\n", "not a file name" },
	{ TOP END "files: [" SIDE("a/..") "]\n", "not a file name" },
	{ TOP END "files: [" SIDE("a/b/c") "]\n", "not a file name" },
	{ TOP END "files: [{name: a, bytes: 1}]\n", "'xxh3_128' is missing" },
	{ TOP "options: {}\nindex: {name: a/i, bytes: 1, xxh3_128: " ID
	      "}\n" CHUNKS,
	  "not a file name" },
	{ TOP "adopted: 1\n" END, "true or false" },
	{ TOP "adopted: true\n" ROW("''", ""), "not a file name" },
	{ TOP "adopted: true\n" ROW("a/", ""), "not a file name" },
	{ TOP ROW("a/c", "") "adopted: true\n", "not a file name" },
	{ TOP "\tx: [\n" END, "line 7" },
	{ TOP "x: [\n" END, "line " },
	{ TOP END "---\na: b\n", "'checksum' is missing" },
	{ TOP END "...\n---\na: b\n", "'checksum' is missing" },
	{ "format: hpdsl-dataset\nversion: 0\n", "no such version" },
	{ "format: hpdsl-dataset\nversion: one\n", "not a number" },
	{ "format: hpdsl-dataset\n- a\n", "line " },
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
		struct hpdsl_error err = { 0 };
		int r = parse_body(refused[i].body, &err);

		if (r != HPDSL_ECORRUPT || !strstr(err.msg, refused[i].msg) ||
		    strncmp(err.msg, NAME ": ", strlen(NAME) + 2))
			fail_msg("%zu, '%s': %d, '%s'", i, refused[i].msg, r,
				 err.msg);
	}
}

static void test_deep(void **state)
{
	char body[4096] = TOP "new: ";
	struct hpdsl_error err;

	(void)state;
	for (int i = 0; i < 500; i++)
		strcat(body, "[");
	for (int i = 0; i < 500; i++)
		strcat(body, "]");
	strcat(body, "\n" END);
	assert_int_equal(parse_body(body, &err), HPDSL_ECORRUPT);
	assert_non_null(strstr(err.msg, "nested too deeply"));
}

static void test_not_ours(void **state)
{
	struct hpdsl_error err;

	(void)state;
	assert_int_equal(parse("", 0, &err), HPDSL_ENOTOURS);
	assert_int_equal(parse("a: b\n", 5, &err), HPDSL_ENOTOURS);
	assert_string_equal(err.msg, NAME ": not an HPDSL manifest");
	assert_int_equal(parse("format: hpdsl-dataset\n", 22, &err),
			 HPDSL_ECORRUPT);
	assert_string_equal(err.msg, NAME ": checksum is missing");
	assert_int_equal(
		parse_body("format: hpdsl-dataset\nversion: 2\n", &err),
		HPDSL_ETOONEW);
	assert_string_equal(err.msg,
			    NAME ": version 2 is too new for this program");
}

/* ---- Options ---------------------------------------------------------- */

static void expect_pairs(const struct hpdsl_pack_options *opt,
			 const char *expected)
{
	char text[1024];
	struct hp_pairs p;
	size_t n = 0;

	assert_int_equal(hp_options_pairs(opt, NULL, &p, NULL), 0);
	for (size_t i = 0; i < p.n; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s=%s ",
				      p.v[i].key, p.v[i].value);
	assert_string_equal(text, expected);
	hp_pairs_release(&p);
}

static void test_options(void **state)
{
	static const char *const patterns[] = { "*.jpg", "a" };
	static const char *const meta[] = { "a=b=c", "d=" };
	struct hpdsl_pack_options opt = { 0 };

	(void)state;
	expect_pairs(&opt, "shuffle=global seed=0 group=key labels=none "
			   "symlinks=follow prefix_input=false litter=1 "
			   "chunk_size=67108864 ");
	opt.shuffle = HPDSL_SHUFFLE_NONE;
	opt.seed = UINT64_MAX;
	opt.group = HPDSL_GROUP_NONE;
	opt.labels = HPDSL_LABELS_DIR;
	opt.label_dir = UINT32_MAX;
	opt.symlinks = HPDSL_SYMLINKS_FOLLOW_ALL;
	opt.prefix_input = true;
	opt.litter = HPDSL_LITTER_KEEP;
	opt.chunks = UINT64_MAX;
	opt.multiple_of = UINT64_MAX;
	opt.include = opt.exclude = patterns;
	opt.n_include = 2;
	opt.n_exclude = 1;
	opt.meta = meta;
	opt.n_meta = 2;
	expect_pairs(
		&opt,
		"shuffle=none seed=18446744073709551615 group=none "
		"labels=dir:4294967295 symlinks=follow-all "
		"prefix_input=true litter=keep chunks=18446744073709551615 "
		"multiple_of=18446744073709551615 include=*.jpg include=a "
		"exclude=*.jpg meta=a=b=c meta=d= ");
	memset(&opt, 0, sizeof opt);
	opt.labels = HPDSL_LABELS_PARENT;
	opt.litter = HPDSL_LITTER_OLD;
	opt.samples_per_chunk = 7;
	opt.multiple_of = 1;
	expect_pairs(&opt, "shuffle=global seed=0 group=key labels=parent "
			   "symlinks=follow prefix_input=false "
			   "samples_per_chunk=7 ");
}

static void test_meta(void **state)
{
	static const char *const good[] = { "a=b=c", "d=" };
	static const char *const bad[] = { "a", "=b", "" };
	static const char *const twice[] = { "a=b", "c=d", "a=c" };
	struct hpdsl_pack_options opt = { .meta = good, .n_meta = 2 };
	struct hpdsl_error err;
	struct hp_pairs p;

	(void)state;
	assert_int_equal(hp_meta_pairs(&opt, &p, &err), 0);
	assert_int_equal(p.n, 2);
	assert_string_equal(p.v[0].key, "a");
	assert_string_equal(p.v[0].value, "b=c");
	assert_string_equal(p.v[1].key, "d");
	assert_string_equal(p.v[1].value, "");
	hp_pairs_release(&p);
	opt.n_meta = 1;
	for (size_t i = 0; i < 3; i++) {
		opt.meta = bad + i;
		assert_int_equal(hp_meta_pairs(&opt, &p, &err), HPDSL_EUSAGE);
	}
	opt.meta = bad;
	assert_int_equal(hp_meta_pairs(&opt, &p, &err), HPDSL_EUSAGE);
	assert_string_equal(err.msg, "meta 'a' is not of the form KEY=VALUE");
	opt.meta = twice;
	opt.n_meta = 3;
	assert_int_equal(hp_meta_pairs(&opt, &p, &err), HPDSL_EUSAGE);
	assert_string_equal(err.msg, "meta 'a=c': this key is given twice");
}

static void expect_difference(const struct hpdsl_pack_options *now,
			      const struct hpdsl_pack_options *was,
			      const char *msg)
{
	struct hpdsl_error err = { 0 };
	struct hp_pairs a, b;
	int r;

	assert_int_equal(hp_options_pairs(now, NULL, &a, NULL), 0);
	assert_int_equal(hp_options_pairs(was, NULL, &b, NULL), 0);
	r = hp_pairs_compare(&a, &b, &err);
	assert_int_equal(r, msg ? HPDSL_EDIFFERS : 0);
	assert_string_equal(err.msg, msg ? msg : "");
	hp_pairs_release(&a);
	hp_pairs_release(&b);
}

static void test_compare(void **state)
{
	static const char *const patterns[] = { "*.jpg", "*.p\nng" };
	static const char *const meta[] = { "a=b" };
	struct hpdsl_pack_options a = { 0 }, b = { 0 };

	(void)state;
	b.chunk_size = 64 << 20;
	expect_difference(&a, &b, NULL);
	a.seed = 2;
	b.seed = 1;
	expect_difference(&a, &b, "seed is 2 now, was 1");
	b.seed = 2;
	a.chunk_size = 1;
	expect_difference(&a, &b, "chunk_size is 1 now, was 67108864");
	a.chunks = 3;
	expect_difference(&a, &b, "chunks is 3 now, was not given");
	expect_difference(&b, &a, "chunks is not given now, was 3");
	a.chunk_size = a.chunks = 0;
	a.include = patterns;
	a.n_include = 1;
	expect_difference(&a, &b, "include is '*.jpg' now, was not given");
	expect_difference(&b, &a, "include is not given now, was '*.jpg'");
	b.include = patterns;
	b.n_include = 2;
	expect_difference(&a, &b,
			  "include is '*.jpg' now, was '*.jpg', '*.p\\nng'");
	expect_difference(&b, &a,
			  "include is '*.jpg', '*.p\\nng' now, was '*.jpg'");
	b.n_include = 1;
	b.meta = meta;
	b.n_meta = 1;
	expect_difference(&a, &b, "meta is not given now, was 'a=b'");
	b.n_meta = 0;
	b.labels = HPDSL_LABELS_DIR;
	expect_difference(&a, &b, "labels is none now, was dir:1");
}

/* A pack's own manifest, read back, has the pack's options. */
static void test_manifest_compare(void **state)
{
	static const char *const include[] = { "*.jpg", "\xff\n" };
	static const char *const meta[] = { "b=1", "a=\x01" };
	struct hpdsl_pack_options opt = { .include = include,
					  .n_include = 2,
					  .meta = meta,
					  .n_meta = 2,
					  .seed = UINT64_MAX };
	struct hp_manifest m = small(), back;
	struct hpdsl_error err = { 0 };
	struct hp_pairs now;
	size_t n;
	char *text;

	(void)state;
	assert_int_equal(hp_options_pairs(&opt, NULL, &now, NULL), 0);
	assert_int_equal(hp_meta_pairs(&opt, &m.meta, NULL), 0);
	m.options = now;
	text = format(&m, &n);
	assert_int_equal(hp_manifest_parse(text, n, NAME, &back, &err), 0);
	assert_int_equal(back.options.n, now.n - 3);
	assert_int_equal(hp_manifest_compare(&back, &now, &err), 0);
	hp_pairs_release(&now);
	opt.n_meta = 1;
	assert_int_equal(hp_options_pairs(&opt, NULL, &now, NULL), 0);
	assert_int_equal(hp_manifest_compare(&back, &now, &err),
			 HPDSL_EDIFFERS);
	assert_string_equal(err.msg, "meta is 'b=1' now, was 'b=1', 'a=\\x01'");
	back.seed = 3;
	assert_int_equal(hp_manifest_compare(&back, &now, &err),
			 HPDSL_EDIFFERS);
	assert_string_equal(err.msg, "seed is 18446744073709551615 now, was 3");
	back.rebuilt = true;
	back.has_seed = false;
	assert_int_equal(hp_manifest_compare(&back, &now, &err),
			 HPDSL_EDIFFERS);
	assert_string_equal(err.msg,
			    NAME " was rebuilt, its options are not known");
	hp_manifest_release(&back);
	hp_pairs_release(&now);
	hp_pairs_release(&m.meta);
	free(text);
}

/* A map that ends and has not begun: the writer keeps what the emitter says. */
static void test_writer_refuses(void **state)
{
	struct hp_yaml_writer w;

	(void)state;
	assert_true(hp_yaml_begin(&w, 1000));
	hp_yaml_end_map(&w);
	hp_yaml_end(&w);
	assert_int_equal(w.fail, -EINVAL);
	free(w.buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_writer_refuses),
		cmocka_unit_test(test_text_of_files),
		cmocka_unit_test(test_round_trip_empty),
		cmocka_unit_test(test_round_trip_files),
		cmocka_unit_test(test_round_trip_nasty),
		cmocka_unit_test(test_round_trip_long),
		cmocka_unit_test(test_many_chunks),
		cmocka_unit_test(test_every_bit),
		cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_not_ours),
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_meta),
		cmocka_unit_test(test_compare),
		cmocka_unit_test(test_manifest_compare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
