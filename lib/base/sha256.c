/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256, from OpenSSL.  To find an algorithm it takes locks of the process,
 * which a child has for ever if a thread held them at the fork.  So what was
 * found first is kept and copied, which takes none.
 */
#include "base/sha256.h"

#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdatomic.h>
#include <string.h>

struct hp_sha256 {
	EVP_MD_CTX *ctx;
	bool failed;
};

static EVP_MD_CTX *_Atomic begun; /* at the beginning of a digest; for good */

static const EVP_MD_CTX *beginning(void)
{
	EVP_MD_CTX *is = atomic_load(&begun), *mine;

	if (is)
		return is;
	mine = EVP_MD_CTX_new();
	if (!mine || EVP_DigestInit_ex(mine, EVP_sha256(), NULL) != 1) {
		EVP_MD_CTX_free(mine);
		return NULL;
	}
	if (atomic_compare_exchange_strong(&begun, &is, mine))
		return mine;
	EVP_MD_CTX_free(mine);
	return is;
}

bool hp_sha256_ready(void)
{
	return beginning();
}

struct hp_sha256 *hp_sha256_new(void)
{
	struct hp_sha256 *s = calloc(1, sizeof *s);
	const EVP_MD_CTX *begin;

	if (!s)
		return NULL;
	s->ctx = EVP_MD_CTX_new();
	begin = s->ctx ? beginning() : NULL;
	if (!begin || EVP_MD_CTX_copy_ex(s->ctx, begin) != 1) {
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

/* ---- RFC 2104 --------------------------------------------------------- */

enum { BLOCK = 64 };

/* The digest of a block, which is the key and a pad, and of what follows. */
static bool padded(EVP_MD_CTX *ctx, const uint8_t key[HP_HMAC_KEY], uint8_t pad,
		   const void *p, size_t n, uint8_t ret[HP_SHA256])
{
	const EVP_MD_CTX *begin = beginning();
	uint8_t block[BLOCK];
	bool ok;

	memset(block, pad, sizeof block);
	for (size_t i = 0; i < HP_HMAC_KEY; i++)
		block[i] ^= key[i];
	ok = begin && EVP_MD_CTX_copy_ex(ctx, begin) == 1 &&
	     EVP_DigestUpdate(ctx, block, sizeof block) == 1 &&
	     EVP_DigestUpdate(ctx, p, n) == 1 &&
	     EVP_DigestFinal_ex(ctx, ret, NULL) == 1;
	explicit_bzero(block, sizeof block);
	return ok;
}

bool hp_hmac_sha256(const uint8_t key[HP_HMAC_KEY], const void *p, size_t n,
		    uint8_t ret[HP_SHA256])
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	uint8_t inner[HP_SHA256];
	bool ok = ctx && padded(ctx, key, 0x36, p, n, inner) &&
		  padded(ctx, key, 0x5c, inner, sizeof inner, ret);

	EVP_MD_CTX_free(ctx);
	return ok;
}
