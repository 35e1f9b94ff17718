/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the key of a path ends.  Names in tars have it at the first dot of the
 * base name, for readers know no other rule; a dataset may have been packed by
 * another one, which its index says.  hpdsl-format(5), "Paths, keys and
 * samples".
 */
#ifndef HP_KEY_H
#define HP_KEY_H

#include "hpdsl/core.h"

enum {
	HP_DOUBLES = 64,     /* declared suffixes, at most */
	HP_DOUBLE_MAX = 255, /* bytes of one */
};

/* A dataset's rule; zero: the key ends at the first dot. */
struct hp_key_rule {
	bool last; /* it ends at the last dot, but for some suffixes: */
	/* Declared ones, as "seg.png": n, ascending, none twice.  Borrowed. */
	const char *const *doubles;
	uint32_t n;
};

/* Length of the key of a path by a rule. */
size_t hp_key_length(const struct hp_key_rule *rule, const char *path,
		     size_t len);

/* Of a name in a tar, in the eyes of other readers. */
static inline size_t hp_key_first(const char *name, size_t len)
{
	return hpdsl_key_length(name, len);
}

/* Can it be declared?  3 to HP_DOUBLE_MAX bytes without slash and NUL, with a
 * dot that is neither the first nor the last of them. */
bool hp_double_valid(const char *s, size_t len);

/* Do two datasets have one rule? */
bool hp_key_rule_same(const struct hp_key_rule *a, const struct hp_key_rule *b);

/*
 * The length of what follows a dot, as "nii.gz", without a compressor's suffix
 * and its dot.  The list of these never grows: it is a part of the rule.
 */
size_t hp_without_compressor(const char *s, size_t len);

#endif
