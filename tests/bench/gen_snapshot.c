/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gen_snapshot FILE FOLDERS FILES: a snapshot of so many folders with so many
 * files each, of a tree that there never was, because nobody has a hundred
 * million files to spare.  The paths are class00012/00000345.JPEG.
 */
#include "snap/write.h"

#include "base/error.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME = 32 };

/* The names of the files in any one folder; all folders share them. */
static char (*names)[NAME];

static void fail(const char *why)
{
	fprintf(stderr, "gen_snapshot: %s\n", why);
	exit(3);
}

static struct hp_folder *fill(struct hp_folder *above, uint64_t number,
			      uint64_t files)
{
	struct hp_folder *f = calloc(1, sizeof *f);

	if (!f || !(f->nodes = hp_array(files, sizeof *f->nodes)))
		fail("no memory");
	f->parent = above;
	f->n = files;
	for (uint64_t i = 0; i < files; i++) {
		uint64_t z = (number * files + i) * 0x9E3779B97F4A7C15;

		f->nodes[i] = (struct hp_node){
			.name = names[i],
			.name_len = (uint16_t)strlen(names[i]),
			.size = z >> 44,
			.mtime = 1700000000 + (int64_t)i,
			.nsec = (uint32_t)(z % 1000000000),
			.mode = S_IFREG | 0644,
			.member = HPDSL_NO_MEMBER,
		};
	}
	return f;
}

static void make_tree(struct hp_tree *t, uint64_t folders, uint64_t files)
{
	struct hp_folder *top;

	if (hp_tree_init(t))
		fail("no memory");
	top = t->top.folder;
	t->top.mode = S_IFDIR | 0755;
	top->nodes = hp_array(folders, sizeof *top->nodes);
	if (!top->nodes)
		fail("no memory");
	for (; top->n < folders; top->n++) {
		char name[NAME];
		int len =
			snprintf(name, sizeof name, "class%05" PRIu64, top->n);
		char *kept = hp_arena_add(t->arena, name, (size_t)len);

		if (!kept)
			fail("no memory");
		top->nodes[top->n] = (struct hp_node){
			.name = kept,
			.name_len = (uint16_t)len,
			.mtime = 1700000000,
			.mode = S_IFDIR | 0755,
			.folder = fill(top, top->n, files),
		};
	}
}

int main(int argc, char **argv)
{
	struct hpdsl_snapshot_info info;
	struct hp_tree tree = { 0 };
	uint64_t folders, files;
	struct hpdsl_error err;

	if (argc != 4 || !(folders = strtoull(argv[2], NULL, 10)) ||
	    !(files = strtoull(argv[3], NULL, 10)))
		return 2;
	names = hp_array(files, sizeof *names);
	if (!names)
		fail("no memory");
	for (uint64_t i = 0; i < files; i++)
		snprintf(names[i], NAME, "%08" PRIu64 ".JPEG", i);
	make_tree(&tree, folders, files);
	if (hp_tree_finish(&tree, &err) < 0 ||
	    hp_snap_save(&tree, 0, &hp_io_system, argv[1], &info, &err) < 0)
		fail(err.msg);
	printf("%" PRIu64 " entries, %" PRIu64 " bytes\n", info.entries,
	       info.file_bytes);
	hp_tree_release(&tree);
	free(names);
	return 0;
}
