/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_sparse DIR SAMPLES MIN-MAX CHUNKS [sorted]: a packed dataset of sizes
 * that nobody has room for.  Index and manifest are what hpdsl-pack would
 * write, the chunks have their lengths and are holes, which read as zeros: for
 * readers that do not compare checksums.  Sizes are uniform, in bytes; sorted:
 * the index says that the pack was not shuffled.
 */
#include "base/error.h"
#include "base/mem.h"
#include "chunk/tar.h"
#include "format/names.h"
#include "index/index.h"
#include "index/write.h"
#include "plan/index_of.h"
#include "sys/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct sparse {
	uint64_t samples, min, max;
	struct hp_chunk_made *chunks;
	char (*names)[HP_CHUNK_NAME];
	uint32_t n_chunks;
	/* The walk: the next member, and where its header is. */
	uint64_t next, at;
	uint32_t chunk;
	char path[32];
};

static void fail(const char *why)
{
	fprintf(stderr, "gen_sparse: %s\n", why);
	exit(3);
}

static uint64_t size_of(const struct sparse *s, uint64_t sample)
{
	uint64_t z = (sample + 1) * 0x9E3779B97F4A7C15;

	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
	z = (z ^ z >> 27) * 0x94D049BB133111EB;
	return s->min + (z ^ z >> 31) % (s->max - s->min + 1);
}

static void begin(void *arg)
{
	struct sparse *s = arg;

	s->next = s->at = s->chunk = 0;
}

static int next(void *arg, struct hp_index_member *ret, struct hpdsl_error *err)
{
	struct sparse *s = arg;
	uint64_t size = size_of(s, s->next);
	int len;

	(void)err;
	if (s->next == s->samples)
		return 0;
	if (s->chunk + 1 < s->n_chunks &&
	    s->next == s->chunks[s->chunk + 1].first_sample) {
		s->chunk++;
		s->at = 0;
	}
	len = snprintf(s->path, sizeof s->path, "%" PRIu64 ".jpg", s->next);
	*ret = (struct hp_index_member){
		.path = s->path,
		.path_len = (size_t)len,
		.offset = s->at + HP_TAR_BLOCK,
		.size = size,
		.checksum = s->next,
		.mtime = 1700000000,
		.mode = 0644,
		.sample = s->next++,
		.label = HPDSL_NO_LABEL,
	};
	s->at = ret->offset + hp_tar_padded(size);
	return 1;
}

/* The chunks' rows; the bytes of all samples. */
static uint64_t place(struct sparse *s)
{
	uint64_t bytes = 0, end = 0;

	for (uint32_t c = 0; c < s->n_chunks; c++) {
		uint64_t first = s->samples * c / s->n_chunks;
		uint64_t last = s->samples * (c + 1) / s->n_chunks;

		for (end = 0; first < last; last--) {
			uint64_t size = size_of(s, last - 1);

			bytes += size;
			end += HP_TAR_BLOCK + hp_tar_padded(size);
		}
		hp_chunk_name_of(c, false, s->names[c]);
		s->chunks[c] = (struct hp_chunk_made){
			.name = s->names[c],
			.first_sample = first,
			.first_member = first,
			.bytes = hp_tar_total(end),
			.plain_bytes = hp_tar_total(end),
			.done = true,
		};
	}
	return bytes;
}

static void write_chunks(const struct sparse *s, int dir)
{
	for (uint32_t c = 0; c < s->n_chunks; c++) {
		int fd = openat(dir, s->names[c],
				O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

		if (fd < 0 || ftruncate(fd, (off_t)s->chunks[c].bytes) ||
		    close(fd))
			fail(strerror(errno));
	}
}

static void write_rest(struct sparse *s, int dir, uint64_t bytes, bool sorted)
{
	const struct hp_index_source src = {
		.samples = s->samples,
		.members = s->samples,
		.bytes = bytes,
		.dataset_id = "forged, as here",
		.flags = sorted ? 0 : HP_INDEX_SHUFFLED,
		.chunks = s->chunks,
		.n_chunks = s->n_chunks,
		.arg = s,
		.begin = begin,
		.next = next,
	};
	struct hp_manifest_file file = { .name = HP_INDEX_NAME };
	struct hp_manifest m = { .has_seed = true };
	const uint8_t no_sha256[32] = { 0 };
	struct hpdsl_error err;
	size_t len;
	char *text = NULL;

	if (hp_index_save(&src, &hp_io_system, dir, &file.bytes, file.checksum,
			  NULL, &err) < 0 ||
	    hp_manifest_of(&src, &file, no_sha256, &m, &err) < 0 ||
	    hp_manifest_format(&m, &text, &len, &err) < 0 ||
	    hp_outfile_put(&hp_io_system, dir, HP_MANIFEST_NAME, text, len,
			   &err) < 0)
		fail(err.msg);
	free(text);
	free(m.chunks);
}

int main(int argc, char **argv)
{
	struct sparse s = { 0 };
	uint64_t bytes;
	int dir;

	if (argc < 5 || argc > 6 || (argc == 6 && strcmp(argv[5], "sorted")) ||
	    sscanf(argv[3], "%" SCNu64 "-%" SCNu64, &s.min, &s.max) != 2)
		return 2;
	s.samples = strtoull(argv[2], NULL, 10);
	s.n_chunks = (uint32_t)strtoul(argv[4], NULL, 10);
	if (!s.n_chunks || s.n_chunks > s.samples || s.min > s.max)
		return 2;
	s.chunks = hp_array(s.n_chunks, sizeof *s.chunks);
	s.names = hp_array(s.n_chunks, sizeof *s.names);
	if (!s.chunks || !s.names)
		fail("no memory");
	if (mkdir(argv[1], 0777) && errno != EEXIST)
		fail(strerror(errno));
	dir = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		fail(strerror(errno));
	bytes = place(&s);
	write_chunks(&s, dir);
	write_rest(&s, dir, bytes, argc == 6);
	close(dir);
	free(s.chunks);
	free(s.names);
	printf("%" PRIu64 " samples, %" PRIu64 " bytes\n", s.samples, bytes);
	return 0;
}
