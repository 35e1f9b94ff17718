/* SPDX-License-Identifier: Apache-2.0 */
/* What a loader says: of the pack that its state is of, of memory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "load/load.h"
#include "load_work.h"

/* A bit of the last byte. */
static void flip_end(const char *dir)
{
	char name[300];
	uint8_t byte;
	off_t end;
	int fd;

	snprintf(name, sizeof name, "%s/index.hpdsl", dir);
	fd = open(name, O_RDWR);
	assert_true(fd >= 0);
	end = lseek(fd, -1, SEEK_END);
	assert_int_equal(pread(fd, &byte, 1, end), 1);
	byte ^= 1;
	assert_int_equal(pwrite(fd, &byte, 1, end), 1);
	close(fd);
}

static void *ask_pack(void *arg)
{
	struct hpdsl_state s;
	uint8_t *pack = malloc(16);

	assert_non_null(pack);
	hpdsl_loader_state(arg, &s);
	memcpy(pack, s.pack, 16);
	return pack;
}

/* The index is not read for the pack's name before a state is asked for; then
 * by any thread. */
static void test_pack_is_found_late(void **state)
{
	struct hpdsl_loader_options opt = load_base();
	struct hpdsl_dataset *ds;
	uint8_t before[16];
	pthread_t thread[4];
	struct hpdsl_loader *l;
	void *pack[4];

	(void)state;
	ds = load_open(load_plain, NULL);
	hpdsl_pack_id(ds, before);
	hpdsl_close(ds);
	ds = load_open(load_plain, NULL);
	opt.threads = HPDSL_SERIAL;
	l = load_new(ds, &opt);
	flip_end(load_plain);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, ask_pack, l),
				 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_join(thread[i], &pack[i]), 0);
	flip_end(load_plain);
	for (int i = 0; i < 4; i++) {
		assert_memory_not_equal(pack[i], before, 16);
		assert_memory_equal(pack[i], pack[0], 16);
	}
	for (int i = 0; i < 4; i++)
		free(pack[i]);
	hpdsl_loader_free(l);
	hpdsl_close(ds);
}

/* What hpdsl/loader.h says that memory_peak is without. */
static void test_arrays_of_a_batch(void **state)
{
	struct hp_load_batch *b = NULL;

	(void)state;
	assert_int_equal(sizeof *b->of + sizeof *b->x + sizeof *b->row +
				 sizeof *b->unit + sizeof *b->data +
				 sizeof *b->size + sizeof *b->number +
				 sizeof *b->label + sizeof *b->mask +
				 sizeof *b->bad + sizeof *b->first,
			 70);
	assert_int_equal(sizeof *b->member_data + sizeof *b->member_size +
				 sizeof *b->member_number,
			 24);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pack_is_found_late),
		cmocka_unit_test(test_arrays_of_a_batch),
	};

	return cmocka_run_group_tests(tests, load_setup, load_teardown);
}
