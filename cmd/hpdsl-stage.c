/* SPDX-License-Identifier: Apache-2.0 */
/* hpdsl-stage: a dataset onto the nodes of a job. */
#include "stage/stage.h"

#include <mpi.h>

int main(int argc, char **argv)
{
	int provided;

	cmd_start(argv);
	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
	MPI_Finalize();
	return stage_io(0) != NULL;
}
