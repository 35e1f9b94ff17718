/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hpdsl-serve: what is on this node's SSD, to the job's other nodes and to
 * other tools of this one.  One process, which ends with its job.
 */
#include "life.h"

#include <unistd.h>

int main(int argc, char **argv)
{
	struct serve_options o = { 0 };
	pid_t launcher = getppid();

	cmd_start(argv);
	serve_parse(argc, argv, &o);
	if (o.status)
		return serve_show(&o);
	if (o.stop)
		return serve_stop(&o);
	if (o.probe)
		return serve_probe(&o);
	return serve_run(&o, launcher);
}
