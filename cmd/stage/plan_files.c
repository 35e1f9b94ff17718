/* SPDX-License-Identifier: Apache-2.0 */
/* Small files that a plan depends on: a loader's state, an earlier report. */
#include "plan.h"
#include "stage.h"

#include <errno.h>
#include <string.h>

int plan_order(const char *file, const uint8_t pack[16],
	       const struct hpdsl_dataset *ds, struct hpdsl_order *ret,
	       uint32_t *ret_chunks, struct hpdsl_error *err)
{
	cmd_auto_free char *text = NULL;
	struct hpdsl_order order = { 0 };
	size_t size;
	int r;

	if (file) {
		r = cmd_file_read(file, &text, &size, err);
		if (r == 0)
			r = stage_order(text, size, file, pack, &order, err);
		if (r < 0)
			return r;
	}
	r = hpdsl_order_first_use(ds, &order, ret_chunks, err);
	if (r == 0)
		*ret = order;
	return r;
}

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
