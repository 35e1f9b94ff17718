/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Taking samples by the chunk file that they are in: where tars of others are
 * train-*.tar and val-*.tar in one folder, that is all that tells them apart.
 */
#include "order/choice.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/near.h"

#include <string.h>

/* No two chunks of a dataset have one: where they lie does not count. */
static const char *base_of(const struct hpdsl_chunk *chunk)
{
	const char *slash = strrchr(chunk->name, '/');

	return slash ? slash + 1 : chunk->name;
}

/* Does any pattern match?  Those that do are marked, all of them. */
static bool is_in(const struct hpdsl_choice_options *opt, const char *name,
		  bool *hit)
{
	bool in = false;

	for (size_t i = 0; i < opt->n_tars; i++) {
		bool is = hpdsl_glob_match(opt->tars[i], name);

		hit[i] |= is;
		in |= is;
	}
	return in;
}

HP_COLD static int absent(const struct hp_index *ix, const char *pattern,
			  uint64_t chunks, struct hpdsl_error *err)
{
	char shown[HP_PRINTABLE], text[HP_NEAR_TEXT];
	struct hpdsl_chunk chunk;
	struct hp_near near;

	hp_near_begin(&near, pattern, strlen(pattern));
	for (uint32_t i = 0; i < chunks; i++)
		if (hp_index_chunk(ix, i, &chunk, NULL) == 0)
			hp_near_add(&near, base_of(&chunk),
				    strlen(base_of(&chunk)));
	return hp_fail(err, HPDSL_EUSAGE,
		       "no tar is called '%s', there are %s%s",
		       hp_printable(pattern, strlen(pattern), shown),
		       hp_near_list(&near, text),
		       strpbrk(pattern, "{/") ?
			       "; a pattern has *, ? and [..], and no folder" :
			       "");
}

int hp_choice_drop_tars(struct hpdsl_choice *c, const struct hp_index *ix,
			const struct hpdsl_choice_options *opt,
			struct hpdsl_error *err)
{
	hp_auto_free bool *hit = calloc(opt->n_tars, sizeof *hit);
	struct hpdsl_counts count;
	struct hpdsl_chunk chunk;

	if (!hit)
		return hp_fail_nomem(err);
	hp_index_count(ix, &count);
	for (uint32_t i = 0; i < count.chunks; i++) {
		int r = hp_index_chunk(ix, i, &chunk, err);

		if (r < 0)
			return r;
		if (is_in(opt, base_of(&chunk), hit))
			continue;
		for (uint64_t s = 0; s < chunk.samples; s++)
			hp_choice_drop(c, chunk.first_sample + s);
	}
	for (size_t i = 0; i < opt->n_tars; i++)
		if (!hit[i])
			return absent(ix, opt->tars[i], count.chunks, err);
	return 0;
}
