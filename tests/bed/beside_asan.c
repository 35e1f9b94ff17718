/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For hpdsl-stage with the address sanitizer.  MPI keeps some memory to the
 * end, which tests/lsan.supp tells from ours by the modules in the stack of
 * each block.  Two things make that work:
 *
 * What MPI has loaded stays so: for an address in a plug-in that is gone the
 * sanitizer reads all of /proc/self/maps again, hundreds of times at the end
 * of each rank.
 *
 * What prints into new memory is here, with a frame pointer, so that the next
 * frame is the caller's.  The C library has none, and stacks by other means
 * take five times the time of a whole rank.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int __vasprintf_chk(char **text, int flag, const char *format, va_list list);
int __asprintf_chk(char **text, int flag, const char *format, ...);

int dlclose(void *handle)
{
	(void)handle;
	return 0;
}

int vasprintf(char **text, const char *format, va_list list)
{
	va_list again;
	va_copy(again, list);
	int length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (length < 0)
		return -1;
	*text = malloc((size_t)length + 1);
	return *text != NULL ?
		       vsnprintf(*text, (size_t)length + 1, format, list) :
		       -1;
}

int asprintf(char **text, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	int length = vasprintf(text, format, list);
	va_end(list);
	return length;
}

int __vasprintf_chk(char **text, int flag, const char *format, va_list list)
{
	(void)flag;
	return vasprintf(text, format, list);
}

int __asprintf_chk(char **text, int flag, const char *format, ...)
{
	(void)flag;
	va_list list;
	va_start(list, format);
	int length = vasprintf(text, format, list);
	va_end(list);
	return length;
}
