/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl: the commands that there are, where they are, and their pages. */
#ifndef CMD_FRONT_H
#define CMD_FRONT_H

#include "common/common.h"

#include <limits.h>

/*
 * A command, "pack" of hpdsl-pack; or a page, which has no program: "format" of
 * hpdsl-format, "order.7" where that is a command too, or "hpdsl" itself.
 */
struct front_word {
	const char *name;
	int section;	  /* of its page; 1: a command */
	const char *text; /* of a command: what its page says under NAME */
};

/* Ends with a row of zeros. */
extern const struct front_word front_words[];

/* Of a command, or of a page too: NULL, there is none. */
const struct front_word *front_word(const char *name, bool pages);
/* The name that is most like it, or NULL: none is. */
const char *front_nearest(const char *name, bool pages);
/* The list as text, which the caller frees. */
char *front_list(void);

/* Where hpdsl-NAME is: beside this program, or in PATH. */
bool front_find(const char *name, char path[PATH_MAX]);
/* Runs hpdsl-NAME with arguments, argv[0] being its name; or an exit status. */
int front_run(const char *name, char **argv);
/* Shows its manual page; or an exit status. */
int front_help(const struct front_word *w);

#endif
