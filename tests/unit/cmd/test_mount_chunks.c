/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-mount: a directory of chunks and what lies beside them, listed and
 * looked up through requests and answers alone.
 */
#include "cmd/mount/chunks.c"
#include "cmd/mount/wire.c"

#include <linux/fuse.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { CHUNKS = 500, BESIDE = 40, FOLDER = 1 + CHUNKS + BESIDE, BELOW = 3 };
enum { ALL = FOLDER + 1 + BELOW };

static uint8_t buf[MOUNT_ANSWER_ROOM];

/* Of chunks each third is a link; one folder has files of its own. */
static void make(struct mount_chunks *c)
{
	*c = (struct mount_chunks){
		.n = ALL, .chunks = CHUNKS, .uid = 7, .gid = 8
	};
	c->v = calloc(ALL, sizeof(*c->v));
	assert_non_null(c->v);
	for (int i = 0; i < ALL; i++) {
		struct mount_thing *v = &c->v[i];
		const char *form = i == 0      ? "" :
				   i <= CHUNKS ? "chunk-%06d.tar" :
				   i < FOLDER  ? "%d.idx" :
				   i == FOLDER ? ".nv-meta" :
						 "%d.idx";

		v->is = i == 0 || i == FOLDER ? MOUNT_FOLDER :
			i <= CHUNKS	      ? MOUNT_CHUNK :
						MOUNT_SIDE;
		v->parent = i > FOLDER ? FOLDER : 0;
		/* the same names in both folders */
		assert_true(asprintf(&v->name, form,
				     i > FOLDER ? i - FOLDER + CHUNKS : i) >=
			    0);
		v->size = v->is == MOUNT_FOLDER ? 0 : (uint64_t)i * 1000;
		v->mode = 0640;
		v->mtime = i;
		v->link = v->is == MOUNT_CHUNK && i % 3 == 0;
		if (v->link)
			assert_true(asprintf(&v->path, "/x/%d", i) > 0);
	}
	assert_int_equal(mount_chunks_sort(c), 0);
}

static int ask(const struct mount_chunks *c, uint32_t op, uint64_t node,
	       const char *name)
{
	struct mount_request r = { .unique = 1, .node = node, .op = op };
	size_t n;

	if (name) {
		r.name = name;
		r.name_len = strlen(name);
	}
	n = mount_chunks_answer(c, &r, buf);
	assert_true(n >= MOUNT_HEAD && n <= sizeof buf);
	assert_int_equal(((struct fuse_out_header *)buf)->len, n);
	return ((struct fuse_out_header *)buf)->error;
}

static void test_lookup(void **state)
{
	const struct fuse_entry_out *e = (const void *)(buf + MOUNT_HEAD);
	struct mount_chunks c;
	uint64_t thing = 0;

	(void)state;
	make(&c);
	for (uint64_t i = 1; i < ALL; i++) {
		const struct mount_thing *v = &c.v[i];

		assert_int_equal(ask(&c, MOUNT_LOOKUP, v->parent + 1, v->name),
				 0);
		assert_int_equal(e->nodeid, i + 1);
		assert_int_equal(e->attr.uid, 7);
		assert_int_equal(e->attr.mtime, i);
		assert_int_equal(e->attr.size,
				 v->link ? strlen(v->path) : v->size);
		assert_int_equal(e->attr.mode, v->link ? S_IFLNK | 0777 :
					       v->is == MOUNT_FOLDER ?
							 S_IFDIR | 0640 :
							 S_IFREG | 0640);
		assert_int_equal(ask(&c, MOUNT_READLINK, i + 1, NULL),
				 v->link ? 0 : -EINVAL);
		assert_int_equal(ask(&c, MOUNT_LOOKUP, i + 1, "x"),
				 v->is == MOUNT_FOLDER ? 0 : -ENOTDIR);
		assert_int_equal(mount_chunks_file(&c, i + 1, &thing),
				 v->is == MOUNT_FOLDER ? -EISDIR : 0);
		assert_true(v->link || v->is == MOUNT_FOLDER || thing == i);
	}
	assert_int_equal(ask(&c, MOUNT_READLINK, 4, NULL), 0);
	assert_memory_equal(buf + MOUNT_HEAD, "/x/3", 4);
	assert_int_equal(ask(&c, MOUNT_LOOKUP, 1, "chunk-000001"), 0);
	assert_int_equal(e->nodeid, 0);
	assert_int_equal(ask(&c, MOUNT_LOOKUP, 1, "chunk-000001.tar.zst"), 0);
	assert_int_equal(e->nodeid, 0);
	mount_chunks_release(&c);
}

/* Names of a folder by answers of that size: each once, and its own. */
static void check_list(const struct mount_chunks *c, uint32_t parent, bool plus,
		       uint32_t size)
{
	unsigned char seen[ALL] = { 0 };
	uint64_t at = 0;
	size_t end, n = 0, want = 0;

	do {
		struct mount_request r = {
			.unique = 1,
			.node = parent + 1,
			.op = plus ? MOUNT_READDIRPLUS : MOUNT_READDIR,
			.offset = at,
			.size = size,
		};
		size_t off = MOUNT_HEAD;

		end = mount_chunks_answer(c, &r, buf);
		assert_int_equal(((struct fuse_out_header *)buf)->error, 0);
		assert_true(end <= MOUNT_HEAD + size);
		while (off < end) {
			const struct fuse_dirent *d;

			off += plus ? sizeof(struct fuse_entry_out) : 0;
			d = (const void *)(buf + off);
			off += FUSE_DIRENT_SIZE(d);
			at = d->off;
			if (d->off <= 2)
				continue;
			assert_in_range(d->ino, 2, ALL);
			assert_int_equal(c->v[d->ino - 1].parent, parent);
			assert_memory_equal(c->v[d->ino - 1].name, d->name,
					    d->namelen);
			assert_int_equal(seen[d->ino - 1]++, 0);
			n++;
		}
	} while (end > MOUNT_HEAD);
	for (int i = 1; i < ALL; i++)
		want += c->v[i].parent == parent;
	assert_int_equal(n, want);
}

static void test_list(void **state)
{
	struct mount_chunks c;

	(void)state;
	make(&c);
	for (uint32_t size = 300; size < 20000; size = size * 3 + 7)
		for (int plus = 0; plus < 2; plus++) {
			check_list(&c, 0, plus, size);
			check_list(&c, FOLDER, plus, size);
		}
	assert_int_equal(ask(&c, MOUNT_READDIR, 2, NULL), -ENOTDIR);
	assert_int_equal(ask(&c, MOUNT_READDIR, ALL + 1, NULL), -ENOENT);
	mount_chunks_release(&c);
}

static void test_others(void **state)
{
	struct mount_request r = { .unique = 1, .node = 1, .op = MOUNT_FORGET };
	struct mount_chunks c;

	(void)state;
	make(&c);
	assert_int_equal(mount_chunks_answer(&c, &r, buf), 0);
	assert_int_equal(ask(&c, MOUNT_OPEN, 1, NULL), -ENOSYS);
	assert_int_equal(ask(&c, MOUNT_IOCTL, 1, NULL), -ENOTTY);
	assert_int_equal(ask(&c, MOUNT_STATFS, 1, NULL), 0);
	assert_int_equal(ask(&c, MOUNT_GETATTR, 1, NULL), 0);
	assert_int_equal(ask(&c, MOUNT_GETATTR, ALL, NULL), 0);
	assert_int_equal(ask(&c, MOUNT_GETATTR, ALL + 1, NULL), -ENOENT);
	assert_int_equal(ask(&c, MOUNT_GETATTR, 0, NULL), -ENOENT);
	mount_chunks_release(&c);
}

/* Whatever a file of another time has of its own is in the sum; what chunks
 * have is not. */
static void test_sum(void **state)
{
	struct mount_chunks c;
	uint64_t is, thing = 0;

	(void)state;
	make(&c);
	is = mount_chunks_sum(&c);
	for (int i = 1; i < ALL; i++) {
		struct mount_thing *v = &c.v[i];
		const struct mount_thing before = *v;
		uint64_t *of[] = { &v->size, &v->dev, &v->ino };

		for (int k = 0; k < 3; k++) {
			++*of[k];
			assert_int_equal(mount_chunks_sum(&c) == is,
					 i <= CHUNKS);
			*v = before;
		}
		v->name[0]++;
		assert_int_equal(mount_chunks_sum(&c) == is, i <= CHUNKS);
		v->name[0]--;
		v->mtime++;
		assert_int_equal(mount_chunks_sum(&c) == is, i <= CHUNKS);
		*v = before;
	}
	free(c.order);
	mount_chunks_drop(&c);
	assert_int_equal(mount_chunks_sort(&c), 0);
	assert_int_equal(ask(&c, MOUNT_LOOKUP, 1, ".nv-meta"), 0);
	for (uint64_t node = 2; node <= ALL; node++)
		assert_int_equal(mount_chunks_file(&c, node, &thing),
				 node <= CHUNKS + 1 ? 0 : -EIO);
	mount_chunks_release(&c);
}

static void check_name(const char *stored, bool compressed, const char *want)
{
	const struct hpdsl_chunk c = { .name = stored,
				       .compressed = compressed };
	char *name = mount_chunk_name(&c);

	assert_string_equal(name, want);
	free(name);
}

static void test_names(void **state)
{
	(void)state;
	check_name("chunk-000012.tar", false, "chunk-000012.tar");
	check_name("chunk-000012.tar.zst", true, "chunk-000012.tar");
	check_name("../x/train.tar", false, "train.tar");
	check_name("odd.zst", false, "odd.zst");
	check_name(".zst", true, ".zst");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lookup), cmocka_unit_test(test_list),
		cmocka_unit_test(test_others), cmocka_unit_test(test_sum),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
