/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any lines as a request to a server that has a book, and as the answer to one:
 * without the secret nothing is taken.  With a proof for whatever is understood
 * of them, what is taken is written again as it was read.
 */
#include "peers/wire.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct hp_book_head book = { .nodes = 9, .node = 3 };

/* The fields, each a line; one that is empty is not there. */
static void cut(char *text, const char **field, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		char *end = text ? strchr(text, '\n') : NULL;

		if (end)
			*end = '\0';
		field[i] = text && *text ? text : NULL;
		text = end ? end + 1 : NULL;
	}
}

static void same(const char *a, const char *b)
{
	if (strcmp(a ? a : "", b) != 0)
		abort();
}

/* By one who knows the secret, for what the lines say. */
static void try_proven(const struct hp_asked *lines)
{
	static const char *const method[] = { "", "GET", "HEAD" };
	char path[HP_ASK_PATH], range[HP_ASK_RANGE], proof[HP_ASK_PROOF];
	struct hp_asked what = *lines;
	struct hp_ask a = { .node = book.node };
	uint8_t mac[HP_MAC];

	for (int i = 0; i < 4; i++) {
		a.method = i & 1 ? HP_ASK_GET : HP_ASK_HEAD;
		a.kind = i & 2 ? HP_ASK_HAVE : HP_ASK_STATUS;
		a.chunk = HP_ASK_NO_CHUNK;
		a.first = 0;
		a.last = HP_ASK_NO_LAST;
		if (!hp_ask_mac(&book, &a, mac))
			return;
		hp_ask_proof(&book, &a, mac, proof);
		what.proof = proof;
		if (hp_asked(&book, &what, &a) != HP_ASKED_WELL)
			continue;
		hp_ask_path(&a, path);
		hp_ask_range(&a, range);
		same(what.method, method[a.method]);
		same(what.path, path);
		same(what.range, range);
	}
}

static void try_answer(const char *const *field)
{
	const struct hp_answered what = { 206,	    field[0], field[1],
					  field[2], field[3], field[4] };
	const uint8_t digest[16] = { 0 };
	const struct hp_expected e = { 100, digest };
	const struct hp_ask a = { HP_ASK_GET, HP_ASK_PLAIN, false, 3,
				  7,	      10,	    19,	   { 1 } };
	struct hp_answer n;
	uint8_t mac[HP_MAC];
	char proof[HP_ANSWER_PROOF];
	struct hp_answered proven = what;

	/* nobody guesses a proof */
	if (hp_answered(&book, &a, &e, &what, &n) != HP_ANSWER_UNPROVEN)
		abort();
	n = (struct hp_answer){ 206, 10, 5 };
	if (!hp_answer_mac(&book, &a, &n, mac))
		return;
	hp_answer_proof(&a, &n, mac, proof);
	proven.proof = proof;
	proven.length = "10";
	if (hp_answered(&book, &a, &e, &proven, &n) != HP_ANSWER_GOOD)
		return;
	if (strcmp(proven.range, "bytes 10-19/100") != 0 || proven.encoding)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	const char *field[5];
	struct hp_asked what;
	struct hp_ask a;

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	cut(text, field, 5);
	what = (struct hp_asked){ field[0], field[1], field[2], field[3] };
	if (hp_asked(&book, &what, &a) != HP_ASKED_UNPROVEN)
		abort();
	try_proven(&what);
	try_answer(field);
	free(text);
	return 0;
}
