/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed values from libyaml's events, for texts that may have been made on
 * purpose: no aliases, bounded depth, numbers in range, no key twice.
 *
 * A function that reads a value finds the value's first event in r->ev and
 * leaves its last one there.  It returns 0 or a negative code, the error set:
 * HPDSL_ECORRUPT with file and line, -ENOMEM.
 */
#ifndef HP_YAML_READER_H
#define HP_YAML_READER_H

#include "base/arena.h"
#include "hpdsl/core.h"

#include <yaml.h>

struct hp_yaml_reader {
	yaml_parser_t yaml;
	yaml_event_t ev;  /* the one being looked at */
	const char *name; /* of the file, for messages */
	struct hp_arena *strings;
	struct hp_yaml_map *map; /* NULL: nobody asks for unknown keys */
	char *odd; /* gets the first thing that a checking reader refuses, of
		      HP_YAML_ODD bytes; or NULL */
	struct hpdsl_error *err;
};

/* "name: line 7: reason" */
int hp_yaml_bad(struct hp_yaml_reader *r, const char *reason);
/* "line 7: reason" to r->odd, unless it has another one. */
#define HP_YAML_ODD 96
void hp_yaml_odd(struct hp_yaml_reader *r, const char *reason);
/* On to the next event; an alias is refused. */
int hp_yaml_next(struct hp_yaml_reader *r);
/* Passes over a value of any kind. */
int hp_yaml_skip(struct hp_yaml_reader *r);

/* const char *: text without NUL bytes, kept in r->strings. */
int hp_yaml_text(struct hp_yaml_reader *r, void *into);
/* uint64_t: decimal digits without leading zeros, below 2^64. */
int hp_yaml_number(struct hp_yaml_reader *r, void *into);
/* uint8_t[16]: 32 hex digits. */
int hp_yaml_digest(struct hp_yaml_reader *r, void *into);
/* uint8_t[32]: 64 hex digits. */
int hp_yaml_sha256(struct hp_yaml_reader *r, void *into);
/* double: digits, maybe with a point and more digits; not below 0. */
int hp_yaml_real(struct hp_yaml_reader *r, void *into);
/* bool: true or false. */
int hp_yaml_flag(struct hp_yaml_reader *r, void *into);

/* One key of a mapping, whose value read puts offset bytes into a struct. */
struct hp_yaml_field {
	const char *key;
	int (*read)(struct hp_yaml_reader *r, void *into);
	size_t offset;
	bool required;
};

/*
 * Fills *base from a mapping with at most 32 fields; bit i of *ret_seen: field
 * i was there.  Keys that are no fields are passed over, and in any order, but
 * for r->odd.
 */
int hp_yaml_fields(struct hp_yaml_reader *r, const struct hp_yaml_field *f,
		   size_t n, void *base, uint32_t *ret_seen);

/* The same, of all that there is: one document, which is that mapping. */
int hp_yaml_document(struct hp_yaml_reader *r, const struct hp_yaml_field *f,
		     size_t n, void *base, uint32_t *ret_seen);

/* The same, of a text; no field is a text. */
struct hp_yaml_map {
	const char *name; /* for messages */
	const struct hp_yaml_field *field;
	size_t n;
	/* Found: bit i: field i; the first key that is no field, as far as
	 * there is room and it can be printed, and its line, or 0. */
	uint32_t seen;
	size_t line;
	char unknown[48];
};
/* As hp_yaml_fields. */
int hp_yaml_map(struct hp_yaml_map *m, const char *text, size_t size,
		void *base, struct hpdsl_error *err);

/* Makes room in *v, which holds n objects of size bytes, for one more. */
int hp_yaml_grow(struct hp_yaml_reader *r, void **v, size_t n, size_t size);

#endif
