/* SPDX-License-Identifier: Apache-2.0 */
/* A small tree and the dataset packed from it. */
#include "packed.h"
#include "tmp.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>
#include <fcntl.h>

#include <cmocka.h>

void packed_begin(struct packed *p)
{
	assert_non_null(tmp_folder(p->top, sizeof p->top, "packed"));
	snprintf(p->tree, sizeof p->tree, "%s/tree", p->top);
	snprintf(p->out, sizeof p->out, "%s/out", p->top);
	assert_int_equal(mkdir(p->tree, 0777), 0);
}

static int remove_one(const char *name, const struct stat *st, int type,
		      struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(name);
}

void packed_end(struct packed *p)
{
	nftw(p->top, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *packed_at(const struct packed *p, const char *name)
{
	static char ring[4][PACKED_PATH];
	static int next;
	char *buf = ring[next++ % 4];

	snprintf(buf, PACKED_PATH, "%s/%s", p->top, name);
	return buf;
}

static void make_folders(char *name)
{
	for (char *s = name + 1; (s = strchr(s, '/')); s++) {
		*s = '\0';
		mkdir(name, 0777);
		*s = '/';
	}
}

void packed_put(const char *name, const void *data, size_t n)
{
	FILE *f = fopen(name, "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

char *packed_get(const char *name, size_t *ret_n)
{
	FILE *f = fopen(name, "rb");
	struct stat st;
	char *data;

	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	*ret_n = (size_t)st.st_size;
	data = malloc(*ret_n + 1);
	assert_non_null(data);
	assert_int_equal(fread(data, 1, *ret_n, f), *ret_n);
	fclose(f);
	return data;
}

void packed_file(const struct packed *p, const char *path, size_t size,
		 unsigned mode, int64_t mtime, uint32_t nsec)
{
	struct timespec times[2] = { { .tv_sec = mtime, .tv_nsec = nsec },
				     { .tv_sec = mtime, .tv_nsec = nsec } };
	uint64_t x = strlen(path) * 7919 + (unsigned char)path[0];
	uint8_t *data = malloc(size + 1);
	char name[PACKED_PATH];

	assert_non_null(data);
	for (size_t i = 0; i < size; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		data[i] = (uint8_t)(x >> 56);
	}
	snprintf(name, sizeof name, "%s/%s", p->tree, path);
	make_folders(name);
	packed_put(name, data, size);
	assert_int_equal(chmod(name, mode), 0);
	assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
	free(data);
}

void packed_flip(const char *name, uint64_t byte, unsigned bit)
{
	size_t n;
	char *data = packed_get(name, &n);

	assert_true(byte < n);
	data[byte] = (char)(data[byte] ^ 1 << bit);
	packed_put(name, data, n);
	free(data);
}

int packed_try(const struct packed *p, struct hpdsl_pack_options opt,
	       struct hpdsl_error *err)
{
	const char *input = p->tree;
	struct hpdsl_pack_report report;

	opt.inputs = &input;
	opt.n_inputs = 1;
	opt.output = p->out;
	memset(err, 0, sizeof *err);
	return hpdsl_pack(&opt, &report, err);
}

void packed_pack(struct packed *p, struct hpdsl_pack_options opt)
{
	struct hpdsl_error err;

	opt.memory = 8 << 20;
	if (packed_try(p, opt, &err) < 0)
		fail_msg("%s", err.msg);
}

bool packed_has(const struct packed *p, const char *name)
{
	return access(packed_at(p, name), F_OK) == 0;
}

void packed_same(const struct packed *p, const char *other)
{
	char command[4 * PACKED_PATH];

	snprintf(command, sizeof command,
		 "cd %s && find . -type f -printf '%%P %%m %%T@\\n' | "
		 "sort > ../is.a && cd %s && "
		 "find . -type f -printf '%%P %%m %%T@\\n' | sort > %s/is.b && "
		 "cmp %s/is.a %s/is.b && diff -r %s %s",
		 p->tree, other, p->top, p->top, p->top, p->tree, other);
	assert_int_equal(system(command), 0);
}
