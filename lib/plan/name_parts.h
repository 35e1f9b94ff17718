/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names cut at the dots of their base names, for what other readers make of
 * them and for names that all of them take.
 */
#ifndef HP_NAME_PARTS_H
#define HP_NAME_PARTS_H

#include "plan/name_risk.h"

/* Where the base name begins. */
size_t hp_base_at(const struct hp_name *name);

/*
 * Bytes of names[0] up to the end of the leading parts that all members share,
 * as long as each keeps one part; at least up to the end of the first part.
 * The names share a key; a single one keeps its last part, if it has two, with
 * the part before a compressor's suffix.
 */
size_t hp_shared_parts(const struct hp_name *names, size_t n);

/*
 * A set of strings, held elsewhere, by their numbers.  Room is made for n of
 * them; 8 to 16 bytes each.
 */
struct hp_string_set {
	uint64_t *slots; /* 24 bits of the hash, 40 of the number and one */
	uint64_t mask;
};

int hp_string_set_init(struct hp_string_set *set, uint64_t n,
		       struct hpdsl_error *err);
void hp_string_set_release(struct hp_string_set *set);

/*
 * Adds string number unless an equal one is there; string(arg, number) gives
 * those that were added.  Returns whether it is new.
 */
bool hp_string_set_add(struct hp_string_set *set, struct hp_name s,
		       uint64_t number,
		       struct hp_name (*string)(const void *arg,
						uint64_t number),
		       const void *arg);

#endif
