/* SPDX-License-Identifier: Apache-2.0 */
/* --while=PID: unmounts when that process is gone, which ends the server. */
#include "mount.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

int mount_unmount(const char *point, struct hpdsl_error *err)
{
	return geteuid() == 0 ? mount_undo(point, err) :
				mount_undo_by_helper(point, err);
}

/* Once a second: a descriptor that tells is newer than systems in use. */
static void *watch(void *arg)
{
	const struct mount_options *o = arg;
	const struct timespec second = { 1, 0 };
	struct hpdsl_error err;

	while (cmd_process_start((pid_t)o->process) == o->process_start)
		nanosleep(&second, NULL);
	if (mount_unmount(o->place, &err) < 0)
		cmd_message("%s", err.msg);
	return NULL;
}

void mount_while(const struct mount_options *o)
{
	pthread_t t;

	if (!o->process)
		return;
	if (pthread_create(&t, NULL, watch, (void *)o) == 0)
		pthread_detach(t);
	else
		cmd_warning("no thread: the end of process %u will not be seen",
			    o->process);
}
