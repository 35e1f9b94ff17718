/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in a dataset, by the first of its members, which are drawn from all
 * of it where it is shuffled: suffixes, folders, and the line of Python that
 * reads it.
 */
#include "info.h"

#include <string.h>

enum {
	MEMBERS = 262144, /* that are looked at */
	WANTED = 4,	  /* suffixes that are named to a loader */
};

struct contents {
	struct info_counts suffixes, folders; /* of members, of samples */
	uint64_t members, samples;
	bool cut;
};

/* The first folder of a path; "" of a file at the top. */
static size_t folder_len(const struct hpdsl_member *m)
{
	const char *slash = memchr(m->path, '/', m->path_len);

	return slash ? (size_t)(slash - m->path) : 0;
}

static bool look(struct info *i, const struct hpdsl_dataset *ds,
		 struct contents *c)
{
	uint64_t last = UINT64_MAX;
	struct hpdsl_member m;
	struct hpdsl_error err;
	struct hpdsl_counts n;

	hpdsl_count(ds, &n);
	for (uint64_t k = 0; k < n.members; k++) {
		c->cut = k >= MEMBERS;
		if (c->cut)
			return true;
		if (hpdsl_member_get(ds, k, &m, &err) < 0) {
			info_failed(i, &err);
			return false;
		}
		c->members++;
		if (!m.generated)
			info_suffixes_add(&c->suffixes, m.path, m.path_len,
					  hpdsl_dataset_key_length(ds, m.path,
								   m.path_len));
		if (m.sample != last)
			info_counts_add(&c->folders, m.path, folder_len(&m));
		c->samples += m.sample != last;
		last = m.sample;
	}
	return true;
}

/* ---- In Python -------------------------------------------------------- */

/* A folder called train is what is trained with. */
static const char *split(const struct contents *c)
{
	for (size_t k = 0; k < c->folders.n; k++) {
		const char *name = c->folders.v[k].name;

		if (!strcmp(name, "train") || !strcmp(name, "training"))
			return c->folders.n > 1 ? name : NULL;
	}
	return NULL;
}

/* Of what says something of another member. */
static bool describes(const char *suffix, size_t n)
{
	return (n == 3 && !memcmp(suffix, "cls", n)) ||
	       (n == 4 && !memcmp(suffix, "json", n));
}

static void put_suffix(FILE *out, const char *suffix, size_t n)
{
	cmd_auto_free char *string = NULL;
	char *one = NULL;

	/* Of ".jpg" the dot would be taken for the one before it. */
	if (asprintf(&one, "%s%.*s", *suffix == '.' ? "." : "", (int)n,
		     suffix) < 0)
		cmd_no_memory();
	string = cmd_python_string(one);
	free(one);
	fputs(string ? string : "\"\"", out);
}

/* ", suffixes=["jpg", "txt"]"; nothing of samples of one member.  The first is
 * what a loop calls data: what describes it is behind it, but for classes that
 * are labels already. */
static void put_suffixes(FILE *out, const struct hpdsl_group_look *look,
			 bool labels)
{
	const char *const all = look->sets->suffixes;
	const char *between = ", suffixes=[";

	if (!strchr(all, '\n'))
		return;
	for (int late = 0; late < 2; late++) {
		for (const char *s = all; *s; s += *s == '\n') {
			size_t n = strcspn(s, "\n");

			if (describes(s, n) == late &&
			    !(labels && n == 3 && !memcmp(s, "cls", n))) {
				fputs(between, out);
				put_suffix(out, s, n);
				between = ", ";
			}
			s += n;
		}
	}
	fputc(']', out);
}

/* Are they the suffixes of all samples, as far as looked at, few, and as they
 * are?  Texts were made fit to print. */
static bool can_be_named(const struct hpdsl_group_look *look)
{
	char text[sizeof(look->sets->suffixes)];
	cmd_auto_free char *string = NULL;
	size_t n = 1;

	if (look->n_sets != 1 || look->sets->suffixes_more)
		return false;
	memcpy(text, look->sets->suffixes, sizeof(text));
	for (char *s = text; *s; s++) {
		if (*s != '\n')
			continue;
		if (!s[1] || s[1] == '\n')
			return false;
		n++;
		*s = ' ';
	}
	string = cmd_python_string(text);
	return n <= WANTED && *text && *text != ' ' && string &&
	       !strchr(text, '\\');
}

static void tell_python(struct info *i, const struct contents *c,
			const struct hpdsl_group_look *look, bool labels)
{
	cmd_auto_free char *path = cmd_python_string(i->path), *text = NULL;
	const char *train = split(c);
	size_t size;
	FILE *out;

	if (!path || i->wrong)
		return;
	out = open_memstream(&text, &size);
	if (!out)
		cmd_no_memory();
	fprintf(out,
		"import hpdsl; ds = hpdsl.Dataset(%s); "
		"loader = hpdsl.Loader(ds, batch_size=64",
		path);
	if (can_be_named(look))
		put_suffixes(out, look, labels);
	if (train)
		fprintf(out, ", choice=hpdsl.Choice(ds, folder=\"%s\")", train);
	fputc(')', out);
	if (fclose(out) != 0)
		cmd_no_memory();
	if (info_json(i))
		cmd_json_string(info_json(i), "python", text);
	else
		cmd_print("  %-12s %s\n", "python", text);
}

void info_contents(struct info *i, const struct hpdsl_dataset *ds,
		   const struct hpdsl_group_look *look_of, uint64_t *ret_cls)
{
	static const struct info_words folders = { "folders", "top_folders",
						   "folder", "samples",
						   "at the top" };
	struct contents c = { 0 };
	struct hpdsl_counts n;

	if (look(i, ds, &c)) {
		info_suffixes_tell(i, &c.suffixes, "members");
		/* all at the top is no folder */
		if (c.folders.n > 1 || (c.folders.n && *c.folders.v->name))
			info_counts_tell(i, &c.folders, &folders);
		if (c.cut)
			info_row(i, "", "as far as looked at: %s",
				 cmd_many(c.members, "member").s);
		hpdsl_count(ds, &n);
		tell_python(i, &c, look_of, n.classes);
	}
	*ret_cls = info_counts_of(&c.suffixes, "cls");
	info_counts_free(&c.suffixes);
	info_counts_free(&c.folders);
}
