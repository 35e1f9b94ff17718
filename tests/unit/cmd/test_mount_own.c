/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-mount: the mount's own folder, which is found by name and in no
 * listing, and whatever else is asked of its nodes.
 */
#include "cmd/mount/own.c"
#include "cmd/mount/tree.c"
#include "cmd/mount/wire.c"
#include "snap_model.h"

#include <linux/fuse.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static uint8_t buf[MOUNT_HEAD + MOUNT_READ_MOST];

/* ---- What is asked ---------------------------------------------------- */

struct world {
	struct mount_tree tree;
	struct mount_own own;
	struct model model;
	struct hpdsl_snapshot *snap;
	void *bytes;
	const char *text[MOUNT_OWN_FILES];
	int fails;
};

static int make(void *arg, enum mount_own_file file, struct mount_own_text *ret)
{
	const struct world *w = arg;

	assert_true(file < MOUNT_OWN_FILES);
	if (w->fails)
		return w->fails;
	if (!w->text[file])
		return -ENOENT;
	*ret = (struct mount_own_text){ .n = strlen(w->text[file]),
					.mtime = 77,
					.mtime_nsec = 5 };
	ret->bytes = strdup(w->text[file]);
	return 0;
}

static void begin(struct world *w, const char *name, uint32_t mode)
{
	struct hpdsl_error err;

	*w = (struct world){ .text = { "what is asked\n", "", NULL } };
	w->tree = (struct mount_tree){ .uid = 7, .gid = 8, .mtime = 5 };
	model_begin(&w->model, true, 1);
	model_add(&w->model, name, mode);
	if (S_ISDIR(mode))
		model_add(&w->model, ".hpdsl/a", S_IFREG);
	w->snap = model_snap(&w->model, &w->bytes);
	assert_int_equal(mount_tree_init(&w->tree, w->snap, "", &err), 0);
	w->own = (struct mount_own){ &w->tree, make, w, false };
	mount_own_init(&w->own);
}

static void end(struct world *w)
{
	model_free_snap(w->snap, w->bytes);
	model_release(&w->model);
}

/* As whoever serves: its own, or the tree's. */
static size_t answer(struct world *w, const struct mount_request *r)
{
	struct hpdsl_error err;

	memset(buf, 0xee, sizeof buf);
	return mount_own_is_asked(&w->own, r) ?
		       mount_own_answer(&w->own, r, buf) :
		       mount_tree_answer(&w->tree, r, buf, &err);
}

static int code_after(size_t n)
{
	assert_true(n >= MOUNT_HEAD && n <= sizeof buf);
	assert_int_equal(((struct fuse_out_header *)buf)->len, n);
	return ((struct fuse_out_header *)buf)->error;
}

static int ask(struct world *w, uint32_t op, uint64_t node, const char *name)
{
	struct mount_request r = { .unique = 1, .node = node, .op = op };

	if (name) {
		r.name = name;
		r.name_len = strlen(name);
	}
	return code_after(answer(w, &r));
}

/* The node of a name; 0: none. */
static uint64_t find(struct world *w, uint64_t node, const char *name)
{
	const struct fuse_entry_out *e = (const void *)(buf + MOUNT_HEAD);

	assert_int_equal(ask(w, MOUNT_LOOKUP, node, name), 0);
	return e->nodeid;
}

/* Its bytes, as one READ gets them; at: in buf. */
static size_t get_bytes(struct world *w, uint64_t node, uint64_t offset,
			uint32_t size)
{
	struct mount_request r = { .unique = 1,
				   .node = node,
				   .op = MOUNT_READ };
	size_t n;

	r.offset = offset;
	r.size = size;
	n = answer(w, &r);
	assert_int_equal(code_after(n), 0);
	return n - MOUNT_HEAD;
}

/* ---- Tests ------------------------------------------------------------ */

static void test_found(void **unused)
{
	const struct fuse_entry_out *e = (const void *)(buf + MOUNT_HEAD);
	const struct fuse_attr_out *a = (const void *)(buf + MOUNT_HEAD);
	uint64_t folder, status, errors;
	struct world w;

	(void)unused;
	begin(&w, "a", S_IFREG);
	folder = find(&w, MOUNT_TOP, ".hpdsl");
	assert_true(folder >= MOUNT_OWN);
	assert_true(S_ISDIR(e->attr.mode));
	assert_true(e->attr_valid > 1000 && e->entry_valid > 1000);
	errors = find(&w, folder, "errors");
	assert_int_equal(e->attr.size, 0);
	status = find(&w, folder, "status");
	assert_true(status && errors && status != errors && status != folder);
	/* it is found for ever, and what it is never kept */
	assert_true(e->entry_valid > 1000);
	assert_int_equal(e->attr_valid, 0);
	assert_int_equal(e->attr.mode, S_IFREG | 0400);
	assert_int_equal(e->attr.uid, 7);
	assert_int_equal(ask(&w, MOUNT_GETATTR, status, NULL), 0);
	assert_int_equal(a->attr_valid, 0);
	assert_int_equal(a->attr.ino, status);
	assert_int_equal(a->attr.size, 14);
	assert_int_equal(a->attr.mtime, 77);
	assert_int_equal(a->attr.mtimensec, 5);
	assert_int_equal(ask(&w, MOUNT_GETATTR, folder, NULL), 0);
	assert_true(a->attr_valid > 1000);

	assert_int_equal(get_bytes(&w, status, 0, 4096), 14);
	assert_memory_equal(buf + MOUNT_HEAD, "what is asked\n", 14);
	assert_int_equal(get_bytes(&w, status, 5, 2), 2);
	assert_memory_equal(buf + MOUNT_HEAD, "is", 2);
	assert_int_equal(get_bytes(&w, status, 14, 4096), 0);
	assert_int_equal(get_bytes(&w, status, UINT64_MAX, UINT32_MAX), 0);
	assert_int_equal(get_bytes(&w, errors, 0, 4096), 0);
	w.fails = -ENOMEM;
	assert_int_equal(ask(&w, MOUNT_GETATTR, status, NULL), -ENOMEM);
	assert_int_equal(ask(&w, MOUNT_READ, status, NULL), -ENOMEM);
	assert_int_equal(ask(&w, MOUNT_LOOKUP, folder, "status"), -ENOMEM);
	end(&w);
}

/* A text larger than what a READ asks for at most. */
static void test_large(void **unused)
{
	const size_t n = MOUNT_READ_MOST + 100;
	char *text = malloc(n + 1);
	struct world w;

	(void)unused;
	memset(text, 'x', n);
	text[n] = '\0';
	begin(&w, "a", S_IFREG);
	w.text[MOUNT_OWN_ERRORS] = text;
	assert_int_equal(get_bytes(&w, MOUNT_OWN + 2, 0, UINT32_MAX),
			 MOUNT_READ_MOST);
	assert_int_equal(get_bytes(&w, MOUNT_OWN + 2, MOUNT_READ_MOST, 4096),
			 100);
	free(text);
	end(&w);
}

/* The names of a folder in answers of so many bytes, each followed by a /. */
static void list_into(struct world *w, uint64_t node, uint32_t op,
		      uint32_t size, char *ret)
{
	struct mount_request r = { .unique = 1, .node = node, .op = op };
	size_t n, off;

	*ret = '\0';
	r.size = size;
	do {
		n = answer(w, &r);
		assert_int_equal(code_after(n), 0);
		assert_true(n <= (size_t)MOUNT_HEAD + size);
		for (off = MOUNT_HEAD; off < n;) {
			const struct fuse_entry_out *e =
				(const void *)(buf + off);
			const struct fuse_dirent *d;

			off += op == MOUNT_READDIRPLUS ? sizeof *e : 0;
			d = (const void *)(buf + off);
			off += FUSE_DIRENT_SIZE(d);
			strncat(ret, d->name, d->namelen);
			strcat(ret, "/");
			r.offset = d->off;
			if (*d->name == '.' || op == MOUNT_READDIR)
				continue;
			assert_int_equal(e->nodeid, d->ino);
			assert_int_equal(e->attr_valid, node == MOUNT_TOP ?
								e->entry_valid :
								0);
		}
	} while (n > MOUNT_HEAD);
}

static void test_listed(void **unused)
{
	static const uint32_t sizes[] = { 200, 400, 4096, UINT32_MAX };
	struct world w;
	char seen[200];

	(void)unused;
	begin(&w, "a", S_IFREG);
	for (int i = 0; i < 8; i++) {
		uint32_t op = i & 1 ? MOUNT_READDIR : MOUNT_READDIRPLUS;

		list_into(&w, MOUNT_TOP, op, sizes[i / 2], seen);
		assert_string_equal(seen, "./../a/");
		list_into(&w, MOUNT_OWN, op, sizes[i / 2], seen);
		assert_string_equal(seen, "./../status/errors/");
		w.text[MOUNT_OWN_MANIFEST] = "a: 1\n";
		list_into(&w, MOUNT_OWN, op, sizes[i / 2], seen);
		assert_string_equal(seen, "./../status/errors/dataset.yaml/");
		w.text[MOUNT_OWN_MANIFEST] = NULL;
	}
	w.fails = -ENOMEM;
	/* what came before is told first, and then that */
	{
		struct mount_request r = { .unique = 1,
					   .node = MOUNT_OWN,
					   .op = MOUNT_READDIR,
					   .size = 4096 };

		assert_int_equal(code_after(answer(&w, &r)), 0);
		r.offset = 2;
		assert_int_equal(code_after(answer(&w, &r)), -ENOMEM);
		r.offset = UINT64_MAX;
		assert_int_equal(answer(&w, &r), MOUNT_HEAD);
	}
	end(&w);
}

static void test_odd(void **unused)
{
	struct mount_request attr = { .unique = 1,
				      .op = MOUNT_LISTXATTR,
				      .node = MOUNT_OWN + 1 };
	const uint64_t none[] = { MOUNT_OWN + 1 + MOUNT_OWN_FILES,
				  MOUNT_OWN - 1, MOUNT_OWN * 2, UINT64_MAX };
	char longer[300];
	struct world w;

	(void)unused;
	begin(&w, "a", S_IFREG);
	memset(longer, 'x', sizeof longer - 1);
	longer[sizeof longer - 1] = '\0';
	for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
		assert_int_equal(ask(&w, MOUNT_GETATTR, none[i], NULL),
				 -ENOENT);
		assert_int_equal(ask(&w, MOUNT_LOOKUP, none[i], "status"),
				 -ENOENT);
		assert_int_equal(ask(&w, MOUNT_READDIR, none[i], NULL),
				 -ENOENT);
		assert_int_equal(ask(&w, MOUNT_READLINK, none[i], NULL),
				 -ENOENT);
	}
	assert_int_equal(find(&w, MOUNT_TOP, ".hpds"), 0);
	assert_int_equal(find(&w, MOUNT_TOP, ".hpdsl "), 0);
	assert_int_equal(find(&w, MOUNT_TOP, ".HPDSL"), 0);
	assert_int_equal(find(&w, MOUNT_OWN, ".hpdsl"), 0);
	assert_int_equal(find(&w, MOUNT_OWN, ""), 0);
	assert_int_equal(find(&w, MOUNT_OWN, "statu"), 0);
	assert_int_equal(find(&w, MOUNT_OWN, "status/"), 0);
	assert_int_equal(ask(&w, MOUNT_LOOKUP, MOUNT_OWN, longer),
			 -ENAMETOOLONG);
	assert_int_equal(ask(&w, MOUNT_LOOKUP, MOUNT_OWN + 1, "x"), -ENOTDIR);
	assert_int_equal(ask(&w, MOUNT_READDIR, MOUNT_OWN + 1, NULL), -ENOTDIR);
	assert_int_equal(ask(&w, MOUNT_READ, MOUNT_OWN, NULL), -EISDIR);
	assert_int_equal(ask(&w, MOUNT_READLINK, MOUNT_OWN + 1, NULL), -EINVAL);
	/* what has one answer for all has no other one here */
	assert_int_equal(ask(&w, MOUNT_OPEN, MOUNT_OWN + 1, NULL), -ENOSYS);
	assert_int_equal(ask(&w, MOUNT_OPENDIR, MOUNT_OWN, NULL), -ENOSYS);
	assert_int_equal(ask(&w, MOUNT_IOCTL, MOUNT_OWN + 1, NULL), -ENOTTY);
	assert_int_equal(ask(&w, MOUNT_STATFS, MOUNT_OWN, NULL), 0);
	assert_int_equal(answer(&w, &attr), MOUNT_HEAD + 8);
	attr.attr.room = 100;
	assert_int_equal(answer(&w, &attr), MOUNT_HEAD);
	attr.op = MOUNT_GETXATTR;
	attr.attr.name = "user.x";
	assert_int_equal(code_after(answer(&w, &attr)), -ENODATA);
	end(&w);
}

/* The dataset's wins, be it a file or a folder. */
static void test_hidden(void **unused)
{
	static const uint32_t modes[] = { S_IFREG, S_IFDIR };
	struct world w;

	(void)unused;
	for (int i = 0; i < 2; i++) {
		uint64_t node;

		begin(&w, ".hpdsl", modes[i]);
		node = find(&w, MOUNT_TOP, ".hpdsl");
		assert_true(node > MOUNT_TOP && node < MOUNT_OWN);
		assert_int_equal(ask(&w, MOUNT_GETATTR, MOUNT_OWN, NULL),
				 -ENOENT);
		assert_int_equal(ask(&w, MOUNT_GETATTR, MOUNT_OWN + 1, NULL),
				 -ENOENT);
		end(&w);
	}
}

static void test_widen(void **unused)
{
	static const char json[] =
		"{\"a1\": 7, \"b\": \"8\\\"9\\\\\", \"c\": -12, \"d\": null}\n";
	static const char wide[] = "{\"a1\":                    7, "
				   "\"b\": \"8\\\"9\\\\\", "
				   "\"c\":                  -12, "
				   "\"d\": null}\n";
	static const char most[] = "[18446744073709551615, 1]";
	char *s;

	(void)unused;
	s = mount_own_widen(json, sizeof json - 1);
	assert_string_equal(s, wide);
	free(s);
	s = mount_own_widen(most, sizeof most - 1);
	assert_string_equal(s, "[18446744073709551615,                    1]");
	free(s);
	s = mount_own_widen("\"\\", 2);
	assert_string_equal(s, "\"\\");
	free(s);
	s = mount_own_widen("", 0);
	assert_string_equal(s, "");
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),  cmocka_unit_test(test_large),
		cmocka_unit_test(test_listed), cmocka_unit_test(test_odd),
		cmocka_unit_test(test_hidden), cmocka_unit_test(test_widen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
