/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stage directory from its making to its cleaning, with real files: who may
 * take it, what is kept of what is there, what readers are told; and that
 * nothing that fails leaves a lie behind.
 */
#include "faultio.h"
#include "outfile.h"
#include "packed.h"
#include "shell.h"
#include "stage_dir.h"
#include "wrap.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct packed fix;
static char plain[200], zst[200], other[200], dir[200];

/* ---- A stager of one node, without messages --------------------------- */

struct work {
	struct hpdsl_stage_source *source;
	struct hpdsl_stage_pack pack;
	struct hpdsl_stage *s;
	bool recheck, keep_compressed;
	uint32_t threads; /* 0: serial */
	const char *job;
	uint64_t most;	/* chunks to copy; 0: all */
	uint64_t limit; /* bytes of capacity; 0: no limit */
	uint64_t held, copied;
	char warned[4096];
};

static void warn(void *arg, const char *text)
{
	struct work *w = arg;
	size_t n = strlen(w->warned);

	snprintf(w->warned + n, sizeof w->warned - n, "%s\n", text);
}

static int put_index(struct work *w, struct hpdsl_error *err)
{
	char buf[1000];
	ssize_t n;
	int r = 0;

	do {
		n = hpdsl_stage_source_index(w->source, buf, sizeof buf, err);
		if (n >= 0)
			r = hpdsl_stage_put_index(w->s, &w->pack, buf,
						  (size_t)n, err);
	} while (n > 0 && r == 0);
	return n < 0 ? (int)n : r;
}

static int begin(struct work *w, const char *from, const char *to,
		 const struct hp_io *io, struct hpdsl_error *err)
{
	struct hpdsl_stage_at at = { .nodes = 1, .job = w->job, .io = io };
	struct hpdsl_stage_begin b = {
		.pack = &w->pack,
		.recheck = w->recheck,
		.keep_compressed = w->keep_compressed,
		.threads = w->threads ? w->threads : HPDSL_SERIAL,
		.watch = { .warn = warn, .arg = w, .io = io }
	};
	int r = hpdsl_stage_source_open(from, io, &w->source, err);

	if (r < 0)
		return r;
	hpdsl_stage_source_pack(w->source, &w->pack);
	r = hpdsl_stage_open(to, &at, &w->s, err);
	if (r == 0)
		r = hpdsl_stage_has_index(w->s, &w->pack, err);
	if (r == 0)
		r = put_index(w, err);
	return r < 0 ? r : hpdsl_stage_begin(w->s, &b, err);
}

static int publish(struct work *w, struct hpdsl_error *err)
{
	uint64_t capacity = w->limit ? w->limit : UINT64_MAX / 4;
	uint64_t weight[100];
	uint32_t order[100];
	struct hpdsl_stage_wish wish = { .nodes = 1,
					 .capacity = &capacity,
					 .chunks = w->pack.chunks,
					 .weight = weight,
					 .order = order };
	struct hpdsl_stage_plan *plan;
	int r;

	for (uint32_t i = 0; i < 100; i++)
		order[i] = i;
	hpdsl_stage_weights(w->s, weight);
	r = hpdsl_stage_plan_new(&wish, &plan, err);
	if (r < 0)
		return r;
	r = hpdsl_stage_publish(w->s, plan, err);
	hpdsl_stage_plan_free(plan);
	return r;
}

/*
 * As the stager does it: under another name, then by its own.  The tars of both
 * fixtures are the same, so one is what the other expands to.
 */
static int copy(struct work *w, const char *from, uint32_t number,
		struct hpdsl_error *err)
{
	char name[HP_STAGE_NAME], path[500];
	struct hpdsl_chunk c;
	bool expand;
	char *bytes;
	size_t n;
	int r = hp_stage_chunk(w->s, number, false, &c, name, err);

	if (r < 0)
		return r;
	expand = c.compressed && !w->keep_compressed;
	hp_stage_chunk_name(&c, expand, name);
	snprintf(path, sizeof path, "%s/%s", expand ? plain : from,
		 expand ? name : c.name);
	bytes = packed_get(path, &n);
	r = hp_stage_put(w->s, name, bytes, n, err);
	free(bytes);
	if (r == 0)
		hp_stage_ready(w->s, number, expand);
	return r;
}

static int copy_all(struct work *w, const char *from, struct hpdsl_error *err)
{
	int r = 0;

	for (uint32_t i = 0; i < w->pack.chunks && r == 0; i++) {
		if (hpdsl_stage_holds(w->s, i)) {
			w->held++;
			continue;
		}
		if (hp_state_get(w->s->state, i) != HP_CHUNK_COMING)
			continue;
		if (w->most && w->copied == w->most) {
			err->code = HPDSL_ESTOPPED;
			return HPDSL_ESTOPPED;
		}
		r = copy(w, from, i, err);
		w->copied += r == 0;
	}
	return r;
}

static void release(struct work *w)
{
	hpdsl_stage_close(w->s);
	hpdsl_stage_source_close(w->source);
	w->s = NULL;
	w->source = NULL;
}

/* All of a stager's work; killed: it just goes away. */
static int stage(struct work *w, const char *from, const char *to,
		 const struct hp_io *io, struct hpdsl_error *err)
{
	int r;

	memset(err, 0, sizeof *err);
	r = begin(w, from, to, io, err);
	if (r == 0)
		r = publish(w, err);
	if (r == 0) {
		hpdsl_stage_beat(w->s);
		r = copy_all(w, from, err);
	}
	if (w->s)
		hpdsl_stage_end(w->s, r, NULL);
	release(w);
	return r;
}

static void must_stage(struct work *w, const char *from)
{
	struct hpdsl_error err;
	int r = stage(w, from, dir, NULL, &err);

	if (r && !(w->most && r == HPDSL_ESTOPPED))
		fail_msg("%d %s", r, err.msg);
}

static struct hpdsl_stage_status status(void)
{
	struct hpdsl_stage_status s;
	struct hpdsl_error err;

	if (hpdsl_stage_status(dir, NULL, &s, &err))
		fail_msg("%s", err.msg);
	return s;
}

static void killed(struct work *w, const char *from)
{
	pid_t pid = fork();
	int how;

	if (pid == 0) {
		struct hpdsl_error err;

		if (begin(w, from, dir, NULL, &err) || publish(w, &err))
			_exit(1);
		hpdsl_stage_beat(w->s);
		copy_all(w, from, &err);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &how, 0), pid);
	assert_int_equal(how, 0);
}

/* ---- What is there ---------------------------------------------------- */

static const char *in(const char *name)
{
	static char buf[4][600];
	static unsigned turn;

	turn = (turn + 1) % 4;
	snprintf(buf[turn], sizeof buf[turn], "%s/%s", dir, name);
	return buf[turn];
}

static bool there(const char *name)
{
	return access(in(name), F_OK) == 0;
}

static void fresh(void)
{
	run("rm -rf %s", dir);
}

static void test_whole(void **unused)
{
	struct hpdsl_stage_status s;
	struct work w = { .job = "Slurm job 4711" };

	(void)unused;
	fresh();
	must_stage(&w, plain);
	assert_int_equal(w.copied, w.pack.chunks);
	assert_true(w.copied >= 4);
	run("[ \"$(stat -c %%a %s)\" = 700 ]", dir);
	run("cd %s && for f in *; do [ $f = stage.hpdsl ] || cmp $f %s/$f; "
	    "done",
	    dir, plain);
	run("cd %s && [ \"$(ls -A | grep -v chunk-)\" = '.stage.lock\n"
	    "dataset.yaml\nindex.hpdsl\nstage.hpdsl' ]",
	    dir);
	s = status();
	assert_int_equal(s.chunks, w.pack.chunks);
	assert_int_equal(s.ready, s.chunks);
	assert_int_equal(s.ready_bytes, w.pack.bytes);
	assert_int_equal(s.coming, 0);
	assert_true(s.complete && !s.stale && !s.at_work);
	assert_int_equal(s.nodes, 1);
	assert_int_equal(s.parts, 1);
	assert_string_equal(s.origin, plain);
	assert_string_equal(s.job, "Slurm job 4711");
	assert_memory_equal(s.pack, w.pack.pack, 16);
	/* Again: nothing to do, another generation. */
	w = (struct work){ .job = NULL };
	must_stage(&w, plain);
	assert_int_equal(w.copied, 0);
	assert_int_equal(w.held, w.pack.chunks);
	assert_string_equal(w.warned, "");
	run("[ \"$(od -An -tu8 -j56 -N8 %s)\" -eq 2 ]", in("stage.hpdsl"));
}

static void test_expanded(void **unused)
{
	struct work w = { .job = NULL }, kept = { .keep_compressed = true };

	(void)unused;
	fresh();
	must_stage(&w, zst);
	assert_true(there("chunk-000000.tar"));
	assert_false(there("chunk-000000.tar.zst"));
	assert_int_equal(status().ready, w.pack.chunks);
	/* What is expanded stays so. */
	must_stage(&kept, zst);
	assert_int_equal(kept.held, w.pack.chunks);
	fresh();
	kept = (struct work){ .keep_compressed = true };
	must_stage(&kept, zst);
	assert_true(there("chunk-000000.tar.zst"));
	assert_int_equal(status().ready_bytes, w.pack.bytes);
	/* And the other way round, and hashed again. */
	w = (struct work){ .recheck = true };
	must_stage(&w, zst);
	assert_int_equal(w.held, w.pack.chunks);
	assert_false(there("chunk-000000.tar"));
}

/* ---- Who may take it -------------------------------------------------- */

static void refused(const char *path, int code, const char *text)
{
	struct hpdsl_stage_at at = { .nodes = 1 };
	struct hpdsl_stage *s;
	struct hpdsl_error err;
	uint64_t n[3];
	char left[300];

	snprintf(left, sizeof left, "%s", path);
	assert_int_equal(hpdsl_stage_open(path, &at, &s, &err), code);
	assert_int_equal(err.code, code);
	if (!strstr(err.msg, text))
		fail_msg("%s", err.msg);
	memset(&err, 0, sizeof err);
	assert_int_equal(hpdsl_stage_clean(path, NULL, n, n + 1, n + 2, &err),
			 code);
	if (!strstr(err.msg, text))
		fail_msg("%s", err.msg);
}

static void taken(const char *path)
{
	struct hpdsl_stage_at at = { .nodes = 1 };
	struct hpdsl_stage *s;
	struct hpdsl_error err;

	if (hpdsl_stage_open(path, &at, &s, &err))
		fail_msg("%s", err.msg);
	hpdsl_stage_close(s);
	run("[ \"$(stat -c %%a %s)\" = 700 ]", path);
}

static void test_places(void **unused)
{
	struct hpdsl_stage_at at = { .nodes = 1 };
	struct hpdsl_stage *s;
	struct hpdsl_error err;
	char slash[300];

	(void)unused;
	fresh();
	taken(dir);
	run("rm -rf %s && mkdir -m 755 %s", dir, dir);
	snprintf(slash, sizeof slash, "%s//", dir);
	taken(slash);
	taken(dir); /* left over, with a lock only */
	run("mkdir -m 755 %s/sub && ln -s sub %s/link && cd %s/sub", fix.top,
	    fix.top, fix.top);
	refused(packed_at(&fix, "link"), -ELOOP, "symbolic link");
	refused(packed_at(&fix, "link/"), -ELOOP, "symbolic link");
	run("[ -z \"$(ls -A %s/sub)\" ] && ln -s none %s/dangling", fix.top,
	    fix.top);
	refused(packed_at(&fix, "dangling"), -ELOOP, "symbolic link");
	run("touch %s/sub/mine", fix.top);
	refused(packed_at(&fix, "sub"), HPDSL_ENOTOURS, "'mine' is there");
	run("[ \"$(stat -c %%a %s/sub)\" = 755 ]", fix.top);
	refused(plain, HPDSL_ENOTOURS, "is a packed dataset");
	refused(packed_at(&fix, "sub/mine"), -ENOTDIR, "Not a directory");
	assert_int_equal(
		hpdsl_stage_open(packed_at(&fix, "no/dir"), &at, &s, &err),
		-ENOENT);
	/* A state file is one only if it can be read as one. */
	run("cd %s/sub && rm mine && echo hello > stage.hpdsl", fix.top);
	refused(packed_at(&fix, "sub"), HPDSL_ENOTOURS, "stage.hpdsl");
	run("cd %s/sub && printf '\\211HPDSLT\\n\\002\\0\\0\\0' > stage.hpdsl",
	    fix.top);
	refused(packed_at(&fix, "sub"), HPDSL_ETOONEW, "newer");
	run("rm -rf %s/sub %s/link %s/dangling", fix.top, fix.top, fix.top);
}

/* Somebody else's, and one that somebody else has put a lock into. */
static void test_owner(void **unused)
{
	(void)unused;
	if (geteuid() != 0) {
		skip();
		return;
	}
	fresh();
	run("mkdir %s && chown 12345 %s", dir, dir);
	refused(dir, -EPERM, "another user (number 12345)");
	fresh();
	run("mkdir %s && mkdir %s", dir, in(".stage.lock"));
	refused(dir, HPDSL_ENOTOURS, ".stage.lock");
	fresh();
	run("mkdir %s && ln -s %s/lockfile %s && touch %s", dir, fix.top,
	    in(".stage.lock"), in("stage.hpdsl"));
	refused(dir, HPDSL_ENOTOURS, "not empty");
	run("[ ! -e %s/lockfile ]", fix.top);
}

static void test_busy(void **unused)
{
	struct hpdsl_stage_at at = { .nodes = 1, .job = "Slurm job 4711\n" };
	struct hpdsl_stage *s, *t = NULL;
	struct hpdsl_error err;
	char host[100], want[500];

	(void)unused;
	fresh();
	assert_int_equal(hpdsl_stage_open(dir, &at, &s, &err), 0);
	gethostname(host, sizeof host);
	snprintf(want, sizeof want,
		 "%s: is in use by Slurm job 4711  (pid %d on %s)", dir,
		 getpid(), host);
	refused(dir, -EBUSY, want);
	hpdsl_stage_close(s);
	at.job = NULL;
	assert_int_equal(hpdsl_stage_open(dir, &at, &s, &err), 0);
	snprintf(want, sizeof want, "%s: is in use by pid %d on %s", dir,
		 getpid(), host);
	assert_int_equal(hpdsl_stage_open(dir, &at, &t, &err), -EBUSY);
	assert_null(t);
	assert_string_equal(err.msg, want);
	run(": > %s", in(".stage.lock"));
	refused(dir, -EBUSY, "another stager");
	hpdsl_stage_close(s);
	taken(dir);
}

/* The lock's name goes away while it is taken: the one that has it counts. */
static int steal_lock(const struct hp_io *io, int fd)
{
	static int turn;

	(void)io;
	if (turn++ == 0)
		run("mv %s %s/old", in(".stage.lock"), fix.top);
	return hp_io_system.lock(&hp_io_system, fd);
}

static void test_stolen_name(void **unused)
{
	struct hp_io io = hp_io_system;
	struct hpdsl_stage_at at = { .nodes = 1, .io = &io };
	struct hpdsl_stage *s;
	struct hpdsl_error err;

	(void)unused;
	fresh();
	io.lock = steal_lock;
	assert_int_equal(hpdsl_stage_open(dir, &at, &s, &err), 0);
	refused(dir, -EBUSY, "in use");
	hpdsl_stage_close(s);
}

/* ---- Another pack ----------------------------------------------------- */

static void test_other_pack(void **unused)
{
	struct work w = { .job = NULL };
	struct hpdsl_error err;

	(void)unused;
	fresh();
	must_stage(&w, plain);
	assert_int_equal(stage(&w, other, dir, NULL, &err), HPDSL_EDIFFERS);
	assert_non_null(strstr(err.msg, plain));
	assert_non_null(strstr(err.msg, other));
	assert_int_equal(status().ready, 4);
	/* The manifest says so, too. */
	run("rm %s", in("stage.hpdsl"));
	assert_int_equal(stage(&w, other, dir, NULL, &err), HPDSL_EDIFFERS);
	assert_non_null(strstr(err.msg, other));
	/* An index alone, of a stager that got no further, is replaced. */
	run("rm %s", in("dataset.yaml"));
	must_stage(&w, other);
}

/* ---- What counts ------------------------------------------------------ */

/* Made to look as if it was there before: same size, other bytes. */
static void damage(const char *name)
{
	packed_flip(in(name), 700, 3);
}

static void test_trust(void **unused)
{
	struct work w = { .job = NULL };

	(void)unused;
	fresh();
	must_stage(&w, plain);
	/* Sizes are looked at, bytes are not. */
	damage("chunk-000000.tar");
	run("truncate -s -1 %s && rm %s", in("chunk-000001.tar"),
	    in("chunk-000002.tar"));
	w = (struct work){ .job = NULL };
	must_stage(&w, plain);
	assert_int_equal(w.copied, 2);
	assert_string_equal(w.warned, "chunk-000001.tar: not of its size; "
				      "removed, to be fetched again\n");
	/* Unless that is asked for. */
	w = (struct work){ .recheck = true };
	must_stage(&w, plain);
	assert_int_equal(w.copied, 1);
	assert_string_equal(w.warned, "chunk-000000.tar: damaged; removed, to "
				      "be fetched again\n");
	run("cmp %s/chunk-000000.tar %s", plain, in("chunk-000000.tar"));
}

static void patch(const char *name, const char *printf_text, unsigned at)
{
	run("printf '%s' | dd of=%s bs=1 seek=%u conv=notrunc 2>/dev/null",
	    printf_text, in(name), at);
}

static void test_not_trusted(void **unused)
{
	struct work w = { .job = NULL };

	(void)unused;
	fresh();
	w.most = 2;
	must_stage(&w, plain);
	assert_int_equal(status().ready, 2);
	assert_false(status().complete);
	assert_int_equal(status().coming, 0);
	/* A file that no byte tells of counts once it was hashed. */
	run("cp %s/chunk-000002.tar %s/chunk-000003.tar %s", plain, plain, dir);
	damage("chunk-000003.tar");
	w = (struct work){ .job = NULL };
	must_stage(&w, plain);
	assert_int_equal(w.held, 3);
	assert_int_equal(w.copied, 1);
	assert_non_null(strstr(w.warned, "chunk-000003.tar: damaged"));
	/* Killed: all is hashed. */
	damage("chunk-000001.tar");
	patch("stage.hpdsl", "\\0", 4680);
	w = (struct work){ .job = NULL };
	must_stage(&w, plain);
	assert_int_equal(w.copied, 1);
	/* A state that cannot be read, and none. */
	damage("chunk-000001.tar");
	patch("stage.hpdsl", "x", 600);
	w = (struct work){ .job = NULL };
	must_stage(&w, plain);
	assert_int_equal(w.copied, 1);
	damage("chunk-000001.tar");
	run("rm %s", in("stage.hpdsl"));
	w = (struct work){ .job = NULL };
	must_stage(&w, plain);
	assert_int_equal(w.copied, 1);
}

/* Another boot, with a checksum that is right. */
static void test_other_boot(void **unused)
{
	struct work w = { .job = NULL };
	struct hp_state_header h;
	struct hpdsl_error err;
	size_t n;
	char *state;

	(void)unused;
	fresh();
	must_stage(&w, plain);
	state = packed_get(in("stage.hpdsl"), &n);
	assert_int_equal(hp_state_parse(state, n, "it", &h, &err), 0);
	h.boot_id[3] ^= 1;
	hp_state_format(&h, state);
	for (uint64_t i = 0; i < h.chunks; i++)
		hp_state_set(state, i, HP_CHUNK_READY);
	hp_state_end(state, HP_STAGE_COMPLETE);
	packed_put(in("stage.hpdsl"), state, n);
	free(state);
	assert_true(status().stale);
	damage("chunk-000001.tar");
	packed_flip(in("index.hpdsl"), 300, 1);
	w = (struct work){ .job = NULL };
	must_stage(&w, plain);
	assert_int_equal(w.held, 3);
	assert_int_equal(w.copied, 1);
	assert_false(status().stale);
	run("cmp %s/index.hpdsl %s", plain, in("index.hpdsl"));
}

static void test_killed(void **unused)
{
	struct work w = { .most = 2 };

	(void)unused;
	fresh();
	killed(&w, plain);
	assert_int_equal(status().ready, 2);
	assert_int_equal(status().coming, 2);
	assert_true(status().at_work); /* for 15 seconds */
	assert_true(status().beat_age < 5);
	run("touch %s %s %s %s", in(".chunk-000002.tar.part"),
	    in(".chunk-000002.tar.zst.part"), in(".index.hpdsl.part"),
	    in(".mine.part"));
	w = (struct work){ .job = NULL };
	must_stage(&w, plain);
	assert_int_equal(w.held, 2);
	assert_int_equal(w.copied, 2);
	run("cd %s && [ \"$(ls -d .*.part)\" = .mine.part ]", dir);
}

/* What is not planned any more stays, and readers are told so. */
static void test_less_planned(void **unused)
{
	struct work w = { .job = NULL };
	struct hpdsl_stage_place p;
	struct hpdsl_error err;

	(void)unused;
	fresh();
	must_stage(&w, plain);
	w = (struct work){ .limit = 1 };
	must_stage(&w, plain);
	assert_int_equal(status().ready, 4);
	fresh();
	w = (struct work){ .limit = 1 };
	must_stage(&w, plain);
	assert_int_equal(status().ready, 0);
	assert_true(status().complete);
	w = (struct work){ .most = 1 };
	must_stage(&w, plain);
	w = (struct work){ .job = NULL };
	assert_int_equal(begin(&w, plain, dir, NULL, &err), 0);
	assert_int_equal(hpdsl_stage_place(w.s, &p, &err), 0);
	assert_true(p.held_bytes > 0 && p.held_bytes < w.pack.bytes);
	assert_true(p.capacity > p.held_bytes);
	assert_true(p.inode && p.device);
	release(&w);
}

/* Any number of threads find the same, and tell it in the same order. */
static void test_threads(void **unused)
{
	char first[sizeof((struct work *)0)->warned] = "";

	(void)unused;
	for (uint32_t threads = 0; threads < 5; threads++) {
		struct work w = { .job = NULL };

		fresh();
		must_stage(&w, plain);
		damage("chunk-000000.tar");
		damage("chunk-000003.tar");
		run("truncate -s -1 %s", in("chunk-000002.tar"));
		w = (struct work){ .threads = threads, .recheck = true };
		must_stage(&w, plain);
		assert_int_equal(w.held, 1);
		assert_int_equal(w.copied, 3);
		if (threads)
			assert_string_equal(w.warned, first);
		else
			strcpy(first, w.warned);
	}
	assert_true(strlen(first) > 100);
}

static void *beat(void *arg)
{
	for (int i = 0; i < 2000; i++)
		hpdsl_stage_beat(arg);
	return NULL;
}

static void *ready(void *arg)
{
	for (uint64_t i = 0; i < 2000; i++)
		hp_stage_ready(arg, i % 4, false);
	return NULL;
}

/* Who beats and who publishes do not wait for each other's files. */
static void test_beats(void **unused)
{
	struct work w = { .job = NULL };
	struct hpdsl_error err;
	pthread_t id[3];

	(void)unused;
	fresh();
	must_stage(&w, plain);
	assert_int_equal(begin(&w, plain, dir, NULL, &err), 0);
	hpdsl_stage_beat(w.s); /* nothing is published yet */
	assert_int_equal(status().at_work, false);
	pthread_create(&id[0], NULL, beat, w.s);
	pthread_create(&id[1], NULL, ready, w.s);
	pthread_create(&id[2], NULL, ready, w.s);
	for (int i = 0; i < 5; i++)
		assert_int_equal(publish(&w, &err), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(id[i], NULL);
	assert_true(status().at_work);
	assert_int_equal(w.s->now.generation, 6);
	/* Closed without an end: that is one that failed, in order. */
	release(&w);
	assert_false(status().at_work);
	assert_int_equal(status().ready, 4);
	assert_false(status().complete);
	damage("chunk-000001.tar");
	w = (struct work){ .job = NULL };
	must_stage(&w, plain);
	assert_int_equal(w.copied, 0);
}

/* A plan that is not for this directory. */
static void test_wrong_calls(void **unused)
{
	struct hpdsl_stage_at at = { .node = 2, .nodes = 2 };
	struct work w = { .job = NULL };
	struct hpdsl_stage_begin b = { .pack = &w.pack };
	struct hpdsl_stage_pack lie;
	struct hpdsl_error err;
	struct hpdsl_stage *s;

	(void)unused;
	fresh();
	assert_int_equal(hpdsl_stage_open(dir, &at, &s, &err), HPDSL_EUSAGE);
	assert_false(there(""));
	at.node = 1;
	assert_int_equal(hpdsl_stage_open(dir, &at, &w.s, &err), 0);
	assert_int_equal(hpdsl_stage_source_open(plain, NULL, &w.source, &err),
			 0);
	hpdsl_stage_source_pack(w.source, &w.pack);
	assert_int_equal(hpdsl_stage_begin(w.s, &b, &err), -ENOENT);
	/* An index that is not what was promised. */
	lie = w.pack;
	assert_int_equal(hpdsl_stage_put_index(w.s, &lie, "x", 1, &err), 0);
	assert_int_equal(hpdsl_stage_put_index(w.s, &lie, NULL, 0, &err),
			 HPDSL_ECORRUPT);
	assert_false(there("index.hpdsl"));
	assert_false(there(".index.hpdsl.part"));
	assert_int_equal(put_index(&w, &err), 0);
	lie.origin = "out";
	b.pack = &lie;
	assert_int_equal(hpdsl_stage_begin(w.s, &b, &err), HPDSL_EUSAGE);
	lie.origin = w.pack.origin;
	lie.chunks++;
	assert_int_equal(hpdsl_stage_begin(w.s, &b, &err), HPDSL_ECORRUPT);
	assert_null(hpdsl_stage_dataset(w.s));
	b.pack = &w.pack;
	assert_int_equal(hpdsl_stage_begin(w.s, &b, &err), 0);
	assert_non_null(hpdsl_stage_dataset(w.s));
	assert_false(hpdsl_stage_holds(w.s, 4));
	assert_false(hpdsl_stage_holds(w.s, UINT64_MAX));
	hp_stage_ready(w.s, 4, false);
	assert_int_equal(publish(&w, &err), HPDSL_EUSAGE);
	assert_int_equal(hpdsl_stage_end(w.s, 0, &err), 0);
	release(&w);
	hpdsl_stage_close(NULL);
	hpdsl_stage_source_close(NULL);
}

static void test_recheck_index(void **unused)
{
	struct work w = { .job = NULL };
	struct hpdsl_error err;

	(void)unused;
	fresh();
	must_stage(&w, plain);
	packed_flip(in("index.hpdsl"), 300, 1);
	w = (struct work){ .recheck = true };
	assert_int_equal(stage(&w, plain, dir, NULL, &err), HPDSL_ECORRUPT);
	assert_non_null(strstr(err.msg, "damaged, and removed"));
	w = (struct work){ .job = NULL };
	must_stage(&w, plain);
	assert_int_equal(w.held, 4);
	/* One that cannot even be opened is rechecked unasked. */
	packed_flip(in("index.hpdsl"), 3, 1);
	w = (struct work){ .job = NULL };
	assert_int_equal(stage(&w, plain, dir, NULL, &err), HPDSL_ECORRUPT);
	assert_non_null(strstr(err.msg, "damaged, and removed"));
	w = (struct work){ .job = NULL };
	must_stage(&w, plain);
	assert_int_equal(w.held, 4);
}

/* ---- Cleaning --------------------------------------------------------- */

static void clean(uint64_t files, uint64_t left)
{
	uint64_t got[3] = { 0 };
	struct hpdsl_error err;

	if (hpdsl_stage_clean(dir, NULL, got, got + 1, got + 2, &err))
		fail_msg("%s", err.msg);
	assert_int_equal(got[0], files);
	assert_int_equal(got[2], left);
}

static void test_clean(void **unused)
{
	struct work w = { .job = NULL };
	uint64_t n[3];
	struct hpdsl_error err;

	(void)unused;
	fresh();
	assert_int_equal(hpdsl_stage_clean(dir, NULL, n, n + 1, n + 2, &err),
			 -ENOENT);
	assert_false(there(""));
	must_stage(&w, plain);
	clean(4 + 3, 0);
	assert_false(there(""));
	/* An empty one. */
	run("mkdir %s", dir);
	clean(0, 0);
	assert_false(there(""));
	/* Others' files stay, and so do those with names like ours. */
	w = (struct work){ .job = NULL };
	must_stage(&w, plain);
	run("cd %s && rm chunk-000003.tar && mkdir chunk-000003.tar && "
	    "touch mine chunk-000004.tar .mine.part .chunk-000001.tar.part && "
	    "ln -s mine chunk-000001.tar.zst",
	    dir);
	clean(3 + 1 + 3, 5);
	run("cd %s && [ \"$(ls -A | tr '\\n' ' ')\" = '.mine.part "
	    "chunk-000001.tar.zst chunk-000003.tar chunk-000004.tar mine ' ]",
	    dir);
	assert_int_equal(hpdsl_stage_clean(dir, NULL, n, n + 1, n + 2, &err),
			 HPDSL_ENOTOURS);
}

/* Without a state the manifest tells how many chunks there are. */
static void test_clean_damaged(void **unused)
{
	struct work w = { .job = NULL };

	(void)unused;
	fresh();
	must_stage(&w, plain);
	run(": > %s", in("stage.hpdsl"));
	clean(4 + 3, 0);
	must_stage(&w, plain);
	run("cd %s && : > stage.hpdsl && : > dataset.yaml", dir);
	clean(3, 4);
	run("cd %s && [ \"$(ls -A | wc -l)\" = 4 ]", dir);
}

/* A reader that has the state mapped is told. */
static void test_clean_readers(void **unused)
{
	struct work w = { .job = NULL };
	const void *p;
	hp_auto_fd f = { &hp_io_system, -1 };

	(void)unused;
	fresh();
	must_stage(&w, plain);
	f.fd = open(in("stage.hpdsl"), O_RDONLY);
	assert_int_equal(
		hp_io_system.map(&hp_io_system, f.fd, hp_state_size(4), &p), 0);
	assert_int_equal(hp_state_get(p, 3), HP_CHUNK_READY);
	clean(4 + 3, 0);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(hp_state_get(p, i), HP_CHUNK_ABSENT);
	hp_io_system.unmap(&hp_io_system, p, hp_state_size(4));
}

/* ---- The source ------------------------------------------------------- */

static void no_source(const char *path, int code, const char *text)
{
	struct hpdsl_stage_source *s;
	struct hpdsl_error err;

	assert_int_equal(hpdsl_stage_source_open(path, NULL, &s, &err), code);
	if (!strstr(err.msg, text))
		fail_msg("%s", err.msg);
}

static int read_source(const char *path, size_t piece, struct hpdsl_error *err)
{
	struct hpdsl_stage_source *s;
	char buf[70000];
	ssize_t n;

	assert_int_equal(hpdsl_stage_source_open(path, NULL, &s, err), 0);
	while ((n = hpdsl_stage_source_index(s, buf, piece, err)) > 0)
		;
	hpdsl_stage_source_close(s);
	return (int)n;
}

static void test_source(void **unused)
{
	struct work w = { .job = NULL };
	struct hpdsl_stage_source *s;
	struct hpdsl_stage_pack p, q;
	struct hpdsl_error err;
	char here[500], buf[16];

	(void)unused;
	fresh();
	run("mkdir %s", dir);
	no_source(dir, HPDSL_ENOTOURS, "no dataset.yaml");
	no_source(in("none"), -ENOENT, "none: No such");
	fresh();
	must_stage(&w, plain);
	no_source(dir, HPDSL_EUSAGE, "is a stage directory");
	fresh();
	run("cp -r %s %s && ln -sfn %s %s/lnk", plain, dir, dir, fix.top);
	assert_non_null(getcwd(here, sizeof here));
	assert_int_equal(chdir(fix.top), 0);
	assert_int_equal(hpdsl_stage_source_open("lnk/.", NULL, &s, &err), 0);
	assert_int_equal(chdir(here), 0);
	hpdsl_stage_source_pack(s, &p);
	assert_string_equal(p.origin, dir);
	assert_int_equal(p.chunks, 4);
	assert_int_equal(hpdsl_stage_pack_parse(p.origin, p.manifest,
						p.manifest_bytes, &q, &err),
			 0);
	assert_memory_equal(p.pack, q.pack, 16);
	assert_int_equal(p.bytes, q.bytes);
	assert_int_equal(p.index_bytes, q.index_bytes);
	assert_int_equal(hpdsl_stage_pack_parse("/o", p.manifest,
						p.manifest_bytes - 2, &q, &err),
			 HPDSL_ECORRUPT);
	assert_non_null(strstr(err.msg, "/o/dataset.yaml"));
	/* Replaced while it is read. */
	assert_int_equal(hpdsl_stage_source_index(s, buf, 16, &err), 16);
	run("cp %s/* %s", other, dir);
	while (hpdsl_stage_source_index(s, buf, 16, &err) > 0)
		;
	assert_int_equal(err.code, HPDSL_ECHANGED);
	hpdsl_stage_source_close(s);
}

static void test_source_damaged(void **unused)
{
	struct hpdsl_error err;

	(void)unused;
	fresh();
	run("cp -r %s %s", plain, dir);
	assert_int_equal(read_source(dir, 1, &err), 0);
	assert_int_equal(read_source(dir, 70000, &err), 0);
	run("echo >> %s", in("index.hpdsl"));
	assert_int_equal(read_source(dir, 1000, &err), HPDSL_ECORRUPT);
	run("truncate -s -2 %s", in("index.hpdsl"));
	assert_int_equal(read_source(dir, 1000, &err), HPDSL_ECORRUPT);
	assert_non_null(strstr(err.msg, "index.hpdsl: damaged"));
	run("cp %s/index.hpdsl %s", plain, dir);
	packed_flip(in("index.hpdsl"), 700, 1);
	assert_int_equal(read_source(dir, 1000, &err), HPDSL_ECORRUPT);
	run("rm %s", in("index.hpdsl"));
	assert_int_equal(read_source(dir, 1000, &err), -ENOENT);
	run("rm %s", in("dataset.yaml"));
	no_source(dir, HPDSL_ENOTOURS, "no dataset.yaml");
}

/* ---- What fails ------------------------------------------------------- */

/* Nothing has a name that it does not deserve. */
static void check_no_lie(void)
{
	run("cd %s 2>/dev/null || exit 0; for f in *; do [ \"$f\" = '*' ] || "
	    "[ $f = stage.hpdsl ] || cmp $f %s/$f || exit 1; done",
	    dir, plain);
	if (there("stage.hpdsl")) {
		struct hpdsl_stage_status s = status();
		size_t n;
		char *state = packed_get(in("stage.hpdsl"), &n);

		assert_int_equal(n, hp_state_size(4));
		for (uint64_t i = 0; i < 4; i++) {
			char name[40];

			snprintf(name, sizeof name, "chunk-%06u.tar",
				 (unsigned)i);
			if (hp_state_get(state, i) == HP_CHUNK_READY)
				assert_true(there(name));
		}
		if (s.complete)
			assert_int_equal(s.ready, s.chunks);
		assert_int_equal(s.coming, 0);
		free(state);
	}
}

static void check_result(int r, const struct hpdsl_error *err, int fds)
{
	assert_int_equal(count_fds(), fds);
	if (r) {
		assert_int_equal(err->code, r);
		assert_true(strlen(err->msg) > 0);
		assert_null(strchr(err->msg, '\n'));
	}
	check_no_lie();
}

/* before: a shell command that makes what is there before. */
static void faults(bool forever, int code, const char *before, bool recheck)
{
	int fds = count_fds();

	for (long k = 1;; k++) {
		struct work w = { .recheck = recheck };
		struct hpdsl_error err;
		struct faultio f;
		int r;

		fresh();
		run("%s", before);
		faultio_init(&f, k, forever, code);
		r = stage(&w, plain, dir, &f.io, &err);
		check_result(r, &err, fds);
		if (!f.failed)
			break;
		w = (struct work){ .job = NULL };
		must_stage(&w, plain);
		assert_int_equal(status().ready, 4);
		assert_true(status().complete);
		run("cd %s && [ -z \"$(ls -d .*.part 2>/dev/null)\" ]", dir);
		assert_true(k < 400);
	}
}

static void test_faults(void **unused)
{
	char before[500];
	struct work w = { .most = 2 };

	(void)unused;
	faults(false, -EIO, "true", false);
	faults(true, -ENOSPC, "true", false);
	fresh();
	must_stage(&w, plain);
	run("rm -rf %s/half && mv %s %s/half", fix.top, dir, fix.top);
	snprintf(before, sizeof before, "cp -r %s/half %s && touch %s", fix.top,
		 dir, in(".chunk-000003.tar.part"));
	faults(false, -EIO, before, false);
	faults(false, -EIO, before, true);
	faults(true, -ENOSPC, before, true);
}

static void test_clean_faults(void **unused)
{
	struct work w = { .job = NULL };
	uint64_t n[3];
	int fds = count_fds();

	(void)unused;
	fresh();
	must_stage(&w, plain);
	run("rm -rf %s/full && mv %s %s/full", fix.top, dir, fix.top);
	for (long k = 1;; k++) {
		struct hpdsl_error err;
		struct faultio f;
		int r;

		fresh();
		run("cp -r %s/full %s && touch %s", fix.top, dir,
		    in(".chunk-000003.tar.part"));
		faultio_init(&f, k, k % 2, -EIO);
		memset(&err, 0, sizeof err);
		r = hpdsl_stage_clean(dir, &f.io, n, n + 1, n + 2, &err);
		assert_int_equal(count_fds(), fds);
		if (r < 0)
			assert_int_equal(err.code, r);
		if (!f.failed)
			break;
		/* What is left of it goes away with the next. */
		if (there("") &&
		    hpdsl_stage_clean(dir, NULL, n, n + 1, n + 2, &err))
			fail_msg("%ld: %s", k, err.msg);
		assert_false(there(""));
	}
}

static void test_no_memory(void **unused)
{
	int fds = count_fds();

	(void)unused;
	for (long k = 1;; k++) {
		struct work w = { .job = NULL };
		struct hpdsl_error err;
		long used;
		int r;

		fresh();
		wrap_fail_at(k, k % 2);
		r = begin(&w, plain, dir, NULL, &err);
		if (r == 0)
			r = publish(&w, &err);
		used = wrap_count();
		wrap_fail_at(0, false);
		release(&w);
		assert_int_equal(count_fds(), fds);
		if (used < k)
			break;
		w = (struct work){ .job = NULL };
		must_stage(&w, plain);
	}
}

/* ---- ---------------------------------------------------------------- */

static int setup(void **unused)
{
	(void)unused;
	packed_begin(&fix);
	for (unsigned i = 0; i < 40; i++) {
		char name[40];

		snprintf(name, sizeof name, "d%u/f%02u.txt", i % 3, i);
		packed_file(&fix, name, 400 + 97 * i, 0644, 1700000000, 0);
	}
	packed_pack(&fix, (struct hpdsl_pack_options){ .chunks = 4 });
	snprintf(plain, sizeof plain, "%s/plain", fix.top);
	snprintf(zst, sizeof zst, "%s/zst", fix.top);
	snprintf(other, sizeof other, "%s/other", fix.top);
	snprintf(dir, sizeof dir, "%s/dir", fix.top);
	run("mv %s %s", fix.out, plain);
	packed_pack(&fix,
		    (struct hpdsl_pack_options){ .chunks = 4, .zstd = 3 });
	run("mv %s %s", fix.out, zst);
	packed_pack(&fix,
		    (struct hpdsl_pack_options){ .chunks = 4, .seed = 5 });
	run("mv %s %s", fix.out, other);
	return 0;
}

static int teardown(void **unused)
{
	(void)unused;
	packed_end(&fix);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_expanded),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_owner),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_stolen_name),
		cmocka_unit_test(test_other_pack),
		cmocka_unit_test(test_trust),
		cmocka_unit_test(test_not_trusted),
		cmocka_unit_test(test_other_boot),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_less_planned),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_beats),
		cmocka_unit_test(test_wrong_calls),
		cmocka_unit_test(test_recheck_index),
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_clean_damaged),
		cmocka_unit_test(test_clean_readers),
		cmocka_unit_test(test_source),
		cmocka_unit_test(test_source_damaged),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_clean_faults),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
