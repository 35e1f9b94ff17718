/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs and pages of the same installation as this program: beside it, or
 * where they are from there; else what the environment finds.
 */
#include "front.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder of this program, links followed. */
static bool own_folder(char folder[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
	char *slash;

	if (n <= 0)
		return false;
	folder[n] = '\0';
	slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	return slash != NULL;
}

/* FOLDER/NAME, if that is there to be read or run, and no folder. */
__attribute__((format(printf, 3, 4))) static bool is_there(char path[PATH_MAX],
							   int mode,
							   const char *fmt, ...)
{
	struct stat st;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(path, PATH_MAX, fmt, ap);
	va_end(ap);
	return n > 0 && n < PATH_MAX && stat(path, &st) == 0 &&
	       S_ISREG(st.st_mode) && access(path, mode) == 0;
}

bool front_find(const char *name, char path[PATH_MAX])
{
	const char *s = getenv("PATH");
	char folder[PATH_MAX];

	if (own_folder(folder) &&
	    is_there(path, X_OK, "%s/hpdsl-%s", folder, name))
		return true;
	while (s && *s) {
		size_t n = strcspn(s, ":");

		/* empty is the current folder, which nobody means */
		if (n && n < PATH_MAX &&
		    is_there(path, X_OK, "%.*s/hpdsl-%s", (int)n, s, name))
			return true;
		s += n + (s[n] == ':');
	}
	return false;
}

int front_run(const char *name, char **argv)
{
	char path[PATH_MAX], folder[PATH_MAX] = "?";

	if (front_find(name, path)) {
		argv[0] = path;
		execv(path, argv);
		cmd_message("%s: %s", path, strerror(errno));
		return CMD_TROUBLE;
	}
	own_folder(folder);
	cmd_message("hpdsl-%s is not installed: it is neither in %s nor in "
		    "PATH%s",
		    name, folder,
		    strcmp(name, "stage") ? "" : " (it is made where MPI is)");
	return CMD_TROUBLE;
}

/* As installed, or in the source tree: build/ and build/TREE/ are in that. */
static bool find_page(const char *page, int section, char path[PATH_MAX])
{
	char folder[PATH_MAX];

	if (!own_folder(folder))
		return false;
	return is_there(path, R_OK, "%s/../share/man/man%d/%s.%d", folder,
			section, page, section) ||
	       is_there(path, R_OK, "%s/../share/man/man%d/%s.%d.gz", folder,
			section, page, section) ||
	       is_there(path, R_OK, "%s/../man/%s.%d", folder, page, section) ||
	       is_there(path, R_OK, "%s/../../man/%s.%d", folder, page,
			section);
}

int front_help(const struct front_word *w)
{
	char path[PATH_MAX], page[64], section[12];
	bool found;

	snprintf(page, sizeof(page), "%s%.*s",
		 strstr(w->name, "hpdsl") ? "" : "hpdsl-",
		 (int)strcspn(w->name, "."), w->name);
	snprintf(section, sizeof(section), "%d", w->section);
	found = find_page(page, w->section, path);
	if (found)
		execlp("man", "man", "-l", path, (char *)NULL);
	else
		execlp("man", "man", section, page, (char *)NULL);
	if (found)
		cmd_message("man: %s; the page is %s", strerror(errno), path);
	else
		cmd_message("man: %s; %s(%s) is not installed with this "
			    "program",
			    strerror(errno), page, section);
	return CMD_TROUBLE;
}
