/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which pages of an index or a snapshot are touched, exactly: it is mapped so
 * that nothing may be read, and the first access to each page faults and is
 * counted.  Opening takes as many for a million members as for a thousand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "forge_snap.h"
#include "format/manifest.h"
#include "format/names.h"
#include "format/sections.h"
#include "index/index.h"
#include "index/write.h"
#include "sys/io.h"

/* ---- Counting --------------------------------------------------------- */

static char *watched;
static size_t watched_size, page_size;
static volatile sig_atomic_t touched;

static void on_fault(int signal_number, siginfo_t *info, void *context)
{
	char *at = info->si_addr;

	(void)context;
	if (at < watched || at >= watched + watched_size) {
		signal(signal_number, SIG_DFL); /* a fault of our own */
		return;
	}
	touched++;
	at -= (size_t)(at - watched) % page_size;
	if (mprotect(at, page_size, PROT_READ) < 0)
		abort();
}

/* The handler is set here because cmocka sets its own before each test. */
static int map_watched(const struct hp_io *io, int fd, size_t size,
		       const void **ret)
{
	struct sigaction act = { .sa_sigaction = on_fault,
				 .sa_flags = SA_SIGINFO };
	void *p = mmap(NULL, size, PROT_NONE, MAP_SHARED, fd, 0);

	(void)io;
	if (p == MAP_FAILED || sigaction(SIGSEGV, &act, NULL) < 0)
		return -errno;
	watched = p;
	watched_size = size;
	*ret = p;
	return 0;
}

static void unmap_watched(const struct hp_io *io, const void *p, size_t size)
{
	hp_io_system.unmap(io, p, size);
	watched = NULL;
	watched_size = 0;
}

static unsigned pages_since(void (*act)(struct hpdsl_dataset *ds),
			    struct hpdsl_dataset *ds)
{
	touched = 0;
	act(ds);
	return (unsigned)touched;
}

/* ---- Indexes ---------------------------------------------------------- */

/* Samples of two members, 500 samples a chunk. */
struct corpus {
	uint64_t members, at;
	struct hp_chunk_made *chunks;
	char path[64];
};

static size_t path_of(uint64_t number, char path[64])
{
	return (size_t)snprintf(
		path, 64, "folder%04" PRIu64 "/%08" PRIu64 ".%s", number / 1000,
		number / 2, number % 2 ? "txt" : "jpg");
}

static void begin(void *arg)
{
	((struct corpus *)arg)->at = 0;
}

static int next(void *arg, struct hp_index_member *ret, struct hpdsl_error *err)
{
	struct corpus *c = arg;

	(void)err;
	if (c->at == c->members)
		return 0;
	*ret = (struct hp_index_member){
		.path = c->path,
		.path_len = path_of(c->at, c->path),
		.offset = c->at % 1000 * 1024 + 512,
		.size = 100,
		.sample = c->at / 2,
		.label = HPDSL_NO_LABEL,
		.mode = 0644,
	};
	c->at++;
	return 1;
}

static char folder[] = "/tmp/hpdsl-pages-XXXXXX";
static char names[1000][24];

static void write_index(uint64_t members)
{
	struct corpus c = { .members = members };
	struct hp_index_source src = { .samples = members / 2,
				       .members = members,
				       .bytes = members * 100,
				       .n_chunks = (uint32_t)(members / 1000),
				       .arg = &c,
				       .begin = begin,
				       .next = next };
	int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint8_t digest[16];
	uint64_t size;

	c.chunks = calloc(src.n_chunks, sizeof *c.chunks);
	for (uint32_t i = 0; i < src.n_chunks; i++) {
		snprintf(names[i], sizeof names[i], "chunk-%06u.tar", i);
		c.chunks[i].name = names[i];
		c.chunks[i].first_sample = (uint64_t)i * 500;
		c.chunks[i].first_member = (uint64_t)i * 1000;
		c.chunks[i].bytes = 1034240;
	}
	src.chunks = c.chunks;
	assert_int_equal(hp_index_save(&src, &hp_io_system, dir, &size, digest,
				       NULL, NULL),
			 0);
	free(c.chunks);
	/* Nobody looks into it, but it has to be there. */
	close(openat(dir, HP_MANIFEST_NAME, O_CREAT | O_WRONLY, 0644));
	close(dir);
}

static struct hpdsl_dataset *open_watched(const struct hp_io *io)
{
	struct hpdsl_dataset *ds = NULL;
	struct hpdsl_error err = { 0 };

	if (hpdsl_open(folder, io, &ds, &err) < 0)
		print_error("%s\n", err.msg);
	assert_non_null(ds);
	return ds;
}

/* ---- Tests ------------------------------------------------------------ */

static uint64_t number_of_members(struct hpdsl_dataset *ds)
{
	struct hpdsl_counts n;

	hpdsl_count(ds, &n);
	return n.members;
}

static void ask_number(struct hpdsl_dataset *ds)
{
	uint64_t number = number_of_members(ds) / 2 + 37;
	struct hpdsl_member m;
	char path[64];

	assert_int_equal(hpdsl_member_get(ds, number, &m, NULL), 0);
	assert_int_equal(m.path_len, path_of(number, path));
	assert_string_equal(m.path, path);
}

static void ask_path(struct hpdsl_dataset *ds)
{
	uint64_t number = number_of_members(ds) / 3 + 5;
	struct hpdsl_member m;
	char path[64];
	size_t n = path_of(number, path);

	assert_int_equal(hpdsl_member_find(ds, path, n, &m, NULL), 0);
	assert_int_equal(m.number, number);
}

static void ask_chunk(struct hpdsl_dataset *ds)
{
	struct hpdsl_counts n;
	struct hpdsl_chunk c;

	hpdsl_count(ds, &n);
	assert_int_equal(hpdsl_chunk_get(ds, (uint32_t)n.chunks - 1, &c, NULL),
			 0);
	assert_int_equal(c.members, 1000);
}

struct pages {
	unsigned open, number, path, chunk, again;
};

static struct pages measure(uint64_t members)
{
	struct hp_io io = hp_io_system;
	struct hpdsl_dataset *ds;
	struct pages p;

	io.map = map_watched;
	io.unmap = unmap_watched;
	write_index(members);
	touched = 0;
	ds = open_watched(&io);
	p.open = (unsigned)touched;
	assert_true(watched_size > members * 68);
	p.number = pages_since(ask_number, ds);
	p.path = pages_since(ask_path, ds);
	p.chunk = pages_since(ask_chunk, ds);
	p.again = pages_since(ask_number, ds);
	hpdsl_close(ds);
	assert_null(watched);
	return p;
}

static void test_pages(void **state)
{
	/* A block and its checksum, for each section that is looked at. */
	const unsigned block = HP_BLOCK / (unsigned)page_size + 2;
	struct pages few = measure(1000), many = measure(1000000);

	(void)state;
	/* What is kept of it is read. */
	assert_int_equal(few.open, 0);
	assert_int_equal(many.open, few.open);
	/* SAMPLES, MEMBERS, CHUNKS, PATHS; LOOKUP by path. */
	assert_in_range(many.number, 1, 4 * block);
	assert_in_range(many.path, 1, 4 * block);
	assert_in_range(many.chunk, 0, 2 * block);
	assert_int_equal(many.again, 0);
}

/* What is counted is what there is: a check of all touches every page. */
static void test_all(void **state)
{
	struct hp_io io = hp_io_system;
	struct hpdsl_dataset *ds;
	struct hp_index *ix;
	size_t n;

	(void)state;
	io.map = map_watched;
	io.unmap = unmap_watched;
	write_index(50000);
	ds = open_watched(&io);
	n = (watched_size + page_size - 1) / page_size;
	assert_int_equal(hp_index_open(watched, watched_size, "it", &ix, NULL),
			 0);
	assert_int_equal(hp_index_check(ix, NULL, NULL, NULL), 0);
	assert_int_equal(touched, n);
	hp_index_free(ix);
	hpdsl_close(ds);
}

/* ---- Snapshots -------------------------------------------------------- */

static char snapshot[sizeof folder + 16];

/* Folders of 1000 files; the name of number i is that of path_of. */
static void write_snapshot(uint64_t files)
{
	size_t n = 1 + files + files / 1000;
	struct spec *v = calloc(n, sizeof *v);
	char(*paths)[64] = calloc(n, sizeof *paths);
	struct snap_image im;
	FILE *out;

	v[0] = (struct spec){ .path = "", .mode = S_IFDIR | 0755 };
	for (uint64_t i = 0, k = 1; i < files; i++, k++) {
		if (i % 1000 == 0) {
			snprintf(paths[k], 64, "folder%04" PRIu64, i / 1000);
			v[k] = (struct spec){ .path = paths[k],
					      .mode = S_IFDIR | 0755 };
			k++;
		}
		path_of(i, paths[k]);
		v[k] = (struct spec){ .path = paths[k],
				      .mode = S_IFREG | 0644,
				      .size = i };
	}
	im = snap_make(v, n, false);
	out = fopen(snapshot, "w");
	assert_non_null(out);
	assert_int_equal(fwrite(im.p, 1, im.n, out), im.n);
	assert_int_equal(fclose(out), 0);
	free(im.p);
	free(paths);
	free(v);
}

struct snapshot_pages {
	unsigned open, look, again, list;
};

static unsigned look(struct hpdsl_snapshot *s, uint64_t number)
{
	struct hpdsl_entry e;
	char path[64];
	size_t n = path_of(number, path);

	touched = 0;
	assert_int_equal(hpdsl_snapshot_lookup(s, path, n, &e, NULL), 0);
	assert_int_equal(e.size, number);
	return (unsigned)touched;
}

static unsigned list_folder(struct hpdsl_snapshot *s, uint64_t number)
{
	struct hpdsl_entry e[1001];
	uint64_t cursor = 0;

	touched = 0;
	assert_int_equal(
		hpdsl_snapshot_readdir(s, number, &cursor, e, 1001, NULL),
		1000);
	return (unsigned)touched;
}

static struct snapshot_pages measure_snapshot(uint64_t files)
{
	struct hp_io io = hp_io_system;
	struct hpdsl_snapshot_info info;
	struct hpdsl_snapshot *s;
	struct snapshot_pages p;

	io.map = map_watched;
	io.unmap = unmap_watched;
	write_snapshot(files);
	touched = 0;
	assert_int_equal(hpdsl_snapshot_open(snapshot, 0, &io, &s, NULL), 0);
	p.open = (unsigned)touched;
	hpdsl_snapshot_info(s, &info);
	assert_int_equal(info.files, files);
	assert_int_equal(watched_size, info.file_bytes);
	assert_true(hpdsl_snapshot_maps(s, watched));
	assert_true(hpdsl_snapshot_maps(s, watched + watched_size - 1));
	assert_false(hpdsl_snapshot_maps(s, watched - 1));
	assert_false(hpdsl_snapshot_maps(s, watched + watched_size));
	p.look = look(s, files / 3 + 5);
	p.again = look(s, files / 3 + 5);
	p.list = list_folder(s, files / 1000 / 2 + 1);
	hpdsl_snapshot_close(s);
	assert_null(watched);
	return p;
}

static void test_snapshot(void **state)
{
	const unsigned block = HP_BLOCK / (unsigned)page_size + 2;
	struct snapshot_pages few = measure_snapshot(1000);
	struct snapshot_pages many = measure_snapshot(200000);

	(void)state;
	assert_int_equal(few.open, 1);
	assert_int_equal(many.open, few.open);
	/* LOOKUP, ENTRIES and NAMES, the latter for a file and its folder. */
	assert_in_range(many.look, 1, 5 * block);
	assert_int_equal(many.again, 0);
	/* FOLDERS, and two blocks of ENTRIES and of NAMES at most. */
	assert_in_range(many.list, 1, 6 * block);
}

static int make_folder(void **state)
{
	(void)state;
	page_size = (size_t)sysconf(_SC_PAGESIZE);
	if (!mkdtemp(folder))
		return -1;
	snprintf(snapshot, sizeof snapshot, "%s/snapshot", folder);
	return 0;
}

static int remove_folder(void **state)
{
	char name[sizeof folder + 16];

	(void)state;
	snprintf(name, sizeof name, "%s/%s", folder, HP_INDEX_NAME);
	if (unlink(name) < 0)
		return -1;
	snprintf(name, sizeof name, "%s/%s", folder, HP_MANIFEST_NAME);
	return unlink(name) < 0 || unlink(snapshot) < 0 || rmdir(folder) < 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_snapshot),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
