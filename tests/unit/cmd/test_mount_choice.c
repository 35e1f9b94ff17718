/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-mount: which files are left of a small dataset, and that there is no
 * folder without one.
 */
#include "cmd/mount/choice.c"

#include "packed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { CATS, DOGS };

static const char *const files[] = {
	"top.txt",	    "train/cats/1.jpg", "train/cats/1.json",
	"train/dogs/2.jpg", "train/dogs/[2]",	"trainer/cats/3.jpg",
	"val/cats/4.jpg",   "val/dogs/a/5.jpg",
};

static struct packed p;
static struct hpdsl_dataset *ds;

static int setup(void **state)
{
	struct hpdsl_error err;

	(void)state;
	packed_begin(&p);
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		packed_file(&p, files[i], 10 + i, 0644, 1000, 0);
	packed_pack(&p, (struct hpdsl_pack_options){
				.labels = HPDSL_LABELS_PARENT });
	assert_int_equal(hpdsl_open(p.out, NULL, &ds, &err), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	hpdsl_close(ds);
	packed_end(&p);
	return 0;
}

/* A folder without a file is none. */
static void check_folder(const struct hpdsl_snapshot *s,
			 const struct hpdsl_entry *e)
{
	uint64_t first, n, end;
	struct hpdsl_error err;

	assert_int_equal(
		hpdsl_snapshot_folder(s, e->number, &first, &n, &end, &err), 0);
	assert_true(n > 0 || e->number == 0);
}

/* Paths of the files that there are, each with a blank behind it. */
static const char *seen(struct mount_choice *c)
{
	const struct hpdsl_snapshot_options opt = {
		.choose = mount_choice_has,
		.choose_arg = c,
	};
	static char text[1000];
	char path[HPDSL_PATH_MAX + 1];
	struct hpdsl_snapshot_info info;
	struct hpdsl_snapshot *s;
	struct hpdsl_error err;
	struct hpdsl_entry e;
	size_t n;

	c->ds = ds;
	c->folder = c->folder ? c->folder : "";
	assert_int_equal(hpdsl_snapshot_of(ds, &opt, &s, &err), 0);
	hpdsl_snapshot_info(s, &info);
	text[0] = '\0';
	for (uint64_t i = 0; i < info.entries; i++) {
		assert_int_equal(hpdsl_snapshot_stat(s, i, &e, &err), 0);
		if (S_ISDIR(e.mode)) {
			check_folder(s, &e);
			continue;
		}
		assert_int_equal(hpdsl_snapshot_path(s, i, path, &n, &err), 0);
		strcat(strcat(text, path), " ");
	}
	assert_int_equal(hpdsl_snapshot_verify(s, NULL, NULL, &err), 0);
	hpdsl_snapshot_close(s);
	return text;
}

static void test_folder(void **state)
{
	(void)state;
	assert_string_equal(seen(&(struct mount_choice){ .folder = "train" }),
			    "train/cats/1.jpg train/cats/1.json "
			    "train/dogs/2.jpg train/dogs/[2] ");
	assert_string_equal(
		seen(&(struct mount_choice){ .folder = "val/dogs" }),
		"val/dogs/a/5.jpg ");
	assert_string_equal(seen(&(struct mount_choice){ .folder = "tr" }), "");
	assert_string_equal(seen(&(struct mount_choice){ .folder = "top.txt" }),
			    "");
}

static const char *included(const char *folder, const char *a, const char *b,
			    _Atomic bool *hit)
{
	const char *const globs[] = { a, b };

	hit[0] = hit[1] = false;
	return seen(&(struct mount_choice){
		.folder = folder,
		.include = globs,
		.n_include = b ? 2 : 1,
		.hit = hit,
	});
}

static void test_include(void **state)
{
	_Atomic bool hit[2];

	(void)state;
	assert_string_equal(included("", "*.json", NULL, hit),
			    "train/cats/1.json ");
	assert_true(hit[0]);
	assert_string_equal(included("", "cats/", "*.txt", hit),
			    "top.txt train/cats/1.jpg train/cats/1.json "
			    "trainer/cats/3.jpg val/cats/4.jpg ");
	/* both are of the same files */
	assert_string_equal(included("", "*/dogs/*", "[[]2]", hit),
			    "train/dogs/2.jpg train/dogs/[2] ");
	assert_true(hit[0] && hit[1]);
	assert_string_equal(included("", "train/dogs/[2]", "none", hit),
			    "train/dogs/[2] ");
	assert_true(hit[0] && !hit[1]);
	/* against the whole path; what matches elsewhere is no hit */
	assert_string_equal(included("val", "val/*/*.jpg", "*.json", hit),
			    "val/cats/4.jpg ");
	assert_true(hit[0] && !hit[1]);
	assert_string_equal(included("", "none", "neither", hit), "");
	assert_true(!hit[0] && !hit[1]);
}

static void test_label(void **state)
{
	static const char *const jpg[] = { "*.jpg" };
	uint32_t labels[2];
	_Atomic bool hit[1] = { false };
	struct hpdsl_counts n;
	struct hpdsl_error err;
	const char *name;

	(void)state;
	hpdsl_count(ds, &n);
	for (uint32_t i = 0; i < n.classes; i++) {
		assert_int_equal(hpdsl_class_name(ds, i, &name, &err), 0);
		if (strcmp(name, "cats") == 0)
			labels[CATS] = i;
		if (strcmp(name, "dogs") == 0)
			labels[DOGS] = i;
	}
	assert_string_equal(seen(&(struct mount_choice){
				    .labels = labels + DOGS, .n_labels = 1 }),
			    "train/dogs/2.jpg train/dogs/[2] ");
	assert_string_equal(
		seen(&(struct mount_choice){ .labels = labels, .n_labels = 2 }),
		"train/cats/1.jpg train/cats/1.json train/dogs/2.jpg "
		"train/dogs/[2] trainer/cats/3.jpg val/cats/4.jpg ");
	assert_string_equal(seen(&(struct mount_choice){ .folder = "train",
							 .include = jpg,
							 .n_include = 1,
							 .hit = hit,
							 .labels = labels,
							 .n_labels = 1 }),
			    "train/cats/1.jpg ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_folder),
		cmocka_unit_test(test_include),
		cmocka_unit_test(test_label),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
