/* SPDX-License-Identifier: Apache-2.0 */
/* The server's side: what it opens, and how it ends. */
#include "metrics.h"
#include "mount.h"
#include "own_text.h"
#include "session.h"
#include "status.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

struct mount_server {
	const struct mount_options *o;
	struct mount_slots *slots;
	struct hpdsl_dataset *ds;
	struct hpdsl_snapshot *snap;
	struct mount_tree tree;
	struct mount_chunks chunks; /* or these, instead of snap and tree */
	struct mount_stretches stretches;
	struct mount_bytes bytes;
	struct mount_store store;
	struct mount_status status;
	struct mount_metrics metrics;
	struct mount_own own;
	struct mount_share share;
	enum mount_fill_when fill;
	bool plus;
	bool refuses;
};

/* Folders have no time of their own: the newest of all is told of them. */
static void newest(struct mount_server *s)
{
	struct hpdsl_snapshot_info info;
	struct hpdsl_entry e;

	hpdsl_snapshot_info(s->snap, &info);
	for (uint64_t i = 0; i < info.entries; i++) {
		if (hpdsl_snapshot_stat(s->snap, i, &e, NULL) < 0)
			return;
		if (e.mtime < s->tree.mtime ||
		    (e.mtime == s->tree.mtime &&
		     e.mtime_nsec <= s->tree.mtime_nsec))
			continue;
		s->tree.mtime = e.mtime;
		s->tree.mtime_nsec = e.mtime_nsec;
	}
}

/* With the folders that there are. */
static int no_folder(const struct mount_server *s,
		     const struct mount_options *o, struct hpdsl_error *err)
{
	struct hpdsl_choice_options opt = { .folders = &o->folder,
					    .n_folders = 1 };
	struct hpdsl_choice *choice = NULL;
	struct hpdsl_error why;
	bool told = hpdsl_choose(s->ds, &opt, &choice, &why) < 0;

	hpdsl_choice_free(choice);
	if (told)
		snprintf(err->msg, sizeof(err->msg), "%.300s: %.700s",
			 o->dataset, why.msg);
	else
		snprintf(err->msg, sizeof(err->msg), "%s: no folder '%s' in it",
			 o->dataset, o->folder);
	return err->code = -ENOENT;
}

static int open_tree(struct mount_server *s, const struct mount_options *o,
		     struct hpdsl_error *err)
{
	const char *folder = o->folder ? o->folder : "";
	int r = mount_choose(o, s->ds, &s->snap, err);

	if (r < 0)
		return r;
	r = mount_tree_init(&s->tree, s->snap, folder, err);
	if (r < 0)
		return no_folder(s, o, err);
	newest(s);
	return 0;
}

/* Without it there is one file less to look at. */
static void read_manifest(struct mount_server *s, const char *dataset)
{
	cmd_auto_free char *path = NULL;
	struct hpdsl_error err;

	if (asprintf(&path, "%s/dataset.yaml", dataset) < 0)
		path = NULL;
	else
		cmd_file_read(path, &s->status.manifest,
			      &s->status.manifest_bytes, &err);
}

static int open_all(struct mount_server *s, const struct mount_options *o,
		    struct hpdsl_error *err)
{
	int r = cmd_open(o->dataset, o->foreign_owner, &s->ds, err);

	if (r < 0)
		return r;
	hpdsl_patience(s->ds, MOUNT_PATIENCE);
	read_manifest(s, o->dataset);
	r = o->view == MOUNT_VIEW_CHUNKS ?
		    mount_chunks_find(o, s->ds, s->slots, &s->chunks, err) :
		    open_tree(s, o, err);
	if (r < 0)
		return r;
	if (s->chunks.n) {
		s->tree.mtime = s->chunks.v[0].mtime;
		s->tree.mtime_nsec = s->chunks.v[0].mtime_nsec;
	}
	/* what the tree was made of */
	malloc_trim(0);
	r = mount_bytes_init(&s->bytes, s->ds, o->dataset,
			     o->verify == MOUNT_VERIFY_ALL, s->share.whole);
	if (r < 0)
		cmd_no_memory();
	return 0;
}

static void server_free(struct mount_server *s)
{
	mount_stretches_release(&s->stretches);
	mount_chunks_release(&s->chunks);
	mount_bytes_release(&s->bytes);
	hpdsl_snapshot_close(s->snap);
	cmd_close(s->ds);
	free(s->status.manifest);
	free(s);
}

/* Is it what the worker before this one has served? */
static bool is_the_same(struct mount_server *s)
{
	struct mount_slots *a = s->slots;
	struct hpdsl_counts n;
	uint8_t digest[16];

	hpdsl_count(s->ds, &n);
	hpdsl_index_digest(s->ds, digest);
	if (atomic_load(&a->opened))
		return memcmp(digest, a->digest, sizeof(digest)) == 0 &&
		       n.members == a->members;
	memcpy(a->digest, digest, sizeof(digest));
	a->members = n.members;
	atomic_store(&a->opened, true);
	return true;
}

/* Of other errors the next worker may see nothing. */
static bool is_for_good(int code)
{
	return code == -ENOENT || code == -ENOTDIR || code == -EACCES ||
	       code == -ENODATA || code <= HPDSL_ECORRUPT;
}

/* There is a mount, and nothing to serve. */
static int refuse_all(struct mount_server *s, struct mount_server **ret)
{
	cmd_message("%s: all that is asked from now on fails", s->o->place);
	s->refuses = true;
	s->fill = MOUNT_FILL_OFF;
	*ret = s;
	return CMD_DONE;
}

int mount_server_open(const struct mount_options *o, struct mount_slots *slots,
		      struct mount_server **ret)
{
	struct mount_server *s = cmd_alloc(1, sizeof(*s));
	struct hpdsl_error err;
	int status;

	memset(s, 0, sizeof(*s));
	/* what is given back is the system's again, whatever thread it was */
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	s->o = o;
	s->slots = slots;
	s->tree.uid = geteuid();
	s->tree.gid = getegid();
	s->plus = true;
	s->fill = o->fill;
	s->bytes.wrong = &slots->counts.wrong;
	s->bytes.errors = &slots->errors;
	s->share = mount_share_of(o->memory, o->view == MOUNT_VIEW_CHUNKS);
	mount_stretches_init(&s->stretches, &s->bytes, s->share.windows);
	s->store.slots = slots;
	s->status = (struct mount_status){ .o = o, .slots = slots };
	s->own = (struct mount_own){ .tree = &s->tree,
				     .make = mount_own_text,
				     .arg = &s->status };
	if (open_all(s, o, &err) < 0) {
		status = cmd_tell(&err);
		if (atomic_load(&slots->opened) && is_for_good(err.code))
			return refuse_all(s, ret);
		server_free(s);
		return err.code == -ENODATA ? CMD_NO : status;
	}
	if (is_the_same(s)) {
		*ret = s;
		return CMD_DONE;
	}
	cmd_message("%s: it is another dataset than it was when it was mounted",
		    o->dataset);
	return refuse_all(s, ret);
}

/* The rest of a worker's life, when the mount is at hand. */
static int serve(struct mount_server *s, struct mount_session *session,
		 int clone)
{
	int r;

	if (session->store) {
		s->store.clone = clone;
		s->store.bytes = &s->bytes;
		s->store.room = s->share.batch;
		s->store.snap = s->snap;
		mount_store_begin(&s->store, s->fill);
		mount_own_init(&s->own);
	}
	if (clone >= 0)
		close(clone);
	mount_metrics_begin(&s->metrics, s->slots);
	mount_while(s->o);
	r = mount_session_run(session);
	atomic_store(&s->slots->ended, true);
	mount_metrics_end(&s->metrics);
	return r;
}

int mount_server_run(struct mount_server *s, const struct mount_device *d,
		     void (*ready)(void *arg), void *arg)
{
	/* one that hangs in a read has it still */
	struct mount_session *session = cmd_alloc(1, sizeof(*session));
	const bool of_chunks = s->o->view == MOUNT_VIEW_CHUNKS;
	uint64_t wrong;
	int r;

	*session = (struct mount_session){
		.fd = d->fd,
		.tree = &s->tree,
		.bytes = &s->bytes,
		.chunks = of_chunks ? &s->chunks : NULL,
		.stretches = &s->stretches,
		.store = s->refuses || of_chunks ? NULL : &s->store,
		.slots = s->slots,
		.most = s->share.readers,
		.attrs = s->o->attrs ? s->ds : NULL,
		.own = &s->own,
		.plus = s->plus,
		.refuses = s->refuses,
		.ready = atomic_load(&s->slots->greeted) ? NULL : ready,
		.arg = arg,
	};
	r = serve(s, session, d->clone);
	wrong = atomic_load(&s->slots->counts.wrong);
	if (r < 0)
		cmd_message("/dev/fuse: %s", strerror(-r));
	if (atomic_load(&s->slots->errors.lines) > MOUNT_TOLD)
		cmd_message("%s reads failed", cmd_thousands(wrong).s);
	if (!session->hangs) {
		server_free(s);
		free(session);
	}
	return r < 0 ? CMD_TROUBLE : wrong ? CMD_NO : CMD_DONE;
}
