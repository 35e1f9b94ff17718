/* SPDX-License-Identifier: Apache-2.0 */
/* What there is of a dataset as plain chunks: from its index, and its folder.
 */
#include "chunks.h"
#include "mount.h"
#include "slots.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The next thing, all zeros. */
static struct mount_thing *add(struct mount_chunks *c)
{
	c->v = cmd_grow(c->v, c->n, sizeof(*c->v));
	c->v[c->n] = (struct mount_thing){ 0 };
	return &c->v[c->n++];
}

static char *dup_or_end(char *s)
{
	if (!s)
		cmd_no_memory();
	return s;
}

static char *below(const char *folder, const char *name)
{
	char *ret;

	return dup_or_end(asprintf(&ret, "%s/%s", folder, name) < 0 ? NULL :
								      ret);
}

/*
 * Where a link to that is to lead, which is freed; NULL: none can, as it would
 * lead into the mount.
 */
static char *target(const struct mount_options *o, char *path)
{
	char *ret = realpath(path, NULL);

	free(path);
	if (!mount_is_in(ret, o->place))
		return ret;
	free(ret);
	return NULL;
}

static void take_stat(struct mount_thing *v, const struct stat *st)
{
	v->size = S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0;
	v->mtime = st->st_mtim.tv_sec;
	v->mtime_nsec = (uint32_t)st->st_mtim.tv_nsec;
	v->mode = st->st_mode & 0777;
	v->dev = st->st_dev;
	v->ino = st->st_ino;
}

/* ---- Chunks ----------------------------------------------------------- */

/*
 * Is it a link?  Once it is, or is not, it stays that: the kernel is told once.
 * The path is where it leads, or NULL.
 */
static bool is_link(struct mount_slots *slots, uint32_t chunk, const char *path)
{
	const uint8_t bit = (uint8_t)(1u << chunk % 8);

	if (chunk >= MOUNT_LINKS)
		return false;
	if (path && !atomic_load(&slots->opened))
		slots->links[chunk / 8] |= bit;
	return slots->links[chunk / 8] & bit;
}

static int find_chunks(const struct mount_options *o,
		       const struct hpdsl_dataset *ds,
		       struct mount_slots *slots, struct mount_chunks *ret,
		       struct hpdsl_error *err)
{
	char file[HPDSL_PATH_MAX + 1];
	struct hpdsl_counts n;
	struct hpdsl_chunk c;
	int r = 0;

	hpdsl_count(ds, &n);
	for (uint32_t i = 0; r == 0 && i < n.chunks; i++) {
		struct mount_thing *v;

		r = hpdsl_chunk_get(ds, i, &c, err);
		if (r < 0)
			break;
		v = add(ret);
		v->is = MOUNT_CHUNK;
		v->name = dup_or_end(mount_chunk_name(&c));
		v->size = c.plain_bytes;
		v->mode = 0644;
		v->mtime = ret->v[0].mtime;
		v->mtime_nsec = ret->v[0].mtime_nsec;
		r = o->no_links ? 0 :
				  hpdsl_chunk_plain_file(ds, i, file,
							 sizeof(file), err);
		if (r > 0)
			v->path = target(o, below(o->data, file));
		v->link = is_link(slots, i, v->path);
		/* it was here */
		if (v->link && !v->path)
			v->path = below(o->data, v->name);
		r = r < 0 ? r : 0;
	}
	ret->chunks = (uint32_t)n.chunks;
	return r;
}

/* ---- What lies beside them -------------------------------------------- */

static bool is_beside(const char *path)
{
	struct hpdsl_error err;
	enum hpdsl_kind kind;

	return hpdsl_kind_of(path, NULL, &kind, &err) == 0 &&
	       (kind == HPDSL_KIND_MANIFEST || kind == HPDSL_KIND_INDEX ||
		kind == HPDSL_KIND_SIDE);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int no_dots(const struct dirent *e)
{
	return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

/* Chunks are not opened one by one to see that they are none of these. */
static bool is_tar(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && (strcmp(dot, ".tar") == 0 || strcmp(dot, ".zst") == 0);
}

static void find_beside(const struct mount_options *o, struct mount_chunks *ret,
			const char *path, uint32_t parent);

static void look_at(const struct mount_options *o, struct mount_chunks *ret,
		    const char *path, const char *name, uint32_t parent)
{
	cmd_auto_free char *file = below(path, name);
	struct mount_thing *v;
	struct stat st;

	if (is_tar(name) || stat(file, &st) < 0 ||
	    !(S_ISREG(st.st_mode) || (S_ISDIR(st.st_mode) && !parent)))
		return;
	if (!parent && !(S_ISDIR(st.st_mode) ? strcmp(name, ".nv-meta") == 0 :
					       is_beside(file)))
		return;
	v = add(ret);
	take_stat(v, &st);
	v->is = S_ISDIR(st.st_mode) ? MOUNT_FOLDER : MOUNT_SIDE;
	v->parent = parent;
	v->name = dup_or_end(strdup(name));
	if (v->is == MOUNT_SIDE && !o->no_links)
		v->path = target(o, dup_or_end(strdup(file)));
	v->link = v->path;
	if (!v->path)
		v->path = dup_or_end(strdup(file));
	if (v->is == MOUNT_FOLDER)
		find_beside(o, ret, file, ret->n - 1);
}

/*
 * Files of a folder, and at the top also one folder: that of other readers.  In
 * the order of their names: another worker is to find the same.
 */
static void find_beside(const struct mount_options *o, struct mount_chunks *ret,
			const char *path, uint32_t parent)
{
	struct dirent **e;
	int n = scandir(path, &e, no_dots, by_name);

	for (int i = 0; i < n; i++) {
		look_at(o, ret, path, e[i]->d_name, parent);
		free(e[i]);
	}
	if (n >= 0)
		free(e);
}

/* The kernel knows these by numbers, and will not forget them. */
static void hold_beside(const struct mount_options *o,
			struct mount_slots *slots, struct mount_chunks *c)
{
	const uint64_t sum = mount_chunks_sum(c);
	char text[HPDSL_PATH_MAX + 200];

	if (!atomic_load(&slots->opened))
		slots->beside = sum;
	if (slots->beside == sum)
		return;
	mount_chunks_drop(c);
	snprintf(text, sizeof(text),
		 "%s: what lies beside the chunks is not what it was when it "
		 "was mounted: none of it is there any more",
		 o->dataset);
	mount_errors_tell(&slots->errors, text);
}

int mount_chunks_find(const struct mount_options *o,
		      const struct hpdsl_dataset *ds, struct mount_slots *slots,
		      struct mount_chunks *ret, struct hpdsl_error *err)
{
	cmd_auto_free char *index = below(o->data, "index.hpdsl");
	struct mount_thing *top;
	struct stat st;
	int r;

	*ret = (struct mount_chunks){ .uid = geteuid(), .gid = getegid() };
	top = add(ret);
	top->name = dup_or_end(strdup(""));
	if (stat(index, &st) == 0)
		take_stat(top, &st);
	top->size = 0;
	top->mode = 0755;
	r = find_chunks(o, ds, slots, ret, err);
	if (r < 0)
		return r;
	find_beside(o, ret, o->data, 0);
	hold_beside(o, slots, ret);
	if (mount_chunks_sort(ret) < 0)
		cmd_no_memory();
	return 0;
}
