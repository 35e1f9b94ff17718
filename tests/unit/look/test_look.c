/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is at a path, and what small files say of it: each kind, journals in
 * every state, and the k-th file operation or allocation failing, for every k.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "each_fault.h"
#include "format/names.h"
#include "packed.h"
#include "shell.h"
#include "write/journal.h"

static struct packed packed;

/* ---- Kinds ------------------------------------------------------------ */

static void is_kind(const char *name, enum hpdsl_kind want)
{
	enum hpdsl_kind kind = HPDSL_KINDS;
	struct hpdsl_error err = { 0 };

	if (hpdsl_kind_of(packed_at(&packed, name), NULL, &kind, &err) < 0)
		fail_msg("%s: %s", name, err.msg);
	if (kind != want)
		fail_msg("%s: %d, not %d", name, (int)kind, (int)want);
}

static void test_kinds(void **state)
{
	(void)state;
	run("cd %s && mkdir empty hidden tars left yolo lock few && "
	    "touch hidden/.x && mkfifo fifo && ln -s gone dangling && "
	    "tar cf tars/a.tar -C tree . && touch tars/a.json tars/a.txt && "
	    "cp out/chunk-000001.tar left && echo a: b > yolo/dataset.yaml && "
	    "touch lock/.stage.lock && cp out/index.hpdsl copy && "
	    "cp tars/a.tar data && touch few/a.tar few/b few/c few/d few/e",
	    packed.top);
	is_kind("out", HPDSL_KIND_DATASET);
	is_kind("out/", HPDSL_KIND_DATASET);
	is_kind("left", HPDSL_KIND_DATASET);
	is_kind("tree", HPDSL_KIND_TREE);
	is_kind("hidden", HPDSL_KIND_TREE);
	is_kind("yolo", HPDSL_KIND_TREE);
	is_kind("few", HPDSL_KIND_TREE);
	is_kind("empty", HPDSL_KIND_EMPTY);
	is_kind("tars", HPDSL_KIND_TARS);
	is_kind("lock", HPDSL_KIND_STAGE);
	is_kind("gone", HPDSL_KIND_NOTHING);
	is_kind("dangling", HPDSL_KIND_NOTHING);
	is_kind("copy/below", HPDSL_KIND_NOTHING);
	is_kind("fifo", HPDSL_KIND_SPECIAL);
	is_kind("out/chunk-000000.tar", HPDSL_KIND_CHUNK);
	is_kind("tars/a.tar", HPDSL_KIND_TAR);
	is_kind("data", HPDSL_KIND_TAR);
	is_kind("out/index.hpdsl", HPDSL_KIND_INDEX);
	is_kind("copy", HPDSL_KIND_INDEX);
	is_kind("out/dataset.yaml", HPDSL_KIND_MANIFEST);
	is_kind("yolo/dataset.yaml", HPDSL_KIND_FILE);
}

/* Beside a manifest these names are side files, elsewhere anybody's. */
static void test_side_kinds(void **state)
{
	static const char *const names[] = { "SHA256SUMS", "shards.json",
					     "chunk-000007.idx",
					     "chunk-000000.tar.idx" };
	char path[128];

	(void)state;
	run("cd %s && cp -r out sides && mkdir plain sides/.nv-meta "
	    "plain/.nv-meta && touch sides/other.json sides/split.yaml",
	    packed.top);
	for (int ours = 0; ours < 2; ours++) {
		enum hpdsl_kind kind = ours ? HPDSL_KIND_SIDE : HPDSL_KIND_FILE;
		const char *in = ours ? "sides" : "plain";

		for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
			run("touch %s/%s/%s", packed.top, in, names[i]);
			snprintf(path, sizeof path, "%s/%s", in, names[i]);
			is_kind(path, kind);
		}
		run("touch %s/%s/.nv-meta/split.yaml", packed.top, in);
		snprintf(path, sizeof path, "%s/.nv-meta/split.yaml", in);
		is_kind(path, kind);
		snprintf(path, sizeof path, "%s/.nv-meta", in);
		is_kind(path, ours ? HPDSL_KIND_SIDE : HPDSL_KIND_TREE);
	}
	is_kind("sides/other.json", HPDSL_KIND_FILE);
	is_kind("sides/split.yaml", HPDSL_KIND_FILE);
}

/* With a journal it is unfinished until the manifest is there. */
static void test_unfinished_kinds(void **state)
{
	(void)state;
	run("cd %s && cp -r out un && touch un/journal.hpdsl", packed.top);
	is_kind("un", HPDSL_KIND_DATASET);
	is_kind("un/journal.hpdsl", HPDSL_KIND_JOURNAL);
	run("rm %s/un/dataset.yaml", packed.top);
	is_kind("un", HPDSL_KIND_UNFINISHED);
	run("rm %s/un/index.hpdsl", packed.top);
	is_kind("un", HPDSL_KIND_UNFINISHED);
	run("rm %s/un/journal.hpdsl", packed.top);
	is_kind("un", HPDSL_KIND_DATASET);
}

/* ---- The manifest ----------------------------------------------------- */

static const char *value_of(const struct hpdsl_pairs *p, const char *key)
{
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->v[i].key, key) == 0)
			return p->v[i].value;
	return "";
}

static void test_manifest(void **state)
{
	struct hpdsl_manifest *m = NULL;
	struct hpdsl_manifest_info info;
	struct hpdsl_dataset *ds;
	struct hpdsl_error err;
	uint8_t pack[16];

	(void)state;
	assert_int_equal(hpdsl_manifest_open(packed.out, NULL, &m, &err), 0);
	hpdsl_manifest_info(m, &info);
	assert_int_equal(info.samples, 5);
	assert_int_equal(info.members, 5);
	assert_int_equal(info.chunks, 2);
	assert_true(info.has_seed);
	assert_int_equal(info.seed, 7);
	assert_false(info.has_sha256 || info.rebuilt || info.adopted);
	assert_string_equal(value_of(&info.options, "chunks"), "2");
	assert_string_equal(value_of(&info.meta, "licence"), "none");
	assert_int_equal(hpdsl_open(packed.out, NULL, &ds, &err), 0);
	hpdsl_pack_id(ds, pack);
	assert_memory_equal(pack, info.pack, sizeof pack);
	hpdsl_close(ds);
	hpdsl_manifest_close(m);
	hpdsl_manifest_close(NULL);
	m = NULL;
	assert_int_equal(hpdsl_manifest_open(packed.tree, NULL, &m, &err),
			 HPDSL_ENOTOURS);
	assert_null(m);
	assert_int_equal(
		hpdsl_manifest_open(packed_at(&packed, "x"), NULL, &m, &err),
		-ENOENT);
}

/* ---- The journal ------------------------------------------------------ */

static const char options[] = "seed\0"
			      "3\0labels\0none";

/* One with rows of chunks, and what is behind them. */
static void put_journal(const uint32_t *chunks, size_t n, const char *tail)
{
	struct hp_journal_owner owner = { .host = "node17", .pid = 4711 };
	struct hp_journal_head head = { .options_bytes = sizeof options,
					.list_bytes = 400,
					.n_files = 9,
					.chunks = 4 };
	size_t size = HP_JOURNAL_BODY + sizeof options + 400;
	uint8_t *buf = calloc(1, size + (n + 1) * HP_JOURNAL_RECORD);

	assert_non_null(buf);
	hp_journal_head_write(&head, buf);
	hp_journal_owner_write(&owner, buf + HP_JOURNAL_HEAD);
	memcpy(buf + HP_JOURNAL_BODY, options, sizeof options);
	for (size_t i = 0; i < n; i++, size += HP_JOURNAL_RECORD) {
		struct hp_journal_record rec = { .chunk = chunks[i],
						 .bytes = 1000 + i };

		hp_journal_record_write(&rec, buf + size);
	}
	memcpy(buf + size, tail, strlen(tail));
	packed_put(packed_at(&packed, "j/" HP_JOURNAL_NAME), buf,
		   size + strlen(tail));
	free(buf);
}

static int look(const struct hp_io *io, struct hpdsl_unfinished **ret,
		struct hpdsl_error *err)
{
	return hpdsl_unfinished_open(packed_at(&packed, "j"), io, ret, err);
}

static void test_journal(void **state)
{
	static const uint32_t chunks[] = { 0, 2, 2, 1, HP_CHUNKS_MAX };
	struct hpdsl_unfinished *u = NULL;
	struct hpdsl_unfinished_info info;
	struct hpdsl_error err;

	(void)state;
	/* A row that is not whole, and one that is none, end it. */
	for (int torn = 0; torn < 2; torn++) {
		put_journal(chunks, 5,
			    torn ? "CHNK" :
				   "0123456789012345678901234567890123456789");
		assert_int_equal(look(NULL, &u, &err), 0);
		hpdsl_unfinished_info(u, &info);
		assert_true(info.begun);
		assert_int_equal(info.files, 9);
		assert_int_equal(info.chunks, 4);
		assert_int_equal(info.chunks_done, 3);
		assert_int_equal(info.bytes_done, 1000 + 1002 + 1003);
		assert_string_equal(info.host, "node17");
		assert_int_equal(info.process, 4711);
		assert_int_equal(info.options.n, 2);
		assert_string_equal(value_of(&info.options, "seed"), "3");
		assert_true(info.written > 0);
		hpdsl_unfinished_close(u);
	}
	hpdsl_unfinished_close(NULL);
}

/* Writes a head with these numbers, and nothing else. */
static int look_at_head(uint64_t options_bytes, uint64_t list_bytes)
{
	struct hp_journal_head head = { .options_bytes = options_bytes,
					.list_bytes = list_bytes };
	uint8_t buf[HP_JOURNAL_BODY + 4] = { 0 };
	struct hpdsl_unfinished *u = NULL;
	struct hpdsl_error err;
	int r;

	hp_journal_head_write(&head, buf);
	packed_put(packed_at(&packed, "j/" HP_JOURNAL_NAME), buf, sizeof buf);
	r = look(NULL, &u, &err);
	hpdsl_unfinished_close(u);
	return r;
}

static void test_journal_damage(void **state)
{
	struct hpdsl_unfinished *u = NULL;
	struct hpdsl_unfinished_info info;
	struct hpdsl_error err;

	(void)state;
	assert_int_equal(look_at_head(4, 1ull << 59), 0);
	assert_int_equal(look_at_head(3, 0), HPDSL_ECORRUPT);	/* three NULs */
	assert_int_equal(look_at_head(100, 0), HPDSL_ECORRUPT); /* cut off */
	/* No head could say this: it has not begun. */
	assert_int_equal(look_at_head(4, UINT64_MAX - 10), 0);
	assert_int_equal(look_at_head(UINT64_MAX, 0), 0);
	assert_int_equal(look_at_head(0, 0), 0);
	/* One that is empty has not begun. */
	run("> %s/j/%s", packed.top, HP_JOURNAL_NAME);
	assert_int_equal(look(NULL, &u, &err), 0);
	hpdsl_unfinished_info(u, &info);
	assert_false(info.begun);
	assert_int_equal(info.bytes_done, 0);
	hpdsl_unfinished_close(u);
	run("head -c 300 /dev/zero > %s/j/%s", packed.top, HP_JOURNAL_NAME);
	assert_int_equal(look(NULL, &u, &err), 0);
	hpdsl_unfinished_info(u, &info);
	assert_false(info.begun);
	hpdsl_unfinished_close(u);
	run("cd %s/j && rm %s && mkfifo %s", packed.top, HP_JOURNAL_NAME,
	    HP_JOURNAL_NAME);
	assert_int_equal(look(NULL, &u, &err), HPDSL_ECORRUPT);
	run("rm %s/j/%s", packed.top, HP_JOURNAL_NAME);
	assert_int_equal(look(NULL, &u, &err), HPDSL_ENOTOURS);
}

/* ---- Names in tars ---------------------------------------------------- */

struct seen {
	unsigned n, most;
	char last[64];
};

static bool see(void *arg, const char *name, size_t len, uint64_t size)
{
	struct seen *s = arg;

	(void)size;
	snprintf(s->last, sizeof s->last, "%.*s", (int)len, name);
	return ++s->n == s->most;
}

static int names_in(const char *name, uint64_t bytes, struct seen *s)
{
	struct hpdsl_error err;

	return hpdsl_tar_names(packed_at(&packed, name), bytes, see, s, &err);
}

static void test_names(void **state)
{
	struct seen s = { .most = 99 }, two = { .most = 2 },
		    few = { .most = 9 };

	(void)state;
	run("cd %s && tar --sort=name -cf t.tar -C tree a && gzip -k t.tar && "
	    "echo x > text",
	    packed.top);
	assert_int_equal(names_in("t.tar", 0, &s), 1); /* a/0 is stored */
	s.n = 0;
	assert_int_equal(names_in("t.tar", 1, &s), 0);
	assert_int_equal(s.n, 5);
	assert_string_equal(s.last, "a/4.jpg");
	assert_int_equal(names_in("t.tar", 1, &two), 1);
	assert_string_equal(two.last, "a/1.jpg");
	/* What is compressed has to be read. */
	assert_int_equal(names_in("t.tar.gz", 1000, &few), 1);
	assert_int_equal(few.n, 3);
	assert_int_equal(names_in("text", 1, &s), HPDSL_ENOTOURS);
	assert_int_equal(names_in("nothing", 1, &s), -ENOENT);
}

/* ---- Forms of archives, files by themselves --------------------------- */

static void is_form(const char *name, enum hpdsl_tar_form want)
{
	enum hpdsl_tar_form form;
	struct hpdsl_error err;

	assert_int_equal(
		hpdsl_tar_form(packed_at(&packed, name), NULL, &form, &err), 0);
	assert_int_equal(form, want);
}

static void test_forms(void **state)
{
	enum hpdsl_tar_form form = HPDSL_TAR_ZIP;
	struct hpdsl_error err;

	(void)state;
	run("cd %s && mkdir forms && cd forms && tar cf a.zip -C ../tree . && "
	    "gzip -c a.zip > gz.tar && bzip2 -c a.zip > bz.tar && "
	    "xz -c a.zip > xz.tar && printf 'PK\\003\\004....' > z.tar && "
	    "printf '\\050\\265\\057\\375..' > zst.tar && "
	    "printf '\\120\\052\\115\\030..' > skip.tar && > empty.tar && "
	    "lzma -c a.zip > lzma.tar && "
	    "printf 'LZIP\\001\\024..' > lz.tar && "
	    "printf '7z\\274\\257\\047\\034..' > 7z.tar && "
	    "head -c 1024 /dev/zero > zero.gz && head -c 511 /dev/zero > few",
	    packed.top);
	is_form("forms/a.zip", HPDSL_TAR_PLAIN);
	is_form("forms/zero.gz", HPDSL_TAR_PLAIN);
	is_form("forms/gz.tar", HPDSL_TAR_COMPRESSED);
	is_form("forms/bz.tar", HPDSL_TAR_COMPRESSED);
	is_form("forms/xz.tar", HPDSL_TAR_COMPRESSED);
	is_form("forms/zst.tar", HPDSL_TAR_COMPRESSED);
	is_form("forms/skip.tar", HPDSL_TAR_COMPRESSED);
	is_form("forms/lzma.tar", HPDSL_TAR_COMPRESSED);
	is_form("forms/lz.tar", HPDSL_TAR_COMPRESSED);
	is_form("forms/z.tar", HPDSL_TAR_ZIP);
	is_form("forms/7z.tar", HPDSL_TAR_ZIP);
	is_form("forms/empty.tar", HPDSL_TAR_NONE);
	is_form("forms/few", HPDSL_TAR_NONE);
	is_form("out/index.hpdsl", HPDSL_TAR_NONE);
	assert_int_equal(
		hpdsl_tar_form(packed_at(&packed, "forms"), NULL, &form, &err),
		-EINVAL);
	assert_int_equal(
		hpdsl_tar_form(packed_at(&packed, "absent"), NULL, &form, &err),
		-ENOENT);
	assert_int_equal(form, HPDSL_TAR_ZIP);
}

static int check(const char *name, enum hpdsl_kind kind)
{
	struct hpdsl_error err;

	return hpdsl_file_check(packed_at(&packed, name), NULL, kind, &err);
}

static void test_files(void **state)
{
	(void)state;
	run("cd %s && mkdir files && cd files && cp ../out/index.hpdsl i && "
	    "cp ../out/dataset.yaml m && head -c 5000 /dev/zero > s",
	    packed.top);
	assert_int_equal(check("files/i", HPDSL_KIND_INDEX), 0);
	assert_int_equal(check("files/m", HPDSL_KIND_MANIFEST), 0);
	assert_int_equal(check("files/m", HPDSL_KIND_INDEX), HPDSL_ENOTOURS);
	assert_true(check("files/s", HPDSL_KIND_STATE) < 0);
	assert_int_equal(check("files/s", HPDSL_KIND_BOOK), HPDSL_ENOTOURS);
	assert_int_equal(check("files/s", HPDSL_KIND_FILE), 0);
	run("cd %s/files && truncate -s -1 i && truncate -s -2 m", packed.top);
	assert_int_equal(check("files/i", HPDSL_KIND_INDEX), HPDSL_ECORRUPT);
	assert_int_equal(check("files/m", HPDSL_KIND_MANIFEST), HPDSL_ECORRUPT);
	run("> %s/files/i", packed.top);
	assert_int_equal(check("files/i", HPDSL_KIND_INDEX), HPDSL_ECORRUPT);
	assert_int_equal(check("files/none", HPDSL_KIND_MANIFEST), -ENOENT);
}

/* ---- Faults ----------------------------------------------------------- */

static int kind(const struct hp_io *io, struct hpdsl_error *err)
{
	static const char *const paths[] = { "out", "tree", "tars", "t.tar",
					     "out/index.hpdsl" };
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof paths / sizeof *paths; i++) {
		enum hpdsl_kind ret;

		r = hpdsl_kind_of(packed_at(&packed, paths[i]), io, &ret, err);
	}
	return r;
}

static int form(const struct hp_io *io, struct hpdsl_error *err)
{
	enum hpdsl_tar_form ret;

	return hpdsl_tar_form(packed_at(&packed, "t.tar"), io, &ret, err);
}

static int file(const struct hp_io *io, struct hpdsl_error *err)
{
	int r = hpdsl_file_check(packed_at(&packed, "out/index.hpdsl"), io,
				 HPDSL_KIND_INDEX, err);

	return r < 0 ? r :
		       hpdsl_file_check(packed_at(&packed, "out/dataset.yaml"),
					io, HPDSL_KIND_MANIFEST, err);
}

static int manifest(const struct hp_io *io, struct hpdsl_error *err)
{
	struct hpdsl_manifest *m = NULL;
	int r = hpdsl_manifest_open(packed.out, io, &m, err);

	hpdsl_manifest_close(m);
	return r;
}

static int journal(const struct hp_io *io, struct hpdsl_error *err)
{
	struct hpdsl_unfinished *u = NULL;
	int r = look(io, &u, err);

	hpdsl_unfinished_close(u);
	return r;
}

static void faults(int (*what)(const struct hp_io *io, struct hpdsl_error *err))
{
	int fds = count_fds();
	struct each_fault e = { .code = -EIO };

	while (each_fault(&e)) {
		struct hpdsl_error err = { 0 };
		int r;

		r = what(&e.f.io, &err);
		assert_int_equal(count_fds(), fds);
		assert_true(r == 0 || err.msg[0]);
	}
	assert_true(e.k > 3);
}

static void no_memory(int (*what)(const struct hp_io *io,
				  struct hpdsl_error *err))
{
	int fds = count_fds(), r;
	struct each_alloc e = { .k = 0 };

	while (each_alloc(&e)) {
		struct hpdsl_error err = { 0 };

		each_alloc_begin(&e);
		r = what(NULL, &err);
		each_alloc_end(&e);
		assert_int_equal(count_fds(), fds);
		assert_true(r == 0 || err.msg[0]);
	}
	assert_int_equal(r, 0);
	assert_true(e.k > 1);
}

static void test_faults(void **state)
{
	static const uint32_t chunks[] = { 0, 1 };

	(void)state;
	put_journal(chunks, 2, "");
	faults(kind);
	faults(manifest);
	faults(journal);
	faults(form);
	faults(file);
	no_memory(kind);
	no_memory(manifest);
	no_memory(journal);
	no_memory(file);
}

static int begin(void **state)
{
	static const char *const meta[] = { "licence=none" };
	char name[64];

	(void)state;
	packed_begin(&packed);
	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof name, "a/%d.jpg", i);
		packed_file(&packed, name, (size_t)i * 700, 0644, 1000, 0);
	}
	packed_pack(&packed, (struct hpdsl_pack_options){ .chunks = 2,
							  .seed = 7,
							  .meta = meta,
							  .n_meta = 1 });
	run("mkdir %s/j", packed.top);
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
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_side_kinds),
		cmocka_unit_test(test_unfinished_kinds),
		cmocka_unit_test(test_manifest),
		cmocka_unit_test(test_journal),
		cmocka_unit_test(test_journal_damage),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_faults),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
