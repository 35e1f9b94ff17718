/* SPDX-License-Identifier: Apache-2.0 */
/* A chunk as stored to the plain tar, which has to be what the index says. */
#include "stager/stager.h"

#include "base/mem.h"
#include "chunk/frame.h"

#include <errno.h>
#include <string.h>

enum { PIECE = 256 << 10 };

struct expanding {
	XXH3_state_t hash; /* of the plain tar */
	struct hp_stager_thread *t;
	struct hp_stager_chunk *c;
	struct hp_outfile *out;
	ZSTD_DCtx *decoder;
	uint8_t *in, *plain; /* PIECE bytes each */
	size_t have;	     /* in plain, not written yet */
	uint64_t read, written;
};

/* Whole pieces; the last one has the tail. */
static int flush(struct expanding *x, struct hpdsl_error *err)
{
	size_t tail = x->out->direct ? x->have % HP_BUFFER_ALIGN : 0;
	size_t whole = x->have - tail;
	int r = 0;

	XXH3_128bits_update(&x->hash, x->plain, x->have);
	if (whole)
		r = hp_outfile_pwrite(x->out, x->plain, whole, x->written,
				      NULL);
	if (r == 0 && tail)
		r = hp_outfile_pwrite_tail(x->out, x->plain + whole, tail,
					   x->written + whole, NULL);
	x->written += x->have;
	x->have = 0;
	return r < 0 ? hp_stager_fail_write(x->c->name, r, err) : 0;
}

/* Decodes n bytes at x->in.  1: they are no frames. */
static int expand_piece(struct expanding *x, size_t n, struct hpdsl_error *err)
{
	ZSTD_inBuffer in = { x->in, n, 0 };
	bool full;

	do {
		ZSTD_outBuffer to = { x->plain, PIECE, x->have };
		size_t k = ZSTD_decompressStream(x->decoder, &to, &in);
		int r = ZSTD_isError(k) ? hp_frame_fail(k, err) : 0;

		if (r < 0)
			return r == HPDSL_ECORRUPT ? 1 : r;
		x->have = to.pos;
		full = x->have == PIECE;
		/* More than it can be: do not fill the disk. */
		if (x->written + x->have > x->c->row.plain_bytes)
			return 1;
		r = full ? flush(x, err) : 0;
		if (r < 0)
			return r;
	} while (full || in.pos < n);
	return 0;
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

static int expand_all(struct expanding *x, struct hpdsl_error *err)
{
	uint64_t bytes = x->c->row.bytes;
	int r = 0;

	while (r == 0 && x->read < bytes) {
		uint64_t left = bytes - x->read;
		size_t n = left < PIECE ? (size_t)left : PIECE;

		if (hp_stager_gives_up(x->t->s))
			return -ECANCELED;
		r = read_piece(x, n, err);
		if (r == 0)
			r = expand_piece(x, n, err);
		x->read += n;
	}
	if (r == 0 && x->have)
		r = flush(x, err);
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
	x.decoder = hp_frame_decoder();
	if (!x.decoder)
		return hp_fail_nomem(err);
	XXH3_128bits_reset(&x.hash);
	r = expand_all(&x, err);
	ZSTD_freeDCtx(x.decoder);
	before = x.written;
	if (r < 0)
		return r;
	*ret_differs = r > 0 || !is_right(&x);
	pthread_mutex_lock(&t->s->lock);
	t->s->counts.written_bytes += before;
	pthread_mutex_unlock(&t->s->lock);
	return 0;
}
