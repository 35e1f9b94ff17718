/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation for commands: without memory there is one thing left to do. */
#include "common.h"

void cmd_no_memory(void)
{
	cmd_message("out of memory");
	exit(CMD_TROUBLE);
}

static void *checked(void *p)
{
	if (!p)
		cmd_no_memory();
	return p;
}

void *cmd_alloc(size_t n, size_t size)
{
	return checked(calloc(n ? n : 1, size));
}

void *cmd_grow(void *array, size_t n, size_t size)
{
	size_t cap = n ? n * 2 : 8;

	/* full only at the powers of two from 8 on */
	if (n && (n < 8 || n & (n - 1)))
		return array;
	return checked(reallocarray(array, cap, size));
}

void cmd_strings_add(struct cmd_strings *s, const char *string)
{
	s->v = cmd_grow(s->v, s->n, sizeof(*s->v));
	s->v[s->n++] = string;
}
