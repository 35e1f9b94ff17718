/* SPDX-License-Identifier: Apache-2.0 */
/* The next command, word by word. */
#include "info.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void add(struct info *i, const char *text)
{
	char *more;

	if (asprintf(&more, "%s%s", i->next ? i->next : "", text) < 0)
		cmd_no_memory();
	free(i->next);
	i->next = more;
}

void info_next(struct info *i, const char *words)
{
	free(i->next);
	i->next = NULL;
	add(i, words);
}

void info_next_more(struct info *i, const char *text)
{
	add(i, text);
}

static void add_quoted(struct info *i, const char *s)
{
	cmd_auto_free char *text = cmd_quoted(s);

	add(i, text);
}

/* ---- Words ------------------------------------------------------------ */

void info_next_word(struct info *i, const char *word)
{
	add(i, " ");
	add_quoted(i, word);
}

void info_next_path(struct info *i, const char *path)
{
	cmd_auto_free char *text = cmd_quoted_path(path);

	add(i, " ");
	add(i, text);
}

void info_next_option(struct info *i, const char *name, const char *value)
{
	cmd_auto_free char *option = NULL;

	if (asprintf(&option, " --%s=", name) < 0)
		cmd_no_memory();
	for (char *c = option; *c != '='; c++)
		if (*c == '_')
			*c = '-';
	add(i, option);
	add_quoted(i, value);
}

/* Where does it really lie, so that its name is one?  Else as given. */
static char *named(const char *path)
{
	size_t len = strlen(path);
	const char *base;
	char *real = NULL;

	while (len > 1 && path[len - 1] == '/')
		len--;
	base = memrchr(path, '/', len);
	base = base ? base + 1 : path;
	len -= (size_t)(base - path);
	if (!len || (len == 1 && *base == '.') ||
	    (len == 2 && base[0] == '.' && base[1] == '.'))
		real = realpath(path, NULL);
	if (!real)
		real = strndup(path, len + (size_t)(base - path));
	if (!real)
		cmd_no_memory();
	return real;
}

/* NAME.hpdsl, or the first of NAME-2.hpdsl and so on that is not there. */
static char *free_name(const char *folder, const char *base)
{
	enum { TRIES = 100 };
	struct stat st;
	char *out;

	for (unsigned n = 1;; n++) {
		char more[16] = "";

		if (n > 1)
			snprintf(more, sizeof(more), "-%u", n);
		if (asprintf(&out, "%s%s%s.hpdsl", folder,
			     *base ? base : "root", more) < 0)
			cmd_no_memory();
		if (n == TRIES || lstat(out, &st) < 0)
			return out;
		free(out);
	}
}

void info_next_output(struct info *i, const char *path)
{
	cmd_auto_free char *from = named(path), *folder = NULL, *out = NULL;
	char *base = strrchr(from, '/');
	struct stat st;

	base = base ? base + 1 : from;
	folder = strndup(from, (size_t)(base - from));
	if (!folder)
		cmd_no_memory();
	/* not among the files of a set; nor in somebody else's folder */
	if (stat(from, &st) == 0 && !S_ISDIR(st.st_mode)) {
		base[hpdsl_key_length(base, strlen(base))] = '\0';
		*folder = '\0';
	}
	if (access(*folder ? folder : ".", W_OK) < 0)
		*folder = '\0';
	out = free_name(folder, base);
	info_next_path(i, out);
}
