/* SPDX-License-Identifier: Apache-2.0 */
/* Which MPI is this, and where is its mpirun? */
#include "launch.h"

#include "common/common.h"

#include <glob.h>
#include <limits.h>
#include <link.h>
#include <mpi.h>
#include <string.h>
#include <unistd.h>

#define UP 3 /* from libmpi's folder to that of which bin is a part */

static int is_libmpi(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *slash = strrchr(info->dlpi_name, '/');

	(void)size;
	if (!slash || strncmp(slash + 1, "libmpi.so", 9) != 0)
		return 0;
	return realpath(info->dlpi_name, arg) ? 1 : 0;
}

/* The folder of libmpi, by its true name; false: it is not shared. */
static bool libmpi_folder(char folder[PATH_MAX])
{
	if (!dl_iterate_phdr(is_libmpi, folder))
		return false;
	*strrchr(folder, '/') = '\0';
	return true;
}

#ifdef OPEN_MPI
/* Until version 4 it may have been built with Slurm's own libraries, too. */
static bool speaks_pmi(void)
{
	char folder[PATH_MAX], pattern[PATH_MAX + 64];
	glob_t found;
	bool any;

	if (!libmpi_folder(folder))
		return false;
	snprintf(pattern, sizeof(pattern), "%s/openmpi*/mca_pmix_s[12].so",
		 folder);
	any = glob(pattern, 0, NULL, &found) == 0;
	if (any)
		globfree(&found);
	return any;
}

enum launch_mpi launch_mpi(void)
{
	return speaks_pmi() ? LAUNCH_MPI_PMI : LAUNCH_MPI_PMIX;
}
#else
enum launch_mpi launch_mpi(void)
{
	return LAUNCH_MPI_OTHER;
}
#endif

/* Not that of another MPI, of which a link may have the name. */
static char *mpirun_at(const char *folder, const char *below)
{
	static const char *const names[] = { "mpirun.openmpi", "mpirun" };
	char path[PATH_MAX], is[PATH_MAX];

	for (size_t i = 0; i < 2; i++) {
		int n = snprintf(path, sizeof(path), "%s%s/%s", folder, below,
				 names[i]);

		if ((size_t)n < sizeof(path) && access(path, X_OK) == 0 &&
		    realpath(path, is) && !strstr(is, "hydra") &&
		    !strstr(is, "mpich"))
			return strdup(path);
	}
	return NULL;
}

static char *beside_libmpi(void)
{
	char folder[PATH_MAX], *slash;
	char *found = NULL;

	if (!libmpi_folder(folder))
		return NULL;
	for (int i = 0; i < UP && !found; i++) {
		slash = strrchr(folder, '/');
		if (!slash)
			break;
		*slash = '\0';
		found = mpirun_at(folder, "/bin");
	}
	return found;
}

/* The folders of PATH, one after the other. */
static char *in_path(char *(*look)(const char *folder, const char *arg),
		     const char *arg)
{
	const char *path = getenv("PATH");
	cmd_auto_free char *list = path ? strdup(path) : NULL;
	char *save = NULL, *found = NULL, *w;

	for (w = list ? strtok_r(list, ":", &save) : NULL; w && !found;
	     w = strtok_r(NULL, ":", &save))
		found = look(w, arg);
	return found;
}

char *launch_mpirun(void)
{
	const char *moved = getenv("OPAL_PREFIX");
	char *found;

	if (moved)
		return mpirun_at(moved, "/bin");
	found = beside_libmpi();
	return found ? found : in_path(mpirun_at, "");
}

static char *program_at(const char *folder, const char *name)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", folder, name);

	return (size_t)n < sizeof(path) && access(path, X_OK) == 0 ?
		       strdup(path) :
		       NULL;
}

bool launch_has(const char *name)
{
	cmd_auto_free char *found = in_path(program_at, name);

	return found;
}
