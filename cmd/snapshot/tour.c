/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tour through a part of a snapshot, without recursion: folders may lie 2,000
 * deep.  Paths grow and shrink by a name at a time, so each entry costs the
 * bytes of its own name.
 */
#include "tour.h"

#include <string.h>
#include <sys/stat.h>

error_t snapshot_take_paths(int key, struct argp_state *state,
			    struct snapshot_paths *p)
{
	switch (key) {
	case ARGP_KEY_ARGS:
		p->file = state->argv[state->next];
		p->v = state->argv + state->next + 1;
		p->n = (size_t)(state->argc - state->next - 1);
		return 0;
	case ARGP_KEY_NO_ARGS:
		cmd_missing(state, "FILE");
		return 0;
	case ARGP_KEY_END:
		if (p->json && p->null)
			argp_error(state, "--json does not go with -0");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int snapshot_each_path(const struct snapshot_paths *p,
		       int (*one)(void *arg, const struct hpdsl_snapshot *s,
				  const struct hpdsl_entry *e,
				  const char *path),
		       void *arg)
{
	struct hpdsl_snapshot *s;
	struct hpdsl_entry e;
	char top[] = ".";
	int status = snapshot_open(p->file, &s);

	if (status)
		return status;
	for (size_t i = 0; i < p->n || !i; i++) {
		char *path = p->n ? p->v[i] : top;
		int ret = snapshot_lookup(s, path, &e);

		if (ret == CMD_DONE)
			ret = one(arg, s, &e, path);
		status = cmd_worse(status, ret);
	}
	snapshot_close(s);
	return status;
}

void snapshot_tour_begin(struct snapshot_tour *t, const char *file,
			 const struct hpdsl_snapshot *s,
			 const struct hpdsl_entry *e, const char *path)
{
	t->file = file;
	t->s = s;
	t->top = *e;
	t->begun = false;
	t->levels = NULL;
	t->depth = 0;
	t->len = strlen(path); /* it was found, so it is not too long */
	memcpy(t->path, path, t->len + 1);
}

void snapshot_tour_end(struct snapshot_tour *t)
{
	free(t->levels);
}

static int push(struct snapshot_tour *t, uint64_t folder,
		struct hpdsl_error *err)
{
	struct snapshot_level l = { .folder = folder, .len = t->len };
	uint64_t n, end;
	int ret = hpdsl_snapshot_folder(t->s, folder, &l.next, &n, &end, err);

	if (ret < 0)
		return ret;
	l.end = l.next + n;
	t->levels = cmd_grow(t->levels, t->depth, sizeof(*t->levels));
	t->levels[t->depth++] = l;
	return 0;
}

/* The folder at the bottom is done. */
static int leave(struct snapshot_tour *t, struct hpdsl_entry *ret,
		 struct hpdsl_error *err)
{
	const struct snapshot_level *l = &t->levels[--t->depth];
	int code = hpdsl_snapshot_stat(t->s, l->folder, ret, err);

	t->len = l->len;
	t->path[t->len] = '\0';
	return code < 0 ? code : SNAPSHOT_TOUR_LEAVE;
}

/*
 * Damage that no look at a single entry finds: the tour would write elsewhere,
 * or never end.
 */
static int check(const struct snapshot_tour *t, const struct hpdsl_entry *e,
		 const struct snapshot_level *l, struct hpdsl_error *err)
{
	const char *what = NULL;

	if (e->parent != l->folder)
		what = "is in two folders";
	else if (l->len + (l->len > 0) + e->name_len > HPDSL_PATH_MAX)
		what = "has a path that is too long";
	if (!what)
		return 0;
	err->code = HPDSL_ECORRUPT;
	snprintf(err->msg, sizeof(err->msg), "%.900s: entry %llu %s", t->file,
		 (unsigned long long)e->number, what);
	return err->code;
}

static int meet(struct snapshot_tour *t, struct snapshot_level *l,
		struct hpdsl_entry *ret, struct hpdsl_error *err)
{
	struct hpdsl_entry e;
	size_t at = l->len;
	int code = hpdsl_snapshot_stat(t->s, l->next, &e, err);

	if (code == 0)
		code = check(t, &e, l, err);
	if (code < 0)
		return code;
	if (at)
		t->path[at++] = '/';
	memcpy(t->path + at, e.name, e.name_len);
	t->len = at + e.name_len;
	t->path[t->len] = '\0';
	l->next++;
	if (S_ISDIR(e.mode))
		code = push(t, e.number, err);
	if (code < 0)
		return code;
	*ret = e;
	return SNAPSHOT_TOUR_MEET;
}

int snapshot_tour_next(struct snapshot_tour *t, struct hpdsl_entry *ret,
		       struct hpdsl_error *err)
{
	struct snapshot_level *l;
	int code = 0;

	if (!t->begun) {
		t->begun = true;
		if (S_ISDIR(t->top.mode))
			code = push(t, t->top.number, err);
		if (code < 0)
			return code;
		*ret = t->top;
		return SNAPSHOT_TOUR_MEET;
	}
	if (!t->depth)
		return SNAPSHOT_TOUR_END;
	l = &t->levels[t->depth - 1];
	return l->next < l->end ? meet(t, l, ret, err) : leave(t, ret, err);
}
