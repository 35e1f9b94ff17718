/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots made from hpdsl-format(5) alone, with nothing of the library's
 * writer in it: what the reader's tests read.  And the tools to forge them.
 */
#ifndef FORGE_SNAP_H
#define FORGE_SNAP_H

#include "base/bytes.h"
#include "base/hash.h"
#include "snap/snap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* An entry that is wanted; the top has the path "". */
struct spec {
	const char *path;
	uint16_t mode;
	uint64_t size;
	int64_t mtime;
	uint32_t nsec;
	const char *target;
	uint64_t member; /* plus 1 */
	uint64_t checksum;
	/* Filled by the maker: */
	size_t len, base; /* base: where the last name begins */
	uint64_t number, parent, folder;
};

struct snap_image {
	uint8_t *p;
	size_t n;
};

enum { SNAP_SECTIONS = HP_SNAP_KINDS, SNAP_HEADER = 136 + 6 * 32 + 8 };

/* Slash before any other byte, so that what is below a folder follows it. */
static int snap_order(const void *a, const void *b)
{
	const uint8_t *x = (const void *)((const struct spec *)a)->path;
	const uint8_t *y = (const void *)((const struct spec *)b)->path;

	while (*x && *x == *y)
		x++, y++;
	return (*x == '/' ? 1 :
		*x	  ? *x + 1 :
			    0) -
	       (*y == '/' ? 1 :
		*y	  ? *y + 1 :
			    0);
}

static inline int snap_by_number(const void *a, const void *b)
{
	const struct spec *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

/* Rows of FOLDERS while they are made. */
struct snap_folder {
	uint64_t first, end, n, entry;
};

/* Numbers folders and counts what they hold; returns how many there are. */
static uint64_t snap_number(struct spec *v, size_t n, struct snap_folder *f)
{
	size_t *stack = calloc(n + 1, sizeof *stack);
	uint64_t folders = 0;
	size_t depth = 0;

	for (size_t i = 0; i < n; i++) {
		const char *slash = strrchr(v[i].path, '/');

		v[i].len = strlen(v[i].path);
		v[i].base = slash ? (size_t)(slash - v[i].path) + 1 : 0;
		while (depth && v[i].len &&
		       !(v[stack[depth - 1]].len == 0 ||
			 (v[stack[depth - 1]].len + 1 == v[i].base &&
			  !strncmp(v[i].path, v[stack[depth - 1]].path,
				   v[i].base - 1))))
			f[v[stack[--depth]].folder].end = folders;
		if (depth) {
			v[i].parent = v[stack[depth - 1]].folder;
			v[i].number = f[v[i].parent].n++;
		}
		if (S_ISDIR(v[i].mode)) {
			v[i].folder = folders++;
			f[v[i].folder].n = 0;
			stack[depth++] = i;
		}
	}
	while (depth)
		f[v[stack[--depth]].folder].end = folders;
	free(stack);
	return folders;
}

struct snap_hashed {
	uint64_t hash, number;
};

static inline int snap_by_hash(const void *a, const void *b)
{
	const struct snap_hashed *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

/* The slots; returns how many. */
static uint64_t snap_slots(const struct spec *v, size_t n, uint8_t **ret)
{
	struct snap_hashed *h = calloc(n, sizeof *h);
	uint64_t m = n - 1, homes = m + m * 3 / 7 + 1, next = 0, slots;
	uint8_t *p = calloc(homes + m + 1, 8);

	for (size_t i = 1; i < n; i++) {
		h[i - 1].hash = XXH3_64bits(v[i].path, v[i].len);
		h[i - 1].number = v[i].number;
	}
	qsort(h, m, sizeof *h, snap_by_hash);
	for (size_t i = 0; i < m; i++) {
		uint64_t home =
			(uint64_t)((unsigned __int128)h[i].hash * homes >> 64);

		next = home > next ? home : next;
		hp_put64(p + next * 8, h[i].hash << 40 | (h[i].number + 1));
		next++;
	}
	slots = next + 1 > homes ? next + 1 : homes;
	free(h);
	*ret = p;
	return slots;
}

static inline void snap_digest(const struct spec *v, size_t n, bool files,
			       uint8_t out[16])
{
	XXH3_state_t *x = XXH3_createState();

	XXH3_128bits_reset(x);
	for (size_t i = 0; i < n; i++) {
		uint8_t b[22];

		if (files && !S_ISREG(v[i].mode))
			continue;
		hp_put16(b, files ? v[i].mode & 0170777 : v[i].mode);
		hp_put64(b + 2, v[i].size);
		hp_put64(b + 10, (uint64_t)v[i].mtime);
		hp_put32(b + 18, v[i].nsec);
		XXH3_128bits_update(x, v[i].path, v[i].len + 1);
		XXH3_128bits_update(x, b, S_ISDIR(v[i].mode) ? 2 : 22);
	}
	hp_hash_canonical(XXH3_128bits_digest(x), out);
	XXH3_freeState(x);
}

/* The sums of a section's blocks, behind its padding. */
static void snap_sums(uint8_t *at, uint64_t padded)
{
	for (uint64_t off = 0, b = 0; off < padded; off += 65536, b++) {
		uint64_t k = padded - off < 65536 ? padded - off : 65536;

		hp_put64(at + padded + b * 8, XXH3_64bits(at + off, k));
	}
}

static inline uint64_t snap_padded(uint64_t len)
{
	return (len + 7) & ~UINT64_C(7);
}

static inline uint64_t snap_extent(uint64_t len)
{
	return snap_padded(len) + (snap_padded(len) + 65535) / 65536 * 8;
}

static void snap_put_row(uint8_t *row, const struct spec *v, uint64_t name,
			 uint64_t parent, uint64_t target)
{
	uint64_t link = 0;

	if (S_ISDIR(v->mode))
		link = v->folder;
	else if (S_ISREG(v->mode))
		link = v->member;
	else if (S_ISLNK(v->mode))
		link = target;
	hp_put64(row, v->size);
	hp_put64(row + 8, (uint64_t)v->mtime);
	hp_put32(row + 16, v->nsec);
	hp_put16(row + 20, v->mode);
	hp_put16(row + 22, (uint16_t)(v->len - v->base));
	hp_put48(row + 24, name);
	hp_put40(row + 30, parent);
	hp_put40(row + 35, link);
}

/* Makes the header's checksum agree. */
static inline void snap_seal(struct snap_image im)
{
	uint32_t n = hp_get32(im.p + 12);

	hp_put64(im.p + n - 8, XXH3_64bits(im.p, n - 8));
}

/* Where section kind of a sound header begins, and its length. */
static inline uint8_t *snap_section(struct snap_image im, unsigned kind,
				    uint64_t *ret_len)
{
	const uint8_t *row = im.p + 136 + 32 * (kind - 1);

	if (ret_len)
		*ret_len = hp_get64(row + 16);
	return im.p + hp_get64(row + 8);
}

static inline uint8_t *snap_entry(struct snap_image im, uint64_t number)
{
	return snap_section(im, HP_SNAP_ENTRIES, NULL) + number * 40;
}

/* From folders in order to entries in order. */
static void snap_entries(struct spec *v, size_t n, struct snap_folder *f,
			 uint64_t folders)
{
	uint64_t at = 1;

	for (uint64_t i = 0; i < folders; i++) {
		f[i].first = at;
		at += f[i].n;
	}
	for (size_t i = 0; i < n; i++) {
		v[i].number = v[i].len ? f[v[i].parent].first + v[i].number : 0;
		if (S_ISDIR(v[i].mode))
			f[v[i].folder].entry = v[i].number;
	}
	for (size_t i = 0; i < n; i++)
		v[i].parent = v[i].len ? f[v[i].parent].entry : 0;
	qsort(v, n, sizeof *v, snap_by_number);
}

static void snap_put_entries(struct snap_image im, const struct spec *v,
			     size_t n)
{
	uint8_t *names = snap_section(im, HP_SNAP_NAMES, NULL);
	uint8_t *targets = snap_section(im, HP_SNAP_TARGETS, NULL);
	uint8_t *sums = snap_section(im, HP_SNAP_CHECKSUMS, NULL);
	uint64_t name = 0, target = 0;

	for (size_t i = 0; i < n; i++) {
		size_t len = v[i].len - v[i].base;

		snap_put_row(snap_entry(im, i), &v[i], name, v[i].parent,
			     target);
		memcpy(names + name, v[i].path + v[i].base, len);
		name += len + 1;
		if (S_ISREG(v[i].mode) && v[i].member)
			hp_put64(sums + (v[i].member - 1) * 8, v[i].checksum);
		if (!S_ISLNK(v[i].mode))
			continue;
		memcpy(targets + target, v[i].target, v[i].size);
		target += v[i].size + 1;
	}
}

static void snap_put_folders(struct snap_image im, const struct snap_folder *f,
			     uint64_t folders, uint64_t entries)
{
	uint8_t *row = snap_section(im, HP_SNAP_FOLDERS, NULL);

	for (uint64_t i = 0; i <= folders; i++, row += 12) {
		hp_put48(row, i < folders ? f[i].first : entries);
		hp_put48(row + 6, i < folders ? f[i].end : folders);
	}
}

/* Lengths of sections and the counts of the header. */
static void snap_measure(const struct spec *v, size_t n, bool dataset,
			 uint64_t length[7], uint8_t *header)
{
	uint64_t files = 0, links = 0, bytes = 0, members = 0;

	for (size_t i = 0; i < n; i++) {
		length[HP_SNAP_NAMES] += v[i].len - v[i].base + 1;
		if (S_ISLNK(v[i].mode))
			length[HP_SNAP_TARGETS] += v[i].size + 1, links++;
		if (!S_ISREG(v[i].mode))
			continue;
		files++;
		bytes += v[i].size;
		members = v[i].member > members ? v[i].member : members;
	}
	length[HP_SNAP_ENTRIES] = n * 40;
	length[HP_SNAP_CHECKSUMS] = members * 8;
	memcpy(header, "\x89HPDSLS\n", 8);
	hp_put32(header + 8, 1);
	hp_put32(header + 12, SNAP_HEADER);
	hp_put64(header + 24, n);
	hp_put64(header + 40, bytes);
	hp_put64(header + 48, files);
	hp_put32(header + 56, SNAP_SECTIONS);
	hp_put32(header + 60, dataset);
	snap_digest(v, n, false, header + 64);
	snap_digest(v, n, true, header + 80);
	if (dataset)
		memset(header + 96, 0xda, 32);
	hp_put64(header + 128, links);
}

/*
 * The snapshot of n entries, which have to be a tree; v is put in the order of
 * their numbers.
 */
static inline struct snap_image snap_make(struct spec *v, size_t n,
					  bool dataset)
{
	static const uint32_t rows[7] = { 0, 40, 12, 0, 0, 8, 8 };
	struct snap_folder *f = calloc(n + 1, sizeof *f);
	struct snap_image im = { NULL, SNAP_HEADER };
	uint8_t header[SNAP_HEADER] = { 0 }, *slots;
	uint64_t length[7] = { 0 }, folders;

	qsort(v, n, sizeof *v, snap_order);
	folders = snap_number(v, n, f);
	snap_entries(v, n, f, folders);
	snap_measure(v, n, dataset, length, header);
	length[HP_SNAP_FOLDERS] = (folders + 1) * 12;
	length[HP_SNAP_LOOKUP] = snap_slots(v, n, &slots) * 8;
	hp_put64(header + 32, folders);
	for (unsigned k = 1; k <= SNAP_SECTIONS; k++) {
		uint8_t *row = header + 136 + 32 * (k - 1);

		hp_put32(row, k);
		hp_put32(row + 4, 1);
		hp_put64(row + 8, im.n);
		hp_put64(row + 16, length[k]);
		hp_put32(row + 24, rows[k]);
		im.n += snap_extent(length[k]);
	}
	hp_put64(header + 16, im.n);
	im.p = calloc(1, im.n);
	memcpy(im.p, header, SNAP_HEADER);
	snap_put_entries(im, v, n);
	snap_put_folders(im, f, folders, n);
	memcpy(snap_section(im, HP_SNAP_LOOKUP, NULL), slots,
	       length[HP_SNAP_LOOKUP]);
	for (unsigned k = 1; k <= SNAP_SECTIONS; k++)
		snap_sums(snap_section(im, k, NULL), snap_padded(length[k]));
	snap_seal(im);
	free(slots);
	free(f);
	return im;
}

/*
 * Makes all checksums agree again with bytes that were changed, as an attacker
 * would; whatever the bytes are.
 */
static inline void snap_repair(uint8_t *p, size_t n)
{
	uint32_t header, sections;

	if (n < 144)
		return;
	header = hp_get32(p + 12);
	sections = hp_get32(p + 56);
	for (uint32_t i = 0; i < sections && i < 64; i++) {
		size_t row = 136 + (size_t)32 * i;
		uint64_t at, len;

		if (!hp_within(row, 32, n))
			break;
		at = hp_get64(p + row + 8);
		len = hp_get64(p + row + 16);
		if (hp_within(at, len, n) && len < n - 7 &&
		    hp_within(at, snap_extent(len), n))
			snap_sums(p + at, snap_padded(len));
	}
	/* Sums may lie in the header, and have changed what it says. */
	if (header >= 144 && header <= n)
		hp_put64(p + header - 8, XXH3_64bits(p, header - 8));
}

/* ---- Making all of it agree ------------------------------------------- */

enum { SNAP_ASKED = 3000 /* entries, at most */ };

/* What entry number says, with a path of its own; false: nothing sound. */
static inline bool snap_spec(const struct hpdsl_snapshot *s, uint64_t number,
			     struct spec *ret)
{
	char path[HPDSL_PATH_MAX + 1];
	struct hpdsl_entry e;
	size_t len;

	if (hpdsl_snapshot_stat(s, number, &e, NULL) < 0 ||
	    hpdsl_snapshot_path(s, number, path, &len, NULL) < 0)
		return false;
	*ret = (struct spec){ .path = strdup(path),
			      .mode = (uint16_t)e.mode,
			      .size = e.size,
			      .mtime = e.mtime,
			      .nsec = e.mtime_nsec,
			      .len = len,
			      .number = number };
	return ret->path;
}

/* Header and LOOKUP, out of what n entries say. */
static inline void snap_agree_with(struct snap_image im, const struct spec *v,
				   size_t n)
{
	uint64_t length, bytes = 0, files = 0, links = 0, k;
	uint8_t *slots, *lookup = snap_section(im, HP_SNAP_LOOKUP, &length);

	for (size_t i = 0; i < n; i++) {
		links += S_ISLNK(v[i].mode);
		if (!S_ISREG(v[i].mode))
			continue;
		files++;
		bytes += v[i].size;
	}
	k = snap_slots(v, n, &slots);
	if (k * 8 == length)
		memcpy(lookup, slots, length);
	free(slots);
	hp_put64(im.p + 40, bytes);
	hp_put64(im.p + 48, files);
	snap_digest(v, n, false, im.p + 64);
	snap_digest(v, n, true, im.p + 80);
	hp_put64(im.p + 128, links);
}

/*
 * Beyond what snap_repair does: sums, digests and LOOKUP agree with whatever
 * the entries say, so that nothing but the entries themselves can be wrong.
 */
static inline void snap_agree(uint8_t *p, size_t n)
{
	struct spec *v = calloc(SNAP_ASKED, sizeof *v);
	struct hpdsl_snapshot_info info;
	uint64_t have = 0;
	struct hpdsl_snapshot *s;

	if (hp_snap_open(p, n, "it", &s, NULL) == 0) {
		hpdsl_snapshot_info(s, &info);
		while (have < info.entries && have < SNAP_ASKED &&
		       snap_spec(s, have, &v[have]))
			have++;
		hpdsl_snapshot_close(s);
		if (have == info.entries) {
			snap_agree_with((struct snap_image){ p, n }, v, have);
			snap_repair(p, n);
		}
	}
	while (have)
		free((void *)v[--have].path);
	free(v);
}

/* ---- Asking everything ------------------------------------------------ */

/* Below is what hostile bytes are asked: nothing may fault or go on for ever.
 */
static inline uint64_t snap_ask_entry(const struct hpdsl_snapshot *s,
				      uint64_t number)
{
	char path[HPDSL_PATH_MAX + 1];
	struct hpdsl_entry e = { .number = number }, found[2];
	struct hpdsl_path p[2] = { { path, 0 }, { path, 0 } };
	struct hpdsl_error err;
	uint64_t sum = 0, checksum;
	const char *target;
	int codes[2];
	size_t len;

	if (hpdsl_snapshot_stat(s, number, &e, &err) == 0) {
		/* Names are what they should be. */
		if (strlen(e.name) != e.name_len || strchr(e.name, '/') ||
		    !strcmp(e.name, ".") || !strcmp(e.name, "..") ||
		    !e.name_len != !number || e.parent > number)
			abort();
		sum += e.size;
	}
	if (hpdsl_snapshot_target(s, &e, &target, &err) == 0)
		sum += strlen(target);
	if (hpdsl_snapshot_checksum(s, &e, &checksum, &err) == 0)
		sum += checksum;
	if (hpdsl_snapshot_path(s, number, path, &len, &err) == 0) {
		if (strlen(path) != len || len > HPDSL_PATH_MAX)
			abort();
		p[0].len = len;
		p[1].len = len / 2;
		hpdsl_snapshot_lookup(s, path, len, found, &err);
		sum += (uint64_t)hpdsl_snapshot_lookup_many(s, p, 2, found,
							    codes, &err);
	}
	return sum;
}

/* Names that can be cut at their NULs, and as many as entries. */
static inline void snap_ask_names(const struct hpdsl_snapshot *s,
				  uint64_t folder)
{
	struct hpdsl_name_list names = { .room = HPDSL_PATH_MAX + 1,
					 .most = 3 };
	uint64_t cursor = 0;
	int64_t k;

	names.buf = malloc(names.room);
	names.types = malloc(names.most);
	while ((k = hpdsl_snapshot_names(s, folder, &cursor, &names, NULL)) >
	       0) {
		const char *p = names.buf;

		for (int64_t i = 0; i < k; i++) {
			if (!*p || strchr(p, '/'))
				abort();
			p += strlen(p) + 1;
		}
		if (p != names.buf + names.used || names.first <= folder)
			abort();
	}
	free(names.buf);
	free(names.types);
}

static inline void snap_ask_lists(const struct hpdsl_snapshot *s)
{
	static const char paths[] = "a\0a/d\0a/d/g\0a/f\0b\0\0e";
	struct hpdsl_extension *e = NULL;
	struct hpdsl_found all = { NULL, NULL, NULL };
	int64_t n = hpdsl_snapshot_extensions(s, 0, &e, NULL);

	for (int64_t i = 0; i < n; i++)
		if (strlen(e[i].name) != e[i].len || !e[i].files)
			abort();
	hpdsl_extensions_free(e);
	if (hpdsl_snapshot_lookup_list(s, paths, sizeof paths, 7, &all, NULL) >
	    7)
		abort();
}

/* All that is below a folder; returns how many entries were met. */
static inline uint64_t snap_ask_folder(const struct hpdsl_snapshot *s,
				       uint64_t folder, uint64_t *left)
{
	uint64_t cursor = 0, first, n, end, met = 0;
	struct hpdsl_entry e[7];
	struct hpdsl_error err;
	int64_t k;

	if (hpdsl_snapshot_folder(s, folder, &first, &n, &end, &err) == 0 &&
	    (first <= folder || end < first + n))
		abort();
	snap_ask_names(s, folder);
	while ((k = hpdsl_snapshot_readdir(s, folder, &cursor, e, 7, &err)) >
	       0) {
		for (int64_t i = 0; i < k && *left; i++) {
			met++;
			--*left;
			if (e[i].number <= folder || e[i].parent != folder)
				abort();
			if (S_ISDIR(e[i].mode))
				met += snap_ask_folder(s, e[i].number, left);
		}
		if (!*left)
			break;
	}
	return met;
}

static inline uint64_t snap_ask_all(const struct hpdsl_snapshot *s)
{
	static const char *const paths[] = { "", "a", "a/b", "x", "a/../b" };
	uint64_t left = SNAP_ASKED, sum = 0;
	struct hpdsl_snapshot_info info;
	struct hpdsl_error err;
	struct hpdsl_entry e;

	hpdsl_snapshot_info(s, &info);
	for (uint64_t i = 0; i < info.entries && i < SNAP_ASKED; i++)
		sum += snap_ask_entry(s, i);
	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
		if (hpdsl_snapshot_lookup(s, paths[i], strlen(paths[i]), &e,
					  &err) == 0)
			sum += e.size;
	if (snap_ask_folder(s, 0, &left) >= info.entries)
		abort();
	snap_ask_lists(s);
	hpdsl_snapshot_verify(s, NULL, NULL, &err);
	return sum;
}

#endif
