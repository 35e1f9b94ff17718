/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chunk whose compressed form saves too little is plain after all.  It was
 * not kept meanwhile: it comes back out of what was written.
 */
#include "write/zst_file.h"

#include "base/error.h"
#include "base/mem.h"

#include <string.h>
#include <zstd.h>

enum { PIECE = 1 << 20 };

struct expanding {
	struct hp_zst_file *f;
	struct hp_outfile *to;
	ZSTD_DCtx *d;
	uint8_t *in, *out; /* PIECE bytes each */
	uint64_t read, written;
};

static int fail_expand(const struct expanding *x, int code,
		       struct hpdsl_error *err)
{
	return hp_fail_errno(err, code, "%s: cannot be expanded again",
			     x->f->out.name);
}

/* Writes what n bytes of x->in decompress to. */
static int expand_piece(struct expanding *x, size_t n, struct hpdsl_error *err)
{
	ZSTD_inBuffer in = { x->in, n, 0 };
	ZSTD_outBuffer to;
	size_t left;
	int r;

	do {
		to = (ZSTD_outBuffer){ x->out, PIECE, 0 };
		left = ZSTD_decompressStream(x->d, &to, &in);
		if (ZSTD_isError(left))
			return fail_expand(x, HPDSL_ECORRUPT, err);
		hp_file_digest_add(&x->f->digest, x->out, to.pos);
		r = to.pos ? hp_outfile_pwrite(x->to, x->out, to.pos,
					       x->written, err) :
			     0;
		x->written += to.pos;
	} while (r == 0 && (in.pos < n || to.pos == to.size));
	return r;
}

static int expand_all(struct expanding *x, struct hpdsl_error *err)
{
	struct hp_zst_file *f = x->f;
	int r = 0;

	while (r == 0 && x->read < f->bytes) {
		uint64_t left = f->bytes - x->read;
		size_t n = left < PIECE ? (size_t)left : PIECE;
		ssize_t got = hp_io_pread_full(f->out.io, f->out.fd, x->in, n,
					       x->read);

		if (got != (ssize_t)n)
			return fail_expand(
				x, got < 0 ? (int)got : HPDSL_ECORRUPT, err);
		x->read += n;
		r = expand_piece(x, n, err);
	}
	return r;
}

int hp_zst_expand(struct hp_zst_file *f, uint64_t plain,
		  const uint8_t checksum[16], struct hp_outfile *out,
		  struct hp_chunk_made *done, struct hpdsl_error *err)
{
	hp_auto_free uint8_t *memory = malloc(2 * (size_t)PIECE);
	struct expanding x = { .f = f,
			       .to = out,
			       .d = ZSTD_createDCtx(),
			       .in = memory,
			       .out = memory ? memory + PIECE : NULL };
	int r;

	if (memory && x.d) {
		hp_file_digest_again(&f->digest);
		r = expand_all(&x, err);
	} else {
		r = hp_fail_nomem(err);
	}
	ZSTD_freeDCtx(x.d);
	if (r < 0)
		return r;
	done->bytes = plain;
	hp_file_digest_end(&f->digest, done->checksum);
	if (x.written != plain || memcmp(done->checksum, checksum, 16) != 0)
		return fail_expand(&x, HPDSL_ECORRUPT, err);
	return hp_file_digest_end_sha256(&f->digest, done->sha256, err);
}
