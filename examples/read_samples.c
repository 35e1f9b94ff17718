/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads samples of a packed dataset in C: opens it, asks for every STEPth
 * sample by number, and prints its key, label, members and bytes.
 *
 *	cc read_samples.c $(pkg-config --cflags --libs hpdsl)
 *	./a.out DATASET [STEP]
 */
#include <hpdsl.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int read_sample(struct hpdsl_dataset *ds, uint64_t number, char **buf,
		       size_t *cap, struct hpdsl_error *err)
{
	struct hpdsl_sample s;
	const char *class = "-";
	size_t bytes = 0;
	int rc = hpdsl_sample_get(ds, number, &s, err);

	if (rc < 0)
		return rc;
	if (s.label != HPDSL_NO_LABEL)
		rc = hpdsl_class_name(ds, s.label, &class, err);
	if (rc < 0)
		return rc;
	/* its members, one behind the other, checksums verified */
	rc = hpdsl_sample_read(ds, &s, *buf, *cap, &bytes, err);
	if (rc == -ENOSPC) {
		free(*buf);
		*cap = bytes;
		*buf = malloc(*cap);
		rc = *buf ? hpdsl_sample_read(ds, &s, *buf, *cap, &bytes, err) :
			    -ENOMEM;
	}
	if (rc < 0)
		return rc;
	printf("%" PRIu64 "\t%.*s\t%s\t%" PRIu64 " member%s\t%zu bytes\n",
	       s.number, (int)s.key_len, s.key, class, s.members,
	       s.members == 1 ? "" : "s", bytes);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t step = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	struct hpdsl_error err = { .msg = "out of memory" };
	struct hpdsl_dataset *ds = NULL;
	struct hpdsl_counts counts;
	size_t cap = 0;
	char *buf = NULL;
	int rc;

	if (argc < 2 || !step) {
		fprintf(stderr, "usage: read_samples DATASET [STEP]\n");
		return 2;
	}
	rc = hpdsl_open(argv[1], NULL, &ds, &err);
	if (rc == 0) {
		hpdsl_count(ds, &counts);
		for (uint64_t n = 0; rc == 0 && n < counts.samples; n += step)
			rc = read_sample(ds, n, &buf, &cap, &err);
	}
	if (rc < 0)
		fprintf(stderr, "read_samples: %s\n", err.msg);
	free(buf);
	hpdsl_close(ds);
	return rc < 0 ? 1 : 0;
}
