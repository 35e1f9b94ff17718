/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which pages of an index are touched, exactly: it is mapped so that nothing
 * may be read, and the first access to each page faults and is counted.
 * Opening takes as many for a million members as for a thousand.
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

#include "index.h"
#include "index_write.h"
#include "io.h"
#include "sections.h"

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
	struct hp_index_chunk *chunks;
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
	assert_int_equal(
		hp_index_save(&src, &hp_io_system, dir, &size, digest, NULL),
		0);
	free(c.chunks);
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
	assert_int_equal(few.open, 1);
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

static int make_folder(void **state)
{
	(void)state;
	page_size = (size_t)sysconf(_SC_PAGESIZE);
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char name[sizeof folder + 16];

	(void)state;
	snprintf(name, sizeof name, "%s/%s", folder, HP_INDEX_NAME);
	return unlink(name) < 0 || rmdir(folder) < 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_all),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
