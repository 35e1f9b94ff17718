/* SPDX-License-Identifier: Apache-2.0 */
/* What hpdsl-pack says of names that other readers trip over. */
#include "pack.h"

#include <string.h>

#define LLU unsigned long long

enum { RISKS_TOLD = 10 };

/* "webdataset, dali"; "all readers". */
static void readers_text(unsigned readers, char out[80])
{
	size_t n = 0;

	if (readers == HPDSL_READERS_ALL) {
		strcpy(out, "all readers");
		return;
	}
	out[0] = '\0';
	for (unsigned bit = 1; bit <= HPDSL_READER_RAY; bit *= 2)
		if (readers & bit)
			n += (size_t)snprintf(out + n, 80 - n, "%s%s",
					      n ? ", " : "",
					      hpdsl_reader_name(bit));
}

/* Lines about names; line() prints each. */
static void names_lines(const struct pack *p, const struct hpdsl_pack_report *r,
			void (*line)(size_t number, const char *text))
{
	char text[512], readers[80];
	size_t n = r->n_risks < RISKS_TOLD ? r->n_risks : RISKS_TOLD;

	if (p->opt.names == HPDSL_NAMES_PORTABLE) {
		snprintf(text, sizeof(text), "portable; %llu of %llu changed",
			 (LLU)r->names_changed, (LLU)r->members);
		line(0, text);
		return;
	}
	if (!n)
		return;
	snprintf(text, sizeof(text),
		 "%llu of %llu would trip other readers; "
		 "--names=portable avoids that",
		 (LLU)r->risky_names, (LLU)r->members);
	line(0, text);
	for (size_t i = 0; i < n; i++) {
		const struct hpdsl_name_risk *k = &r->risks[i];

		readers_text(k->readers, readers);
		snprintf(text, sizeof(text), "%llu: %s (%s), as '%s'",
			 (LLU)k->names, k->reason, readers, k->first);
		line(i + 1, text);
	}
	if (n == r->n_risks)
		return;
	snprintf(text, sizeof(text), "and %llu more reasons: see --json",
		 (LLU)(r->n_risks - n));
	line(n + 1, text);
}

static void plan_line(size_t number, const char *text)
{
	cmd_print("%-10s%s%s\n", number ? "" : "names:", number ? "  " : "",
		  text);
}

static void message_line(size_t number, const char *text)
{
	cmd_message("%s%s", number ? "  " : "names: ", text);
}

void pack_print_names(const struct pack *p, const struct hpdsl_pack_report *r)
{
	names_lines(p, r, plan_line);
}

void pack_tell_names(const struct pack *p, const struct hpdsl_pack_report *r)
{
	cmd_progress_end();
	names_lines(p, r, message_line);
}

void pack_json_names(struct cmd_json *j, const struct hpdsl_pack_report *r)
{
	cmd_json_u64(j, "names_changed", r->names_changed);
	cmd_json_u64(j, "risky_names", r->risky_names);
	cmd_json_open(j, "name_risks", '[');
	for (size_t i = 0; i < r->n_risks; i++) {
		const struct hpdsl_name_risk *k = &r->risks[i];

		cmd_json_open(j, NULL, '{');
		cmd_json_string(j, "reason", k->reason);
		cmd_json_u64(j, "names", k->names);
		cmd_json_name(j, "first", k->first, strlen(k->first));
		cmd_json_open(j, "readers", '[');
		for (unsigned bit = 1; bit <= HPDSL_READER_RAY; bit *= 2)
			if (k->readers & bit)
				cmd_json_string(j, NULL,
						hpdsl_reader_name(bit));
		cmd_json_close(j, ']');
		cmd_json_close(j, '}');
	}
	cmd_json_close(j, ']');
}
