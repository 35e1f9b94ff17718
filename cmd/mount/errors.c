/* SPDX-License-Identifier: Apache-2.0 */
#include "errors.h"

#include "common/common.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

/* Of the threads of this worker, of which there is one at a time. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Whoever reads sees whole lines only: bytes comes last. */
static void keep(struct mount_errors *e, const char *text)
{
	const uint32_t at = atomic_load(&e->bytes);
	char line[CMD_LINE_MOST];
	size_t n = cmd_message_line(text, line);

	atomic_fetch_add(&e->lines, 1);
	if (n > sizeof(e->text) - at)
		return;
	memcpy(e->text + at, line, n);
	atomic_store(&e->last, time(NULL));
	atomic_store(&e->bytes, at + (uint32_t)n);
}

void mount_errors_tell(struct mount_errors *e, const char *text)
{
	uint32_t n;

	pthread_mutex_lock(&lock);
	n = atomic_load(&e->lines);
	if (n == MOUNT_TOLD)
		text = "more of this is counted, but not told";
	if (n <= MOUNT_TOLD)
		keep(e, text);
	pthread_mutex_unlock(&lock);
	if (n <= MOUNT_TOLD)
		cmd_message("%s", text);
}
