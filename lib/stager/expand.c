/* SPDX-License-Identifier: Apache-2.0 */
/* A chunk as stored to the plain tar, which has to be what the index says. */
#include "stager/stager.h"

#include "base/mem.h"
#include "chunk/frame_stream.h"

#include <errno.h>
#include <string.h>

enum { PIECE = 256 << 10 };

struct expanding {
	XXH3_state_t hash; /* of the plain tar */
	struct hp_stager_thread *t;
	struct hp_stager_chunk *c;
	struct hp_outfile *out;
	struct hp_frame_stream stream;
	uint8_t *in, *plain; /* PIECE bytes each */
	uint64_t read, written;
};

/* Whole pieces; the last one has the tail. */
static int put(struct expanding *x, size_t n, struct hpdsl_error *err)
{
	size_t tail = x->out->direct ? n % HP_BUFFER_ALIGN : 0;
	size_t whole = n - tail;
	int r = 0;

	XXH3_128bits_update(&x->hash, x->plain, n);
	if (whole)
		r = hp_outfile_pwrite(x->out, x->plain, whole, x->written,
				      NULL);
	if (r == 0 && tail)
		r = hp_outfile_pwrite_tail(x->out, x->plain + whole, tail,
					   x->written + whole, NULL);
	x->written += n;
	return r < 0 ? hp_stager_fail_write(x->c->name, r, err) : 0;
}

static int read_piece(struct expanding *x, size_t n, struct hpdsl_error *err)
{
	const struct hp_io *io = x->t->s->io;
	size_t ask =
		(n + HP_BUFFER_ALIGN - 1) / HP_BUFFER_ALIGN * HP_BUFFER_ALIGN;
	ssize_t got =
		hp_io_pread_full(io, x->c->writing->fd, x->in, ask, x->read);

	if (got == -EINVAL && io->set_flags(io, x->c->writing->fd, 0) == 0)
		got = hp_io_pread_full(io, x->c->writing->fd, x->in, n,
				       x->read);
	if (got >= 0 && (size_t)got < n)
		got = -EIO;
	return got < 0 ? hp_fail_errno(err, (int)got, "%s: cannot read it back",
				       x->c->name) :
			 0;
}

static int more(void *arg, const uint8_t **ret, size_t *ret_n,
		struct hpdsl_error *err)
{
	struct expanding *x = arg;
	uint64_t left = x->c->row.bytes - x->read;
	size_t n = left < PIECE ? (size_t)left : PIECE;
	int r = 0;

	if (n && hp_stager_gives_up(x->t->s))
		return -ECANCELED;
	if (n)
		r = read_piece(x, n, err);
	x->read += n;
	*ret = x->in;
	*ret_n = r < 0 ? 0 : n;
	return r;
}

/* 1: they are no frames, or too many bytes. */
static int expand_all(struct expanding *x, struct hpdsl_error *err)
{
	size_t n;
	int r;

	do {
		r = hp_frame_stream_fill(&x->stream, x->plain, PIECE, &n, err);
		if (r < 0)
			return r == HPDSL_ECORRUPT ? 1 : r;
		/* More than it can be: do not fill the disk. */
		if (x->written + n > x->c->row.plain_bytes)
			return 1;
		r = n ? put(x, n, err) : 0;
	} while (r == 0 && n == PIECE);
	return r;
}

static bool is_right(const struct expanding *x)
{
	uint8_t digest[16];

	hp_hash_canonical(XXH3_128bits_digest(&x->hash), digest);
	return x->written == x->c->row.plain_bytes &&
	       memcmp(digest, x->c->row.plain_checksum, sizeof digest) == 0;
}

int hp_stager_expand(struct hp_stager_thread *t, struct hp_stager_chunk *c,
		     struct hp_outfile *out, bool *ret_differs,
		     struct hpdsl_error *err)
{
	hp_auto_free uint8_t *memory =
		aligned_alloc(HP_BUFFER_ALIGN, 2 * (size_t)PIECE);
	struct expanding x = { .t = t, .c = c, .out = out };
	uint64_t before;
	int r;

	if (!memory)
		return hp_fail_nomem(err);
	x.in = memory;
	x.plain = memory + PIECE;
	x.stream = (struct hp_frame_stream){ .decoder = hp_frame_decoder(),
					     .more = more,
					     .arg = &x };
	if (!x.stream.decoder)
		return hp_fail_nomem(err);
	XXH3_128bits_reset(&x.hash);
	r = expand_all(&x, err);
	ZSTD_freeDCtx(x.stream.decoder);
	before = x.written;
	if (r < 0)
		return r;
	*ret_differs = r > 0 || !is_right(&x);
	pthread_mutex_lock(&t->s->shared.lock);
	t->s->shared.counts.written_bytes += before;
	pthread_mutex_unlock(&t->s->shared.lock);
	return 0;
}
