/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options, one row each: what the help says of it, how its value is read, and
 * where that goes.
 */
#ifndef CMD_OPTION_TABLE_H
#define CMD_OPTION_TABLE_H

#include "common.h"

struct cmd_option;

/* Reads a value, NULL where none was given: 0, or -1 and why. */
typedef int cmd_take_fn(const struct cmd_option *o, void *to, const char *arg,
			struct cmd_why *why);

/*
 * Without a name: a heading, and the group of the rows below it; groups begin
 * with 1.  A row of zeros ends a table.
 */
struct cmd_option {
	const char *name, *arg, *text; /* as argp takes them */
	cmd_take_fn *take;
	size_t place;	      /* of what is set, in the parser's input */
	uint64_t least, most; /* of a number */
	const char *words;    /* with blanks between them */
	const char *wrong;    /* of another word: it "is .." */
	int letter;	      /* for short, or a key of its own; 0: none */
	int flags, group;     /* as argp takes them */
	bool instead;	      /* of the row above: given is one of them */
};

/* The place of a member that has to be of this type. */
#define CMD_AT(in, member, type) \
	_Generic(&((in *)NULL)->member, type * : offsetof(in, member))

/* What a row says of its value: the kind, and the member it goes to. */
#define CMD_THREADS(in, member) \
	.take = cmd_take_threads, .place = CMD_AT(in, member, uint32_t)
#define CMD_FLAG(in, member) \
	.take = cmd_take_flag, .place = CMD_AT(in, member, bool)
#define CMD_STRING(in, member) \
	.take = cmd_take_string, .place = CMD_AT(in, member, const char *)
#define CMD_STRINGS(in, member)   \
	.take = cmd_take_strings, \
	.place = CMD_AT(in, member, struct cmd_strings)
#define CMD_COUNT(in, member, from)                                    \
	.take = cmd_take_count, .place = CMD_AT(in, member, uint64_t), \
	.least = (from)
#define CMD_NUMBER(in, member, from, to)                                \
	.take = cmd_take_number, .place = CMD_AT(in, member, uint32_t), \
	.least = (from), .most = (to)
#define CMD_SIZE(in, member, from)                                    \
	.take = cmd_take_size, .place = CMD_AT(in, member, uint64_t), \
	.least = (from)
/* Of a loader. */
#define CMD_MEMORY(in, member) \
	.take = cmd_take_memory, .place = CMD_AT(in, member, uint64_t)
#define CMD_DEADLINE(in, member) \
	.take = cmd_take_deadline, .place = CMD_AT(in, member, uint64_t)
/* An enum that counts from 0, in the order of the words. */
#define CMD_WORD(in, member, all, not_one)                            \
	.take = cmd_take_word, .place = CMD_AT(in, member, unsigned), \
	.words = (all), .wrong = (not_one)

cmd_take_fn cmd_take_flag, cmd_take_string, cmd_take_strings, cmd_take_count,
	cmd_take_number, cmd_take_size, cmd_take_deadline, cmd_take_word,
	cmd_take_threads, cmd_take_memory;

/* For argp, with room for as many as there are rows; to be called first. */
void cmd_options_show(const struct cmd_option *rows, struct argp_option *ret);
/* The row of a key of argp's, or NULL. */
const struct cmd_option *cmd_options_find(const struct cmd_option *rows,
					  int key);
/* The row, of at most 64, as a bit: to note that it was given. */
uint64_t cmd_options_bit(const struct cmd_option *rows,
			 const struct cmd_option *o);
/* Sets option key in a parser's input: 0, -1 and why, or ARGP_ERR_UNKNOWN. */
int cmd_options_set(const struct cmd_option *rows, int key, void *input,
		    const char *arg, struct cmd_why *why);
/* The same for a parser: what is refused ends the process. */
error_t cmd_options_parse(const struct cmd_option *rows, int key,
			  const char *arg, struct argp_state *state);
/* argp_parse, the options being those of the table. */
void cmd_parse(const struct cmd_option *rows, const struct argp *argp, int argc,
	       char **argv, unsigned flags, void *input);

#endif
