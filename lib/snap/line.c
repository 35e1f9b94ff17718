/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line of a snapshot's text: every field is checked, and that they fit
 * together.  What dump does not write is not taken, so that an editor or a
 * transfer that changed something does not go by unseen.
 */
#include "snap/text.h"

#include "base/error.h"
#include "base/path.h"

#include <inttypes.h>
#include <string.h>

enum { FIELDS = 6 }; /* before the path */

struct field {
	const char *p;
	size_t len;
};

/* A field, fit to print. */
struct shown {
	char text[HP_PRINTABLE];
};

static const char *show(const struct field *f, struct shown *s)
{
	return hp_printable(f->p, f->len, s->text);
}

static bool is_dash(const struct field *f)
{
	return f->len == 1 && f->p[0] == '-';
}

/* ---- Numbers ---------------------------------------------------------- */

static bool digits(const char *s, size_t len, unsigned base, uint64_t *ret)
{
	uint64_t v = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned d = (unsigned char)s[i] - (unsigned)'0';

		if (d >= base || __builtin_mul_overflow(v, base, &v) ||
		    __builtin_add_overflow(v, d, &v))
			return false;
	}
	*ret = v;
	return len > 0;
}

/* Decimal, without zeros in front. */
static bool decimal(const char *s, size_t len, uint64_t *ret)
{
	return len && (s[0] != '0' || len == 1) && digits(s, len, 10, ret);
}

static bool take_mtime(const struct field *f, struct hp_node *n)
{
	const char *dot = memchr(f->p, '.', f->len), *s = f->p;
	bool minus = f->len && *s == '-';
	uint64_t seconds, nsec;

	s += minus;
	if (!dot || !decimal(s, (size_t)(dot - s), &seconds) ||
	    f->p + f->len - dot != 10 || !digits(dot + 1, 9, 10, &nsec) ||
	    seconds > (uint64_t)INT64_MAX + minus || (minus && !seconds))
		return false;
	n->mtime = minus ? -(int64_t)(seconds - 1) - 1 : (int64_t)seconds;
	n->nsec = (uint32_t)nsec;
	return true;
}

static bool take_checksum(const struct field *f, uint64_t *ret)
{
	uint64_t v = 0;

	for (size_t i = 0; i < f->len; i++) {
		char c = f->p[i];
		bool letter = c >= 'a' && c <= 'f';

		if (!letter && (c < '0' || c > '9'))
			return false;
		v = v << 4 | (uint64_t)(c - (letter ? 'a' - 10 : '0'));
	}
	*ret = v;
	return f->len == 16;
}

static int take_numbers(const struct hp_snap_lines *l, const struct field *f,
			struct hp_node *n, struct hpdsl_error *err)
{
	uint32_t type = f[0].len == 1 ? hp_snap_type_of(f[0].p[0]) : 0;
	uint64_t mode;
	struct shown s;

	if (!type)
		return hp_snap_lines_fail(l, err, "no type is '%s'",
					  show(&f[0], &s));
	if (f[1].len != 4 || !digits(f[1].p, 4, 8, &mode))
		return hp_snap_lines_fail(l, err,
					  "mode '%s' is not 4 octal digits",
					  show(&f[1], &s));
	n->mode = (uint16_t)(type | mode);
	if (!decimal(f[2].p, f[2].len, &n->size))
		return hp_snap_lines_fail(l, err,
					  "size '%s' is no decimal number",
					  show(&f[2], &s));
	if (!take_mtime(&f[3], n))
		return hp_snap_lines_fail(
			l, err, "mtime '%s' is not seconds, a dot and 9 digits",
			show(&f[3], &s));
	return 0;
}

/* Member and checksum: both or none, of files of a dataset. */
static int take_member(const struct hp_snap_lines *l, const struct field *f,
		       struct hp_node *n, struct hpdsl_error *err)
{
	bool wanted = l->dataset && S_ISREG(n->mode);
	struct shown s;

	if (is_dash(&f[4]) && is_dash(&f[5])) {
		if (wanted)
			return hp_snap_lines_fail(
				l, err,
				"a file of a dataset has a member number and "
				"a checksum");
		if (S_ISREG(n->mode))
			n->member = HPDSL_NO_MEMBER;
		return 0;
	}
	if (!wanted)
		return hp_snap_lines_fail(
			l, err,
			"only files of a dataset have a member number and a "
			"checksum");
	if (!decimal(f[4].p, f[4].len, &n->member) ||
	    n->member >= HP_TREE_ENTRIES)
		return hp_snap_lines_fail(l, err, "member '%s' is no number",
					  show(&f[4], &s));
	if (!take_checksum(&f[5], &n->checksum))
		return hp_snap_lines_fail(
			l, err, "checksum '%s' is not 16 hexadecimal digits",
			show(&f[5], &s));
	return 0;
}

/* ---- Names ------------------------------------------------------------ */

static int fail_byte(const struct hp_snap_lines *l, const char *bad,
		     struct hpdsl_error *err)
{
	unsigned char c = (unsigned char)*bad;

	if (c == '\\')
		return hp_snap_lines_fail(
			l, err,
			"a backslash that begins none of \\\\ \\n \\t "
			"\\x01 .. \\xff");
	if (!c)
		return hp_snap_lines_fail(
			l, err, "byte 0x00, which cannot be in a name");
	if (c == '\t')
		return hp_snap_lines_fail(l, err,
					  "a second tab; one in a name is \\t");
	return hp_snap_lines_fail(
		l, err, "byte 0x%02x, which has to be written \\x%02x", c, c);
}

/* Unescaped, into the arena. */
static int take_string(const struct hp_snap_lines *l, const struct field *f,
		       struct hp_arena *arena, struct field *ret,
		       struct hpdsl_error *err)
{
	char *s = hp_arena_add(arena, f->p, f->len);
	const char *bad;
	ssize_t n;

	if (!s)
		return hp_fail_nomem(err);
	n = hp_snap_unescape(s, f->len, s, &bad);
	if (n < 0)
		return fail_byte(l, bad, err);
	s[n] = '\0';
	*ret = (struct field){ s, (size_t)n };
	return 0;
}

static int take_path(const struct hp_snap_lines *l, const struct field *f,
		     struct hp_arena *arena, struct hp_leaf *ret,
		     struct hpdsl_error *err)
{
	struct field path;
	struct shown s;
	int r = take_string(l, f, arena, &path, err);

	if (r < 0)
		return r;
	if (path.len == 1 && path.p[0] == '.') {
		if (!S_ISDIR(ret->node.mode))
			return hp_snap_lines_fail(l, err,
						  "the top is no folder");
		ret->path = path.p + 1;
		return 0;
	}
	if (path.len > HPDSL_PATH_MAX)
		return hp_snap_lines_fail(l, err, "a path over %d bytes: '%s'",
					  HPDSL_PATH_MAX, show(&path, &s));
	if (!hp_path_valid(path.p, path.len))
		return hp_snap_lines_fail(l, err,
					  "'%s' is no path below the top",
					  show(&path, &s));
	ret->path = path.p;
	return 0;
}

/* tab: behind the path, or NULL. */
static int take_target(const struct hp_snap_lines *l, const char *tab,
		       struct hp_arena *arena, struct hp_node *n,
		       struct hpdsl_error *err)
{
	struct field f, target;
	int r;

	if (!S_ISLNK(n->mode))
		return !tab ? 0 :
			      hp_snap_lines_fail(l, err,
						 "a tab and a target, but no "
						 "symbolic link");
	if (!tab)
		return hp_snap_lines_fail(l, err,
					  "a symbolic link without a target");
	f = (struct field){ tab + 1, (size_t)(l->p + l->len - tab - 1) };
	r = take_string(l, &f, arena, &target, err);
	if (r < 0)
		return r;
	if (target.len != n->size)
		return hp_snap_lines_fail(
			l, err, "size %" PRIu64 ", but the target has %zu",
			n->size, target.len);
	n->target = target.p;
	return 0;
}

/* ---- The line --------------------------------------------------------- */

/* What no dataset has; see hpdsl-format(5), ENTRIES. */
static int check_dataset(const struct hp_snap_lines *l, const struct hp_node *n,
			 struct hpdsl_error *err)
{
	if (!l->dataset)
		return 0;
	if (!S_ISREG(n->mode) && !S_ISDIR(n->mode))
		return hp_snap_lines_fail(
			l, err, "a dataset has files and folders only");
	if (n->mode & 07000)
		return hp_snap_lines_fail(l, err,
					  "modes in a dataset are up to 0777");
	if (S_ISDIR(n->mode) &&
	    ((n->mode & 07777) != 0755 || n->size || n->mtime || n->nsec))
		return hp_snap_lines_fail(l, err,
					  "a folder of a dataset is 'd 0755 0 "
					  "0.000000000'");
	return 0;
}

static bool split(const struct hp_snap_lines *l, struct field f[FIELDS + 1])
{
	const char *p = l->p, *end = l->p + l->len, *blank;

	for (int i = 0; i < FIELDS; i++) {
		blank = memchr(p, ' ', (size_t)(end - p));
		if (!blank)
			return false;
		f[i] = (struct field){ p, (size_t)(blank - p) };
		p = blank + 1;
	}
	f[FIELDS] = (struct field){ p, (size_t)(end - p) };
	return true;
}

int hp_snap_line_parse(const struct hp_snap_lines *l, struct hp_arena *arena,
		       struct hp_leaf *ret, struct hpdsl_error *err)
{
	struct field f[FIELDS + 1], *path = &f[FIELDS];
	const char *tab;
	int r;

	*ret = (struct hp_leaf){ .path = NULL };
	if (!split(l, f))
		return hp_snap_lines_fail(
			l, err,
			"not the 7 fields of an entry, one blank "
			"between them");
	tab = memchr(path->p, '\t', path->len);
	if (tab)
		path->len = (size_t)(tab - path->p);
	r = take_numbers(l, f, &ret->node, err);
	if (r == 0)
		r = check_dataset(l, &ret->node, err);
	if (r == 0)
		r = take_member(l, f, &ret->node, err);
	if (r == 0)
		r = take_path(l, path, arena, ret, err);
	if (r == 0)
		r = take_target(l, tab, arena, &ret->node, err);
	return r;
}
