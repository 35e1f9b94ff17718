/* SPDX-License-Identifier: Apache-2.0 */
#include "crash_pack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const char *crash_input = "tree";

int crash_pack(const struct hp_io *io, struct crash_way w,
	       struct hpdsl_error *err)
{
	const char *const inputs[] = { crash_input };
	struct hpdsl_pack_options opt = {
		.inputs = inputs,
		.n_inputs = 1,
		.output = "out",
		.chunks = w.chunks,
		.seed = w.seed,
		.labels = HPDSL_LABELS_DIR,
		.digest = HPDSL_DIGEST_SHA256,
		.emit = HPDSL_EMIT_ENERGON | HPDSL_EMIT_WIDS,
		.threads = HPDSL_SERIAL,
		.readers = HPDSL_SERIAL,
		.memory = 8 << 20,
		.resume = w.resume,
		.force = w.force,
		.zstd = w.zstd,
		.watch.io = io,
	};
	struct hpdsl_pack_report report;

	return hpdsl_pack(&opt, &report, err);
}

void crash_must_pack(struct memio *m, struct crash_way w)
{
	struct hpdsl_error err = { 0 };

	if (crash_pack(memio_io(m), w, &err))
		fail_msg("%s", err.msg);
}

const struct crash_way crash_fresh = { .chunks = 3, .seed = 1 };
const struct crash_way crash_again = { .chunks = 3, .seed = 1, .resume = true };

struct memio *crash_old;

static bool not_data(const char *path)
{
	const char *name = strrchr(path, '/');

	return (name && name[1] == '.' && strcmp(name, "/.nv-meta")) ||
	       !strcmp(path, "out/journal.hpdsl");
}

void crash_check_out(struct memio *m, const struct scene *s, bool done)
{
	size_t n;

	scene_check_reads(m, "out", "tree");
	if (scene_verify(m, "out") == 0 &&
	    memio_bytes(m, "out/dataset.yaml", &n))
		assert_true(!crash_differ(m, s->want, "out", not_data) ||
			    (crash_old &&
			     !crash_differ(m, crash_old, "out", not_data)));
	else
		assert_false(done);
	if (done)
		assert_null(crash_differ(m, s->want, "out", not_data));
}
