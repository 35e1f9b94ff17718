/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcurl, as far as it is used here, loaded when first needed: who reads from
 * the own disk pays nothing for it, and where it is missing or too old remote
 * bytes are what is missing.  Numbers and types are those of its ABI, so its
 * header is not needed to build this; a test holds them against it.
 */
#ifndef HP_HTTP_CURL_H
#define HP_HTTP_CURL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define HP_CURL_NAME "libcurl.so.4"
#define HP_CURL_OLDEST 0x073d00 /* 7.61.0, of RHEL 8 */

enum {
	HP_CURL_LONG = 0,
	HP_CURL_POINTER = 10000,
	HP_CURL_FUNCTION = 20000,

	HP_CURLOPT_WRITEDATA = HP_CURL_POINTER + 1,
	HP_CURLOPT_URL = HP_CURL_POINTER + 2,
	HP_CURLOPT_PROXY = HP_CURL_POINTER + 4,
	HP_CURLOPT_HTTPHEADER = HP_CURL_POINTER + 23,
	HP_CURLOPT_HEADERDATA = HP_CURL_POINTER + 29,
	HP_CURLOPT_PRIVATE = HP_CURL_POINTER + 103,
	HP_CURLOPT_SOCKOPTDATA = HP_CURL_POINTER + 149,
	HP_CURLOPT_OPENSOCKETDATA = HP_CURL_POINTER + 164,
	HP_CURLOPT_NOPROXY = HP_CURL_POINTER + 177,

	HP_CURLOPT_WRITEFUNCTION = HP_CURL_FUNCTION + 11,
	HP_CURLOPT_HEADERFUNCTION = HP_CURL_FUNCTION + 79,
	HP_CURLOPT_SOCKOPTFUNCTION = HP_CURL_FUNCTION + 148,
	HP_CURLOPT_OPENSOCKETFUNCTION = HP_CURL_FUNCTION + 163,

	HP_CURLOPT_NETRC = HP_CURL_LONG + 51,
	HP_CURLOPT_FOLLOWLOCATION = HP_CURL_LONG + 52,
	HP_CURLOPT_FRESH_CONNECT = HP_CURL_LONG + 74,
	HP_CURLOPT_HTTP_VERSION = HP_CURL_LONG + 84,
	HP_CURLOPT_BUFFERSIZE = HP_CURL_LONG + 98,
	HP_CURLOPT_NOSIGNAL = HP_CURL_LONG + 99,
	HP_CURLOPT_TCP_NODELAY = HP_CURL_LONG + 121,
	HP_CURLOPT_CONNECTTIMEOUT_MS = HP_CURL_LONG + 156,
	HP_CURLOPT_PROTOCOLS = HP_CURL_LONG + 181,
	HP_CURLOPT_MAXAGE_CONN = HP_CURL_LONG + 288, /* from 7.65 on */

	HP_CURLMOPT_MAXCONNECTS = HP_CURL_LONG + 6,

	HP_CURLINFO_PRIVATE = 0x100000 + 21,
	HP_CURLINFO_NUM_CONNECTS = 0x200000 + 26,
	HP_CURLINFO_PRETRANSFER_TIME = 0x300000 + 6,

	HP_CURLE_OK = 0,
	HP_CURLE_COULDNT_CONNECT = 7,
	HP_CURLE_WRITE_ERROR = 23,
	HP_CURLE_OUT_OF_MEMORY = 27,
	HP_CURLE_OPERATION_TIMEDOUT = 28,
	HP_CURLE_GOT_NOTHING = 52,
	HP_CURLE_SEND_ERROR = 55,
	HP_CURLE_RECV_ERROR = 56,

	HP_CURLMSG_DONE = 1,
	HP_CURL_GLOBAL_DEFAULT = 3,
	HP_CURLPROTO_HTTP = 1,
	HP_CURL_HTTP_1_1 = 2,
	HP_CURL_POLLIN = 1,
	HP_CURL_SOCKET_BAD = -1,
};

struct hp_curl_slist {
	char *data;
	struct hp_curl_slist *next;
};

struct hp_curl_msg {
	int msg;
	void *easy;
	union {
		void *whatever;
		int result;
	} data;
};

struct hp_curl_waitfd {
	int fd;
	short events, revents;
};

struct hp_curl_sockaddr {
	int family, socktype, protocol;
	unsigned addrlen;
	struct sockaddr addr;
};

struct hp_curl_version {
	int age;
	const char *version;
	unsigned version_num;
};

struct hp_curl {
	int (*global_init)(long flags);
	struct hp_curl_version *(*version_info)(int age);
	void *(*easy_init)(void);
	int (*easy_setopt)(void *easy, int option, ...);
	int (*easy_getinfo)(void *easy, int info, ...);
	void (*easy_cleanup)(void *easy);
	void *(*multi_init)(void);
	int (*multi_setopt)(void *multi, int option, ...);
	int (*multi_add_handle)(void *multi, void *easy);
	int (*multi_remove_handle)(void *multi, void *easy);
	int (*multi_perform)(void *multi, int *ret_running);
	int (*multi_wait)(void *multi, struct hp_curl_waitfd *more, unsigned n,
			  int ms, int *ret_ready);
	struct hp_curl_msg *(*multi_info_read)(void *multi, int *ret_left);
	int (*multi_cleanup)(void *multi);
};

/* NULL: there is none, or one that is too old; *why says so.  Any thread. */
const struct hp_curl *hp_curl(const char **why);

#endif
