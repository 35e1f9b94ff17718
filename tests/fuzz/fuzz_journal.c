/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal's decoders: head, options, list, records, from one journal.  The
 * checksums of head and records are put right, so that what they cover is read.
 */
#include "base/bytes.h"
#include "base/hash.h"
#include "write/journal.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void head(const uint8_t *data, bool repair, struct hp_journal_head *h)
{
	uint8_t buf[HP_JOURNAL_HEAD], again[HP_JOURNAL_HEAD];

	memcpy(buf, data, sizeof buf);
	if (repair) {
		memcpy(buf, HP_JOURNAL_MAGIC, 8);
		hp_put64(buf + 56, hp_hash64(buf, 56));
	}
	if (hp_journal_head_read(buf, h, NULL) < 0)
		return;
	hp_journal_head_write(h, again);
	if (memcmp(buf, again, sizeof buf))
		abort();
}

static void owner(const uint8_t *data)
{
	uint8_t buf[HP_JOURNAL_OWNER];
	struct hp_journal_owner once, twice;

	hp_journal_owner_read(data, &once);
	hp_journal_owner_write(&once, buf);
	hp_journal_owner_read(buf, &twice);
	if (memcmp(&once, &twice, sizeof once))
		abort();
}

static void options(const uint8_t *data, size_t n)
{
	struct hp_pairs p, twice;

	if (hp_journal_options_read((const char *)data, n, &p, NULL) < 0)
		return;
	twice = p;
	if (hp_pairs_compare(&p, &twice, NULL) < 0)
		abort();
	hp_pairs_release(&p);
}

static void list(const uint8_t *data, size_t n)
{
	struct hp_journal_file f;
	uint8_t again[HP_JOURNAL_FILE];
	ssize_t k;

	while ((k = hp_journal_file_read(data, n, &f)) > 0) {
		hp_journal_file_write(&f, again);
		if ((size_t)k > n || memcmp(data, again, sizeof again))
			abort();
		data += k;
		n -= (size_t)k;
	}
}

static void records(const uint8_t *data, size_t n, bool repair)
{
	uint8_t buf[HP_JOURNAL_RECORD], again[HP_JOURNAL_RECORD];
	struct hp_journal_record rec;
	struct hp_journal_position pos;

	for (; n >= sizeof buf; data += sizeof buf, n -= sizeof buf) {
		memcpy(buf, data, sizeof buf);
		if (repair)
			hp_put64(buf + 32, hp_hash64(buf, 32));
		if (hp_journal_record_read(buf, &rec) == 0)
			hp_journal_record_write(&rec, again);
		else if (hp_journal_position_read(buf, &pos) == 0)
			hp_journal_position_write(&pos, again);
		else
			continue;
		if (memcmp(buf, again, sizeof buf))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hp_journal_head h = { 0 };

	if (size < HP_JOURNAL_BODY)
		return 0;
	head(data, false, &h);
	head(data, true, &h);
	owner(data + HP_JOURNAL_HEAD);
	data += HP_JOURNAL_BODY;
	size -= HP_JOURNAL_BODY;
	if (h.options_bytes > size)
		h.options_bytes = size;
	if (h.options_bytes < 4096) /* comparing is quadratic */
		options(data, (size_t)h.options_bytes);
	data += h.options_bytes;
	size -= (size_t)h.options_bytes;
	list(data, size);
	if (h.list_bytes > size)
		h.list_bytes = size;
	records(data + h.list_bytes, size - (size_t)h.list_bytes, false);
	records(data, size, true);
	return 0;
}
