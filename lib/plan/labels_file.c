/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of names and classes, looked up in the sorted list one by one. */
#include "plan/labels_file.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "plan/base_names.h"
#include "plan/labels_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { CLASS_MAX = UINT16_MAX };

int hp_labels_file_read(struct hp_labels_file *f, const struct hp_io *io,
			const char *name, struct hpdsl_error *err)
{
	char shown[HP_PRINTABLE];
	const char *nul;
	int r;

	hp_printable(name, strlen(name), shown);
	f->name = name;
	r = hp_io_slurp(io, AT_FDCWD, name, HP_LABELS_MAX, &f->text, &f->len);
	if (r == -EFBIG)
		return hp_fail(err, HPDSL_EUSAGE,
			       "%s: a file of labels has at most 1 GiB", shown);
	if (r == -EINVAL)
		return hp_fail(err, HPDSL_EUSAGE, "%s: not a regular file",
			       shown);
	if (r < 0)
		return hp_fail_errno(err, r, "%s", shown);
	nul = memchr(f->text, '\0', f->len);
	if (nul) {
		uint64_t line = 1;

		for (const char *s = f->text; s < nul; s++)
			line += *s == '\n';
		return hp_fail(err, HPDSL_EUSAGE,
			       "%s: line %" PRIu64 ": a NUL byte", shown, line);
	}
	hp_hash128(f->text, f->len, f->checksum);
	return 0;
}

void hp_labels_file_release(struct hp_labels_file *f)
{
	free(f->text);
	free(f->rows);
	f->text = NULL;
	f->rows = NULL;
}

/* ---- Lines ------------------------------------------------------------ */

struct line {
	struct hp_name name, class; /* class.s NULL: there is none */
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* Paths are without leading ./ and /, as those of members are. */
static struct hp_name clean(const char *s, size_t len)
{
	for (;; s++, len--) {
		if (len >= 2 && s[0] == '.' && s[1] == '/')
			continue;
		if (len < 1 || s[0] != '/')
			return (struct hp_name){ s, len };
	}
}

/* len bytes, the newline not among them. */
static struct line take_apart(const char *s, size_t len)
{
	struct line ret = { { NULL, 0 }, { NULL, 0 } };
	const char *tab, *class;
	size_t n;

	if (len && s[len - 1] == '\r')
		len--;
	tab = memrchr(s, '\t', len);
	while (!tab && len && s[len - 1] == ' ')
		len--;
	class = tab ? tab : memrchr(s, ' ', len);
	if (!class) {
		ret.name = clean(s, len);
		return ret;
	}
	n = (size_t)(class - s);
	while (!tab && n && is_blank(s[n - 1]))
		n--;
	ret.name = clean(s, n);
	ret.class.len = len - (size_t)(class - s) - 1;
	ret.class.s = ret.class.len ? class + 1 : NULL;
	return ret;
}

/* ---- Looking up ------------------------------------------------------- */

static int compare_bytes(const char *a, size_t an, const char *b, size_t bn)
{
	int r = memcmp(a, b, an < bn ? an : bn);

	return r ? r : (an > bn) - (an < bn);
}

/* In the order of the list: by key, then path. */
static int compare_path(const struct hp_file *f, const struct hp_name *path,
			size_t key_len)
{
	int r = compare_bytes(f->path, f->key_len, path->s, key_len);

	return r ? r : compare_bytes(f->path, f->path_len, path->s, path->len);
}

/* The file of this path, or n_files. */
static uint64_t find_path(const struct hp_list *list,
			  const struct hp_name *path)
{
	size_t key_len = hp_key_length(&list->key, path->s, path->len);
	uint64_t low = 0, high = list->n_files;

	while (low < high) {
		uint64_t mid = low + (high - low) / 2;
		int d = compare_path(&list->files[mid], path, key_len);

		if (d == 0)
			return mid;
		if (d < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return list->n_files;
}

static int compare_key(const struct hp_list *list, uint64_t sample,
		       const struct hp_name *key)
{
	const struct hp_file *f = &list->files[list->samples[sample]];

	return compare_bytes(f->path, f->key_len, key->s, key->len);
}

/* The first sample whose key is not below this one. */
static uint64_t find_key(const struct hp_list *list, const struct hp_name *key)
{
	uint64_t low = 0, high = list->n_samples;

	while (low < high) {
		uint64_t mid = low + (high - low) / 2;

		if (compare_key(list, mid, key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* ---- Labelling -------------------------------------------------------- */

struct labelling {
	const struct hp_list *list;
	const struct hp_labels_file *file;
	uint32_t *starts; /* of the lines, in the text; one more at the end */
	uint32_t n_lines;
	uint32_t *line_of; /* of each sample; 0: none, else from 1 */
	struct hp_labels_told *told;
	struct hp_base_names base; /* of a table, once it is needed */
};

static struct line row_at(const struct hp_labels_file *f, uint32_t number)
{
	const char *name = f->text + f->rows[number - 1].at;
	size_t len = strlen(name);
	const char *class = name + len + 1;
	struct line ret = { clean(name, len), { NULL, 0 } };

	if (*class)
		ret.class = (struct hp_name){ class, strlen(class) };
	return ret;
}

static struct line line_at(const struct labelling *l, uint32_t number)
{
	uint32_t at;

	if (l->file->table)
		return row_at(l->file, number);
	at = l->starts[number - 1];
	return take_apart(l->file->text + at, l->starts[number] - at - 1);
}

/* Where it is in the file. */
static uint32_t line_number(const struct labelling *l, uint32_t number)
{
	return l->file->table ? l->file->rows[number - 1].line : number;
}

static int fail_line(const struct labelling *l, uint32_t number,
		     const char *what, struct hpdsl_error *err)
{
	char name[HP_PRINTABLE];

	return hp_fail(err, HPDSL_EUSAGE, "%s: line %" PRIu32 ": %s",
		       hp_printable(l->file->name, strlen(l->file->name), name),
		       line_number(l, number), what);
}

static int give(struct labelling *l, uint64_t sample, uint32_t number,
		struct hpdsl_error *err)
{
	const struct hp_file *f = &l->list->files[l->list->samples[sample]];
	struct hp_name was, is = line_at(l, number).class;
	char name[HP_PRINTABLE], text[HP_PRINTABLE + 80];

	if (!l->line_of[sample]) {
		l->line_of[sample] = number;
		return 0;
	}
	was = line_at(l, l->line_of[sample]).class;
	if (was.len == is.len && !memcmp(was.s, is.s, is.len))
		return 0;
	snprintf(text, sizeof text,
		 "the sample of '%s' has another class in line %" PRIu32,
		 hp_printable(f->path, f->path_len, name),
		 line_number(l, l->line_of[sample]));
	return fail_line(l, number, text, err);
}

static void note(const struct labelling *l, uint32_t number,
		 struct hp_labels_first *first, uint64_t *n)
{
	if (*n < HP_LABELS_FIRST)
		first[*n] = (struct hp_labels_first){ line_number(l, number),
						      line_at(l, number).name };
	++*n;
}

static void note_unmatched(struct labelling *l, uint32_t number)
{
	note(l, number, l->told->first, &l->told->unmatched);
}

/* What is neither a path nor a key. */
static int label_by_base(struct labelling *l, uint32_t number,
			 const struct hp_name *name, struct hpdsl_error *err)
{
	uint64_t sample;
	int r = hp_base_names_find(&l->base, l->list, name, &sample, err);

	if (r == 1)
		return give(l, sample, number, err);
	if (r >= 0)
		note_unmatched(l, number);
	return r < 0 ? r : 0;
}

/* Is there anything of that name?  1, 0 or a code. */
static int is_known(struct labelling *l, const struct hp_name *name,
		    struct hpdsl_error *err)
{
	const struct hp_list *list = l->list;
	uint64_t key = find_key(list, name);

	if (find_path(list, name) < list->n_files ||
	    (key < list->n_samples && !compare_key(list, key, name)))
		return 1;
	return hp_base_names_find(&l->base, list, name, &key, err);
}

/* A comma may show that it is a table that is called otherwise. */
static int fail_no_class(const struct labelling *l, uint32_t number,
			 const struct hp_name *name, struct hpdsl_error *err)
{
	return fail_line(l, number,
			 number == 1 && memchr(name->s, ',', name->len) ?
				 "there is no class behind a tab or a blank; "
				 "is it a table with a header (.csv)?" :
				 "there is no class",
			 err);
}

static int label_line(struct labelling *l, uint32_t number,
		      struct hpdsl_error *err)
{
	const struct hp_list *list = l->list;
	struct line line = line_at(l, number);
	uint64_t i;
	int r = 0;

	if (!line.name.len && !line.class.s)
		return 0;
	if (number == 1 && l->file->maybe_header) {
		r = is_known(l, &line.name, err);
		if (r <= 0)
			return r;
		r = 0;
	}
	l->told->lines++;
	if (!line.class.s && l->file->table) {
		note(l, number, l->told->first_classless, &l->told->classless);
		return 0;
	}
	if (!line.class.s)
		return fail_no_class(l, number, &line.name, err);
	if (line.class.len > CLASS_MAX)
		return fail_line(l, number, "the class is too long", err);
	i = find_path(list, &line.name);
	if (i < list->n_files)
		return give(l, hp_list_sample_of(list, i), number, err);
	i = find_key(list, &line.name);
	if (i == list->n_samples || compare_key(list, i, &line.name)) {
		if (l->file->table)
			return label_by_base(l, number, &line.name, err);
		note_unmatched(l, number);
	}
	for (;
	     r == 0 && i < list->n_samples && !compare_key(list, i, &line.name);
	     i++)
		r = give(l, i, number, err);
	return r;
}

/* Where the lines begin; the last one may lack its newline. */
static int find_lines(struct labelling *l, struct hpdsl_error *err)
{
	const char *text = l->file->text, *end = text + l->file->len, *s;
	uint64_t n = 0;

	for (s = text; s < end && (s = memchr(s, '\n', (size_t)(end - s))); s++)
		n++;
	l->starts = hp_array(n + 2, sizeof *l->starts);
	if (!l->starts)
		return hp_fail_nomem(err);
	l->starts[0] = 0;
	for (s = text; s < end; s++) {
		const char *newline = memchr(s, '\n', (size_t)(end - s));

		s = newline ? newline : end;
		l->starts[++l->n_lines] = (uint32_t)(s - text) + 1;
	}
	return 0;
}

static int class_of(void *arg, uint64_t sample, struct hp_class *ret,
		    struct hpdsl_error *err)
{
	const struct labelling *l = arg;
	struct hp_name class;

	(void)err;
	if (!l->line_of[sample])
		return 0;
	class = line_at(l, l->line_of[sample]).class;
	ret->name = class.s;
	ret->len = (uint32_t) class.len;
	return 0;
}

/* "line 4 'x', line 5 'y', ..." of n. */
const char *hp_labels_list_first(const struct hp_labels_first *first,
				 uint64_t n, char ret[HP_LABELS_TEXT])
{
	char name[HP_PRINTABLE];
	size_t at = 0;

	*ret = '\0';
	for (uint64_t i = 0; i < n && i < HP_LABELS_FIRST; i++)
		at += (size_t)snprintf(
			ret + at, HP_LABELS_TEXT - at,
			"%sline %" PRIu32 " '%.180s'", i ? ", " : "",
			first[i].line,
			hp_printable(first[i].name.s, first[i].name.len, name));
	if (n > HP_LABELS_FIRST)
		snprintf(ret + at, HP_LABELS_TEXT - at, ", ...");
	return ret;
}

/* A table that labels nothing is not the one that was meant. */
static int check_table(const struct labelling *l, struct hpdsl_error *err)
{
	const struct hp_labels_told *told = l->told;
	char file[HP_PRINTABLE], text[HP_LABELS_TEXT];
	bool unmatched = told->unmatched > 0;

	if (!l->file->table || told->lines > told->unmatched + told->classless)
		return 0;
	hp_printable(l->file->name, strlen(l->file->name), file);
	if (!told->lines)
		return hp_fail(err, HPDSL_EUSAGE,
			       "%s: there is nothing but a header", file);
	return hp_fail(err, HPDSL_EUSAGE, "%s: none of its rows %s: %s", file,
		       unmatched ? "names a member or a key" :
				   "has a class that is text or a whole number",
		       hp_labels_list_first(
			       unmatched ? told->first : told->first_classless,
			       unmatched ? told->unmatched : told->classless,
			       text));
}

int hp_list_label_file(struct hp_list *list, const struct hp_labels_file *f,
		       struct hp_labels_told *ret, struct hpdsl_error *err)
{
	struct hp_labels_told told = { 0 };
	struct labelling l = { .list = list, .file = f, .told = &told };
	int r = 0;

	l.line_of = calloc(list->n_samples + 1, sizeof *l.line_of);
	if (!l.line_of)
		r = hp_fail_nomem(err);
	else if (f->table)
		l.n_lines = f->n_rows;
	else
		r = find_lines(&l, err);
	for (uint32_t i = 1; r == 0 && i <= l.n_lines; i++)
		r = label_line(&l, i, err);
	if (r == 0)
		r = check_table(&l, err);
	if (r == 0)
		r = hp_list_classify(list, class_of, &l, err);
	hp_base_names_release(&l.base);
	free(l.starts);
	free(l.line_of);
	if (r == 0)
		*ret = told;
	return r;
}
