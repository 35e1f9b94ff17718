/* SPDX-License-Identifier: Apache-2.0 */
#include "own_text.h"

#include "mount.h"
#include "status.h"

#include <errno.h>
#include <string.h>
#include <time.h>

/*
 * As --status --json prints it.  Its length is told before its bytes are read,
 * and what is asked meanwhile changes these.  Each read asks anew, so that one
 * in parts gets numbers of several moments: none of them moves.
 */
static int status(const struct mount_status *s, struct mount_own_text *ret)
{
	cmd_auto_free char *text = NULL;
	struct timespec now;
	size_t n;
	struct mount_figures f;
	FILE *out;
	int r = mount_status_now(s->o, s->slots, &f);

	if (r < 0)
		return r;
	out = open_memstream(&text, &n);
	if (!out)
		return -ENOMEM;
	fputs("{\"mounts\": [", out);
	mount_status_put(&f, true, out);
	fputs("]}\n", out);
	if (fclose(out) != 0)
		return -ENOMEM;
	ret->bytes = mount_own_widen(text, n);
	if (!ret->bytes)
		return -ENOMEM;
	ret->n = strlen(ret->bytes);
	clock_gettime(CLOCK_REALTIME, &now);
	ret->mtime = now.tv_sec;
	ret->mtime_nsec = (uint32_t)now.tv_nsec;
	return 0;
}

/* The lines there are, and how many reads it was if not all have one. */
static int errors(const struct mount_status *s, struct mount_own_text *ret)
{
	const struct mount_errors *e = &s->slots->errors;
	const uint64_t wrong = atomic_load(&s->slots->counts.wrong);
	const uint32_t bytes = atomic_load(&e->bytes);
	const int64_t last = atomic_load(&e->last);
	char *text = malloc(bytes + CMD_LINE_MOST), how_many[80];
	size_t n = bytes;

	if (!text)
		return -ENOMEM;
	memcpy(text, e->text, bytes);
	if (atomic_load(&e->lines) > MOUNT_TOLD) {
		snprintf(how_many, sizeof(how_many), "%s reads failed",
			 cmd_thousands(wrong).s);
		n += cmd_message_line(how_many, text + n);
	}
	/* Both numbers only grow: another text has another sum. */
	*ret = (struct mount_own_text){
		.bytes = text,
		.n = n,
		.mtime = last ? last : s->slots->since,
		.mtime_nsec = (uint32_t)((bytes + wrong) % 1000000000),
	};
	return 0;
}

/* As it was when the dataset was opened. */
static int manifest(const struct mount_status *s, struct mount_own_text *ret)
{
	char *text;

	if (!s->manifest)
		return -ENOENT;
	text = malloc(s->manifest_bytes + 1);
	if (!text)
		return -ENOMEM;
	memcpy(text, s->manifest, s->manifest_bytes);
	*ret = (struct mount_own_text){
		.bytes = text,
		.n = s->manifest_bytes,
		.mtime = s->slots->since,
	};
	return 0;
}

int mount_own_text(void *arg, enum mount_own_file file,
		   struct mount_own_text *ret)
{
	const struct mount_status *s = arg;

	switch (file) {
	case MOUNT_OWN_STATUS:
		return status(s, ret);
	case MOUNT_OWN_ERRORS:
		return errors(s, ret);
	default:
		return manifest(s, ret);
	}
}
