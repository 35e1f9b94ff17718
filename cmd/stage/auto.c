/* SPDX-License-Identifier: Apache-2.0 */
/* The candidates of one node, looked at. */
#include "auto.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Words, names and paths ------------------------------------------- */

static const char word[] = "auto";

bool auto_is(const char *local)
{
	size_t n = sizeof(word) - 1;

	return local && !strncmp(local, word, n) &&
	       (!local[n] || (local[n] == ':' && !strchr(local, '/')));
}

const char *auto_given(const char *local)
{
	return local[sizeof(word) - 1] ? local + sizeof(word) : NULL;
}

static char *candidate_variable(const char *name)
{
	return getenv(name);
}

static void find_candidates(char **ret)
{
	choose_candidates(candidate_variable, ret);
	if (!ret[CHOOSE_PLACES - 1])
		cmd_no_memory();
}

static void free_candidates(char **path)
{
	for (uint32_t i = 0; i < CHOOSE_PLACES; i++)
		free(path[i]);
}

/* Other jobs put files into the same folders. */
static void make_token(char *ret)
{
	uint8_t bytes[8] = { 0 };

	if (getrandom(bytes, sizeof(bytes), 0) < 0)
		memcpy(bytes, &(pid_t){ getpid() }, sizeof(pid_t));
	cmd_hex(ret, bytes, sizeof(bytes));
}

static void make_name(const char *local, const uint8_t id[16], char *ret,
		      size_t size)
{
	const char *given = auto_given(local);
	char hex[33];

	cmd_hex(hex, id, 16);
	snprintf(ret, size, "hpdsl-%u-%s", (unsigned)geteuid(),
		 given ? given : hex);
}

void auto_call(const char *local, const uint8_t id[16], struct auto_call *ret)
{
	char *path[CHOOSE_PLACES];

	memset(ret, 0, sizeof(*ret));
	make_name(local, id, ret->name, sizeof(ret->name));
	make_token(ret->token);
	find_candidates(path);
	for (uint32_t i = 0; i < CHOOSE_PLACES; i++)
		if (path[i])
			snprintf(ret->path[i], sizeof(ret->path[i]), "%s",
				 path[i]);
	free_candidates(path);
}

char *auto_path(const char *candidate, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", strcmp(candidate, "/") ? candidate : "",
		     name) < 0)
		cmd_no_memory();
	return path;
}

/* ---- A look ----------------------------------------------------------- */

void auto_begin(struct auto_node *n)
{
	find_candidates(n->path);
	for (uint32_t i = 0; i < CHOOSE_PLACES; i++)
		n->found.of[i].differs = strcmp(n->path[i] ? n->path[i] : "",
						n->call->path[i]) != 0;
}

void auto_release(struct auto_node *n)
{
	free_candidates(n->path);
}

static void refuse(struct choose_look *l, int code)
{
	l->state = CHOOSE_BAD;
	l->code = code;
}

/* Is a directory of this user there? */
static bool is_mine(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid();
}

/*
 * A stager has it, or had: by its lock, which is there before anything else and
 * goes last.  Of which dataset is told when it is opened.
 */
static bool is_held(const struct auto_node *n, const char *path,
		    uint64_t *ret_bytes)
{
	struct hpdsl_stage_status *s;
	struct hpdsl_error err;
	int64_t when;

	if (!is_mine(path) || hpdsl_stage_touched(path, n->io, &when, &err) < 0)
		return false;
	s = cmd_alloc(1, sizeof(*s));
	if (hpdsl_stage_status(path, n->io, s, &err) == 0)
		*ret_bytes = s->ready_bytes;
	free(s);
	return true;
}

static void look_at(const struct auto_node *n, const char *path,
		    struct choose_look *ret)
{
	cmd_auto_free char *local = auto_path(path, n->call->name);
	struct hpdsl_stage_ground g;
	struct hpdsl_error err;
	uint64_t held = 0;
	int r = hpdsl_stage_look(path, n->io, &g, &err);

	if (r == 0 && *g.shared) {
		snprintf(ret->kind, sizeof(ret->kind), "%s", g.shared);
		ret->state = CHOOSE_KIND;
		return;
	}
	if (r == 0 && strlen(local) > HPDSL_PATH_MAX)
		r = -ENAMETOOLONG;
	if (r == 0 && faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) < 0)
		r = -errno;
	if (r < 0) {
		refuse(ret, r);
		return;
	}
	ret->state = CHOOSE_GOOD;
	ret->ram = g.place.ram;
	ret->holds = is_held(n, local, &held);
	g.place.held_bytes = held;
	if (__builtin_add_overflow(g.place.capacity, held, &g.place.capacity))
		g.place.capacity = UINT64_MAX;
	ret->room = auto_room(n->o, &g.place);
}

void auto_look(struct auto_node *n, uint32_t place)
{
	const char *path = n->path[place];
	struct choose_look *l = &n->found.of[place];

	if (path && *path == '/')
		look_at(n, path, l);
	else if (path)
		l->state = CHOOSE_RELATIVE;
}

uint64_t auto_room(const struct stage_options *o,
		   const struct hpdsl_stage_place *p)
{
	return choose_room(stage_capacity(o, p), p);
}

/* ---- The choice ------------------------------------------------------- */

static int weigh(const struct auto_question *q, struct choose *c,
		 uint64_t *weight, uint32_t *order, struct hpdsl_error *err)
{
	int r;

	for (uint32_t i = 0; i < q->pack->chunks; i++)
		order[i] = i;
	c->wish = (struct hpdsl_stage_wish){
		.mode = q->o->mode,
		.copies = q->o->copies,
		.parts = q->parts,
		.nodes = q->nodes,
		.chunks = q->pack->chunks,
		.weight = weight,
		.order = order,
		.hosts = q->hosts,
	};
	r = hpdsl_stage_pack_weights(q->pack, q->o->keep_compressed, weight,
				     err);
	return r < 0 ? r :
		       hpdsl_stage_pack_sides(q->pack, q->o->keep_compressed,
					      NULL, NULL, &c->wish.whole, err);
}

int auto_choose(const struct auto_question *q, struct choice *ret,
		struct hpdsl_error *err)
{
	uint64_t n = q->pack->chunks;
	cmd_auto_free uint64_t *weight = cmd_alloc(n, sizeof(*weight));
	cmd_auto_free uint32_t *order = cmd_alloc(n, sizeof(*order));
	const char *path[CHOOSE_PLACES];
	struct choose c = { .all = q->all, .path = path };
	int r = weigh(q, &c, weight, order, err);

	for (uint32_t i = 0; i < CHOOSE_PLACES; i++)
		path[i] = q->call->path[i][0] ? q->call->path[i] : NULL;
	return r < 0 ? r : choose_place(&c, ret, err);
}

/* ---- --status and --clean --------------------------------------------- */

static int find_id(const struct stage_options *o, const struct hp_io *io,
		   uint8_t ret[16], struct hpdsl_error *err)
{
	struct hpdsl_stage_source *source;
	struct hpdsl_stage_pack pack;
	int r;

	if (auto_given(o->local))
		return 0;
	r = hpdsl_stage_source_open(o->of, io, &source, err);
	if (r < 0)
		return r;
	hpdsl_stage_source_pack(source, &pack);
	r = hpdsl_stage_pack_id(&pack, ret, err);
	hpdsl_stage_source_close(source);
	return r;
}

static void not_found(const char *local, const char *name, char *const *path,
		      struct hpdsl_error *err)
{
	const char *between = " ";
	size_t n;

	err->code = -ENOENT;
	snprintf(err->msg, sizeof(err->msg), "%s: no %s here, in", local, name);
	for (uint32_t i = 0; i < CHOOSE_PLACES; i++) {
		if (!path[i])
			continue;
		n = strlen(err->msg);
		snprintf(err->msg + n, sizeof(err->msg) - n, "%s%.150s",
			 between, path[i]);
		between = ", ";
	}
}

static bool is_link(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* What is there of that name in the first place, if a link is. */
static void link_found(const char *local, const char *path,
		       struct hpdsl_error *err)
{
	err->code = -ELOOP;
	snprintf(err->msg, sizeof(err->msg),
		 "%.100s: %.800s is a symbolic link, and those are not "
		 "followed to a stage directory",
		 local, path);
}

char *auto_find(const struct stage_options *o, const struct hp_io *io,
		struct hpdsl_error *err)
{
	char name[100], *path[CHOOSE_PLACES], *found = NULL;
	cmd_auto_free char *link = NULL;
	uint8_t id[16] = { 0 };

	if (find_id(o, io, id, err) < 0)
		return NULL;
	make_name(o->local, id, name, sizeof(name));
	find_candidates(path);
	for (uint32_t i = 0; i < CHOOSE_PLACES && !found; i++) {
		found = path[i] && path[i][0] == '/' ?
				auto_path(path[i], name) :
				NULL;
		if (found && !link && is_link(found)) {
			link = found;
			found = NULL;
		}
		if (found && !is_mine(found)) {
			free(found);
			found = NULL;
		}
	}
	if (!found && link)
		link_found(o->local, link, err);
	else if (!found)
		not_found(o->local, name, path, err);
	free_candidates(path);
	return found;
}
