/* SPDX-License-Identifier: Apache-2.0 */
/* This boot and this process: what a state file is held against. */
#include "sys/boot.h"

#include "base/hash.h"
#include "sys/kernel_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "4f1c...-....": 32 digits, and dashes anywhere. */
static bool parse_id(const char *text, uint8_t ret[16])
{
	char digits[33];
	size_t n = 0;

	for (; *text && *text != '\n'; text++) {
		if (*text == '-')
			continue;
		if (n == 32)
			return false;
		digits[n++] = *text;
	}
	return hp_unhex(digits, n, ret, 16) == 0;
}

int hp_boot_id(const struct hp_io *io, uint8_t ret[16])
{
	char text[64];
	ssize_t n = hp_kernel_file(io, "/proc/sys/kernel/random/boot_id", text,
				   sizeof text);

	memset(ret, 0, 16);
	if (n < 0)
		return (int)n;
	return parse_id(text, ret) ? 0 : -EINVAL;
}

/* Field 22 of /proc/self/stat; the second may hold blanks and brackets. */
uint64_t hp_parse_start(const char *stat)
{
	const char *p = strrchr(stat, ')');

	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p ? strtoull(p, NULL, 10) : 0;
}

uint64_t hp_pid_start(const struct hp_io *io)
{
	char text[1024];

	return hp_kernel_file(io, "/proc/self/stat", text, sizeof text) < 0 ?
		       0 :
		       hp_parse_start(text);
}
