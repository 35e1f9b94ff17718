/* SPDX-License-Identifier: Apache-2.0 */
/* What processes of a node share, and what they tell hpdsl-stall and the user.
 */
#define _GNU_SOURCE 1
#include "guard.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* Slots: a file in which nothing is written takes no room. */
enum { MADE = 1 << 20, FEW = 1 << 14 };
enum {
	LINES = 20,	  /* of a node, that name what is refused */
	LONG_AGO = 86400, /* seconds, more than clocks differ */
};

struct guard_page {
	uint64_t said; /* bits, by letter */
	uint64_t refused;
	uint64_t asides; /* at least one, if it is not 0 */
	struct guard_beat beat;
	struct guard_slot made[MADE], aside[FEW], gone[FEW], told[FEW];
};

/* Set once, by whoever is first; then they stay. */
static struct guard_page *page;
static char folder[GUARD_PATH]; /* "": none */
static char node[sizeof(((struct utsname *)0)->nodename)];
static struct guard_file errors; /* standard error, as the process began */
static int state;		 /* 0: nobody has looked; OFF, ON */
enum { LOOKING = 1, OFF, ON };

#define SET(name)                        \
	((struct guard_set){ page->name, \
			     sizeof(page->name) / sizeof(*page->name) })

/* Of the folder, "WHAT.NODE". */
static bool name_of(const char *what, char *ret)
{
	int n = snprintf(ret, GUARD_PATH, "%s/%s.%s", folder, what, node);

	return *folder && n > 0 && n < GUARD_PATH;
}

static struct guard_page *map_page(void)
{
	char name[GUARD_PATH];
	struct guard_file f;
	void *at = MAP_FAILED;
	int fd;

	if (!name_of("guard", name))
		return NULL;
	fd = guard_raw_open(AT_FDCWD, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return NULL;
	/* Several may do so, to the same size. */
	if (syscall(SYS_ftruncate, fd, sizeof(*page)) == 0 &&
	    guard_stat_fd(fd, &f))
		at = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE,
			  MAP_SHARED, fd, 0);
	guard_raw_close(fd);
	return at == MAP_FAILED ? NULL : at;
}

static int begin(void)
{
	const char *at = secure_getenv("HPDSL_STALL");
	const char *keep = secure_getenv("HPDSL_STALL_SAVES");
	struct utsname u;

	if (!at || !*at || (keep && *keep))
		return OFF;
	guard_stat_fd(2, &errors);
	guard_path(AT_FDCWD, at, true, folder);
	if (uname(&u) == 0)
		memcpy(node, u.nodename, sizeof(node));
	for (char *c = node; (c = strchr(c, '/'));)
		*c = '_';
	page = map_page();
	if (!page)
		*folder = '\0';
	return ON;
}

bool guard_on(void)
{
	int was = errno, none = 0;

	if (__atomic_load_n(&state, __ATOMIC_ACQUIRE) >= OFF)
		return __atomic_load_n(&state, __ATOMIC_RELAXED) == ON;
	if (__atomic_compare_exchange_n(&state, &none, LOOKING, false,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		__atomic_store_n(&state, begin(), __ATOMIC_RELEASE);
	while (__atomic_load_n(&state, __ATOMIC_ACQUIRE) == LOOKING)
		syscall(SYS_sched_yield);
	errno = was;
	return __atomic_load_n(&state, __ATOMIC_RELAXED) == ON;
}

__attribute__((constructor)) static void look_early(void)
{
	guard_on();
}

const char *guard_folder(void)
{
	return folder;
}

struct guard_beat *guard_beat(void)
{
	static struct guard_beat own;

	return page ? &page->beat : &own;
}

/* ---- Sets ------------------------------------------------------------- */

bool guard_was_made(const struct guard_file *f)
{
	return page && guard_set_has(SET(made), f->dev, f->ino);
}

void guard_forget_made(const struct guard_file *f)
{
	if (page)
		guard_set_drop(SET(made), f->dev, f->ino);
}

bool guard_is_gone(const struct guard_file *f)
{
	return page && guard_set_has(SET(gone), f->dev, f->ino);
}

void guard_set_gone(const struct guard_file *f)
{
	if (page)
		guard_set_add(SET(gone), f->dev, f->ino);
}

bool guard_take_gone(const struct guard_file *f)
{
	return page && guard_set_drop(SET(gone), f->dev, f->ino);
}

bool guard_has_aside(void)
{
	return page && __atomic_load_n(&page->asides, __ATOMIC_ACQUIRE);
}

/* ---- What is told ----------------------------------------------------- */

/* One write, so that those of several processes do not mix. */
static void record(char letter, const struct guard_file *f, const char *path)
{
	char name[GUARD_PATH], text[GUARD_PATH + 20];
	int n = snprintf(text, sizeof(text), "%c%" PRIx64 "%s", letter, f->ino,
			 path);
	int fd;

	if (n < 0 || (size_t)n >= sizeof(text) || !name_of("told", name))
		return;
	fd = guard_raw_open(AT_FDCWD, name,
			    O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	syscall(SYS_write, fd, text, (size_t)n + 1);
	guard_raw_close(fd);
}

static void say(const char *path, const char *what)
{
	char text[2 * GUARD_PATH];
	int n = snprintf(text, sizeof(text), "hpdsl-stall: %s %s\n", path,
			 what);
	struct guard_file f;

	/* Names may have what a terminal obeys. */
	for (int i = 0; i < n - 1; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			text[i] = '?';
	/* A process that closed it has what it opened next there. */
	if (n > 0 && (size_t)n < sizeof(text) && guard_stat_fd(2, &f) &&
	    f.dev == errors.dev && f.ino == errors.ino)
		syscall(SYS_write, 2, text, n);
}

static bool is_first(char letter)
{
	uint64_t bit = UINT64_C(1) << (letter - 'a');

	return !page ||
	       !(__atomic_fetch_or(&page->said, bit, __ATOMIC_RELAXED) & bit);
}

#define BEFORE "was there before this measured run: "

static const struct {
	char letter;
	const char *text;
} sentences[] = {
	{ GUARD_REFUSED,
	  BEFORE "it is not opened to be changed in place (--allow=GLOB: it "
		 "is; --keep-saves: all are)" },
	{ GUARD_ASIDE,
	  BEFORE "what is written to it is set aside, and removed at the end" },
	{ GUARD_KEPT, BEFORE "it is neither removed nor replaced" },
	{ GUARD_MADE,
	  "is made by a job that trains nothing; what else is, is listed at "
	  "the end" },
};

/* The first of a kind; of those that the job fails at, some more. */
static bool is_said(char letter)
{
	if (letter == GUARD_REFUSED && page)
		return __atomic_fetch_add(&page->refused, 1, __ATOMIC_RELAXED) <
		       LINES;
	return is_first(letter);
}

static void tell(char letter, const struct guard_file *f, const char *path)
{
	record(letter, f, path);
	for (size_t i = 0; i < sizeof(sentences) / sizeof(*sentences); i++)
		if (sentences[i].letter == letter && is_said(letter))
			say(path, sentences[i].text);
}

/* What is known of a file, by letter. */
static uint64_t key_of(char letter, const struct guard_file *f)
{
	return f->dev ^ (uint64_t)(unsigned char)letter << 56;
}

void guard_tell(char letter, const struct guard_file *f, const char *path)
{
	if (!page || guard_set_add(SET(told), key_of(letter, f), f->ino))
		tell(letter, f, path);
}

void guard_note(char letter, const struct guard_file *f, const char *path)
{
	if (*path && !guard_leaves(path))
		tell(letter, f, path);
}

/* Inodes are used again, and a set that is full takes none: what is new is told
 * of in any case. */
void guard_make(const struct guard_file *f, const char *path, bool is_new)
{
	if (page && (guard_set_add(SET(made), f->dev, f->ino) || is_new) &&
	    path)
		guard_note(is_new ? GUARD_MADE : GUARD_FILLED, f, path);
}

bool guard_passes(const struct guard_file *f)
{
	uint64_t key = key_of('p', f);

	if (f->size <= GUARD_SMALL && page)
		guard_set_add(SET(told), key, f->ino);
	return f->size <= GUARD_SMALL ||
	       (page && guard_set_has(SET(told), key, f->ino));
}

/* Asked once of a file that is old: what was there before stays so.  Of what
 * was last written to long ago it is not asked at all: each node would open the
 * records of all others.  Where that is wrong, a file of the job's is guarded.
 */
bool guard_was_made_elsewhere(const struct guard_file *f, const char *path)
{
	if (!page || f->mtime < time(NULL) - LONG_AGO ||
	    guard_set_has(SET(told), key_of('o', f), f->ino))
		return false;
	if (guard_told_elsewhere(path))
		return true;
	guard_set_add(SET(told), key_of('o', f), f->ino);
	return false;
}

/* ---- Aside ------------------------------------------------------------ */

void guard_aside_path(const struct guard_file *f, char *ret)
{
	int n = snprintf(ret, GUARD_PATH, "%s/aside.%s.%" PRIx64 ".%" PRIx64,
			 folder, node, f->dev, f->ino);

	if (!*folder || n < 0 || n >= GUARD_PATH)
		*ret = '\0';
}

bool guard_is_aside(const struct guard_file *f)
{
	char name[GUARD_PATH];
	struct guard_file is;

	if (!guard_has_aside() || !guard_set_has(SET(aside), f->dev, f->ino))
		return false;
	if (guard_set_has(SET(told), key_of('t', f), f->ino))
		return true;
	guard_aside_path(f, name);
	return guard_stat(AT_FDCWD, name, false, &is) && is.size > 0;
}

static void set_aside(const struct guard_file *f, bool anew)
{
	if (anew)
		guard_set_add(SET(told), key_of('t', f), f->ino);
	guard_set_add(SET(aside), f->dev, f->ino);
	__atomic_store_n(&page->asides, 1, __ATOMIC_RELEASE);
}

int guard_open_aside(const struct guard_file *f, const char *path, int flags)
{
	char name[GUARD_PATH];
	int fd;

	guard_aside_path(f, name);
	flags &= ~(O_EXCL | O_NOFOLLOW | O_DIRECTORY);
	fd = *name ? guard_raw_open(AT_FDCWD, name, flags | O_CREAT, 0600) : -1;
	if (fd < 0) {
		errno = EROFS;
		return -1;
	}
	set_aside(f, flags & O_TRUNC);
	guard_tell(GUARD_ASIDE, f, path);
	return fd;
}

int guard_refuse(const struct guard_file *f, const char *path)
{
	guard_tell(GUARD_REFUSED, f, path);
	errno = EROFS;
	return -1;
}

bool guard_move_aside(const struct guard_file *f, int dir, const char *path)
{
	char name[GUARD_PATH];
	struct guard_file new;

	guard_aside_path(f, name);
	if (!S_ISREG(f->mode) || !guard_stat(dir, path, false, &new) ||
	    !S_ISREG(new.mode) || !*name ||
	    syscall(SYS_renameat2, dir, path, AT_FDCWD, name, 0) < 0)
		return false;
	set_aside(f, true);
	return true;
}

int guard_truncate_aside(const struct guard_file *f, off_t size)
{
	char name[GUARD_PATH];

	guard_aside_path(f, name);
	set_aside(f, true);
	return (int)syscall(SYS_truncate, name, size);
}
