/* SPDX-License-Identifier: Apache-2.0 */
/* The library's version, as a function: that of the library at run time. */
#include "hpdsl.h"

const char *hpdsl_version(void)
{
	return HPDSL_VERSION;
}
