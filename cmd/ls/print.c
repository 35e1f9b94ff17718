/* SPDX-License-Identifier: Apache-2.0 */
/* The lines that hpdsl-ls prints: short, long and JSON. */
#include "ls.h"

#include <errno.h>
#include <string.h>

/* Name of the class, NULL for none. */
static int class_of(struct ls *l, uint32_t label, const char **ret)
{
	*ret = NULL;
	if (label == HPDSL_NO_LABEL)
		return 0;
	return hpdsl_class_name(l->ds, label, ret, &l->err);
}

static int sample_bytes(struct ls *l, const struct hpdsl_sample *s,
			uint64_t *ret)
{
	struct hpdsl_member m;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < s->members; i++) {
		if (hpdsl_member_get(l->ds, s->first_member + i, &m, &l->err) <
		    0)
			return l->err.code;
		sum += m.size;
	}
	*ret = sum;
	return 0;
}

static void print_label(struct ls *l, const char *class)
{
	cmd_auto_free char *text =
		class ? cmd_escape(class, strlen(class)) : NULL;

	cmd_print("%-*s ", l->label_width, text ? text : "-");
}

static void json_label(struct cmd_json *j, uint32_t label, const char *class)
{
	if (!class) {
		cmd_json_null(j, "label");
		cmd_json_null(j, "class");
		return;
	}
	cmd_json_u64(j, "label", label);
	cmd_json_name(j, "class", class, strlen(class));
}

/* What a member is called: its path, or its name in the chunk. */
struct name {
	const char *s;
	size_t len;
};

static int stored_name(struct ls *l, const struct hpdsl_member *m,
		       struct name *ret)
{
	return hpdsl_member_stored(l->ds, m, &ret->s, &ret->len, &l->err);
}

/* Adds the SHA-256 that get() gave, if there are any. */
static void json_sha256(struct cmd_json *j, int got, const uint8_t sha256[32])
{
	if (got == 0)
		cmd_json_hex(j, "sha256", sha256, 32);
}

static int json_member(struct ls *l, const struct hpdsl_member *m,
		       const struct name *stored, uint32_t label,
		       const char *class)
{
	uint8_t sha256[32];
	int got = hpdsl_member_sha256(l->ds, m->number, sha256, &l->err);
	struct cmd_json j = { .out = stdout };
	char mode[8], checksum[24];

	if (got < 0 && got != -ENODATA)
		return got;
	snprintf(mode, sizeof(mode), "%04o", m->mode & 07777);
	snprintf(checksum, sizeof(checksum), "%016llx",
		 (unsigned long long)m->checksum);
	cmd_json_open(&j, NULL, '{');
	cmd_json_name(&j, "path", m->path, m->path_len);
	if (l->stored || stored->len != m->path_len ||
	    memcmp(stored->s, m->path, m->path_len) != 0)
		cmd_json_name(&j, "stored", stored->s, stored->len);
	cmd_json_u64(&j, "size", m->size);
	cmd_json_string(&j, "mode", mode);
	cmd_json_i64(&j, "mtime", m->mtime);
	cmd_json_u64(&j, "mtime_nsec", m->mtime_nsec);
	cmd_json_u64(&j, "member", m->number);
	cmd_json_u64(&j, "sample", m->sample);
	cmd_json_u64(&j, "chunk", m->chunk);
	cmd_json_u64(&j, "offset", m->offset);
	cmd_json_string(&j, "xxh3_64", checksum);
	json_sha256(&j, got, sha256);
	if (m->generated)
		cmd_json_bool(&j, "generated", true);
	json_label(&j, label, class);
	cmd_json_line(&j);
	return 0;
}

static void long_member(struct ls *l, const struct hpdsl_member *m,
			const struct name *name, const char *class)
{
	struct cmd_text mode = cmd_mode(m->mode);

	if (m->generated)
		mode.s[0] = 'g';
	cmd_print("%s %*llu %s %6u %11llu %*llu ", mode.s, l->size_width,
		  (unsigned long long)m->size, cmd_time(m->mtime).s, m->chunk,
		  (unsigned long long)m->offset, l->sample_width,
		  (unsigned long long)m->sample);
	print_label(l, class);
	cmd_print_name(name->s, name->len, l->null);
}

int ls_print_member(struct ls *l, const struct hpdsl_member *m)
{
	struct name name = { m->path, m->path_len };
	struct hpdsl_sample s;
	const char *class;

	if ((l->stored || l->json) && stored_name(l, m, &name) < 0)
		return l->err.code;
	if (!l->long_form && !l->json) {
		cmd_print_name(name.s, name.len, l->null);
		return 0;
	}
	if (hpdsl_sample_get(l->ds, m->sample, &s, &l->err) < 0 ||
	    class_of(l, s.label, &class) < 0)
		return l->err.code;
	if (l->json)
		return json_member(l, m, &name, s.label, class);
	long_member(l, m, &name, class);
	return 0;
}

static void json_sample(const struct hpdsl_sample *s, uint64_t bytes,
			const char *class)
{
	struct cmd_json j = { .out = stdout };

	cmd_json_open(&j, NULL, '{');
	cmd_json_u64(&j, "sample", s->number);
	cmd_json_name(&j, "key", s->key, s->key_len);
	cmd_json_u64(&j, "chunk", s->chunk);
	cmd_json_u64(&j, "first_member", s->first_member);
	cmd_json_u64(&j, "members", s->members);
	cmd_json_u64(&j, "bytes", bytes);
	json_label(&j, s->label, class);
	cmd_json_line(&j);
}

int ls_print_sample(struct ls *l, const struct hpdsl_sample *s)
{
	const char *class;
	uint64_t bytes = 0;

	if (!l->long_form && !l->json) {
		cmd_print_name(s->key, s->key_len, l->null);
		return 0;
	}
	if (class_of(l, s->label, &class) < 0 || sample_bytes(l, s, &bytes) < 0)
		return l->err.code;
	if (l->json) {
		json_sample(s, bytes, class);
		return 0;
	}
	cmd_print("%*llu %6u %*llu %3llu %*llu ", l->sample_width,
		  (unsigned long long)s->number, s->chunk, l->sample_width,
		  (unsigned long long)s->first_member,
		  (unsigned long long)s->members, l->size_width,
		  (unsigned long long)bytes);
	print_label(l, class);
	cmd_print_name(s->key, s->key_len, l->null);
	return 0;
}

static int json_chunk(struct ls *l, const struct hpdsl_chunk *c)
{
	uint8_t sha256[32];
	int got = hpdsl_chunk_sha256(l->ds, c->number, sha256, &l->err);
	struct cmd_json j = { .out = stdout };

	if (got < 0 && got != -ENODATA)
		return got;
	cmd_json_open(&j, NULL, '{');
	cmd_json_u64(&j, "chunk", c->number);
	cmd_json_name(&j, "name", c->name, strlen(c->name));
	cmd_json_u64(&j, "first_sample", c->first_sample);
	cmd_json_u64(&j, "samples", c->samples);
	cmd_json_u64(&j, "first_member", c->first_member);
	cmd_json_u64(&j, "members", c->members);
	cmd_json_u64(&j, "bytes", c->bytes);
	cmd_json_hex(&j, "xxh3_128", c->checksum, sizeof(c->checksum));
	json_sha256(&j, got, sha256);
	cmd_json_bool(&j, "compressed", c->compressed);
	cmd_json_u64(&j, "plain_bytes", c->plain_bytes);
	cmd_json_hex(&j, "plain_xxh3_128", c->plain_checksum,
		     sizeof(c->plain_checksum));
	if (c->compressed)
		cmd_json_u64(&j, "frames", c->frames);
	cmd_json_line(&j);
	return 0;
}

int ls_print_chunk(struct ls *l, const struct hpdsl_chunk *c)
{
	if (l->json)
		return json_chunk(l, c);
	if (l->long_form) {
		cmd_print("%*llu %6llu %7llu %11llu ", l->sample_width,
			  (unsigned long long)c->first_sample,
			  (unsigned long long)c->samples,
			  (unsigned long long)c->members,
			  (unsigned long long)c->bytes);
		for (size_t i = 0; i < sizeof(c->checksum); i++)
			cmd_print("%02x", c->checksum[i]);
		cmd_write(" ", 1);
	}
	cmd_print_name(c->name, strlen(c->name), l->null);
	return 0;
}
