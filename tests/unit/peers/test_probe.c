/* SPDX-License-Identifier: Apache-2.0 */
/* The probe against servers that go wrong, each in one way. */
#include "peers/probe.h"

#include "fault_nodes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct fault_nodes nine;
static struct hp_book book;
static void *file;

static void probe(double seconds, struct hp_probing *ret)
{
	const struct hp_client_facts facts = fault_nodes_facts(&nine);
	struct hpdsl_error err;

	memset(ret, 0, FN_NODES * sizeof *ret);
	assert_int_equal(hp_probe(&book, &facts, seconds, ret, &err), 0);
}

static void well(const struct hp_probing *p, uint64_t chunks, unsigned reads)
{
	assert_int_equal(hp_probing_is(p), HPDSL_PROBE_WELL);
	assert_int_equal(p->pick.chunks, chunks);
	assert_int_equal(p->reads, reads);
	assert_int_equal(p->pings, HP_PROBE_PINGS);
	assert_true(p->ping > 0);
	assert_true(!reads == (hp_probing_rate(p) <= 0));
}

static void all_is_well(void **state)
{
	struct hp_probing is[FN_NODES];

	(void)state;
	probe(60, is);
	for (int i = 1; i < FN_NODES; i++) {
		well(&is[i], FN_CHUNKS, HP_PROBE_READS);
		assert_int_equal(hp_probing_bytes(&is[i]), 4 << 20);
		assert_int_equal(is[i].port, book.head.port);
	}
	/* the own one is not asked */
	assert_int_equal(is[0].addresses + is[0].pings, 0);
}

static void each_goes_wrong(void **state)
{
	struct hp_probing is[FN_NODES];
	const unsigned port = book.head.port;
	enum hpdsl_probe_is what;

	(void)state;
	fault_nodes_tell(&nine, "gone 1");
	fault_nodes_tell(&nine, "gone 2");
	fault_nodes_tell(&nine, "squat 2 %u html", port + 1);
	fault_nodes_tell(&nine, "gone 3");
	fault_nodes_tell(&nine, "squat 3 %u banner", port);
	fault_nodes_tell(&nine, "port 4 %u", port + 7);
	fault_nodes_tell(&nine, "do 5 cut");
	fault_nodes_tell(&nine, "do 6 mac");
	fault_nodes_tell(&nine, "do 7 absent");
	fault_nodes_tell(&nine, "do 8 nothave");
	probe(60, is);
	assert_int_equal(hp_probing_is(&is[1]), HPDSL_PROBE_REFUSED);
	assert_int_equal(hp_probing_is(&is[2]), HPDSL_PROBE_OTHER);
	/* as old libcurls have it, or newer ones */
	what = hp_probing_is(&is[3]);
	assert_true(what == HPDSL_PROBE_CLOSED || what == HPDSL_PROBE_OTHER);
	well(&is[4], FN_CHUNKS, HP_PROBE_READS);
	assert_int_equal(is[4].port, port + 7);
	assert_int_equal(hp_probing_is(&is[5]), HPDSL_PROBE_LOST);
	assert_int_equal(hp_probing_is(&is[6]), HPDSL_PROBE_LOST);
	well(&is[7], FN_CHUNKS, 0);
	well(&is[8], 0, 0);
}

/* One that says nothing keeps nobody for longer than was said. */
static void it_ends_in_time(void **state)
{
	struct hp_probing is[FN_NODES];

	(void)state;
	fault_nodes_tell(&nine, "do 5 silent");
	probe(0.3, is);
	assert_int_equal(hp_probing_is(&is[5]), HPDSL_PROBE_NOT_ASKED);
	/* nobody is measured before all were looked for */
	assert_int_equal(is[7].pings, 0);
	probe(60, is);
	assert_int_equal(hp_probing_is(&is[5]), HPDSL_PROBE_MUTE);
	well(&is[7], FN_CHUNKS, 0);
}

static int begin(void **state)
{
	struct hpdsl_error err;
	uint64_t size;

	(void)state;
	fault_nodes_start(&nine, FN_NODES, 1);
	size = hp_book_size(&nine.head, nine.node);
	file = malloc(size);
	hp_book_format(&nine.head, nine.node, file);
	return hp_book_parse(file, size, "book", &book, &err);
}

static int end(void **state)
{
	(void)state;
	fault_nodes_stop(&nine);
	free(file);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_well),
		cmocka_unit_test(each_goes_wrong),
		cmocka_unit_test(it_ends_in_time),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
