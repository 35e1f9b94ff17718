/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the program origin share: its costs and counters, and the
 * file system that shows a folder and pays them.
 */
#ifndef BED_ORIGIN_H
#define BED_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* origin_costs.c */

enum count {
	LOOKUPS,
	GETATTRS,
	OPENS,
	OPENDIRS,
	READDIRS,
	READS,
	BYTES,
	BUSY,
	BUSIEST,
	COUNTS,
	OPERATIONS = READDIRS + 1 /* these and all before, in one */
};

struct costs {
	double op_ns;	     /* of each metadata operation, on average */
	double op_cv;	     /* their standard deviation, in these */
	double ops, rate;    /* of these and of bytes, a second; 0: no bound */
	const char *budget;  /* a file, shared by those that name it; or NULL */
	const char *control; /* a file of faults, or NULL */
	bool (*ending)(void); /* nothing hangs any more */
};
/* False: errno. */
bool costs_begin(const struct costs *c);
/* A metadata operation: counted, and as slow as it has to be. */
void cost_pay(enum count what);
/*
 * pread, with its price and with the faults of a file of that name: bytes, or
 * -1 with errno.
 */
ssize_t cost_read(const char *name, int fd, char *buf, size_t size,
		  uint64_t at);
void costs_print(FILE *out);

/* origin_fs.c */

struct fuse_lowlevel_ops;
extern const struct fuse_lowlevel_ops fs_operations;
enum { FS_THREADS = 64 };

/*
 * mapped: the name of files that go through the page cache; keep: seconds for
 * which the kernel keeps names and attributes.  False: errno.
 */
bool fs_begin(const char *folder, const char *mapped, double keep);
/* What was asked for: all of it, then of each file. */
void fs_print_stats(FILE *out);

#endif
