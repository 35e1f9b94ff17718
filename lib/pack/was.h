/* SPDX-License-Identifier: Apache-2.0 */
/* The options of what --resume goes on with. */
#ifndef HP_WAS_H
#define HP_WAS_H

#include "hpdsl/look.h"
#include "hpdsl/pack.h"

/* Zero: nothing is gone on with, or nothing is known of it. */
struct hp_was {
	struct hpdsl_manifest *manifest;
	struct hpdsl_unfinished *unfinished;
	struct hpdsl_pairs options; /* n is 0 where they are not known */
	bool lost; /* of an input: nor are they in its manifest */
};

/* -ENOMEM alone is an error; w is zero before. */
int hp_was_open(struct hp_was *w, const struct hpdsl_pack_options *opt,
		struct hpdsl_error *err);
/* The first value of an option's key in a manifest; NULL: it was not given. */
const char *hp_was_option(const struct hp_was *w, const char *key);
void hp_was_close(struct hp_was *w);
struct hp_root;
struct hp_lost_option;
/* The options of a packed input, to be closed.  Of a manifest that is damaged
 * they are lost; -errno: it cannot be read. */
int hp_was_input(struct hp_was *w, const struct hp_root *root,
		 const struct hp_io *io, struct hpdsl_error *err);
/* One of them, as lib/plan/lost.h wants it. */
struct hp_lost_option hp_was_lost_option(const struct hp_was *w,
					 const char *key);

#endif
