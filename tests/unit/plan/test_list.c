/* SPDX-License-Identifier: Apache-2.0 */
/* Samples, classes and the dataset id of a list; its release. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "make_list.h"

#include <stdio.h>
#include <unistd.h>

static void group(struct hp_list *list, enum hpdsl_group how)
{
	assert_int_equal(hp_list_sort(list, NULL), 0);
	assert_int_equal(hp_list_group(list, how, NULL), 0);
	assert_int_equal(list->samples[list->n_samples], list->n_files);
}

/* ---- Samples ---------------------------------------------------------- */

static void test_group_key(void **state)
{
	static const char *const first[] = {
		".a.jpg", "a", "a-b.jpg", "b.txt", "b/a.jpg", "b/b.seg.png"
	};
	static const uint64_t files[] = { 2, 4, 1, 1, 3, 1 };
	struct hp_list list;

	(void)state;
	LIST_OF(&list, "b/a.txt", "a.json", ".a.jpg", "a.txt", "b/b.seg.png",
		"a-b.jpg", "a.jpg", "b/a.json", ".a.json", "b/a.jpg", "b.txt",
		"a");
	group(&list, HPDSL_GROUP_KEY);
	assert_int_equal(list.n_samples, 6);
	for (int s = 0; s < 6; s++) {
		uint64_t at = list.samples[s];

		assert_string_equal(list.files[at].path, first[s]);
		assert_int_equal(list.samples[s + 1] - at, files[s]);
	}
	hp_list_release(&list);
}

static void test_joined(void **state)
{
	const struct hp_file *one = NULL, *two = NULL;
	struct hp_list list;

	(void)state;
	LIST_OF(&list, "0.jpg", "0.json", "0.txt", "1.jpg", "1.txt", "2.jpg");
	list.n_roots = 2;
	list.files[2].root = list.files[4].root = 1;
	group(&list, HPDSL_GROUP_KEY);
	assert_int_equal(hp_list_joined(&list, &one, &two), 2);
	assert_string_equal(one->path, "0.jpg");
	assert_string_equal(two->path, "0.txt");
	assert_int_equal(two->root, 1);
	group(&list, HPDSL_GROUP_NONE);
	assert_int_equal(hp_list_joined(&list, &one, &two), 0);
	list.n_roots = 0;
	hp_list_release(&list);
}

static void test_group_none(void **state)
{
	struct hp_list list;

	(void)state;
	LIST_OF(&list, "a.json", "a.jpg", "b");
	group(&list, HPDSL_GROUP_NONE);
	assert_int_equal(list.n_samples, 3);
	for (uint64_t s = 0; s < 3; s++) {
		assert_int_equal(list.samples[s], s);
		assert_int_equal(list.files[s].key_len, 1);
	}
	hp_list_release(&list);
}

/* By the last dot, and in the order of these keys. */
static void test_group_last(void **state)
{
	static const char *const twice[] = { "seg.png", "a.b", "seg.png" };
	static const char *const first[] = {
		"a.jpg",   "a-1.jpg",	"a.1.jpg",
		"a.2.jpg", "b.seg.jpg", "c.nii.gz"
	};
	static const uint64_t files[] = { 1, 1, 3, 1, 1, 1 };
	struct hp_list list;

	(void)state;
	LIST_OF(&list, "a.2.jpg", "a.jpg", "c.nii.gz", "a.1.seg.png",
		"b.seg.jpg", "a.1.jpg", "a-1.jpg", "a.1.json");
	assert_int_equal(hp_list_rule(&list, HPDSL_GROUP_LAST, twice, 3, NULL),
			 0);
	assert_int_equal(list.key.n, 2);
	assert_string_equal(list.key.doubles[0], "a.b");
	assert_string_equal(list.key.doubles[1], "seg.png");
	group(&list, HPDSL_GROUP_LAST);
	assert_int_equal(list.n_samples, 6);
	for (int s = 0; s < 6; s++) {
		uint64_t at = list.samples[s];

		assert_string_equal(list.files[at].path, first[s]);
		assert_int_equal(list.samples[s + 1] - at, files[s]);
	}
	hp_list_release(&list);
}

static void test_rule_refused(void **state)
{
	static const char *const bad[] = { "seg.png", "png" };
	static const char *const good[] = { "seg.png" };
	struct hpdsl_error err = { 0 };
	struct hp_list list;

	(void)state;
	list_begin(&list, 0);
	assert_int_equal(hp_list_rule(&list, HPDSL_GROUP_LAST, bad, 2, &err),
			 HPDSL_EUSAGE);
	assert_non_null(strstr(err.msg, "'png'"));
	for (int group = 0; group < 4; group++)
		assert_int_equal(hp_list_rule(&list, (enum hpdsl_group)group,
					      good, 1, &err),
				 group == HPDSL_GROUP_LAST ? 0 : HPDSL_EUSAGE);
	hp_list_release(&list);
}

static void test_group_nothing(void **state)
{
	struct hp_list list;

	(void)state;
	list_begin(&list, 0);
	group(&list, HPDSL_GROUP_KEY);
	assert_int_equal(list.n_samples, 0);
	assert_int_equal(hp_list_label(&list, HPDSL_LABELS_DIR, 1, NULL), 0);
	assert_int_equal(list.n_classes, 0);
	hp_list_release(&list);
}

/* How many samples have one suffix twice, and the key of the first. */
static void check_suffixes(struct hp_list *list, uint64_t want, const char *key)
{
	uint64_t n = 99, first = 99;
	const struct hp_file *f;

	assert_int_equal(hp_list_same_suffixes(list, &n, &first, NULL), 0);
	assert_int_equal(n, want);
	if (!key) {
		assert_true(first == UINT64_MAX);
		return;
	}
	f = &list->files[list->samples[first]];
	assert_int_equal(f->key_len, strlen(key));
	assert_memory_equal(f->path, key, f->key_len);
}

static void test_same_suffixes(void **state)
{
	struct hp_list list;

	(void)state;
	LIST_OF(&list, "a.b", "a.b.", "a.", "b.x", "b.X", "c/a", "c", "d.");
	group(&list, HPDSL_GROUP_KEY);
	check_suffixes(&list, 0, NULL);
	hp_list_release(&list);

	LIST_OF(&list, "a.jpg", "b/x", "b/x.", "b/x.a", "c", "c.", ".d", ".d.");
	group(&list, HPDSL_GROUP_KEY);
	check_suffixes(&list, 3, ".d");
	group(&list, HPDSL_GROUP_NONE);
	check_suffixes(&list, 0, NULL);
	hp_list_release(&list);

	list_begin(&list, 0);
	group(&list, HPDSL_GROUP_KEY);
	check_suffixes(&list, 0, NULL);
	hp_list_release(&list);
}

/* As in tars of others: not sorted, one path more than once. */
static void test_same_suffixes_apart(void **state)
{
	static uint64_t samples[] = { 0, 4, 8 };
	struct hp_list list;

	(void)state;
	LIST_OF(&list, "a.x", "a.y", "a.z", "a", "b.x", "b.y", "b.z", "b.x");
	for (int i = 0; i < 8; i++)
		list.files[i].key_len = 1;
	list.samples = samples;
	list.n_samples = 2;
	check_suffixes(&list, 1, "b");
	list.samples = NULL;
	hp_list_release(&list);
}

/* ---- Classes ---------------------------------------------------------- */

/* labels: the wanted class name of each sample, NULL for none. */
static void check_labels(struct hp_list *list, enum hpdsl_labels how,
			 uint32_t dir, const char *const *want)
{
	assert_int_equal(hp_list_label(list, how, dir, NULL), 0);
	for (uint64_t s = 0; s < list->n_samples; s++) {
		if (!want[s]) {
			assert_int_equal(list->labels[s], HPDSL_NO_LABEL);
			continue;
		}
		assert_in_range(list->labels[s], 0, list->n_classes - 1);
		assert_string_equal(list->classes[list->labels[s]], want[s]);
	}
	for (uint32_t c = 1; c < list->n_classes; c++)
		assert_true(strcmp(list->classes[c - 1], list->classes[c]) < 0);
}

static void test_labels(void **state)
{
	/* In the order of the list: cat/big lies amid what is in cat. */
	static const char *const dir1[] = { NULL,  "cat", "cat", "cat",
					    "cat", "dog", "dog" };
	static const char *const dir2[] = { NULL,    NULL,  "big", "big",
					    "small", "big", NULL };
	static const char *const dir3[] = { NULL, NULL, NULL, "z",
					    NULL, NULL, NULL };
	static const char *const parent[] = { NULL,    "cat", "big", "z",
					      "small", "big", "dog" };
	struct hp_list list;

	(void)state;
	LIST_OF(&list, "aaa.jpg", "cat/a.jpg", "cat/big/1.jpg", "cat/big/1.txt",
		"cat/big/z/2.jpg", "cat/small/1.jpg", "dog/big/1.jpg",
		"dog/c.jpg");
	group(&list, HPDSL_GROUP_KEY);
	assert_int_equal(list.n_samples, 7);
	assert_int_equal(hp_list_label(&list, HPDSL_LABELS_NONE, 0, NULL), 0);
	assert_null(list.labels);
	assert_int_equal(list.n_classes, 0);

	check_labels(&list, HPDSL_LABELS_DIR, 1, dir1);
	assert_int_equal(list.n_classes, 2);
	check_labels(&list, HPDSL_LABELS_DIR, 0, dir1);
	check_labels(&list, HPDSL_LABELS_DIR, 2, dir2);
	assert_int_equal(list.n_classes, 2);
	check_labels(&list, HPDSL_LABELS_DIR, 3, dir3);
	assert_int_equal(list.n_classes, 1);
	check_labels(&list, HPDSL_LABELS_PARENT, 0, parent);
	assert_int_equal(list.n_classes, 5);
	check_labels(&list, HPDSL_LABELS_DIR, 4, (const char *[7]){ NULL });
	assert_int_equal(list.n_classes, 0);
	hp_list_release(&list);
}

/* Names that begin each other, and bytes above 0x7f, sort by bytes. */
static void test_label_names(void **state)
{
	static const char *const want[] = { "a", "a", "a b", "ab", "\xc3\xa9" };
	struct hp_list list;

	(void)state;
	LIST_OF(&list, "x/a/1", "x/ab/1", "x/a b/1", "x/\xc3\xa9/1", "x/a/2");
	group(&list, HPDSL_GROUP_KEY);
	assert_string_equal(list.files[0].path, "x/a b/1");
	assert_int_equal(hp_list_label(&list, HPDSL_LABELS_PARENT, 0, NULL), 0);
	assert_int_equal(list.n_classes, 4);
	for (int i = 0; i < 4; i++)
		assert_string_equal(list.classes[i], want[i + 1]);
	hp_list_release(&list);
}

static void check_numbers(bool by_value, const char *last,
			  const uint32_t want[4], uint32_t n_classes)
{
	struct hp_list list;
	char name[32];

	list_begin(&list, 5);
	for (const char *const *c =
		     (const char *const[]){ "0", "10", "2", last, NULL };
	     *c; c++) {
		snprintf(name, sizeof name, "%s/x", *c);
		list_add(&list, name);
	}
	list_add(&list, "none");
	list.by_value = by_value;
	group(&list, HPDSL_GROUP_KEY);
	assert_int_equal(hp_list_label(&list, HPDSL_LABELS_DIR, 1, NULL), 0);
	for (int s = 0; s < 4; s++)
		assert_int_equal(list.labels[s], want[s]);
	assert_int_equal(list.labels[4], HPDSL_NO_LABEL);
	assert_int_equal(list.n_classes, n_classes);
	assert_string_equal(list.classes[want[3]], last);
	assert_string_equal(list.classes[0], "0");
	hp_list_release(&list);
}

/* Whole numbers, asked for, keep their value if all are such. */
static void test_label_numbers(void **state)
{
	(void)state;
	check_numbers(true, "3", (uint32_t[]){ 0, 10, 2, 3 }, 11);
	check_numbers(false, "3", (uint32_t[]){ 0, 1, 2, 3 }, 4);
	check_numbers(true, "65534", (uint32_t[]){ 0, 10, 2, 65534 }, 65535);
	check_numbers(true, "65535", (uint32_t[]){ 0, 1, 2, 3 }, 4);
	check_numbers(true, "3x", (uint32_t[]){ 0, 1, 2, 3 }, 4);
	check_numbers(true, "30000000000", (uint32_t[]){ 0, 1, 2, 3 }, 4);
	check_numbers(true, "204", (uint32_t[]){ 0, 10, 2, 204 }, 205);
	check_numbers(true, "20.4", (uint32_t[]){ 0, 1, 2, 3 }, 4);
}

/* A folder beside a file at each step: every sample starts a run. */
static void test_many_classes(void **state)
{
	struct hp_list list;
	char name[64];

	(void)state;
	list_begin(&list, 100000);
	for (unsigned i = 0; i < 50000; i++) {
		sprintf(name, "%05u/%05u/x.png", i, i ^ 12345);
		list_add(&list, name);
		sprintf(name, "%05u/x.png", i);
		list_add(&list, name);
	}
	group(&list, HPDSL_GROUP_KEY);
	assert_int_equal(list.n_samples, 100000);
	assert_int_equal(hp_list_label(&list, HPDSL_LABELS_PARENT, 0, NULL), 0);
	for (uint64_t s = 0; s < list.n_samples; s++) {
		const struct hp_file *f = list.files + list.samples[s];
		const char *class = list.classes[list.labels[s]];
		size_t at = f->path_len > 11 ? 6 : 0;

		assert_memory_equal(f->path + at, class, 5);
		assert_int_equal(class[5], 0);
	}
	hp_list_release(&list);
}

/* ---- The id ----------------------------------------------------------- */

static const struct {
	const char *path, *content;
} id_files[] = {
	{ "a-b.jpg", "" },
	{ "a.jpg", "abc" },
	{ "a/b.jpg", "\n" },
	{ "\xc3\xa9/z", "a longer content than that" },
};

enum { ID_FILES = sizeof id_files / sizeof *id_files };

static void id_list(struct hp_list *list)
{
	list_begin(list, ID_FILES);
	for (int i = 0; i < ID_FILES; i++) {
		const char *text = id_files[i].content;
		struct hp_file *f = list_add(list, id_files[i].path);

		f->size = strlen(text);
		hp_hash128(text, strlen(text), f->full);
	}
}

static void test_id(void **state)
{
	uint8_t bytes[512], want[16], id[16], sha[32];
	uint64_t random = 5;
	struct hp_list list;
	char hex[33];
	size_t n = 0;

	(void)state;
	id_list(&list);
	for (int i = 0; i < ID_FILES; i++) {
		const struct hp_file *f = list.files + i;

		memcpy(bytes + n, f->path, f->path_len + 1u);
		n += f->path_len + 1u;
		hp_put64(bytes + n, f->size);
		memcpy(bytes + n + 8, f->full, 16);
		n += 24;
	}
	hp_hash128(bytes, n, want);
	hp_hex128(want, hex);
	assert_string_equal(hex, "a67c9e97dac8013d4e38f17f821f22f8");

	for (int i = 0; i < 20; i++) {
		list_shuffle(&list, &random);
		assert_int_equal(hp_list_id(&list, id, sha, NULL), 0);
		assert_memory_equal(id, want, 16);
	}
	group(&list, HPDSL_GROUP_KEY);
	list.files[0].mtime = 1;
	list.files[0].root = 1;
	assert_int_equal(hp_list_id(&list, id, sha, NULL), 0);
	assert_memory_equal(id, want, 16);
	list.files[0].size++;
	assert_int_equal(hp_list_id(&list, id, sha, NULL), 0);
	assert_memory_not_equal(id, want, 16);
	hp_list_release(&list);
}

static void test_id_of_nothing(void **state)
{
	struct hp_list list;
	uint8_t id[16], sha[32];
	char hex[33];

	(void)state;
	list_begin(&list, 0);
	assert_int_equal(hp_list_id(&list, id, sha, NULL), 0);
	hp_hex128(id, hex);
	assert_string_equal(hex, "99aa06d3014798d86001c324468d497f");
	hp_list_release(&list);
}

/* ---- Files ------------------------------------------------------------ */

static void test_stamp(void **state)
{
	struct stat st = { .st_dev = 1, .st_ino = 2 }, other = st;
	uint32_t stamp = hp_file_stamp(&st);

	(void)state;
	other.st_atim.tv_sec = 9; /* reading changes nothing */
	assert_int_equal(hp_file_stamp(&other), stamp);
	other.st_ctim.tv_nsec = 1;
	assert_int_not_equal(hp_file_stamp(&other), stamp);
	other = st;
	other.st_ctim.tv_sec = 1;
	assert_int_not_equal(hp_file_stamp(&other), stamp);
	other = st;
	other.st_ino = 1;
	other.st_dev = 2;
	assert_int_not_equal(hp_file_stamp(&other), stamp);
}

static void test_release(void **state)
{
	struct hp_list list = { .n_files = 0 };
	int fd = open("/", O_RDONLY | O_DIRECTORY);

	(void)state;
	hp_list_release(&list);
	LIST_OF(&list, "d/a", "d/b");
	list.roots[0].fd = fd;
	list.roots[1].fd = AT_FDCWD;
	group(&list, HPDSL_GROUP_KEY);
	assert_int_equal(hp_list_label(&list, HPDSL_LABELS_DIR, 1, NULL), 0);
	hp_list_release(&list);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(list.n_roots, 0);
	assert_null(list.files);
	hp_list_release(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_group_key),
		cmocka_unit_test(test_joined),
		cmocka_unit_test(test_group_none),
		cmocka_unit_test(test_group_last),
		cmocka_unit_test(test_rule_refused),
		cmocka_unit_test(test_group_nothing),
		cmocka_unit_test(test_same_suffixes),
		cmocka_unit_test(test_same_suffixes_apart),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_label_names),
		cmocka_unit_test(test_label_numbers),
		cmocka_unit_test(test_many_classes),
		cmocka_unit_test(test_id),
		cmocka_unit_test(test_id_of_nothing),
		cmocka_unit_test(test_stamp),
		cmocka_unit_test(test_release),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
