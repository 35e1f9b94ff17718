/* SPDX-License-Identifier: Apache-2.0 */
/* What to type next, once a pack is complete: for a person at a terminal. */
#include "pack.h"

#include <string.h>

static bool has_control(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return true;
	return false;
}

static void put_escaped(FILE *out, const char *s, const char *from,
			const char *to)
{
	for (; *s; s++)
		if (strchr(from, *s))
			fprintf(out, "%s%c", to, *s);
		else
			fputc(*s, out);
}

/* As one word of a shell, which is no option either. */
static char *for_shell(const char *name)
{
	cmd_auto_free char *safe = NULL;

	if (asprintf(&safe, "%s%s", *name == '-' ? "./" : "", name) < 0)
		cmd_no_memory();
	return cmd_quoted(safe);
}

/* As a string of Python's. */
static char *for_python(const char *name)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		cmd_no_memory();
	fputc('"', out);
	put_escaped(out, name, "\"\\", "\\");
	fputc('"', out);
	if (fclose(out) != 0)
		cmd_no_memory();
	return text;
}

void pack_tell_next(const struct pack *p)
{
	const char *output = p->opt.output;
	cmd_auto_free char *at = for_shell(output);
	cmd_auto_free char *string = for_python(output);
	unsigned tars = p->readers & PACK_OF_TAR;

	/* which a terminal would not show as they are */
	if (p->opt.dry_run || p->common.quiet || p->common.json ||
	    !cmd_on_terminal() || has_control(output))
		return;
	cmd_message("next: hpdsl-verify %s", at);
	if (tars)
		cmd_message("next: hpdsl-verify --compat=%s %s",
			    pack_readers(tars).s, at);
	cmd_message("in a job: srun --ntasks-per-node=1 hpdsl-stage %s auto",
		    at);
	cmd_message("in Python: hpdsl.%sLoader(hpdsl.Dataset(%s), "
		    "batch_size=64)",
		    p->readers & PACK_TORCH ? "torch." : "", string);
}
