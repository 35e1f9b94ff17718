/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries of ours that COMMAND is to have in front of its own: found from
 * where this program lies, so that all may be moved together.
 */
#include "common.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Beside the programs as they are built, as they are installed. */
static const char *const places[] = { "preload", "../libexec/hpdsl" };

int cmd_program_folder(char *ret, size_t room)
{
	ssize_t n = readlink("/proc/self/exe", ret, room);

	if (n < 0 || (size_t)n == room) {
		cmd_message("/proc/self/exe: %s",
			    strerror(n < 0 ? errno : ENAMETOOLONG));
		return CMD_TROUBLE;
	}
	ret[n] = '\0';
	*strrchr(ret, '/') = '\0';
	return CMD_DONE;
}

/* To be freed; NULL: told. */
static char *find(const char *name)
{
	char folder[4096], *real;

	if (cmd_program_folder(folder, sizeof(folder)) != CMD_DONE)
		return NULL;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		cmd_auto_free char *file = NULL;

		if (asprintf(&file, "%s/%s/%s", folder, places[i], name) < 0)
			cmd_no_memory();
		real = access(file, R_OK) == 0 ? realpath(file, NULL) : NULL;
		if (real)
			return real;
	}
	cmd_message("%s is missing: neither in %s/%s nor in %s/%s", name,
		    folder, places[0], folder, places[1]);
	return NULL;
}

int cmd_preload(const char *name)
{
	const char *had = getenv("LD_PRELOAD");
	cmd_auto_free char *file = find(name), *all = NULL;

	if (!file)
		return CMD_TROUBLE;
	if (strpbrk(file, ": \t\n")) {
		cmd_message("%s: the loader takes no path with blanks or "
			    "colons",
			    file);
		return CMD_TROUBLE;
	}
	if (asprintf(&all, "%s%s%s", file, had && *had ? ":" : "",
		     had ? had : "") < 0 ||
	    setenv("LD_PRELOAD", all, 1) < 0)
		cmd_no_memory();
	return CMD_DONE;
}
