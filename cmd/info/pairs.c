/* SPDX-License-Identifier: Apache-2.0 */
/* Options and notes of a pack. */
#include "info.h"

#include <string.h>

static void put_json(struct cmd_json *j, const char *field,
		     const struct hpdsl_pairs *p)
{
	cmd_json_open(j, field, '[');
	for (size_t k = 0; k < p->n; k++) {
		const struct hpdsl_pair *pair = &p->v[k];

		cmd_json_open(j, NULL, '{');
		cmd_json_name(j, "key", pair->key, strlen(pair->key));
		cmd_json_name(j, "value", pair->value, strlen(pair->value));
		cmd_json_close(j, '}');
	}
	cmd_json_close(j, ']');
}

void info_pairs(struct info *i, const char *label, const char *field,
		const struct hpdsl_pairs *p)
{
	cmd_auto_free char *text = NULL;
	size_t size;
	FILE *out;

	if (info_json(i)) {
		put_json(info_json(i), field, p);
		return;
	}
	if (!p->n)
		return;
	out = open_memstream(&text, &size);
	if (!out)
		cmd_no_memory();
	for (size_t k = 0; k < p->n; k++)
		fprintf(out, "%s%s=%s", k ? " " : "", p->v[k].key,
			p->v[k].value);
	if (fclose(out) != 0)
		cmd_no_memory();
	info_row(i, label, "%s", text);
}
