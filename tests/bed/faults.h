/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The faults of a bed's file system.  A file of lines, which may change at any
 * time, tells them:
 *
 *     hang NAME                      reads of NAME do not return
 *     eio NAME [OFFSET [TIMES]]      .. that hold byte OFFSET fail
 *     flip NAME [OFFSET [TIMES]]     .. give another byte at OFFSET
 *
 * NAME is a base name.  After TIMES reads the fault is over; without it, it
 * stays.
 */
#ifndef BED_FAULTS_H
#define BED_FAULTS_H

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FAULTS_MAX 64

struct fault {
	char kind[8], name[256];
	uint64_t offset, times; /* times: UINT64_MAX for always */
};

struct faults {
	const char *path; /* NULL: none */
	pthread_mutex_t lock;
	struct stat seen;
	struct fault list[FAULTS_MAX];
	size_t n;
};

static inline void faults_read(struct faults *f)
{
	FILE *in = fopen(f->path, "re");
	char line[512];

	f->n = 0;
	while (in && f->n < FAULTS_MAX && fgets(line, sizeof(line), in)) {
		struct fault *x = &f->list[f->n];

		*x = (struct fault){ .times = UINT64_MAX };
		if (sscanf(line, "%7s %255s %" SCNu64 " %" SCNu64, x->kind,
			   x->name, &x->offset, &x->times) >= 2)
			f->n++;
	}
	if (in)
		fclose(in);
}

/* Is there a fault of that kind for bytes [at, at + n) of name?  Counts it. */
static inline bool faults_hit(struct faults *f, const char *kind,
			      const char *name, uint64_t at, uint64_t n,
			      uint64_t *ret_offset)
{
	struct stat st = { 0 };
	bool hit = false;

	if (!f->path)
		return false;
	pthread_mutex_lock(&f->lock);
	if (stat(f->path, &st) || st.st_ino != f->seen.st_ino ||
	    st.st_size != f->seen.st_size ||
	    memcmp(&st.st_mtim, &f->seen.st_mtim, sizeof(st.st_mtim)))
		faults_read(f);
	f->seen = st;
	for (size_t i = 0; i < f->n && !hit; i++) {
		struct fault *x = &f->list[i];

		hit = x->times && !strcmp(x->kind, kind) &&
		      !strcmp(x->name, name) &&
		      (!strcmp(kind, "hang") ||
		       (x->offset >= at && x->offset - at < n));
		if (hit && x->times != UINT64_MAX)
			x->times--;
		if (hit && ret_offset)
			*ret_offset = x->offset;
	}
	pthread_mutex_unlock(&f->lock);
	return hit;
}
#endif
