/* SPDX-License-Identifier: Apache-2.0 */
#include "folders.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char difference[PATH_MAX + 32]; /* the last one found */

static int remove_one(const char *path, const struct stat *st, int type,
		      struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

void folder_remove(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0) {
		assert_int_equal(errno, ENOENT);
		return;
	}
	assert_int_equal(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static bool is_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static const char *at(char *room, const char *folder, const char *name)
{
	assert_true(snprintf(room, PATH_MAX, "%s/%s", folder, name) < PATH_MAX);
	return room;
}

static bool passed_over(const char *name, bool part)
{
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return true;
	return part && (name[0] == '.' || strcmp(name, "journal.hpdsl") == 0);
}

static void copy_file(const char *from, const char *to, const struct stat *st)
{
	const struct timespec times[2] = { st->st_atim, st->st_mtim };
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		       st->st_mode & 07777);
	char buf[65536];
	ssize_t n;

	assert_true(in >= 0 && out >= 0);
	while ((n = read(in, buf, sizeof buf)) > 0)
		assert_int_equal(write(out, buf, (size_t)n), n);
	assert_int_equal(n, 0);
	assert_int_equal(futimens(out, times), 0);
	close(in);
	close(out);
}

void folder_copy(const char *from, const char *to)
{
	DIR *d = opendir(from);
	char a[PATH_MAX], b[PATH_MAX];
	struct dirent *e;
	struct stat st;

	assert_non_null(d);
	assert_int_equal(mkdir(to, 0777), 0);
	while ((e = readdir(d))) {
		if (passed_over(e->d_name, false))
			continue;
		at(a, from, e->d_name);
		at(b, to, e->d_name);
		assert_int_equal(lstat(a, &st), 0);
		if (S_ISDIR(st.st_mode))
			folder_copy(a, b);
		else
			copy_file(a, b, &st);
	}
	closedir(d);
}

static bool is_hidden_output(const char *name)
{
	return strncmp(name, ".out", 4) == 0;
}

void folder_remove_output(const char *top)
{
	DIR *d = opendir(top);
	char path[PATH_MAX];
	struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d)))
		if (is_hidden_output(e->d_name) ||
		    strcmp(e->d_name, "out") == 0)
			folder_remove(at(path, top, e->d_name));
	closedir(d);
}

bool folder_has_hidden_output(const char *top)
{
	DIR *d = opendir(top);
	char path[PATH_MAX];
	struct dirent *e;
	bool found = false;

	assert_non_null(d);
	while (!found && (e = readdir(d)))
		found = is_hidden_output(e->d_name) &&
			is_folder(at(path, top, e->d_name));
	closedir(d);
	return found;
}

static bool same_bytes(FILE *a, FILE *b)
{
	char x[4096], y[sizeof x];
	size_t n;

	do {
		n = fread(x, 1, sizeof x, a);
		if (fread(y, 1, sizeof y, b) != n || memcmp(x, y, n) != 0)
			return false;
	} while (n == sizeof x);
	return !ferror(a) && !ferror(b);
}

static bool same_file(const char *got, const char *want)
{
	FILE *a = fopen(got, "re"), *b = fopen(want, "re");
	bool same = a && b && same_bytes(a, b);

	if (a)
		fclose(a);
	if (b)
		fclose(b);
	if (!same)
		snprintf(difference, sizeof difference, "%s", got);
	return same;
}

int folder_count(const char *path)
{
	DIR *d = opendir(path);
	int n = -2; /* itself, and what it is in */

	if (!d)
		return -1;
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static bool same_entry(const char *got, const char *want, const char *name,
		       bool part)
{
	char a[PATH_MAX], b[PATH_MAX];

	at(a, got, name);
	at(b, want, name);
	if (is_folder(a))
		return folder_same(a, b, part);
	return same_file(a, b);
}

bool folder_same(const char *got, const char *want, bool part)
{
	DIR *d = opendir(got);
	struct dirent *e;
	bool same = true;

	if (!d)
		return part && errno == ENOENT;
	while (same && (e = readdir(d)))
		same = passed_over(e->d_name, part) ||
		       same_entry(got, want, e->d_name, part);
	closedir(d);
	if (same && !part && folder_count(got) != folder_count(want)) {
		snprintf(difference, sizeof difference, "%s lacks something",
			 got);
		return false;
	}
	return same;
}

void folder_check(const char *got, const char *want, bool part)
{
	if (!folder_same(got, want, part))
		fail_msg("not as in %s: %s", want, difference);
}

void folder_check_files(const char *got, const char *want,
			bool (*counts)(const char *name))
{
	DIR *d = opendir(got);
	char a[PATH_MAX], b[PATH_MAX];
	struct dirent *e;

	while (d && (e = readdir(d))) {
		at(a, got, e->d_name);
		if (!counts(e->d_name) || is_folder(a))
			continue;
		if (!same_file(a, at(b, want, e->d_name)))
			fail_msg("not as in %s: %s", want, difference);
	}
	if (d)
		closedir(d);
}
