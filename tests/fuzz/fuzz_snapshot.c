/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a snapshot: as they are, and with their checksums put right,
 * without which hardly any input would get past the first one, and with all
 * else that can be made to agree with the entries.  What passes the
 * proof is what the writer makes of its text, to the byte: so the proof misses
 * nothing that a text can tell.
 */
#include "base/text.h"
#include "forge_snap.h"
#include "snap/text.h"
#include "snap/write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int add(void *arg, const void *buf, size_t n, struct hpdsl_error *err)
{
	(void)err;
	hp_text_add(arg, buf, n);
	return 0;
}

/* The writer's bytes of a text. */
static void compare(const struct hp_text *text, const uint8_t *p, size_t size)
{
	static const struct hpdsl_watch silent;
	const struct hp_snap_text t = { text->p, text->n, "text", &silent };
	struct hp_tree tree = { .arena = NULL };
	struct hpdsl_snapshot_info info;
	struct hpdsl_snapshot *again;
	void *bytes;

	if (hp_snap_parse(&t, &tree, NULL) < 0 ||
	    hp_snap_in_memory(&tree, HPDSL_SERIAL, "again", &bytes, &again,
			      NULL) < 0)
		abort();
	hp_tree_release(&tree);
	hpdsl_snapshot_info(again, &info);
	if (info.file_bytes != size || memcmp(bytes, p, size) != 0)
		abort();
	hpdsl_snapshot_close(again);
	free(bytes);
}

static void try_whole(const struct hpdsl_snapshot *s, const uint8_t *p,
		      size_t size)
{
	struct hpdsl_diff_options opt = { .difference = NULL };
	bool sound = hpdsl_snapshot_verify(s, NULL, NULL, NULL) == 0;
	struct hpdsl_diff_report report;
	struct hp_text text = { 0 };
	int same = hpdsl_snapshot_diff(s, s, &opt, &report, NULL);
	int dumped = hpdsl_snapshot_dump(s, add, &text, NULL);

	if (sound && (same || dumped || text.failed))
		abort();
	/* What other sections hold is in no text. */
	if (sound && hp_get32(p + 56) == HP_SNAP_KINDS)
		compare(&text, p, size);
	hp_text_release(&text);
}

static void try_open(const uint8_t *p, size_t size)
{
	struct hpdsl_error err;
	struct hpdsl_snapshot *s;

	if (hp_snap_open(p, size, "it", &s, &err) < 0)
		return;
	snap_ask_all(s);
	try_whole(s, p, size);
	hpdsl_snapshot_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Of the exact size, so that reading beyond it is seen. */
	uint8_t *p = calloc(1, size + !size);

	if (!p)
		return 0;
	if (size)
		memcpy(p, data, size);
	try_open(p, size);
	snap_repair(p, size);
	try_open(p, size);
	snap_agree(p, size);
	try_open(p, size);
	free(p);
	return 0;
}
