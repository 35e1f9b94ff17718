/* SPDX-License-Identifier: Apache-2.0 */
/* What names say of the samples that they make, in the JSON of a command. */
#include "common/common.h"

#include <ctype.h>
#include <string.h>

enum { TOLD = 20 }; /* a 20th of the samples is worth a line */

static void put_suffixes(FILE *out, const struct hpdsl_suffix_set *set)
{
	const char *s = set->suffixes;
	size_t more = set->suffixes_more;
	bool alone = !more && !strchr(s, '\n');

	for (bool first = true;; first = false) {
		size_t n = strcspn(s, "\n");
		bool last = !more && !s[n];

		fprintf(out, "%s%.*s",
			first ? "" :
			last  ? " and " :
				", ",
			n ? (int)n : 9, n ? s : "no suffix");
		if (!s[n])
			break;
		s += n + 1;
	}
	if (more)
		fprintf(out, " and %zu more", more);
	else if (alone && *set->suffixes)
		fputs(" alone", out);
}

/* In small letters, and without the e of jpeg. */
static void as_meant(const struct hpdsl_suffix_set *set, char *ret)
{
	char *jpeg;
	size_t n = 0;

	for (const char *s = set->suffixes; *s; s++)
		ret[n++] = (char)tolower((unsigned char)*s);
	ret[n] = '\0';
	while ((jpeg = strstr(ret, "jpeg")))
		memmove(jpeg + 2, jpeg + 3, strlen(jpeg + 3) + 1);
}

/*
 * Files that are samples by themselves have what suffixes they may: these are
 * counted elsewhere.  Odd is what samples of several files lack, or one suffix
 * that is written in two ways.
 */
static bool are_odd(const struct hpdsl_group_look *look)
{
	char of[HPDSL_LOOK_SETS][sizeof(look->sets->suffixes)];

	for (size_t k = 0; k < look->n_sets; k++) {
		const struct hpdsl_suffix_set *set = &look->sets[k];

		if (set->suffixes_more || strchr(set->suffixes, '\n'))
			return look->n_sets > 1;
		as_meant(set, of[k]);
		for (size_t j = 0; j < k; j++)
			if (!strcmp(of[j], of[k]))
				return true;
	}
	return false;
}

static bool is_apart(const struct hpdsl_group_look *look)
{
	return look->parted && look->parted * TOLD >= look->images;
}

char *cmd_look_sets(const struct hpdsl_group_look *look)
{
	char *text = NULL;
	size_t size;
	FILE *out;

	/* too many say nothing; of what lies apart another line tells */
	if (!are_odd(look) || 2 * look->other_sets > look->samples ||
	    is_apart(look))
		return NULL;
	out = open_memstream(&text, &size);
	if (!out)
		cmd_no_memory();
	fprintf(out, "%s of ", cmd_thousands(look->sets->samples).s);
	fprintf(out, "%s samples have ", cmd_thousands(look->samples).s);
	put_suffixes(out, look->sets);
	for (size_t k = 1; k < look->n_sets; k++) {
		fprintf(out, "; %s ", cmd_thousands(look->sets[k].samples).s);
		put_suffixes(out, &look->sets[k]);
		fprintf(out, ", first '%s'", look->sets[k].first);
	}
	if (look->other_sets)
		fprintf(out, "; %s others", cmd_thousands(look->other_sets).s);
	if (fclose(out) != 0)
		cmd_no_memory();
	return text;
}

char *cmd_look_parted(const struct hpdsl_group_look *look)
{
	char *text;

	if (!is_apart(look))
		return NULL;
	if (asprintf(&text,
		     "'%s' and '%s' are two samples, and so are %llu %% of "
		     "those of images; in one folder they would be one",
		     look->parted_keys[0], look->parted_keys[1],
		     (unsigned long long)(look->parted * 100 / look->images)) <
	    0)
		cmd_no_memory();
	return text;
}

static void json_sets(struct cmd_json *j, const struct hpdsl_group_look *look)
{
	cmd_json_open(j, "suffix_sets", '[');
	for (size_t k = 0; k < look->n_sets; k++) {
		const struct hpdsl_suffix_set *set = &look->sets[k];
		char text[sizeof(set->suffixes)];
		char *s = text, *one;

		memcpy(text, set->suffixes, sizeof(text));
		cmd_json_open(j, NULL, '{');
		cmd_json_open(j, "suffixes", '[');
		while ((one = strsep(&s, "\n")))
			cmd_json_string(j, NULL, one);
		cmd_json_close(j, ']');
		cmd_json_u64(j, "more", set->suffixes_more);
		cmd_json_u64(j, "samples", set->samples);
		cmd_json_name(j, "first", set->first, strlen(set->first));
		cmd_json_close(j, '}');
	}
	cmd_json_close(j, ']');
	cmd_json_u64(j, "other_sets", look->other_sets);
}

void cmd_json_look(struct cmd_json *j, const struct hpdsl_group_look *look)
{
	cmd_json_open(j, "group_look", '{');
	cmd_json_string(j, "verdict", hpdsl_look_word(look->verdict));
	cmd_json_u64(j, "files", look->files);
	cmd_json_bool(j, "last", look->last);
	cmd_json_name(j, "example", look->example, strlen(look->example));
	json_sets(j, look);
	if (look->images)
		cmd_json_real(j, "parted",
			      (double)look->parted / (double)look->images);
	cmd_json_close(j, '}');
}
