/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is safe when: data before its name, the name before what relies on it.
 * A power failure is not needed to see that; the order of operations tells.
 */
#include "packed.h"

#include "sys/io.h"
#include "write/journal_file.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define BASE hp_io_system

static void begin(struct packed *p)
{
	packed_begin(p);
	packed_file(p, "a/1.bin", 30000, 0644, 1600000000, 5);
	packed_file(p, "a/2.bin", 70000, 0644, 1600000000, 5);
}

/* What a power failure would lose, as the operations tell. */
struct safety {
	struct hp_io io;
	char name[256][64];  /* by descriptor */
	bool parent[256];    /* a folder opened from outside */
	char unsafe[64][64]; /* files written and not synced since */
	bool out, above;     /* names in OUTPUT, and its own */
	bool body;	     /* the journal's */
	int recorded, renamed;
	const char *close_fails;
};

static char *unsafe(struct safety *s, const char *name)
{
	for (int i = 0; i < 64; i++)
		if (!strcmp(s->unsafe[i], name))
			return s->unsafe[i];
	return NULL;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && !strcmp(s + n - k, end);
}

static int safe_open(const struct hp_io *io, int dir, const char *name,
		     int flags, mode_t mode)
{
	struct safety *s = (struct safety *)io;
	int fd = BASE.open(io, dir, name, flags, mode);

	if (fd < 0)
		return fd;
	assert_true(fd < 256);
	snprintf(s->name[fd], sizeof s->name[fd], "%s", name);
	s->parent[fd] = dir == AT_FDCWD;
	if (!strcmp(name, "journal.hpdsl"))
		s->out = true;
	if (!strncmp(name, ".chunk-", 7) && !s->renamed)
		assert_false(s->out); /* the journal has its name */
	return fd;
}

static ssize_t safe_pwrite(const struct hp_io *io, int fd, const void *buf,
			   size_t n, uint64_t off)
{
	struct safety *s = (struct safety *)io;

	if (!unsafe(s, s->name[fd]))
		strcpy(unsafe(s, ""), s->name[fd]);
	if (!strcmp(s->name[fd], "journal.hpdsl")) {
		s->recorded += n == HP_JOURNAL_RECORD;
		if (off >= HP_JOURNAL_BODY)
			s->body = true;
		else
			assert_false(s->body); /* before the head says so */
	}
	return BASE.pwrite(io, fd, buf, n, off);
}

static int safe_fsync(const struct hp_io *io, int fd)
{
	struct safety *s = (struct safety *)io;
	char *name = unsafe(s, s->name[fd]);
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	if (S_ISDIR(st.st_mode))
		*(s->parent[fd] ? &s->above : &s->out) = false;
	else if (!strcmp(s->name[fd], "journal.hpdsl"))
		s->body = false;
	if (name)
		*name = '\0';
	return BASE.fsync(io, fd);
}

static int safe_close(const struct hp_io *io, int fd)
{
	const struct safety *s = (const struct safety *)io;
	int r = BASE.close(io, fd);

	return s->close_fails && ends_with(s->name[fd], s->close_fails) ? -EIO :
									  r;
}

static int safe_rename(const struct hp_io *io, int old_dir,
		       const char *old_name, int new_dir, const char *new_name,
		       unsigned flags)
{
	struct safety *s = (struct safety *)io;

	assert_null(unsafe(s, old_name));
	if (!strncmp(new_name, "chunk-", 6)) {
		assert_null(unsafe(s, "journal.hpdsl"));
		assert_true(s->recorded > 0);
		s->recorded = 0;
	}
	if (!strcmp(new_name, "dataset.yaml"))
		assert_false(s->out); /* all that it names */
	*(new_name[0] == '.' || flags ? &s->above : &s->out) = true;
	s->renamed++;
	return BASE.rename(io, old_dir, old_name, new_dir, new_name, flags);
}

static int safe_unlink(const struct hp_io *io, int dir, const char *name,
		       int flags)
{
	struct safety *s = (struct safety *)io;

	if (!strcmp(name, "journal.hpdsl")) {
		assert_false(s->out);
		assert_false(s->above);
		s->out = true;
	}
	return BASE.unlink(io, dir, name, flags);
}

static int safe_mkdir(const struct hp_io *io, int dir, const char *name,
		      mode_t mode)
{
	((struct safety *)io)->above = true;
	return BASE.mkdir(io, dir, name, mode);
}

static void safety_begin(struct safety *s, const char *close_fails)
{
	*s = (struct safety){ .io = hp_io_system, .close_fails = close_fails };
	s->io.open = safe_open;
	s->io.pwrite = safe_pwrite;
	s->io.fsync = safe_fsync;
	s->io.close = safe_close;
	s->io.rename = safe_rename;
	s->io.unlink = safe_unlink;
	s->io.mkdir = safe_mkdir;
}

/* Each thing is safe before the next relies on it. */
static void test_safe_order(void **state)
{
	static struct safety s;
	struct hpdsl_error err;
	struct packed p;

	(void)state;
	begin(&p);
	for (int replace = 0; replace < 2; replace++) {
		safety_begin(&s, NULL);
		assert_int_equal(packed_try(&p,
					    (struct hpdsl_pack_options){
						    .force = replace,
						    .chunks = 2,
						    .threads = HPDSL_SERIAL,
						    .watch.io = &s.io },
					    &err),
				 0);
		assert_false(s.out);
		assert_false(s.above);
		assert_true(s.renamed >= 4);
	}
	packed_end(&p);
}

/* A file system may tell only then that it has lost something. */
static void test_close_fails(void **state)
{
	const char *const names[] = { ".chunk-000000.tar.part",
				      ".index.hpdsl.part",
				      ".dataset.yaml.part" };
	struct hpdsl_unpack_options opt = { .threads = HPDSL_SERIAL };
	struct hpdsl_unpack_report report;
	struct hpdsl_dataset *ds;
	static struct safety s;
	struct hpdsl_error err;
	struct packed p;

	(void)state;
	begin(&p);
	for (int i = 0; i < 3; i++) {
		safety_begin(&s, names[i]);
		assert_int_equal(packed_try(&p,
					    (struct hpdsl_pack_options){
						    .force = true,
						    .threads = HPDSL_SERIAL,
						    .watch.io = &s.io },
					    &err),
				 -EIO);
		assert_non_null(strstr(err.msg, "cannot close"));
		assert_false(packed_has(&p, "out/dataset.yaml"));
	}
	packed_pack(&p, (struct hpdsl_pack_options){ .force = true });
	safety_begin(&s, "-000001.part");
	opt.watch.io = &s.io;
	assert_int_equal(hpdsl_open(p.out, NULL, &ds, &err), 0);
	assert_true(hpdsl_unpack(ds, packed_at(&p, "back"), &opt, &report,
				 &err) < 0);
	hpdsl_close(ds);
	packed_end(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_safe_order),
		cmocka_unit_test(test_close_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
