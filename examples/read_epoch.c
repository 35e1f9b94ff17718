/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training loop's side of reading, in C: epochs in shuffled order, a batch at
 * a time, and a state from which the next run goes on.
 *
 *	cc read_epoch.c $(pkg-config --cflags --libs hpdsl)
 *	./a.out DATASET EPOCHS [STATE [STEPS]]
 *
 * STATE is a file: if it is there, reading begins where it says; in the end,
 * or after STEPS steps, it says where to go on.  Under mpirun, opt.share has
 * MPI's rank and number of ranks.
 */
#include <hpdsl.h>

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a job would do with a batch: here, to add up some bytes. */
static uint64_t train(const struct hpdsl_batch *b)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < b->n; i++) {
		const unsigned char *image = b->data[i];

		if (!b->mask[i]) /* is only there to fill the last step up */
			continue;
		for (size_t k = 0; k < b->size[i]; k++)
			sum += image[k];
	}
	return sum;
}

/* Without it a state would be lost, or passed over, without a word. */
static int failed(const char *file, struct hpdsl_error *err)
{
	err->code = -errno;
	snprintf(err->msg, sizeof err->msg, "%s: %s", file, strerror(errno));
	return err->code;
}

static int load_state(const char *file, const struct hpdsl_dataset *ds,
		      struct hpdsl_loader_options *opt, struct hpdsl_error *err)
{
	char text[HPDSL_STATE_MAX + 1];
	struct hpdsl_state state;
	FILE *f = file ? fopen(file, "r") : NULL;
	size_t n;
	int rc;

	if (!f && file && errno != ENOENT)
		return failed(file, err);
	if (!f)
		return 0; /* from the beginning */
	n = fread(text, 1, sizeof text, f);
	fclose(f);
	rc = hpdsl_state_parse(text, n, file, &state, err);
	if (rc == 0)
		rc = hpdsl_state_check(&state, ds, opt->choice, file, err);
	if (rc == 0) {
		opt->order = state.order;
		opt->end = state.end;
	}
	return rc;
}

/* Whole or not at all: it gets its name when it is on the disk. */
static int save_state(const char *file, const struct hpdsl_loader *loader,
		      struct hpdsl_error *err)
{
	char text[HPDSL_STATE_MAX], next[PATH_MAX];
	struct hpdsl_state state;
	FILE *f;
	int bad;

	if (!file)
		return 0;
	hpdsl_loader_state(loader, &state);
	hpdsl_state_format(&state, text);
	errno = ENAMETOOLONG;
	if (snprintf(next, sizeof next, "%s.next", file) >= PATH_MAX)
		return failed(file, err);
	unlink(next); /* what a run that was killed left */
	f = fopen(next, "wx");
	if (!f)
		return failed(next, err);
	bad = fprintf(f, "%s\n", text) < 0 || fflush(f) || fsync(fileno(f));
	bad |= fclose(f);
	if (bad || rename(next, file))
		return failed(file, err);
	return 0;
}

static int loop(struct hpdsl_loader *loader, uint64_t steps,
		struct hpdsl_error *err)
{
	const struct hpdsl_batch *b;
	int rc = 1;

	for (; steps && (rc = hpdsl_loader_next(loader, &b, err)) > 0;
	     steps--) {
		printf("epoch %" PRIu64 " step %" PRIu64 ": %zu samples, "
		       "sum %" PRIu64 "\n",
		       b->epoch, b->step, b->n, train(b));
		hpdsl_batch_release(b);
	}
	return rc;
}

int main(int argc, char **argv)
{
	struct hpdsl_loader_options opt = {
		.order = { .seed = 1 },
		.batch_size = 256,
	};
	const char *file = argc > 3 ? argv[3] : NULL;
	uint64_t steps = argc > 4 ? strtoull(argv[4], NULL, 10) : UINT64_MAX;
	struct hpdsl_loader *loader = NULL;
	struct hpdsl_dataset *ds = NULL;
	struct hpdsl_error err;
	uint64_t epochs;
	int rc;

	if (argc < 3) {
		fprintf(stderr, "usage: read_epoch DATASET EPOCHS [STATE "
				"[STEPS]]\n");
		return 2;
	}
	epochs = strtoull(argv[2], NULL, 10);
	rc = hpdsl_open(argv[1], NULL, &ds, &err);
	if (rc == 0)
		rc = load_state(file, ds, &opt, &err);
	if (rc == 0 && opt.order.epoch < epochs) {
		opt.epochs = epochs - opt.order.epoch;
		rc = hpdsl_loader_new(ds, &opt, &loader, &err);
		if (rc == 0)
			rc = loop(loader, steps, &err);
		if (rc >= 0)
			rc = save_state(file, loader, &err);
	}
	if (rc < 0)
		fprintf(stderr, "read_epoch: %s\n", err.msg);
	hpdsl_loader_free(loader);
	hpdsl_close(ds);
	return rc < 0 ? 1 : 0;
}
