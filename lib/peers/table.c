/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a node's processes: a head that is checked, and rows. */
#include "peers/table.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "peers/health.h"
#include "sys/boot.h"
#include "sys/outfile.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As they lie in memory: the file never leaves its boot. */
struct head {
	uint8_t magic[8];
	uint32_t version, flags;
	uint8_t boot[16], book[16];
	uint32_t nodes, row;
	uint64_t checksum; /* XXH3-64 of the bytes before it */
};

struct row {
	_Atomic uint64_t until, told, load;
	_Atomic uint32_t failures, bad, port;
	uint8_t zero[4];
	_Atomic uint64_t up;
	uint8_t rest[16];
};

_Static_assert(sizeof(struct head) == 64, "hpdsl-format(5)");
_Static_assert(sizeof(struct row) == 64, "hpdsl-format(5)");

static const uint8_t magic[8] = { 0x89, 'H', 'P', 'D', 'S', 'L', 'H', 0x0a };
enum { VERSION = 1 };

static size_t size_of(uint32_t nodes)
{
	return sizeof(struct head) + (size_t)nodes * sizeof(struct row);
}

static uint64_t checksum(const struct head *h)
{
	return hp_hash64(h, offsetof(struct head, checksum));
}

static int expect(const struct hp_io *io, const struct hp_book_head *book,
		  struct head *ret)
{
	*ret = (struct head){ .version = VERSION,
			      .nodes = book->nodes,
			      .row = sizeof(struct row) };
	memcpy(ret->magic, magic, sizeof magic);
	memcpy(ret->book, book->id, sizeof ret->book);
	return hp_boot_id(io, ret->boot);
}

/* ---- Opened ----------------------------------------------------------- */

/* Read through the descriptor, before it is mapped. */
static int check_head(const struct head *is, const struct head *want,
		      const char *name, struct hpdsl_error *err)
{
	if (memcmp(is->magic, magic, sizeof magic) != 0)
		return hp_fail(err, HPDSL_ENOTOURS, "%s: no table of peers",
			       name);
	if (is->version > VERSION)
		return hp_fail(err, HPDSL_ETOONEW,
			       "%s: version %u, this program knows %d", name,
			       is->version, VERSION);
	if (is->checksum != checksum(is))
		return hp_fail(err, HPDSL_ECORRUPT,
			       "%s: header's checksum differs", name);
	if (memcmp(is, want, offsetof(struct head, checksum)) != 0)
		return hp_fail(err, -ESTALE, "%s: of another boot or job",
			       name);
	return 0;
}

static int check_file(const struct stat *st, const char *name,
		      struct hpdsl_error *err)
{
	if (!S_ISREG(st->st_mode))
		return hp_fail(err, -EPERM, "%s: not a regular file", name);
	if (st->st_uid != geteuid() || st->st_mode & 077)
		return hp_fail(err, -EPERM,
			       "%s: is not, or not only, the caller's", name);
	return 0;
}

/* What is open as fd, named name. */
static int take(const struct hp_io *io, int fd, const struct head *want,
		const char *name, struct hp_table *ret, struct hpdsl_error *err)
{
	size_t size = size_of(want->nodes);
	struct head is;
	struct stat st;
	ssize_t n;
	void *p;
	int r = hp_io_fstat(io, fd, &st);

	if (r < 0)
		return hp_fail_errno(err, r, "%s", name);
	r = check_file(&st, name, err);
	if (r < 0)
		return r;
	n = hp_io_pread_full(io, fd, &is, sizeof is, 0);
	if (n < 0)
		return hp_fail_errno(err, (int)n, "%s", name);
	if ((size_t)n < sizeof is)
		return hp_fail(err, HPDSL_ENOTOURS, "%s: no table of peers",
			       name);
	r = check_head(&is, want, name, err);
	if (r < 0)
		return r;
	if (st.st_size < 0 || (uint64_t)st.st_size != size)
		return hp_fail(err, HPDSL_ECORRUPT, "%s: is cut short", name);
	r = io->map_shared(io, fd, size, &p);
	if (r < 0)
		return hp_fail_errno(err, r, "%s", name);
	*ret = (struct hp_table){ io, p, size, want->nodes };
	return 0;
}

static int open_it(const struct hp_io *io, int dir, const struct head *want,
		   const char *name, struct hp_table *ret,
		   struct hpdsl_error *err)
{
	hp_auto_fd f = { io, io->open(io, dir, HP_TABLE_NAME,
				      O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0) };

	if (f.fd == -ELOOP)
		return hp_fail(err, -EPERM, "%s: a symbolic link", name);
	if (f.fd < 0)
		return hp_fail_errno(err, f.fd, "%s", name);
	return take(io, f.fd, want, name, ret, err);
}

int hp_table_open(const struct hp_io *io, int dir, const char *path,
		  const struct hp_book_head *book, struct hp_table *ret,
		  struct hpdsl_error *err)
{
	hp_auto_free char *name = NULL;
	struct head want;
	int r = expect(io, book, &want);

	if (r < 0)
		return hp_fail_errno(err, r, "this boot's id");
	if (asprintf(&name, "%s/" HP_TABLE_NAME, path) < 0) {
		name = NULL;
		return hp_fail_nomem(err);
	}
	return open_it(io, dir, &want, name, ret, err);
}

void hp_table_close(struct hp_table *t)
{
	if (t->p)
		t->io->unmap(t->io, t->p, t->size);
	t->p = NULL;
}

/* ---- Made ------------------------------------------------------------- */

/* All of it is written: a mapped page always has its block. */
static int put(const struct hp_io *io, int dir, const char *path,
	       const struct head *h, struct hpdsl_error *err)
{
	size_t n = size_of(h->nodes);
	hp_auto_free struct head *p = calloc(1, n);
	struct hpdsl_error why;
	int r;

	if (!p)
		return hp_fail_nomem(err);
	*p = *h;
	p->checksum = checksum(p);
	r = hp_outfile_put_private(io, dir, HP_TABLE_NAME, p, n, &why);
	return r < 0 ? hp_fail(err, r, "%s/%s", path, why.msg) : 0;
}

int hp_table_make(const struct hp_io *io, int dir, const char *path,
		  const struct hp_book_head *book, struct hp_table *ret,
		  struct hpdsl_error *err)
{
	struct head want;
	int r = expect(io, book, &want);

	if (r < 0)
		return hp_fail_errno(err, r, "this boot's id");
	if (hp_table_open(io, dir, path, book, ret, NULL) == 0)
		return 0;
	r = put(io, dir, path, &want, err);
	return r < 0 ? r : hp_table_open(io, dir, path, book, ret, err);
}

/* ---- Of a node -------------------------------------------------------- */

static struct row *row_of(const struct hp_table *t, uint32_t node)
{
	return (struct row *)((struct head *)t->p + 1) + node;
}

/* Nothing hangs on the order of fields, nor on those of other rows. */
#define LOAD(x) atomic_load_explicit(&(x), memory_order_relaxed)
#define STORE(x, v) atomic_store_explicit(&(x), (v), memory_order_relaxed)
#define ADD(x) atomic_fetch_add_explicit(&(x), 1, memory_order_relaxed)

struct hp_table_row hp_table_get(const struct hp_table *t, uint32_t node)
{
	const struct row *r = row_of(t, node);

	return (struct hp_table_row){
		.until = LOAD(r->until),
		.told = LOAD(r->told),
		.load = LOAD(r->load),
		.failures = LOAD(r->failures),
		.bad = LOAD(r->bad),
		.port = (uint16_t)LOAD(r->port),
		.up = LOAD(r->up),
	};
}

bool hp_table_lives(const struct hp_table *t, uint32_t node, uint64_t now)
{
	const struct row *r = row_of(t, node);
	uint64_t until = LOAD(r->until);

	/* Later than any probe would be: nobody meant that. */
	return LOAD(r->bad) < HP_BAD_MOST &&
	       (until <= now || until - now > HP_PROBE_MOST);
}

void hp_table_suspect(const struct hp_table *t, uint32_t node, uint64_t now,
		      uint64_t until)
{
	struct row *r = row_of(t, node);
	uint64_t most = now + HP_PROBE_MOST;

	if (hp_table_lives(t, node, now))
		ADD(r->failures);
	STORE(r->until, until < most ? until : most);
}

/* It is shared: what is so already is not written again. */
void hp_table_well(const struct hp_table *t, uint32_t node)
{
	struct row *r = row_of(t, node);

	if (LOAD(r->until))
		STORE(r->until, 0);
}

void hp_table_told(const struct hp_table *t, uint32_t node, uint64_t now,
		   uint64_t load)
{
	struct row *r = row_of(t, node);

	STORE(r->load, load);
	STORE(r->told, now);
}

void hp_table_found(const struct hp_table *t, uint32_t node, uint16_t port)
{
	struct row *r = row_of(t, node);

	if (LOAD(r->port) != port)
		STORE(r->port, port);
}

void hp_table_up(const struct hp_table *t, uint32_t node, uint64_t now)
{
	STORE(row_of(t, node)->up, now);
}

void hp_table_bad(const struct hp_table *t, uint32_t node)
{
	ADD(row_of(t, node)->bad);
}
