/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the commands share: options, messages, progress, numbers as people write
 * them, JSON, signals, lists of names.  A command is single-minded and short-
 * lived, so unlike the library these functions may print, keep state and, where
 * a comment says so, exit.
 */
#ifndef CMD_COMMON_H
#define CMD_COMMON_H

#include <argp.h>
#include <hpdsl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

/* Exit statuses, the same for every command. */
enum cmd_status {
	CMD_DONE = 0,
	CMD_NO = 1,	 /* damaged, different, absent */
	CMD_USAGE = 2,	 /* options or arguments that make no sense */
	CMD_TROUBLE = 3, /* I/O, space, memory */
	CMD_STOPPED = 75 /* stopped early as asked; a rerun completes it */
};

static inline void cmd_free_p(void *p)
{
	free(*(void **)p);
}

#define cmd_auto_free __attribute__((cleanup(cmd_free_p)))

/* ---- options.c: how every command begins and reads its options -------- */

/* First call of main(): name, --version, exit status of a usage error. */
void cmd_start(char **argv);

struct cmd_common {
	uint32_t threads;   /* as in hpdsl.h */
	bool threads_given; /* -j was on the command line */
	bool quiet, json;
	bool foreign_owner;
};

#define CMD_OPT_JSON 0x100 /* keys of a command's own begin at CMD_OPT_OWN */
#define CMD_OPT_FOREIGN_OWNER 0x101
#define CMD_OPT_OWN 0x110

/* For the tables of commands that open datasets, and that have threads. */
#define CMD_THREADS_TEXT                                                  \
	"Threads for CPU work (default: one a core, at most 16); 0 does " \
	"everything in place, in one thread"
#define CMD_FOREIGN_OWNER_TEXT                                             \
	"Take a stage directory or an output folder that is neither this " \
	"user's nor root's, too"

/*
 * Parser for -j, -q, --json and --foreign-owner; its input is a struct
 * cmd_common.
 */
extern const struct argp cmd_common_argp;
/* The list that has this parser alone, as a command's only child. */
extern const struct argp_child cmd_common_children[];

/*
 * What is wrong with arguments has the same words in all commands, and argp's
 * two lines: these end the process.  "DATASET is missing"; "one DATASET, not
 * also 'b'".
 */
void cmd_missing(const struct argp_state *state, const char *what);
void cmd_not_also(const struct argp_state *state, const char *what,
		  const char *arg);
/*
 * For a parser that takes just these n arguments: takes ARGP_KEY_ARG and _END,
 * and knows no other key.
 */
error_t cmd_take_arguments(int key, char *arg, struct argp_state *state,
			   const char *const *names, const char **ret,
			   size_t n);
/* The same for one, DATASET. */
error_t cmd_take_dataset(int key, char *arg, struct argp_state *state,
			 const char **dataset);
/* For what is found out behind the parser: a state to be wrong with. */
struct argp_state cmd_after(const struct argp *argp);

/* Why an option was refused: text for one line, "name: reason". */
struct cmd_why {
	char text[256];
};

/* values.c: values of options.  0, or -1 and why. */
__attribute__((format(printf, 2, 3))) int cmd_refuse(struct cmd_why *why,
						     const char *fmt, ...);
int cmd_value_count(const char *name, const char *arg, uint64_t least,
		    uint64_t *ret, struct cmd_why *why);
int cmd_value_deadline(const char *arg, uint64_t *ret, struct cmd_why *why);
/* Where classes come from, as hpdsl_pack() has it. */
struct cmd_labels {
	enum hpdsl_labels how;
	uint32_t dir; /* 0: 1, and not spelled out */
	const char *file, *field;
};
/* had: the file that was given before, or NULL: two tables are none. */
int cmd_value_labels(const char *name, const char *arg, const char *had,
		     struct cmd_labels *ret, struct cmd_why *why);
/* Into the options of hpdsl_pack() or hpdsl_reindex(), which call them alike.
 */
#define CMD_SET_LABELS(opt, of)                                 \
	((opt)->labels = (of).how, (opt)->label_dir = (of).dir, \
	 (opt)->label_file = (of).file, (opt)->label_field = (of).field)

/* Sets option key; 0, -1 (why says why) or ARGP_ERR_UNKNOWN. */
int cmd_common_set(struct cmd_common *c, int key, const char *arg,
		   struct cmd_why *why);

/* ---- memory.c: allocation that exits when there is none --------------- */

__attribute__((noreturn)) void cmd_no_memory(void);
void *cmd_alloc(size_t n, size_t size);
/* Room for n + 1 objects in an array grown by this function alone. */
void *cmd_grow(void *array, size_t n, size_t size);

struct cmd_strings {
	const char **v;
	size_t n;
};

void cmd_strings_add(struct cmd_strings *s, const char *string);

/* ---- advice.c --------------------------------------------------------- */

/* Adds which option would help to what the library says, in place. */
void cmd_advise(char *text, size_t cap);

/* ---- message.c: standard error, one line each ------------------------- */

/* From now on each line begins so, behind the program's name; "": no more. */
void cmd_message_of(const char *whom);
__attribute__((format(printf, 1, 2))) void cmd_message(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void cmd_warning(const char *fmt, ...);
/* The line that cmd_message() writes of a text, for a file; its bytes. */
enum { CMD_LINE_MOST = 8192 };
size_t cmd_message_line(const char *text, char ret[CMD_LINE_MOST]);
/* The exit status that belongs to a code of the library. */
int cmd_status_of(int code);
/* Tells the error and gives that status. */
int cmd_tell(const struct hpdsl_error *err);
/* The worse of two exit statuses. */
int cmd_worse(int a, int b);

/* ---- output.c: standard output, every write checked; exits with 3 ----- */

/* Checks the last flush and the close, too, at exit. */
void cmd_output_start(void);
/* Tells errno and ends the process. */
__attribute__((noreturn)) void cmd_output_failed(void);
void cmd_write(const void *bytes, size_t n);
__attribute__((format(printf, 1, 2))) void cmd_print(const char *fmt, ...);
void cmd_flush(void);
/* A name and what ends it: escaped and a newline, or as it is and a NUL. */
void cmd_print_name(const char *name, size_t len, bool null);

/* ---- escape.c: names on standard output ------------------------------- */

/* Room for a name of so many bytes, and a NUL. */
#define CMD_ESCAPED(len) (4 * (len) + 1)
/* As hpdsl_name_escape(), and \x1b for a control character on a terminal. */
size_t cmd_escape_name(const char *name, size_t len, char *out);
/* The same in memory that the caller frees. */
char *cmd_escape(const char *name, size_t len);
/* Is there a control character at s that is not to reach the terminal? */
bool cmd_is_control(const unsigned char *s, size_t len);
/* Length of the UTF-8 sequence at s, 0: it is none. */
size_t cmd_utf8_length(const unsigned char *s, size_t len);

/* ---- job.c ------------------------------------------------------------ */

/* "Slurm job 4711", in text; NULL: it is of none that is known. */
const char *cmd_job_name(char *text, size_t size);

/* ---- process.c --------------------------------------------------------- */

/*
 * When it began, in clock ticks since the boot, of what /proc/PID/stat says;
 * false: that is no such text, or the process has ended.
 */
bool cmd_start_of(const char *stat, uint64_t *ret);
/* The same of a process; 0: it is not there, has ended, or is hidden. */
uint64_t cmd_process_start(pid_t pid);

/* ---- own_folder.c ----------------------------------------------------- */

/*
 * A descriptor of a folder that is this user's and that nobody else has rights
 * to, whoever made it; -errno and *err.
 */
int cmd_own_folder(const char *folder, bool make, struct hpdsl_error *err);

/* ---- preload.c -------------------------------------------------------- */

/* The folder of this program, without links: an exit status, told. */
int cmd_program_folder(char *ret, size_t room);
/*
 * From now on LD_PRELOAD begins with that library of ours: an exit status, what
 * is wrong has been told.
 */
int cmd_preload(const char *name);

/* ---- quote.c ---------------------------------------------------------- */

/* s as one word of a shell, printable; the caller frees it. */
char *cmd_quoted(const char *s);
/* A path so, which no command takes for an option. */
char *cmd_quoted_path(const char *path);
/* s as a string of Python's, which the caller frees; NULL: it has what is not
 * to be printed. */
char *cmd_python_string(const char *s);

/* ---- size.c: numbers as people write and read them -------------------- */

/* Strict: digits and nothing else; digits and one of K M G T, or of KiB MiB GiB
 * TiB.  MB is none: elsewhere it is a power of 1000. */
int cmd_parse_count(const char *s, uint64_t *ret);
int cmd_parse_size(const char *s, uint64_t *ret);
/* Seconds, or Slurm's MM:SS, HH:MM:SS, D-HH, D-HH:MM, D-HH:MM:SS. */
int cmd_parse_duration(const char *s, uint64_t *ret);

struct cmd_text {
	char s[48];
};

/* splits.c: "train, val" of hpdsl_split()'s bits; how many, and one that would
 * be read by itself: the second, if there are more. */
struct cmd_splits {
	char s[64];
	const char *one;
	int n;
} cmd_splits(unsigned splits);

struct cmd_text cmd_bytes(uint64_t bytes);	       /* 36.9 MiB */
struct cmd_text cmd_many(uint64_t n, const char *one); /* 1 chunk, 2 chunks */
struct cmd_text cmd_thousands(uint64_t n);	       /* 21,875 */
struct cmd_text cmd_seconds(double seconds);	       /* 3.2 s, 1:05:03 */
/* 2 * n lower-case digits and a NUL. */
void cmd_hex(char *out, const uint8_t *bytes, size_t n);
struct cmd_text cmd_time(int64_t mtime);     /* 2024-05-01 12:00:00 (UTC) */
struct cmd_text cmd_mode(uint32_t mode);     /* -rw-r--r-- */
double cmd_rate(uint64_t n, double seconds); /* 0 for no time */
/* 43.9 MiB/s, 84,528 files/s */
struct cmd_text cmd_speed(uint64_t files, uint64_t bytes, double seconds);

/* ---- time_in.c: points in time ---------------------------------------- */

/*
 * @SECONDS[.FRACTION]; YYYY-MM-DD, with HH:MM or HH:MM:SS behind a blank or a
 * T, with or without a Z, in UTC; else the name of a file whose mtime is meant.
 * 0, or -1: it is none of these.  ret_nsec is added to ret_sec.
 */
int cmd_parse_time(const char *s, int64_t *ret_sec, uint32_t *ret_nsec);

/* ---- json.c: one object on one line ----------------------------------- */

struct cmd_json {
	FILE *out;
	bool started; /* a comma is due */
};

/* name NULL: an element of an array, or the outermost object. */
void cmd_json_open(struct cmd_json *j, const char *name, char bracket);
void cmd_json_close(struct cmd_json *j, char bracket);
/* Closes the outermost object and ends the line. */
void cmd_json_line(struct cmd_json *j);
void cmd_json_u64(struct cmd_json *j, const char *name, uint64_t value);
void cmd_json_i64(struct cmd_json *j, const char *name, int64_t value);
void cmd_json_real(struct cmd_json *j, const char *name, double value);
void cmd_json_bool(struct cmd_json *j, const char *name, bool value);
void cmd_json_null(struct cmd_json *j, const char *name);
void cmd_json_string(struct cmd_json *j, const char *name, const char *s);
void cmd_json_hex(struct cmd_json *j, const char *name, const uint8_t *bytes,
		  size_t n);
/*
 * A name of any bytes.  What is no UTF-8 becomes U+FFFD, and a second value,
 * NAME_base64, then holds the bytes.
 */
void cmd_json_name(struct cmd_json *j, const char *name, const char *s,
		   size_t len);

/* ---- look.c: what names say of samples -------------------------------- */

/*
 * Which suffixes samples have together, and what of one name lies in two
 * folders, in a line each, which the caller frees; NULL: there is nothing that
 * is worth one.
 */
char *cmd_look_sets(const struct hpdsl_group_look *look);
char *cmd_look_parted(const struct hpdsl_group_look *look);
/* The field group_look. */
void cmd_json_look(struct cmd_json *j, const struct hpdsl_group_look *look);

/* ---- stage_fields.c: a stage directory --------------------------------- */

/* Its fields, but for those that a dataset has, too. */
void cmd_json_stage(struct cmd_json *j, const struct hpdsl_stage_status *s);
/* Chunks that were planned, and are neither here nor on the way. */
uint64_t cmd_stage_missing(const struct hpdsl_stage_status *s);

/* ---- terminal.c: the line that a bar is in, on standard error --------- */

/* Does a person see standard error, and a bar? */
bool cmd_on_terminal(void);
bool cmd_bar_is_drawn(void);
/* line is no wider than the terminal. */
void cmd_bar_draw(const char *line);
/* What is drawn stays, and the next line begins. */
void cmd_bar_leave(void);
/* Takes the bar off the terminal, so that a line can be written. */
void cmd_progress_clear(void);

/* ---- progress.c, signal.c: long operations ---------------------------- */

/* Progress unless quiet, warnings, and the stop flag. */
void cmd_watch(struct hpdsl_watch *w, bool quiet);
/* Ends the bar: what is on the terminal stays. */
void cmd_progress_end(void);
/* What is counted where no bytes are, a short word in place of "files". */
void cmd_progress_counts(const char *what);

extern int cmd_stop;

/* As many open files as the process may have: the soft limit is for those who
 * do not know. */
void cmd_allow_open_files(void);
/*
 * SIGINT and SIGTERM end the process at once with 128 + signal, which is safe:
 * what is on the disk is valid at every instant; a line says so, with after at
 * its end.  SIGUSR1 sets cmd_stop.  SIGBUS, a mapped file that shrank, becomes
 * an error that names the dataset.
 */
void cmd_signals(const char *dataset, const char *after);
/*
 * For who has something to write first: from now on SIGINT and SIGTERM set
 * cmd_stop, too, and the second of them ends the process; the other function
 * ends it as cmd_signals() says if there was one.
 */
void cmd_signals_wait(void);
void cmd_signals_end(void);
/* Was there one? */
bool cmd_signals_came(void);
/*
 * Lets SIGBUS name file when it is about the mapping of s, which it may do for
 * two snapshots at a time; until s is forgotten, before it is closed.
 */
void cmd_bus_snapshot(const struct hpdsl_snapshot *s, const char *file);
void cmd_bus_forget(const struct hpdsl_snapshot *s);
/* Sets cmd_stop early enough to be done after this many seconds. */
void cmd_deadline(uint64_t seconds);

/* ---- names_in.c: lists of names --------------------------------------- */

struct cmd_names {
	char *bytes; /* names, each ended by a NUL */
	size_t size, count;
};

/*
 * Reads names from file ("-": standard input), one a line and escaped as
 * hpdsl_name_escape() does, or ended by NUL bytes; empty ones are skipped.
 * Gives an exit status; what was wrong has been told.
 */
int cmd_names_read(struct cmd_names *names, const char *file, bool null);

/* ---- file_in.c, file_out.c: small files ------------------------------- */

/* All of it, which the caller frees: 0, or a negative errno and *err. */
int cmd_file_read(const char *file, char **ret, size_t *ret_size,
		  struct hpdsl_error *err);
/*
 * A file that appears whole when it is closed, in place of what was there, or
 * that is written to as it is, if it is no regular file.  A link that is
 * neither the caller's nor root's is not followed.
 */
struct cmd_file {
	FILE *out;
	const char *file; /* for messages */
	int dir;	  /* that holds both; -1: it is written as it is */
	char *name;
	char temporary[256];
};

/* Can it be written?  Nothing is left behind.  0, or a negative errno. */
int cmd_file_try(const char *file, struct hpdsl_error *err);
/* f->out is to be written to, then f to be closed; file is borrowed. */
int cmd_file_open(struct cmd_file *f, const char *file,
		  struct hpdsl_error *err);
/* On the disk, with its name; else nothing is left of what was written. */
int cmd_file_close(struct cmd_file *f, struct hpdsl_error *err);

/* ---- open.c: the dataset that a command is about ---------------------- */

/* As hpdsl_open(), foreign_owner as --foreign-owner says. */
int cmd_open(const char *dataset, bool foreign_owner,
	     struct hpdsl_dataset **ret, struct hpdsl_error *err);
/* Warns of other nodes that could not be used, and closes it; NULL is fine. */
void cmd_close(struct hpdsl_dataset *ds);

/* ---- select.c: which members a command is about ----------------------- */

struct cmd_selection {
	uint64_t *members;
	size_t n;
	uint64_t absent; /* paths that were asked for and are not there */
};

void cmd_select_add(struct cmd_selection *sel, uint64_t member);
/* Each adds members and gives an exit status; what is absent is told. */
int cmd_select_member(struct cmd_selection *sel, const struct hpdsl_dataset *ds,
		      uint64_t number);
int cmd_select_sample(struct cmd_selection *sel, const struct hpdsl_dataset *ds,
		      uint64_t number);
int cmd_select_path(struct cmd_selection *sel, const struct hpdsl_dataset *ds,
		    const char *path);
/* The names in a list, read as cmd_names_read() does. */
int cmd_select_list(struct cmd_selection *sel, const struct hpdsl_dataset *ds,
		    const char *file, bool null);
/*
 * Members that a pattern matches, as hpdsl_glob_match() does, or whose path it
 * is.
 */
int cmd_select_patterns(struct cmd_selection *sel,
			const struct hpdsl_dataset *ds, char *const *patterns,
			size_t n);
/* The class --label means, by its name or number.  -ENOENT: there is none. */
int cmd_select_class(const struct hpdsl_dataset *ds, const char *text,
		     uint32_t *ret, struct hpdsl_error *err);
/* Ascending, each once. */
void cmd_select_sort(struct cmd_selection *sel);

#endif
