/* SPDX-License-Identifier: Apache-2.0 */
/* Packs of "tree", or of another INPUT, as "out", for scenes. */
#ifndef CRASH_PACK_H
#define CRASH_PACK_H

#include "crash_scene.h"

struct crash_way {
	uint32_t chunks;
	uint64_t seed;
	bool force, resume;
	int zstd;
};

extern const struct crash_way crash_fresh, crash_again;
extern const char *crash_input;

int crash_pack(const struct hp_io *io, struct crash_way w,
	       struct hpdsl_error *err);
void crash_must_pack(struct memio *m, struct crash_way w);

/* What "out" may be besides what it will be, or NULL. */
extern struct memio *crash_old;
/* For scenes: "out" is whole, as it was or as it will be, or not sound. */
void crash_check_out(struct memio *m, const struct scene *s, bool done);

#endif
