/* SPDX-License-Identifier: Apache-2.0 */
/* What measures loaders of others, in the environment of the job. */
#include "stall.h"

#include <glob.h>
#include <string.h>

/* Of Python's package, seen from the programs: in the source tree, and of its
 * builds for sanitizers, and as it is installed. */
static const char *const places[] = { "../lib/python", "../../lib/python",
				      "../lib*/python3*/*-packages",
				      "../local/lib*/python3*/*-packages" };

#define HOOK "hpdsl/_hook/sitecustomize.py"

/* The folder, to be freed; NULL: there is none. */
static char *find_hook(const char *folder)
{
	char *found = NULL;

	for (size_t i = 0; !found && i < sizeof(places) / sizeof(*places);
	     i++) {
		cmd_auto_free char *pattern = NULL;
		glob_t g;

		if (asprintf(&pattern, "%s/%s/" HOOK, folder, places[i]) < 0)
			cmd_no_memory();
		if (glob(pattern, 0, NULL, &g) == 0) {
			found = realpath(g.gl_pathv[0], NULL);
			globfree(&g);
		}
	}
	if (found)
		*strrchr(found, '/') = '\0';
	return found;
}

static void put_in_front(const char *name, const char *what)
{
	const char *was = getenv(name);
	cmd_auto_free char *all = NULL;

	if (asprintf(&all, "%s%s%s", what, was && *was ? ":" : "",
		     was ? was : "") < 0 ||
	    setenv(name, all, 1) < 0)
		cmd_no_memory();
}

int stall_hook(void)
{
	char folder[4096];
	cmd_auto_free char *hook = NULL;

	if (cmd_program_folder(folder, sizeof(folder)) != CMD_DONE)
		return CMD_TROUBLE;
	hook = find_hook(folder);
	if (hook)
		put_in_front("PYTHONPATH", hook);
	else
		cmd_message("HPDSL's Python package is not installed with "
			    "this program: only HPDSL's own loaders are "
			    "measured");
	cmd_preload("count.so"); /* told; then opens are not counted */
	return cmd_preload("guard.so");
}
