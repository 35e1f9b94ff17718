/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state file over memory: where its fields are, what is refused, what its
 * bytes, beat and end mean; names of chunks; and what the kernel's files say of
 * boot, process and memory.
 */
#include "base/bytes.h"
#include "base/hash.h"
#include "memio.h"
#include "sys/cgroup.h"
#include "sys/cpus.h"
#include "sys/kernel_file.h"
#include "sys/memory.h"
#include "stage/private.h"
#include "sys/boot.h"
#include "sys/clock.h"
#include "sys/io.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CHUNKS = 5, SIZE = HP_STATE_CHUNKS + CHUNKS };
#define SECOND UINT64_C(1000000000)

static uint64_t aligned[SIZE / 8 + 1];
static uint8_t *const state = (uint8_t *)aligned;

static struct hp_state_header header(void)
{
	struct hp_state_header h = {
		.pack = "pack............",
		.boot_id = "boot............",
		.chunks = CHUNKS,
		.generation = 0x0102030405060708,
		.started = -2,
		.pid_start = 77,
		.pid = 123,
		.node = 2,
		.nodes = 4,
		.parts = 3,
		.part = 1,
		.host = "nid7",
		.job = "Slurm job 4711",
		.origin = "/data/out",
	};

	memcpy(h.pack, "pack............", 16);
	return h;
}

static void make(void)
{
	struct hp_state_header h = header();

	hp_state_format(&h, state);
}

static void repair(void)
{
	hp_put64(state + 4608, hp_hash64(state, 4608));
}

static int parse(uint64_t size, struct hpdsl_error *err)
{
	/* Of the exact size, so that reading beyond it is seen. */
	void *p = malloc(size + !size);
	struct hp_state_header h;
	int r;

	memcpy(p, state, size);
	memset(err, 0, sizeof *err);
	r = hp_state_parse(p, size, "it", &h, err);
	if (r < 0) {
		assert_int_equal(err->code, r);
		assert_memory_equal(err->msg, "it: ", 4);
	}
	free(p);
	return r;
}

/* As hpdsl-format(5) has it. */
static void test_places(void **unused)
{
	struct hp_state_header h = header(), again;
	struct hpdsl_error err;

	(void)unused;
	assert_int_equal(hp_state_size(CHUNKS), SIZE);
	assert_int_equal(hp_state_size(UINT64_C(1) << 32), 0);
	memset(state, 0xff, SIZE);
	make();
	assert_memory_equal(state, "\x89HPDSLT\n\x01\0\0\0\0\0\0\0", 16);
	assert_memory_equal(state + 16, h.pack, 16);
	assert_memory_equal(state + 32, h.boot_id, 16);
	assert_int_equal(hp_get64(state + 48), CHUNKS);
	assert_int_equal(hp_get64(state + 56), h.generation);
	assert_int_equal(hp_get64(state + 64), (uint64_t)-2);
	assert_int_equal(hp_get64(state + 72), 77);
	assert_int_equal(hp_get32(state + 80), 123);
	assert_int_equal(hp_get32(state + 84), 2);
	assert_int_equal(hp_get32(state + 88), 4);
	assert_int_equal(hp_get32(state + 92), 3);
	assert_int_equal(hp_get32(state + 96), 1);
	assert_string_equal((char *)state + 128, "nid7");
	assert_string_equal((char *)state + 256, "Slurm job 4711");
	assert_string_equal((char *)state + 512, "/data/out");
	assert_int_equal(hp_get64(state + 4608), hp_hash64(state, 4608));
	for (int i = 4616; i < SIZE; i++)
		assert_int_equal(state[i], 0);
	hp_state_beat(state, 0x1122334455667788);
	assert_int_equal(hp_get64(state + 4672), 0x1122334455667788);
	hp_state_end(state, HP_STAGE_STOPPED);
	assert_int_equal(hp_get32(state + 4680), 2);
	hp_state_set(state, 3, HP_CHUNK_EXPANDED);
	assert_int_equal(state[4736 + 3], 3);
	memset(&again, 0xff, sizeof again);
	assert_int_equal(hp_state_parse(state, SIZE, "it", &again, &err), 0);
	assert_memory_equal(&again.pack, h.pack, 16);
	assert_int_equal(again.started, -2);
	assert_string_equal(again.host, h.host);
	assert_string_equal(again.job, h.job);
	assert_string_equal(again.origin, h.origin);
	assert_int_equal(again.generation, h.generation);
	assert_int_equal(again.part, 1);
}

/* Texts that are too long end all the same. */
static void test_long_texts(void **unused)
{
	struct hp_state_header h = header(), again;
	struct hpdsl_error err;

	(void)unused;
	memset(h.host, 'h', sizeof h.host);
	memset(h.job, 'j', sizeof h.job);
	memset(h.origin, '/', sizeof h.origin);
	hp_state_format(&h, state);
	assert_int_equal(hp_state_parse(state, SIZE, "it", &again, &err), 0);
	assert_int_equal(strlen(again.host), HP_STATE_TEXT - 1);
	assert_int_equal(strlen(again.job), HP_STATE_TEXT - 1);
	assert_int_equal(strlen(again.origin), HP_STATE_ORIGIN - 1);
}

static bool changes(uint64_t at)
{
	return (at >= 4672 && at < 4684) || at >= HP_STATE_CHUNKS;
}

static void test_every_bit(void **unused)
{
	struct hpdsl_error err;

	(void)unused;
	make();
	for (uint64_t bit = 0; bit < SIZE * 8; bit++) {
		int r;

		state[bit / 8] ^= (uint8_t)(1 << bit % 8);
		r = parse(SIZE, &err);
		if (changes(bit / 8) ? r != 0 : r == 0)
			fail_msg("bit %u of byte %u: %d", (unsigned)bit % 8,
				 (unsigned)bit / 8, r);
		if (bit < 64)
			assert_int_equal(r, HPDSL_ENOTOURS);
		state[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (uint64_t size = 0; size < SIZE; size++)
		assert_int_equal(parse(size, &err),
				 size < 8 ? HPDSL_ENOTOURS : HPDSL_ECORRUPT);
}

/* With a checksum that is right. */
static void test_wrong_fields(void **unused)
{
	static const struct {
		const char *text;
		uint32_t at, n;
		uint64_t value;
		int code;
	} t[] = {
		{ "newer", 8, 4, 2, HPDSL_ETOONEW },
		{ "damaged", 8, 4, 0, HPDSL_ECORRUPT },
		{ "flags", 12, 4, 1, HPDSL_ETOONEW },
		{ "size", 48, 8, CHUNKS - 1, HPDSL_ECORRUPT },
		{ "size", 48, 8, CHUNKS + 1, HPDSL_ECORRUPT },
		{ "size", 48, 8, UINT64_MAX, HPDSL_ECORRUPT },
		{ "size", 48, 8, (UINT64_C(1) << 32) + CHUNKS, HPDSL_ECORRUPT },
		{ "size", 48, 8, UINT64_MAX - 4735, HPDSL_ECORRUPT },
		{ "generation", 56, 8, 0, HPDSL_ECORRUPT },
		{ "nodes", 84, 4, 4, HPDSL_ECORRUPT },
		{ "nodes", 88, 4, 0, HPDSL_ECORRUPT },
		{ "nodes", 92, 4, 1, HPDSL_ECORRUPT },
		{ "nodes", 96, 4, 3, HPDSL_ECORRUPT },
		{ "zero", 100, 1, 1, HPDSL_ECORRUPT },
		{ "zero", 127, 1, 1, HPDSL_ECORRUPT },
		{ "text", 140, 1, 1, HPDSL_ECORRUPT },
		{ "text", 255, 1, 1, HPDSL_ECORRUPT },
		{ "text", 383, 1, 1, HPDSL_ECORRUPT },
		{ "zero", 384, 1, 1, HPDSL_ECORRUPT },
		{ "zero", 511, 1, 1, HPDSL_ECORRUPT },
		{ "origin", 512, 1, 'd', HPDSL_ECORRUPT },
		{ "origin", 512, 8, 0, HPDSL_ECORRUPT },
		{ "text", 4607, 1, 1, HPDSL_ECORRUPT },
		{ "zero", 4616, 1, 1, HPDSL_ECORRUPT },
		{ "zero", 4671, 1, 1, HPDSL_ECORRUPT },
		{ "zero", 4684, 1, 1, HPDSL_ECORRUPT },
		{ "zero", 4735, 1, 1, HPDSL_ECORRUPT },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct hpdsl_error err;
		uint8_t v[8];

		make();
		if (!strcmp(t[i].text, "origin") && t[i].n == 8)
			memset(state + 512, 0, 32);
		hp_put64(v, t[i].value);
		memcpy(state + t[i].at, v, t[i].n);
		repair();
		if (parse(SIZE, &err) != t[i].code ||
		    !strstr(err.msg, t[i].text))
			fail_msg("row %u: %d %s", (unsigned)i, err.code,
				 err.msg);
	}
}

static void test_chunks(void **unused)
{
	(void)unused;
	make();
	for (unsigned v = 0; v < 256; v++) {
		state[HP_STATE_CHUNKS + 4] = (uint8_t)v;
		assert_int_equal(hp_state_get(state, 4),
				 v <= 3 ? v : HP_CHUNK_ABSENT);
		assert_int_equal(hp_state_get(state, 3), HP_CHUNK_ABSENT);
	}
	for (unsigned v = 0; v < 9; v++) {
		hp_put32(state + 4680, v);
		assert_int_equal(hp_state_ended(state), v <= 3 ? v : 0);
	}
}

static void test_alive(void **unused)
{
	static const uint8_t unknown[16], other[16] = "boot...........,";
	struct hp_state_header h = header();
	const uint64_t now = 1000 * SECOND;

	(void)unused;
	make();
	assert_false(hp_state_alive(state, &h, h.boot_id, now));
	hp_state_beat(state, now - 15 * SECOND);
	assert_true(hp_state_alive(state, &h, h.boot_id, now));
	hp_state_beat(state, now - 15 * SECOND - 1);
	assert_false(hp_state_alive(state, &h, h.boot_id, now));
	hp_state_beat(state, now + 2);
	assert_true(hp_state_alive(state, &h, h.boot_id, now));
	hp_state_beat(state, UINT64_MAX);
	assert_false(hp_state_alive(state, &h, h.boot_id, now));
	hp_state_beat(state, now);
	assert_false(hp_state_alive(state, &h, other, now));
	assert_false(hp_state_alive(state, &h, unknown, now));
	memset(h.boot_id, 0, 16);
	assert_false(hp_state_alive(state, &h, unknown, now));
	h = header();
	for (int end = 1; end <= 3; end++) {
		hp_state_end(state, (enum hp_stage_end)end);
		assert_false(hp_state_alive(state, &h, h.boot_id, now));
	}
}

/* ---- Names ------------------------------------------------------------ */

static void test_names(void **unused)
{
	struct hpdsl_chunk c = { .number = 17, .name = "a/../b.tar" };
	char buf[HP_STAGE_NAME];

	(void)unused;
	assert_string_equal(hp_stage_chunk_name(&c, false, buf),
			    "chunk-000017.tar");
	c.compressed = true;
	assert_string_equal(hp_stage_chunk_name(&c, false, buf),
			    "chunk-000017.tar.zst");
	assert_string_equal(hp_stage_chunk_name(&c, true, buf),
			    "chunk-000017.tar");
	c.number = UINT32_MAX;
	assert_string_equal(hp_stage_chunk_name(&c, false, buf),
			    "chunk-4294967295.tar.zst");
}

static void test_our_names(void **unused)
{
	static const struct {
		const char *name;
		int kind;
		uint64_t chunk;
		bool zst;
	} t[] = {
		{ "chunk-000000.tar", HP_NAME_CHUNK, 0, false },
		{ "chunk-000041.tar.zst", HP_NAME_CHUNK, 41, true },
		{ "chunk-1234567.tar", HP_NAME_CHUNK, 1234567, false },
		{ ".chunk-000041.tar.part", HP_NAME_PART, 41, false },
		{ ".chunk-000041.tar.zst.part", HP_NAME_PART, 41, false },
		{ ".index.hpdsl.part", HP_NAME_PART, 0, false },
		{ ".dataset.yaml.part", HP_NAME_PART, 0, false },
		{ ".stage.hpdsl.part", HP_NAME_PART, 0, false },
		{ "index.hpdsl", HP_NAME_FIXED, 0, false },
		{ "dataset.yaml", HP_NAME_FIXED, 0, false },
		{ "stage.hpdsl", HP_NAME_FIXED, 0, false },
		{ ".stage.lock", HP_NAME_FIXED, 0, false },
		{ "chunk-1234568.tar", HP_NAME_OTHER, 0, false },
		{ ".chunk-1234568.tar.part", HP_NAME_OTHER, 0, false },
		{ "chunk-18446744073709551616.tar", HP_NAME_OTHER, 0, false },
		{ "chunk-4294967296.tar", HP_NAME_OTHER, 0, false },
		{ "chunk-41.tar", HP_NAME_OTHER, 0, false },
		{ "chunk-0000041.tar", HP_NAME_OTHER, 0, false },
		{ "chunk- 00041.tar", HP_NAME_OTHER, 0, false },
		{ "chunk-+00041.tar", HP_NAME_OTHER, 0, false },
		{ "chunk-000041.tar ", HP_NAME_OTHER, 0, false },
		{ "chunk-000041.tar.gz", HP_NAME_OTHER, 0, false },
		{ "chunk-000041.tar.idx", HP_NAME_SIDE, 41, false },
		{ "chunk-000041.idx", HP_NAME_SIDE, 41, false },
		{ ".chunk-000041.tar.idx.part", HP_NAME_PART, 41, false },
		{ ".chunk-000041.idx.part", HP_NAME_PART, 41, false },
		{ "SHA256SUMS", HP_NAME_SIDE, 0, false },
		{ "shards.json", HP_NAME_SIDE, 0, false },
		{ ".shards.json.part", HP_NAME_PART, 0, false },
		{ ".nv-meta", HP_NAME_FOLDER, 0, false },
		{ ".nv-meta/split.yaml", HP_NAME_OTHER, 0, false },
		{ "split.yaml", HP_NAME_OTHER, 0, false },
		{ ".info.json", HP_NAME_OTHER, 0, false },
		{ "chunk-1234568.idx", HP_NAME_OTHER, 0, false },
		{ "chunk-000041.tar.zst.idx", HP_NAME_OTHER, 0, false },
		{ "chunk-41.idx", HP_NAME_OTHER, 0, false },
		{ "chunk-", HP_NAME_OTHER, 0, false },
		{ "", HP_NAME_OTHER, 0, false },
		{ ".part", HP_NAME_OTHER, 0, false },
		{ "..part", HP_NAME_OTHER, 0, false },
		{ "..chunk-000041.tar.part.part", HP_NAME_OTHER, 0, false },
		{ ".notes.part", HP_NAME_OTHER, 0, false },
		{ "chunk-000041.tar.part", HP_NAME_OTHER, 0, false },
		{ "Index.hpdsl", HP_NAME_OTHER, 0, false },
	};

	(void)unused;
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct hp_stage_name n;

		hp_stage_name_read(t[i].name, 1234568, &n);
		if ((int)n.kind != t[i].kind)
			fail_msg("%s: %d", t[i].name, (int)n.kind);
		if (n.kind == HP_NAME_CHUNK) {
			assert_int_equal(n.chunk, t[i].chunk);
			assert_int_equal(n.zst, t[i].zst);
		}
	}
}

static void test_long_names(void **unused)
{
	char name[300];

	(void)unused;
	for (int len = 1; len < 260; len++) {
		struct hp_stage_name n;

		memset(name, '.', sizeof name);
		strcpy(name + len, ".part");
		hp_stage_name_read(name, 10, &n);
		assert_int_equal(n.kind, HP_NAME_OTHER);
		memset(name, '0', sizeof name);
		memcpy(name, "chunk-", 6);
		strcpy(name + 6 + len, ".tar");
		hp_stage_name_read(name, 10, &n);
		assert_int_equal(n.kind,
				 len == 6 ? HP_NAME_CHUNK : HP_NAME_OTHER);
	}
}

/* ---- The kernel's files ----------------------------------------------- */

static void put(struct memio *m, const char *path, const char *text)
{
	memio_add(m, path, text, strlen(text));
}

static void test_boot_id(void **unused)
{
	static const uint8_t zeros[16];
	static const char *const bad[] = {
		"",
		"\n",
		"01234567-89ab-cdef-0123-456789abcde\n",
		"01234567-89ab-cdef-0123-456789abcdef0\n",
		"01234567-89ab-cdef-0123-456789abcdeg\n",
	};
	const char *path = "proc/sys/kernel/random/boot_id";
	struct memio *m = memio_new();
	uint8_t id[16];

	(void)unused;
	memset(id, 1, 16);
	assert_int_equal(hp_boot_id(memio_io(m), id), -ENOENT);
	assert_memory_equal(id, zeros, 16);
	put(m, path, "01234567-89ab-cdef-0123-456789abcdef\n");
	assert_int_equal(hp_boot_id(memio_io(m), id), 0);
	assert_memory_equal(id,
			    "\x01\x23\x45\x67\x89\xab\xcd\xef"
			    "\x01\x23\x45\x67\x89\xab\xcd\xef",
			    16);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		put(m, path, bad[i]);
		assert_int_equal(hp_boot_id(memio_io(m), id), -EINVAL);
		assert_memory_equal(id, zeros, 16);
	}
	memio_free(m);
	assert_int_equal(hp_boot_id(&hp_io_system, id), 0);
	assert_true(memcmp(id, zeros, 16) != 0);
}

static void test_pid_start(void **unused)
{
	const char *rest = " S 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 "
			   "21 4711 23 24\n";
	char text[300];

	(void)unused;
	snprintf(text, sizeof text, "1 (a)%s", rest);
	assert_int_equal(hp_parse_start(text), 4711);
	snprintf(text, sizeof text, "1 (a) b (c)%s", rest);
	assert_int_equal(hp_parse_start(text), 4711);
	assert_int_equal(hp_parse_start(""), 0);
	assert_int_equal(hp_parse_start("1 (a) S 4 5"), 0);
	assert_true(hp_pid_start(&hp_io_system) > 0);
	assert_true(hp_monotonic() > 0);
}

static void test_memory_texts(void **unused)
{
	const char *info = "MemTotal:  100 kB\nMemAvailable:   70 kB\n"
			   "Odd: x kB\nHuge: 18446744073709551615 kB\n";

	(void)unused;
	assert_int_equal(hp_meminfo(info, "MemAvailable"), 70 * 1024);
	assert_int_equal(hp_meminfo(info, "Available"), UINT64_MAX);
	assert_int_equal(hp_meminfo(info, "Mem"), UINT64_MAX);
	assert_int_equal(hp_meminfo(info, "Odd"), UINT64_MAX);
	assert_int_equal(hp_meminfo(info, "Huge"), UINT64_MAX);
	assert_int_equal(hp_meminfo("", "MemAvailable"), UINT64_MAX);
	assert_int_equal(hp_kernel_number("max\n"), UINT64_MAX);
	assert_int_equal(hp_kernel_number("12\n"), 12);
	assert_int_equal(hp_kernel_number("12x\n"), UINT64_MAX);
	assert_int_equal(hp_kernel_number("-1\n"), UINT64_MAX);
	assert_int_equal(hp_kernel_number(""), UINT64_MAX);
	assert_int_equal(
		hp_memory_stat("anon 1\ninactive_file 22\n", "inactive_file"),
		22);
	assert_int_equal(hp_memory_stat("anon 1\n", "inactive_file"), 0);
}

static void check_path(const char *text, bool v2, const char *want)
{
	size_t len = 0;
	const char *p = hp_cgroup_path(text, v2, &len);

	if (!want) {
		assert_null(p);
		return;
	}
	assert_non_null(p);
	assert_int_equal(len, strlen(want));
	assert_memory_equal(p, want, len);
}

static void test_cgroup_path(void **unused)
{
	const char *both = "12:cpuset,memory:/slurm/uid_1/job_2\n"
			   "11:memory_not:/no\n10:freezer:/f\n0::/user.slice\n";

	(void)unused;
	check_path(both, false, "/slurm/uid_1/job_2");
	check_path(both, true, "/user.slice");
	check_path("0::/a:b", true, "/a:b");
	check_path("10::/a\n", true, NULL);
	check_path("1:name=systemd:/x\n0::/\n", false, NULL);
	check_path("", true, NULL);
	check_path(":::\n:\nx\n", false, NULL);
	check_path("0::", true, "");
}

static void test_cgroup_mount(void **unused)
{
	const char *text =
		"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
		"short\n30 23 0:26 / /sys/x rw - cgroup2\n"
		"30 23 0:26 /pod /sys/fs/cg\\040two rw,nosuid shared:9 "
		"master:1 - cgroup2 cgroup2 rw,nsdelegate\n"
		"31 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
		"32 23 0:28 / /sys/fs/cgroup/mem rw - cgroup cgroup "
		"rw,memory\n";
	struct hp_cgroup_mount m;
	char dir[64];

	(void)unused;
	assert_true(hp_cgroup_mount(text, true, &m));
	assert_string_equal(m.root, "/pod");
	assert_string_equal(m.at, "/sys/fs/cg two");
	assert_true(hp_cgroup_dir(&m, "/pod/a/b", 8, dir, sizeof dir));
	assert_string_equal(dir, "/sys/fs/cg two/a/b");
	assert_true(hp_cgroup_dir(&m, "/pod", 4, dir, sizeof dir));
	assert_string_equal(dir, "/sys/fs/cg two");
	assert_true(hp_cgroup_dir(&m, "/podium", 7, dir, sizeof dir));
	assert_string_equal(dir, "/sys/fs/cg two");
	assert_true(hp_cgroup_dir(&m, "/../x", 5, dir, sizeof dir));
	assert_string_equal(dir, "/sys/fs/cg two");
	assert_false(hp_cgroup_dir(&m, "/pod/a", 6, dir, 16));
	assert_true(hp_cgroup_mount(text, false, &m));
	assert_string_equal(m.at, "/sys/fs/cgroup/mem");
	assert_true(hp_cgroup_dir(&m, "/", 1, dir, sizeof dir));
	assert_string_equal(dir, "/sys/fs/cgroup/mem");
	assert_true(hp_cgroup_dir(&m, "/j", 2, dir, sizeof dir));
	assert_string_equal(dir, "/sys/fs/cgroup/mem/j");
	assert_false(hp_cgroup_mount("", false, &m));
}

static void test_cpu_limit(void **unused)
{
	struct memio *m = memio_new();
	const struct hp_io *io = memio_io(m);

	(void)unused;
	assert_int_equal(hp_cpu_max("max 100000\n"), UINT64_MAX);
	assert_int_equal(hp_cpu_max("150000 100000\n"), 1500);
	assert_int_equal(hp_cpu_max("150000 0\n"), UINT64_MAX);
	assert_int_equal(hp_cpu_max("150000\n"), UINT64_MAX);
	assert_int_equal(hp_cpu_max("18446744073709551615 1\n"), UINT64_MAX);
	assert_int_equal(hp_cpu_max(""), UINT64_MAX);
	assert_int_equal(hp_cpu_limit(io), UINT64_MAX);
	put(m, "proc/self/mountinfo", "1 1 0:1 / /cg rw - cgroup2 none rw\n");
	put(m, "proc/self/cgroup", "0::/a/b\n");
	assert_int_equal(hp_cpu_limit(io), UINT64_MAX);
	put(m, "cg/a/b/cpu.max", "max 100000\n");
	put(m, "cg/a/cpu.max", "400000 100000\n");
	assert_int_equal(hp_cpu_limit(io), 4000);
	put(m, "cg/a/b/cpu.max", "50000 100000\n");
	assert_int_equal(hp_cpu_limit(io), 500);
	memio_free(m);
}

/* The tightest of the groups above the process, of either version. */
static void test_memory_left(void **unused)
{
	struct memio *m = memio_new();
	const struct hp_io *io = memio_io(m);

	(void)unused;
	assert_int_equal(hp_memory_left(io), UINT64_MAX);
	put(m, "proc/meminfo", "MemAvailable: 1000 kB\n");
	assert_int_equal(hp_memory_left(io), 1024000);
	put(m, "proc/self/mountinfo",
	    "1 1 0:1 / /cg rw - cgroup2 none rw\n"
	    "2 1 0:2 / /v1 rw - cgroup none rw,memory\n");
	put(m, "proc/self/cgroup", "4:memory:/m\n0::/a/b\n");
	assert_int_equal(hp_memory_left(io), 1024000);
	put(m, "cg/a/b/memory.max", "max\n");
	put(m, "cg/a/b/memory.current", "5\n");
	put(m, "cg/a/memory.max", "700000\n");
	put(m, "cg/a/memory.current", "300000\n");
	assert_int_equal(hp_memory_left(io), 400000);
	put(m, "cg/a/memory.stat", "inactive_file 50000\nactive_file 7\n");
	assert_int_equal(hp_memory_left(io), 450007);
	put(m, "cg/memory.max", "9\n");
	put(m, "cg/memory.current", "10\n");
	assert_int_equal(hp_memory_left(io), 0);
	memio_remove(m, "cg/memory.max");
	put(m, "v1/memory.limit_in_bytes", "9223372036854771712\n");
	put(m, "v1/memory.usage_in_bytes", "9223372036854771711\n");
	assert_int_equal(hp_memory_left(io), 450007);
	put(m, "v1/m/memory.limit_in_bytes", "1000\n");
	put(m, "v1/m/memory.usage_in_bytes", "900\n");
	put(m, "v1/m/memory.stat", "total_inactive_file 50\n");
	assert_int_equal(hp_memory_left(io), 150);
	memio_free(m);
	assert_true(hp_memory_left(&hp_io_system) < UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_long_texts),
		cmocka_unit_test(test_every_bit),
		cmocka_unit_test(test_wrong_fields),
		cmocka_unit_test(test_chunks),
		cmocka_unit_test(test_alive),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_our_names),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_boot_id),
		cmocka_unit_test(test_pid_start),
		cmocka_unit_test(test_memory_texts),
		cmocka_unit_test(test_cgroup_path),
		cmocka_unit_test(test_cgroup_mount),
		cmocka_unit_test(test_memory_left),
		cmocka_unit_test(test_cpu_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
