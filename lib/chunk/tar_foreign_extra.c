/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data of extended headers in foreign tars: records of pax, and GNU's long
 * names.
 */
#include "chunk/tar_foreign.h"

#include "base/error.h"
#include "chunk/pax.h"

#include <string.h>

static int corrupt(struct hpdsl_error *err, const char *why)
{
	return hp_fail(err, HPDSL_ECORRUPT, "%s", why);
}

/* "[-]SECONDS[.FRACTION]"; parts of a nanosecond are cut off. */
static bool get_time(const char *s, size_t n, int64_t *ret, uint32_t *ret_nsec)
{
	bool negative = n && *s == '-';
	size_t i = negative, digits = 0;
	uint32_t nsec = 0;
	int64_t v = 0;

	for (; i < n && s[i] >= '0' && s[i] <= '9'; i++, digits++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, s[i] - '0', &v))
			return false;
	if (!digits || (i < n && s[i] != '.'))
		return false;
	digits = 0;
	for (i++; i < n && s[i] >= '0' && s[i] <= '9'; i++)
		if (digits++ < 9)
			nsec = nsec * 10 + (uint32_t)(s[i] - '0');
	if (i < n)
		return false;
	for (; digits < 9; digits++)
		nsec *= 10;
	*ret = negative ? -v - (nsec > 0) : v;
	*ret_nsec = negative && nsec ? 1000000000 - nsec : nsec;
	return true;
}

static bool has_prefix(const struct hp_pax_record *r, const char *prefix)
{
	size_t n = strlen(prefix);

	return r->key_len >= n && memcmp(r->key, prefix, n) == 0;
}

static bool is_key(const struct hp_pax_record *r, const char *key)
{
	return r->key_len == strlen(key) && has_prefix(r, key);
}

static int take_path(struct hp_foreign_facts *f, const struct hp_pax_record *r,
		     struct hpdsl_error *err)
{
	if (r->value_len > HP_FOREIGN_NAME)
		return corrupt(err, "a name is too long");
	/* To some readers it ends there, to others not. */
	if (memchr(r->value, '\0', r->value_len))
		return corrupt(err, "a name holds a NUL byte");
	memcpy(f->path, r->value, r->value_len);
	f->path_len = r->value_len;
	return 0;
}

/*
 * Forms 0.0, 0.1 and 1.0 of GNU's sparse files; a size alone, GNU's or star's,
 * does not say where the bytes belong.
 */
static void take_sparse(struct hp_foreign_facts *f,
			const struct hp_pax_record *r)
{
	f->holes |= is_key(r, "SUN.holesdata");
	f->sparse |= f->holes || has_prefix(r, "GNU.sparse.") ||
		     is_key(r, "SCHILY.realsize");
	if (r->value_len)
		f->map |= is_key(r, "GNU.sparse.offset") ||
			  is_key(r, "GNU.sparse.map") ||
			  is_key(r, "GNU.sparse.major");
}

/* A record without a value takes back what was said before. */
static int take_record(struct hp_foreign_facts *f,
		       const struct hp_pax_record *r, struct hpdsl_error *err)
{
	take_sparse(f, r);
	/* That of a sparse file is for the message that refuses it. */
	if (is_key(r, "path") || is_key(r, "GNU.sparse.name"))
		return take_path(f, r, err);
	if (is_key(r, "size")) {
		f->has_size = r->value_len;
		if (f->has_size &&
		    !hp_pax_number(r->value, r->value_len, &f->size))
			return corrupt(err, "a pax size is no number");
	} else if (is_key(r, "mtime")) {
		f->has_mtime =
			get_time(r->value, r->value_len, &f->mtime, &f->nsec);
	}
	return 0;
}

static int take_records(struct hp_foreign_facts *f, const uint8_t *data,
			size_t n, struct hpdsl_error *err)
{
	struct hp_pax_record record;

	while (n) {
		size_t step = hp_pax_record((const char *)data, n, &record);
		int r;

		if (!step)
			return corrupt(err, "damaged pax header");
		r = take_record(f, &record, err);
		if (r < 0)
			return r;
		data += step;
		n -= step;
	}
	return 0;
}

static int take_long_name(struct hp_foreign *t, const uint8_t *data, size_t n,
			  struct hpdsl_error *err)
{
	n = strnlen((const char *)data, n);
	if (n > HP_FOREIGN_NAME)
		return corrupt(err, "a name is too long");
	if (!n)
		return corrupt(err, "a long name is empty");
	memcpy(t->name, data, n);
	t->long_len = n;
	return 0;
}

int hp_foreign_extra(struct hp_foreign *t, const uint8_t *data, size_t n,
		     struct hpdsl_error *err)
{
	int r = 0;

	switch (t->extra) {
	case 'L':
		r = take_long_name(t, data, n, err);
		break;
	case 'x':
	case 'X': /* of Solaris */
		r = take_records(&t->local, data, n, err);
		break;
	case 'g':
		r = take_records(&t->global, data, n, err);
		/* Some readers go by it to find the next header, some not. */
		if (r == 0 && t->global.has_size)
			r = corrupt(err, "a size for all members");
		break;
	}
	t->extra = '\0';
	return r;
}
