/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of options: for argp, and what their rows set. */
#include "option_table.h"

#include <string.h>

/* ---- Kinds ------------------------------------------------------------ */

int cmd_take_flag(const struct cmd_option *o, void *to, const char *arg,
		  struct cmd_why *why)
{
	(void)o;
	(void)arg;
	(void)why;
	*(bool *)to = true;
	return 0;
}

int cmd_take_string(const struct cmd_option *o, void *to, const char *arg,
		    struct cmd_why *why)
{
	(void)o;
	(void)why;
	*(const char **)to = arg;
	return 0;
}

int cmd_take_strings(const struct cmd_option *o, void *to, const char *arg,
		     struct cmd_why *why)
{
	(void)o;
	(void)why;
	cmd_strings_add(to, arg);
	return 0;
}

int cmd_take_count(const struct cmd_option *o, void *to, const char *arg,
		   struct cmd_why *why)
{
	return cmd_value_count(o->name, arg, o->least, to, why);
}

int cmd_take_number(const struct cmd_option *o, void *to, const char *arg,
		    struct cmd_why *why)
{
	uint64_t n;

	if (cmd_parse_count(arg, &n) < 0 || n < o->least || n > o->most)
		return cmd_refuse(why,
				  "%s: '%s' is no number from %llu to %llu",
				  o->name, arg, (unsigned long long)o->least,
				  (unsigned long long)o->most);
	*(uint32_t *)to = (uint32_t)n;
	return 0;
}

int cmd_take_size(const struct cmd_option *o, void *to, const char *arg,
		  struct cmd_why *why)
{
	uint64_t n;

	if (cmd_parse_size(arg, &n) < 0)
		return cmd_refuse(why, "%s: '%s' is no size such as 64M",
				  o->name, arg);
	if (n < o->least)
		return cmd_refuse(why, "%s: at least %s", o->name,
				  cmd_bytes(o->least).s);
	*(uint64_t *)to = n;
	return 0;
}

int cmd_take_threads(const struct cmd_option *o, void *to, const char *arg,
		     struct cmd_why *why)
{
	uint64_t n;

	if (cmd_parse_count(arg, &n) < 0 || n > HPDSL_THREADS_MOST)
		return cmd_refuse(why, "%s: '%s' is no number from 0 to %d",
				  o->name, arg, HPDSL_THREADS_MOST);
	*(uint32_t *)to = n ? (uint32_t)n : HPDSL_SERIAL;
	return 0;
}

int cmd_take_memory(const struct cmd_option *o, void *to, const char *arg,
		    struct cmd_why *why)
{
	uint64_t n;

	if (cmd_parse_size(arg, &n) < 0 || n < HPDSL_LOADER_MEMORY_LEAST)
		return cmd_refuse(why, "%s: '%s' is no size from 16M", o->name,
				  arg);
	*(uint64_t *)to = n;
	return 0;
}

int cmd_take_deadline(const struct cmd_option *o, void *to, const char *arg,
		      struct cmd_why *why)
{
	(void)o;
	return cmd_value_deadline(arg, to, why);
}

int cmd_take_word(const struct cmd_option *o, void *to, const char *arg,
		  struct cmd_why *why)
{
	const char *word = o->words;

	for (unsigned i = 0; *word; i++) {
		size_t n = strcspn(word, " ");

		if (strncmp(word, arg, n) == 0 && !arg[n]) {
			*(unsigned *)to = i;
			return 0;
		}
		word += n + (word[n] == ' ');
	}
	return cmd_refuse(why, "%s: '%s' is %s", o->name, arg, o->wrong);
}

/* ---- Tables ----------------------------------------------------------- */

static int key_of(const struct cmd_option *rows, size_t i)
{
	if (!rows[i].name)
		return 0;
	return rows[i].letter ? rows[i].letter : CMD_OPT_OWN + (int)i;
}

void cmd_options_show(const struct cmd_option *rows, struct argp_option *ret)
{
	int group = 1;

	for (size_t i = 0; rows[i].text; i++) {
		const struct cmd_option *o = &rows[i];

		if (!o->name)
			group = o->group;
		ret[i] = (struct argp_option){
			o->name,  key_of(rows, i), o->arg,
			o->flags, o->text,	   o->group ? o->group : group
		};
	}
}

const struct cmd_option *cmd_options_find(const struct cmd_option *rows,
					  int key)
{
	for (size_t i = 0; rows[i].text; i++)
		if (rows[i].name && key_of(rows, i) == key)
			return &rows[i];
	return NULL;
}

uint64_t cmd_options_bit(const struct cmd_option *rows,
			 const struct cmd_option *o)
{
	while (o->instead)
		o--;
	return UINT64_C(1) << (o - rows);
}

int cmd_options_set(const struct cmd_option *rows, int key, void *input,
		    const char *arg, struct cmd_why *why)
{
	const struct cmd_option *o = cmd_options_find(rows, key);

	if (!o)
		return ARGP_ERR_UNKNOWN;
	return o->take(o, (char *)input + o->place, arg, why);
}

error_t cmd_options_parse(const struct cmd_option *rows, int key,
			  const char *arg, struct argp_state *state)
{
	struct cmd_why why;
	int ret = cmd_options_set(rows, key, state->input, arg, &why);

	if (ret < 0)
		argp_error(state, "--%s", why.text);
	return ret;
}

void cmd_parse(const struct cmd_option *rows, const struct argp *argp, int argc,
	       char **argv, unsigned flags, void *input)
{
	struct argp with = *argp;
	struct argp_option *shown;
	size_t n = 1;

	while (rows[n - 1].text)
		n++;
	with.options = shown = cmd_alloc(n, sizeof(*shown));
	cmd_options_show(rows, shown);
	if (n == 1) /* of an empty list argp would lose a few bytes */
		with.options = NULL;
	argp_parse(&with, argc, argv, flags, NULL, input);
	free(shown);
}
