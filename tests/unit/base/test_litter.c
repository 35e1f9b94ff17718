/* SPDX-License-Identifier: Apache-2.0 */
/* The list of litter: what is on it, and what nearly is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/litter.h"

#include <string.h>

/* What is shown of the row that a path fits; "": none.  A slash at the end: it
 * is a folder. */
static const struct vector {
	const char *path, *shown;
} vectors[] = {
	{ "__MACOSX/", "__MACOSX/" },
	{ "a/__MACOSX/b/1.jpg", "__MACOSX/" },
	{ "__MACOSX/._1.jpg", "__MACOSX/" },
	{ "__MACOSX", "" }, /* a file */
	{ "__macosx/", "" },
	{ "__MACOSX2/1.jpg", "" },
	{ "x__MACOSX/1.jpg", "" },
	{ "a/__MACOSX.jpg", "" },

	/* If X is there, too, which nobody has asked yet. */
	{ "._1.jpg", "._*" },
	{ "a/._1.jpg", "._*" },
	{ "._.DS_Store", "._*" },
	{ "._...", "._*" },
	{ "._", "" },
	{ "._.", "" },
	{ "._..", "" },
	{ "a._1.jpg", "" },
	{ "_.1.jpg", "" },
	{ "._a/", "" },
	{ "._a/1.jpg", "" },

	{ ".DS_Store", ".DS_Store" },
	{ "a/b/.DS_Store", ".DS_Store" },
	{ ".DS_Store/", "" },
	{ ".DS_Store.txt", "" },
	{ ".ds_store", "" },
	{ "DS_Store", "" },
	{ "Thumbs.db", "Thumbs.db" },
	{ "a/Thumbs.db", "Thumbs.db" },
	{ "Thumbs.db.bak", "" },
	{ "thumbs.db", "" },
	{ "Thumbs.db/1.jpg", "" },
	{ "desktop.ini", "desktop.ini" },
	{ "a/desktop.ini", "desktop.ini" },
	{ "mydesktop.ini", "" },
	{ "desktop.inis", "" },

	{ ".nfs000000000012345600000001", ".nfs*" },
	{ "a/.nfsabcdefABCDEF0123456789ab", ".nfs*" },
	{ ".nfs00000000001234560000001", "" },
	{ ".nfs0000000000123456000000012", "" },
	{ ".nfs00000000001234560000000g", "" },
	{ ".nfs", "" },
	{ "nfs000000000012345600000001", "" },
	{ ".nfs000000000012345600000001/", "" },

	{ "PaxHeaders.12/", "PaxHeaders.*/" },
	{ "a/b/PaxHeaders.4711/1.jpg", "PaxHeaders.*/" },
	{ "PaxHeaders.X/1.jpg", "" },
	{ "PaxHeaders./1.jpg", "" },
	{ "PaxHeaders/1.jpg", "" },
	{ "PaxHeaders.12", "" },
	{ "PaxHeaders.12a/1.jpg", "" },

	{ "lost+found/", "/lost+found/" },
	{ "lost+found/#123", "/lost+found/" },
	{ "a/lost+found/1.jpg", "" },
	{ "lost+found", "" },
	{ ".Trash-1000/files/1.jpg", "/.Trash-*/" },
	{ "a/.Trash-1000/1.jpg", "" },
	{ ".Trash-/1.jpg", "" },
	{ ".Trash/1.jpg", "" },
	{ ".Trash-me/1.jpg", "" },
	{ "$RECYCLE.BIN/1.jpg", "/$RECYCLE.BIN/" },
	{ "a/$RECYCLE.BIN/1.jpg", "" },
	{ "$Recycle.Bin/1.jpg", "" },
	{ "System Volume Information/x", "/System Volume Information/" },
	{ "a/System Volume Information/x", "" },

	{ "@eaDir/1.jpg/SYNOPHOTO_THUMB_M.jpg", "@eaDir/" },
	{ "a/@eaDir/", "@eaDir/" },
	{ "@eaDir", "" },
	{ "@eaDir2/", "" },
	{ "a/.ipynb_checkpoints/b-checkpoint.ipynb", ".ipynb_checkpoints/" },
	{ ".ipynb_checkpoints", "" },
	{ ".snapshot/daily/1.jpg", ".snapshot/" },
	{ "a/.snapshots/1/1.jpg", ".snapshots/" },
	{ ".zfs/snapshot/x/1.jpg", ".zfs/" },
	{ ".snapshot", "" },
	{ ".snapshot2/1.jpg", "" },
	{ "snapshots/1.jpg", "" },
	{ ".zfsx/1.jpg", "" },

	/* What people mean to pack. */
	{ "", "" },
	{ "1.jpg", "" },
	{ ".hidden", "" },
	{ ".git/config", "" },
	{ ".cache/huggingface/x", "" },
	{ "a.part", "" },
	{ "data/train/labels.json", "" },
	{ "System/1.jpg", "" },
	{ "Pictures/1.jpg", "" },
	{ "lost/found", "" },
};

static void test_vectors(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
		const struct vector *v = &vectors[i];
		size_t len = strlen(v->path);
		bool folder = len && v->path[len - 1] == '/';
		char text[HPDSL_LITTER_TEXT] = "";
		int row = hp_litter_path(v->path, len - folder, folder);

		if (row >= 0)
			hpdsl_litter_text(1u << row, text);
		if (strcmp(text, v->shown))
			print_error("'%s'\n", v->path);
		assert_string_equal(text, v->shown);
		assert_int_equal(row == HPDSL_LITTER_TWIN,
				 !strcmp(v->shown, "._*"));
	}
}

/* A name is not read behind its end. */
static void test_cut(void **state)
{
	static const char name[] = ".nfs0000000000123456000000012";

	(void)state;
	for (size_t n = 0; n < sizeof name; n++)
		assert_int_equal(hpdsl_litter_name(name, n, false, true) >= 0,
				 n == 28);
}

/* All kinds have room, in the order of the list. */
static void test_text(void **state)
{
	char text[HPDSL_LITTER_TEXT];

	(void)state;
	assert_string_equal(hpdsl_litter_text(0, text), "");
	assert_string_equal(hpdsl_litter_text(7, text),
			    "__MACOSX/ ._* .DS_Store");
	hpdsl_litter_text(UINT32_MAX, text);
	assert_string_equal(text + strlen(text) - 6, " .zfs/");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
