/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A main for fuzz targets without a fuzzer: feeds the target every file of the
 * corpus folders given, then each file cut short and with bytes changed, in
 * ways that are the same on every run.  Speaks TAP, a test a file.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST (1 << 20)
#define CHANGES 2000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9E3779B97F4A7C15;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
	z = (z ^ z >> 27) * 0x94D049BB133111EB;
	return z ^ z >> 31;
}

/* A copy of its own size, so that a sanitizer sees reads past the end. */
static void feed(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		abort();
	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static void feed_all(uint8_t *data, size_t size)
{
	uint64_t state = size;
	size_t step = size / 256 + 1;

	feed(data, size);
	for (size_t cut = 0; cut < size; cut += step)
		feed(data, cut);
	for (int i = 0; size && i < CHANGES; i++) {
		size_t at = (size_t)(next(&state) % size);
		uint8_t was = data[at];

		data[at] ^= (uint8_t)(1u << next(&state) % 8);
		feed(data, size);
		data[at] = was;
	}
}

static int feed_file(const char *dir, const char *name, uint8_t *buf)
{
	char path[4096];
	FILE *f;
	size_t n;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "rb");
	if (!f)
		return -1;
	n = fread(buf, 1, LARGEST, f);
	fclose(f);
	feed_all(buf, n);
	return 0;
}

static int feed_dir(const char *dir, uint8_t *buf, int *count)
{
	struct dirent **names;
	int n = scandir(dir, &names, NULL, alphasort), bad = 0;

	for (int i = 0; i < n; i++) {
		if (names[i]->d_name[0] != '.') {
			int rc = feed_file(dir, names[i]->d_name, buf);

			printf("%s %d - %s\n", rc ? "not ok" : "ok", ++*count,
			       names[i]->d_name);
			bad |= rc;
		}
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	return bad;
}

int main(int argc, char **argv)
{
	uint8_t *buf = malloc(LARGEST);
	int count = 0, bad = 0;

	if (!buf)
		return 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	feed(buf, 0);
	for (int i = 1; i < argc; i++)
		bad |= feed_dir(argv[i], buf, &count);
	printf("1..%d%s\n", count, count ? "" : " # SKIP no corpus");
	free(buf);
	return bad ? 1 : 0;
}
