/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members by folder: in the order in which a program that walks the tree, and
 * sorts what it finds, has them.  One walk over the index notes the folder of
 * each member, and the first eight bytes in which its name differs from those
 * that the folder had until then; members are dealt out to their folders, and
 * each folder's are sorted by these bytes, and where they are the same by those
 * behind them.  The few names that were noted before the folder had one that
 * differs earlier are looked at again.
 * Names stay where they are; those of folders are copied, since somebody may be
 * writing to the index, and what is sorted has to stay as it is.
 */
#include "dataset/dataset.h"

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/suffix.h"
#include "base/utf8.h"
#include "dataset/name_order.h"
#include "index/beside.h"
#include "sys/huge.h"

#include <errno.h>

#define NO_FOLDER UINT32_MAX

enum {
	ROW_AHEAD = 48,
	PATH_AHEAD = 16,
};

/* A folder while its members are noted. */
struct spot {
	uint64_t hash;
	const char *path;
	uint64_t at;
	struct hp_names names;
	uint16_t path_len;
	bool utf8;
};

struct found {
	const struct hpdsl_dataset *ds;
	const struct hpdsl_folders_options *opt;
	struct hp_suffix *suffix;
	uint64_t members;
	size_t below; /* bytes of a path before what is below the folder */
	struct hp_arena *arena;
	struct spot *spot;
	uint32_t n, *slot;
	uint64_t slots; /* a power of two */
	uint32_t *of;	/* folder of each member, or NO_FOLDER */
	uint64_t *key;	/* of each member's name */
	uint64_t wanted;
	struct hp_hashed *row; /* key and number of each that is wanted */
	struct hp_hashed *room;
	struct hpdsl_folder *folder;
	uint64_t given;
};

static void release(struct found *f)
{
	hp_arena_free(f->arena);
	free(f->spot);
	free(f->slot);
	free(f->suffix);
	free(f->of);
	free(f->key);
	free(f->row);
	free(f->room);
	free(f->folder);
}

#define auto_found __attribute__((cleanup(release))) struct found

/* ---- Which folder ----------------------------------------------------- */

static void put_slot(struct found *f, uint32_t number)
{
	uint64_t at = f->spot[number].hash & (f->slots - 1);

	while (f->slot[at] != NO_FOLDER)
		at = (at + 1) & (f->slots - 1);
	f->slot[at] = number;
}

static int more_slots(struct found *f, struct hpdsl_error *err)
{
	uint64_t slots = f->slots ? 2 * f->slots : 256;
	uint32_t *slot = hp_array(slots, sizeof *slot);

	if (!slot)
		return hp_fail_nomem(err);
	memset(slot, 0xff, slots * sizeof *slot);
	free(f->slot);
	f->slot = slot;
	f->slots = slots;
	for (uint32_t i = 0; i < f->n; i++)
		put_slot(f, i);
	return 0;
}

static int add_spot(struct found *f, const char *path, size_t len,
		    uint64_t hash, struct hpdsl_error *err)
{
	struct spot *v;

	if (f->n >= NO_FOLDER - 1)
		return hp_fail(err, -EOVERFLOW, "%s: more than %u folders",
			       f->ds->path, f->n);
	v = hp_more(f->spot, f->n, sizeof *v);
	if (!v)
		return hp_fail_nomem(err);
	f->spot = v;
	path = hp_arena_add(f->arena, path, len);
	if (!path)
		return hp_fail_nomem(err);
	v[f->n++] = (struct spot){
		.hash = hash,
		.path = path,
		.path_len = (uint16_t)len,
		.utf8 = true,
	};
	if (2 * (uint64_t)f->n > f->slots)
		return more_slots(f, err);
	put_slot(f, f->n - 1);
	return 0;
}

static int find_spot(struct found *f, const char *path, size_t len,
		     uint32_t *ret, struct hpdsl_error *err)
{
	uint64_t hash = hp_hash64(path, len), at = hash & (f->slots - 1);

	for (; f->slot[at] != NO_FOLDER; at = (at + 1) & (f->slots - 1)) {
		const struct spot *s = &f->spot[f->slot[at]];

		if (s->hash == hash && s->path_len == len &&
		    !memcmp(s->path, path, len)) {
			*ret = f->slot[at];
			return 0;
		}
	}
	*ret = f->n;
	return add_spot(f, path, len, hash, err);
}

/* ---- The first walk: who is wanted, and where ------------------------- */

static bool is_below(const struct found *f, const struct hp_index_look *m)
{
	size_t len = f->opt->below_len;

	return !m->generated &&
	       (!len || (m->path_len > len && m->path[len] == '/' &&
			 !memcmp(m->path, f->opt->below, len)));
}

/* Of a member, whose name has so many bytes: those before its slash. */
static size_t folder_len(const struct hp_index_look *m, size_t name_len)
{
	size_t len = m->path_len - name_len;

	return len ? len - 1 : 0;
}

/* The same: does it end in what is wanted? */
static bool has_suffix(const struct found *f, const struct hp_index_look *m,
		       size_t len)
{
	size_t n = f->opt->n_suffixes;

	return !n || hp_has_suffix(m->path, m->path_len, len, f->suffix, n);
}

static bool is_utf8(const char *s, size_t len)
{
	uint64_t eight;

	for (; len >= 8; s += 8, len -= 8) {
		memcpy(&eight, s, 8);
		if (eight & UINT64_C(0x8080808080808080))
			break;
	}
	while (len > 0) {
		size_t n = hp_utf8_char((const unsigned char *)s, len);

		if (!n)
			return false;
		s += n;
		len -= n;
	}
	return true;
}

static int count(struct found *f, struct hpdsl_error *err)
{
	for (uint64_t i = 0; i < f->members; i++) {
		struct hp_index_look m;
		const char *name;
		struct spot *s;
		uint32_t of = 0;
		size_t len;
		int r;

		if (i + PATH_AHEAD < f->members)
			hp_index_path_ahead(f->ds->index, i + PATH_AHEAD);
		r = hp_index_look(f->ds->index, i, &m, err);
		f->of[i] = NO_FOLDER;
		if (r < 0)
			return r;
		if (!is_below(f, &m))
			continue;
		name = hp_name_of(&m, &len);
		r = find_spot(f, m.path, folder_len(&m, len), &of, err);
		if (r < 0)
			return r;
		if (!has_suffix(f, &m, len))
			continue;
		s = &f->spot[of];
		hp_names_add(&s->names, name, len);
		s->utf8 = s->utf8 && is_utf8(name, len);
		f->key[i] = hp_name_key(name, len, s->names.same);
		f->of[i] = of;
		f->wanted++;
	}
	return 0;
}

/* ---- Folders in their order ------------------------------------------- */

static int compare_bytes(const char *a, size_t a_len, const char *b,
			 size_t b_len)
{
	size_t n = a_len < b_len ? a_len : b_len;
	int c = n ? memcmp(a, b, n) : 0;

	return c ? c : (a_len > b_len) - (a_len < b_len);
}

static size_t first_len(const char *path, size_t len)
{
	const char *slash = len ? memchr(path, '/', len) : NULL;

	return slash ? (size_t)(slash - path) : len;
}

/* What is below the folder; of itself "". */
static const char *rest_of(const struct spot *s, size_t below, size_t *ret_len)
{
	size_t at = s->path_len < below ? s->path_len : below;

	*ret_len = s->path_len - at;
	return s->path + at;
}

static int compare_spots(const void *x, const void *y, void *arg)
{
	size_t below = *(const size_t *)arg, a_len, b_len;
	const char *a = rest_of(x, below, &a_len);
	const char *b = rest_of(y, below, &b_len);
	int c = compare_bytes(a, first_len(a, a_len), b, first_len(b, b_len));

	return c ? c : compare_bytes(a, a_len, b, b_len);
}

/* Members know their folders by the numbers of before. */
static int sort_spots(struct found *f, struct hpdsl_error *err)
{
	hp_auto_free uint32_t *to = hp_array(f->n, sizeof *to);

	if (!to)
		return hp_fail_nomem(err);
	for (uint32_t i = 0; i < f->n; i++)
		f->spot[i].at = i;
	qsort_r(f->spot, f->n, sizeof *f->spot, compare_spots, &f->below);
	for (uint32_t i = 0; i < f->n; i++) {
		to[f->spot[i].at] = i;
		f->spot[i].utf8 = f->spot[i].utf8 &&
				  is_utf8(f->spot[i].path, f->spot[i].path_len);
	}
	for (uint64_t i = 0; i < f->members; i++)
		if (f->of[i] != NO_FOLDER)
			f->of[i] = to[f->of[i]];
	return 0;
}

/* ---- Names in their order --------------------------------------------- */

/* Keys that were noted before it was known where they begin. */
static int renew(struct found *f, const struct spot *s, struct hpdsl_error *err)
{
	const struct hp_index *ix = f->ds->index;
	struct hp_hashed *row = f->row + s->at;

	for (uint64_t i = 0; i < s->names.stale; i++) {
		int r;

		if (i + ROW_AHEAD < s->names.stale)
			hp_index_member_ahead(ix, row[i + ROW_AHEAD].number);
		if (i + PATH_AHEAD < s->names.stale)
			hp_index_path_ahead(ix, row[i + PATH_AHEAD].number);
		r = hp_name_key_of(ix, row[i].number, s->names.same,
				   &row[i].hash, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Numbers alone, from the array's beginning: none is put where a row is that is
 * still to be sorted. */
static void give_folder(struct found *f, uint32_t number)
{
	const struct spot *s = &f->spot[number];
	const struct hp_hashed *row = f->row + s->at;
	uint64_t *member = (uint64_t *)f->row, first = f->given;

	for (uint64_t i = 0; i < s->names.n; i++) {
		uint64_t is = row[i].number;

		if (is != HP_REPEATED)
			member[f->given++] = is;
	}
	f->folder[number] = (struct hpdsl_folder){
		.path = s->path,
		.path_len = s->path_len,
		.first = first,
		.members = f->given - first,
		.utf8 = s->utf8,
	};
}

static int sort_names(struct found *f, struct hpdsl_error *err)
{
	int r = 0;

	for (uint32_t i = 0; i < f->n && r == 0; i++) {
		struct spot *s = &f->spot[i];

		s->at -= s->names.n;
		r = renew(f, s, err);
		if (r == 0)
			r = hp_sort_names(f->ds->index, f->row + s->at,
					  s->names.n, s->names.same, f->room,
					  err);
		if (r == 0)
			give_folder(f, i);
	}
	return r;
}

/* Members of each folder behind those of the one before. */
static void deal(struct found *f)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < f->n; i++) {
		f->spot[i].at = sum;
		sum += f->spot[i].names.n;
	}
	for (uint64_t i = 0; i < f->members; i++)
		if (f->of[i] != NO_FOLDER)
			f->row[f->spot[f->of[i]].at++] = (struct hp_hashed){
				f->key[i],
				i,
			};
	free(hp_take(f->of));
	free(hp_take(f->key));
}

static int sort_all(struct found *f, struct hpdsl_error *err)
{
	f->folder = hp_array(f->n, sizeof *f->folder);
	f->row = hp_huge_array(f->wanted, sizeof *f->row);
	f->room = hp_array(HP_NAMES_ROOM, sizeof *f->room);
	if (!f->folder || !f->row || !f->room)
		return hp_fail_nomem(err);
	deal(f);
	return sort_names(f, err);
}

/* ---- What is given out ------------------------------------------------ */

struct given {
	struct hpdsl_folders pub;
	struct hp_arena *arena;
	struct hpdsl_folder *folder;
	uint64_t *member;
};

/* Half of the rows or more are not needed any more. */
static uint64_t *few(void *rows, uint64_t n)
{
	uint64_t *less = n ? realloc(rows, n * sizeof *less) : NULL;

	return less ? less : rows;
}

static int give(struct found *f, struct hpdsl_folders **ret,
		struct hpdsl_error *err)
{
	struct given *g = calloc(1, sizeof *g);

	if (!g)
		return hp_fail_nomem(err);
	g->arena = hp_take(f->arena);
	g->folder = hp_take(f->folder);
	g->member = few(hp_take(f->row), f->given);
	g->pub = (struct hpdsl_folders){
		.folder = g->folder,
		.n = f->n,
		.member = g->member,
		.members = f->given,
	};
	*ret = &g->pub;
	return 0;
}

static int no_folder(const struct found *f, struct hpdsl_error *err)
{
	const char *below = f->opt->below;
	size_t len = f->opt->below_len;
	char buf[HP_PRINTABLE], beside[HP_BESIDE];

	return hp_fail(err, -ENOENT, "%s: no folder '%s', %s", f->ds->path,
		       hp_printable(below, len, buf),
		       hp_index_beside(f->ds->index, below, len, beside));
}

static int look_for(struct found *f, struct hpdsl_error *err)
{
	int r;

	f->of = hp_huge_array(f->members, sizeof *f->of);
	f->key = hp_huge_array(f->members, sizeof *f->key);
	f->suffix = hp_array(f->opt->n_suffixes, sizeof *f->suffix);
	f->arena = hp_arena_new();
	if (!f->of || !f->key || !f->suffix || !f->arena)
		return hp_fail_nomem(err);
	for (size_t i = 0; i < f->opt->n_suffixes; i++)
		f->suffix[i] = hp_suffix(f->opt->suffixes[i]);
	r = more_slots(f, err);
	if (r == 0)
		r = count(f, err);
	if (r == 0 && !f->n && f->opt->below_len)
		r = no_folder(f, err);
	if (r == 0)
		r = sort_spots(f, err);
	return r < 0 ? r : sort_all(f, err);
}

int hpdsl_folders_of(const struct hpdsl_dataset *ds,
		     const struct hpdsl_folders_options *opt,
		     struct hpdsl_folders **ret, struct hpdsl_error *err)
{
	static const struct hpdsl_folders_options none;
	struct hpdsl_counts n;
	auto_found f = { .ds = ds, .opt = opt ? opt : &none };
	int r;

	hp_index_count(ds->index, &n);
	f.members = n.members;
	f.below = f.opt->below_len ? f.opt->below_len + 1 : 0;
	r = look_for(&f, err);
	if (r == 0)
		r = give(&f, ret, err);
	return hp_dataset_blame(ds, r, err);
}

void hpdsl_folders_free(struct hpdsl_folders *folders)
{
	struct given *g = (struct given *)folders;

	if (!g)
		return;
	hp_arena_free(g->arena);
	free(g->folder);
	free(g->member);
	free(g);
}
