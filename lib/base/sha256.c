/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256, from OpenSSL. */
#include "base/sha256.h"

#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <openssl/evp.h>
#include <string.h>

struct hp_sha256 {
	EVP_MD_CTX *ctx;
	bool failed;
};

struct hp_sha256 *hp_sha256_new(void)
{
	struct hp_sha256 *s = calloc(1, sizeof *s);

	if (!s)
		return NULL;
	s->ctx = EVP_MD_CTX_new();
	/* This looks for the algorithm; to begin anew needs what was found. */
	if (!s->ctx || EVP_DigestInit_ex(s->ctx, EVP_sha256(), NULL) != 1) {
		hp_sha256_free(s);
		return NULL;
	}
	return s;
}

void hp_sha256_free(struct hp_sha256 *s)
{
	if (!s)
		return;
	EVP_MD_CTX_free(s->ctx);
	free(s);
}

void hp_sha256_begin(struct hp_sha256 *s)
{
	if (!s->failed)
		s->failed = EVP_DigestInit_ex(s->ctx, NULL, NULL) != 1;
}

/* Behind a failure the context is not to be touched. */
void hp_sha256_update(struct hp_sha256 *s, const void *p, size_t n)
{
	if (n && !s->failed)
		s->failed = EVP_DigestUpdate(s->ctx, p, n) != 1;
}

void hp_sha256_end(struct hp_sha256 *s, uint8_t ret[HP_SHA256])
{
	unsigned n = 0;

	if (!s->failed && EVP_DigestFinal_ex(s->ctx, ret, &n) == 1 &&
	    n == HP_SHA256)
		return;
	memset(ret, 0, HP_SHA256);
	s->failed = true;
}

int hp_sha256_check(const struct hp_sha256 *s, struct hpdsl_error *err)
{
	if (!s || !s->failed)
		return 0;
	return hp_fail(err, -EIO, "SHA-256 cannot be computed");
}

int hp_sha256(const void *p, size_t n, uint8_t ret[HP_SHA256],
	      struct hpdsl_error *err)
{
	hp_auto_sha256 struct hp_sha256 *s = hp_sha256_new();

	if (!s)
		return hp_fail_nomem(err);
	hp_sha256_begin(s);
	hp_sha256_update(s, p, n);
	hp_sha256_end(s, ret);
	return hp_sha256_check(s, err);
}
