/* SPDX-License-Identifier: Apache-2.0 */
/* The raw records that listing a folder gives, checked one by one. */
#include "dents.h"

#include <dirent.h>
#include <stdint.h>
#include <string.h>

/* Fields of a raw record. */
enum {
	AT_LENGTH = offsetof(struct dirent64, d_reclen),
	AT_TYPE = offsetof(struct dirent64, d_type),
	AT_NAME = offsetof(struct dirent64, d_name),
};

size_t hp_dent_take(const char *p, size_t n, struct hp_dent *ret)
{
	struct hp_dent d = { .name = p + AT_NAME };
	uint16_t len;

	if (n <= AT_NAME)
		return 0;
	memcpy(&len, p + AT_LENGTH, sizeof len);
	if (len <= AT_NAME || len > n)
		return 0;
	d.len = strnlen(d.name, (size_t)len - AT_NAME);
	if (!d.len || d.len == (size_t)len - AT_NAME)
		return 0;
	d.type = (unsigned char)p[AT_TYPE];
	d.is_dots = d.name[0] == '.' &&
		    (d.len == 1 || (d.len == 2 && d.name[1] == '.'));
	*ret = d;
	return len;
}
