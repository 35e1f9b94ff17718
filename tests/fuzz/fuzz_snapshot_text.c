/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot's text of any bytes: if it loads, then what it makes is sound, its
 * own text loads too, gives the same bytes, and is the same text again.
 */
#include "base/text.h"
#include "snap/text.h"
#include "snap/write.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A few lines may ask for a table of as many checksums. */
enum { MEMBERS_MAX = 10000 };

struct loaded {
	struct hpdsl_snapshot *snap;
	void *bytes;
	uint64_t size;
	struct hp_text text; /* its dump */
};

static int add(void *arg, const void *buf, size_t n, struct hpdsl_error *err)
{
	(void)err;
	hp_text_add(arg, buf, n);
	return 0;
}

static bool load(const char *p, size_t size, struct loaded *ret)
{
	static const struct hpdsl_watch silent;
	const struct hp_snap_text text = { p, size, "text", &silent };
	struct hp_tree tree = { .arena = NULL };
	struct hpdsl_snapshot_info info;
	struct hpdsl_error err = { .code = 0 };

	if (hp_snap_parse(&text, &tree, &err) < 0) {
		if (!err.code || strncmp(err.msg, "text:", 5) != 0)
			abort();
		return false;
	}
	if (tree.members > MEMBERS_MAX) {
		hp_tree_release(&tree);
		return false;
	}
	if (hp_snap_in_memory(&tree, HPDSL_SERIAL, "loaded", &ret->bytes,
			      &ret->snap, NULL) < 0)
		abort();
	hp_tree_release(&tree);
	hpdsl_snapshot_info(ret->snap, &info);
	ret->size = info.file_bytes;
	memset(&ret->text, 0, sizeof ret->text);
	if (hpdsl_snapshot_dump(ret->snap, add, &ret->text, NULL) < 0 ||
	    ret->text.failed)
		abort();
	return true;
}

static void release(struct loaded *l)
{
	hp_text_release(&l->text);
	hpdsl_snapshot_close(l->snap);
	free(l->bytes);
}

/* The two have no difference, and swap places well. */
static void compare(const struct hpdsl_snapshot *a,
		    const struct hpdsl_snapshot *b)
{
	struct hpdsl_diff_options opt = { .difference = NULL };
	struct hpdsl_diff_report report;

	if (hpdsl_snapshot_diff(a, b, &opt, &report, NULL) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct loaded once, again;

	if (!load((const char *)data, size, &once))
		return 0;
	if (hpdsl_snapshot_verify(once.snap, NULL, NULL, NULL) < 0)
		abort();
	if (!load(once.text.p, once.text.n, &again))
		abort();
	if (once.size != again.size ||
	    memcmp(once.bytes, again.bytes, once.size) != 0 ||
	    once.text.n != again.text.n ||
	    memcmp(once.text.p, again.text.p, once.text.n) != 0)
		abort();
	compare(once.snap, again.snap);
	release(&once);
	release(&again);
	return 0;
}
