/* SPDX-License-Identifier: Apache-2.0 */
/* Classes from a file of lines, and the members made of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/hash.h"
#include "each_fault.h"
#include "make_list.h"
#include "plan/labels_file.h"
#include "plan/portable.h"
#include "tmp.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static struct hp_labels_file file_of(const char *text)
{
	return (struct hp_labels_file){ .name = "labels.txt",
					.text = (char *)text,
					.len = strlen(text) };
}

static void group(struct hp_list *list, enum hpdsl_group how)
{
	assert_int_equal(hp_list_sort(list, NULL), 0);
	assert_int_equal(hp_list_group(list, how, NULL), 0);
}

static void a_list(struct hp_list *list, enum hpdsl_group how)
{
	LIST_OF(list, "a/1.jpg", "a/1.json", "a/2.jpg", "a/.3.jpg", "b c.txt",
		"d", "a/1-x.jpg");
	group(list, how);
}

static const char *class_of(const struct hp_list *list, const char *path)
{
	for (uint64_t s = 0; s < list->n_samples; s++)
		for (uint64_t i = list->samples[s]; i < list->samples[s + 1];
		     i++)
			if (!strcmp(list->files[i].path, path))
				return list->labels[s] == HPDSL_NO_LABEL ?
					       "-" :
					       list->classes[list->labels[s]];
	fail_msg("no '%s'", path);
	return NULL;
}

/* ---- Lines ------------------------------------------------------------ */

static void test_lines(void **state)
{
	const struct hp_labels_file f = file_of("a/1.json cat\n"
						"a/2  dog\r\n"
						"\n"
						"./a/.3\tbig dog\n"
						"   \r\n"
						"b c.txt ant  \n"
						"//d\tcat\n"
						"a/1 cat\n"
						"none\tx\n"
						"a/1-x.jpg \xc3\xa9");
	struct hp_labels_told told;
	struct hp_list list;

	(void)state;
	a_list(&list, HPDSL_GROUP_KEY);
	assert_int_equal(hp_list_label_file(&list, &f, &told, NULL), 0);
	assert_int_equal(list.n_classes, 5);
	assert_string_equal(list.classes[0], "ant");
	assert_string_equal(list.classes[1], "big dog");
	assert_string_equal(list.classes[4], "\xc3\xa9");
	assert_string_equal(class_of(&list, "a/1.jpg"), "cat");
	assert_string_equal(class_of(&list, "a/2.jpg"), "dog");
	assert_string_equal(class_of(&list, "a/.3.jpg"), "big dog");
	assert_string_equal(class_of(&list, "b c.txt"), "ant");
	assert_string_equal(class_of(&list, "d"), "cat");
	assert_string_equal(class_of(&list, "a/1-x.jpg"), "\xc3\xa9");
	assert_int_equal(told.lines, 8);
	assert_int_equal(told.unmatched, 1);
	assert_int_equal(told.first[0].line, 9);
	assert_memory_equal(told.first[0].name.s, "none", 4);
	assert_int_equal(told.first[0].name.len, 4);
	hp_list_release(&list);
}

/* A path is tried before a key; names may hold tabs and blanks. */
static void test_which(void **state)
{
	const struct hp_labels_file f = file_of("x one\n"
						"x.a two\n"
						"y z\tw three 4\n"
						"t\ta\tfive\n"
						"# six\n");
	struct hp_labels_told told;
	struct hp_list list;

	(void)state;
	LIST_OF(&list, "x", "x.a.b", ".x.a", "y z\tw", "t\ta.jpg", "y z.jpg",
		"#");
	group(&list, HPDSL_GROUP_NONE);
	assert_int_equal(hp_list_label_file(&list, &f, &told, NULL), 0);
	assert_string_equal(class_of(&list, "x"), "one");
	assert_string_equal(class_of(&list, "x.a.b"), "-");
	assert_string_equal(class_of(&list, "y z\tw"), "-");
	assert_string_equal(class_of(&list, "y z.jpg"), "w three 4");
	assert_string_equal(class_of(&list, "t\ta.jpg"), "five");
	assert_string_equal(class_of(&list, "#"), "six");
	assert_int_equal(told.unmatched, 1);
	hp_list_release(&list);
}

/* With --group=none a key is that of several samples. */
static void test_group_none(void **state)
{
	const struct hp_labels_file f = file_of("a/1 cat\na/2.jpg dog\n");
	struct hp_labels_told told;
	struct hp_list list;

	(void)state;
	a_list(&list, HPDSL_GROUP_NONE);
	assert_int_equal(hp_list_label_file(&list, &f, &told, NULL), 0);
	assert_string_equal(class_of(&list, "a/1.jpg"), "cat");
	assert_string_equal(class_of(&list, "a/1.json"), "cat");
	assert_string_equal(class_of(&list, "a/2.jpg"), "dog");
	assert_string_equal(class_of(&list, "a/1-x.jpg"), "-");
	hp_list_release(&list);
}

static void refused(const char *text, const char *want)
{
	const struct hp_labels_file f = file_of(text);
	struct hp_labels_told told;
	struct hpdsl_error err;
	struct hp_list list;

	a_list(&list, HPDSL_GROUP_KEY);
	assert_int_equal(hp_list_label_file(&list, &f, &told, &err),
			 HPDSL_EUSAGE);
	assert_string_equal(err.msg, want);
	assert_null(list.labels);
	hp_list_release(&list);
}

static void test_refused(void **state)
{
	char *text = malloc(70010);

	(void)state;
	refused("a/1 cat\n\nx y\na/1.jpg dog\n",
		"labels.txt: line 4: the sample of 'a/1.jpg' has another class "
		"in line 1");
	refused("a/1 cat\na/2\n", "labels.txt: line 2: there is no class");
	refused("a/1 cat\n\na/2\t\n", "labels.txt: line 3: there is no class");
	refused("a/2   ", "labels.txt: line 1: there is no class");
	memset(text, 'x', 70010);
	memcpy(text, "a/2\t", 4);
	text[70009] = '\0';
	refused(text, "labels.txt: line 1: the class is too long");
	free(text);
}

static void test_nothing(void **state)
{
	const struct hp_labels_file none = file_of(""), f = file_of("x y\n");
	struct hp_labels_told told;
	struct hp_list list;

	(void)state;
	a_list(&list, HPDSL_GROUP_KEY);
	assert_int_equal(hp_list_label_file(&list, &none, &told, NULL), 0);
	assert_int_equal(told.lines, 0);
	assert_int_equal(list.n_classes, 0);
	assert_int_equal(hp_list_label_file(&list, &f, &told, NULL), 0);
	assert_int_equal(told.unmatched, 1);
	hp_list_release(&list);
	list_begin(&list, 0);
	group(&list, HPDSL_GROUP_KEY);
	assert_int_equal(hp_list_label_file(&list, &f, &told, NULL), 0);
	assert_int_equal(told.unmatched, 1);
	hp_list_release(&list);
}

/* Every member of a random list is found, by path and by key. */
static void test_many(void **state)
{
	enum { N = 20000 };
	char *text = malloc(N * 64), path[64];
	uint64_t random = 3;
	struct hp_labels_told told;
	struct hp_labels_file f;
	struct hp_list list;
	size_t n = 0;

	(void)state;
	list_begin(&list, 2 * N);
	for (int i = 0; i < N; i++) {
		sprintf(path, "%x/%x-%d", i % 7, i % 300, i);
		n += (size_t)sprintf(text + n, "%s%s\tc%d\n", path,
				     i & 1 ? "" : ".b", i % 97);
		strcat(path, ".a");
		list_add(&list, path);
		path[strlen(path) - 1] = 'b';
		list_add(&list, path);
	}
	list_shuffle(&list, &random);
	group(&list, HPDSL_GROUP_KEY);
	f = file_of(text);
	assert_int_equal(hp_list_label_file(&list, &f, &told, NULL), 0);
	assert_int_equal(told.lines, N);
	assert_int_equal(told.unmatched, 0);
	assert_int_equal(list.n_classes, 97);
	for (uint64_t s = 0; s < list.n_samples; s++) {
		const char *p = list.files[list.samples[s]].path;

		sprintf(path, "c%d", atoi(strchr(p, '-') + 1) % 97);
		assert_string_equal(list.classes[list.labels[s]], path);
	}
	hp_list_release(&list);
	free(text);
}

/* ---- The file --------------------------------------------------------- */

static void write_file(const char *name, const char *text, size_t n)
{
	FILE *out = fopen(name, "w");

	assert_non_null(out);
	fwrite(text, 1, n, out);
	assert_int_equal(fclose(out), 0);
}

static void not_read(const char *name, int code, const char *want)
{
	struct hp_labels_file f = { 0 };
	struct hpdsl_error err;

	assert_int_equal(hp_labels_file_read(&f, &hp_io_system, name, &err),
			 code);
	assert_non_null(strstr(err.msg, want));
	hp_labels_file_release(&f);
}

static void test_read(void **state)
{
	char dir[TMP_NAME], name[TMP_NAME + 8];
	struct hp_labels_file f = { 0 };
	uint8_t want[16];

	(void)state;
	assert_non_null(tmp_folder(dir, sizeof dir, "labels"));
	sprintf(name, "%s/labels", dir);
	write_file(name, "a b\nc d\n", 8);
	assert_int_equal(hp_labels_file_read(&f, &hp_io_system, name, NULL), 0);
	hp_hash128("a b\nc d\n", 8, want);
	assert_memory_equal(f.checksum, want, 16);
	assert_int_equal(f.len, 8);
	hp_labels_file_release(&f);

	write_file(name, "a b\nc\0d\n", 8);
	not_read(name, HPDSL_EUSAGE, "line 2: a NUL byte");
	assert_int_equal(truncate(name, (off_t)HP_LABELS_MAX + 1), 0);
	not_read(name, HPDSL_EUSAGE, "at most 1 GiB");
	assert_int_equal(unlink(name), 0);
	not_read(name, -ENOENT, "No such file");
	not_read(dir, -EISDIR, "Is a directory");
	not_read("/dev/null", HPDSL_EUSAGE, "not a regular file");
	rmdir(dir);
}

/* ---- Generated members ------------------------------------------------ */

static void label_all(struct hp_list *list)
{
	struct hp_labels_told told;
	char text[512] = "";
	struct hp_labels_file f;

	for (uint64_t s = 0; s < list->n_samples; s++)
		sprintf(text + strlen(text), "%s\tc%02u\n",
			list->files[list->samples[s]].path, (unsigned)s);
	f = file_of(text);
	assert_int_equal(hp_list_label_file(list, &f, &told, NULL), 0);
}

static void test_cls(void **state)
{
	static const char *const want[] = {
		"a/.3.cls",  "a/.3.jpg", "a/1.abc", "a/1.cls", "a/1.jpg",
		"a/1-x.cls", "a/1-x.d",	 "a/2.cls", "b c.cls", "b c.txt",
		"d",	     "d.cls",	 "e.a",	    "e.cls",   "f.a",
		"f.cls",     "g.a",	 "g.cls",   "h.a",     "h.cls",
		"i.a",	     "i.cls",	 "j.a",	    "j.cls",
	};
	struct hp_list list;
	const struct hp_file *f;

	(void)state;
	for (int portable = 0; portable < 2; portable++) {
		uint64_t at = 0;

		LIST_OF(&list, "a/1.jpg", "a/1.abc", "a/2", "a/.3.jpg",
			"b c.txt", "d", "a/1-x.d", "e.a", "f.a", "g.a", "h.a",
			"i.a", "j.a");
		for (uint64_t i = 0; i < list.n_files; i++) {
			list.files[i].mtime = (int64_t)i * 10;
			list.files[i].nsec = 5;
			list.files[i].mode = 0600 + i % 8;
			list.files[i].root = 1;
		}
		group(&list, HPDSL_GROUP_KEY);
		label_all(&list);
		if (portable)
			assert_int_equal(
				hp_list_portable(&list, HPDSL_GROUP_KEY, NULL),
				0);
		assert_int_equal(hp_list_cls(&list, NULL), 0);
		assert_int_equal(list.n_files, 13 + 12);
		assert_int_equal(list.n_samples, 12);
		assert_int_equal(list.samples[12], list.n_files);
		for (uint64_t i = 0; i < list.n_files; i++) {
			f = &list.files[i];
			assert_int_equal(f->path_len, strlen(f->path));
			assert_int_equal(
				f->key_len,
				hpdsl_key_length(f->path, f->path_len));
			if (!strcmp(f->path, "a/2"))
				continue;
			assert_string_equal(f->path, want[at]);
			at++;
		}
		f = &list.files[3]; /* a/1.cls, like a/1.abc */
		assert_int_equal(f->flags, HP_FILE_GENERATED);
		assert_int_equal(f->mtime, 10);
		assert_int_equal(f->nsec, 5);
		assert_int_equal(f->mode, 0601);
		assert_int_equal(f->size, 1);
		assert_int_equal(f->source, 1);
		assert_int_equal(f->root, 1);
		f = &list.files[24];
		assert_int_equal(f->size, 2);
		assert_int_equal(f->source, 11);
		if (portable) {
			assert_string_equal(hp_stored_name(&list, 0),
					    "a/_3.cls");
			assert_string_equal(hp_stored_name(&list, 1),
					    "a/_3.jpg");
			assert_null(list.stored[3]);
			assert_string_equal(hp_stored_name(&list, 9),
					    "b_c.cls");
		}
		hp_list_release(&list);
	}
}

static void cls_refused(struct hp_list *list, bool portable, const char *want)
{
	struct hpdsl_error err;

	if (portable)
		assert_int_equal(hp_list_portable(list, HPDSL_GROUP_KEY, NULL),
				 0);
	assert_int_equal(hp_list_cls(list, &err), HPDSL_EUSAGE);
	assert_non_null(strstr(err.msg, want));
	hp_list_release(list);
}

static void test_cls_refused(void **state)
{
	const struct hp_labels_file f = file_of("a/1 cat\n");
	struct hp_labels_told told;
	struct hp_list list;

	(void)state;
	a_list(&list, HPDSL_GROUP_KEY);
	cls_refused(&list, false, "needs classes");
	a_list(&list, HPDSL_GROUP_KEY);
	assert_int_equal(hp_list_label_file(&list, &f, &told, NULL), 0);
	cls_refused(&list, false, "'a/.3.jpg' is of a sample without a class");

	LIST_OF(&list, "a.cls", "b.jpg");
	group(&list, HPDSL_GROUP_KEY);
	label_all(&list);
	cls_refused(&list, false, "'a.cls' has the name");
	/* In the chunks only. */
	LIST_OF(&list, "a.CLS", "b.jpg");
	group(&list, HPDSL_GROUP_KEY);
	label_all(&list);
	cls_refused(&list, true, "'a.CLS' has the name");
	LIST_OF(&list, "a.CLS", "b.jpg");
	group(&list, HPDSL_GROUP_KEY);
	label_all(&list);
	assert_int_equal(hp_list_cls(&list, NULL), 0);
	hp_list_release(&list);
}

/* They are not in the dataset id. */
static void test_id(void **state)
{
	uint8_t before[16], after[16], sha[32];
	struct hp_list list;

	(void)state;
	a_list(&list, HPDSL_GROUP_KEY);
	label_all(&list);
	assert_int_equal(hp_list_id(&list, before, sha, NULL), 0);
	assert_int_equal(hp_list_portable(&list, HPDSL_GROUP_KEY, NULL), 0);
	assert_int_equal(hp_list_cls(&list, NULL), 0);
	assert_int_equal(hp_list_id(&list, after, sha, NULL), 0);
	assert_memory_equal(before, after, 16);
	hp_list_release(&list);
}

/* ---- Faults ----------------------------------------------------------- */

static int name_all(struct hp_list *list, const struct hp_labels_file *f,
		    struct hpdsl_error *err)
{
	struct hp_labels_told told;
	int r = hp_list_label_file(list, f, &told, err);

	if (r == 0)
		r = hp_list_portable(list, HPDSL_GROUP_KEY, err);
	return r < 0 ? r : hp_list_cls(list, err);
}

static void test_no_memory(void **state)
{
	const struct hp_labels_file f = file_of("a/1 x\na/2 y\na/.3 z\n"
						"b c.txt x\nd z\na/1-x y\n");
	int r = -ENOMEM;

	(void)state;
	for (struct each_alloc e = { .in_turn = true }; r && each_alloc(&e);) {
		struct hpdsl_error err = { 0 };
		struct hp_list list;

		a_list(&list, HPDSL_GROUP_KEY);
		each_alloc_begin(&e);
		r = name_all(&list, &f, &err);
		each_alloc_end(&e);
		if (r) {
			assert_int_equal(r, -ENOMEM);
			assert_int_equal(err.code, -ENOMEM);
		} else {
			assert_true(e.k > 5);
			assert_int_equal(list.n_files, 13);
		}
		hp_list_release(&list);
	}
	assert_int_equal(r, 0);
}

static void test_read_faults(void **state)
{
	char name[TMP_NAME];
	int fd = tmp_file(name, sizeof name, "labels"), r = -EIO;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "a b\n", 4), 4);
	close(fd);
	for (struct each_fault e = { .code = -EIO }; r && each_fault(&e);) {
		struct hp_labels_file file = { 0 };
		struct hpdsl_error err;

		r = hp_labels_file_read(&file, &e.f.io, name, &err);
		if (r) {
			assert_int_equal(r, -EIO);
			assert_non_null(strstr(err.msg, name));
		} else {
			assert_true(e.k > 3);
			assert_int_equal(file.len, 4);
		}
		hp_labels_file_release(&file);
	}
	assert_int_equal(r, 0);
	unlink(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_which),
		cmocka_unit_test(test_group_none),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_cls),
		cmocka_unit_test(test_cls_refused),
		cmocka_unit_test(test_id),
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_read_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
