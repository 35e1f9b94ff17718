/* SPDX-License-Identifier: Apache-2.0 */
/* Counting by suffixes, and picking some files out of all. */
#include "plan/hollow.h"

#include <string.h>

/* Formats of bytes, no text: what has such a name and is a page is none. */
static bool is_media(const char *name)
{
	static const char all[] =
		" jpg jpeg png gif webp bmp tif tiff jp2 avif heic dcm nii exr "
		"npy npz pt pth ckpt safetensors onnx bin h5 hdf5 nc tfrecord "
		"parquet arrow feather pkl wav flac mp3 ogg opus m4a aac mp4 "
		"mkv avi mov webm zip tar gz tgz zst xz bz2 7z pdf laz las ";
	char word[HP_HOLLOW_NAME + 2] = " ";

	return *name && strstr(all, strcat(strcat(word, name), " "));
}

/* Small letters in ret; no suffix, or a long one: "". */
static size_t suffix_of(const char *path, size_t len, char ret[HP_HOLLOW_NAME])
{
	const char *slash = memrchr(path, '/', len);
	const char *base = slash ? slash + 1 : path;
	size_t n = len - (size_t)(base - path);
	const char *dot = n ? memrchr(base + 1, '.', n - 1) : NULL;
	size_t k = dot ? n - (size_t)(dot + 1 - base) : 0;

	if (k >= HP_HOLLOW_NAME)
		k = 0;
	for (size_t i = 0; i < k; i++) {
		char c = dot[1 + i];

		ret[i] = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
	}
	ret[k] = '\0';
	return k;
}

static bool is_named(const struct hp_hollow_suffix *s, const char *name,
		     size_t len)
{
	return s->len == len && !memcmp(s->name, name, len);
}

/* NULL: it is new, or one of too many. */
static struct hp_hollow_suffix *find(struct hp_hollow *h, const char *path,
				     size_t len)
{
	char name[HP_HOLLOW_NAME];
	size_t n = suffix_of(path, len, name);

	/* Most often it is that of the file before. */
	if (is_named(&h->v[h->last], name, n) && h->n)
		return &h->v[h->last];
	for (size_t i = 0; i < h->n; i++)
		if (is_named(&h->v[i], name, n)) {
			h->last = i;
			return &h->v[i];
		}
	return NULL;
}

static struct hp_hollow_suffix *add(struct hp_hollow *h, const char *path,
				    size_t len)
{
	struct hp_hollow_suffix *s;

	if (h->n == HP_HOLLOW_SUFFIXES)
		return NULL;
	s = &h->v[h->n++];
	s->len = suffix_of(path, len, s->name);
	s->media = h->n_media < HP_HOLLOW_MEDIA && is_media(s->name);
	h->n_media += s->media;
	return s;
}

static bool has_size(uint64_t size)
{
	return size >= HP_HOLLOW_LEAST && size <= HP_HOLLOW_MOST;
}

/* Is number i, from 0, one of about most that stand for n? */
static bool is_picked(uint64_t i, uint64_t n, uint64_t most)
{
	return i % ((n + most - 1) / most) == 0;
}

void hp_hollow_count(struct hp_hollow *h, const char *path, size_t len,
		     uint64_t size)
{
	struct hp_hollow_suffix *s = find(h, path, len);

	h->files++;
	s = s ? s : add(h, path, len);
	if (!s)
		return;
	s->files++;
	s->sized += has_size(size);
	h->sized += has_size(size);
}

struct hp_hollow_ask hp_hollow_wants(struct hp_hollow *h, const char *path,
				     size_t len, uint64_t size)
{
	struct hp_hollow_ask ask = { .suffix = 0 };
	struct hp_hollow_suffix *s;

	if (!h->sized && !h->n_media)
		return ask;
	s = find(h, path, len);
	if (!s)
		return ask;
	ask.suffix = (uint8_t)(s - h->v);
	if (has_size(size))
		ask.pointer = is_picked(h->met++, h->sized, HP_HOLLOW_POINTERS);
	if (s->media && size)
		ask.page = is_picked(s->met, s->files, HP_HOLLOW_PAGES);
	s->met++;
	return ask;
}

bool hp_hollow_see(struct hp_hollow *h, struct hp_hollow_ask ask,
		   enum hp_hollow_kind kind)
{
	struct hp_hollow_suffix *s = &h->v[ask.suffix];

	s->asked += ask.pointer;
	s->pointers += ask.pointer && kind == HP_HOLLOW_POINTER;
	s->opened += ask.page;
	s->pages += ask.page && kind == HP_HOLLOW_PAGE;
	return (ask.pointer && kind == HP_HOLLOW_POINTER) ||
	       (ask.page && kind == HP_HOLLOW_PAGE);
}

uint64_t hp_hollow_pointers(const struct hp_hollow_suffix *s)
{
	double share = s->asked ? (double)s->pointers / (double)s->asked : 0;

	return s->asked == s->sized ? s->pointers :
				      (uint64_t)(share * (double)s->sized);
}

const struct hp_hollow_suffix *hp_hollow_judge(const struct hp_hollow *h,
					       enum hp_hollow_kind *ret)
{
	for (size_t i = 0; i < h->n; i++) {
		const struct hp_hollow_suffix *s = &h->v[i];

		*ret = HP_HOLLOW_POINTER;
		if (hp_hollow_pointers(s) > s->files / 2)
			return s;
		*ret = HP_HOLLOW_PAGE;
		if (s->pages > s->opened / 2 &&
		    s->files >= h->files / HP_HOLLOW_SHARE)
			return s;
	}
	*ret = HP_HOLLOW_NOT;
	return NULL;
}
