/* SPDX-License-Identifier: Apache-2.0 */
/* How hpdsl-pack ends when something is in its way. */
#include "pack.h"

int pack_tell(const struct hpdsl_error *err)
{
	int status = cmd_tell(err);

	return status == CMD_NO ? CMD_TROUBLE : status;
}
