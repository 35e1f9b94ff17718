/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line of the terminal that a bar is drawn in, and a message has to itself.
 * A handler of a signal may take the bar away.
 */
#include "common.h"

#include <string.h>
#include <unistd.h>

static bool drawn; /* the cursor is in the line of a bar */

static void put(const char *text, size_t n)
{
	ssize_t done = write(STDERR_FILENO, text, n);

	(void)done; /* progress is not worth failing for */
}

bool cmd_on_terminal(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

bool cmd_bar_is_drawn(void)
{
	return drawn;
}

void cmd_bar_draw(const char *line)
{
	char text[512];

	put(text, (size_t)sprintf(text, "\r%.500s\033[K", line));
	drawn = true;
}

void cmd_bar_leave(void)
{
	if (drawn)
		put("\n", 1);
	drawn = false;
}

void cmd_progress_clear(void)
{
	if (drawn)
		put("\r\033[K", 4);
	drawn = false;
}
