/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The manifest's rows of files.  Names lead into the dataset's directory and
 * nowhere else, but for chunks that were adopted where they lie.
 */
#include "format/manifest_private.h"

#include <string.h>

enum { MAX_CHUNKS = 1000000, MAX_FILES = 4 * MAX_CHUNKS, MAX_NAME = 255 };

#define FIELD(key, read, member, required)                                     \
	{                                                                      \
		key, read, offsetof(struct hp_manifest_file, member), required \
	}

/* In the order that they have to have. */
static const struct hp_yaml_field file_fields[] = {
	FIELD("name", hp_yaml_text, name, true),
	FIELD("bytes", hp_yaml_number, bytes, true),
	FIELD("xxh3_128", hp_yaml_digest, checksum, true),
	FIELD("sha256", hp_yaml_sha256, sha256, false),
};
enum { FILE_FIELDS = 4, FILE_SHA256 = 3 };

static const struct hp_yaml_field chunk_fields[] = {
	FIELD("name", hp_yaml_text, name, true),
	FIELD("bytes", hp_yaml_number, bytes, true),
	FIELD("samples", hp_yaml_number, samples, true),
	FIELD("xxh3_128", hp_yaml_digest, checksum, true),
	FIELD("plain_bytes", hp_yaml_number, plain_bytes, false),
	FIELD("plain_xxh3_128", hp_yaml_digest, plain_checksum, false),
	FIELD("sha256", hp_yaml_sha256, sha256, false),
};
enum {
	CHUNK_FIELDS = 7,
	PLAIN_BYTES = 4,
	PLAIN_CHECKSUM = 5,
	CHUNK_SHA256 = 6
};

/* A name of n bytes in a directory. */
static bool is_plain(const char *s, size_t n)
{
	return n && n <= MAX_NAME && !memchr(s, '/', n) &&
	       !(n == 1 && s[0] == '.') &&
	       !(n == 2 && s[0] == '.' && s[1] == '.');
}

/* The same, or such a name in a folder. */
static bool is_side_file(const char *s)
{
	const char *slash = strchr(s, '/');

	if (slash && !is_plain(s, (size_t)(slash - s)))
		return false;
	s = slash ? slash + 1 : s;
	return is_plain(s, strlen(s));
}

static bool is_path(const char *s)
{
	size_t n = strlen(s);

	return n && n <= HPDSL_PATH_MAX && s[n - 1] != '/';
}

static int check_name(struct hp_yaml_reader *r, bool good)
{
	return good ? 0 : hp_yaml_bad(r, "not a file name");
}

static int read_file(struct hp_yaml_reader *r, struct hp_manifest_file *f)
{
	uint32_t seen;
	int k = hp_yaml_fields(r, file_fields, FILE_FIELDS, f, &seen);

	if (k == 0)
		f->has_sha256 = seen & 1u << FILE_SHA256;
	return k;
}

static int read_chunk(struct hp_yaml_reader *r, struct hp_manifest_file *f)
{
	uint32_t seen;
	bool bytes, checksum;
	int k = hp_yaml_fields(r, chunk_fields, CHUNK_FIELDS, f, &seen);

	if (k < 0)
		return k;
	f->has_sha256 = seen & 1u << CHUNK_SHA256;
	bytes = seen & 1u << PLAIN_BYTES;
	checksum = seen & 1u << PLAIN_CHECKSUM;
	f->compressed = bytes;
	if (bytes != checksum)
		return hp_yaml_bad(r, "plain_bytes and plain_xxh3_128 come "
				      "together");
	return 0;
}

int hp_manifest_read_index(struct hp_yaml_reader *r, void *into)
{
	struct hp_manifest_file *f = into;
	int k = read_file(r, f);

	return k < 0 ? k : check_name(r, is_plain(f->name, strlen(f->name)));
}

/* Reads one row to the end of *v, which has n of them. */
static int add_file(struct hp_yaml_reader *r, struct hp_manifest_file **v,
		    size_t n,
		    int (*read)(struct hp_yaml_reader *r,
				struct hp_manifest_file *f))
{
	void *p = *v;
	int k = hp_yaml_grow(r, &p, n, sizeof **v);

	if (k < 0)
		return k;
	*v = p;
	memset(&(*v)[n], 0, sizeof **v);
	return read(r, &(*v)[n]);
}

static int add_chunk(struct hp_yaml_reader *r, struct hp_manifest *m)
{
	const char *name;
	int k;

	if (m->n_chunks == MAX_CHUNKS)
		return hp_yaml_bad(r, "too many chunks");
	k = add_file(r, &m->chunks, m->n_chunks, read_chunk);
	if (k < 0)
		return k;
	name = m->chunks[m->n_chunks++].name;
	return check_name(r, m->adopted ? is_path(name) :
					  is_plain(name, strlen(name)));
}

static int add_side_file(struct hp_yaml_reader *r, struct hp_manifest *m)
{
	int k;

	if (m->n_files == MAX_FILES)
		return hp_yaml_bad(r, "too many files");
	k = add_file(r, &m->files, m->n_files, read_file);
	return k < 0 ? k :
		       check_name(r, is_side_file(m->files[m->n_files++].name));
}

static int read_list(struct hp_yaml_reader *r, struct hp_manifest *m,
		     int (*add)(struct hp_yaml_reader *r,
				struct hp_manifest *m))
{
	int k;

	if (r->ev.type != YAML_SEQUENCE_START_EVENT)
		return hp_yaml_bad(r, "a list was expected");
	for (;;) {
		k = hp_yaml_next(r);
		if (k < 0 || r->ev.type == YAML_SEQUENCE_END_EVENT)
			return k;
		k = add(r, m);
		if (k < 0)
			return k;
	}
}

int hp_manifest_read_chunks(struct hp_yaml_reader *r, void *into)
{
	return read_list(r, into, add_chunk);
}

int hp_manifest_read_files(struct hp_yaml_reader *r, void *into)
{
	return read_list(r, into, add_side_file);
}
