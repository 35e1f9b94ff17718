/* SPDX-License-Identifier: Apache-2.0 */
/* Classes from tables: fields, columns, which sample a row names, numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "each_fault.h"
#include "make_list.h"
#include "plan/csv.h"
#include "plan/labels_table.h"

#include <errno.h>
#include <stdio.h>

/* ---- Fields ----------------------------------------------------------- */

/* Fields as "[a][b]", a newline behind each record; or why not. */
static void fields(const char *text, char comma, const char *want)
{
	struct hp_csv c = { text, text + strlen(text), comma, 1 };
	struct hp_text field = { 0 };
	const char *why = "?";
	char got[256] = "";
	size_t n = 0;

	while (c.at < c.end) {
		int r = hp_csv_field(&c, &field, &why);

		if (r < 0) {
			assert_string_equal(why, want);
			break;
		}
		n += (size_t)sprintf(got + n, "[%.*s]%s", (int)field.n,
				     field.n ? field.p : "", r ? "" : "\n");
	}
	if (strcmp(why, want))
		assert_string_equal(got, want);
	hp_text_release(&field);
}

static void test_fields(void **state)
{
	(void)state;
	fields("a,b\r\nc,d", ',', "[a][b]\n[c][d]\n");
	fields("a,,\n,\n", ',', "[a][][]\n[][]\n");
	fields(" a b ,\t\"c\" \r\n", ',', "[a b][c]\n");
	fields("\"a,\"\"b\"\"\",\"x\ny\"\n", ',', "[a,\"b\"][x\ny]\n");
	fields("5\" disk,x\"y\n", ',', "[5\" disk][x\"y]\n");
	fields("\"\"\n", ',', "[]\n");
	fields("a, b \t\" c\" \td\t\n", '\t', "[a, b][ c][d][]\n");
	fields("a\rb,c\r", ',', "[a\rb][c]\n");
	fields("a,\"b", ',', "a quote is not closed");
	fields("\"a\"b,c", ',', "there is text behind a closing quote");
}

static void test_values(void **state)
{
	static const char *const classes[] = {
		"0",  "cat", "-1", "007", "1.5x", "1.2.3", "e5",     "None",
		"[a", ".",   "1e", "-",	  "a]",	  "v1.5",  "big cat"
	};
	static const char *const none[] = { "",	    "1.5",  "1.",   ".5",
					    "-2e3", "1E+4", "null", "nan",
					    "NaN",  "[1]",  "{}",   "+0.0" };

	(void)state;
	for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
		assert_true(hp_label_is_class(classes[i], strlen(classes[i])));
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		assert_false(hp_label_is_class(none[i], strlen(none[i])));
}

/* ---- Tables ----------------------------------------------------------- */

/* A text that begins with a brace is lines of JSON. */
static int read_table(struct hp_labels_file *f, const char *text,
		      const char *columns, struct hpdsl_error *err)
{
	*f = (struct hp_labels_file){ .name = *text == '{' ? "t.jsonl" :
							     "t.csv",
				      .text = strdup(text),
				      .len = strlen(text) };
	return f->text ? hp_labels_table_read(f, hp_labels_comma(f->name),
					      columns, err) :
			 -ENOMEM;
}

static void a_list(struct hp_list *list)
{
	LIST_OF(list, "a/1.jpg", "a/1.json", "a/2.jpg", "b/2.jpg", "b/3.x.jpg",
		"4.jpg", "c/only.jpg");
	list->by_value = true;
	assert_int_equal(hp_list_sort(list, NULL), 0);
	assert_int_equal(hp_list_group(list, HPDSL_GROUP_KEY, NULL), 0);
}

static int label(const char *text, const char *columns, struct hp_list *list,
		 struct hp_labels_told *told, struct hpdsl_error *err)
{
	struct hp_labels_file f;
	int r = read_table(&f, text, columns, err);

	if (r == 0)
		r = hp_list_label_file(list, &f, told, err);
	hp_labels_file_release(&f);
	return r;
}

/* want: "key=class:label" of each sample in order, those without left out. */
static void gives(const char *text, const char *columns, const char *want,
		  uint64_t unmatched, uint64_t classless)
{
	struct hp_labels_told told;
	struct hpdsl_error err;
	struct hp_list list;
	char got[256] = "";
	size_t n = 0;

	a_list(&list);
	assert_int_equal(label(text, columns, &list, &told, &err), 0);
	for (uint64_t s = 0; s < list.n_samples; s++) {
		const struct hp_file *f = &list.files[list.samples[s]];
		uint32_t class = list.labels[s];

		if (class != HPDSL_NO_LABEL)
			n += (size_t)sprintf(got + n, "%s%.*s=%s:%u",
					     n ? " " : "", (int)f->key_len,
					     f->path, list.classes[class],
					     class);
	}
	assert_string_equal(got, want);
	assert_int_equal(told.unmatched, unmatched);
	assert_int_equal(told.classless, classless);
	hp_list_release(&list);
}

static void test_columns(void **state)
{
	(void)state;
	gives("path,class\na/1.jpg,cat\n", NULL, "a/1=cat:0", 0, 0);
	gives("\xef\xbb\xbfLabel, ID\r\ncat,4\r\n", NULL, "4=cat:0", 0, 0);
	gives("file_name,x,target\n4,1,cat", NULL, "4=cat:0", 0, 0);
	gives("id,breed\n4,cat", "id,breed", "4=cat:0", 0, 0);
	gives("id,file,label\n9,4,cat", "2,3", "4=cat:0", 0, 0);
	/* a name goes before a number, one as it is written before another */
	gives("2,1\n4,cat", "2,1", "4=cat:0", 0, 0);
	/* by numbers alone: a header, or a row that names a sample */
	gives("4,cat\nno,dog\n2.jpg,x\n", "1,2", "4=cat:0", 2, 0);
	gives("2.jpg,cat\n4,dog\n", "1,2", "4=dog:0", 1, 0);
	gives("name,class\n4,cat\n", "1,2", "4=cat:0", 0, 0);
	gives("1.5,4\n2,./a/1.jpg\n", "2,1", "a/1=2:2", 0, 1);
	gives("X,x,k\n9,4,cat", "x,K", "4=cat:0", 0, 0);
	gives("\"a,b\",k\n4,cat", "\"a,b\",k", "4=cat:0", 0, 0);
}

static void test_rows(void **state)
{
	(void)state;
	/* path, key, base name, key of a base name */
	gives("path,class\n./a/1.json,p\n/a/2,k\n3.x.jpg,b\nonly,o\n", NULL,
	      "a/1=p:3 a/2=k:1 b/3=b:0 c/only=o:2", 0, 0);
	/* the last two only if they fit one sample */
	gives("path,class\n2,x\n2.jpg,x\n1,x\nno,x\n3,y", NULL,
	      "a/1=x:0 b/3=y:1", 3, 0);
	gives("path,class\na/1,x\n\n  \r\n4,1.5\nonly,\n2,[1]\n", NULL,
	      "a/1=x:0", 0, 3);
	gives("path,class\n4,\"big\ncat\"\n", NULL, "4=big\ncat:0", 0, 0);
	gives("path,class\na/1,x\na/1.json,x\n", NULL, "a/1=x:0", 0, 0);
}

static void test_json(void **state)
{
	(void)state;
	gives("{\"file_name\":\"a/1.jpg\",\"label\":10}\r\n\n"
	      "{\"x\":\"4\",\"label\":2,\"file_name\":\"4.jpg\"}\n"
	      "{\"file_name\":\"no\",\"label\":1}\n"
	      "{\"file_name\":\"b/3\",\"label\":1.5}",
	      NULL, "4=2:2 a/1=10:10", 1, 1);
	/* the first label is none; text that is no number in JSON */
	gives("{\"id\":4,\"class\":null}\n{\"id\":\"a/2\",\"class\":\"1.5\"}",
	      NULL, "a/2=1.5:0", 0, 1);
	gives("{\"i\":4,\"a,b\":\"x\"}\n", "i,\"a,b\"", "4=x:0", 0, 0);
}

static void test_numbers(void **state)
{
	(void)state;
	gives("id,class\na/1,0\na/2,1\nb/2,2\n4,10\n", NULL,
	      "4=10:10 a/1=0:0 a/2=1:1 b/2=2:2", 0, 0);
	gives("id,class\na/1,0\na/2,1\nb/2,2\n4,010\n", NULL,
	      "4=010:1 a/1=0:0 a/2=1:2 b/2=2:3", 0, 0);
	/* what is no class does not make the others text */
	gives("id,class\na/1,0\na/2,10\nb/2,1.5\n", NULL, "a/1=0:0 a/2=10:10",
	      0, 1);
}

static void refused(const char *text, const char *columns, const char *want)
{
	struct hp_labels_told told;
	struct hpdsl_error err = { .code = 0 };
	struct hp_list list;

	a_list(&list);
	assert_int_equal(label(text, columns, &list, &told, &err),
			 HPDSL_EUSAGE);
	assert_string_equal(err.msg, want);
	assert_null(list.labels);
	hp_list_release(&list);
}

static void test_refused(void **state)
{
	(void)state;
	refused("1.jpg, cat\n2.jpg,dog\n", NULL,
		"t.csv: of its columns '1.jpg', 'cat' none is called path, "
		"file, filename, file_name, image, name, key or id; the two "
		"have to be named");
	refused("id,breed\n", NULL,
		"t.csv: of its columns 'id', 'breed' none is called class, "
		"label, category or target; the two have to be named");
	refused("id,Image,label\n", NULL,
		"t.csv: of its columns 'id', 'Image', 'label' several may name "
		"the sample; the two have to be named");
	refused("id,label,class\n", NULL,
		"t.csv: of its columns 'id', 'label', 'class' several may name "
		"the class; the two have to be named");
	refused("id,b\n", "id,3",
		"t.csv: of its columns 'id', 'b' none is '3'; the two have to "
		"be named");
	refused("id,b,b\n", "id,b",
		"t.csv: of its columns 'id', 'b', 'b' more than one is 'b'; "
		"the two have to be named");
	refused("id,b\n", "id,1",
		"t.csv: of its columns 'id', 'b' one is given twice; the two "
		"have to be named");
	for (const char *const *c =
		     (const char *const[]){ "id", "id,b,c", "\"id", NULL };
	     *c; c++)
		refused("id,b\n", *c, "label_columns is not NAME,CLASS");
	refused("path,class\n4,x\n\n4,a,b\n", NULL,
		"t.csv: line 4: 3 columns, where the header has 2");
	refused("path,class\n\"4\n\",x\n4\n", NULL,
		"t.csv: line 4: 1 column, where the header has 2");
	refused("path,class\n4,\"x\n\n", NULL,
		"t.csv: line 2: a quote is not closed");
	refused("path,class\n4,x\n\"\n\",y\n4.jpg,y\n", NULL,
		"t.csv: line 5: the sample of '4.jpg' has another class in "
		"line 2");
	refused("path,class\n", NULL, "t.csv: there is nothing but a header");
	refused("a,b\n", "1,2", "t.csv: there is nothing but a header");
	refused("4,b\n", "2,2",
		"t.csv: of its columns '4', 'b' one is given twice; the two "
		"have to be named");
	refused("path,class\n9,x\n4,1.5\n2,y\n", NULL,
		"t.csv: none of its rows names a member or a key: line 2 '9', "
		"line 4 '2'");
	refused("path,class\n4,1.5\n", NULL,
		"t.csv: none of its rows has a class that is text or a whole "
		"number: line 2 '4'");
}

static void test_json_refused(void **state)
{
	(void)state;
	refused("{\"file_name\":\"4\",\"n\":1}\n", NULL,
		"t.jsonl: of its columns 'file_name' none is called class, "
		"label, category or target; the two have to be named");
	refused("{\"id\":4,\"label\":1}\n\n[]\n", NULL,
		"t.jsonl: line 3: it is no object that names a sample");
	refused("{\"id\":\"01234567890123456789\"}\n{\"id\":1}", "id,id",
		"label_columns is not NAME,CLASS");
	refused("{\"id\":4,\"label\":null}\n", "id,label",
		"t.jsonl: none of its rows has a class that is text or a whole "
		"number: line 1 '4'");
}

static void test_names(void **state)
{
	(void)state;
	assert_int_equal(hp_labels_comma("x/a.csv"), ',');
	assert_int_equal(hp_labels_comma("a.TSV"), '\t');
	assert_int_equal(hp_labels_comma("metadata.jsonl"), '{');
	assert_int_equal(hp_labels_comma(".csv"), 0);
	assert_int_equal(hp_labels_comma("a.csv.txt"), 0);
	assert_int_equal(hp_labels_comma("csv"), 0);
}

static void test_no_memory(void **state)
{
	struct hp_labels_told told;
	int r = -ENOMEM;

	(void)state;
	for (struct each_alloc e = { .in_turn = true }; r && each_alloc(&e);) {
		struct hp_list list;

		a_list(&list);
		each_alloc_begin(&e);
		r = label("id,b\nonly,x\n4,y\n", "id,b", &list, &told, NULL);
		each_alloc_end(&e);
		if (r)
			assert_int_equal(r, -ENOMEM);
		else
			assert_true(e.k > 10);
		hp_list_release(&list);
	}
	assert_int_equal(r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_json_refused),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
