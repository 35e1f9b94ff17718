/* SPDX-License-Identifier: Apache-2.0 */
/* What is in a choice: the numbers of its samples, and their classes. */
#include "order/choice.h"

#include "dataset/dataset.h"
#include "index/index.h"

#include <string.h>

uint64_t hpdsl_choice_list(const struct hpdsl_choice *c, uint64_t from,
			   uint64_t *ret, uint64_t room)
{
	uint64_t n = 0, word = from / 64;
	uint64_t bits =
		from < c->n ? c->bits[word] & UINT64_MAX << from % 64 : 0;

	while (n < room && word < hp_choice_words(c->n)) {
		for (; bits && n < room; bits &= bits - 1)
			ret[n++] = word * 64 + (uint64_t)__builtin_ctzll(bits);
		if (++word < hp_choice_words(c->n))
			bits = c->bits[word];
	}
	return n;
}

int hp_count_classes(const struct hp_index *ix, const struct hpdsl_choice *c,
		     uint64_t *ret, struct hpdsl_error *err)
{
	struct hpdsl_counts counts;
	struct hp_sample_row row;

	hp_index_count(ix, &counts);
	memset(ret, 0, (counts.classes + 1) * sizeof *ret);
	for (uint64_t s = 0; s < counts.samples; s++) {
		int r;

		if (c && !hpdsl_choice_has(c, s))
			continue;
		r = hp_index_sample_row(ix, s, &row, err);
		if (r < 0)
			return r;
		ret[row.label == HPDSL_NO_LABEL ? counts.classes : row.label]++;
	}
	return 0;
}

int hpdsl_count_classes(const struct hpdsl_dataset *ds,
			const struct hpdsl_choice *c, uint64_t *ret,
			struct hpdsl_error *err)
{
	return hp_count_classes(ds->index, c, ret, err);
}
