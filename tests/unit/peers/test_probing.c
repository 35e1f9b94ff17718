/* SPDX-License-Identifier: Apache-2.0 */
/* A node that is probed: what is asked next, and what is thought of it. */
#include "peers/probing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FIRST 20000
#define MIB (UINT64_C(1) << 20)

static struct hp_probing begun(uint32_t addresses)
{
	struct hp_probing p = { .addresses = addresses, .first = FIRST };

	hp_probing_begin(&p);
	return p;
}

/* ---- Where it is ------------------------------------------------------ */

static void each_port_of_each_address_is_tried(void **state)
{
	struct hp_probing p = begun(3);

	(void)state;
	for (uint32_t a = 0; a < 3; a++)
		for (uint16_t i = 0; i < HP_BOOK_PORTS; i++) {
			assert_int_equal(p.step, HP_PROBE_FIND);
			assert_int_equal(p.address, a);
			assert_int_equal(p.port, FIRST + i);
			hp_probing_came(&p, HP_CAME_REFUSED, 0);
		}
	assert_int_equal(p.step, HP_PROBE_OVER);
	assert_int_equal(hp_probing_is(&p), HPDSL_PROBE_REFUSED);
}

static void where_nothing_connects_one_port_is_enough(void **state)
{
	struct hp_probing p = begun(2);

	(void)state;
	hp_probing_came(&p, HP_CAME_REFUSED, 0);
	hp_probing_came(&p, HP_CAME_SILENT, 1);
	assert_int_equal(p.address, 1);
	assert_int_equal(p.port, FIRST);
	hp_probing_came(&p, HP_CAME_SILENT, 1);
	assert_int_equal(p.step, HP_PROBE_OVER);
	assert_int_equal(hp_probing_is(&p), HPDSL_PROBE_SILENT);
}

static void ports_end_where_numbers_do(void **state)
{
	struct hp_probing p = { .addresses = 1, .first = 65520 };

	(void)state;
	hp_probing_begin(&p);
	for (int i = 0; i < HP_BOOK_PORTS; i++) {
		assert_int_equal(p.step, HP_PROBE_FIND);
		hp_probing_came(&p, HP_CAME_REFUSED, 0);
	}
	assert_int_equal(p.step, HP_PROBE_OVER);
	assert_int_equal(p.port, 65535);
}

/* Of several reasons the one that says most. */
static void what_was_seen_on_the_way_is_told(void **state)
{
	static const struct {
		enum hp_probe_came came[3];
		enum hpdsl_probe_is is;
	} rows[] = {
		{ { HP_CAME_REFUSED, HP_CAME_DENIED, HP_CAME_REFUSED },
		  HPDSL_PROBE_DENIED },
		{ { HP_CAME_OTHER, HP_CAME_MUTE, HP_CAME_CLOSED },
		  HPDSL_PROBE_MUTE },
		{ { HP_CAME_OTHER, HP_CAME_CLOSED, HP_CAME_SILENT },
		  HPDSL_PROBE_CLOSED },
		{ { HP_CAME_OTHER, HP_CAME_REFUSED, HP_CAME_SILENT },
		  HPDSL_PROBE_OTHER },
		{ { HP_CAME_REFUSED, HP_CAME_REFUSED, HP_CAME_SELF },
		  HPDSL_PROBE_NOT_ASKED },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct hp_probing p = begun(1);

		for (int k = 0; k < 3; k++)
			hp_probing_came(&p, rows[i].came[k], 0);
		hp_probing_stop(&p);
		assert_int_equal(p.step, HP_PROBE_OVER);
		assert_int_equal(hp_probing_is(&p), rows[i].is);
		assert_non_null(hpdsl_peer_probe_text(rows[i].is));
	}
}

static void without_an_address_or_time_it_was_not_asked(void **state)
{
	struct hp_probing p = begun(0);

	(void)state;
	assert_int_equal(p.step, HP_PROBE_OVER);
	assert_int_equal(hp_probing_is(&p), HPDSL_PROBE_NOT_ASKED);
	p = begun(1);
	assert_int_equal(hp_probing_is(&p), HPDSL_PROBE_NOT_ASKED);
}

/* ---- How fast it is --------------------------------------------------- */

/* Found at the second port, and three pings are through. */
static struct hp_probing pinged(uint64_t size)
{
	struct hp_probing p = begun(1);

	hp_probing_came(&p, HP_CAME_OTHER, 0);
	p.pick = (struct hp_probe_pick){ .chunks = 2, .size = size };
	hp_probing_came(&p, HP_CAME_WELL, 0.5);
	assert_int_equal(p.step, HP_PROBE_WAITS);
	assert_int_equal(p.port, FIRST + 1);
	hp_probing_turn(&p);
	for (int i = 0; i < HP_PROBE_PINGS; i++) {
		assert_int_equal(p.step, HP_PROBE_PING);
		hp_probing_came(&p, i ? HP_CAME_WELL : HP_CAME_NOT, 3 - i);
	}
	assert_true(p.ping == 1);
	return p;
}

static void the_read_in_the_middle_counts(void **state)
{
	static const double seconds[][HP_PROBE_READS] = { { 4, 1, 2 },
							  { 2, 4, 1 },
							  { 1, 2, 4 } };

	(void)state;
	for (int k = 0; k < 3; k++) {
		struct hp_probing p = pinged(9 * MIB);

		for (int i = 0; i < HP_PROBE_READS; i++) {
			assert_int_equal(p.step, HP_PROBE_READ);
			hp_probing_came(&p, HP_CAME_WELL, seconds[k][i]);
		}
		assert_int_equal(p.step, HP_PROBE_OVER);
		assert_int_equal(hp_probing_is(&p), HPDSL_PROBE_WELL);
		assert_int_equal(hp_probing_bytes(&p), 4 * MIB);
		assert_true(hp_probing_rate(&p) == 2 * MIB);
	}
}

static void who_has_nothing_answers_all_the_same(void **state)
{
	struct hp_probing p = pinged(0);

	(void)state;
	assert_int_equal(p.step, HP_PROBE_OVER);
	assert_int_equal(hp_probing_is(&p), HPDSL_PROBE_WELL);
	assert_true(hp_probing_rate(&p) == 0);
	/* and who has it no more */
	p = pinged(MIB);
	assert_int_equal(p.step, HP_PROBE_READ);
	hp_probing_came(&p, HP_CAME_NOT, 1);
	assert_int_equal(p.step, HP_PROBE_OVER);
	assert_int_equal(hp_probing_is(&p), HPDSL_PROBE_WELL);
}

static void answers_that_stop_on_their_way_are_no_good_ones(void **state)
{
	static const enum hp_probe_came came[] = { HP_CAME_MUTE, HP_CAME_CLOSED,
						   HP_CAME_OTHER,
						   HP_CAME_SILENT };

	(void)state;
	for (size_t i = 0; i < sizeof came / sizeof *came; i++) {
		struct hp_probing p = pinged(MIB);

		hp_probing_came(&p, HP_CAME_WELL, 1);
		hp_probing_came(&p, came[i], 10);
		assert_int_equal(p.step, HP_PROBE_OVER);
		assert_int_equal(hp_probing_is(&p), HPDSL_PROBE_LOST);
	}
}

/* ---- What it has ------------------------------------------------------ */

static uint64_t sizes[10] = { 5, 50, 7, 60, 1, 2, 3, 4, 80, 90 };

static bool form(void *arg, uint32_t chunk, enum hp_ask_kind kind,
		 struct hp_client_form *ret)
{
	*(unsigned *)arg += 1;
	assert_true(chunk < 10);
	ret->size = sizes[chunk];
	return kind == HP_ASK_PLAIN || chunk != 3;
}

static void the_largest_of_what_is_there_is_read(void **state)
{
	unsigned asked = 0;
	const struct hp_client_facts facts = { .chunks = 10,
					       .form = form,
					       .arg = &asked };
	struct hp_probe_pick k = { .chunks = 0 };
	uint8_t list[3] = { 0 };

	(void)state;
	hp_have_set(list, 0, HP_HAVE_PLAIN);
	hp_have_set(list, 1, HP_HAVE_STORED);
	hp_have_set(list, 3, HP_HAVE_STORED); /* has no such form */
	hp_have_set(list, 8, HP_HAVE_COMING);
	list[2] |= 0xf0; /* behind the last one */
	for (size_t i = 0; i < 3; i++)
		hp_probe_pick(&k, &facts, i, list + i, 1);
	assert_int_equal(k.chunks, 3);
	assert_int_equal(k.chunk, 1);
	assert_int_equal(k.kind, HP_ASK_STORED);
	assert_int_equal(k.size, 50);
	/* with one that is large enough the others are only counted */
	sizes[0] = 4 * MIB;
	asked = 0;
	k = (struct hp_probe_pick){ .chunks = 0 };
	hp_probe_pick(&k, &facts, 0, list, 3);
	assert_int_equal(asked, 1);
	assert_int_equal(k.chunks, 3);
	assert_int_equal(k.chunk, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_port_of_each_address_is_tried),
		cmocka_unit_test(where_nothing_connects_one_port_is_enough),
		cmocka_unit_test(ports_end_where_numbers_do),
		cmocka_unit_test(what_was_seen_on_the_way_is_told),
		cmocka_unit_test(without_an_address_or_time_it_was_not_asked),
		cmocka_unit_test(the_read_in_the_middle_counts),
		cmocka_unit_test(who_has_nothing_answers_all_the_same),
		cmocka_unit_test(
			answers_that_stop_on_their_way_are_no_good_ones),
		cmocka_unit_test(the_largest_of_what_is_there_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
