/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loader over any index, frames and chunk, while the index is written to: an
 * epoch ends, with as many steps as it says, and what is handed out is memory.
 */
#include "fuzz_dataset.h"

enum { STEPS = 200 /* at most */ };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t use(const struct hpdsl_batch *b)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < b->first[b->n]; i++) {
		const uint8_t *p = b->member_data[i];

		if (p && b->member_size[i])
			sum += p[0] + p[b->member_size[i] - 1];
	}
	return sum;
}

/* All of an epoch; a bad sample is told, and the next call goes on. */
static void read_epoch(struct hpdsl_loader *l)
{
	uint64_t steps = hpdsl_loader_steps(l, 0), n = 0;
	const struct hpdsl_batch *b;
	struct hpdsl_error err;
	int r;

	for (uint64_t i = 0; i < STEPS; i++) {
		r = hpdsl_loader_next(l, &b, &err);
		if (r == 0 && n > steps)
			abort();
		if (r == 0)
			return;
		if (r < 0)
			continue;
		if (b->n && use(b) == UINT64_MAX)
			abort();
		n++;
		hpdsl_batch_release(b);
	}
}

static void load(struct fuzz_dataset *in)
{
	uint8_t c = in->choice;
	struct hpdsl_loader_options opt = {
		.order = { .seed = c,
			   .batch = 4,
			   .lanes = UINT64_C(1) << (c >> 2) % 5u,
			   .piece = 1 + (c >> 4) % 4u,
			   .windows = 1 + c % 3u,
			   .parts = 1 + c % 2u,
			   .plain = c % 8u == 7 },
		.epochs = 1,
		.memory = HPDSL_LOADER_MEMORY_LEAST,
		.threads = 1,
		.unchecked = c & 64,
		.skip_bad = c & 128,
		.watch.io = &in->io,
	};
	struct hpdsl_loader *l;
	struct hpdsl_dataset *ds;
	struct hpdsl_error err;

	if (hpdsl_open("in", &in->io, &ds, &err) < 0)
		return;
	if (hpdsl_loader_new(ds, &opt, &l, &err) == 0) {
		read_epoch(l);
		hpdsl_loader_free(l);
	}
	hpdsl_close(ds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_dataset in;

	if (!fuzz_dataset_begin(&in, data, size))
		return 0;
	load(&in);
	fuzz_dataset_end(&in);
	return 0;
}
