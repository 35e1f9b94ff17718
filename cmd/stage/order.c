/* SPDX-License-Identifier: Apache-2.0 */
/* The order that a loader's state tells, if it is of this pack. */
#include "stage.h"

#include <string.h>

int stage_order(const char *text, size_t size, const char *file,
		const uint8_t pack[16], struct hpdsl_order *ret,
		struct hpdsl_error *err)
{
	static const uint8_t unknown[16];
	struct hpdsl_state s;
	int r = hpdsl_state_parse(text, size, file, &s, err);

	if (r < 0)
		return r;
	if (memcmp(s.pack, unknown, sizeof(unknown)) != 0 &&
	    memcmp(s.pack, pack, sizeof(s.pack)) != 0) {
		err->code = HPDSL_EDIFFERS;
		snprintf(err->msg, sizeof(err->msg),
			 "%.900s: the state is of another pack", file);
		return HPDSL_EDIFFERS;
	}
	*ret = s.order;
	return 0;
}
