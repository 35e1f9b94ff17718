/* SPDX-License-Identifier: Apache-2.0 */
/* The journal's parts between struct and bytes.  Pure; nothing is trusted. */
#include "write/journal.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/path.h"
#include "format/names.h"

#include <string.h>

#define RECORD_MAGIC 0x4b4e4843u   /* "CHNK" */
#define COMPRESSED 0x80000000u	   /* in the number of the chunk */
#define POSITION_MAGIC 0x4d525453u /* "STRM" */

void hp_journal_head_write(const struct hp_journal_head *head,
			   uint8_t buf[HP_JOURNAL_HEAD])
{
	memset(buf, 0, HP_JOURNAL_HEAD);
	memcpy(buf, HP_JOURNAL_MAGIC, 8);
	hp_put32(buf + 8, HP_JOURNAL_VERSION);
	hp_put64(buf + 16, head->options_bytes);
	hp_put64(buf + 24, head->list_bytes);
	hp_put64(buf + 32, head->n_files);
	hp_put64(buf + 40, head->body_checksum);
	hp_put64(buf + 48, head->chunks);
	hp_put64(buf + 56, hp_hash64(buf, 56));
}

int hp_journal_head_read(const uint8_t buf[HP_JOURNAL_HEAD],
			 struct hp_journal_head *ret, struct hpdsl_error *err)
{
	struct hp_journal_head h;

	if (memcmp(buf, HP_JOURNAL_MAGIC, 8))
		return hp_fail(err, HPDSL_ENOTOURS, "%s: not an HPDSL journal",
			       HP_JOURNAL_NAME);
	if (hp_get64(buf + 56) != hp_hash64(buf, 56))
		return hp_fail(err, HPDSL_ECORRUPT, "%s: checksum differs",
			       HP_JOURNAL_NAME);
	if (hp_get32(buf + 8) > HP_JOURNAL_VERSION)
		return hp_fail(err, HPDSL_ETOONEW,
			       "%s: version %u is too new for this program",
			       HP_JOURNAL_NAME, hp_get32(buf + 8));
	h.options_bytes = hp_get64(buf + 16);
	h.list_bytes = hp_get64(buf + 24);
	h.n_files = hp_get64(buf + 32);
	h.body_checksum = hp_get64(buf + 40);
	h.chunks = hp_get64(buf + 48);
	/* At least one byte of path a file; sums stay far below 2^64. */
	if (hp_get32(buf + 8) == 0 || hp_get32(buf + 12) != 0 ||
	    h.chunks > h.n_files || h.options_bytes > HP_JOURNAL_OPTIONS_MAX ||
	    h.list_bytes > (uint64_t)1 << 60 ||
	    h.n_files > h.list_bytes / (HP_JOURNAL_FILE + 1))
		return hp_fail(err, HPDSL_ECORRUPT, "%s: the head is damaged",
			       HP_JOURNAL_NAME);
	*ret = h;
	return 0;
}

void hp_journal_owner_write(const struct hp_journal_owner *owner,
			    uint8_t buf[HP_JOURNAL_OWNER])
{
	memset(buf, 0, HP_JOURNAL_OWNER);
	hp_put32(buf, owner->pid);
	memcpy(buf + 4, owner->host, strnlen(owner->host, 63));
}

void hp_journal_owner_read(const uint8_t buf[HP_JOURNAL_OWNER],
			   struct hp_journal_owner *ret)
{
	size_t n = strnlen((const char *)buf + 4, 63);

	memset(ret, 0, sizeof *ret);
	ret->pid = hp_get32(buf);
	memcpy(ret->host, buf + 4, n);
}

void hp_journal_record_write(const struct hp_journal_record *rec,
			     uint8_t buf[HP_JOURNAL_RECORD])
{
	hp_put32(buf, RECORD_MAGIC);
	hp_put32(buf + 4, rec->chunk | (rec->compressed ? COMPRESSED : 0));
	hp_put64(buf + 8, rec->bytes);
	memcpy(buf + 16, rec->checksum, 16);
	hp_put64(buf + 32, hp_hash64(buf, 32));
}

int hp_journal_record_read(const uint8_t buf[HP_JOURNAL_RECORD],
			   struct hp_journal_record *ret)
{
	if (hp_get32(buf) != RECORD_MAGIC ||
	    hp_get64(buf + 32) != hp_hash64(buf, 32))
		return HPDSL_ECORRUPT;
	ret->chunk = hp_get32(buf + 4) & ~COMPRESSED;
	ret->compressed = hp_get32(buf + 4) & COMPRESSED;
	ret->bytes = hp_get64(buf + 8);
	memcpy(ret->checksum, buf + 16, 16);
	return 0;
}

void hp_journal_position_write(const struct hp_journal_position *pos,
			       uint8_t buf[HP_JOURNAL_RECORD])
{
	hp_put32(buf, POSITION_MAGIC);
	hp_put32(buf + 4, pos->root);
	hp_put64(buf + 8, pos->files);
	hp_put64(buf + 16, pos->bytes);
	hp_put64(buf + 24, pos->archive);
	hp_put64(buf + 32, hp_hash64(buf, 32));
}

int hp_journal_position_read(const uint8_t buf[HP_JOURNAL_RECORD],
			     struct hp_journal_position *ret)
{
	if (hp_get32(buf) != POSITION_MAGIC ||
	    hp_get64(buf + 32) != hp_hash64(buf, 32) ||
	    hp_get32(buf + 4) > UINT16_MAX)
		return HPDSL_ECORRUPT;
	ret->root = hp_get32(buf + 4);
	ret->files = hp_get64(buf + 8);
	ret->bytes = hp_get64(buf + 16);
	ret->archive = hp_get64(buf + 24);
	return 0;
}

uint64_t hp_journal_archive(const struct hp_root *root)
{
	uint8_t buf[24];

	hp_put64(buf, root->size);
	hp_put64(buf + 8, (uint64_t)root->mtime);
	hp_put64(buf + 16, root->nsec);
	return hp_hash64(buf, sizeof buf);
}

void hp_journal_file_write(const struct hp_journal_file *f,
			   uint8_t buf[HP_JOURNAL_FILE])
{
	hp_put64(buf, f->size);
	hp_put64(buf + 8, (uint64_t)f->mtime);
	hp_put32(buf + 16, f->nsec);
	hp_put16(buf + 20, f->mode);
	hp_put16(buf + 22, f->path_len);
}

ssize_t hp_journal_file_read(const uint8_t *buf, size_t n,
			     struct hp_journal_file *ret)
{
	struct hp_journal_file f;

	if (n < HP_JOURNAL_FILE)
		return 0;
	f.size = hp_get64(buf);
	f.mtime = (int64_t)hp_get64(buf + 8);
	f.nsec = hp_get32(buf + 16);
	f.mode = hp_get16(buf + 20);
	f.path_len = hp_get16(buf + 22);
	f.path = (const char *)buf + HP_JOURNAL_FILE;
	if (f.nsec > 999999999 || f.mode > 07777 || f.path_len == 0 ||
	    f.path_len > HPDSL_PATH_MAX)
		return HPDSL_ECORRUPT;
	if (n - HP_JOURNAL_FILE < f.path_len)
		return 0;
	if (!hp_path_valid(f.path, f.path_len))
		return HPDSL_ECORRUPT;
	*ret = f;
	return HP_JOURNAL_FILE + f.path_len;
}

int hp_journal_options_read(const char *buf, size_t n, struct hp_pairs *ret,
			    struct hpdsl_error *err)
{
	struct hp_pairs p = { 0 };
	uint64_t strings = 0;

	for (size_t i = 0; i < n; i++)
		strings += buf[i] == '\0';
	if (strings % 2 || (n && buf[n - 1]))
		return hp_fail(err, HPDSL_ECORRUPT,
			       "%s: the options are damaged", HP_JOURNAL_NAME);
	p.v = hp_array(strings / 2, sizeof *p.v);
	if (!p.v)
		return hp_fail_nomem(err);
	for (size_t i = 0; i < n; p.n++) {
		p.v[p.n].key = buf + i;
		i += strlen(buf + i) + 1;
		p.v[p.n].value = buf + i;
		i += strlen(buf + i) + 1;
	}
	*ret = p;
	return 0;
}
