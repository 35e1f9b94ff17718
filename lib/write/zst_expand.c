/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chunk whose compressed form saves too little is plain after all.  It was
 * not kept meanwhile: it comes back out of what was written.
 */
#include "write/zst_file.h"

#include "base/error.h"
#include "base/mem.h"
#include "chunk/frame_stream.h"

#include <string.h>

enum { PIECE = 1 << 20 };

struct expanding {
	struct hp_zst_file *f;
	struct hp_frame_stream stream;
	uint8_t *in, *out; /* PIECE bytes each */
	uint64_t read, written;
};

static int fail_expand(const struct expanding *x, int code,
		       struct hpdsl_error *err)
{
	return hp_fail_errno(err, code, "%s: cannot be expanded again",
			     x->f->out.name);
}

static int more(void *arg, const uint8_t **ret, size_t *ret_n,
		struct hpdsl_error *err)
{
	struct expanding *x = arg;
	const struct hp_outfile *o = &x->f->out;
	uint64_t left = x->f->bytes - x->read;
	size_t n = left < PIECE ? (size_t)left : PIECE;
	ssize_t got = n ? hp_io_pread_full(o->io, o->fd, x->in, n, x->read) : 0;

	(void)err;
	if (got != (ssize_t)n)
		return got < 0 ? (int)got : HPDSL_ECORRUPT;
	x->read += n;
	*ret = x->in;
	*ret_n = n;
	return 0;
}

static int expand_all(struct expanding *x, struct hp_outfile *to,
		      struct hpdsl_error *err)
{
	size_t n;
	int r;

	do {
		r = hp_frame_stream_fill(&x->stream, x->out, PIECE, &n, NULL);
		if (r < 0)
			return fail_expand(x, r, err);
		hp_file_digest_add(&x->f->digest, x->out, n);
		if (n)
			r = hp_outfile_pwrite(to, x->out, n, x->written, err);
		x->written += n;
	} while (r == 0 && n == PIECE);
	return r;
}

int hp_zst_expand(struct hp_zst_file *f, uint64_t plain,
		  const uint8_t checksum[16], struct hp_outfile *out,
		  struct hp_chunk_made *done, struct hpdsl_error *err)
{
	hp_auto_free uint8_t *memory = malloc(2 * (size_t)PIECE);
	struct expanding x = { .f = f,
			       .stream = { .decoder = hp_frame_decoder(),
					   .more = more,
					   .arg = &x },
			       .in = memory,
			       .out = memory ? memory + PIECE : NULL };
	int r;

	if (memory && x.stream.decoder) {
		hp_file_digest_again(&f->digest);
		r = expand_all(&x, out, err);
	} else {
		r = hp_fail_nomem(err);
	}
	ZSTD_freeDCtx(x.stream.decoder);
	if (r < 0)
		return r;
	done->bytes = plain;
	hp_file_digest_end(&f->digest, done->checksum);
	if (x.written != plain || memcmp(done->checksum, checksum, 16) != 0)
		return fail_expand(&x, HPDSL_ECORRUPT, err);
	return hp_file_digest_end_sha256(&f->digest, done->sha256, err);
}
