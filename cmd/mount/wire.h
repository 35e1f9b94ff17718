/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel and a file system in user space say to each other over
 * /dev/fuse, as far as one that is read only and never changes needs it:
 * messages to structs and back, over memory alone.  Numbers are the machine's
 * own, as there.  Linux, include/uapi/linux/fuse.h, protocol 7.
 */
#ifndef MOUNT_WIRE_H
#define MOUNT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mount_op {
	MOUNT_LOOKUP = 1,
	MOUNT_FORGET = 2,
	MOUNT_GETATTR = 3,
	MOUNT_READLINK = 5,
	MOUNT_OPEN = 14,
	MOUNT_READ = 15,
	MOUNT_STATFS = 17,
	MOUNT_GETXATTR = 22,
	MOUNT_LISTXATTR = 23,
	MOUNT_INIT = 26,
	MOUNT_OPENDIR = 27,
	MOUNT_READDIR = 28,
	MOUNT_ACCESS = 34,
	MOUNT_INTERRUPT = 36,
	MOUNT_DESTROY = 38,
	MOUNT_IOCTL = 39,
	MOUNT_BATCH_FORGET = 42,
	MOUNT_READDIRPLUS = 44,
};

/* What both can do, as bits of INIT. */
enum {
	MOUNT_ASYNC_READ = 1 << 0,
	/* A time or size that is another one is that of another content. */
	MOUNT_AUTO_INVAL = 1 << 12,
	MOUNT_READDIRPLUS_DO = 1 << 13,
	MOUNT_READDIRPLUS_AUTO = 1 << 14,
	MOUNT_ASYNC_DIO = 1 << 15,
	MOUNT_NO_OPEN = 1 << 17,
	MOUNT_PARALLEL_DIROPS = 1 << 18,
	MOUNT_MAX_PAGES = 1 << 22,
	MOUNT_CACHE_SYMLINKS = 1 << 23,
	MOUNT_NO_OPENDIR = 1 << 24,
	MOUNT_INIT_EXT = 1 << 30, /* there are more, in flags2 */
};

/* Of flags2. */
enum {
	MOUNT_REQUEST_TIMEOUT = 1 << 10,
};

enum {
	MOUNT_TOP = 1, /* the number of the top's node */
	MOUNT_MAJOR = 7,
	/* Older ones ask other things, or in another form: Linux 4.18 has 27.
	 */
	MOUNT_MINOR_LEAST = 23,
	MOUNT_MINOR = 31, /* what we speak */
	/* Room that the kernel wants for a request; no name is longer. */
	MOUNT_REQUEST_MOST = 16384,
	MOUNT_NAME = 255,	   /* bytes of a name, as statfs() tells */
	MOUNT_HEAD = 16,	   /* bytes of an answer's head */
	MOUNT_READ_MOST = 1 << 20, /* bytes that a READ asks for at most */
};

/* ---- What the kernel asks --------------------------------------------- */

struct mount_request {
	uint64_t unique; /* its number, for the answer */
	uint64_t node;	 /* what it is about; 0: of none */
	uint32_t op;	 /* enum mount_op, or another one */
	uint32_t pid;
	union {
		struct {
			const char *name; /* in the message, NUL-terminated */
			size_t name_len;
		};
		struct {
			uint64_t offset; /* READ, READDIR.. */
			uint32_t size;
		};
		struct {
			uint32_t major, minor, max_readahead, flags;
			uint32_t flags2; /* 0 without MOUNT_INIT_EXT */
		} init;
		uint64_t interrupted; /* INTERRUPT: unique of that one */
		struct {
			const char *name; /* GETXATTR: in the message */
			uint32_t room;	  /* for the answer; 0: how much it is
					   */
		} attr;
	};
};

/*
 * The request in n bytes.  0, or what it is to be answered with: -EPROTO for
 * what is too short or says it is longer, or has a name without an end.
 * ret->unique is set where the head was there, else 0.
 */
int mount_decode(const void *p, size_t n, struct mount_request *ret);

/* Is it one that the kernel wants no answer to? */
bool mount_is_silent(uint32_t op);

/* ---- What it is told -------------------------------------------------- */

struct mount_attr {
	uint64_t ino, size;
	int64_t mtime; /* seconds since 1970 */
	uint32_t mtime_nsec, mode, nlink, uid, gid;
	bool changes; /* it may not be kept: a read asks for it first */
};

struct mount_statfs {
	uint64_t bytes, files;
};

/*
 * All of them write a whole answer, head and all, to p and return its bytes;
 * whoever calls has the room that is said.
 */

/* code: 0 or -errno.  MOUNT_HEAD bytes. */
size_t mount_answer(void *p, uint64_t unique, int code);
/* The head of n bytes that are behind it.  MOUNT_HEAD. */
size_t mount_answer_bytes(void *p, uint64_t unique, size_t n);
/* 144 bytes; the kernel may keep it for ever, but for what changes. */
size_t mount_answer_entry(void *p, uint64_t unique, const struct mount_attr *a);
/* A name that is not there, for ever.  144. */
size_t mount_answer_nothing(void *p, uint64_t unique);
/* 120. */
size_t mount_answer_attr(void *p, uint64_t unique, const struct mount_attr *a);
/* How much an extended attribute, or the list of them, is.  24. */
size_t mount_answer_attr_size(void *p, uint64_t unique, uint32_t size);
/* 96. */
size_t mount_answer_statfs(void *p, uint64_t unique,
			   const struct mount_statfs *s);
/*
 * To INIT: what both can do.  80 bytes; *ret is what was agreed on.  -EPROTO: a
 * kernel that is too old (or of another protocol).
 */
struct mount_offer {
	bool plus;    /* listings come with attributes */
	bool give;    /* pages come unasked (store.h): */
	uint16_t end; /* .. and requests end after so many seconds */
};
struct mount_agreed {
	uint32_t minor, flags, flags2;
};
int mount_answer_init(void *p, const struct mount_request *init,
		      const struct mount_offer *offer, size_t *ret_n,
		      struct mount_agreed *ret);

/*
 * Nobody asked: size bytes that follow are the node's content from its first
 * one on.
 */
enum { MOUNT_STORE_HEAD = MOUNT_HEAD + 24 };
void mount_notify_store(void *p, uint64_t node, size_t size);

/* A listing that grows; at is bytes so far, behind the head. */
struct mount_listing {
	uint8_t *p; /* where the head will be */
	size_t at, room;
	bool plus; /* with attributes */
};

/*
 * One name more; next is the offset of what comes behind it.  known: its node
 * is told of (not of . and ..).  false: there is no room for it.
 */
bool mount_listing_add(struct mount_listing *l, const struct mount_attr *a,
		       const char *name, size_t len, uint64_t next, bool known);
size_t mount_listing_end(struct mount_listing *l, uint64_t unique);

#endif
