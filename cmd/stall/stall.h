/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-stall: its commands, and what they share. */
#ifndef CMD_STALL_H
#define CMD_STALL_H

#include "common/subcommand.h"
#include "told.h"

int stall_run(int argc, char **argv);

extern const struct argp stall_run_argp;
extern const struct cmd_option stall_run_options[];

/* child.c: the job. */

/* Of the environment, what its ranks are to have too.  allow: globs of files
 * that the job may change. */
void stall_hand_on(bool keep_saves, const struct cmd_strings *allow);
/* Starts it, with HPDSL_STALL: its process, or -1, told. */
pid_t stall_start(char **command, const char *beat);
/* Has it ended, within so many seconds, or until cmd_stop is set meanwhile?
 * *ret is then its exit status as a shell has it. */
bool stall_has_ended(pid_t pid, double seconds, int *ret);

/* bond.c */

/* From now on processes of the job end with this one, however that ends. */
void stall_bond(void);
/* Takes those that have come, and lets those go that have ended; to be called
 * some times a second. */
void stall_bond_tend(void);
/* They end now, but for that one; what is started from now on has another bond.
 */
void stall_bond_anew(pid_t but);

/* hook.c */

/* From now on Python imports what measures PyTorch's DataLoader, and programs
 * have what counts the files that they open, and what guards those that were
 * there before; where that is not installed it is told, and without the last an
 * exit status. */
int stall_hook(void);

/* report.c, report_json.c: what was measured. */

struct stall_report {
	const struct hpdsl_stall *stall;
	struct hpdsl_stall_split split;
	struct hpdsl_stall_progress progress;
	char **command;
	const struct stall_told *told;
	bool dry; /* nothing was measured; the job's status then */
	int status;
};

/* Ten lines, or a few more. */
void stall_report_text(FILE *out, const struct stall_report *r);
/* One line. */
void stall_report_json(FILE *out, const struct stall_report *r);
/* Of all ranks. */
struct hpdsl_stall_cache stall_cache(const struct hpdsl_stall *s,
				     enum hpdsl_stall_phase phase);
extern const char *const stall_phases[HPDSL_STALL_PHASES];
extern const char *const stall_parts[HPDSL_STALL_PARTS];

#endif
