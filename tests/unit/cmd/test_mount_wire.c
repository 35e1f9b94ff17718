/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-mount: what the kernel asks and is told, byte for byte, against the
 * kernel's own header.
 */
#include "cmd/mount/wire.c"

#include <linux/fuse.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static uint8_t out[MOUNT_REQUEST_MOST];

static size_t asked(void *p, uint32_t op, const void *body, size_t n)
{
	const struct fuse_in_header h = {
		.len = (uint32_t)(sizeof h + n),
		.opcode = op,
		.unique = 77,
		.nodeid = 5,
		.pid = 9,
	};

	memcpy(p, &h, sizeof h);
	if (n)
		memcpy((uint8_t *)p + sizeof h, body, n);
	return sizeof h + n;
}

static void test_numbers(void **unused)
{
	(void)unused;
	assert_int_equal(MOUNT_LOOKUP, FUSE_LOOKUP);
	assert_int_equal(MOUNT_FORGET, FUSE_FORGET);
	assert_int_equal(MOUNT_GETATTR, FUSE_GETATTR);
	assert_int_equal(MOUNT_READLINK, FUSE_READLINK);
	assert_int_equal(MOUNT_OPEN, FUSE_OPEN);
	assert_int_equal(MOUNT_READ, FUSE_READ);
	assert_int_equal(MOUNT_STATFS, FUSE_STATFS);
	assert_int_equal(MOUNT_GETXATTR, FUSE_GETXATTR);
	assert_int_equal(MOUNT_LISTXATTR, FUSE_LISTXATTR);
	assert_int_equal(MOUNT_INIT, FUSE_INIT);
	assert_int_equal(MOUNT_OPENDIR, FUSE_OPENDIR);
	assert_int_equal(MOUNT_READDIR, FUSE_READDIR);
	assert_int_equal(MOUNT_ACCESS, FUSE_ACCESS);
	assert_int_equal(MOUNT_INTERRUPT, FUSE_INTERRUPT);
	assert_int_equal(MOUNT_DESTROY, FUSE_DESTROY);
	assert_int_equal(MOUNT_IOCTL, FUSE_IOCTL);
	assert_int_equal(MOUNT_BATCH_FORGET, FUSE_BATCH_FORGET);
	assert_int_equal(MOUNT_READDIRPLUS, FUSE_READDIRPLUS);
	assert_int_equal(MOUNT_ASYNC_READ, FUSE_ASYNC_READ);
	assert_int_equal(MOUNT_READDIRPLUS_DO, FUSE_DO_READDIRPLUS);
	assert_int_equal(MOUNT_READDIRPLUS_AUTO, FUSE_READDIRPLUS_AUTO);
	assert_int_equal(MOUNT_ASYNC_DIO, FUSE_ASYNC_DIO);
	assert_int_equal(MOUNT_NO_OPEN, FUSE_NO_OPEN_SUPPORT);
	assert_int_equal(MOUNT_PARALLEL_DIROPS, FUSE_PARALLEL_DIROPS);
	assert_int_equal(MOUNT_MAX_PAGES, FUSE_MAX_PAGES);
	assert_int_equal(MOUNT_CACHE_SYMLINKS, FUSE_CACHE_SYMLINKS);
	assert_int_equal(MOUNT_NO_OPENDIR, FUSE_NO_OPENDIR_SUPPORT);
	assert_int_equal(MOUNT_INIT_EXT, FUSE_INIT_EXT);
	assert_int_equal(MOUNT_AUTO_INVAL, FUSE_AUTO_INVAL_DATA);
	assert_int_equal(MOUNT_TOP, FUSE_ROOT_ID);
	assert_int_equal(MOUNT_HEAD, sizeof(struct fuse_out_header));
	assert_true(MOUNT_REQUEST_MOST >= FUSE_MIN_READ_BUFFER);
}

/* ---- What is asked ---------------------------------------------------- */

static void test_asked(void **unused)
{
	const struct fuse_read_in read = { .offset = 1 << 20, .size = 4096 };
	struct fuse_init_in init = { 7, 38, 131072, 0xf0f0, 1, { 0 } };
	const uint64_t other = 12;
	struct mount_request r;
	uint8_t p[256], attr[15];
	size_t n;

	(void)unused;
	n = asked(p, FUSE_LOOKUP, "a name", 7);
	assert_int_equal(mount_decode(p, n, &r), 0);
	assert_int_equal(r.unique, 77);
	assert_int_equal(r.node, 5);
	assert_int_equal(r.pid, 9);
	assert_int_equal(r.name_len, 6);
	assert_string_equal(r.name, "a name");

	n = asked(p, FUSE_READ, &read, sizeof read);
	assert_int_equal(mount_decode(p, n, &r), 0);
	assert_int_equal(r.offset, 1 << 20);
	assert_int_equal(r.size, 4096);

	memcpy(attr, &(struct fuse_getxattr_in){ .size = 99 }, 8);
	memcpy(attr + 8, "user.x", 7);
	n = asked(p, FUSE_GETXATTR, attr, 15);
	assert_int_equal(mount_decode(p, n, &r), 0);
	assert_int_equal(r.attr.room, 99);
	assert_string_equal(r.attr.name, "user.x");
	assert_int_equal(mount_decode(p, asked(p, FUSE_GETXATTR, attr, 14), &r),
			 -EPROTO);
	n = asked(p, FUSE_LISTXATTR, attr, 8);
	assert_int_equal(mount_decode(p, n, &r), 0);
	assert_int_equal(r.attr.room, 99);
	assert_int_equal(mount_answer_attr_size(p, 77, 5), 24);
	assert_int_equal(
		((const struct fuse_getxattr_out *)(p + MOUNT_HEAD))->size, 5);

	n = asked(p, FUSE_INIT, &init, sizeof init);
	assert_int_equal(mount_decode(p, n, &r), 0);
	assert_int_equal(r.init.minor, 38);
	assert_int_equal(r.init.max_readahead, 131072);
	assert_int_equal(r.init.flags, 0xf0f0);
	assert_int_equal(r.init.flags2, 0);
	init.flags |= FUSE_INIT_EXT;
	n = asked(p, FUSE_INIT, &init, sizeof init);
	assert_int_equal(mount_decode(p, n, &r), 0);
	assert_int_equal(r.init.flags2, 1);
	assert_int_equal(mount_decode(p, asked(p, FUSE_INIT, &init, 16), &r),
			 0);
	assert_int_equal(r.init.flags2, 0);

	n = asked(p, FUSE_INTERRUPT, &other, sizeof other);
	assert_int_equal(mount_decode(p, n, &r), 0);
	assert_int_equal(r.interrupted, 12);
	assert_true(mount_is_silent(FUSE_INTERRUPT));
	assert_true(mount_is_silent(FUSE_BATCH_FORGET));
	assert_false(mount_is_silent(FUSE_READ));
}

/* Cut anywhere, or with another length than it has, it is refused. */
static void test_cut(void **unused)
{
	static const uint32_t ops[] = { FUSE_LOOKUP, FUSE_READ,
					FUSE_READDIRPLUS, FUSE_INIT,
					FUSE_INTERRUPT };
	static const size_t sizes[] = { 7, 40, 40, 16, 8 };
	const uint8_t body[64] = "a name";

	(void)unused;
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
		for (size_t n = 0; n < 40 + sizes[i]; n++) {
			/* of the size it has: what is read behind is seen */
			uint8_t all[128], *p = malloc(n + 1);
			uint32_t len = (uint32_t)n;
			struct mount_request r;

			asked(all, ops[i], body, sizes[i]);
			memcpy(all, &len, 4);
			memcpy(p, all, n);
			assert_int_equal(mount_decode(p, n, &r), -EPROTO);
			assert_int_equal(r.unique, n < 40 ? 0 : 77);
			free(p);
		}
	}
	{
		struct mount_request r;
		uint8_t p[64];
		size_t n = asked(p, FUSE_STATFS, NULL, 0);

		assert_int_equal(mount_decode(p, n, &r), 0);
		assert_int_equal(mount_decode(p, n + 1, &r), -EPROTO);
	}
}

/* ---- What is told ----------------------------------------------------- */

static const struct mount_attr file = {
	.ino = 6,
	.size = 1025,
	.mtime = 1700000000,
	.mtime_nsec = 5,
	.mode = S_IFREG | 0640,
	.nlink = 1,
	.uid = 1000,
	.gid = 100,
};

static void check_head(size_t n, int code)
{
	const struct fuse_out_header *h = (const void *)out;

	assert_int_equal(h->len, n);
	assert_int_equal(h->error, code);
	assert_int_equal(h->unique, 77);
}

static void check_attr(const struct fuse_attr *a)
{
	assert_int_equal(a->ino, 6);
	assert_int_equal(a->size, 1025);
	assert_int_equal(a->blocks, 3);
	assert_int_equal(a->mtime, 1700000000);
	assert_int_equal(a->ctime, 1700000000);
	assert_int_equal(a->atimensec, 5);
	assert_int_equal(a->mode, S_IFREG | 0640);
	assert_int_equal(a->nlink, 1);
	assert_int_equal(a->uid, 1000);
	assert_int_equal(a->gid, 100);
	assert_int_equal(a->rdev, 0);
}

static void test_told(void **unused)
{
	const struct fuse_entry_out *e = (const void *)(out + 16);
	const struct fuse_attr_out *a = (const void *)(out + 16);
	const struct fuse_statfs_out *s = (const void *)(out + 16);
	const struct mount_statfs all = { 4097, 12 };
	size_t n;

	(void)unused;
	n = mount_answer(out, 77, -EIO);
	check_head(n, -EIO);
	n = mount_answer_bytes(out, 77, 100);
	assert_int_equal(n, 116);
	check_head(n, 0);

	n = mount_answer_entry(out, 77, &file);
	assert_int_equal(n, 16 + sizeof *e);
	check_head(n, 0);
	assert_int_equal(e->nodeid, 6);
	assert_true(e->entry_valid >= 1 << 30 && e->attr_valid >= 1 << 30);
	check_attr(&e->attr);

	n = mount_answer_nothing(out, 77);
	assert_int_equal(n, 16 + sizeof *e);
	check_head(n, 0);
	assert_int_equal(e->nodeid, 0);
	assert_true(e->entry_valid >= 1 << 30);

	n = mount_answer_attr(out, 77, &file);
	assert_int_equal(n, 16 + sizeof *a);
	check_head(n, 0);
	assert_true(a->attr_valid >= 1 << 30);
	check_attr(&a->attr);

	n = mount_answer_statfs(out, 77, &all);
	assert_int_equal(n, 16 + sizeof *s);
	check_head(n, 0);
	assert_int_equal(s->st.blocks * s->st.bsize, 8192);
	assert_int_equal(s->st.files, 12);
	assert_int_equal(s->st.bfree, 0);
	assert_int_equal(s->st.namelen, 255);
}

static void test_store(void **unused)
{
	const struct fuse_out_header *h = (const void *)out;
	const struct fuse_notify_store_out *s = (const void *)(out + 16);

	(void)unused;
	mount_notify_store(out, 6, 12345);
	assert_int_equal(MOUNT_STORE_HEAD, sizeof *h + sizeof *s);
	assert_int_equal(h->len, MOUNT_STORE_HEAD + 12345);
	assert_int_equal(h->error, FUSE_NOTIFY_STORE);
	assert_int_equal(h->unique, 0);
	assert_int_equal(s->nodeid, 6);
	assert_int_equal(s->offset, 0);
	assert_int_equal(s->size, 12345);
}

static void test_init(void **unused)
{
	const struct mount_offer plain = { .plus = true };
	const struct mount_offer none = { .plus = false };
	const struct fuse_init_out *o = (const void *)(out + 16);
	struct mount_request r = { .unique = 77 };
	struct mount_agreed agreed;
	size_t n;

	(void)unused;
	r.init.major = 7;
	r.init.minor = 44;
	r.init.max_readahead = 131072;
	r.init.flags = r.init.flags2 = ~0u;
	assert_int_equal(mount_answer_init(out, &r, &plain, &n, &agreed), 0);
	assert_int_equal(n, 16 + sizeof *o);
	check_head(n, 0);
	assert_int_equal(o->major, 7);
	assert_int_equal(o->minor, MOUNT_MINOR);
	assert_int_equal(o->max_readahead, 131072);
	assert_int_equal(o->max_pages, 256);
	assert_int_equal(o->time_gran, 1);
	assert_true(o->flags & FUSE_NO_OPENDIR_SUPPORT);
	assert_false(o->flags & FUSE_READDIRPLUS_AUTO);
	assert_true(o->flags & FUSE_ASYNC_READ);
	assert_false(o->flags & FUSE_INIT_EXT);
	assert_int_equal(o->flags2, 0);
	assert_int_equal(o->flags, agreed.flags);

	/* nothing that an older one does not know */
	r.init.minor = 27;
	r.init.flags2 = 0;
	r.init.flags = FUSE_ASYNC_READ | FUSE_NO_OPEN_SUPPORT;
	assert_int_equal(mount_answer_init(out, &r, &none, &n, &agreed), 0);
	assert_int_equal(o->minor, 27);
	assert_int_equal(o->flags, r.init.flags);

	r.init.minor = MOUNT_MINOR_LEAST - 1;
	assert_int_equal(mount_answer_init(out, &r, &plain, &n, &agreed),
			 -EPROTO);
	assert_int_equal(n, 16);
	check_head(n, -EPROTO);

	r.init.major = 8; /* is told ours, and asks again */
	r.init.minor = 0;
	assert_int_equal(mount_answer_init(out, &r, &plain, &n, &agreed), 0);
	assert_int_equal(o->major, 7);
	assert_int_equal(o->minor, MOUNT_MINOR);
}

/* Where pages are given, no READ may be nobody's, and none is for ever. */
static void test_init_give(void **unused)
{
	const struct fuse_init_out *o = (const void *)(out + 16);
	const struct mount_offer give = { .give = true, .end = 660 };
	struct mount_request r = { .unique = 77 };
	struct mount_agreed agreed;
	uint16_t end;
	size_t n;

	(void)unused;
	r.init.major = 7;
	r.init.minor = 45;
	r.init.flags = r.init.flags2 = ~0u;
	assert_int_equal(mount_answer_init(out, &r, &give, &n, &agreed), 0);
	assert_false(o->flags & FUSE_ASYNC_READ);
	assert_true(o->flags & FUSE_ASYNC_DIO);
	assert_true(o->flags & FUSE_INIT_EXT);
	/* FUSE_REQUEST_TIMEOUT, which a header of 7.42 does not know */
	assert_int_equal(o->flags2, UINT64_C(1) << 42 >> 32);
	/* request_timeout, behind max_stack_depth */
	memcpy(&end, out + 16 + 40, sizeof end);
	assert_int_equal(end, 660);

	/* a kernel that does not know it has zeros there */
	r.init.flags2 = ~(uint32_t)MOUNT_REQUEST_TIMEOUT;
	assert_int_equal(mount_answer_init(out, &r, &give, &n, &agreed), 0);
	assert_false(o->flags & (FUSE_INIT_EXT | FUSE_ASYNC_READ));
	assert_int_equal(o->flags2, 0);
	memcpy(&end, out + 16 + 40, sizeof end);
	assert_int_equal(end, 0);
}

/* ---- Listings --------------------------------------------------------- */

static void test_listing(void **unused)
{
	struct mount_listing l = { .p = out, .room = 24 + 8 + 24 + 16 };
	const struct fuse_dirent *d = (const void *)(out + 16);

	(void)unused;
	assert_true(mount_listing_add(&l, &file, "a", 1, 3, true));
	assert_int_equal(l.at, 32);
	/* there is room for 16 bytes of a name, not for 17 */
	assert_false(
		mount_listing_add(&l, &file, "seventeen letters", 17, 4, true));
	assert_int_equal(l.at, 32);
	assert_true(
		mount_listing_add(&l, &file, "sixteen letters!", 16, 4, true));
	check_head(mount_listing_end(&l, 77), 0);
	assert_int_equal(d->ino, 6);
	assert_int_equal(d->off, 3);
	assert_int_equal(d->namelen, 1);
	assert_int_equal(d->type, 8);
	assert_int_equal(d->name[0], 'a');
	assert_int_equal(FUSE_DIRENT_SIZE(d), 32);
	d = (const void *)(out + 16 + 32);
	assert_int_equal(d->off, 4);
	assert_memory_equal(d->name, "sixteen letters!", 16);
}

static void test_listing_plus(void **unused)
{
	struct mount_listing l = { .p = out, .room = 1000, .plus = true };
	const struct fuse_direntplus *d = (const void *)(out + 16);

	(void)unused;
	assert_true(mount_listing_add(&l, &file, ".", 1, 1, false));
	assert_true(mount_listing_add(&l, &file, "name", 4, 3, true));
	/* of . nothing is kept */
	assert_int_equal(d->entry_out.nodeid, 0);
	assert_int_equal(d->dirent.ino, 6);
	d = (const void *)((const uint8_t *)d + FUSE_DIRENTPLUS_SIZE(d));
	assert_int_equal(d->entry_out.nodeid, 6);
	check_attr(&d->entry_out.attr);
	assert_memory_equal(d->dirent.name, "name", 4);
	assert_int_equal(l.at, 2 * FUSE_DIRENTPLUS_SIZE(d));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_asked),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_told),
		cmocka_unit_test(test_store),
		cmocka_unit_test(test_init),
		cmocka_unit_test(test_init_give),
		cmocka_unit_test(test_listing),
		cmocka_unit_test(test_listing_plus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
