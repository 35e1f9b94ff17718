/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manifest's parser: the bytes as they are, then with first line and
 * checksum put right, so that they reach the YAML.  What is accepted must come
 * back from its own text.
 */
#include "base/hash.h"
#include "format/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FIRST "format: hpdsl-dataset\n"
#define LAST 43

static void round_trip(const struct hp_manifest *m)
{
	struct hp_manifest again;
	char *one, *two;
	size_t n1, n2;

	if (hp_manifest_format(m, &one, &n1, NULL) < 0)
		abort();
	if (hp_manifest_parse(one, n1, "again", &again, NULL) < 0)
		abort();
	if (hp_manifest_format(&again, &two, &n2, NULL) < 0)
		abort();
	if (n1 != n2 || memcmp(one, two, n1))
		abort();
	hp_manifest_release(&again);
	free(one);
	free(two);
}

static void parse(const char *text, size_t n)
{
	struct hpdsl_error err;
	struct hp_manifest m;

	if (hp_manifest_parse(text, n, "fuzz", &m, &err) < 0)
		return;
	round_trip(&m);
	hp_manifest_release(&m);
}

/* The bytes between first line and checksum line, with new ones around. */
static void repair(const char *data, size_t n)
{
	size_t first = strlen(FIRST);
	uint8_t digest[16];
	char hex[33], *text;

	if (n >= first && !memcmp(data, FIRST, first)) {
		data += first;
		n -= first;
	}
	if (n >= LAST && !memcmp(data + n - LAST, "checksum: ", 10))
		n -= LAST;
	text = malloc(first + n + 1 + LAST + 1);
	if (!text)
		return;
	memcpy(text, FIRST, first);
	memcpy(text + first, data, n);
	n += first;
	if (text[n - 1] != '\n')
		text[n++] = '\n';
	hp_hash128(text, n, digest);
	hp_hex128(digest, hex);
	n += (size_t)sprintf(text + n, "checksum: %s\n", hex);
	parse(text, n);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	parse((const char *)data, size);
	repair((const char *)data, size);
	return 0;
}
