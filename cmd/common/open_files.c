/* SPDX-License-Identifier: Apache-2.0 */
#include "common.h"

#include <sys/resource.h>

void cmd_allow_open_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}
