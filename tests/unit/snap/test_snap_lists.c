/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What answers many at once: the names of a folder, paths in one buffer,
 * extensions.  Against what the same snapshot says one by one, and against the
 * entries that it was made of.
 */
#include "forge_snap.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* ---- Trees ------------------------------------------------------------ */

struct tree {
	struct spec *v;
	size_t n;
	struct snap_image im;
	struct hpdsl_snapshot *s;
};

static void add(struct tree *t, const char *path, uint16_t mode, uint64_t size)
{
	t->v[t->n++] = (struct spec){ .path = strdup(path),
				      .mode = mode,
				      .size = size };
}

static void begin(struct tree *t, size_t most)
{
	*t = (struct tree){ .v = calloc(most + 1, sizeof *t->v) };
	add(t, "", S_IFDIR | 0755, 0);
}

static void make(struct tree *t)
{
	struct hpdsl_error err = { 0 };

	t->im = snap_make(t->v, t->n, false);
	if (hp_snap_open(t->im.p, t->im.n, "it", &t->s, &err) < 0)
		fail_msg("%s", err.msg);
	if (hpdsl_snapshot_verify(t->s, NULL, NULL, &err) < 0)
		fail_msg("%s", err.msg);
}

static void end(struct tree *t)
{
	hpdsl_snapshot_close(t->s);
	free(t->im.p);
	for (size_t i = 0; i < t->n; i++)
		free((char *)t->v[i].path);
	free(t->v);
}

static void odd_tree(struct tree *t)
{
	char path[600];

	begin(t, 700);
	add(t, "a", S_IFDIR | 0755, 1);
	add(t, "a/\n", S_IFREG | 0644, 2);
	add(t, "a/\xff.\xfe", S_IFREG | 0644, 3);
	add(t, "a/l", S_IFLNK | 0777, 1);
	t->v[t->n - 1].target = "\n";
	add(t, "a-b", S_IFDIR | 0755, 4);
	add(t, "a-b/x.jpg", S_IFREG | 0644, 5);
	add(t, "a/b", S_IFDIR | 0755, 6);
	add(t, "a/b/x.jpg", S_IFREG | 0644, 7);
	add(t, "a/b/y.jpg", S_IFIFO | 0600, 0);
	add(t, "empty", S_IFDIR | 0755, 8);
	add(t, "last", S_IFREG | 0644, 9);
	/* Names of 255 bytes: 16 of them fill the least room. */
	add(t, "long", S_IFDIR | 0755, 10);
	for (int i = 0; i < 40; i++) {
		memset(path, 'n', 5 + 255);
		memcpy(path, "long/", 5);
		sprintf(path + 5 + 255 - 4, ".%03d", i);
		add(t, path, S_IFREG | 0644, (uint64_t)i);
	}
	for (int i = 0; i < 500; i++) {
		sprintf(path, "a-b/%d.%s", i, i % 3 ? "JPEG" : "txt");
		add(t, path, S_IFREG | 0644, (uint64_t)i);
	}
	make(t);
}

/* ---- Names ------------------------------------------------------------ */

/* As readdir has them, with any room. */
static void same_names(const struct tree *t, uint64_t folder, size_t room,
		       size_t most)
{
	struct hpdsl_name_list names = { .room = room, .most = most };
	uint64_t cursor = 0, there = 0, first, n, last;
	int64_t k;

	names.buf = malloc(room);
	names.types = malloc(most);
	assert_int_equal(
		hpdsl_snapshot_folder(t->s, folder, &first, &n, &last, NULL),
		0);
	while ((k = hpdsl_snapshot_names(t->s, folder, &cursor, &names, NULL)) >
	       0) {
		const char *p = names.buf;

		assert_true((uint64_t)k <= most && names.used <= room);
		assert_int_equal(names.first, first + there);
		assert_int_equal(names.total, n);
		for (int64_t i = 0; i < k; i++) {
			const struct spec *v = &t->v[first + there++];

			assert_string_equal(p, v->path + v->base);
			assert_int_equal(names.types[i], v->mode >> 12);
			p += strlen(p) + 1;
		}
		assert_ptr_equal(p, names.buf + names.used);
		assert_int_equal(cursor, there);
	}
	assert_int_equal(k, 0);
	assert_int_equal(there, n);
	assert_int_equal(names.total, n);
	free(names.buf);
	free(names.types);
}

static void test_names(void **state)
{
	static const size_t room[] = { HPDSL_PATH_MAX + 1, 5000, 1 << 20 },
			    most[] = { 1, 3, 1000 };
	struct tree t;

	(void)state;
	odd_tree(&t);
	for (size_t i = 0; i < t.n; i++)
		for (size_t k = 0; S_ISDIR(t.v[i].mode) && k < 9; k++)
			same_names(&t, i, room[k / 3], most[k % 3]);
	end(&t);
}

static void test_names_refused(void **state)
{
	char buf[HPDSL_PATH_MAX + 1];
	uint8_t type;
	struct hpdsl_name_list names = {
		.buf = buf, .room = sizeof buf - 1, .types = &type, .most = 1
	};
	struct hpdsl_error err;
	uint64_t cursor = 0;
	struct tree t;

	(void)state;
	odd_tree(&t);
	assert_int_equal(hpdsl_snapshot_names(t.s, 0, &cursor, &names, &err),
			 HPDSL_EUSAGE);
	assert_string_equal(err.msg, "it: no room for a name of 4095 bytes");
	names.room++;
	names.most = 0;
	assert_int_equal(hpdsl_snapshot_names(t.s, 0, &cursor, &names, &err),
			 HPDSL_EUSAGE);
	names.most = 1;
	assert_int_equal(hpdsl_snapshot_names(t.s, t.n, &cursor, &names, &err),
			 -ERANGE);
	assert_int_equal(
		hpdsl_snapshot_names(t.s, t.n - 1, &cursor, &names, &err),
		-ENOTDIR);
	assert_int_equal(cursor, 0);
	cursor = UINT64_MAX;
	assert_int_equal(hpdsl_snapshot_names(t.s, 0, &cursor, &names, &err),
			 0);
	end(&t);
}

/* ---- Paths in one buffer ---------------------------------------------- */

struct buffer {
	char *p;
	size_t size, n;
};

static void put(struct buffer *b, const char *path)
{
	size_t len = strlen(path) + 1;

	b->p = realloc(b->p, b->size + len);
	memcpy(b->p + b->size, path, len);
	b->size += len;
	b->n++;
}

/* Each is what hpdsl_snapshot_lookup says; frees the buffer. */
static void same_found(const struct hpdsl_snapshot *s, struct buffer *b)
{
	uint64_t *number = malloc(b->n * 8), *size = malloc(b->n * 8);
	uint32_t *mode = malloc(b->n * 4);
	struct hpdsl_found found = { number, size, mode };
	const char *p = b->p;
	int64_t there = 0;

	assert_true(number && size && mode);
	there = hpdsl_snapshot_lookup_list(s, b->p, b->size, b->n, &found,
					   NULL);
	for (size_t i = 0; i < b->n; i++) {
		struct hpdsl_entry e = { .number = HPDSL_NO_ENTRY,
					 .size = UINT64_MAX };

		there -= hpdsl_snapshot_lookup(s, p, strlen(p), &e, NULL) == 0;
		assert_int_equal(number[i], e.number);
		assert_int_equal(size[i], e.size);
		assert_int_equal(mode[i], e.mode);
		p += strlen(p) + 1;
	}
	assert_int_equal(there, 0);
	found = (struct hpdsl_found){ NULL, size, NULL };
	assert_true(hpdsl_snapshot_lookup_list(s, b->p, b->size, b->n, &found,
					       NULL) >= 0);
	free(number);
	free(size);
	free(mode);
	free(b->p);
	*b = (struct buffer){ NULL, 0, 0 };
}

static uint64_t drawn = 1;

static uint64_t draw(uint64_t below)
{
	drawn = drawn * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (drawn >> 33) % below;
}

static void test_list(void **state)
{
	static char longest[HPDSL_PATH_MAX + 2];
	static const char *const absent[] = {
		"a/",	      "/a",    "b",	     "a/b/", "a//b",  ".",
		"a-b/x.jpg/", "a-b/x", "a-b/x.jpgx", "z",    "a/l/x", longest,
	};
	struct buffer b = { NULL, 0, 0 };
	struct tree t;

	(void)state;
	memset(longest, 'd', HPDSL_PATH_MAX + 1);
	odd_tree(&t);
	for (size_t i = 0; i < t.n; i++)
		put(&b, t.v[i].path);
	same_found(t.s, &b);
	for (size_t i = t.n; i-- > 0;)
		put(&b, t.v[i].path);
	same_found(t.s, &b);
	/* Runs of any length, and what is not there in the midst of them. */
	for (int round = 0; round < 200; round++) {
		for (int runs = 0; runs < 20; runs++) {
			size_t i = draw(t.n), k = draw(50);

			for (; k-- && i < t.n; i++)
				put(&b, t.v[i].path);
			if (draw(2))
				put(&b, absent[draw(12)]);
			if (draw(4) == 0)
				put(&b, "");
		}
		same_found(t.s, &b);
	}
	end(&t);
}

static void test_list_refused(void **state)
{
	const struct hpdsl_found none = { NULL, NULL, NULL };
	struct hpdsl_error err;
	struct tree t;

	(void)state;
	odd_tree(&t);
	assert_int_equal(hpdsl_snapshot_lookup_list(t.s, "", 0, 0, &none, NULL),
			 0);
	assert_int_equal(
		hpdsl_snapshot_lookup_list(t.s, "a\0last", 7, 2, &none, &err),
		2);
	/* No end, one too many, one too few; with runs and without. */
	assert_int_equal(
		hpdsl_snapshot_lookup_list(t.s, "a\0last", 6, 2, &none, &err),
		HPDSL_EUSAGE);
	assert_string_equal(err.msg,
			    "it: 1 paths are not 2 with a NUL behind each");
	assert_int_equal(
		hpdsl_snapshot_lookup_list(t.s, "a\0last", 7, 3, &none, &err),
		HPDSL_EUSAGE);
	assert_int_equal(
		hpdsl_snapshot_lookup_list(t.s, "a\0last", 7, 1, &none, &err),
		HPDSL_EUSAGE);
	assert_int_equal(hpdsl_snapshot_lookup_list(t.s,
						    "a-b/0.txt\0a-b/1.JPEG", 20,
						    2, &none, &err),
			 HPDSL_EUSAGE);
	assert_int_equal(hpdsl_snapshot_lookup_list(t.s,
						    "a-b/0.txt\0a-b/1.JPEG", 21,
						    2, &none, &err),
			 2);
	end(&t);
}

/* ---- Extensions ------------------------------------------------------- */

static const struct hpdsl_extension *find(const struct hpdsl_extension *e,
					  int64_t n, const char *name)
{
	for (int64_t i = 0; i < n; i++)
		if (strcmp(e[i].name, name) == 0)
			return &e[i];
	return NULL;
}

static void has(const struct hpdsl_extension *e, int64_t n, const char *name,
		uint64_t files, uint64_t bytes)
{
	e = find(e, n, name);
	if (!e)
		fail_msg("no '%s'", name);
	assert_int_equal(e->len, strlen(name));
	assert_int_equal(e->files, files);
	assert_int_equal(e->bytes, bytes);
}

static void test_extensions(void **state)
{
	struct hpdsl_extension *e;
	struct tree t;
	int64_t n;

	(void)state;
	begin(&t, 40);
	add(&t, "a.d", S_IFDIR | 0755, 1000);
	add(&t, "a.d/x", S_IFREG | 0644, 1);
	add(&t, "a.d/.x", S_IFREG | 0644, 2);
	add(&t, "a.d/..x", S_IFREG | 0644, 4);
	add(&t, "a.d/...", S_IFREG | 0644, 8);
	add(&t, "a.d/.x.y", S_IFREG | 0644, 16);
	add(&t, "a.d/..x..y", S_IFREG | 0644, 32);
	add(&t, "a.d/x.", S_IFREG | 0644, 64);
	add(&t, "a.d/x..", S_IFREG | 0644, 128);
	add(&t, "a.d/x.tar.gz", S_IFREG | 0644, 256);
	add(&t, "a.d/x.seven77", S_IFREG | 0644, 512);
	add(&t, "a.d/x.eight888", S_IFREG | 0644, 1024);
	add(&t, "a.d/y.eight888", S_IFREG | 0644, 2048);
	add(&t, "a.d/y.fifo", S_IFIFO | 0644, 0);
	add(&t, "z.gz", S_IFREG | 0644, 1 << 20);
	make(&t);
	n = hpdsl_snapshot_extensions(t.s, 0, &e, NULL);
	assert_int_equal(n, 6);
	assert_int_equal(e[0].len, 0); /* the most frequent first */
	assert_string_equal(e[1].name, ".");
	has(e, n, "", 4, 15);
	has(e, n, ".y", 2, 48);
	has(e, n, ".", 2, 192);
	has(e, n, ".gz", 2, 256 + (1 << 20));
	has(e, n, ".seven77", 1, 512);
	has(e, n, ".eight888", 2, 3072);
	hpdsl_extensions_free(e);
	assert_int_equal(t.v[1].len, 3);
	n = hpdsl_snapshot_extensions(t.s, 1, &e, NULL);
	assert_int_equal(n, 6);
	has(e, n, ".gz", 1, 256);
	hpdsl_extensions_free(e);
	assert_int_equal(hpdsl_snapshot_extensions(t.s, 2, &e, NULL), -ENOTDIR);
	assert_int_equal(hpdsl_snapshot_extensions(t.s, t.n, &e, NULL),
			 -ERANGE);
	hpdsl_extensions_free(NULL);
	end(&t);
}

static void test_none(void **state)
{
	struct hpdsl_extension *e = NULL;
	struct tree t;

	(void)state;
	begin(&t, 2);
	add(&t, "d", S_IFDIR | 0755, 0);
	make(&t);
	assert_int_equal(hpdsl_snapshot_extensions(t.s, 0, &e, NULL), 0);
	assert_non_null(e);
	hpdsl_extensions_free(e);
	end(&t);
}

/* 100,000 entries in one folder, with 30,000 extensions. */
static void test_many(void **state)
{
	enum { MANY = 100000 };
	struct hpdsl_extension *e;
	struct buffer b = { NULL, 0, 0 };
	struct tree t;
	char name[32];
	int64_t n;

	(void)state;
	begin(&t, MANY);
	for (uint64_t i = 0; i < MANY; i++) {
		sprintf(name, "%06d.%d", (int)i, (int)(i % 30000));
		add(&t, name, S_IFREG | 0644, i);
	}
	make(&t);
	same_names(&t, 0, HPDSL_PATH_MAX + 1, 100);
	same_names(&t, 0, 4 << 20, MANY);
	n = hpdsl_snapshot_extensions(t.s, 0, &e, NULL);
	assert_int_equal(n, 30000);
	has(e, n, ".0", 4, 0 + 30000 + 60000 + 90000);
	has(e, n, ".9999", 4, 9999 + 39999 + 69999 + 99999);
	has(e, n, ".10000", 3, 10000 + 40000 + 70000);
	assert_string_equal(e[0].name, ".0");
	assert_string_equal(e[29999].name, ".29999");
	hpdsl_extensions_free(e);
	for (size_t i = 0; i < 2000; i++)
		put(&b, t.v[i < 1000 ? i : draw(t.n)].path);
	same_found(t.s, &b);
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_names_refused),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_list_refused),
		cmocka_unit_test(test_extensions),
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
