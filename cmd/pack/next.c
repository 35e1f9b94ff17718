/* SPDX-License-Identifier: Apache-2.0 */
/* What to type next, once a pack is complete: for a person at a terminal. */
#include "pack.h"

#include <string.h>

/* As one word of a shell, which is no option either. */
static char *for_shell(const char *name)
{
	cmd_auto_free char *safe = NULL;

	if (asprintf(&safe, "%s%s", *name == '-' ? "./" : "", name) < 0)
		cmd_no_memory();
	return cmd_quoted(safe);
}

void pack_tell_next(const struct pack *p)
{
	const char *output = p->opt.output;
	cmd_auto_free char *at = for_shell(output);
	cmd_auto_free char *string = cmd_python_string(output);
	unsigned tars = p->readers & PACK_OF_TAR;

	/* which a terminal would not show as they are */
	if (p->opt.dry_run || p->common.quiet || p->common.json ||
	    !cmd_on_terminal() || !string)
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
