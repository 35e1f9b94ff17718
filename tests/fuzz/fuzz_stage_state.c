/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a state file: as they are, and with magic, size and checksum put
 * right.  What is taken is what the writer makes of it, to the byte.  The same
 * bytes as a name in a stage directory, and as what the kernel tells of groups.
 */
#include "base/bytes.h"
#include "base/hash.h"
#include "sys/cgroup.h"
#include "sys/kernel_file.h"
#include "sys/memory.h"
#include "stage/private.h"
#include "sys/boot.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(uint8_t *p, const struct hp_state_header *h)
{
	uint8_t *again = malloc(hp_state_size(h->chunks));

	if (!again)
		return;
	hp_state_format(h, again);
	if (memcmp(p, again, HP_STATE_FIXED) != 0)
		abort();
	for (uint64_t i = 0; i < h->chunks; i++)
		if (hp_state_get(p, i) > HP_CHUNK_EXPANDED)
			abort();
	if (hp_state_ended(p) > HP_STAGE_FAILED)
		abort();
	if (hp_state_alive(p, h, h->boot_id, hp_state_last_beat(p)) &&
	    hp_state_ended(p) != HP_STAGE_AT_WORK)
		abort();
	free(again);
}

static void try_state(uint8_t *p, size_t size)
{
	struct hp_state_header h;
	struct hpdsl_error err;
	int r = hp_state_parse(p, size, "it", &h, &err);

	if (r == 0)
		ask(p, &h);
	else if (r != HPDSL_ENOTOURS && r != HPDSL_ETOONEW &&
		 r != HPDSL_ECORRUPT)
		abort();
}

static void repair(uint8_t *p, size_t size)
{
	if (size < HP_STATE_CHUNKS)
		return;
	memcpy(p, HP_STATE_MAGIC, 8);
	hp_put32(p + 8, HP_STATE_VERSION);
	hp_put64(p + 48, size - HP_STATE_CHUNKS);
	hp_put64(p + 4608, hp_hash64(p, 4608));
}

static void try_name(const char *text)
{
	char again[HP_STAGE_NAME];
	struct hp_stage_name n;
	struct hpdsl_chunk c = { .compressed = true };

	hp_stage_name_read(text, 1000000, &n);
	if (n.kind != HP_NAME_CHUNK)
		return;
	c.number = (uint32_t)n.chunk;
	if (strcmp(hp_stage_chunk_name(&c, !n.zst, again), text) != 0)
		abort();
}

static void try_texts(const char *text)
{
	struct hp_cgroup_mount m;
	char dir[300];
	size_t len = 0;

	hp_meminfo(text, "MemAvailable");
	hp_memory_stat(text, "inactive_file");
	hp_kernel_number(text);
	hp_parse_start(text);
	for (int v2 = 0; v2 < 2; v2++) {
		const char *path = hp_cgroup_path(text, v2, &len);

		if (path && (path < text || path + len > text + strlen(text)))
			abort();
		if (path && hp_cgroup_mount(text, v2, &m))
			hp_cgroup_dir(&m, path, len, dir, sizeof dir);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Of the exact size, so that reading beyond it is seen. */
	uint8_t *p = malloc(size + !size);
	char *text = strndup((const char *)data, size);

	if (p && text) {
		if (size)
			memcpy(p, data, size);
		try_state(p, size);
		repair(p, size);
		try_state(p, size);
		try_name(text);
		try_texts(text);
	}
	free(text);
	free(p);
	return 0;
}
