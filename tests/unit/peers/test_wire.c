/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of a request and of its answer: the three proofs of
 * hpdsl-format(5), what is written is read, and of all that is changed on the
 * way, or is said by somebody else, nothing is taken.
 */
#include "base/hash.h"
#include "base/sha256.h"
#include "peers/wire.h"

#include <dlfcn.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- Two nodes and what is asked -------------------------------------- */

static struct hp_book_head book;

static void count_up(uint8_t *p, size_t n, uint8_t from)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(from + i);
}

static int make_book(void **state)
{
	(void)state;
	count_up(book.secret, HP_BOOK_SECRET, 0);
	count_up(book.id, 16, 16);
	count_up(book.pack, 16, 32);
	book.nodes = 8;
	book.node = 3;
	return 0;
}

static struct hp_ask ask(void)
{
	struct hp_ask a = {
		.method = HP_ASK_GET,
		.kind = HP_ASK_PLAIN,
		.node = 3,
		.chunk = 7,
		.first = 4096,
		.last = 1052671,
	};

	count_up(a.nonce, 16, 48);
	return a;
}

/* A request as it goes over the wire. */
struct lines {
	const char *method;
	char path[HP_ASK_PATH], range[HP_ASK_RANGE], proof[HP_ASK_PROOF];
};

static void write_ask(const struct hp_ask *a, struct lines *l)
{
	uint8_t mac[HP_MAC];

	assert_true(hp_ask_mac(&book, a, mac));
	l->method = a->method == HP_ASK_GET ? "GET" : "HEAD";
	hp_ask_path(a, l->path);
	hp_ask_range(a, l->range);
	hp_ask_proof(&book, a, mac, l->proof);
}

static int read_ask(const struct lines *l, struct hp_ask *ret)
{
	const struct hp_asked is = { l->method, l->path,
				     *l->range ? l->range : NULL, l->proof };

	return hp_asked(&book, &is, ret);
}

static void is_mac(const uint8_t mac[HP_MAC], const char *hex)
{
	char is[2 * HP_MAC + 1];

	hp_hex(mac, HP_MAC, is);
	assert_string_equal(is, hex);
}

/* ---- The page's ------------------------------------------------------- */

static void the_proofs_are_the_pages(void **state)
{
	struct hp_answer n = { 206, 4194304, 123456789 };
	struct hp_ask a = ask();
	uint8_t mac[HP_MAC];

	(void)state;
	assert_true(hp_ask_mac(&book, &a, mac));
	is_mac(mac, "205202de8a656dde7daf58a807fe65337cddfb2a9c8fed04dd90a30300"
		    "6bc38e");
	a.method = HP_ASK_HEAD;
	a.kind = HP_ASK_HAVE;
	a.node = HP_BOOK_NODES - 1;
	a.chunk = HP_ASK_NO_CHUNK;
	a.first = 0;
	a.last = HP_ASK_NO_LAST;
	assert_true(hp_ask_mac(&book, &a, mac));
	is_mac(mac, "ae86b10de9e3ab24646c1f96c0f2ee903984dfcfc6ffd1edc1a8aebf63"
		    "7f8fce");
	a = ask();
	a.kind = HP_ASK_STORED;
	a.adopt = true;
	a.chunk = 999999;
	a.first = 0;
	a.last = 4194303;
	assert_true(hp_answer_mac(&book, &a, &n, mac));
	is_mac(mac, "c744fe63bd015435a4b239c2489c01f6cdbd083a1f8ca26df08eeda9bb"
		    "48629d");
}

static void the_lines_are_the_pages(void **state)
{
	const struct hp_ask a = ask();
	struct lines l;

	(void)state;
	write_ask(&a, &l);
	assert_string_equal(l.path, "/v1/c/7/plain");
	assert_string_equal(l.range, "bytes=4096-1052671");
	assert_string_equal(
		l.proof,
		"v1 101112131415161718191a1b1c1d1e1f 3 "
		"303132333435363738393a3b3c3d3e3f 0 205202de8a656dde7daf58a807"
		"fe65337cddfb2a9c8fed04dd90a303006bc38e");
}

/* ---- Requests --------------------------------------------------------- */

static void what_is_asked_is_understood(void **state)
{
	struct hp_ask a = ask(), is;
	struct lines l;

	(void)state;
	for (int kind = HP_ASK_PLAIN; kind <= HP_ASK_STATUS; kind++)
		for (int bits = 0; bits < 4; bits++) {
			const bool whole = kind >= HP_ASK_HAVE;

			a.kind = (enum hp_ask_kind)kind;
			a.method = bits & 1 ? HP_ASK_HEAD : HP_ASK_GET;
			a.adopt = bits & 2;
			a.chunk = whole ? HP_ASK_NO_CHUNK : 999999;
			a.first = whole ? 0 : UINT64_MAX - 2;
			a.last = whole ? HP_ASK_NO_LAST : UINT64_MAX - 1;
			write_ask(&a, &l);
			memset(&is, 0, sizeof is);
			assert_int_equal(read_ask(&l, &is), HP_ASKED_WELL);
			assert_int_equal(is.method, a.method);
			assert_int_equal(is.kind, a.kind);
			assert_true(is.adopt == a.adopt && is.node == a.node);
			assert_true(is.chunk == a.chunk);
			assert_true(is.first == a.first && is.last == a.last);
			assert_memory_equal(is.nonce, a.nonce, 16);
		}
}

/* Each byte of each line, in turn, is another one. */
static void a_request_that_was_changed_is_not_proven(void **state)
{
	const struct hp_ask a = ask();
	struct hp_ask is;
	struct lines l;
	char *all[] = { l.path, l.range, l.proof };

	(void)state;
	write_ask(&a, &l);
	for (size_t k = 0; k < 3; k++)
		for (char *p = all[k]; *p; p++)
			for (int c = 1; c < 128; c++) {
				const char was = *p;

				if (c == was)
					continue;
				*p = (char)c;
				assert_int_equal(read_ask(&l, &is),
						 HP_ASKED_UNPROVEN);
				*p = was;
			}
	l.method = "HEAD";
	assert_int_equal(read_ask(&l, &is), HP_ASKED_UNPROVEN);
	l.method = "PUT";
	assert_int_equal(read_ask(&l, &is), HP_ASKED_UNPROVEN);
	l.method = "GET";
	assert_int_equal(read_ask(&l, &is), HP_ASKED_WELL);
}

static void somebody_else_is_not_believed(void **state)
{
	const struct hp_ask a = ask();
	const struct hp_book_head mine = book;
	struct hp_ask is;
	struct lines l;

	(void)state;
	write_ask(&a, &l);
	/* a stranger at a dead server's port passes it on to a living one */
	book.node = 4;
	assert_int_equal(read_ask(&l, &is), HP_ASKED_UNPROVEN);
	book = mine;
	book.secret[31]++;
	assert_int_equal(read_ask(&l, &is), HP_ASKED_UNPROVEN);
	book = mine;
	book.id[0]++;
	assert_int_equal(read_ask(&l, &is), HP_ASKED_UNPROVEN);
	book = mine;
	book.pack[0]++;
	assert_int_equal(read_ask(&l, &is), HP_ASKED_UNPROVEN);
	book = mine;
	assert_int_equal(read_ask(&l, &is), HP_ASKED_WELL);
}

/* With a proof over what is understood of it: nothing and no range. */
static int proven(const char *method, const char *path, const char *range,
		  enum hp_ask_kind kind, uint32_t chunk)
{
	struct hp_ask a = ask(), is = { .chunk = 99 };
	uint8_t mac[HP_MAC], again[HP_MAC];
	char proof[HP_ASK_PROOF];
	const struct hp_asked what = { method, path, range, proof };
	int ret;

	a.method = !strcmp(method, "GET")  ? HP_ASK_GET :
		   !strcmp(method, "HEAD") ? HP_ASK_HEAD :
					     (enum hp_ask_method)0;
	a.kind = kind;
	a.chunk = chunk;
	a.first = 0;
	a.last = HP_ASK_NO_LAST;
	assert_true(hp_ask_mac(&book, &a, mac));
	hp_ask_proof(&book, &a, mac, proof);
	ret = hp_asked(&book, &what, &is);
	/* the answer can be proven, whatever it is */
	assert_int_not_equal(ret, HP_ASKED_UNPROVEN);
	assert_true(hp_ask_mac(&book, &is, again));
	assert_memory_equal(mac, again, HP_MAC);
	return ret;
}

static void what_is_not_there_has_no_path(void **state)
{
	static const char *const none[] = {
		"",
		"/",
		"/v1",
		"/v1/have/",
		"/v1/have?",
		"/v2/have",
		"/v1/c/1",
		"/v1/c/1/",
		"/v1/c/1/plain/",
		"/v1/c/1/Plain",
		"/v1/c/01/plain",
		"/v1/c/-1/plain",
		"/v1/c/+1/plain",
		"/v1/c//plain",
		"/v1/c/4294967295/plain",
		"/v1/c/18446744073709551617/plain",
		"/v1/c/%31/plain",
		"//v1/c/1/plain",
		"/v1/c/1/../1/plain",
		"/v1/c/1 /plain",
	};
	const enum hp_ask_kind no = (enum hp_ask_kind)0;

	(void)state;
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		assert_int_equal(
			proven("GET", none[i], NULL, no, HP_ASK_NO_CHUNK),
			HP_ASKED_NOTHING);
	assert_int_equal(
		proven("PUT", "/v1/have", NULL, HP_ASK_HAVE, HP_ASK_NO_CHUNK),
		HP_ASKED_OTHERS);
	assert_int_equal(
		proven("GET", "/v1/have", NULL, HP_ASK_HAVE, HP_ASK_NO_CHUNK),
		HP_ASKED_WELL);
}

static void what_is_no_range_is_refused(void **state)
{
	static const char *const none[] = {
		"",
		"bytes=",
		"bytes=0",
		"bytes=0-",
		"bytes=-5",
		"bytes=5-4",
		"bytes=0-4194304",
		"bytes=0-1,3-4",
		"bytes=00-1",
		"bytes=0-01",
		"bytes= 0-1",
		"bytes=0-1 ",
		"bytes=0x0-1",
		"Bytes=0-1",
		"bytes=0-18446744073709551615",
		"bytes=0-18446744073709551616",
		"bytes=99999999999999999999-1",
	};

	(void)state;
	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		assert_int_equal(proven("GET", "/v1/c/1/plain", none[i],
					HP_ASK_PLAIN, 1),
				 HP_ASKED_BAD);
	assert_int_equal(proven("GET", "/v1/c/1/plain", NULL, HP_ASK_PLAIN, 1),
			 HP_ASKED_BAD);
	assert_int_equal(proven("GET", "/v1/have", "bytes=0-1", HP_ASK_HAVE,
				HP_ASK_NO_CHUNK),
			 HP_ASKED_BAD);
}

/* ---- Answers ---------------------------------------------------------- */

static const uint8_t digest[16] = { 0xd1, 0x9e };

struct reply {
	struct hp_answered is;
	char length[24], range[64], tag[HP_ANSWER_TAG];
	char proof[HP_ANSWER_PROOF];
};

/* Of a server that does what it is asked, of a thing of that size. */
static void write_answer(const struct hp_ask *a, unsigned status,
			 uint64_t length, uint64_t size, struct reply *r)
{
	const struct hp_answer n = { (uint16_t)status, length, 99 };
	uint8_t mac[HP_MAC];

	assert_true(hp_answer_mac(&book, a, &n, mac));
	hp_answer_proof(a, &n, mac, r->proof);
	hp_answer_tag(book.pack, digest, r->tag);
	snprintf(r->length, sizeof r->length, "%llu",
		 (unsigned long long)length);
	snprintf(r->range, sizeof r->range, "bytes %llu-%llu/%llu",
		 (unsigned long long)a->first, (unsigned long long)a->last,
		 (unsigned long long)size);
	r->is = (struct hp_answered){ status, r->length, r->range,
				      r->tag, r->proof,	 NULL };
}

static enum hp_answer_is take(const struct hp_ask *a, const struct reply *r)
{
	const struct hp_expected e = { 5000000, digest };
	struct hp_answer n = { 1, 1, 1 };
	enum hp_answer_is ret = hp_answered(&book, a, &e, &r->is, &n);

	if (ret == HP_ANSWER_UNPROVEN)
		assert_true(n.status == 1 && n.length == 1 && n.load == 1);
	else
		assert_true(n.status == r->is.status && n.load == 99);
	return ret;
}

static void an_answer_is_taken(void **state)
{
	const struct hp_ask a = ask();
	struct reply r;

	(void)state;
	write_answer(&a, 206, 1048576, 5000000, &r);
	assert_int_equal(take(&a, &r), HP_ANSWER_GOOD);
	write_answer(&a, 404, 0, 0, &r);
	assert_int_equal(take(&a, &r), HP_ANSWER_ABSENT);
	write_answer(&a, 503, 0, 0, &r);
	assert_int_equal(take(&a, &r), HP_ANSWER_BUSY);
}

static void wholes_are_taken(void **state)
{
	const struct hp_expected e = { 25, NULL };
	struct hp_answer n;
	struct hp_ask a = ask();
	struct reply r;

	(void)state;
	a.kind = HP_ASK_HAVE;
	a.chunk = HP_ASK_NO_CHUNK;
	a.first = 0;
	a.last = HP_ASK_NO_LAST;
	write_answer(&a, 200, 25, 0, &r);
	hp_answer_tag(book.pack, NULL, r.tag);
	r.is.range = NULL;
	assert_int_equal(hp_answered(&book, &a, &e, &r.is, &n), HP_ANSWER_GOOD);
	r.is.range = r.range;
	assert_int_equal(hp_answered(&book, &a, &e, &r.is, &n),
			 HP_ANSWER_WRONG);
	write_answer(&a, 200, 24, 0, &r);
	hp_answer_tag(book.pack, NULL, r.tag);
	r.is.range = NULL;
	assert_int_equal(hp_answered(&book, &a, &e, &r.is, &n),
			 HP_ANSWER_WRONG);
}

/* What libraries let through as a success. */
static void an_answer_to_something_else_is_wrong(void **state)
{
	const struct hp_ask a = ask();
	struct reply r;

	(void)state;
	write_answer(&a, 200, 1048576, 5000000, &r); /* the whole, perhaps */
	assert_int_equal(take(&a, &r), HP_ANSWER_WRONG);
	write_answer(&a, 206, 1048575, 5000000, &r);
	assert_int_equal(take(&a, &r), HP_ANSWER_WRONG);
	write_answer(&a, 206, 1048576, 4999999, &r);
	assert_int_equal(take(&a, &r), HP_ANSWER_WRONG);
	write_answer(&a, 206, 1048576, 5000000, &r);
	strcpy(r.range, "bytes 4095-1052670/5000000");
	assert_int_equal(take(&a, &r), HP_ANSWER_WRONG);
	strcpy(r.range, "bytes 4096-1052671/*");
	assert_int_equal(take(&a, &r), HP_ANSWER_WRONG);
	write_answer(&a, 206, 1048576, 5000000, &r);
	r.is.range = NULL;
	assert_int_equal(take(&a, &r), HP_ANSWER_WRONG);
	write_answer(&a, 206, 1048576, 5000000, &r);
	r.is.encoding = "gzip";
	assert_int_equal(take(&a, &r), HP_ANSWER_WRONG);
	write_answer(&a, 206, 1048576, 5000000, &r);
	r.tag[1] ^= 1;
	assert_int_equal(take(&a, &r), HP_ANSWER_WRONG);
	r.is.tag = NULL;
	assert_int_equal(take(&a, &r), HP_ANSWER_WRONG);
}

static void an_answer_of_somebody_else_is_not_proven(void **state)
{
	struct hp_ask a = ask(), other;
	struct lines l;
	struct reply r;

	(void)state;
	write_answer(&a, 206, 1048576, 5000000, &r);
	/* replayed: to an earlier request of the same bytes */
	other = a;
	other.nonce[0]++;
	assert_int_equal(take(&other, &r), HP_ANSWER_UNPROVEN);
	/* by another node of the job */
	other = a;
	other.node = 4;
	assert_int_equal(take(&other, &r), HP_ANSWER_UNPROVEN);
	/* the request, sent back */
	write_ask(&a, &l);
	r.is.proof = l.proof;
	assert_int_equal(take(&a, &r), HP_ANSWER_UNPROVEN);
	r.is.proof = NULL;
	assert_int_equal(take(&a, &r), HP_ANSWER_UNPROVEN);
	/* another status, length or load than was proven */
	r.is.proof = r.proof;
	r.is.status = 200;
	assert_int_equal(take(&a, &r), HP_ANSWER_UNPROVEN);
	r.is.status = 206 + 65536;
	assert_int_equal(take(&a, &r), HP_ANSWER_UNPROVEN);
	r.is.status = 206;
	r.is.length = "1048577";
	assert_int_equal(take(&a, &r), HP_ANSWER_UNPROVEN);
	r.is.length = NULL;
	assert_int_equal(take(&a, &r), HP_ANSWER_UNPROVEN);
	r.is.length = r.length;
	for (char *p = r.proof; *p; p++) {
		const char was = *p;

		*p = was == '1' ? '2' : '1';
		assert_int_equal(take(&a, &r), HP_ANSWER_UNPROVEN);
		*p = was;
	}
	assert_int_equal(take(&a, &r), HP_ANSWER_GOOD);
}

/* ---- What a node has -------------------------------------------------- */

static void two_bits_a_chunk(void **state)
{
	uint8_t p[3] = { 0 };

	(void)state;
	assert_true(hp_have_size(0) == 0 && hp_have_size(1) == 1);
	assert_true(hp_have_size(4) == 1 && hp_have_size(5) == 2);
	assert_true(hp_have_size(UINT32_MAX) == UINT64_C(1) << 30);
	for (uint32_t c = 0; c < 10; c++)
		hp_have_set(p, c, HP_HAVE_PLAIN);
	for (uint32_t c = 0; c < 10; c++)
		hp_have_set(p, c, (enum hp_have)(c % 4));
	for (uint32_t c = 0; c < 10; c++)
		assert_int_equal(hp_have_get(p, c), c % 4);
	assert_memory_equal(p, "\xe4\xe4\x04", 3);
	assert_true(hp_have_is_whole(p, 10));
	assert_true(hp_have_is_whole(p, 12));
	assert_false(hp_have_is_whole(p, 9));
}

/* ---- Locks of the process --------------------------------------------- */

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* Those of libcrypto, which come here before they go to the C library. */
static atomic_ulong locks;

#define LOCK(name)                                         \
	int name(pthread_rwlock_t *lock)                   \
	{                                                  \
		int (*real)(pthread_rwlock_t *);           \
                                                           \
		*(void **)&real = dlsym(RTLD_NEXT, #name); \
		atomic_fetch_add(&locks, 1);               \
		return real(lock);                         \
	}

LOCK(pthread_rwlock_rdlock)
LOCK(pthread_rwlock_wrlock)

static void a_proof_takes_no_lock(void **state)
{
	uint8_t mac[HP_MAC], other[EVP_MAX_MD_SIZE];
	struct hp_ask a = ask();
	unsigned long before;

	(void)state;
	assert_true(hp_sha256_ready());
	before = atomic_load(&locks);
	for (int i = 0; i < 10; i++)
		assert_true(hp_ask_mac(&book, &a, mac));
	assert_int_equal(atomic_load(&locks), before);
	/* And they are seen here, where it takes some. */
	assert_non_null(HMAC(EVP_sha256(), book.secret, HP_BOOK_SECRET, mac,
			     sizeof mac, other, NULL));
	assert_true(atomic_load(&locks) > before);
}
#endif

/* ---- Children of threads that ask ------------------------------------- */

enum { ASKING = 3, CHILDREN = 100, PATIENCE = 120 /* seconds */ };

static atomic_bool enough;

static void *keep_asking(void *arg)
{
	uint8_t mac[HP_MAC];
	struct hp_ask a = ask();

	(void)arg;
	while (!atomic_load(&enough))
		if (!hp_ask_mac(&book, &a, mac))
			abort();
	return NULL;
}

/*
 * A lock of libcrypto that a thread of the parent held at the fork is held in
 * the child for ever; the alarm is for a tree that has this fault.
 */
static void a_child_proves_whatever_its_parent_was_at(void **state)
{
	uint8_t want[HP_MAC], mac[HP_MAC];
	pthread_t threads[ASKING];
	struct hp_ask a = ask();

	(void)state;
	assert_true(hp_ask_mac(&book, &a, want));
	atomic_store(&enough, false);
	for (int i = 0; i < ASKING; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, keep_asking, NULL),
			0);
	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = fork();
		int status;

		if (child == 0) {
			alarm(PATIENCE);
			_exit(!hp_ask_mac(&book, &a, mac) ||
			      !hp_mac_is(mac, want));
		}
		assert_true(child > 0);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
	atomic_store(&enough, true);
	for (int i = 0; i < ASKING; i++)
		pthread_join(threads[i], NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_proofs_are_the_pages),
		cmocka_unit_test(the_lines_are_the_pages),
		cmocka_unit_test(what_is_asked_is_understood),
		cmocka_unit_test(a_request_that_was_changed_is_not_proven),
		cmocka_unit_test(somebody_else_is_not_believed),
		cmocka_unit_test(what_is_not_there_has_no_path),
		cmocka_unit_test(what_is_no_range_is_refused),
		cmocka_unit_test(an_answer_is_taken),
		cmocka_unit_test(wholes_are_taken),
		cmocka_unit_test(an_answer_to_something_else_is_wrong),
		cmocka_unit_test(an_answer_of_somebody_else_is_not_proven),
		cmocka_unit_test(two_bits_a_chunk),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
		cmocka_unit_test(a_proof_takes_no_lock),
#endif
		cmocka_unit_test(a_child_proves_whatever_its_parent_was_at),
	};

	return cmocka_run_group_tests(tests, make_book, NULL);
}
