/* SPDX-License-Identifier: Apache-2.0 */
/* What all of the library shares: codes, errors, progress, names of files. */
#ifndef HPDSL_CORE_H
#define HPDSL_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Longest path of a member, without the closing NUL. */
#define HPDSL_PATH_MAX 4095

#define HPDSL_NO_LABEL UINT32_MAX

#if defined(__GNUC__)
#define HPDSL_API __attribute__((visibility("default")))
#else
#define HPDSL_API
#endif

/* Codes of our own, below any -errno. */
enum hpdsl_code {
	HPDSL_ECORRUPT = -10001, /* bytes are not what was written */
	HPDSL_ENOTOURS = -10002, /* not an HPDSL file or directory */
	HPDSL_ETOONEW = -10003,	 /* of a later format version */
	HPDSL_EDIFFERS =
		-10004, /* another dataset, other options, other tree */
	HPDSL_ECHANGED = -10005, /* what is read changed meanwhile */
	HPDSL_ESTOPPED = -10006, /* stopped early as asked; a rerun completes */
	HPDSL_EUSAGE = -10007,	 /* options or arguments that make no sense, or
				    a call that is out of order */
};

/* Plain bytes: may be copied, sent to another thread or rank. */
struct hpdsl_error {
	int code;
	char msg[1020];
};

HPDSL_API const char *hpdsl_version(void);

/*
 * Bytes of memory that this process may still take: of the machine, and of the
 * limits of its control group and of all above it, of either version; what only
 * caches files counts as free.  UINT64_MAX: nobody tells.
 */
HPDSL_API uint64_t hpdsl_memory_left(void);
/*
 * Thousandths of a processor whose time the control groups of version 2 leave
 * this process, whatever processors it may run on.  UINT64_MAX: no limit.
 */
HPDSL_API uint64_t hpdsl_cpu_limit(void);

/*
 * What a long operation tells its caller, and how it is told to stop.  Zero
 * everywhere: silent, not to be stopped.  The functions may be called from the
 * library's threads, never two at a time.
 */
struct hpdsl_progress {
	const char *phase;    /* "scanning", "writing", ... */
	uint64_t done, total; /* files or bytes; total 0: not known yet */
	bool bytes;	      /* done and total are bytes */
};

struct hp_io;

struct hpdsl_watch {
	void (*progress)(void *arg, const struct hpdsl_progress *p);
	/* One line worth telling that is no error: a warning. */
	void (*warn)(void *arg, const char *text);
	void *arg;
	/*
	 * Polled with relaxed atomic loads; may be set by a signal handler.
	 * Non-zero: finish what is open, then return HPDSL_ESTOPPED.
	 */
	const int *stop;
	/* File operations; NULL: the system's.  For the library's tests. */
	const struct hp_io *io;
};

/*
 * Number of threads for CPU work: 0 takes one for each core this process may
 * use (at most 16); HPDSL_SERIAL does everything in place, in the calling
 * thread.  The result is the same, byte for byte, for every value.
 */
#define HPDSL_SERIAL UINT32_MAX
/* Who asks for more than this means something else. */
#define HPDSL_THREADS_MOST 4096

/*
 * Length of the key of a path: up to the first dot of its base name, leading
 * dots belonging to the key.  The suffix is what follows that dot.  A dataset
 * may have another rule: hpdsl_dataset_key_length().
 */
HPDSL_API size_t hpdsl_key_length(const char *path, size_t path_len);

/*
 * Writes name with newline as \n and backslash as \\ (nothing else changes),
 * NUL-terminated, to out of at least 2 * len + 1 bytes; returns its length.
 */
HPDSL_API size_t hpdsl_name_escape(const char *name, size_t len, char *out);

/*
 * The inverse, in place; returns the new length, or (size_t)-1 for a backslash
 * followed by anything but n or a backslash.
 */
HPDSL_API size_t hpdsl_name_unescape(char *name, size_t len);

/*
 * Does the pattern, as in hpdsl-pack(1) --include, match the path of a file?
 * With a slash it is matched against the whole path, "*" and "?" not crossing
 * a slash, else against the base name; "dir/" matches all below folders dir,
 * and so does "dir" with a slash and two stars behind it, at the top.
 */
HPDSL_API bool hpdsl_glob_match(const char *pattern, const char *path);

#ifdef __cplusplus
}
#endif
#endif
