/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is different between two snapshots, against the simplest way to find
 * out: every path of both is looked up in the other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "make_list.h"
#include "snap/text.h"
#include "snap_model.h"
#include "each_fault.h"

#include <errno.h>
#include <time.h>

/* ---- Differences ------------------------------------------------------ */

struct found {
	char *path;
	char kind; /* + - ~ */
	unsigned fields;
};

struct list {
	struct found *found;
	size_t n, room;
	uint64_t compared;
	bool any;
	int64_t newest;
	uint32_t newest_nsec;
	const struct model *before, *after;
};

static void add(struct list *l, const char *path, char kind, unsigned fields)
{
	if (l->n == l->room) {
		l->room = l->room ? 2 * l->room : 64;
		l->found = reallocarray(l->found, l->room, sizeof *l->found);
	}
	l->found[l->n].path = strcpy(malloc(strlen(path) + 1), path);
	l->found[l->n].kind = kind;
	l->found[l->n++].fields = fields;
}

static void release(struct list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->found[i].path);
	free(l->found);
}

static int by_path(const void *a, const void *b)
{
	return model_compare(((const struct found *)a)->path,
			     ((const struct found *)b)->path);
}

static void note(struct list *l, const struct thing *t)
{
	if (!l->any || t->mtime > l->newest ||
	    (t->mtime == l->newest && t->nsec > l->newest_nsec)) {
		l->newest = t->mtime;
		l->newest_nsec = t->nsec;
	}
	l->any = true;
}

static unsigned fields_of(const struct thing *a, const struct thing *b,
			  bool dataset)
{
	unsigned fields = 0;

	if ((a->mode ^ b->mode) & S_IFMT)
		return HPDSL_DIFF_TYPE;
	if ((a->mode ^ b->mode) & (dataset ? 0777 : 07777))
		fields |= HPDSL_DIFF_MODE;
	if (S_ISDIR(a->mode))
		return fields;
	if (a->size != b->size)
		fields |= HPDSL_DIFF_SIZE;
	if (a->mtime != b->mtime || a->nsec != b->nsec)
		fields |= HPDSL_DIFF_MTIME;
	if (S_ISLNK(a->mode) && strcmp(a->target, b->target))
		fields |= HPDSL_DIFF_TARGET;
	if (a->member != HPDSL_NO_MEMBER && b->member != HPDSL_NO_MEMBER &&
	    a->checksum != b->checksum)
		fields |= HPDSL_DIFF_CONTENT;
	return fields;
}

static bool counts(const struct thing *t, bool dataset)
{
	return t && !(dataset && S_ISDIR(t->mode));
}

static void expect(struct list *l, const struct model *a, const struct model *b)
{
	bool dataset = a->dataset || b->dataset;

	for (size_t i = 0; i < a->n; i++) {
		const struct thing *x = &a->things[i];
		const struct thing *y = model_find(b, x->path);
		unsigned fields;

		if (!counts(x, dataset))
			continue;
		if (!counts(y, dataset)) {
			add(l, x->path, '-', 0);
			continue;
		}
		l->compared++;
		fields = fields_of(x, y, dataset);
		if (fields) {
			add(l, x->path, '~', fields);
			note(l, y);
		}
	}
	for (size_t i = 0; i < b->n; i++)
		if (counts(&b->things[i], dataset) &&
		    !counts(model_find(a, b->things[i].path), dataset)) {
			add(l, b->things[i].path, '+', 0);
			note(l, &b->things[i]);
		}
	if (l->n)
		qsort(l->found, l->n, sizeof *l->found, by_path);
}

/* An entry that is told of is that of the model. */
static void check_entry(const struct model *m, const char *path,
			const struct hpdsl_entry *e)
{
	const struct thing *t;
	const char *slash = strrchr(path, '/');

	if (!e)
		return;
	t = model_find(m, path);
	assert_non_null(t);
	assert_string_equal(e->name, slash ? slash + 1 : path);
	assert_int_equal(e->mode, t->mode);
	assert_int_equal(e->mtime, t->mtime);
	assert_int_equal(e->mtime_nsec, t->nsec);
	assert_int_equal(e->size, t->size);
	assert_int_equal(e->member, t->member);
}

static void collect(void *arg, const struct hpdsl_difference *d)
{
	struct list *l = arg;

	assert_int_equal(strlen(d->path), d->path_len);
	assert_true(d->before || d->after);
	assert_int_equal(!d->fields, !d->before || !d->after);
	check_entry(l->before, d->path, d->before);
	check_entry(l->after, d->path, d->after);
	add(l, d->path,
	    d->before && d->after ? '~' :
	    d->before		  ? '-' :
				    '+',
	    d->fields);
}

static void check_lists(const struct list *want, const struct list *got)
{
	for (size_t i = 0; i < want->n && i < got->n; i++)
		if (strcmp(want->found[i].path, got->found[i].path) ||
		    want->found[i].kind != got->found[i].kind ||
		    want->found[i].fields != got->found[i].fields)
			fail_msg("%zu: wanted %c %s %x, got %c %s %x", i,
				 want->found[i].kind, want->found[i].path,
				 want->found[i].fields, got->found[i].kind,
				 got->found[i].path, got->found[i].fields);
	assert_int_equal(want->n, got->n);
}

static uint64_t count(const struct list *l, char kind)
{
	uint64_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += l->found[i].kind == kind;
	return n;
}

static void diff_snaps(const struct hpdsl_snapshot *a,
		       const struct hpdsl_snapshot *b, const struct model *ma,
		       const struct model *mb)
{
	struct list want = { .n = 0 }, got = { .before = ma, .after = mb };
	struct hpdsl_diff_options opt = { .difference = collect, .arg = &got };
	struct hpdsl_diff_report report, silent;
	struct hpdsl_error err = { .code = 0 };
	int r;

	expect(&want, ma, mb);
	r = hpdsl_snapshot_diff(a, b, &opt, &report, &err);
	assert_int_equal(r, want.n ? HPDSL_EDIFFERS : 0);
	assert_int_equal(err.code, r);
	check_lists(&want, &got);
	assert_int_equal(report.compared, want.compared);
	assert_int_equal(report.added, count(&want, '+'));
	assert_int_equal(report.removed, count(&want, '-'));
	assert_int_equal(report.changed, count(&want, '~'));
	assert_int_equal(report.newest, want.newest);
	assert_int_equal(report.newest_nsec, want.newest_nsec);
	opt.difference = NULL;
	assert_int_equal(hpdsl_snapshot_diff(a, b, &opt, &silent, NULL), r);
	assert_memory_equal(&silent, &report, sizeof report);
	release(&want);
	release(&got);
}

/* Both ways round, and each with itself. */
static void check_diff(struct model *a, struct model *b)
{
	void *a_bytes, *b_bytes;
	struct hpdsl_snapshot *sa, *sb;

	model_shuffle(a);
	model_shuffle(b);
	sa = model_snap(a, &a_bytes);
	sb = model_snap(b, &b_bytes);
	diff_snaps(sa, sb, a, b);
	diff_snaps(sb, sa, b, a);
	diff_snaps(sa, sa, a, a);
	diff_snaps(sb, sb, b, b);
	model_free_snap(sa, a_bytes);
	model_free_snap(sb, b_bytes);
}

/* ---- At random -------------------------------------------------------- */

static void edit(struct model *m, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		model_edit(m);
	if (m->dataset)
		model_tidy(m);
}

static void test_edits(void **state)
{
	uint64_t random = 12345;

	(void)state;
	for (uint64_t seed = 0; seed < 400; seed++) {
		struct model a, b;

		model_begin(&a, seed % 4 == 3, seed);
		model_grow(&a, next_random(&random) % 150);
		edit(&a, 0);
		model_copy(&b, &a);
		edit(&b, next_random(&random) % (seed % 10 ? 50 : 3));
		check_diff(&a, &b);
		model_release(&a);
		model_release(&b);
	}
}

/* The dataset that a pack of the tree gives. */
static void pack(struct model *to, const struct model *from)
{
	model_copy(to, from);
	to->dataset = true;
	for (size_t i = to->n; i-- > 0;) {
		struct thing *t = &to->things[i];

		if (S_ISDIR(t->mode)) {
			t->mode = S_IFDIR | 0755;
			t->size = t->nsec = 0;
			t->mtime = 0;
		} else if (S_ISREG(t->mode)) {
			t->mode &= S_IFREG | 0777;
			t->member = to->members++;
			t->checksum = i;
		} else {
			model_remove(to, t->path);
		}
	}
	model_tidy(to);
}

static void test_tree_and_dataset(void **state)
{
	uint64_t random = 54321;

	(void)state;
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct model tree, dataset;

		model_begin(&tree, false, seed);
		model_grow(&tree, next_random(&random) % 120);
		pack(&dataset, &tree);
		edit(&tree, next_random(&random) % 40);
		edit(&dataset, next_random(&random) % 20);
		check_diff(&tree, &dataset);
		model_release(&tree);
		model_release(&dataset);
	}
}

/* ---- One by one ------------------------------------------------------- */

static struct thing *put(struct model *m, const char *path, uint32_t mode)
{
	struct thing *t = model_add(m, path, mode & S_IFMT);

	assert_non_null(t);
	t->mode = mode;
	t->size = 5;
	t->mtime = 100;
	t->nsec = 7;
	if (S_ISLNK(mode)) {
		free(t->target);
		t->target = strcpy(malloc(6), "where");
	}
	return t;
}

static void make(struct model *m)
{
	model_begin(m, false, 1);
	m->things[0].mode = S_IFDIR | 0755;
	put(m, "d", S_IFDIR | 0755);
	put(m, "d/e", S_IFDIR | 0755);
	put(m, "d/e/f", S_IFREG | 0644);
	put(m, "d-", S_IFREG | 0644);
	put(m, "l", S_IFLNK | 0777);
	put(m, "p", S_IFIFO | 0600);
}

/* As text: "~ path fields" each. */
static void check_told(struct model *a, struct model *b, const char *want)
{
	struct list l = { .before = a, .after = b };
	struct hpdsl_diff_options opt = { .difference = collect, .arg = &l };
	struct hpdsl_diff_report report;
	void *a_bytes, *b_bytes;
	struct hpdsl_snapshot *sa = model_snap(a, &a_bytes);
	struct hpdsl_snapshot *sb = model_snap(b, &b_bytes);
	char got[1024] = "";

	hpdsl_snapshot_diff(sa, sb, &opt, &report, NULL);
	for (size_t i = 0; i < l.n; i++)
		sprintf(got + strlen(got), "%c %s %u\n", l.found[i].kind,
			l.found[i].path, l.found[i].fields);
	assert_string_equal(got, want);
	release(&l);
	model_free_snap(sa, a_bytes);
	model_free_snap(sb, b_bytes);
	check_diff(a, b);
}

static void test_single_edits(void **state)
{
	struct model a, b;
	struct thing *t;

	(void)state;
#define TOLD(change, want)                \
	do {                              \
		make(&a);                 \
		make(&b);                 \
		change;                   \
		check_told(&a, &b, want); \
		model_release(&a);        \
		model_release(&b);        \
	} while (0)
	TOLD((void)0, "");
	TOLD(model_find(&b, "d/e/f")->size++, "~ d/e/f 2\n");
	TOLD(model_find(&b, "d/e/f")->mtime--, "~ d/e/f 4\n");
	TOLD(model_find(&b, "d/e/f")->nsec++, "~ d/e/f 4\n");
	TOLD(model_find(&b, "d/e/f")->mode ^= 04000, "~ d/e/f 8\n");
	TOLD(model_find(&b, "d")->mode ^= 1, "~ d 8\n");
	TOLD(b.things[0].mode ^= 1, "~  8\n");
	/* Of a folder no more than that. */
	TOLD((t = model_find(&b, "d"), t->size++, t->mtime++, t->nsec++), "");
	TOLD(model_find(&b, "l")->target[0] = 'W', "~ l 16\n");
	TOLD(model_find(&b, "p")->mtime++, "~ p 4\n");
	TOLD(model_remove(&b, "d"), "- d 0\n- d/e 0\n- d/e/f 0\n");
	TOLD(model_remove(&a, "d"), "+ d 0\n+ d/e 0\n+ d/e/f 0\n");
	/* Another type: one line, and what was or is below. */
	TOLD((model_remove(&b, "d"), put(&b, "d", S_IFREG | 0600)),
	     "~ d 1\n- d/e 0\n- d/e/f 0\n");
	TOLD((model_remove(&a, "d"), put(&a, "d", S_IFLNK | 0777)),
	     "~ d 1\n+ d/e 0\n+ d/e/f 0\n");
	TOLD((model_remove(&b, "p"), put(&b, "p", S_IFCHR | 0600)), "~ p 1\n");
	/* A folder comes before names that sort before its slash. */
	TOLD((model_remove(&b, "d"), model_remove(&b, "d-")),
	     "- d 0\n- d/e 0\n- d/e/f 0\n- d- 0\n");
#undef TOLD
}

/* ---- Larger ----------------------------------------------------------- */

/* A snapshot of folders with 999 files each; every k-th differs. */
static struct hpdsl_snapshot *make_large(unsigned folders, unsigned k,
					 void **bytes)
{
	struct hpdsl_watch watch = { .arg = NULL };
	struct hp_text text = { .p = NULL };
	struct hp_tree tree = { .arena = NULL };
	struct hpdsl_snapshot *s;
	char line[128];

	hp_text_puts(&text, "hpdsl-snapshot 1\nd 0755 0 0.000000000 - - .\n");
	for (unsigned i = 0, n = 0; i < folders; i++) {
		sprintf(line, "d 0755 0 0.000000000 - - class%04u\n", i);
		hp_text_puts(&text, line);
		for (unsigned j = 0; j < 999; j++, n++) {
			sprintf(line,
				"f 0644 %u 1700000000.123456789 - - "
				"class%04u/image_%06u.jpg\n",
				k && n % k == 0 ? 1 : 2, i, j);
			hp_text_puts(&text, line);
		}
	}
	{
		const struct hp_snap_text t = { text.p, text.n, "large",
						&watch };

		assert_int_equal(hp_snap_parse(&t, &tree, NULL), 0);
	}
	assert_int_equal(hp_snap_in_memory(&tree, 0, "large", bytes, &s, NULL),
			 0);
	hp_tree_release(&tree);
	hp_text_release(&text);
	return s;
}

static double milliseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t); /* clock: only told */
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void progress(void *arg, const struct hpdsl_progress *p)
{
	uint64_t *done = arg;

	assert_string_equal(p->phase, "comparing");
	assert_true(p->done >= *done && p->done <= p->total);
	*done = p->done;
}

static void test_large(void **state)
{
	const char *folders = getenv("SNAP_FOLDERS");
	unsigned n = folders ? (unsigned)atoi(folders) : 50;
	uint64_t done = 0;
	int stop = 1;
	struct hpdsl_diff_options opt = { .watch.progress = progress,
					  .watch.arg = &done };
	struct hpdsl_diff_report report;
	void *a_bytes, *b_bytes;
	struct hpdsl_snapshot *a = make_large(n, 0, &a_bytes);
	struct hpdsl_snapshot *b = make_large(n, 10, &b_bytes);
	double t = milliseconds();

	(void)state;
	assert_int_equal(hpdsl_snapshot_diff(a, b, &opt, &report, NULL),
			 HPDSL_EDIFFERS);
	print_message("# %u entries compared in %.1f ms\n", n * 1000 + 1,
		      milliseconds() - t);
	assert_int_equal(report.compared, n * 1000 + 1);
	assert_int_equal(report.changed, (n * 999 + 9) / 10);
	assert_true(done > 0);
	opt.watch.stop = &stop;
	done = 0;
	assert_int_equal(hpdsl_snapshot_diff(a, b, &opt, &report, NULL),
			 HPDSL_ESTOPPED);
	model_free_snap(a, a_bytes);
	model_free_snap(b, b_bytes);
}

/* As deep as a path can be. */
static void test_deep(void **state)
{
	char path[HPDSL_PATH_MAX + 1] = "";
	struct model a, b;

	(void)state;
	model_begin(&a, false, 2);
	model_begin(&b, false, 2);
	for (size_t i = 0; i < HPDSL_PATH_MAX / 2; i++) {
		strcpy(path + 2 * i, "x");
		put(&a, path, S_IFDIR | 0755);
		strcpy(path + 2 * i + 1, "/");
	}
	path[HPDSL_PATH_MAX - 1] = 'y';
	path[HPDSL_PATH_MAX] = '\0';
	put(&a, path, S_IFREG | 0644);
	check_diff(&a, &b);
	model_release(&a);
	model_release(&b);
}

static void test_no_memory(void **state)
{
	struct hpdsl_diff_options opt = { .difference = NULL };
	struct hpdsl_diff_report report;
	struct hpdsl_error err;
	struct model m;
	struct hpdsl_snapshot *s;
	void *bytes;
	int r = -1;

	(void)state;
	model_begin(&m, false, 3);
	model_grow(&m, 100);
	s = model_snap(&m, &bytes);
	for (struct each_alloc e = { .k = 0 }; r && each_alloc(&e);) {
		each_alloc_begin(&e);
		r = hpdsl_snapshot_diff(s, s, &opt, &report, &err);
		each_alloc_end(&e);
		assert_true(r == 0 || r == -ENOMEM);
		assert_true(e.k < 10);
	}
	assert_int_equal(r, 0);
	model_free_snap(s, bytes);
	model_release(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_single_edits),
		cmocka_unit_test(test_edits),
		cmocka_unit_test(test_tree_and_dataset),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
