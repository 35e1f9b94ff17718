/* SPDX-License-Identifier: Apache-2.0 */
#include "until.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

void until_next(struct until *u)
{
	/* Most of it comes soon. */
	const struct timespec t = { .tv_nsec = u->looks < 10000 ? 50000 :
								  1000000 };

	if (u->looks++ > UNTIL_SECONDS * UINT64_C(1000))
		fail_msg("it has not come");
	nanosleep(&t, NULL);
}
