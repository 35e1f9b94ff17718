/* SPDX-License-Identifier: Apache-2.0 */
/* A loader's state: as text and back, and of which dataset it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "dataset/dataset.h"
#include "packed.h"

static int parse(const char *text, struct hpdsl_state *ret,
		 struct hpdsl_error *err)
{
	return hpdsl_state_parse(text, strlen(text), "state", ret, err);
}

static void states_are_read(void **state)
{
	static const uint8_t pack[16] = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55,
					  0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb,
					  0xcc, 0xdd, 0xee, 0xff };
	static const uint8_t unknown[16];
	struct hpdsl_state s;

	(void)state;
	assert_int_equal(parse("seed: 7\nepoch: 2\nstep: 300\nbatch: 4\n"
			       "lanes: 12\npiece: 64\nwindows: 3\n"
			       "parts: 6\nshuffle: true\n",
			       &s, NULL),
			 0);
	assert_true(s.order.seed == 7 && s.order.epoch == 2 &&
		    s.order.step == 300 && s.order.batch == 4 &&
		    s.order.lanes == 12 && s.order.piece == 64 &&
		    s.order.windows == 3 && s.order.parts == 6 &&
		    !s.order.plain);
	assert_memory_equal(s.pack, unknown, 16);
	assert_false(s.has_choice);
	assert_int_equal(
		parse("{\"pack\": \"00112233445566778899aabbccddeeff\""
		      ",\n\t\"seed\": 18446744073709551615, \"x\": "
		      "[1, {\"y\": null}], \"batch\": 4, \"end\":\"drop\","
		      "\"epoch\": 0, \"step\": 0, \"lanes\": 8, "
		      "\"piece\": 18446744073709551615, "
		      "\"windows\": 1, \"parts\": 1, \"shuffle\": true, "
		      "\"choice\":\"ffeeddccbbaa99887766554433221100\","
		      " \"version\": 2, \"format\": \"hpdsl-state\"}",
		      &s, NULL),
		0);
	assert_true(s.order.seed == UINT64_MAX && s.order.batch == 4 &&
		    s.order.lanes == 8 && s.order.piece == UINT64_MAX &&
		    !s.order.plain && s.end == HPDSL_END_DROP);
	assert_memory_equal(s.pack, pack, 16);
	assert_true(s.has_choice);
	for (int i = 0; i < 16; i++)
		assert_int_equal(s.choice[i], pack[15 - i]);
}

static void bad_states_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"7",
		"[]",
		"{",
		"seed: -1",
		"seed: 18446744073709551616",
		"windows: 0",
		"piece: 0",
		"batch: 4294967296",
		"parts: [1]",
		"batch: 1\nbatch: 1",
		"lanes: 7\nbatch: 2",
		"shuffle: 0",
		"W: 1",
		"pack: 00",
		"choice: 00",
		"end: never",
		"end: [mask]",
		"format: hpdsl-order",
		"version: 1",
		"a: &x 1\nbatch: *x",
		"seed: 1\n---\nseed: 2",
	};
	struct hpdsl_state s, was;

	(void)state;
	memset(&s, 0x5a, sizeof s);
	was = s;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct hpdsl_error err = { 0 };

		assert_int_equal(parse(bad[i], &s, &err), HPDSL_ECORRUPT);
		assert_int_equal(strncmp(err.msg, "state: ", 7), 0);
		assert_memory_equal(&s, &was, sizeof s);
	}
}

/* It has no lanes, and none that do not go with its batch either. */
static void a_plain_one_has_no_lanes(void **state)
{
	static const char *const texts[] = {
		"shuffle: false",
		"batch: 2\nlanes: 7\npiece: 3\nwindows: 4\nparts: 5\n"
		"shuffle: false",
	};
	struct hpdsl_state s;

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		assert_int_equal(parse(texts[i], &s, NULL), 0);
		assert_true(s.order.plain && s.order.batch == 2 * i &&
			    s.order.lanes == 1 && s.order.piece == 1 &&
			    s.order.windows == 1 && s.order.parts == 1);
	}
}

/* What says that it is a state is whole; what does not has nothing else. */
static void what_is_no_state_is_told(void **state)
{
	static const char *const names[] = { "version", "pack",	 "seed",
					     "epoch",	"step",	 "batch",
					     "lanes",	"piece", "windows",
					     "parts",	"end" };
	struct hpdsl_state s = {
		.order = { 1, 2, 3, 4, 5, 6, 7, 8, false },
	};
	char text[HPDSL_STATE_MAX], said[80];
	struct hpdsl_error err;

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char *at;

		hpdsl_state_format(&s, text);
		snprintf(said, sizeof said, "\"%s\"", names[i]);
		at = strstr(text, said);
		assert_non_null(at);
		at[1] = '_';
		assert_int_equal(parse(text, &s, &err), HPDSL_ECORRUPT);
		snprintf(said, sizeof said, "state: '%s' is missing", names[i]);
		assert_string_equal(err.msg, said);
	}
	assert_int_equal(parse("{}", &s, &err), HPDSL_ECORRUPT);
	assert_string_equal(err.msg,
			    "state: it has nothing of a loader's state");
	assert_int_equal(parse("seed: 1\nsteps: 7\n'w\u00e9': 2\n", &s, &err),
			 HPDSL_ECORRUPT);
	assert_string_equal(err.msg,
			    "state: line 2: 'steps' is no field of a loader's "
			    "state");
	assert_int_equal(parse("\"a\\nb\\xe9\": 2", &s, &err), HPDSL_ECORRUPT);
	assert_string_equal(err.msg,
			    "state: line 1: 'a?b?\?' is no field of a loader's "
			    "state");
	assert_int_equal(parse("seed: 1\n---\nseed: 2\n", &s, &err),
			 HPDSL_ECORRUPT);
	assert_string_equal(err.msg, "state: line 2: one mapping was expected");
	/* a nested one is not the state's */
	assert_int_equal(parse("'': {x: 1}", &s, &err), HPDSL_ECORRUPT);
	assert_string_equal(
		err.msg, "state: line 1: '' is no field of a loader's state");
}

static void is_text(const struct hpdsl_state *s, const char *text)
{
	char buf[HPDSL_STATE_MAX];

	assert_int_equal(hpdsl_state_format(s, buf), strlen(text));
	assert_string_equal(buf, text);
}

static void formats(const struct hpdsl_state *s, const char *text)
{
	struct hpdsl_state t;

	is_text(s, text);
	assert_int_equal(parse(text, &t, NULL), 0);
	is_text(&t, text);
	assert_int_equal(t.end, s->end);
	assert_int_equal(t.has_choice, s->has_choice);
}

static void states_are_written(void **state)
{
	struct hpdsl_state s = {
		.order = { .seed = 42,
			   .step = 9,
			   .batch = 256,
			   .lanes = 512,
			   .piece = 37,
			   .windows = 16,
			   .parts = 4 },
	};

	(void)state;
	memset(s.pack, 0x1a, 16);
	formats(&s,
		"{\"format\": \"hpdsl-state\", \"version\": 2, \"pack\": "
		"\"1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a\", \"seed\": 42, "
		"\"epoch\": 0, \"step\": 9, \"batch\": 256, \"lanes\": 512, "
		"\"piece\": 37, \"windows\": 16, \"parts\": 4, \"end\": "
		"\"mask\"}");
	s.end = HPDSL_END_SHORT;
	formats(&s,
		"{\"format\": \"hpdsl-state\", \"version\": 2, \"pack\": "
		"\"1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a\", \"seed\": 42, "
		"\"epoch\": 0, \"step\": 9, \"batch\": 256, \"lanes\": 512, "
		"\"piece\": 37, \"windows\": 16, \"parts\": 4, \"end\": "
		"\"short\"}");
	/* the longest there is */
	s = (struct hpdsl_state){
		.order = { .seed = UINT64_MAX,
			   .epoch = UINT64_MAX,
			   .step = UINT64_MAX,
			   .batch = UINT32_MAX,
			   .lanes = UINT64_MAX,
			   .piece = UINT64_MAX,
			   .windows = UINT32_MAX,
			   .parts = UINT32_MAX,
			   .plain = true },
		.end = HPDSL_END_REPEAT,
		.has_choice = true,
	};
	is_text(&s, "{\"format\": \"hpdsl-state\", \"version\": 2, \"pack\": "
		    "\"00000000000000000000000000000000\", \"seed\": "
		    "18446744073709551615, \"epoch\": 18446744073709551615, "
		    "\"step\": 18446744073709551615, \"batch\": 4294967295, "
		    "\"lanes\": 18446744073709551615, \"piece\": "
		    "18446744073709551615, \"windows\": 4294967295, "
		    "\"parts\": 4294967295, \"end\": \"repeat\", "
		    "\"shuffle\": false, \"choice\": "
		    "\"00000000000000000000000000000000\"}");
	s.order.lanes = s.order.piece = 1;
	s.order.windows = s.order.parts = 1;
	formats(&s, "{\"format\": \"hpdsl-state\", \"version\": 2, \"pack\": "
		    "\"00000000000000000000000000000000\", \"seed\": "
		    "18446744073709551615, \"epoch\": 18446744073709551615, "
		    "\"step\": 18446744073709551615, \"batch\": 4294967295, "
		    "\"lanes\": 1, \"piece\": 1, \"windows\": 1, \"parts\": 1, "
		    "\"end\": \"repeat\", \"shuffle\": false, \"choice\": "
		    "\"00000000000000000000000000000000\"}");
}

/* Of a large index, only the first who asks has to wait. */
static void the_pack_is_hashed_once(void **state)
{
	uint8_t before[16], after[16];
	struct hpdsl_dataset *ds;
	struct hp_view was;
	struct packed p;

	(void)state;
	packed_begin(&p);
	packed_file(&p, "a", 10, 0644, 0, 0);
	packed_pack(&p, (struct hpdsl_pack_options){ 0 });
	assert_int_equal(hpdsl_open(p.out, NULL, &ds, NULL), 0);
	hpdsl_pack_id(ds, before);
	was = ds->view;
	ds->view.size = 1;
	hpdsl_pack_id(ds, after);
	ds->view = was;
	assert_memory_equal(before, after, 16);
	hp_hash128(was.p, was.size, after);
	assert_memory_equal(before, after, 16);
	hpdsl_close(ds);
	packed_end(&p);
}

static int check(const struct hpdsl_state *s, const struct hpdsl_dataset *ds,
		 const struct hpdsl_choice *c, const char *want)
{
	struct hpdsl_error err = { .msg = "" };
	int r = hpdsl_state_check(s, ds, c, "state", &err);

	assert_string_equal(err.msg, want);
	return r;
}

/* Both are named. */
static void check_other(const struct hpdsl_state *s,
			const struct hpdsl_dataset *ds,
			const struct hpdsl_choice *c, const char *what,
			const uint8_t was[16], const uint8_t is[16])
{
	char want[200], a[33], b[33];

	hp_hex128(was, a);
	hp_hex128(is, b);
	snprintf(want, sizeof want,
		 "state: the state is of another %s: %s, and not %s", what, a,
		 b);
	assert_int_equal(check(s, ds, c, want), HPDSL_EDIFFERS);
}

static void of_this_dataset(void **state)
{
	const uint64_t some[] = { 1, 2 }, others[] = { 0, 2 };
	struct hpdsl_choice_options opt = { .samples = some, .n_samples = 2 };
	struct hpdsl_choice *c, *other;
	struct hpdsl_state s = { 0 };
	uint8_t digest[16], pack[16];
	struct hpdsl_dataset *ds;
	struct packed p;

	(void)state;
	packed_begin(&p);
	for (int i = 0; i < 5; i++)
		packed_file(&p, (const char[]){ (char)('a' + i), '\0' }, 10,
			    0644, 0, 0);
	packed_pack(&p, (struct hpdsl_pack_options){ 0 });
	assert_int_equal(hpdsl_open(p.out, NULL, &ds, NULL), 0);
	assert_int_equal(hpdsl_choose(ds, &opt, &c, NULL), 0);
	opt.samples = others;
	assert_int_equal(hpdsl_choose(ds, &opt, &other, NULL), 0);

	assert_int_equal(check(&s, ds, NULL, ""), 0);
	/* as a person writes one: of any dataset, and of any choice */
	assert_int_equal(check(&s, ds, c, ""), 0);
	s.has_choice = true;
	hpdsl_choice_digest(c, digest);
	check_other(&s, ds, c, "choice of samples", s.choice, digest);
	s.has_choice = false;
	hpdsl_pack_id(ds, s.pack);
	hpdsl_pack_id(ds, pack);
	assert_int_equal(check(&s, ds, NULL, ""), 0);
	s.pack[7] ^= 1;
	check_other(&s, ds, NULL, "pack", s.pack, pack);
	s.pack[7] ^= 1;
	s.order.step = 7; /* of a batch that nobody has said yet */
	assert_int_equal(check(&s, ds, NULL, ""), 0);
	s.order.batch = 1;
	s.order.step = 5; /* the end */
	assert_int_equal(check(&s, ds, NULL, ""), 0);
	s.order.step = 6;
	assert_int_equal(check(&s, ds, NULL, "state: no step 6, epoch 0 has 5"),
			 HPDSL_EDIFFERS);
	s.order.step = 2;
	assert_int_equal(check(&s, ds, c,
			       "state: the state is of all samples, and here "
			       "some are chosen"),
			 HPDSL_EDIFFERS);
	s.has_choice = true;
	hpdsl_choice_digest(c, s.choice);
	assert_int_equal(check(&s, ds, c, ""), 0);
	s.order.step = 3;
	assert_int_equal(check(&s, ds, c, "state: no step 3, epoch 0 has 2"),
			 HPDSL_EDIFFERS);
	s.order.step = 0;
	assert_int_equal(check(&s, ds, NULL,
			       "state: the state is of a choice of samples, "
			       "and here are all"),
			 HPDSL_EDIFFERS);
	hpdsl_choice_digest(other, digest);
	check_other(&s, ds, other, "choice of samples", s.choice, digest);
	hpdsl_choice_free(other);
	hpdsl_choice_free(c);
	hpdsl_close(ds);
	packed_end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states_are_read),
		cmocka_unit_test(a_plain_one_has_no_lanes),
		cmocka_unit_test(bad_states_are_refused),
		cmocka_unit_test(what_is_no_state_is_told),
		cmocka_unit_test(states_are_written),
		cmocka_unit_test(the_pack_is_hashed_once),
		cmocka_unit_test(of_this_dataset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
