/* SPDX-License-Identifier: Apache-2.0 */
/* What to type next, once a pack is complete: for a person at a terminal. */
#include "pack.h"

void pack_tell_next(const struct pack *p)
{
	const char *output = p->opt.output;
	cmd_auto_free char *at = cmd_quoted_path(output);
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
