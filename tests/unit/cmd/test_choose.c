/* SPDX-License-Identifier: Apache-2.0 */
/* Which candidate is taken for LOCALDIR auto, on nodes that are not there. */
#include "cmd/stage/candidates.c"
#include "cmd/stage/choose.c"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { NODES = 4, CHUNKS = 8, SLURM = 0, SCRATCH, JOBFS, TMPDIR, TMP };

/* A dataset of 800 bytes, and what the nodes have found. */
static struct choose_node all[NODES];
static const char *path[CHOOSE_PLACES];
static uint64_t weight[CHUNKS];
static uint32_t order[CHUNKS];
static struct choose job;
static struct choice got;
static struct hpdsl_error err;

/* All have room for it in /tmp, and nothing else is set. */
static void begin(enum hpdsl_stage_mode mode)
{
	static const char *const hosts[NODES] = { "n0", "n1", "n2", "n3" };

	memset(all, 0, sizeof(all));
	memset(path, 0, sizeof(path));
	for (uint32_t i = 0; i < CHUNKS; i++) {
		weight[i] = 100;
		order[i] = i;
	}
	job = (struct choose){ .all = all,
			       .path = path,
			       .wish = { .mode = mode,
					 .copies = 2,
					 .nodes = NODES,
					 .chunks = CHUNKS,
					 .weight = weight,
					 .order = order,
					 .hosts = hosts } };
}

static void put(uint32_t place, const char *where, uint64_t room)
{
	path[place] = where;
	for (uint32_t n = 0; n < NODES; n++)
		all[n].of[place] = (struct choose_look){ .state = CHOOSE_GOOD,
							 .room = room };
}

static void put_memory(uint32_t place, const char *where, uint64_t room)
{
	put(place, where, room);
	for (uint32_t n = 0; n < NODES; n++)
		all[n].of[place].ram = true;
}

static void spoil(uint32_t place, uint32_t node, enum choose_state state)
{
	all[node].of[place].state = (uint8_t)state;
	all[node].of[place].code = -ENOENT;
	strcpy(all[node].of[place].kind, "lustre");
}

static void takes(uint32_t place, const char *why)
{
	int r = choose_place(&job, &got, &err);

	if (r)
		fail_msg("%d: %s", r, err.msg);
	assert_int_equal(got.place, place);
	assert_int_equal(got.node, UINT32_MAX);
	assert_string_equal(got.why, why);
}

static void refuses(int code, const char *text)
{
	assert_int_equal(choose_place(&job, &got, &err), code);
	if (!strstr(err.msg, text))
		fail_msg("%s", err.msg);
}

static void others(const char *text)
{
	assert_string_equal(got.others, text);
}

/* ---- Order and room --------------------------------------------------- */

static void the_first_with_room_for_all(void **state)
{
	(void)state;
	begin(HPDSL_STAGE_REPLICATE);
	put(SLURM, "/a", 800);
	put(TMP, "/tmp", 8000);
	takes(SLURM, "$SLURM_TMPDIR has room for all of it on every node");
	others("");
	/* one node too small is enough */
	all[2].of[SLURM].room = 799;
	takes(TMP, "/tmp has room for all of it on every node");
	assert_non_null(strstr(got.others, "$SLURM_TMPDIR (/a): node 2 (n2) "
					   "has room for 799 bytes"));
	all[3].of[TMP].room = 0;
	refuses(-ENOSPC, "LOCALDIR auto: there is no place: "
			 "$SLURM_TMPDIR (/a): node 2 (n2) has room for");
	assert_non_null(strstr(err.msg, "; /tmp: node 3 (n3) has room for"));
}

static void a_part_is_enough_for_parts(void **state)
{
	(void)state;
	begin(HPDSL_STAGE_PARTITION);
	put(JOBFS, "/j", 200);
	put(TMP, "/tmp", 8000);
	takes(JOBFS, "$JOBFS has room for it in 4 parts");
	put(JOBFS, "/j", 199);
	takes(TMP, "/tmp has room for it in 4 parts");
	begin(HPDSL_STAGE_COPIES);
	put(TMPDIR, "/t", 400);
	put(TMP, "/tmp", 8000);
	takes(TMPDIR, "$TMPDIR has room for it in 2 parts");
	put(TMPDIR, "/t", 399);
	takes(TMP, "/tmp has room for it in 2 parts");
}

static void the_fewest_parts(void **state)
{
	(void)state;
	begin(HPDSL_STAGE_AUTO);
	put(SLURM, "/a", 200);
	put(TMPDIR, "/t", 400);
	put(TMP, "/tmp", 800);
	takes(TMP, "/tmp has room for all of it on every node");
	put(TMP, "/tmp", 799);
	takes(TMPDIR, "$TMPDIR has room for it in 2 parts");
	/* as many: the first */
	put(SLURM, "/a", 400);
	takes(SLURM, "$SLURM_TMPDIR has room for it in 2 parts");
	/* nowhere all of it: what leaves the least */
	put(SLURM, "/a", 100);
	put(TMPDIR, "/t", 0);
	put(TMP, "/tmp", 150);
	all[0].of[TMP].room = 0;
	takes(SLURM, "$SLURM_TMPDIR leaves the least of it at the origin");
	for (uint32_t n = 0; n < NODES; n++)
		all[n].of[SLURM].room = 0;
	takes(TMP, "/tmp leaves the least of it at the origin");
	others("$SLURM_TMPDIR (/a) has too little room; "
	       "$TMPDIR (/t) has too little room");
	put(TMP, "/tmp", 99);
	refuses(-ENOSPC, "/tmp has too little room");
}

static void memory_comes_last(void **state)
{
	(void)state;
	begin(HPDSL_STAGE_AUTO);
	put_memory(SLURM, "/dev/shm", 8000);
	put(TMP, "/tmp", 200);
	takes(TMP, "/tmp has room for it in 4 parts");
	assert_false(got.ram);
	others("");
	put(TMP, "/tmp", 199);
	takes(SLURM, "$SLURM_TMPDIR has room for all of it on every node, and "
		     "is memory");
	assert_true(got.ram);
	others("/tmp has too little room");
	/* if it has too little as well, what is on a disk counts */
	put_memory(SLURM, "/dev/shm", 199);
	put(TMP, "/tmp", 100);
	takes(TMP, "/tmp leaves the least of it at the origin");
	put(TMP, "/tmp", 99);
	takes(SLURM, "$SLURM_TMPDIR leaves the least of it at the origin, and "
		     "is memory");
	/* memory on one node only is memory */
	begin(HPDSL_STAGE_REPLICATE);
	put(SLURM, "/a", 8000);
	all[3].of[SLURM].ram = true;
	put(TMP, "/tmp", 800);
	takes(TMP, "/tmp has room for all of it on every node");
}

static void the_one_that_has_it(void **state)
{
	(void)state;
	begin(HPDSL_STAGE_REPLICATE);
	put(SLURM, "/a", 8000);
	put_memory(TMPDIR, "/t", 0);
	put(TMP, "/tmp", 8000);
	all[2].of[TMPDIR].holds = true;
	all[3].of[TMPDIR].holds = true;
	takes(TMPDIR, "$TMPDIR has it already, on 2 of 4 nodes, and is memory");
	assert_true(got.ram);
	others("");
	all[3].of[JOBFS].holds = true; /* the folder is not there, though */
	takes(TMPDIR, "$TMPDIR has it already, on 2 of 4 nodes, and is memory");
	/* one that a node cannot use does not count */
	spoil(TMPDIR, 0, CHOOSE_SEEN);
	takes(SLURM, "$SLURM_TMPDIR has room for all of it on every node");
}

static void one_node(void **state)
{
	(void)state;
	begin(HPDSL_STAGE_AUTO);
	job.wish.nodes = 1;
	put(TMPDIR, "/t", 800);
	takes(TMPDIR, "$TMPDIR has room for all of it");
	all[0].of[TMPDIR].holds = true;
	takes(TMPDIR, "$TMPDIR has it already, on 1 of 1 node");
	spoil(TMPDIR, 0, CHOOSE_BAD);
	refuses(-ENOSPC, "$TMPDIR (/t) cannot be used (No such file or "
			 "directory)");
	assert_null(strstr(err.msg, "node 0"));
}

/* ---- What does not count ---------------------------------------------- */

static void what_is_shared_does_not_count(void **state)
{
	(void)state;
	begin(HPDSL_STAGE_REPLICATE);
	put(SLURM, "/a", 8000);
	put(SCRATCH, "/b", 8000);
	put(JOBFS, "c", 8000);
	put(TMPDIR, "/d", 8000);
	put(TMP, "/tmp", 8000);
	spoil(SLURM, 1, CHOOSE_KIND);
	spoil(SCRATCH, 2, CHOOSE_SEEN);
	spoil(SCRATCH, 3, CHOOSE_SEEN);
	spoil(JOBFS, 0, CHOOSE_RELATIVE);
	spoil(TMPDIR, 3, CHOOSE_BAD);
	takes(TMP, "/tmp has room for all of it on every node");
	others("$SLURM_TMPDIR (/a) is shared by machines (lustre) on node 1 "
	       "(n1); $LOCAL_SCRATCH (/b) has another node's file on node 2 "
	       "(n2); $JOBFS (c) is no absolute path on node 0 (n0); "
	       "$TMPDIR (/d) cannot be used (No such file or directory) on "
	       "node 3 (n3)");
	spoil(TMP, 0, CHOOSE_SEEN);
	refuses(-ENOSPC, "; /tmp has another node's file on node 0 (n0)");
	/* without names, as on other ranks than 0 */
	job.wish.hosts = NULL;
	refuses(-ENOSPC, "; /tmp has another node's file on node 0");
}

static void differs(uint32_t place, uint32_t node)
{
	assert_int_equal(choose_place(&job, &got, &err), HPDSL_EUSAGE);
	assert_int_equal(got.place, place);
	assert_int_equal(got.node, node);
}

static void one_path_on_all_nodes(void **state)
{
	(void)state;
	begin(HPDSL_STAGE_REPLICATE);
	put(SLURM, "/a", 8000);
	put(TMPDIR, "/t", 8000);
	put(TMP, "/tmp", 8000);
	all[2].of[TMPDIR].differs = all[3].of[TMPDIR].differs = true;
	/* its turn does not come */
	takes(SLURM, "$SLURM_TMPDIR has room for all of it on every node");
	put(SLURM, "/a", 0);
	differs(TMPDIR, 2);
	/* none on a node is another path, too */
	all[2].of[TMPDIR] = (struct choose_look){ .differs = true };
	differs(TMPDIR, 2);
	/* what cannot be used where it is set is passed over */
	spoil(TMPDIR, 1, CHOOSE_KIND);
	takes(TMP, "/tmp has room for all of it on every node");
	/* memory's turn is behind that of /tmp */
	put_memory(TMPDIR, "/t", 8000);
	all[1].of[TMPDIR].differs = true;
	takes(TMP, "/tmp has room for all of it on every node");
	put(TMP, "/tmp", 0);
	differs(TMPDIR, 1);
	/* one that is there on other nodes than 0 */
	put(TMPDIR, NULL, 8000);
	all[0].of[TMPDIR].state = CHOOSE_UNSET;
	for (uint32_t n = 1; n < NODES; n++)
		all[n].of[TMPDIR].differs = true;
	differs(TMPDIR, 1);
}

/* Any texts, however long, end where they have to. */
static void long_texts(void **state)
{
	static char name[4000];

	(void)state;
	memset(name, 'x', sizeof(name) - 1);
	name[0] = '/';
	begin(HPDSL_STAGE_REPLICATE);
	for (uint32_t i = 0; i < CHOOSE_PLACES; i++) {
		put(i, name, 10);
		if (i % 2)
			spoil(i, i % NODES, CHOOSE_BAD);
	}
	refuses(-ENOSPC, "$LOCAL_SCRATCH (/xxx");
	put(TMP, "/tmp", 800);
	takes(TMP, "/tmp has room for all of it on every node");
	assert_true(strlen(got.others) < sizeof(got.others));
}

/* ---- Candidates and names --------------------------------------------- */

static const char *env[CHOOSE_PLACES];

static char *get(const char *name)
{
	for (uint32_t i = 0; i < LAST; i++)
		if (!strcmp(name, names[i] + 1))
			return (char *)(uintptr_t)env[i];
	return NULL;
}

static void candidates_are(const char *a, const char *b, const char *c,
			   const char *d)
{
	const char *want[] = { a, b, c, d, "/tmp" };
	char *is[CHOOSE_PLACES];

	choose_candidates(get, is);
	for (uint32_t i = 0; i < CHOOSE_PLACES; i++) {
		assert_int_equal(!is[i], !want[i]);
		if (want[i])
			assert_string_equal(is[i], want[i]);
		free(is[i]);
	}
}

static void candidates_of_an_environment(void **state)
{
	(void)state;
	memset(env, 0, sizeof(env));
	candidates_are(NULL, NULL, NULL, NULL);
	env[SLURM] = "/a//";
	env[SCRATCH] = "";
	env[JOBFS] = "/";
	env[TMPDIR] = "rel/";
	candidates_are("/a", NULL, "/", "rel");
	/* twice the same; /tmp stays the last */
	env[TMPDIR] = "/a/";
	env[JOBFS] = "/tmp/";
	candidates_are("/a", NULL, NULL, NULL);
}

static void names_are_short(void **state)
{
	char text[66];

	(void)state;
	assert_true(choose_is_name("imagenet-21k_v1.0"));
	assert_true(choose_is_name("."));
	assert_false(choose_is_name(""));
	assert_false(choose_is_name("a b"));
	assert_false(choose_is_name("a/b"));
	assert_false(choose_is_name("%n"));
	assert_false(choose_is_name("$X"));
	assert_false(choose_is_name("\xc3\xa4"));
	memset(text, 'a', sizeof(text));
	text[64] = '\0';
	assert_true(choose_is_name(text));
	text[64] = 'a';
	text[65] = '\0';
	assert_false(choose_is_name(text));
}

/* ---- Room of a place -------------------------------------------------- */

static void half_of_the_memory(void **state)
{
	struct hpdsl_stage_place p = { .free_bytes = 1000,
				       .memory_bytes = 400,
				       .capacity = 900 };

	(void)state;
	/* a disk: what there is, or less */
	assert_int_equal(choose_room(UINT64_MAX, &p), 900);
	assert_int_equal(choose_room(500, &p), 500);
	p.ram = true;
	p.capacity = 380;
	assert_int_equal(choose_room(UINT64_MAX, &p), 200);
	assert_int_equal(choose_room(201, &p), 200);
	assert_int_equal(choose_room(100, &p), 100);
	/* the same when half of it is held, and was left before */
	p.memory_bytes = 200;
	p.held_bytes = 200;
	p.capacity = 390;
	assert_int_equal(choose_room(UINT64_MAX, &p), 200);
	/* training has taken the rest */
	p.memory_bytes = 10;
	p.capacity = 209;
	assert_int_equal(choose_room(UINT64_MAX, &p), 200);
	/* no limit anywhere */
	p = (struct hpdsl_stage_place){ .ram = true,
					.memory_bytes = UINT64_MAX,
					.held_bytes = UINT64_MAX,
					.capacity = UINT64_MAX };
	assert_int_equal(choose_room(UINT64_MAX, &p), UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_with_room_for_all),
		cmocka_unit_test(a_part_is_enough_for_parts),
		cmocka_unit_test(the_fewest_parts),
		cmocka_unit_test(memory_comes_last),
		cmocka_unit_test(the_one_that_has_it),
		cmocka_unit_test(one_node),
		cmocka_unit_test(what_is_shared_does_not_count),
		cmocka_unit_test(one_path_on_all_nodes),
		cmocka_unit_test(long_texts),
		cmocka_unit_test(candidates_of_an_environment),
		cmocka_unit_test(names_are_short),
		cmocka_unit_test(half_of_the_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
