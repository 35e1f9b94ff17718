/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stage directory from its making to its cleaning, with real files: who may
 * take it, and that nothing goes away that a stager has not brought.
 * uses: shm
 */
#include "shell.h"
#include "stage_work.h"

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int64_t touched(void)
{
	struct hpdsl_error err;
	int64_t t = 0;
	int r = hpdsl_stage_touched(work_dir, NULL, &t, &err);

	if (r < 0)
		fail_msg("%s", err.msg);
	return t;
}

/* Before it can beat, who holds the lock shows that it gets on. */
static void test_touched(void **unused)
{
	const struct hpdsl_stage_at at = { .nodes = 1 };
	struct hpdsl_stage_source *source;
	struct hpdsl_stage_pack pack;
	struct hpdsl_stage *s;
	struct work w = { .job = NULL };
	struct hpdsl_error err;
	int64_t t;
	char *index;
	size_t n;

	(void)unused;
	work_fresh();
	assert_int_equal(hpdsl_stage_touched(work_dir, NULL, &t, &err),
			 -ENOENT);
	work_must(&w, work_plain);
	index = packed_get(work_at("index.hpdsl"), &n);
	assert_int_equal(
		hpdsl_stage_source_open(work_plain, NULL, &source, &err), 0);
	hpdsl_stage_source_pack(source, &pack);
	for (int there = 0; there < 2; there++) {
		run("rm %s", work_at("stage.hpdsl"));
		if (!there)
			run("rm %s", work_at("index.hpdsl"));
		assert_int_equal(hpdsl_stage_open(work_dir, &at, &s, &err), 0);
		run("touch -d @1000 %s", work_at(".stage.lock"));
		assert_int_equal(touched(), INT64_C(1000000000000));
		assert_int_equal(hpdsl_stage_has_index(s, &pack, &err), there);
		if (!there)
			assert_int_equal(
				hpdsl_stage_put_index(s, &pack, index, n, &err),
				0);
		assert_true(touched() > INT64_C(1000000000000));
		hpdsl_stage_close(s);
		w = (struct work){ .job = NULL };
		work_must(&w, work_plain);
	}
	hpdsl_stage_source_close(source);
	free(index);
}

static void test_whole(void **unused)
{
	struct hpdsl_stage_status s;
	struct work w = { .job = "Slurm job 4711" };

	(void)unused;
	work_fresh();
	work_must(&w, work_plain);
	assert_int_equal(w.copied, w.pack.chunks);
	assert_true(w.copied >= 4);
	run("[ \"$(stat -c %%a %s)\" = 700 ]", work_dir);
	run("cd %s && for f in *; do [ $f = stage.hpdsl ] || cmp $f %s/$f; "
	    "done",
	    work_dir, work_plain);
	run("cd %s && [ \"$(ls -A | grep -v chunk-)\" = '.stage.lock\n"
	    "dataset.yaml\nindex.hpdsl\nstage.hpdsl' ]",
	    work_dir);
	s = work_status();
	assert_int_equal(s.chunks, w.pack.chunks);
	assert_int_equal(s.ready, s.chunks);
	assert_int_equal(s.ready_bytes, w.pack.bytes);
	assert_int_equal(s.coming, 0);
	assert_true(s.complete && !s.stale && !s.at_work);
	assert_int_equal(s.nodes, 1);
	assert_int_equal(s.parts, 1);
	assert_string_equal(s.origin, work_plain);
	assert_string_equal(s.job, "Slurm job 4711");
	assert_memory_equal(s.pack, w.pack.pack, 16);
	/* Again: nothing to do, another generation. */
	w = (struct work){ .job = NULL };
	work_must(&w, work_plain);
	assert_int_equal(w.copied, 0);
	assert_int_equal(w.held, w.pack.chunks);
	assert_string_equal(w.warned, "");
	run("[ \"$(od -An -tu8 -j56 -N8 %s)\" -eq 2 ]", work_at("stage.hpdsl"));
}

static void test_expanded(void **unused)
{
	struct work w = { .job = NULL }, kept = { .keep_compressed = true };

	(void)unused;
	work_fresh();
	work_must(&w, work_zst);
	assert_true(work_has("chunk-000000.tar"));
	assert_false(work_has("chunk-000000.tar.zst"));
	assert_int_equal(work_status().ready, w.pack.chunks);
	/* What is expanded stays so. */
	work_must(&kept, work_zst);
	assert_int_equal(kept.held, w.pack.chunks);
	work_fresh();
	kept = (struct work){ .keep_compressed = true };
	work_must(&kept, work_zst);
	assert_true(work_has("chunk-000000.tar.zst"));
	assert_int_equal(work_status().ready_bytes, w.pack.bytes);
	/* And the other way round, and hashed again. */
	w = (struct work){ .recheck = true };
	work_must(&w, work_zst);
	assert_int_equal(w.held, w.pack.chunks);
	assert_false(work_has("chunk-000000.tar"));
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
	work_fresh();
	taken(work_dir);
	run("rm -rf %s && mkdir -m 755 %s", work_dir, work_dir);
	snprintf(slash, sizeof slash, "%s//", work_dir);
	taken(slash);
	taken(work_dir); /* left over, with a lock only */
	run("mkdir -m 755 %s/sub && ln -s sub %s/link && cd %s/sub",
	    work_fix.top, work_fix.top, work_fix.top);
	refused(packed_at(&work_fix, "link"), -ELOOP, "symbolic link");
	refused(packed_at(&work_fix, "link/"), -ELOOP, "symbolic link");
	run("[ -z \"$(ls -A %s/sub)\" ] && ln -s none %s/dangling",
	    work_fix.top, work_fix.top);
	refused(packed_at(&work_fix, "dangling"), -ELOOP, "symbolic link");
	run("touch %s/sub/mine", work_fix.top);
	refused(packed_at(&work_fix, "sub"), HPDSL_ENOTOURS, "'mine' is there");
	run("[ \"$(stat -c %%a %s/sub)\" = 755 ]", work_fix.top);
	refused(work_plain, HPDSL_ENOTOURS, "is a packed dataset");
	refused(packed_at(&work_fix, "sub/mine"), -ENOTDIR, "Not a directory");
	assert_int_equal(
		hpdsl_stage_open(packed_at(&work_fix, "no/dir"), &at, &s, &err),
		-ENOENT);
	/* A state file is one only if it can be read as one. */
	run("cd %s/sub && rm mine && echo hello > stage.hpdsl", work_fix.top);
	refused(packed_at(&work_fix, "sub"), HPDSL_ENOTOURS, "stage.hpdsl");
	run("cd %s/sub && printf '\\211HPDSLT\\n\\002\\0\\0\\0' > stage.hpdsl",
	    work_fix.top);
	refused(packed_at(&work_fix, "sub"), HPDSL_ETOONEW, "newer");
	run("rm -rf %s/sub %s/link %s/dangling", work_fix.top, work_fix.top,
	    work_fix.top);
}

/* Somebody else's, and one that somebody else has put a lock into. */
static void test_owner(void **unused)
{
	(void)unused;
	if (geteuid() != 0) {
		skip();
		return;
	}
	work_fresh();
	run("mkdir %s && chown 12345 %s", work_dir, work_dir);
	refused(work_dir, -EPERM, "another user (number 12345)");
	work_fresh();
	run("mkdir %s && mkdir %s", work_dir, work_at(".stage.lock"));
	refused(work_dir, HPDSL_ENOTOURS, ".stage.lock");
	work_fresh();
	run("mkdir %s && ln -s %s/lockfile %s && touch %s", work_dir,
	    work_fix.top, work_at(".stage.lock"), work_at("stage.hpdsl"));
	refused(work_dir, HPDSL_ENOTOURS, "not empty");
	run("[ ! -e %s/lockfile ]", work_fix.top);
	/* The lock is written: not through another name of it. */
	work_fresh();
	run("cd %s && echo mine > precious && mkdir -m 777 %s", work_fix.top,
	    work_dir);
	run("ln %s/precious %s", work_fix.top, work_at(".stage.lock"));
	refused(work_dir, -EPERM, "another name");
	run("cd %s && grep -qx mine precious && rm precious", work_fix.top);
	work_fresh();
	run("mkdir -m 777 %s && touch %s && chown 12345 %s", work_dir,
	    work_at(".stage.lock"), work_at(".stage.lock"));
	refused(work_dir, -EPERM, "belongs to another user");
}

/* What somebody else put there he may still change: it is not taken. */
static void test_owner_of_files(void **unused)
{
	struct work w = { 0 };
	struct hpdsl_error err;

	(void)unused;
	if (geteuid() != 0) {
		skip();
		return;
	}
	work_fresh();
	work_must(&w, work_plain);
	run("chown 12345 %s", work_at("index.hpdsl"));
	work_must(&w, work_plain);
	run("[ $(stat -c %%u %s) = 0 ]", work_at("index.hpdsl"));
	run("chown 12345 %s", work_at("chunk-000001.tar"));
	assert_int_equal(work_stage(&w, work_plain, work_dir, NULL, &err),
			 -EPERM);
	assert_non_null(strstr(err.msg, "chunk-000001.tar: belongs to"));
	work_release(&w);
}

static void test_busy(void **unused)
{
	struct hpdsl_stage_at at = { .nodes = 1, .job = "Slurm job 4711\n" };
	struct hpdsl_stage *s, *t = NULL;
	struct hpdsl_error err;
	char host[100], want[500];

	(void)unused;
	work_fresh();
	assert_int_equal(hpdsl_stage_open(work_dir, &at, &s, &err), 0);
	gethostname(host, sizeof host);
	snprintf(want, sizeof want,
		 "%s: is in use by Slurm job 4711  (pid %d on %s)", work_dir,
		 getpid(), host);
	refused(work_dir, -EBUSY, want);
	hpdsl_stage_close(s);
	at.job = NULL;
	assert_int_equal(hpdsl_stage_open(work_dir, &at, &s, &err), 0);
	snprintf(want, sizeof want, "%s: is in use by pid %d on %s", work_dir,
		 getpid(), host);
	assert_int_equal(hpdsl_stage_open(work_dir, &at, &t, &err), -EBUSY);
	assert_null(t);
	assert_string_equal(err.msg, want);
	run(": > %s", work_at(".stage.lock"));
	refused(work_dir, -EBUSY, "another stager");
	hpdsl_stage_close(s);
	taken(work_dir);
}

/* One at a time is in it, whoever makes and removes it meanwhile. */
static void contend(unsigned who, int *inside)
{
	struct hpdsl_stage_at at = { .nodes = 1 };
	uint64_t n[3];

	for (unsigned i = 0; i < 150; i++) {
		struct hpdsl_stage *s = NULL;
		struct hpdsl_error err;
		int r;

		if ((i + who) % 3 == 0)
			r = hpdsl_stage_clean(work_dir, NULL, n, n + 1, n + 2,
					      &err);
		else
			r = hpdsl_stage_open(work_dir, &at, &s, &err);
		if (s) {
			if (__atomic_add_fetch(inside, 1, __ATOMIC_SEQ_CST) !=
			    1)
				_exit(2);
			for (int k = 0; k < 50; k++)
				sched_yield();
			__atomic_sub_fetch(inside, 1, __ATOMIC_SEQ_CST);
		}
		hpdsl_stage_close(s);
		if (r && r != -EBUSY && (s || r != -ENOENT)) {
			fprintf(stderr, "%s\n", err.msg);
			_exit(1);
		}
	}
	_exit(0);
}

static void test_many(void **unused)
{
	int *inside = mmap(NULL, sizeof *inside, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	(void)unused;
	work_fresh();
	for (unsigned i = 0; i < 4; i++)
		if (fork() == 0)
			contend(i, inside);
	for (unsigned i = 0; i < 4; i++) {
		int how;

		assert_true(wait(&how) > 0);
		assert_int_equal(how, 0);
	}
	munmap(inside, sizeof *inside);
	work_fresh();
}

/* Where it is memory is told by the file system, whatever the name. */
static void test_memory(void **unused)
{
	struct hpdsl_stage_at at = { .nodes = 1 };
	char path[] = "/dev/shm/hpdsl-XXXXXX";
	struct hpdsl_stage_place p;
	struct hpdsl_stage *s;
	struct hpdsl_error err;
	uint64_t type = 0;
	hp_auto_fd f = { &hp_io_system, open("/dev/shm", O_RDONLY) };

	(void)unused;
	if (f.fd < 0 || hp_io_system.fs_type(f.io, f.fd, &type) < 0 ||
	    type != 0x01021994 || !mkdtemp(path)) {
		skip();
		return;
	}
	assert_int_equal(hpdsl_stage_open(path, &at, &s, &err), 0);
	assert_int_equal(hpdsl_stage_place(s, &p, &err), 0);
	hpdsl_stage_close(s);
	run("rm -rf %s", path);
	assert_true(p.ram);
	assert_true(p.memory_bytes > 0);
	assert_int_equal(p.held_bytes, 0);
	assert_true(p.capacity < p.memory_bytes);
	assert_true(p.capacity < p.free_bytes);
}

/* The lock's name goes away while it is taken: the one that has it counts. */
static int steal_lock(const struct hp_io *io, int fd)
{
	static int turn;

	(void)io;
	if (turn++ == 0)
		run("mv %s %s/old", work_at(".stage.lock"), work_fix.top);
	return hp_io_system.lock(&hp_io_system, fd);
}

static void test_stolen_name(void **unused)
{
	struct hp_io io = hp_io_system;
	struct hpdsl_stage_at at = { .nodes = 1, .io = &io };
	struct hpdsl_stage *s;
	struct hpdsl_error err;

	(void)unused;
	work_fresh();
	io.lock = steal_lock;
	assert_int_equal(hpdsl_stage_open(work_dir, &at, &s, &err), 0);
	refused(work_dir, -EBUSY, "in use");
	hpdsl_stage_close(s);
}

/* ---- Cleaning --------------------------------------------------------- */

static void clean(uint64_t files, uint64_t left)
{
	uint64_t got[3] = { 0 };
	struct hpdsl_error err;

	if (hpdsl_stage_clean(work_dir, NULL, got, got + 1, got + 2, &err))
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
	work_fresh();
	assert_int_equal(
		hpdsl_stage_clean(work_dir, NULL, n, n + 1, n + 2, &err),
		-ENOENT);
	assert_false(work_has(""));
	work_must(&w, work_plain);
	clean(4 + 3, 0);
	assert_false(work_has(""));
	/* An empty one. */
	run("mkdir %s", work_dir);
	clean(0, 0);
	assert_false(work_has(""));
	/* Others' files stay, and so do those with names like ours. */
	w = (struct work){ .job = NULL };
	work_must(&w, work_plain);
	run("cd %s && rm chunk-000003.tar && mkdir chunk-000003.tar && "
	    "touch mine chunk-000004.tar .mine.part .chunk-000001.tar.part && "
	    "ln -s mine chunk-000001.tar.zst",
	    work_dir);
	clean(3 + 1 + 3, 5);
	run("cd %s && [ \"$(ls -A | tr '\\n' ' ')\" = '.mine.part "
	    "chunk-000001.tar.zst chunk-000003.tar chunk-000004.tar mine ' ]",
	    work_dir);
	assert_int_equal(
		hpdsl_stage_clean(work_dir, NULL, n, n + 1, n + 2, &err),
		HPDSL_ENOTOURS);
}

/* ---- What servers have left ------------------------------------------- */

/* All their names in a directory, and a temporary one of two of them. */
static void put_servers_files(const char *dir)
{
	run("cd %s && : > peers.hpdsl && : > .peers.hpdsl.part && "
	    ": > peers.health && : > .peers.health.part && : > .serve.lock && "
	    "python3 -c 'import socket; "
	    "socket.socket(socket.AF_UNIX).bind(\"serve.sock\")'",
	    dir);
}

/* It is as good as empty; what only has their names is not. */
static void test_servers_alone(void **unused)
{
	static const char *const bad[] = { "mkdir peers.hpdsl",
					   "ln -s /etc .serve.lock",
					   ": > .peers.other.part",
					   "mkfifo serve.sock" };

	(void)unused;
	work_fresh();
	run("mkdir %s", work_dir);
	put_servers_files(work_dir);
	taken(work_dir);
	clean(6, 0);
	assert_false(work_has(""));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		work_fresh();
		run("mkdir %s && cd %s && %s", work_dir, work_dir, bad[i]);
		refused(work_dir, HPDSL_ENOTOURS, "is there");
	}
}

/* They are no hindrance to a stager, and it takes none of them away. */
static void test_servers_files(void **unused)
{
	struct hpdsl_verify_options opt = { .threads = 1 };
	struct hpdsl_verify_report report;
	struct work w = { .job = NULL };
	struct hpdsl_error err;

	(void)unused;
	work_fresh();
	run("mkdir %s", work_dir);
	put_servers_files(work_dir);
	work_must(&w, work_plain);
	assert_string_equal(w.warned, "");
	run("cd %s && [ -S serve.sock ] && [ -e peers.hpdsl ] && "
	    "[ -e peers.health ] && [ -e .serve.lock ]",
	    work_dir);
	assert_int_equal(hpdsl_verify(work_dir, &opt, &report, &err), 0);
	assert_int_equal(report.unlisted, 0);
	run("mkdir %s", work_at("x"));
	clean(4 + 3 + 4, 1);
	run("cd %s && [ \"$(ls -A)\" = x ] && rmdir x", work_dir);
}

/* With the lock held by a server at work, and a socket that is listened to. */
static void test_clean_served(void **unused)
{
	struct work w = { .job = NULL };
	hp_auto_fd f = { &hp_io_system, -1 };

	(void)unused;
	work_fresh();
	work_must(&w, work_plain);
	put_servers_files(work_dir);
	f.fd = open(work_at(".serve.lock"), O_RDWR | O_CLOEXEC);
	assert_int_equal(hp_io_system.lock(&hp_io_system, f.fd), 0);
	clean(4 + 3 + 6, 0);
	assert_false(work_has(""));
}

/* ---- Cleaning what is damaged, or in use ------------------------------ */

/* Without a state the manifest tells how many chunks there are. */
static void test_clean_damaged(void **unused)
{
	struct work w = { .job = NULL };

	(void)unused;
	work_fresh();
	work_must(&w, work_plain);
	run(": > %s", work_at("stage.hpdsl"));
	clean(4 + 3, 0);
	work_must(&w, work_plain);
	run("cd %s && : > stage.hpdsl && : > dataset.yaml", work_dir);
	clean(3, 4);
	run("cd %s && [ \"$(ls -A | wc -l)\" = 4 ]", work_dir);
}

/* A reader that has the state mapped is told. */
static void test_clean_readers(void **unused)
{
	struct work w = { .job = NULL };
	const void *p;
	hp_auto_fd f = { &hp_io_system, -1 };

	(void)unused;
	work_fresh();
	work_must(&w, work_plain);
	f.fd = open(work_at("stage.hpdsl"), O_RDONLY);
	assert_int_equal(
		hp_io_system.map(&hp_io_system, f.fd, hp_state_size(4), &p), 0);
	assert_int_equal(hp_state_get(p, 3), HP_CHUNK_READY);
	clean(4 + 3, 0);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(hp_state_get(p, i), HP_CHUNK_ABSENT);
	hp_io_system.unmap(&hp_io_system, p, hp_state_size(4));
}

/* ---- The state file's space ------------------------------------------- */

/* What happens to the state file before it is mapped. */
static struct {
	struct hp_io io;
	int allocate_code, fd;
	uint64_t asked;
	bool mapped;
} space;

static int space_open(const struct hp_io *io, int dir, const char *name,
		      int flags, mode_t mode)
{
	int fd = hp_io_system.open(&hp_io_system, dir, name, flags, mode);

	(void)io;
	if (!strcmp(name, ".stage.hpdsl.part"))
		space.fd = fd;
	return fd;
}

static int space_allocate(const struct hp_io *io, int fd, uint64_t size)
{
	(void)io;
	if (fd == space.fd) {
		space.asked = size;
		if (space.allocate_code)
			return space.allocate_code;
	}
	return hp_io_system.allocate(&hp_io_system, fd, size);
}

/* All of it is there: no store has to find a place for a page. */
static int space_map_shared(const struct hp_io *io, int fd, size_t size,
			    void **ret)
{
	struct stat st;

	(void)io;
	assert_int_equal(fd, space.fd);
	assert_int_equal(space.asked, size);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, size);
	assert_int_equal(lseek(fd, 0, SEEK_HOLE), size);
	space.mapped = true;
	return hp_io_system.map_shared(&hp_io_system, fd, size, ret);
}

static int stage_with(int allocate_code, struct hpdsl_error *err)
{
	struct work w = { .job = NULL };
	int r;

	work_fresh();
	space.io = hp_io_system;
	space.io.open = space_open;
	space.io.allocate = space_allocate;
	space.io.map_shared = space_map_shared;
	space.allocate_code = allocate_code;
	space.fd = -1;
	space.asked = 0;
	space.mapped = false;
	r = work_stage(&w, work_plain, work_dir, &space.io, err);
	work_release(&w);
	return r;
}

static void test_state_space(void **unused)
{
	struct hpdsl_error err;

	(void)unused;
	assert_int_equal(stage_with(0, &err), 0);
	assert_true(space.mapped);
	assert_int_equal(stage_with(-EOPNOTSUPP, &err), 0);
	assert_true(space.mapped);
	assert_int_equal(stage_with(-ENOSPC, &err), -ENOSPC);
	assert_non_null(strstr(err.msg, "No space left on device"));
	assert_false(space.mapped);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_touched),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_expanded),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_owner),
		cmocka_unit_test(test_owner_of_files),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_stolen_name),
		cmocka_unit_test(test_clean),
		cmocka_unit_test(test_servers_alone),
		cmocka_unit_test(test_servers_files),
		cmocka_unit_test(test_clean_served),
		cmocka_unit_test(test_clean_damaged),
		cmocka_unit_test(test_clean_readers),
		cmocka_unit_test(test_state_space),
	};

	return cmocka_run_group_tests(tests, work_setup, work_teardown);
}
