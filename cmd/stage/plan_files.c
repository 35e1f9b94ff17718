/* SPDX-License-Identifier: Apache-2.0 */
/* The rates that a plan goes by: those of an earlier report. */
#include "plan.h"

int plan_rates(const char *file, struct hpdsl_stage_rates *rates,
	       struct hpdsl_error *err)
{
	cmd_auto_free char *text = NULL;
	struct hpdsl_stage_rates known;
	size_t size;
	int r;

	if (!file)
		return 0;
	r = cmd_file_read(file, &text, &size, err);
	if (r == 0)
		r = hpdsl_stage_rates_parse(text, size, file, &known, err);
	if (r < 0)
		return r;
	if (rates->origin <= 0)
		rates->origin = known.origin;
	if (rates->link <= 0)
		rates->link = known.link;
	if (rates->write <= 0)
		rates->write = known.write;
	return 0;
}
