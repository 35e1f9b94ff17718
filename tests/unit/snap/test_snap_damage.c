/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot with damage gives no wrong answer: every bit, every cut.  And one
 * that was made with intent, its checksums right, crashes nothing and lets
 * nobody walk in circles; what does not fit together in it is found by the
 * proof.
 */
#include "forge_snap.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- A small tree ----------------------------------------------------- */

/* Entries: 0 top, 1 a/, 2 b/, 3 e, 4 l, 5 a/d/, 6 a/f, 7 b/x, 8 a/d/g. */
enum { ENTRIES = 9 };

static void small_tree(struct spec *v)
{
	static const char *const paths[ENTRIES] = { "",	   "a",	  "b",
						    "e",   "l",	  "a/d",
						    "a/f", "b/x", "a/d/g" };

	for (size_t i = 0; i < ENTRIES; i++) {
		bool folder = i < 3 || i == 5;

		v[i] = (struct spec){ .path = paths[i],
				      .mode = folder ? S_IFDIR | 0755 :
						       S_IFREG | 0644,
				      .size = 100 + i,
				      .mtime = 1700000000,
				      .nsec = 5 };
	}
	v[4].mode = S_IFLNK | 0777;
	v[4].target = "a/f";
	v[4].size = 3;
}

static struct snap_image small(void)
{
	struct spec v[ENTRIES];

	small_tree(v);
	return snap_make(v, ENTRIES, false);
}

/* The same of a dataset: no link, members. */
static struct snap_image small_dataset(void)
{
	static const uint64_t members[ENTRIES] = {
		[3] = 9, [4] = 4, [6] = 2, [7] = 5, [8] = 7
	};
	struct spec v[ENTRIES];

	small_tree(v);
	for (size_t i = 0; i < ENTRIES; i++) {
		if (S_ISDIR(v[i].mode)) {
			v[i].size = v[i].nsec = 0;
			v[i].mtime = 0;
			continue;
		}
		v[i].mode = S_IFREG | 0644;
		v[i].member = members[i];
		v[i].checksum = 1000 + i;
	}
	return snap_make(v, ENTRIES, true);
}

/* ---- Right at the end of what may be read ----------------------------- */

struct guarded {
	uint8_t *p;
	size_t n;
	void *map;
	size_t map_size;
};

static struct guarded guard(const uint8_t *p, size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct guarded g = { .n = n };
	size_t room = (n + page - 1) / page * page;

	g.map_size = room + page;
	g.map = mmap(NULL, g.map_size, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(g.map != MAP_FAILED);
	assert_int_equal(mprotect((char *)g.map + room, page, PROT_NONE), 0);
	g.p = (uint8_t *)g.map + room - n;
	if (n)
		memcpy(g.p, p, n);
	return g;
}

static void unguard(struct guarded *g)
{
	munmap(g->map, g->map_size);
}

/* Opens and proves: 0, or what either found. */
static int judge(const uint8_t *p, size_t n, struct hpdsl_error *err)
{
	struct hpdsl_snapshot *s;
	int r = hp_snap_open(p, n, "it", &s, err);

	if (r < 0)
		return r;
	r = hpdsl_snapshot_verify(s, NULL, NULL, err);
	hpdsl_snapshot_close(s);
	return r;
}

/* ---- Bits and cuts ---------------------------------------------------- */

static bool is_sound(int code)
{
	return code == HPDSL_ECORRUPT || code == HPDSL_ETOONEW ||
	       code == HPDSL_ENOTOURS;
}

/* The same of what answers many at once. */
static void lists_right_or_refused(const struct hpdsl_snapshot *s)
{
	static const char want[] = "a\0b\0e\0l", paths[] = "b/x\0a/d/g\0e\0no";
	char buf[HPDSL_PATH_MAX + 1];
	uint8_t types[ENTRIES];
	uint64_t cursor = 0, number[4], size[4];
	uint32_t mode[4];
	struct hpdsl_found found = { number, size, mode };
	struct hpdsl_name_list names = {
		.buf = buf, .room = sizeof buf, .types = types, .most = ENTRIES
	};
	struct hpdsl_extension *e;
	struct hpdsl_error err;
	int64_t n = hpdsl_snapshot_names(s, 0, &cursor, &names, &err);

	assert_true(n == HPDSL_ECORRUPT ||
		    (n == 4 && names.first == 1 && names.total == 4 &&
		     names.used == sizeof want &&
		     !memcmp(buf, want, sizeof want) &&
		     !memcmp(types, "\4\4\10\12", 4)));
	n = hpdsl_snapshot_lookup_list(s, paths, sizeof paths, 4, &found, &err);
	assert_true(n == HPDSL_ECORRUPT ||
		    (n == 3 && number[0] == 8 && number[1] == 7 &&
		     number[2] == 3 && number[3] == HPDSL_NO_ENTRY &&
		     size[0] == 107 && size[1] == 108 && size[2] == 103 &&
		     size[3] == UINT64_MAX && mode[1] == (S_IFREG | 0644) &&
		     mode[3] == 0));
	n = hpdsl_snapshot_extensions(s, 0, &e, &err);
	assert_true(n == HPDSL_ECORRUPT || n == 1);
	if (n == 1) {
		assert_true(!e->len && e->files == 4 && e->bytes == 424);
		hpdsl_extensions_free(e);
	}
}

/* Whatever it answers is what a sound one does. */
static void right_or_refused(const struct hpdsl_snapshot *s,
			     const struct spec *v)
{
	char path[HPDSL_PATH_MAX + 1];
	struct hpdsl_error err;
	struct hpdsl_entry e, all[ENTRIES];
	uint64_t cursor = 0;
	const char *target;
	size_t len;
	int64_t n;
	int r;

	for (size_t i = 0; i < ENTRIES; i++) {
		r = hpdsl_snapshot_stat(s, i, &e, &err);
		assert_true(r == HPDSL_ECORRUPT ||
			    (r == 0 && e.size == v[i].size &&
			     e.mode == v[i].mode && e.mtime == v[i].mtime &&
			     e.mtime_nsec == v[i].nsec &&
			     e.parent == v[i].parent &&
			     !strcmp(e.name, v[i].path + v[i].base)));
		r = hpdsl_snapshot_lookup(s, v[i].path, v[i].len, &e, &err);
		assert_true(r == HPDSL_ECORRUPT ||
			    (r == 0 && e.number == i && e.size == v[i].size));
		r = hpdsl_snapshot_path(s, i, path, &len, &err);
		assert_true(r == HPDSL_ECORRUPT ||
			    (r == 0 && !strcmp(path, v[i].path)));
	}
	n = hpdsl_snapshot_readdir(s, 0, &cursor, all, ENTRIES, &err);
	assert_true(n == HPDSL_ECORRUPT || n == 4);
	e.number = 4;
	r = hpdsl_snapshot_target(s, &e, &target, &err);
	assert_true(r == HPDSL_ECORRUPT || (r == 0 && !strcmp(target, "a/f")));
	r = hpdsl_snapshot_lookup(s, "absent", 6, &e, &err);
	assert_true(r == HPDSL_ECORRUPT || r == -ENOENT);
}

static void test_every_bit(void **state)
{
	struct hpdsl_error err;
	struct spec v[ENTRIES];
	struct snap_image im;

	(void)state;
	small_tree(v);
	im = snap_make(v, ENTRIES, false);
	assert_int_equal(judge(im.p, im.n, &err), 0);
	for (size_t bit = 0; bit < im.n * 8; bit++) {
		struct hpdsl_snapshot *s;

		im.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (!is_sound(judge(im.p, im.n, &err)))
			fail_msg("bit %zu of %zu is missed", bit, im.n * 8);
		assert_int_equal(strncmp(err.msg, "it: ", 4), 0);
		if (hp_snap_open(im.p, im.n, "it", &s, &err) == 0) {
			right_or_refused(s, v);
			lists_right_or_refused(s);
			hpdsl_snapshot_close(s);
		}
		im.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_int_equal(judge(im.p, im.n, &err), 0);
	free(im.p);
}

static void test_every_bit_of_dataset(void **state)
{
	struct snap_image im = small_dataset();
	struct hpdsl_error err;

	(void)state;
	if (judge(im.p, im.n, &err))
		fail_msg("%s", err.msg);
	for (size_t bit = 0; bit < im.n * 8; bit++) {
		im.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
		if (!is_sound(judge(im.p, im.n, &err)))
			fail_msg("bit %zu of %zu is missed", bit, im.n * 8);
		im.p[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	free(im.p);
}

static void test_every_cut(void **state)
{
	struct snap_image im = small();
	struct hpdsl_error err;

	(void)state;
	for (size_t n = 0; n <= im.n; n++) {
		struct guarded g = guard(im.p, n);
		int r = judge(g.p, n, &err);

		assert_true(n == im.n ? r == 0 : is_sound(r));
		snap_repair(g.p, n);
		r = judge(g.p, n, &err);
		assert_true(n == im.n ? r == 0 : is_sound(r));
		unguard(&g);
	}
	free(im.p);
}

/* And bytes too many. */
static void test_longer(void **state)
{
	struct snap_image im = small();
	struct hpdsl_error err;

	(void)state;
	im.p = realloc(im.p, im.n + 8);
	memset(im.p + im.n, 0, 8);
	assert_int_equal(judge(im.p, im.n + 8, &err), HPDSL_ECORRUPT);
	hp_put64(im.p + 16, im.n + 8);
	snap_seal(im);
	assert_int_equal(judge(im.p, im.n + 8, &err), HPDSL_ECORRUPT);
	assert_string_equal(err.msg,
			    "it: header: the sections do not fill the file");
	free(im.p);
}

/* ---- Hostile ---------------------------------------------------------- */

static void put16(struct snap_image im, uint64_t entry, size_t at, uint16_t v)
{
	hp_put16(snap_entry(im, entry) + at, v);
}

static void put40(struct snap_image im, uint64_t entry, size_t at, uint64_t v)
{
	hp_put40(snap_entry(im, entry) + at, v);
}

static void put48(struct snap_image im, uint64_t entry, size_t at, uint64_t v)
{
	hp_put48(snap_entry(im, entry) + at, v);
}

static uint8_t *folder_row(struct snap_image im, uint64_t number)
{
	return snap_section(im, HP_SNAP_FOLDERS, NULL) + number * 12;
}

static char *name_of(struct snap_image im, uint64_t entry)
{
	return (char *)snap_section(im, HP_SNAP_NAMES, NULL) +
	       hp_get48(snap_entry(im, entry) + 24);
}

static uint8_t *slots_of(struct snap_image im, uint64_t *ret_n)
{
	uint8_t *p = snap_section(im, HP_SNAP_LOOKUP, ret_n);

	*ret_n /= 8;
	return p;
}

/* What was done; each is met behind checksums that agree. */
static void own_parent(struct snap_image im)
{
	put40(im, 5, 30, 5);
}
static void parents_circle(struct snap_image im)
{
	put40(im, 1, 30, 5);
}
static void parent_beyond(struct snap_image im)
{
	put40(im, 5, 30, 999);
}
static void parent_is_file(struct snap_image im)
{
	put40(im, 7, 30, 3);
}
static void other_parent(struct snap_image im)
{
	put40(im, 7, 30, 1);
}
static void top_in_folder(struct snap_image im)
{
	put40(im, 0, 30, 1);
}
static void top_is_file(struct snap_image im)
{
	put16(im, 0, 20, S_IFREG | 0644);
}
static void top_has_name(struct snap_image im)
{
	put16(im, 0, 22, 1);
}
static void type_unknown(struct snap_image im)
{
	put16(im, 3, 20, 0x7000);
}
static void type_zero(struct snap_image im)
{
	put16(im, 3, 20, 0644);
}
static void time_beyond(struct snap_image im)
{
	hp_put32(snap_entry(im, 3) + 16, 1000000000);
}
static void name_empty(struct snap_image im)
{
	put16(im, 3, 22, 0);
}
static void name_too_long(struct snap_image im)
{
	put16(im, 3, 22, 4096);
}
static void name_has_no_end(struct snap_image im)
{
	put16(im, 3, 22, 2);
}
static void name_beyond(struct snap_image im)
{
	put48(im, 3, 24, 1000);
}
static void name_wraps(struct snap_image im)
{
	put48(im, 3, 24, (1ULL << 48) - 1);
}
static void name_shared(struct snap_image im)
{
	put48(im, 7, 24, hp_get48(snap_entry(im, 3) + 24));
}
static void name_slash(struct snap_image im)
{
	*name_of(im, 3) = '/';
}
static void name_nul(struct snap_image im)
{
	*name_of(im, 3) = '\0';
}
static void name_dot(struct snap_image im)
{
	*name_of(im, 3) = '.';
}
static void names_unsorted(struct snap_image im)
{
	*name_of(im, 3) = 'z';
}
static void names_equal(struct snap_image im)
{
	*name_of(im, 3) = 'b';
}
static void name_changed(struct snap_image im)
{
	*name_of(im, 7) = 'y';
}
static void folder_number_beyond(struct snap_image im)
{
	put40(im, 5, 35, 4);
}
static void folder_number_other(struct snap_image im)
{
	put40(im, 5, 35, 3);
}
static void folder_number_top(struct snap_image im)
{
	put40(im, 0, 35, 1);
}
static void member_of_none(struct snap_image im)
{
	put40(im, 3, 35, 1);
}
static void fifo_linked(struct snap_image im)
{
	put16(im, 3, 20, S_IFIFO | 0600);
	put40(im, 3, 35, 1);
}
static void children_beyond(struct snap_image im)
{
	hp_put48(folder_row(im, 3), 10);
}
static void children_wrap(struct snap_image im)
{
	hp_put48(folder_row(im, 1), (1ULL << 48) - 1);
}
static void children_backwards(struct snap_image im)
{
	hp_put48(folder_row(im, 1), 6);
	hp_put48(folder_row(im, 2), 5);
}
static void children_above(struct snap_image im)
{
	hp_put48(folder_row(im, 2), 1);
}
static void children_shared(struct snap_image im)
{
	hp_put48(folder_row(im, 2), 5);
}
static void children_skipped(struct snap_image im)
{
	hp_put48(folder_row(im, 0), 2);
}
static void end_beyond(struct snap_image im)
{
	hp_put48(folder_row(im, 1) + 6, 5);
}
static void end_before(struct snap_image im)
{
	hp_put48(folder_row(im, 2) + 6, 2);
}
static void end_wrong(struct snap_image im)
{
	hp_put48(folder_row(im, 1) + 6, 2);
}
static void top_ends_early(struct snap_image im)
{
	hp_put48(folder_row(im, 0) + 6, 3);
}
/* No entry is folder 3. */
static void folder_of_none(struct snap_image im)
{
	put16(im, 2, 20, S_IFIFO | 0600);
	put40(im, 2, 35, 0);
	hp_put48(folder_row(im, 0) + 6, 3);
}
static void last_row_first(struct snap_image im)
{
	hp_put48(folder_row(im, 4), 8);
}
static void last_row_end(struct snap_image im)
{
	hp_put48(folder_row(im, 4) + 6, 3);
}
static void target_beyond(struct snap_image im)
{
	put40(im, 4, 35, 4);
}
static void target_wraps(struct snap_image im)
{
	hp_put64(snap_entry(im, 4), UINT64_MAX);
}
static void target_wraps_too(struct snap_image im)
{
	hp_put64(snap_entry(im, 4), UINT64_MAX - 1);
}
static void target_nul(struct snap_image im)
{
	snap_section(im, HP_SNAP_TARGETS, NULL)[1] = 0;
}
static void target_has_no_end(struct snap_image im)
{
	hp_put64(snap_entry(im, 4), 2);
}
static void size_changed(struct snap_image im)
{
	hp_put64(snap_entry(im, 3), 1);
}
static void mode_changed(struct snap_image im)
{
	put16(im, 3, 20, S_IFREG | 0600);
}
static void digest_other(struct snap_image im)
{
	im.p[64] ^= 1;
}
static void files_digest_other(struct snap_image im)
{
	im.p[80] ^= 1;
}
static void names_a_dataset(struct snap_image im)
{
	im.p[96] = 1;
}
static void names_a_pack(struct snap_image im)
{
	im.p[127] = 1;
}
static void header_entries(struct snap_image im)
{
	hp_put64(im.p + 24, UINT64_MAX);
}
static void header_entries_wrap(struct snap_image im)
{
	/* 40 times that is what there is, modulo 2^64. */
	hp_put64(im.p + 24, ENTRIES + (1ULL << 61));
}
static void header_no_entries(struct snap_image im)
{
	hp_put64(im.p + 24, 0);
}
static void header_folders(struct snap_image im)
{
	hp_put64(im.p + 32, UINT64_MAX);
}
static void header_no_folders(struct snap_image im)
{
	hp_put64(im.p + 32, 0);
}
static void header_files(struct snap_image im)
{
	hp_put64(im.p + 48, UINT64_MAX);
}
static void header_links(struct snap_image im)
{
	hp_put64(im.p + 128, UINT64_MAX);
}
static void header_one_file(struct snap_image im)
{
	hp_put64(im.p + 48, 3);
}
static void header_no_link(struct snap_image im)
{
	hp_put64(im.p + 128, 0);
}
static void header_bytes(struct snap_image im)
{
	im.p[40] ^= 1;
}
static void header_flags(struct snap_image im)
{
	hp_put32(im.p + 60, 2);
}
static void header_dataset(struct snap_image im)
{
	hp_put32(im.p + 60, 1);
}
static void header_version(struct snap_image im)
{
	hp_put32(im.p + 8, 2);
}
static void header_sections(struct snap_image im)
{
	hp_put32(im.p + 56, 5);
}
static void header_many(struct snap_image im)
{
	hp_put32(im.p + 56, UINT32_MAX);
}
static void header_length(struct snap_image im)
{
	hp_put32(im.p + 12, 144);
	hp_put32(im.p + 56, 0);
}
static void row_size(struct snap_image im)
{
	hp_put32(im.p + 136 + 24, 48);
}
static void section_place(struct snap_image im)
{
	hp_put64(im.p + 136 + 8, 16);
}
static void section_length(struct snap_image im)
{
	hp_put64(im.p + 136 + 16, UINT64_MAX - 6);
}
static void section_kind(struct snap_image im)
{
	hp_put32(im.p + 136, 2);
}
static void lookup_full(struct snap_image im)
{
	uint64_t n;
	uint8_t *p = slots_of(im, &n);

	for (uint64_t i = 0; i < n; i++)
		hp_put64(p + i * 8, 7ULL << 40 | 3);
}
static void lookup_empty(struct snap_image im)
{
	uint64_t n;
	uint8_t *p = slots_of(im, &n);

	memset(p, 0, n * 8);
}
/* All slots lead to one number, whatever the tag. */
static void lead_to(struct snap_image im, uint64_t number)
{
	uint64_t n;
	uint8_t *p = slots_of(im, &n);

	for (uint64_t i = 0; i < n; i++)
		if (hp_get64(p + i * 8))
			hp_put64(p + i * 8,
				 (hp_get64(p + i * 8) & ~((1ULL << 40) - 1)) |
					 number);
}
static void lookup_top(struct snap_image im)
{
	lead_to(im, 1);
}
static void lookup_none(struct snap_image im)
{
	lead_to(im, 0);
}
static void lookup_beyond(struct snap_image im)
{
	lead_to(im, ENTRIES + 1);
}
static void lookup_far(struct snap_image im)
{
	lead_to(im, (1ULL << 40) - 1);
}
static void lookup_one(struct snap_image im)
{
	lead_to(im, 4);
}
static void lookup_swapped(struct snap_image im)
{
	uint64_t n, first = 0;
	uint8_t *p = slots_of(im, &n);

	for (uint64_t i = 0; i < n; i++) {
		uint64_t slot = hp_get64(p + i * 8);

		if (slot && first) {
			hp_put64(p + i * 8, hp_get64(p + (first - 1) * 8));
			hp_put64(p + (first - 1) * 8, slot);
			return;
		}
		if (slot)
			first = i + 1;
	}
}

static const struct defect {
	const char *name;
	void (*make)(struct snap_image im);
	const char *told; /* part of the message */
} defects[] = {
#define D(name, told)             \
	{                         \
#name, name, told \
	}
	D(own_parent, "entry 5: is in a folder that cannot be its"),
	D(parents_circle, "entry 1: is in a folder that cannot be its"),
	D(parent_beyond, "entry 5: is in a folder that cannot be its"),
	D(parent_is_file, "entry 7: lies among those of another folder"),
	D(other_parent, "entry 7: lies among those of another folder"),
	D(top_in_folder, "entry 0: is in a folder that cannot be its"),
	D(top_is_file, "entry 0: is the top, but no folder"),
	D(top_has_name, "entry 0: its name's length is impossible"),
	D(type_unknown, "entry 3: its type is unknown"),
	D(type_zero, "entry 3: its type is unknown"),
	D(time_beyond, "entry 3: has an impossible time"),
	D(name_empty, "entry 3: its name's length is impossible"),
	D(name_too_long, "entry 3: its name's length is impossible"),
	D(name_has_no_end, "entry 3: its name has no end"),
	D(name_beyond, "lie outside of section NAMES"),
	D(name_wraps, "lie outside of section NAMES"),
	D(name_shared, "entry 7: gap or overlap of names"),
	D(name_slash, "section NAMES, block 0: holds a byte that it cannot"),
	D(name_nul, "entry 3: its name is impossible"),
	D(name_dot, "entry 3: its name is impossible"),
	D(names_unsorted, "entry 4: its name is out of order"),
	D(names_equal, "entry 3: its name is out of order"),
	D(name_changed, "header: the digest is another one"),
	D(folder_number_beyond, "entry 5: has a folder number"),
	D(folder_number_other, "entry 5: has the number of another folder"),
	D(folder_number_top, "entry 0: is not the first folder"),
	D(member_of_none, "entry 3: has a member number that is impossible"),
	D(fifo_linked, "entry 3: a field that should be zero is not"),
	D(children_beyond, "folder 2: gap or overlap of entries"),
	D(children_wrap, "folder 0: gap or overlap of entries"),
	D(children_backwards, "entry 5: lies among those of another folder"),
	D(children_above, "folder 1: gap or overlap of entries"),
	D(children_shared, "folder 1: ends where it does not"),
	D(children_skipped, "folder 0: gap or overlap of entries"),
	D(end_beyond, "entry 2: has the number of another folder"),
	D(end_before, "folder 1: ends where it does not"),
	D(end_wrong, "entry 2: has the number of another folder"),
	D(top_ends_early, "folder 0: does not hold all the others"),
	D(folder_of_none, "folder 0: does not hold all the others"),
	D(last_row_first, "folder 4: is not the end of all"),
	D(last_row_end, "folder 4: is not the end of all"),
	D(target_beyond, "lie outside of section TARGETS"),
	D(target_wraps, "entry 4: its target is impossible"),
	D(target_wraps_too, "entry 4: its target is impossible"),
	D(target_nul, "entry 4: its target is impossible"),
	D(target_has_no_end, "entry 4: its target is impossible"),
	D(size_changed, "bytes of files: "),
	D(mode_changed, "header: the digest is another one"),
	D(digest_other, "header: the digest is another one"),
	D(files_digest_other, "header: the files digest is another one"),
	D(names_a_dataset, "header: names a dataset"),
	D(names_a_pack, "header: names a dataset"),
	D(header_entries, "header: counts are impossible"),
	D(header_entries_wrap, "header: counts are impossible"),
	D(header_no_entries, "header: counts are impossible"),
	D(header_folders, "header: counts are impossible"),
	D(header_no_folders, "header: counts are impossible"),
	D(header_files, "header: counts are impossible"),
	D(header_links, "header: counts are impossible"),
	D(header_one_file, "files: 4, there should be 3"),
	D(header_no_link, "symbolic links: 1, there should be 0"),
	D(header_bytes, "bytes of files: "),
	D(header_flags, "unknown flags 0x2"),
	D(header_dataset, "has attributes that a dataset does not know"),
	D(header_version, "snapshot of version 2, this program reads"),
	D(header_sections, "header: its length and sections disagree"),
	D(header_many, "header: too many sections"),
	D(header_length, "header: sections are missing"),
	D(row_size, "a section's row size or flags are wrong"),
	D(section_place, "header: a section's place is impossible"),
	D(section_length, "header: a section's place is impossible"),
	D(section_kind, "header: sections are missing or out of order"),
	D(lookup_full, "lookup slot 0: has the tag of another path"),
	D(lookup_empty, "lookup table: 0 entries of 8"),
	D(lookup_top, "no such entry"),
	D(lookup_none, "no such entry"),
	D(lookup_beyond, "no such entry"),
	D(lookup_far, "no such entry"),
	D(lookup_one, "has the tag of another path"),
	D(lookup_swapped, "is not where it is looked for"),
#undef D
};

static void try_defect(struct snap_image im, const struct defect *d)
{
	struct hpdsl_error err = { 0 };
	struct hpdsl_snapshot *s;
	struct guarded g;

	d->make(im);
	snap_repair(im.p, im.n);
	g = guard(im.p, im.n);
	if (!is_sound(judge(g.p, g.n, &err)))
		fail_msg("%s: is taken for sound", d->name);
	if (strncmp(err.msg, "it: ", 4) || !strstr(err.msg, d->told))
		fail_msg("%s: '%s'", d->name, err.msg);
	if (hp_snap_open(g.p, g.n, "it", &s, &err) == 0) {
		snap_ask_all(s);
		hpdsl_snapshot_close(s);
	}
	unguard(&g);
}

static void test_hostile(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof defects / sizeof defects[0]; i++) {
		struct snap_image im = small();

		try_defect(im, &defects[i]);
		free(im.p);
	}
}

/* A search goes on to the end of the table, and no further. */
static void test_no_end(void **state)
{
	struct snap_image im = small();
	struct hpdsl_path p[3] = { { "absent", 6 }, { "", 0 }, { "e", 1 } };
	struct hpdsl_entry e[3];
	struct hpdsl_error err;
	struct hpdsl_snapshot *s;
	int codes[3];

	(void)state;
	lookup_full(im);
	snap_repair(im.p, im.n);
	assert_int_equal(hp_snap_open(im.p, im.n, "it", &s, &err), 0);
	assert_int_equal(hpdsl_snapshot_lookup(s, "absent", 6, e, &err),
			 HPDSL_ECORRUPT);
	assert_string_equal(err.msg, "it: the lookup table has no end");
	err.msg[0] = '\0';
	assert_int_equal(hpdsl_snapshot_lookup_many(s, p, 3, e, codes, &err),
			 HPDSL_ECORRUPT);
	assert_string_equal(err.msg, "it: the lookup table has no end");
	assert_int_equal(codes[0], HPDSL_ECORRUPT);
	assert_int_equal(codes[1], 0);
	assert_int_equal(codes[2], HPDSL_ECORRUPT);
	hpdsl_snapshot_close(s);
	free(im.p);
}

/* ---- Of a dataset ----------------------------------------------------- */

static void folder_mode(struct snap_image im)
{
	put16(im, 2, 20, S_IFDIR | 0700);
}
static void folder_size(struct snap_image im)
{
	*snap_entry(im, 2) = 1;
}
static void set_user_id(struct snap_image im)
{
	put16(im, 3, 20, S_IFREG | 04644);
}
static void no_member(struct snap_image im)
{
	put40(im, 3, 35, 0);
}
static void same_member(struct snap_image im)
{
	put40(im, 3, 35, hp_get40(snap_entry(im, 6) + 35));
}
static void member_beyond(struct snap_image im)
{
	put40(im, 3, 35, 10);
}
static void member_far(struct snap_image im)
{
	put40(im, 3, 35, (1ULL << 40) - 1);
}
static void highest_member(struct snap_image im)
{
	put40(im, 3, 35, 8);
}
static void checksum_of_none(struct snap_image im)
{
	/* Which numbers are used: 2, 4, 5, 7, 9. */
	snap_section(im, HP_SNAP_CHECKSUMS, NULL)[0] = 1;
}
static void flag_missing(struct snap_image im)
{
	hp_put32(im.p + 60, 0);
}

static const struct defect of_datasets[] = {
#define D(name, told)             \
	{                         \
#name, name, told \
	}
	D(folder_mode, "entry 2: has attributes that a dataset does not know"),
	D(folder_size, "entry 2: has attributes that a dataset does not know"),
	D(set_user_id, "entry 3: has a mode that a dataset does not know"),
	D(no_member, "entry 3: has no member number"),
	D(same_member, "entry 6: has the member number of another one"),
	D(member_beyond, "entry 3: has a member number that is impossible"),
	D(member_far, "entry 3: has a member number that is impossible"),
	D(highest_member, "members: 8, there should be 9"),
	D(checksum_of_none, "member 0: has a checksum, but no entry"),
	D(flag_missing, "header: counts and sections disagree"),
#undef D
};

static void test_hostile_dataset(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof of_datasets / sizeof of_datasets[0];
	     i++) {
		struct snap_image im = small_dataset();

		try_defect(im, &of_datasets[i]);
		free(im.p);
	}
}

/* A dataset has no empty folders. */
static void test_empty_folder(void **state)
{
	struct spec v[2] = { { .path = "", .mode = S_IFDIR | 0755 },
			     { .path = "a", .mode = S_IFDIR | 0755 } };
	struct hpdsl_error err;
	struct snap_image im = snap_make(v, 2, true);

	(void)state;
	assert_int_equal(judge(im.p, im.n, &err), HPDSL_ECORRUPT);
	assert_string_equal(err.msg,
			    "it: entry 1: is an empty folder of a dataset");
	free(im.p);
	im = snap_make(v, 2, false);
	assert_int_equal(judge(im.p, im.n, &err), 0);
	free(im.p);
}

/* A path one byte longer than there may be: of folders, and of a file. */
static void test_long_path(void **state)
{
	static char path[HPDSL_PATH_MAX + 2];
	struct spec *v = calloc(2100, sizeof *v);
	struct hpdsl_error err;
	struct snap_image im;
	char buf[HPDSL_PATH_MAX + 1];
	struct hpdsl_snapshot *s;
	size_t n = 1, len;

	(void)state;
	v[0] = (struct spec){ .path = "", .mode = S_IFDIR | 0755 };
	memset(path, 'd', HPDSL_PATH_MAX + 1);
	for (size_t i = 2; i < HPDSL_PATH_MAX; i += 3) {
		path[i] = '\0';
		v[n] = (struct spec){ .path = strdup(path),
				      .mode = S_IFDIR | 0755 };
		path[i] = '/';
		n++;
	}
	v[n++] = (struct spec){ .path = path, .mode = S_IFREG | 0644 };
	assert_int_equal(strlen(path), HPDSL_PATH_MAX + 1);
	im = snap_make(v, n, false);
	assert_int_equal(hp_snap_open(im.p, im.n, "it", &s, &err), 0);
	assert_int_equal(hpdsl_snapshot_verify(s, NULL, NULL, &err),
			 HPDSL_ECORRUPT);
	assert_string_equal(err.msg, "it: entry 1366: its path is too long");
	assert_int_equal(hpdsl_snapshot_path(s, n - 1, buf, &len, &err),
			 HPDSL_ECORRUPT);
	assert_string_equal(err.msg, "it: entry 1366: its path is too long");
	assert_int_equal(hpdsl_snapshot_path(s, n - 2, buf, &len, &err), 0);
	snap_ask_all(s);
	hpdsl_snapshot_close(s);
	free(im.p);
	for (size_t i = 1; i < n - 1; i++)
		free((char *)v[i].path);
	free(v);
}

/* Each finding is told, the first one is the error; there is a bound. */
static void count(void *arg, const char *reason)
{
	(void)reason;
	++*(unsigned *)arg;
}

static void test_told(void **state)
{
	struct snap_image im = small();
	struct hpdsl_error err;
	struct hpdsl_snapshot *s;
	unsigned told = 0;

	(void)state;
	for (unsigned i = 1; i < ENTRIES; i++)
		put16(im, i, 20, 0);
	snap_repair(im.p, im.n);
	assert_int_equal(hp_snap_open(im.p, im.n, "it", &s, &err), 0);
	assert_int_equal(hpdsl_snapshot_verify(s, count, &told, &err),
			 HPDSL_ECORRUPT);
	assert_string_equal(err.msg, "it: entry 1: its type is unknown");
	assert_int_equal(told, ENTRIES - 1);
	hpdsl_snapshot_close(s);
	free(im.p);
}

/* ---- Anything --------------------------------------------------------- */

/* What the fuzzer relies on: other entries that agree with each other. */
static void test_agree(void **state)
{
	struct snap_image im = small();
	struct hpdsl_error err;

	(void)state;
	put16(im, 3, 20, S_IFREG | 04711);
	hp_put64(snap_entry(im, 6), UINT64_MAX);
	snap_section(im, HP_SNAP_NAMES,
		     NULL)[hp_get48(snap_entry(im, 7) + 24)] = 'y';
	snap_repair(im.p, im.n);
	assert_int_equal(judge(im.p, im.n, &err), HPDSL_ECORRUPT);
	snap_agree(im.p, im.n);
	if (judge(im.p, im.n, &err))
		fail_msg("%s", err.msg);
	free(im.p);
}

static uint64_t dice(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	return *x ^= *x << 17;
}

/* A few bytes and numbers changed anywhere, checksums right. */
static void test_dice(void **state)
{
	uint64_t x = 42;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		struct snap_image im = round % 2 ? small() : small_dataset();
		struct hpdsl_error err;
		struct hpdsl_snapshot *s;

		for (uint64_t k = dice(&x) % 4 + 1; k; k--) {
			size_t at = dice(&x) % (im.n - 8);

			if (dice(&x) % 2)
				im.p[at] = (uint8_t)dice(&x);
			else
				hp_put64(im.p + at, hp_get64(im.p + at) +
							    dice(&x) % 5 - 2);
		}
		snap_repair(im.p, im.n);
		if (hp_snap_open(im.p, im.n, "it", &s, &err) == 0) {
			snap_ask_all(s);
			hpdsl_snapshot_close(s);
		}
		free(im.p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_bit),
		cmocka_unit_test(test_every_bit_of_dataset),
		cmocka_unit_test(test_every_cut),
		cmocka_unit_test(test_longer),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_no_end),
		cmocka_unit_test(test_hostile_dataset),
		cmocka_unit_test(test_empty_folder),
		cmocka_unit_test(test_long_path),
		cmocka_unit_test(test_told),
		cmocka_unit_test(test_agree),
		cmocka_unit_test(test_dice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
