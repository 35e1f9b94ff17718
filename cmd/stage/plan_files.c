/* SPDX-License-Identifier: Apache-2.0 */
/* Small files that a plan depends on: a loader's state, an earlier report. */
#include "stage/plan.h"
#include "stage/stage.h"

#include <errno.h>
#include <string.h>

enum { FILE_MAX = 1 << 30 };

static int fail(struct hpdsl_error *err, const char *file, int code,
		const char *why)
{
	err->code = code;
	snprintf(err->msg, sizeof(err->msg), "%s: %s", file, why);
	return code;
}

/* The whole file, which the caller frees. */
static int read_file(const char *file, char **ret, size_t *ret_size,
		     struct hpdsl_error *err)
{
	cmd_auto_free char *text = NULL;
	size_t size = 0, room = 0, n;
	FILE *f = fopen(file, "re");
	int trouble;

	if (!f)
		return fail(err, file, -errno, strerror(errno));
	do {
		if (size == room) {
			room = room ? 2 * room : 4096;
			text = realloc(text, room);
			if (!text)
				cmd_no_memory();
		}
		n = fread(text + size, 1, room - size, f);
		size += n;
	} while (n && size < FILE_MAX);
	trouble = ferror(f) ? errno : size >= FILE_MAX ? EFBIG : 0;
	fclose(f);
	if (trouble)
		return fail(err, file, -trouble, strerror(trouble));
	*ret = text;
	*ret_size = size;
	text = NULL;
	return 0;
}

int plan_order(const char *file, const uint8_t pack[16],
	       const struct hpdsl_dataset *ds, uint32_t *ret,
	       struct hpdsl_error *err)
{
	cmd_auto_free char *text = NULL;
	struct hpdsl_order order = { 0 };
	size_t size;
	int r;

	if (file) {
		r = read_file(file, &text, &size, err);
		if (r == 0)
			r = stage_order(text, size, file, pack, &order, err);
		if (r < 0)
			return r;
	}
	return hpdsl_order_first_use(ds, &order, ret, err);
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
	r = read_file(file, &text, &size, err);
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
