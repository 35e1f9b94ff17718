/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorting the files of a list by the bytes of (key, path), or of path.
 *
 * What is compared is one virtual string a file: the key, a NUL, the rest of
 * the path (in path order: the path, a NUL).  As paths hold no NUL, a key comes
 * before all keys that it begins.  The strings are sorted eight bytes at a
 * time, held as big-endian words beside the files' numbers: sort the words,
 * then each run of equal words by its next eight bytes.  This is multikey
 * quicksort (J. Bentley, R. Sedgewick, "Fast Algorithms for Sorting and
 * Searching Strings", SODA 1997) over words, which hides that the paths lie all
 * over memory: a path is read once for each word that it shares with another
 * one.
 *
 * Costs 16 bytes a file; never quadratic; the stack is bounded by the longest
 * path.
 */
#include "base/bytes.h"
#include "base/error.h"
#include "base/mem.h"
#include "plan/list.h"
#include "plan/name_risk.h"

enum { WORD = 8, SMALL = 24 };

struct sorter {
	const struct hp_list *list;  /* NULL: .. */
	const struct hp_name *names; /* .. these are sorted, as paths */
	uint64_t *word; /* eight bytes of the virtual string of .. */
	uint64_t *file; /* .. this file of the list */
	bool by_key;
};

/* ---- Words ------------------------------------------------------------ */

static void sort_small(uint64_t *w, uint64_t *f, uint64_t n)
{
	for (uint64_t i = 1; i < n; i++) {
		uint64_t word = w[i], file = f[i], j = i;

		for (; j > 0 && w[j - 1] > word; j--) {
			w[j] = w[j - 1];
			f[j] = f[j - 1];
		}
		w[j] = word;
		f[j] = file;
	}
}

static void swap(uint64_t *w, uint64_t *f, uint64_t i, uint64_t j)
{
	uint64_t word = w[i], file = f[i];

	w[i] = w[j];
	f[i] = f[j];
	w[j] = word;
	f[j] = file;
}

static void sift_down(uint64_t *w, uint64_t *f, uint64_t i, uint64_t n)
{
	for (uint64_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && w[child + 1] > w[child])
			child++;
		if (w[child] <= w[i])
			return;
		swap(w, f, i, child);
	}
}

static void heap_sort(uint64_t *w, uint64_t *f, uint64_t n)
{
	for (uint64_t i = n / 2; i-- > 0;)
		sift_down(w, f, i, n);
	while (n > 1) {
		swap(w, f, 0, --n);
		sift_down(w, f, 0, n);
	}
}

/*
 * Brings the words below limit to the front and returns their number.  Swaps
 * always and counts instead of branching: half of the branches would be
 * mispredicted.
 */
static uint64_t partition(uint64_t *w, uint64_t *f, uint64_t n, uint64_t limit)
{
	uint64_t below = 0;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t word = w[i], file = f[i];

		w[i] = w[below];
		f[i] = f[below];
		w[below] = word;
		f[below] = file;
		below += word < limit;
	}
	return below;
}

static uint64_t median3(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t low = a < b ? a : b, high = a < b ? b : a;

	return c < low ? low : c > high ? high : c;
}

/* A median of medians of nine words spread evenly. */
static uint64_t choose_pivot(const uint64_t *w, uint64_t n)
{
	uint64_t m[3], step = n / 9;

	for (uint64_t i = 0; i < 3; i++, w += 3 * step)
		m[i] = median3(w[0], w[step], w[2 * step]);
	return median3(m[0], m[1], m[2]);
}

/* Quicksort in three parts; heapsort once bad is 0: too many bad pivots. */
static void sort_some(uint64_t *w, uint64_t *f, uint64_t n, unsigned bad)
{
	while (n > SMALL) {
		uint64_t pivot, low, high;

		if (!bad--) {
			heap_sort(w, f, n);
			return;
		}
		pivot = choose_pivot(w, n);
		low = partition(w, f, n, pivot);
		high = n;
		if (pivot < UINT64_MAX)
			high = low +
			       partition(w + low, f + low, n - low, pivot + 1);
		if (low < n - high) {
			sort_some(w, f, low, bad);
			w += high;
			f += high;
			n -= high;
		} else {
			sort_some(w + high, f + high, n - high, bad);
			n = low;
		}
	}
	sort_small(w, f, n);
}

static void sort_words(uint64_t *w, uint64_t *f, uint64_t n)
{
	unsigned bad = 0;

	for (uint64_t k = n; k; k >>= 1)
		bad += 2;
	sort_some(w, f, n, bad);
}

/* ---- Strings ---------------------------------------------------------- */

static uint64_t load(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return be64toh(v);
}

/* The eight bytes at depth of the virtual string, zeros behind its end. */
static uint64_t word_at(struct hp_name path, size_t key, size_t depth)
{
	uint64_t v = 0;

	if (depth + WORD <= key)
		return load(path.s + depth);
	if (depth > key && depth + WORD - 1 <= path.len)
		return load(path.s + depth - 1);
	for (size_t i = depth; i < depth + WORD; i++) {
		unsigned char c = 0;

		if (i < key)
			c = (unsigned char)path.s[i];
		else if (i > key && i <= path.len)
			c = (unsigned char)path.s[i - 1];
		v = v << 8 | c;
	}
	return v;
}

static uint64_t word_of(const struct sorter *s, uint64_t file, size_t depth)
{
	const struct hp_file *f;

	if (s->names)
		return word_at(s->names[file], s->names[file].len, depth);
	f = s->list->files + file;
	return word_at((struct hp_name){ f->path, f->path_len },
		       s->by_key ? f->key_len : f->path_len, depth);
}

static size_t length_of(const struct sorter *s, uint64_t file)
{
	return s->names ? s->names[file].len : s->list->files[file].path_len;
}

/* Fills in the words; returns whether they are in order already. */
static bool load_words(const struct sorter *s, uint64_t first, uint64_t n,
		       size_t depth)
{
	uint64_t last = 0;
	bool sorted = true;

	for (uint64_t i = first; i < first + n; i++) {
		uint64_t v = word_of(s, s->file[i], depth);

		s->word[i] = v;
		sorted &= v >= last;
		last = v;
	}
	return sorted;
}

/* Behind "two files would become 'x': both from y": what can be done. */
static const char *way_out(const struct hp_root *root)
{
	switch (root->kind) {
	case HP_ROOT_TAR:
	case HP_ROOT_STREAM:
		return ": a tar can be adopted (hpdsl-index -o DIR TAR), the "
		       "last one counts then, and DIR be packed; else unpack "
		       "it, and pack the tree";
	case HP_ROOT_DATASET:
		return ": its tars can be packed themselves, with their names "
		       "in front";
	default:
		return "";
	}
}

static int fail_equal(const struct sorter *s, uint64_t first, uint64_t n,
		      struct hpdsl_error *err)
{
	const struct hp_list *list = s->list;
	const struct hp_file *a = list->files + s->file[first];
	char path[HP_PRINTABLE], one[HP_PRINTABLE], two[HP_PRINTABLE];
	uint16_t low = UINT16_MAX, next = UINT16_MAX;

	/* Of many, name the first two roots, whatever order they came in. */
	for (uint64_t i = first; i < first + n; i++) {
		uint16_t root = list->files[s->file[i]].root;

		if (root <= low) {
			next = low;
			low = root;
		} else if (root < next) {
			next = root;
		}
	}
	hp_printable(a->path, a->path_len, path);
	hp_printable(list->roots[low].name, strlen(list->roots[low].name), one);
	if (low == next)
		return hp_fail(err, HPDSL_EUSAGE,
			       "two files would become '%s': both from %s%s",
			       path, one, way_out(&list->roots[low]));
	hp_printable(list->roots[next].name, strlen(list->roots[next].name),
		     two);
	return hp_fail(
		err, HPDSL_EUSAGE,
		"two files would become '%s': one from %s, one from %s%s", path,
		one, two,
		list->roots[low].prefix_len && list->roots[next].prefix_len ?
			", which have one name: rename one of them" :
			"");
}

/* Files of one path: in the order of the list. */
static void sort_numbers(uint64_t *w, uint64_t *file, uint64_t n)
{
	memcpy(w, file, n * sizeof *w);
	sort_words(w, file, n);
}

/* Sorts files first .. first + n - 1, n > 1, whose strings agree up to depth.
 */
static int sort_strings(const struct sorter *s, uint64_t first, uint64_t n,
			size_t depth, struct hpdsl_error *err)
{
	uint64_t *w = s->word + first;

	for (;; depth += WORD) {
		/* Agree up to behind the end of one: they are the same. */
		if (length_of(s, s->file[first]) + 1 < depth) {
			if (s->list && !s->list->repeats)
				return fail_equal(s, first, n, err);
			sort_numbers(w, s->file + first, n);
			return 0;
		}
		if (!load_words(s, first, n, depth))
			sort_words(w, s->file + first, n);
		if (w[0] != w[n - 1])
			break;
	}
	for (uint64_t i = 0, j; i < n; i = j) {
		int r;

		for (j = i + 1; j < n && w[j] == w[i];)
			j++;
		if (j - i < 2)
			continue;
		r = sort_strings(s, first + i, j - i, depth + WORD, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Sets s.file[] to the numbers of all n in order. */
static int sort_numbered(struct sorter s, uint64_t n, struct hpdsl_error *err)
{
	uint64_t *hp_auto_free word = hp_array(n, sizeof *word);

	if (!word)
		return hp_fail_nomem(err);
	s.word = word;
	for (uint64_t i = 0; i < n; i++)
		s.file[i] = i;
	return n < 2 ? 0 : sort_strings(&s, 0, n, 0, err);
}

static int sort_all(const struct hp_list *list, bool by_key, uint64_t *file,
		    struct hpdsl_error *err)
{
	return sort_numbered(
		(struct sorter){ .list = list, .file = file, .by_key = by_key },
		list->n_files, err);
}

/* ---- The list --------------------------------------------------------- */

/* Moves files[from[i]] to files[i], cycle by cycle; uses from[] up. */
static void permute(struct hp_file *files, uint64_t *from, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		struct hp_file first;
		uint64_t at = i, next;

		if (from[i] == i)
			continue;
		first = files[i];
		while ((next = from[at]) != i) {
			files[at] = files[next];
			from[at] = at;
			at = next;
		}
		files[at] = first;
		from[at] = at;
	}
}

int hp_list_sort(struct hp_list *list, struct hpdsl_error *err)
{
	uint64_t *hp_auto_free order = hp_array(list->n_files, sizeof *order);
	int r;

	if (!order)
		return hp_fail_nomem(err);
	for (uint64_t i = 0; i < list->n_files; i++) {
		struct hp_file *f = list->files + i;

		f->key_len = (uint16_t)hp_key_length(&list->key, f->path,
						     f->path_len);
	}
	r = sort_all(list, true, order, err);
	if (r < 0)
		return r;
	permute(list->files, order, list->n_files);
	return 0;
}

int hp_list_path_order(const struct hp_list *list, uint64_t *ret,
		       struct hpdsl_error *err)
{
	return sort_all(list, false, ret, err);
}

int hp_names_order(const struct hp_name *names, uint64_t n, uint64_t *ret,
		   struct hpdsl_error *err)
{
	return sort_numbered((struct sorter){ .names = names, .file = ret }, n,
			     err);
}
