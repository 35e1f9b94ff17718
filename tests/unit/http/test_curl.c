/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers and types of libcurl that are written down in http/curl.h, held
 * against its header, where that is installed.
 */
#include "http/curl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#if __has_include(<curl/curl.h>)
#define CURL_DISABLE_DEPRECATION
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#define SAME(x) _Static_assert((long)HP_##x == (long)x, #x)
SAME(CURLOPT_WRITEDATA);
SAME(CURLOPT_URL);
SAME(CURLOPT_PROXY);
SAME(CURLOPT_HTTPHEADER);
SAME(CURLOPT_HEADERDATA);
SAME(CURLOPT_PRIVATE);
SAME(CURLOPT_SOCKOPTDATA);
SAME(CURLOPT_OPENSOCKETDATA);
SAME(CURLOPT_NOPROXY);
SAME(CURLOPT_WRITEFUNCTION);
SAME(CURLOPT_HEADERFUNCTION);
SAME(CURLOPT_SOCKOPTFUNCTION);
SAME(CURLOPT_OPENSOCKETFUNCTION);
SAME(CURLOPT_NETRC);
SAME(CURLOPT_FOLLOWLOCATION);
SAME(CURLOPT_FRESH_CONNECT);
SAME(CURLOPT_HTTP_VERSION);
SAME(CURLOPT_BUFFERSIZE);
SAME(CURLOPT_NOSIGNAL);
SAME(CURLOPT_TCP_NODELAY);
SAME(CURLOPT_CONNECTTIMEOUT_MS);
SAME(CURLMOPT_MAXCONNECTS);
SAME(CURLINFO_PRIVATE);
SAME(CURLINFO_NUM_CONNECTS);
SAME(CURLINFO_PRETRANSFER_TIME);
SAME(CURLE_OK);
SAME(CURLE_COULDNT_CONNECT);
SAME(CURLE_WRITE_ERROR);
SAME(CURLE_OUT_OF_MEMORY);
SAME(CURLE_OPERATION_TIMEDOUT);
SAME(CURLE_GOT_NOTHING);
SAME(CURLE_SEND_ERROR);
SAME(CURLE_RECV_ERROR);
SAME(CURLMSG_DONE);
SAME(CURL_GLOBAL_DEFAULT);
SAME(CURLPROTO_HTTP);
SAME(CURL_SOCKET_BAD);
_Static_assert((long)HP_CURL_HTTP_1_1 == (long)CURL_HTTP_VERSION_1_1, "1.1");
_Static_assert((long)HP_CURL_POLLIN == (long)CURL_WAIT_POLLIN, "poll");
_Static_assert((long)HP_CURLOPT_PROTOCOLS == (long)CURLOPTTYPE_LONG + 181,
	       "protocols");
#if LIBCURL_VERSION_NUM >= 0x074100
SAME(CURLOPT_MAXAGE_CONN);
#endif

#define AT(type, field, is, also) \
	_Static_assert(offsetof(struct type, field) == offsetof(is, also), #is)
AT(hp_curl_slist, next, struct curl_slist, next);
AT(hp_curl_msg, easy, CURLMsg, easy_handle);
AT(hp_curl_msg, data, CURLMsg, data);
AT(hp_curl_waitfd, revents, struct curl_waitfd, revents);
AT(hp_curl_sockaddr, addr, struct curl_sockaddr, addr);
AT(hp_curl_version, version_num, curl_version_info_data, version_num);
#endif

static void it_is_loaded_once(void **state)
{
	const char *why, *again;
	const struct hp_curl *c = hp_curl(&why);

	(void)state;
	assert_ptr_equal(hp_curl(&again), c);
	assert_ptr_equal(why, again);
	if (!c)
		skip();
	assert_null(why);
	assert_true(c->version_info(0)->version_num >= HP_CURL_OLDEST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_loaded_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
