/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults in the system's file operations: build/tests/bed/hpdsl-NAME is
 * hpdsl-NAME with this in place of hp_io_or_system() and stage_io().
 * HPDSL_FAULT holds them, ";" between two; each is a list of
 *
 *	op=NAME		which operation of struct hp_io: open read pread write
 *			pwrite fsync truncate allocate lock stat statvfs
 *			getdents rename unlink mkdir map; of hpdsl-mount also
 *			answer, which has more than 64 KiB, as only a READ's
 *			has, and give, of a file that nobody asked for; needed
 *	node=N		on this node of hpdsl-stage only
 *	after=K		not the first K [0]
 *	times=N		so many of them, 0: all that follow [1]
 *	name=TEXT	files whose path holds TEXT only (the path that the
 *			descriptor has, or the name that is given)
 *
 * and of what happens:
 *
 *	error=ENOSPC	it fails: a name from the list below, or a number
 *	flip=N		the Nth byte that it moves (or the last) is another one
 *	hang		it never returns
 *	slow=MS		it takes that much longer
 *	wait=FILE	a gate: it goes on when FILE is gone, which is made
 *			now and holds the id of the process; with times=0 all
 *			that come meanwhile wait, and then no more do
 *	kill		the process is gone, as by SIGKILL
 *
 * Those left out are as they were: error=EIO when nothing else is said.
 */
#include "faults_clock.h"

#include "common/common.h"
#include "sys/io.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define BASE hp_io_system
#define FAULTS 16

struct fault {
	char op[16], name[64], wait[256];
	long node, after, times, count;
	long flip, slow_ms;
	int error;
	bool flips, hang, kill, made;
};

static struct {
	struct hp_io io;
	struct fault fault[FAULTS];
	int n;
	long node;
} bed = { .node = -1 };

static int error_number(const char *s)
{
	static const struct {
		const char *name;
		int code;
	} known[] = {
		{ "ENOSPC", ENOSPC }, { "EIO", EIO },
		{ "EACCES", EACCES }, { "EDQUOT", EDQUOT },
		{ "ESTALE", ESTALE }, { "EROFS", EROFS },
		{ "ENOENT", ENOENT }, { "EPERM", EPERM },
		{ "EINTR", EINTR },   { "EINVAL", EINVAL },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(s, known[i].name))
			return known[i].code;
	return atoi(s);
}

static void set(struct fault *f, const char *key, const char *value)
{
	if (!strcmp(key, "op"))
		snprintf(f->op, sizeof(f->op), "%s", value);
	else if (!strcmp(key, "name"))
		snprintf(f->name, sizeof(f->name), "%s", value);
	else if (!strcmp(key, "node"))
		f->node = atol(value);
	else if (!strcmp(key, "wait"))
		snprintf(f->wait, sizeof(f->wait), "%s", value);
	else if (!strcmp(key, "after"))
		f->after = atol(value);
	else if (!strcmp(key, "times"))
		f->times = atol(value);
	else if (!strcmp(key, "error"))
		f->error = error_number(value);
	else if (!strcmp(key, "slow"))
		f->slow_ms = atol(value);
	else if (!strcmp(key, "hang"))
		f->hang = true;
	else if (!strcmp(key, "kill"))
		f->kill = true;
	else if (!strcmp(key, "flip")) {
		f->flips = true;
		f->flip = atol(value);
	} else {
		fprintf(stderr, "HPDSL_FAULT: '%s' is not known\n", key);
		_exit(CMD_USAGE);
	}
}

static void parse_one(char *text, struct fault *f)
{
	char *save = NULL;

	*f = (struct fault){ .node = -1, .times = 1 };
	for (char *w = strtok_r(text, ",", &save); w;
	     w = strtok_r(NULL, ",", &save)) {
		char *value = strchr(w, '=');

		if (value)
			*value++ = '\0';
		set(f, w, value ? value : "");
	}
	if (!f->error && !f->flips && !f->hang && !f->kill && !f->slow_ms &&
	    !*f->wait)
		f->error = EIO;
}

static void parse(const char *faults)
{
	char text[4096], *save = NULL;

	snprintf(text, sizeof(text), "%s", faults);
	for (char *w = strtok_r(text, ";", &save); w && bed.n < FAULTS;
	     w = strtok_r(NULL, ";", &save))
		parse_one(w, &bed.fault[bed.n++]);
}

static bool named(const struct fault *f, int fd, const char *name)
{
	char link[64], path[4096] = "";
	ssize_t n;

	if (!*f->name)
		return true;
	if (name)
		return strstr(name, f->name);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	return strstr(path, f->name);
}

static void sleep_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

/* The file is there at once with what it holds. */
static void make_gate(const char *file)
{
	char mine[300];
	FILE *f;

	snprintf(mine, sizeof(mine), "%s.%d", file, gettid());
	f = fopen(mine, "w");
	if (!f || fprintf(f, "%d\n", getpid()) < 0 || fclose(f) ||
	    rename(mine, file) < 0) {
		fprintf(stderr, "HPDSL_FAULT: %s: %s\n", file, strerror(errno));
		_exit(CMD_USAGE);
	}
}

static void gate(struct fault *f)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&lock);
	if (f->times || !f->made)
		make_gate(f->wait);
	f->made = true;
	pthread_mutex_unlock(&lock);
	while (!access(f->wait, F_OK))
		sleep_ms(2);
}

/* The error to give, or 0; *ret_flip: the byte to change, -1: none. */
static int fault(const char *op, int fd, const char *name, long *ret_flip)
{
	for (int i = 0; i < bed.n; i++) {
		struct fault *f = &bed.fault[i];
		long n;

		if (strcmp(f->op, op) != 0 ||
		    (f->node >= 0 && f->node != bed.node) ||
		    !named(f, fd, name))
			continue;
		n = __atomic_fetch_add(&f->count, 1, __ATOMIC_RELAXED);
		if (n < f->after || (f->times && n >= f->after + f->times))
			continue;
		if (*f->wait)
			gate(f);
		if (f->kill)
			raise(SIGKILL);
		while (f->hang)
			pause();
		sleep_ms(f->slow_ms);
		if (f->flips && ret_flip)
			*ret_flip = f->flip;
		if (f->error)
			return -f->error;
	}
	return 0;
}

static ssize_t flip_read(void *buf, ssize_t n, long flip)
{
	if (n > 0 && flip >= 0)
		((unsigned char *)buf)[flip < n ? flip : n - 1] ^= 0x10;
	return n;
}

/* A disk that is busy takes no time of a test's (faults_clock.c). */
#define HELD(call)                     \
	({                             \
		__typeof__(call) r_;   \
		faults_clock_hold(1);  \
		r_ = (call);           \
		faults_clock_hold(-1); \
		r_;                    \
	})

static int f_open(const struct hp_io *io, int dir, const char *name, int flags,
		  mode_t mode)
{
	int r = fault("open", -1, name, NULL);

	(void)io;
	if (r)
		return r;
	/* What is only read may be on the file system that a test hangs. */
	return flags & O_CREAT ?
		       HELD(BASE.open(&BASE, dir, name, flags, mode)) :
		       BASE.open(&BASE, dir, name, flags, mode);
}

static ssize_t f_read(const struct hp_io *io, int fd, void *buf, size_t n)
{
	long flip = -1;
	int r = fault("read", fd, NULL, &flip);

	(void)io;
	return r ? r : flip_read(buf, BASE.read(&BASE, fd, buf, n), flip);
}

static ssize_t f_pread(const struct hp_io *io, int fd, void *buf, size_t n,
		       uint64_t off)
{
	long flip = -1;
	int r = fault("pread", fd, NULL, &flip);

	(void)io;
	return r ? r : flip_read(buf, BASE.pread(&BASE, fd, buf, n, off), flip);
}

static ssize_t f_write(const struct hp_io *io, int fd, const void *buf,
		       size_t n)
{
	int r = fault("write", fd, NULL, NULL);

	(void)io;
	return r ? r : HELD(BASE.write(&BASE, fd, buf, n));
}

/* Another byte reaches the disk than the one that was there. */
static ssize_t f_pwrite(const struct hp_io *io, int fd, const void *buf,
			size_t n, uint64_t off)
{
	long flip = -1;
	int r = fault("pwrite", fd, NULL, &flip);
	unsigned char byte;
	ssize_t done;

	(void)io;
	if (r)
		return r;
	done = HELD(BASE.pwrite(&BASE, fd, buf, n, off));
	if (done <= 0 || flip < 0)
		return done;
	if (flip >= done)
		flip = (long)done - 1;
	byte = ((const unsigned char *)buf)[flip] ^ 0x10;
	BASE.pwrite(&BASE, fd, &byte, 1, off + (uint64_t)flip);
	return done;
}

static int f_fsync(const struct hp_io *io, int fd)
{
	int r = fault("fsync", fd, NULL, NULL);

	(void)io;
	return r ? r : HELD(BASE.fsync(&BASE, fd));
}

static int f_truncate(const struct hp_io *io, int fd, uint64_t size)
{
	int r = fault("truncate", fd, NULL, NULL);

	(void)io;
	return r ? r : HELD(BASE.truncate(&BASE, fd, size));
}

static int f_allocate(const struct hp_io *io, int fd, uint64_t size)
{
	int r = fault("allocate", fd, NULL, NULL);

	(void)io;
	return r ? r : HELD(BASE.allocate(&BASE, fd, size));
}

static int f_lock(const struct hp_io *io, int fd)
{
	int r = fault("lock", fd, NULL, NULL);

	(void)io;
	return r ? r : BASE.lock(&BASE, fd);
}

static int f_stat(const struct hp_io *io, int dir, const char *name,
		  struct stat *ret, int flags)
{
	int r = fault("stat", dir, name, NULL);

	(void)io;
	return r ? r : BASE.stat(&BASE, dir, name, ret, flags);
}

static int f_statvfs(const struct hp_io *io, int fd, struct statvfs *ret)
{
	int r = fault("statvfs", fd, NULL, NULL);

	(void)io;
	return r ? r : BASE.statvfs(&BASE, fd, ret);
}

static ssize_t f_getdents(const struct hp_io *io, int fd, void *buf, size_t n)
{
	int r = fault("getdents", fd, NULL, NULL);

	(void)io;
	return r ? r : BASE.getdents(&BASE, fd, buf, n);
}

static int f_rename(const struct hp_io *io, int old_dir, const char *old_name,
		    int new_dir, const char *new_name, unsigned flags)
{
	int r = fault("rename", -1, new_name, NULL);

	(void)io;
	return r ? r :
		   HELD(BASE.rename(&BASE, old_dir, old_name, new_dir, new_name,
				    flags));
}

static int f_unlink(const struct hp_io *io, int dir, const char *name,
		    int flags)
{
	int r = fault("unlink", -1, name, NULL);

	(void)io;
	return r ? r : HELD(BASE.unlink(&BASE, dir, name, flags));
}

static int f_mkdir(const struct hp_io *io, int dir, const char *name,
		   mode_t mode)
{
	int r = fault("mkdir", -1, name, NULL);

	(void)io;
	return r ? r : HELD(BASE.mkdir(&BASE, dir, name, mode));
}

static int f_map(const struct hp_io *io, int fd, size_t size, const void **ret)
{
	int r = fault("map", fd, NULL, NULL);

	(void)io;
	return r ? r : BASE.map(&BASE, fd, size, ret);
}

/* Without faults all is as in the program itself. */
__attribute__((constructor)) static void begin(void)
{
	const char *faults = getenv("HPDSL_FAULT");

	bed.io = hp_io_system; /* what has no faults does not use io */
	if (!faults)
		return;
	parse(faults);
	bed.io.open = f_open;
	bed.io.read = f_read;
	bed.io.pread = f_pread;
	bed.io.write = f_write;
	bed.io.pwrite = f_pwrite;
	bed.io.fsync = f_fsync;
	bed.io.truncate = f_truncate;
	bed.io.allocate = f_allocate;
	bed.io.lock = f_lock;
	bed.io.stat = f_stat;
	bed.io.statvfs = f_statvfs;
	bed.io.getdents = f_getdents;
	bed.io.rename = f_rename;
	bed.io.unlink = f_unlink;
	bed.io.mkdir = f_mkdir;
	bed.io.map = f_map;
}

/* What the linker puts in place of the functions of these names (--wrap). */
const struct hp_io *__wrap_hp_io_or_system(const struct hp_io *io);
const struct hp_io *__wrap_stage_io(uint32_t node);
const char *__wrap_stage_version(void);

ssize_t __real_write(int fd, const void *buf, size_t n);
ssize_t __wrap_write(int fd, const void *buf, size_t n);
ssize_t __real_writev(int fd, const struct iovec *v, int n);
ssize_t __wrap_writev(int fd, const struct iovec *v, int n);

static bool fails(const char *op, int fd)
{
	int r = fault(op, fd, NULL, NULL);

	if (r)
		errno = -r;
	return r;
}

ssize_t __wrap_write(int fd, const void *buf, size_t n)
{
	return n > 65536 && fails("answer", fd) ? -1 : __real_write(fd, buf, n);
}

ssize_t __wrap_writev(int fd, const struct iovec *v, int n)
{
	return fails("give", fd) ? -1 : __real_writev(fd, v, n);
}

const struct hp_io *__wrap_hp_io_or_system(const struct hp_io *io)
{
	return io ? io : &bed.io;
}

const struct hp_io *__wrap_stage_io(uint32_t node)
{
	bed.node = node;
	return &bed.io;
}

/* HPDSL_FAULT_VERSION: this rank is of another version. */
const char *__wrap_stage_version(void)
{
	const char *other = getenv("HPDSL_FAULT_VERSION");

	return other ? other : hpdsl_version();
}
