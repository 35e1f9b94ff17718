/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members that the packer makes: the number of the sample's class, as a file of
 * the sample, for readers that see chunks only.
 */
#include "base/error.h"
#include "base/mem.h"
#include "plan/list.h"
#include "plan/portable.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SUFFIX ".cls"

enum { PATH_MAX_BYTES = HPDSL_PATH_MAX + sizeof SUFFIX };

void hp_cls_content(const struct hp_file *f, char out[HP_CLS_MAX])
{
	snprintf(out, HP_CLS_MAX, "%" PRIu32, (uint32_t)f->source);
}

static int fail(const struct hp_file *f, const char *what,
		struct hpdsl_error *err)
{
	char path[HP_PRINTABLE];

	hp_printable(f->path, f->path_len, path);
	return hp_fail(err, HPDSL_EUSAGE, "cls: '%s' %s", path, what);
}

static int check_labels(const struct hp_list *list, struct hpdsl_error *err)
{
	if (!list->labels)
		return hp_fail(err, HPDSL_EUSAGE, "cls needs classes");
	for (uint64_t s = 0; s < list->n_samples; s++)
		if (list->labels[s] == HPDSL_NO_LABEL)
			return fail(&list->files[list->samples[s]],
				    "is of a sample without a class", err);
	return 0;
}

static int compare_bytes(const char *a, size_t an, const char *b, size_t bn)
{
	int r = memcmp(a, b, an < bn ? an : bn);

	return r ? r : (an > bn) - (an < bn);
}

/* A member to be made, and where it goes. */
struct made {
	struct hp_file file;
	const char *stored; /* name in the chunk; NULL: the path */
	uint64_t place;	    /* among the members that are there */
};

/* The key and ".cls", in the arena. */
static char *add_name(struct hp_list *list, const char *key, size_t len)
{
	char text[PATH_MAX_BYTES];

	memcpy(text, key, len);
	memcpy(text + len, SUFFIX, sizeof SUFFIX);
	return hp_arena_add(list->arena, text, len + strlen(SUFFIX));
}

static int name_it(struct hp_list *list, uint64_t first, struct made *m,
		   struct hpdsl_error *err)
{
	const struct hp_file *f = &list->files[first];
	const char *name = hp_stored_name(list, first);

	if (f->key_len + strlen(SUFFIX) > HPDSL_PATH_MAX)
		return fail(f, "has too long a name for one", err);
	m->file.path = add_name(list, f->path, f->key_len);
	m->file.path_len = (uint16_t)(f->key_len + strlen(SUFFIX));
	m->stored = list->stored ? add_name(list, name, hp_portable_key(name)) :
				   m->file.path;
	if (!m->file.path || !m->stored)
		return hp_fail_nomem(err);
	/* By a double suffix that ends in it, as "x.cls". */
	return hp_key_length(&list->key, m->file.path, m->file.path_len) <
			       f->key_len ?
		       fail(f,
			    "is of a sample whose new member would be "
			    "another's",
			    err) :
		       0;
}

/* Where it goes, and that neither path nor name is there. */
static int place_it(const struct hp_list *list, uint64_t s, struct made *m,
		    struct hpdsl_error *err)
{
	for (uint64_t i = list->samples[s]; i < list->samples[s + 1]; i++) {
		const struct hp_file *f = &list->files[i];
		int d = compare_bytes(f->path, f->path_len, m->file.path,
				      m->file.path_len);

		if (d == 0 || !strcmp(hp_stored_name(list, i), m->stored))
			return fail(f,
				    "has the name that the new member is "
				    "to get",
				    err);
		m->place += d < 0;
	}
	if (!strcmp(m->stored, m->file.path))
		m->stored = NULL;
	return 0;
}

static int make(struct hp_list *list, uint64_t s, struct made *m,
		struct hpdsl_error *err)
{
	uint64_t first = list->samples[s];
	const struct hp_file *f = &list->files[first];
	uint32_t label = list->labels[s];
	int r;

	*m = (struct made){
		.file = {
			.size = (uint64_t)snprintf(NULL, 0, "%" PRIu32, label),
			.mtime = f->mtime,
			.nsec = f->nsec,
			.source = label,
			.key_len = f->key_len,
			.root = f->root,
			.mode = f->mode,
			.flags = HP_FILE_GENERATED,
		},
	};
	r = name_it(list, first, m, err);
	return r < 0 ? r : place_it(list, s, m, err);
}

/* Moves the sample's members to to, with the new one among them. */
static void insert(struct hp_list *list, uint64_t s, const struct made *m,
		   uint64_t to)
{
	uint64_t first = list->samples[s], n = list->samples[s + 1] - first;

	for (uint64_t i = n + 1; i-- > 0;) {
		uint64_t from = first + i - (i > m->place);
		bool new = i == m->place;

		list->files[to + i] = new ? m->file : list->files[from];
		if (list->stored)
			list->stored[to + i] =
				new ? m->stored : list->stored[from];
	}
	list->samples[s + 1] = to + n + 1;
}

/* From the back, so that what moves finds its place free. */
static int insert_all(struct hp_list *list, struct hpdsl_error *err)
{
	for (uint64_t s = list->n_samples; s-- > 0;) {
		struct made m;
		int r = make(list, s, &m, err);

		if (r < 0)
			return r;
		insert(list, s, &m, list->samples[s] + s);
	}
	list->n_files += list->n_samples;
	return 0;
}

int hp_list_cls(struct hp_list *list, struct hpdsl_error *err)
{
	uint64_t n = list->n_files + list->n_samples;
	int r = check_labels(list, err);
	struct hp_file *files;

	if (r < 0)
		return r;
	files = reallocarray(list->files, n + 1, sizeof *files);
	if (!files)
		return hp_fail_nomem(err);
	list->files = files;
	if (list->stored) {
		const char **stored =
			reallocarray(list->stored, n + 1, sizeof *stored);

		if (!stored)
			return hp_fail_nomem(err);
		list->stored = stored;
	}
	r = insert_all(list, err);
	return r < 0 ? r : hp_list_check_folders(list, err);
}
