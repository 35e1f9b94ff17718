/* SPDX-License-Identifier: Apache-2.0 */
/* What there is of a dataset as plain chunks: from its index, and its folder.
 */
#include "chunks.h"
#include "mount.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The next thing, all zeros. */
static struct mount_thing *add(struct mount_chunks *c, uint32_t *room)
{
	if (c->n == *room) {
		struct mount_thing *v;

		*room = *room * 2 + 64;
		v = realloc(c->v, *room * sizeof(*v));
		if (!v)
			cmd_no_memory();
		c->v = v;
	}
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

static void take_stat(struct mount_thing *v, const struct stat *st)
{
	v->size = S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0;
	v->mtime = st->st_mtim.tv_sec;
	v->mtime_nsec = (uint32_t)st->st_mtim.tv_nsec;
	v->mode = st->st_mode & 0777;
}

/* ---- Chunks ----------------------------------------------------------- */

/* Does no tar of others lie in a folder? */
static int is_flat(const struct hpdsl_dataset *ds, uint64_t n, bool *ret,
		   struct hpdsl_error *err)
{
	struct hpdsl_chunk c;

	*ret = true;
	for (uint32_t i = 0; i < n; i++) {
		int r = hpdsl_chunk_get(ds, i, &c, err);

		if (r < 0)
			return r;
		if (strchr(c.name, '/'))
			*ret = false;
	}
	return 0;
}

static int find_chunks(const struct mount_options *o,
		       const struct hpdsl_dataset *ds, struct mount_chunks *ret,
		       uint32_t *room, struct hpdsl_error *err)
{
	char file[HPDSL_PATH_MAX + 1];
	struct hpdsl_counts n;
	struct hpdsl_chunk c;
	bool flat;
	int r;

	hpdsl_count(ds, &n);
	r = is_flat(ds, n.chunks, &flat, err);
	for (uint32_t i = 0; r == 0 && i < n.chunks; i++) {
		struct mount_thing *v;

		r = hpdsl_chunk_get(ds, i, &c, err);
		if (r < 0)
			break;
		v = add(ret, room);
		v->is = MOUNT_CHUNK;
		v->name = dup_or_end(mount_chunk_name(&c, flat));
		v->size = c.plain_bytes;
		v->mode = 0644;
		v->mtime = ret->v[0].mtime;
		v->mtime_nsec = ret->v[0].mtime_nsec;
		r = o->no_links ? 0 :
				  hpdsl_chunk_plain_file(ds, i, file,
							 sizeof(file), err);
		v->link = r > 0;
		if (v->link)
			v->path = below(o->data, file);
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

/* Files of a folder, and at the top also one folder: that of other readers. */
static void find_beside(const struct mount_options *o, struct mount_chunks *ret,
			uint32_t *room, const char *path, uint32_t parent)
{
	DIR *d = opendir(path);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		cmd_auto_free char *file = below(path, e->d_name);
		const bool dots = strcmp(e->d_name, ".") == 0 ||
				  strcmp(e->d_name, "..") == 0;
		struct mount_thing *v;
		struct stat st;

		if (dots || stat(file, &st) < 0 ||
		    !(S_ISREG(st.st_mode) || (S_ISDIR(st.st_mode) && !parent)))
			continue;
		if (!parent &&
		    !(S_ISDIR(st.st_mode) ? strcmp(e->d_name, ".nv-meta") == 0 :
					    is_beside(file)))
			continue;
		v = add(ret, room);
		take_stat(v, &st);
		v->is = S_ISDIR(st.st_mode) ? MOUNT_FOLDER : MOUNT_SIDE;
		v->parent = parent;
		v->name = dup_or_end(strdup(e->d_name));
		v->path = dup_or_end(strdup(file));
		v->link = v->is == MOUNT_SIDE && !o->no_links;
		if (v->is == MOUNT_FOLDER)
			find_beside(o, ret, room, file, ret->n - 1);
	}
	if (d)
		closedir(d);
}

int mount_chunks_find(const struct mount_options *o,
		      const struct hpdsl_dataset *ds, struct mount_chunks *ret,
		      struct hpdsl_error *err)
{
	cmd_auto_free char *index = below(o->data, "index.hpdsl");
	struct mount_thing *top;
	uint32_t room = 0;
	struct stat st;
	int r;

	*ret = (struct mount_chunks){ .uid = geteuid(), .gid = getegid() };
	top = add(ret, &room);
	top->name = dup_or_end(strdup(""));
	if (stat(index, &st) == 0)
		take_stat(top, &st);
	top->size = 0;
	top->mode = 0755;
	r = find_chunks(o, ds, ret, &room, err);
	if (r < 0)
		return r;
	find_beside(o, ret, &room, o->data, 0);
	if (mount_chunks_sort(ret) < 0)
		cmd_no_memory();
	return 0;
}
