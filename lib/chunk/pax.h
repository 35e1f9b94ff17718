/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data of a pax header: records "LENGTH KEY=VALUE\n" for what ustar cannot
 * hold.  Ours are hdrcharset, path, size, in this order, where needed.
 */
#ifndef HP_PAX_H
#define HP_PAX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hp_pax {
	const char *path; /* NULL: no such record */
	size_t path_len;
	bool has_size;
	uint64_t size;
};

/* Bytes of the records; 0 if there are none.  At most HP_PAX_MAX. */
#define HP_PAX_MAX 4608
size_t hp_pax_size(const struct hp_pax *pax);

/* Writes hp_pax_size bytes. */
void hp_pax_write(const struct hp_pax *pax, uint8_t *out);

/*
 * Takes n bytes of records apart; ret->path points into them.  0, or -1 for
 * bytes that are no records.  Not strict: who needs that writes *ret again and
 * compares.
 */
int hp_pax_read(const uint8_t *data, size_t n, struct hp_pax *ret);

/* One record of anybody's. */
struct hp_pax_record {
	const char *key, *value; /* not terminated */
	size_t key_len, value_len;
};

/* The record at s, of at most len bytes: its length, or 0 if it is none. */
size_t hp_pax_record(const char *s, size_t len, struct hp_pax_record *ret);

/* A number as pax records have them: decimal digits. */
bool hp_pax_number(const char *s, size_t len, uint64_t *ret);

#endif
