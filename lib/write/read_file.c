/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading files of the list.  A file must be as the scan saw it, in size, times
 * and identity, after its bytes were read: what is packed is one state of it,
 * or an error that names it.
 */
#include "write/read_file.h"

#include "base/error.h"
#include "hpdsl/snapshot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

static int fail(const struct hp_list *list, const struct hp_file *f, int code,
		const char *what, struct hpdsl_error *err)
{
	const struct hp_root *root = &list->roots[f->root];
	char name[HP_INPUT_NAME];

	hp_input_name(root, hp_file_name(list, f),
		      f->path_len - root->prefix_len, name);
	if (what)
		return hp_fail(err, code, "%s: %s", name, what);
	return hp_fail_errno(err, code, "%s", name);
}

/* Is what is known of the file what a snapshot says?  Links are asked live. */
static bool is_frozen(const struct hp_writing *p, const struct hp_file *f)
{
	return p->opt->snapshot && !(f->flags & HP_FILE_FOLLOW);
}

/* "vanished since it was scanned" */
static int fail_changed(const struct hp_writing *p, const struct hp_file *f,
			const char *what, struct hpdsl_error *err)
{
	char text[160];

	snprintf(text, sizeof text, "%s since %s", what,
		 is_frozen(p, f) ? "the snapshot was made, which is out of "
				   "date" :
				   "it was scanned");
	return fail(&p->list, f, HPDSL_ECHANGED, text, err);
}

/*
 * The same in type and mode as in the snapshot, and if it was read before, in
 * all that a stamp tells.
 */
static bool as_frozen(const struct hp_writing *p, const struct hp_file *f,
		      const struct stat *st)
{
	uint32_t *at = &p->list.files[f - p->list.files].stamp;
	uint32_t stamp = hp_file_stamp(st), before = 0;
	struct hpdsl_snapshot_info info;

	hpdsl_snapshot_info(p->opt->snapshot, &info);
	if (!S_ISREG(st->st_mode) ||
	    (f->mode ^ st->st_mode) & (info.from_dataset ? 0777 : 07777))
		return false;
	stamp += stamp == 0;
	return __atomic_compare_exchange_n(at, &before, stamp, false,
					   __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED) ||
	       before == stamp;
}

static int check_unchanged(const struct hp_writing *p, const struct stat *st,
			   const struct hp_file *f, struct hpdsl_error *err)
{
	bool frozen = is_frozen(p, f);
	char text[120];

	if (frozen && !S_ISREG(st->st_mode))
		return fail_changed(p, f, "replaced by what is no file", err);
	if ((uint64_t)st->st_size != f->size) {
		snprintf(text, sizeof text,
			 "is %" PRIu64 " bytes, was %" PRIu64 " %s",
			 (uint64_t)st->st_size, f->size,
			 frozen ? "in the snapshot, which is out of date" :
				  "when scanned");
		return fail(&p->list, f, HPDSL_ECHANGED, text, err);
	}
	if (st->st_mtim.tv_sec != f->mtime ||
	    st->st_mtim.tv_nsec != (long)f->nsec ||
	    !(frozen ? as_frozen(p, f, st) : hp_file_stamp(st) == f->stamp))
		return fail_changed(p, f, "changed", err);
	return 0;
}

/* What a walk counts, and a snapshot does not know. */
static void count_frozen(const struct hp_writing *p, const struct stat *st)
{
	if (!p->opt->snapshot)
		return;
	if (st->st_nlink > 1)
		__atomic_fetch_add(&p->report->hard_links, 1, __ATOMIC_RELAXED);
	if (hp_file_sparse(st))
		__atomic_fetch_add(&p->report->sparse, 1, __ATOMIC_RELAXED);
}

/* A file of a directory. */
static int read_file(const struct hp_writing *p, const struct hp_file *f,
		     void *buf, size_t n, uint64_t off, struct hpdsl_error *err)
{
	const struct hp_list *list = &p->list;
	int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY |
		    (f->flags & HP_FILE_FOLLOW ? 0 : O_NOFOLLOW) |
		    (is_frozen(p, f) ? HP_O_NO_LINKS : 0);
	hp_auto_fd file = { p->io, -1 };
	struct stat st;
	uint8_t byte;
	ssize_t got;
	int r;

	r = p->io->open(p->io, list->roots[f->root].fd, hp_file_name(list, f),
			flags, 0);
	if (r == -ENOENT || r == -ELOOP || r == -ENOTDIR || r == -ENXIO)
		return fail_changed(p, f, "vanished", err);
	if (r < 0)
		return fail(list, f, r, NULL, err);
	file.fd = r;
	/* What says that it is empty need not be: it is asked for a byte. */
	got = hp_io_pread_full(p->io, file.fd, f->size ? buf : &byte,
			       f->size ? n : 1, off);
	/* First this: it may be a folder or a FIFO now. */
	r = hp_io_fstat(p->io, file.fd, &st);
	r = r < 0 ? fail(list, f, r, NULL, err) :
		    check_unchanged(p, &st, f, err);
	if (r == 0 && got < 0)
		r = fail(list, f, (int)got, NULL, err);
	if (r == 0 && !f->size && got)
		r = fail(list, f, -EOPNOTSUPP,
			 "has content, though its size is 0: copy it first",
			 err);
	if (r == 0 && (size_t)got != n)
		r = fail(list, f, HPDSL_ECHANGED, "shrank while it was read",
			 err);
	if (r < 0 || off > 0)
		return r;
	count_frozen(p, &st);
	if (hp_file_has_attributes(p->io, file.fd))
		__atomic_fetch_add(&p->report->xattrs, 1, __ATOMIC_RELAXED);
	return 0;
}

/* A member of a packed dataset; its chunk's name is in the message. */
static int read_member(const struct hp_root *root, const struct hp_file *f,
		       void *buf, size_t n, uint64_t off,
		       struct hpdsl_error *err)
{
	struct hpdsl_member m;
	int r = hpdsl_member_get(root->dataset, f->source, &m, err);

	return r < 0 ? r :
		       hpdsl_member_read(root->dataset, &m, off, buf, n, err);
}

uint32_t hp_content_crc(const struct hp_file *f, uint32_t crc, const void *buf,
			size_t n)
{
	return f->flags & HP_FILE_CRC ? (uint32_t)crc32_z(crc, buf, n) : 0;
}

int hp_content_check_crc(const struct hp_writing *p, const struct hp_file *f,
			 uint32_t crc, struct hpdsl_error *err)
{
	if (!(f->flags & HP_FILE_CRC) || crc == f->stamp)
		return 0;
	return fail(&p->list, f, HPDSL_ECORRUPT,
		    "content differs from its CRC-32 in the archive", err);
}

struct archive {
	const struct hp_io *io;
	const struct hp_root *root;
};

static int open_archive(void *arg, struct hpdsl_error *err)
{
	const struct archive *a = arg;
	char name[HP_INPUT_NAME];
	int fd = a->io->open(a->io, AT_FDCWD, a->root->name,
			     O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);

	if (fd >= 0)
		return fd;
	return hp_fail_errno(err, fd, "%s",
			     hp_input_name(a->root, "", 0, name));
}

static int check_archive(const struct archive *a, int fd,
			 struct hpdsl_error *err)
{
	const struct hp_root *root = a->root;
	char name[HP_INPUT_NAME];
	struct stat st;
	int r = hp_io_fstat(a->io, fd, &st);

	hp_input_name(root, "", 0, name);
	if (r < 0)
		return hp_fail_errno(err, r, "%s", name);
	if ((uint64_t)st.st_size != root->size ||
	    st.st_mtim.tv_sec != root->mtime ||
	    st.st_mtim.tv_nsec != (long)root->nsec ||
	    hp_file_stamp(&st) != root->stamp)
		return hp_fail(err, HPDSL_ECHANGED,
			       "%s: changed since it was scanned", name);
	return 0;
}

/* A file whose content lies somewhere in an archive file. */
static int read_archive(const struct hp_writing *p, const struct hp_file *f,
			void *buf, size_t n, uint64_t off,
			struct hpdsl_error *err)
{
	struct archive a = { p->io, &p->list.roots[f->root] };
	struct hp_cached_fd file;
	ssize_t got;
	int r = hp_fd_cache_get(p->archives, f->root, open_archive, &a, &file,
				err);

	if (r < 0)
		return r;
	got = n ? hp_io_pread_full(p->io, file.fd, buf, n, f->source + off) : 0;
	r = check_archive(&a, file.fd, err);
	hp_fd_cache_put(p->archives, &file);
	if (r == 0 && got < 0)
		r = fail(&p->list, f, (int)got, NULL, err);
	if (r == 0 && (size_t)got != n)
		r = fail(&p->list, f, HPDSL_ECHANGED,
			 "shrank while it was read", err);
	if (r == 0 && n == f->size)
		r = hp_content_check_crc(p, f, hp_content_crc(f, 0, buf, n),
					 err);
	return r;
}

int hp_read_content(const struct hp_writing *p, const struct hp_file *f,
		    void *buf, size_t n, uint64_t off, struct hpdsl_error *err)
{
	const struct hp_root *root = &p->list.roots[f->root];

	if (f->flags & HP_FILE_GENERATED) {
		char text[HP_CLS_MAX];

		hp_cls_content(f, text);
		memcpy(buf, text + off, n);
		return 0;
	}
	if (root->kind == HP_ROOT_DATASET)
		return read_member(root, f, buf, n, off, err);
	if (root->kind == HP_ROOT_TAR)
		return read_archive(p, f, buf, n, off, err);
	return read_file(p, f, buf, n, off, err);
}

/* A member read in parts was not yet held against its checksum. */
static int check_member(const struct hp_writing *p, const struct hp_file *f,
			uint64_t low64, struct hpdsl_error *err)
{
	const struct hp_root *root = &p->list.roots[f->root];
	struct hpdsl_member m;
	int r = hpdsl_member_get(root->dataset, f->source, &m, err);

	if (r < 0 || m.checksum == low64)
		return r;
	return fail(&p->list, f, HPDSL_ECORRUPT, "checksum differs", err);
}

int hp_content_set(const struct hp_writing *p, struct hp_file *f,
		   const struct hp_content_hash *h, struct hpdsl_error *err)
{
	int r = 0;

	if (f->flags & HP_FILE_PLACED)
		r = f->low64 == h->low64 ? 0 :
					   fail(&p->list, f, HPDSL_ECORRUPT,
						"is not what was written", err);
	else if (p->list.roots[f->root].kind == HP_ROOT_DATASET &&
		 !(f->flags & HP_FILE_GENERATED))
		r = check_member(p, f, h->low64, err);
	hp_list_set_hash(&p->list, f, h);
	return r;
}
