/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot read by many threads at a time, from its first touch on: what they
 * get is right, and a thread sanitizer finds nothing.
 */
#include "snap_file.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { THREADS = 8, ROUNDS = 4 };

struct reader {
	pthread_t thread;
	pthread_barrier_t *together;
	const struct snap_file *file;
	const struct hpdsl_snapshot *s;
	size_t from;
	bool verifies;
};

static void *reads(void *arg)
{
	struct reader *r = arg;

	pthread_barrier_wait(r->together);
	if (r->verifies && hpdsl_snapshot_verify(r->s, NULL, NULL, NULL) != 0)
		abort();
	snap_file_read(r->file, r->s, r->from);
	return NULL;
}

static void read_together(const struct snap_file *f, unsigned flags)
{
	struct reader readers[THREADS];
	struct hpdsl_snapshot *s;
	struct hpdsl_error err;
	pthread_barrier_t together;

	assert_int_equal(hpdsl_snapshot_open(f->path, flags, NULL, &s, &err),
			 0);
	pthread_barrier_init(&together, NULL, THREADS);
	for (size_t i = 0; i < THREADS; i++) {
		readers[i] = (struct reader){ .together = &together,
					      .file = f,
					      .s = s,
					      .from = i * f->n / THREADS,
					      .verifies = i == 3 };
		assert_int_equal(pthread_create(&readers[i].thread, NULL, reads,
						&readers[i]),
				 0);
	}
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(readers[i].thread, NULL);
	pthread_barrier_destroy(&together);
	hpdsl_snapshot_close(s);
}

static void test_threads(void **state)
{
	struct snap_file f;

	(void)state;
	snap_file_make(&f, 20, 500);
	for (int i = 0; i < ROUNDS; i++)
		read_together(&f, i == 0 ? HPDSL_SNAPSHOT_COPY : 0);
	snap_file_remove(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
