/* SPDX-License-Identifier: Apache-2.0 */
/* Classes that samples hold themselves: in a member .cls, or a field of .json.
 */
#include "plan/labels.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/near.h"
#include "base/text.h"
#include "plan/json_field.h"
#include "plan/labels_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	CLASS_MAX = UINT16_MAX,
	LOOKED = 100000, /* files, for the suffixes that there are */
};

static const char *suffix_of(const struct hpdsl_pack_options *opt)
{
	return opt->labels == HPDSL_LABELS_JSON ? ".json" : ".cls";
}

int hp_label_members_find(struct hp_label_members *m,
			  const struct hp_list *list,
			  const struct hpdsl_pack_options *opt,
			  struct hpdsl_error *err)
{
	const char *suffix = suffix_of(opt);
	size_t n = strlen(suffix);

	*m = (struct hp_label_members){
		.list = list,
		.opt = opt,
		.v = hp_array(list->n_samples, sizeof *m->v),
		.class = calloc(list->n_samples + 1, sizeof *m->class),
	};
	if (!m->v || !m->class)
		return hp_fail_nomem(err);
	for (uint64_t s = 0; s < list->n_samples; s++)
		for (uint64_t i = list->samples[s]; i < list->samples[s + 1];
		     i++) {
			const struct hp_file *f = &list->files[i];

			if (f->path_len != f->key_len + n ||
			    memcmp(f->path + f->key_len, suffix, n) != 0)
				continue;
			m->v[m->n++] = (struct hp_label_member){ i, s };
			break;
		}
	return 0;
}

/* A number as NumPy or pickle write it would be the name of a class. */
static bool is_binary(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)s[i] < ' ' && s[i] != '\t')
			return true;
	return false;
}

/* What is in a .cls, without a byte order mark, and blanks around it. */
static bool take_cls(const char *s, size_t n, struct hp_text *ret)
{
	if (n >= 3 && !memcmp(s, "\xef\xbb\xbf", 3)) {
		s += 3;
		n -= 3;
	}
	while (n && strchr(" \t\r\n", s[n - 1]))
		n--;
	for (; n && strchr(" \t\r\n", *s); n--)
		s++;
	if (is_binary(s, n) || !hp_label_is_class(s, n))
		return false;
	hp_text_add(ret, s, n);
	return true;
}

int hp_label_members_take(const struct hp_label_members *m, uint64_t sample,
			  const char *s, size_t n, struct hpdsl_error *err)
{
	struct hp_text text = { 0 };
	bool is = m->opt->labels == HPDSL_LABELS_JSON ?
			  hp_json_field(s, n, m->opt->label_field, &text) :
			  take_cls(s, n, &text);

	if (is && text.n <= CLASS_MAX) {
		hp_text_add(&text, "", 1);
		m->class[sample] = text.failed ? NULL : hp_take(text.p);
	}
	is = text.failed;
	hp_text_release(&text);
	return is ? hp_fail_nomem(err) : 0;
}

static int class_of(void *arg, uint64_t sample, struct hp_class *ret,
		    struct hpdsl_error *err)
{
	char *const *class = arg;

	(void)err;
	ret->name = class[sample];
	ret->len = ret->name ? (uint32_t)strlen(ret->name) : 0;
	return 0;
}

/* There is no such member: what is there in its place? */
HP_COLD static int fail_absent(const struct hp_label_members *m,
			       const char *suffix, struct hpdsl_error *err)
{
	char text[HP_NEAR_TEXT];
	struct hp_near near;

	hp_near_begin(&near, suffix + 1, strlen(suffix + 1));
	for (uint64_t i = 0; i < m->list->n_files && i < LOOKED; i++) {
		const struct hp_file *f = &m->list->files[i];

		if (f->key_len + 1 < f->path_len)
			hp_near_add(&near, f->path + f->key_len + 1,
				    (size_t)(f->path_len - f->key_len - 1));
	}
	hp_near_list(&near, text);
	return hp_fail(err, HPDSL_EUSAGE,
		       "no sample has a member %s that names its class%s%s",
		       suffix, *text ? ", there are " : "", text);
}

/* None of them gives one; first are text. */
HP_COLD static int fail_all(const struct hp_label_members *m,
			    const char *suffix, const char *first,
			    struct hpdsl_error *err)
{
	char field[HP_PRINTABLE];

	if (m->opt->labels != HPDSL_LABELS_JSON)
		return hp_fail(err, HPDSL_EUSAGE,
			       "no member %s says a class that is text or a "
			       "whole number: %s",
			       suffix, first);
	return hp_fail(err, HPDSL_EUSAGE,
		       "no member %s has a field '%s' at its top level that is "
		       "text or a whole number: %s",
		       suffix,
		       hp_printable(m->opt->label_field,
				    strlen(m->opt->label_field), field),
		       first);
}

/* Members that give no class, and that there are such at all. */
static int tell(const struct hp_label_members *m, struct hpdsl_error *err)
{
	char text[3 * 200] = "", name[HP_PRINTABLE];
	const char *suffix = suffix_of(m->opt);
	uint64_t without = 0;
	size_t at = 0;

	for (uint64_t i = 0; i < m->n; i++) {
		const struct hp_file *f = &m->list->files[m->v[i].file];

		if (m->class[m->v[i].sample] || ++without > 3)
			continue;
		at += (size_t)snprintf(
			text + at, sizeof text - at, "%s'%.180s'",
			without > 1 ? ", " : "",
			hp_printable(f->path, f->path_len, name));
	}
	if (!m->n)
		return fail_absent(m, suffix, err);
	if (without == m->n)
		return fail_all(m, suffix, text, err);
	if (without)
		hp_labels_tell_members(m->opt, suffix, without, m->n, text);
	return 0;
}

int hp_label_members_give(const struct hp_label_members *m,
			  struct hp_list *list, struct hpdsl_error *err)
{
	int r = tell(m, err);

	if (r == 0)
		r = hp_list_classify(list, class_of, m->class, err);
	if (r == 0)
		hp_labels_tell_numbers(m->opt, list, true);
	return r;
}

void hp_label_members_release(struct hp_label_members *m)
{
	for (uint64_t s = 0; m->class && s < m->list->n_samples; s++)
		free(m->class[s]);
	free(m->class);
	free(m->v);
	m->class = NULL;
	m->v = NULL;
}
