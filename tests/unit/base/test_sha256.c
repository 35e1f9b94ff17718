/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256: known values, pieces, failures of memory; SHA256SUMS; ids. */
#include "make_list.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/sha256.h"
#include "format/sha256sums.h"
#include "memio.h"
#include "each_fault.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- Memory of OpenSSL ------------------------------------------------ */

static long fail_at, count; /* the k-th allocation fails; 0: none does */

static void *take(size_t n, const char *file, int line)
{
	(void)file;
	(void)line;
	return ++count == fail_at ? NULL : malloc(n);
}

static void *take_more(void *p, size_t n, const char *file, int line)
{
	(void)file;
	(void)line;
	return ++count == fail_at ? NULL : realloc(p, n);
}

static void drop(void *p, const char *file, int line)
{
	(void)file;
	(void)line;
	free(p);
}

/* ---- Values ----------------------------------------------------------- */

static void expect(const void *p, size_t n, const char *want)
{
	struct hpdsl_error err;
	uint8_t sum[HP_SHA256];
	char text[65];

	assert_int_equal(hp_sha256(p, n, sum, &err), 0);
	hp_hex(sum, sizeof sum, text);
	assert_string_equal(text, want);
}

/* FIPS 180-4, and what sha256sum says of nothing. */
static void test_known_values(void **state)
{
	static char million[1000000];

	(void)state;
	expect("", 0,
	       "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b85"
	       "5");
	expect("abc", 3,
	       "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015a"
	       "d");
	memset(million, 'a', sizeof million);
	expect(million, sizeof million,
	       "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd"
	       "0");
}

/* One context, many digests, in all kinds of pieces. */
static void test_pieces(void **state)
{
	struct hp_sha256 *s = hp_sha256_new();
	struct hpdsl_error err;
	uint8_t buf[600], want[HP_SHA256], sum[HP_SHA256];

	(void)state;
	assert_non_null(s);
	for (size_t i = 0; i < sizeof buf; i++)
		buf[i] = (uint8_t)(i * 7 + i / 13);
	for (size_t n = 0; n <= sizeof buf; n++) {
		assert_int_equal(hp_sha256(buf, n, want, &err), 0);
		hp_sha256_begin(s);
		hp_sha256_update(s, buf, n / 3);
		hp_sha256_update(s, NULL, 0);
		hp_sha256_update(s, buf + n / 3, n - n / 3);
		hp_sha256_end(s, sum);
		assert_memory_equal(sum, want, sizeof sum);
	}
	/* What was begun and not ended is forgotten. */
	hp_sha256_begin(s);
	hp_sha256_update(s, buf, 100);
	hp_sha256_begin(s);
	hp_sha256_update(s, buf, sizeof buf);
	hp_sha256_end(s, sum);
	assert_memory_equal(sum, want, sizeof sum);
	assert_int_equal(hp_sha256_check(s, &err), 0);
	hp_sha256_free(s);
	hp_sha256_free(NULL);
	assert_int_equal(hp_sha256_check(NULL, &err), 0);
}

/* Contents are hashed twice where that is asked for, else not. */
static void test_contents(void **state)
{
	struct hp_sha256 *s = hp_sha256_new();
	struct hp_content_hash plain, whole, parts;
	struct hp_content_state c;
	uint8_t buf[2000], want[HP_SHA256];
	static const uint8_t zeros[HP_SHA256];

	(void)state;
	assert_non_null(s);
	memset(buf, 0x5a, sizeof buf);
	for (size_t n = 0; n < sizeof buf; n += 37) {
		assert_int_equal(hp_sha256(buf, n, want, NULL), 0);
		hp_content_hash(buf, n, &plain);
		assert_memory_equal(plain.sha256, zeros, HP_SHA256);
		hp_content_hash_sha256(buf, n, s, &whole);
		hp_content_begin_sha256(&c, s);
		hp_content_update(&c, buf, n / 2);
		hp_content_update(&c, buf + n / 2, n - n / 2);
		hp_content_end(&c, &parts);
		assert_int_equal(whole.low64, plain.low64);
		assert_memory_equal(whole.full, plain.full, 16);
		assert_memory_equal(whole.sha256, want, HP_SHA256);
		assert_int_equal(parts.low64, plain.low64);
		assert_memory_equal(parts.sha256, want, HP_SHA256);
		hp_content_begin_sha256(&c, NULL);
		hp_content_update(&c, buf, n);
		hp_content_end(&c, &parts);
		assert_memory_equal(parts.sha256, zeros, HP_SHA256);
	}
	hp_sha256_free(s);
}

/* ---- Failures --------------------------------------------------------- */

static int hash_abc(void)
{
	struct hpdsl_error err;
	uint8_t sum[HP_SHA256];
	int r = hp_sha256("abc", 3, sum, &err);

	if (r == 0) {
		assert_int_equal(sum[0], 0xba);
		assert_int_equal(sum[31], 0xad);
	} else {
		assert_int_equal(err.code, r);
		assert_true(r == -ENOMEM || r == -EIO);
	}
	return r;
}

/* Wherever memory is lacking: an error, or the right digest. */
static void test_no_memory(void **state)
{
	unsigned failed = 0;
	long k = 0;

	(void)state;
	assert_int_equal(hash_abc(), 0);
	do {
		count = 0;
		fail_at = ++k;
		failed += hash_abc() < 0;
		fail_at = 0;
	} while (count >= k);
	assert_true(failed > 0);
	wrap_fail_at(1, false);
	assert_int_equal(hash_abc(), -ENOMEM);
	wrap_fail_at(0, false);
	assert_int_equal(hash_abc(), 0);
}

/* ---- SHA256SUMS ------------------------------------------------------- */

static void fill(struct hp_manifest_file *f, const char *name, uint8_t byte)
{
	f->name = name;
	f->has_sha256 = true;
	memset(f->sha256, byte, sizeof f->sha256);
}

#define X4 "abababab"
#define X64 X4 X4 X4 X4 X4 X4 X4 X4

/* Names of adopted tars may hold anything. */
static void test_sums(void **state)
{
	struct hp_manifest_file chunks[2] = { 0 }, files[2] = { 0 };
	struct hp_manifest_file *more = NULL;
	struct hp_manifest m = {
		.chunks = chunks, .n_chunks = 2, .files = files, .n_files = 2
	};
	struct memio *mem = memio_new();
	const struct hp_io *io = memio_io(mem);
	int dir = io->open(io, AT_FDCWD, ".", O_RDONLY | O_DIRECTORY, 0);
	struct hpdsl_error err;
	uint8_t sum[HP_SHA256];
	const char *want =
		X64 "  index.hpdsl\n\\" X64 "  ../a\\nb\\\\c.tar\n" X64
		    "  d e.tar\n" X64 "  .nv-meta/split.yaml\n";
	const void *text;
	size_t n;

	(void)state;
	fill(&m.index, "index.hpdsl", 0xab);
	fill(&chunks[0], "../a\nb\\c.tar", 0xab);
	fill(&chunks[1], "d e.tar", 0xab);
	fill(&files[0], "SHA256SUMS", 0xcd);
	fill(&files[1], ".nv-meta/split.yaml", 0xab);
	assert_int_equal(hp_sha256sums_write(io, dir, &m, &more, &err), 0);
	text = memio_bytes(mem, "SHA256SUMS", &n);
	assert_int_equal(n, strlen(want));
	assert_memory_equal(text, want, n);
	/* The old row of it has gone, the new one is the last. */
	assert_ptr_equal(m.files, more);
	assert_int_equal(m.n_files, 2);
	assert_string_equal(more[0].name, ".nv-meta/split.yaml");
	assert_string_equal(more[1].name, "SHA256SUMS");
	assert_int_equal(more[1].bytes, n);
	assert_int_equal(hp_sha256(want, n, sum, &err), 0);
	assert_memory_equal(more[1].sha256, sum, sizeof sum);
	free(more);
	io->close(io, dir);
	memio_free(mem);
}

static void test_sums_no_memory(void **state)
{
	struct hp_manifest_file chunk = { 0 }, *more = NULL;
	struct hp_manifest m = { .chunks = &chunk, .n_chunks = 1 };
	struct memio *mem = memio_new();
	const struct hp_io *io = memio_io(mem);
	int dir = io->open(io, AT_FDCWD, ".", O_RDONLY | O_DIRECTORY, 0);
	struct hpdsl_error err;
	struct each_alloc e = { .k = 0 };
	int r = -ENOMEM;

	(void)state;
	fill(&m.index, "index.hpdsl", 1);
	fill(&chunk, "chunk-000000.tar", 2);
	while (r && each_alloc(&e)) {
		each_alloc_begin(&e);
		r = hp_sha256sums_write(io, dir, &m, &more, &err);
		each_alloc_end(&e);
		/* libcrypto does not say what it lacked. */
		assert_true(r == 0 || r == -ENOMEM || r == -EIO);
		assert_int_equal(m.n_files, r == 0);
	}
	assert_int_equal(r, 0);
	assert_true(e.k > 3);
	free(more);
	io->close(io, dir);
	memio_free(mem);
}

/* ---- The dataset id --------------------------------------------------- */

static void test_id(void **state)
{
	uint8_t bytes[512], want[HP_SHA256], id[16], plain[16], sha[HP_SHA256];
	static const uint8_t zeros[HP_SHA256];
	struct hp_list list;
	size_t n = 0;

	(void)state;
	list_begin(&list, 3);
	list_add(&list, "b");
	list_add(&list, "a/c");
	list_add(&list, "a/b.cls");
	list.files[2].flags = HP_FILE_GENERATED;
	assert_int_equal(hp_list_id(&list, plain, sha, NULL), 0);
	assert_memory_equal(sha, zeros, sizeof sha);
	list.sha256 = calloc(3, HP_SHA256);
	assert_non_null(list.sha256);
	for (int i = 0; i < 3; i++) {
		list.files[i].size = (uint64_t)i + 7;
		memset(list.sha256[i], i + 1, HP_SHA256);
	}
	/* In the order of the paths, without what was generated. */
	for (int i = 1; i >= 0; i--) {
		const struct hp_file *f = &list.files[i];

		memcpy(bytes + n, f->path, f->path_len + 1u);
		n += f->path_len + 1u;
		hp_put64(bytes + n, f->size);
		memcpy(bytes + n + 8, list.sha256[i], HP_SHA256);
		n += 8 + HP_SHA256;
	}
	assert_int_equal(hp_sha256(bytes, n, want, NULL), 0);
	assert_int_equal(hp_list_id(&list, id, sha, NULL), 0);
	assert_memory_equal(sha, want, sizeof sha);
	assert_int_equal(hp_list_id(&list, plain, sha, NULL), 0);
	assert_memory_equal(id, plain, sizeof id);
	hp_list_release(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_known_values),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_contents),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_sums_no_memory),
		cmocka_unit_test(test_id),
	};

	/* Before it has taken any. */
	if (CRYPTO_set_mem_functions(take, take_more, drop) != 1)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
