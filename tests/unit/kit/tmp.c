/* SPDX-License-Identifier: Apache-2.0 */
#include "tmp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tests put more behind it into what they have room for. */
static void pattern(char *ret, size_t size, const char *what)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(ret, size, "%s/hpdsl-%s-XXXXXX",
		 tmp && tmp[0] && strlen(tmp) < 40 ? tmp : "/tmp", what);
}

char *tmp_folder(char *ret, size_t size, const char *what)
{
	pattern(ret, size, what);
	return mkdtemp(ret);
}

int tmp_file(char *ret, size_t size, const char *what)
{
	pattern(ret, size, what);
	return mkstemp(ret);
}
