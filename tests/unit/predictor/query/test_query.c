/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Query protocol: frames cut anywhere, frames that lie, servers that misbehave. Credentials are plain text here. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/net/server.h"
#include "predictor/query/query.h"

static uid_t sealer_uid; /* who the plain credentials say sealed them */
static uid_t sealed_for[4];
static unsigned n_sealed;

static int plain_seal(const void *payload, size_t len, uid_t only, char **cred, struct errbuf *errp)
{
	(void)errp;
	assert_true(n_sealed < 4);
	sealed_for[n_sealed++] = only;
	*cred = malloc(len + 32);
	snprintf(*cred, len + 32, "P%u:%.*s", (unsigned)sealer_uid, (int)len, (const char *)payload);
	return 0;
}

static int plain_unseal(const char *cred, char **payload, size_t *len, uid_t *uid, struct errbuf *errp)
{
	unsigned u;
	int at = 0;

	*payload = NULL;
	if (sscanf(cred, "P%u:%n", &u, &at) != 1 || !at)
		return err_set(errp, "bad credential");
	*uid = u;
	*payload = strdup(cred + at);
	*len = strlen(cred + at);
	return 0;
}

static const struct query_crypt plain = {plain_seal, plain_unseal};

static void test_frame_byte_by_byte(void **state)
{
	struct buf out = {0}, in = {0};
	struct errbuf e;
	size_t need;
	char *cred;

	(void)state;
	assert_int_equal(query_frame_put(&out, "hello", &e), 0);
	assert_int_equal(out.len, QUERY_HEAD_BYTES + 5);
	for (size_t i = 0; i < out.len; i++) {
		assert_int_equal(query_frame_check(&in, &need, &e), 0);
		assert_true(need >= 1 && need <= out.len - i);
		buf_put_u8(&in, out.data[i]);
	}
	assert_int_equal(query_frame_check(&in, &need, &e), 1);
	cred = query_frame_credential(&in);
	assert_string_equal(cred, "hello");
	free(cred);
	buf_put_u8(&in, 'x');
	assert_int_equal(query_frame_check(&in, &need, &e), -1);
	buf_free(&in);
	buf_free(&out);
}

static void test_frame_lies(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} bad[] = {{"G", 1}, {"GET / HTTP", 10}, {"PCQ2", 4}, {"PCQ1\0\0\0\0", 8}, {"PCQ1\xff\xff\xff\xff", 8},
		   {"PCQ1\0\x10\0\x01", 8}};
	struct errbuf e;
	size_t need;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct buf in = {0};

		buf_put(&in, bad[i].bytes, bad[i].len);
		assert_int_equal(query_frame_check(&in, &need, &e), -1);
		buf_free(&in);
	}
}

static void test_frame_limit(void **state)
{
	char *big = malloc(QUERY_MAX_BYTES + 2);
	struct buf out = {0};
	struct errbuf e;

	(void)state;
	memset(big, 'a', QUERY_MAX_BYTES + 1);
	big[QUERY_MAX_BYTES + 1] = '\0';
	assert_int_equal(query_frame_put(&out, big, &e), -1);
	assert_int_equal(query_frame_put(&out, "", &e), -1);
	free(big);
	buf_free(&out);
}

/* ---- a server that answers once, as told ---- */

enum manner { ANSWER, DROP_ONCE, HANG_UP, CUT, GARBAGE, SILENT, BAD_CREDENTIAL, LIE_LENGTH };

struct one_shot {
	pthread_t thread;
	int listener;
	unsigned port;
	enum manner manner;
	uid_t uid;
	char got[128];
};

static void one_shot_receive(int fd, struct buf *in)
{
	struct errbuf e;
	size_t need;
	char c[256];

	while (query_frame_check(in, &need, &e) == 0) {
		ssize_t n = recv(fd, c, need < sizeof(c) ? need : sizeof(c), 0);

		if (n <= 0)
			return;
		buf_put(in, c, (size_t)n);
	}
}

static void one_shot_answer(struct one_shot *s, int fd, const char *request)
{
	struct buf out = {0};
	struct errbuf e;
	char reply[256];
	size_t n;

	snprintf(s->got, sizeof(s->got), "%s", request);
	snprintf(reply, sizeof(reply), s->manner == BAD_CREDENTIAL ? "nonsense" : "P%u:{\"ok\":1}", (unsigned)s->uid);
	query_frame_put(&out, reply, &e);
	n = s->manner == CUT ? out.len - 1 : out.len;
	if (s->manner == LIE_LENGTH)
		out.data[4] = 0xff;
	if (s->manner == GARBAGE)
		memcpy(out.data, "HTTP", 4);
	if (send(fd, out.data, n, MSG_NOSIGNAL) < 0)
		s->got[0] = '\0';
	buf_free(&out);
}

static void *one_shot_run(void *arg)
{
	struct one_shot *s = arg;
	struct pollfd p = {.fd = s->listener, .events = POLLIN};
	struct buf in = {0};
	char *request, c;
	int fd;

	if (poll(&p, 1, 10000) != 1 || (fd = accept(s->listener, NULL, NULL)) < 0)
		return NULL;
	one_shot_receive(fd, &in);
	if (s->manner == DROP_ONCE) {
		close(fd);
		buf_free(&in);
		if (poll(&p, 1, 10000) != 1 || (fd = accept(s->listener, NULL, NULL)) < 0)
			return NULL;
		one_shot_receive(fd, &in);
	}
	request = query_frame_credential(&in);
	if (s->manner == SILENT) {
		while (recv(fd, &c, 1, 0) > 0) /* until the client gives up */
			;
	} else if (s->manner != HANG_UP) {
		one_shot_answer(s, fd, request);
	}
	free(request);
	buf_free(&in);
	close(s->listener); /* who comes again finds nobody */
	close(fd);
	return NULL;
}

static void one_shot_start(struct one_shot *s, enum manner manner, uid_t uid)
{
	struct errbuf e;

	memset(s, 0, sizeof(*s));
	s->manner = manner;
	s->uid = uid;
	s->listener = net_listen("127.0.0.1", 0, &e);
	assert_true(s->listener >= 0);
	s->port = net_port(s->listener);
	assert_int_equal(pthread_create(&s->thread, NULL, one_shot_run, s), 0);
}

static int one_shot_ask(struct one_shot *s, uid_t trusted, int timeout_ms, char **reply, struct errbuf *e)
{
	struct query_server server = {"127.0.0.1", s->port, trusted, timeout_ms};
	int rv;

	n_sealed = 0;
	rv = query_call(&server, &plain, "{\"verb\":\"jobs\"}", reply, e);
	pthread_join(s->thread, NULL);
	return rv;
}

static void test_call(void **state)
{
	struct one_shot s;
	struct errbuf e;
	char *reply;

	(void)state;
	sealer_uid = 1234;
	one_shot_start(&s, ANSWER, 77);
	assert_int_equal(one_shot_ask(&s, 77, 5000, &reply, &e), 0);
	assert_string_equal(reply, "{\"ok\":1}");
	assert_string_equal(s.got, "P1234:{\"verb\":\"jobs\"}");
	free(reply);
}

static void test_call_trust(void **state)
{
	struct one_shot s;
	struct errbuf e;
	char *reply;

	(void)state;
	one_shot_start(&s, ANSWER, 0); /* root may always answer */
	assert_int_equal(one_shot_ask(&s, 77, 5000, &reply, &e), 0);
	free(reply);
	one_shot_start(&s, ANSWER, 78);
	assert_int_equal(one_shot_ask(&s, 77, 5000, &reply, &e), -1);
	assert_null(reply);
	assert_non_null(strstr(e.text, "uid 78"));
}

/* Nobody but the daemon's user can read a request. */
static void test_call_sealed_for(void **state)
{
	struct one_shot s;
	struct errbuf e;
	char *reply;

	(void)state;
	one_shot_start(&s, ANSWER, 77);
	assert_int_equal(one_shot_ask(&s, 77, 5000, &reply, &e), 0);
	assert_int_equal(n_sealed, 1);
	assert_int_equal(sealed_for[0], 77);
	free(reply);
	one_shot_start(&s, ANSWER, 0);
	assert_int_equal(one_shot_ask(&s, (uid_t)-1, 5000, &reply, &e), 0);
	assert_int_equal(sealed_for[0], 0);
	free(reply);
}

/* A daemon of root's cannot read the first request, and drops it. */
static void test_call_of_root(void **state)
{
	struct one_shot s;
	struct errbuf e;
	char *reply;

	(void)state;
	one_shot_start(&s, DROP_ONCE, 0);
	assert_int_equal(one_shot_ask(&s, 77, 5000, &reply, &e), 0);
	assert_int_equal(n_sealed, 2);
	assert_int_equal(sealed_for[0], 77);
	assert_int_equal(sealed_for[1], 0);
	free(reply);
}

static void test_call_misbehaviour(void **state)
{
	static const struct {
		enum manner manner;
		const char *says;
	} t[] = {{HANG_UP, "closed the connection"}, {CUT, "closed the connection"}, {GARBAGE, "not a precedent"},
		 {BAD_CREDENTIAL, "bad credential"}, {LIE_LENGTH, "limit"}};
	struct one_shot s;
	struct errbuf e;
	char *reply;

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		one_shot_start(&s, t[i].manner, 77);
		assert_int_equal(one_shot_ask(&s, 77, 5000, &reply, &e), -1);
		assert_null(reply);
		if (!strstr(e.text, t[i].says))
			fail_msg("manner %d: %s", t[i].manner, e.text);
	}
	one_shot_start(&s, SILENT, 77);
	assert_int_equal(one_shot_ask(&s, 77, 100, &reply, &e), -1);
	assert_non_null(strstr(e.text, "no answer"));
}

static void test_call_nobody_there(void **state)
{
	struct query_server server = {"127.0.0.1", 0, 0, 2000};
	struct errbuf e;
	char *reply;
	int fd;

	(void)state;
	fd = net_listen("127.0.0.1", 0, &e); /* a port that nobody uses once it is closed */
	assert_true(fd >= 0);
	server.port = net_port(fd);
	close(fd);
	assert_int_equal(query_call(&server, &plain, "{}", &reply, &e), -1);
	assert_non_null(strstr(e.text, "Connection refused; is it running? (systemctl status precedentd); if it runs on another host, set ListenHost"));
	server.host = "no-such-host.invalid";
	assert_int_equal(query_call(&server, &plain, "{}", &reply, &e), -1);
	assert_non_null(strstr(e.text, "no-such-host.invalid"));
	assert_non_null(strstr(e.text, "set ListenHost in precedent.conf"));
}

static void test_munge_limits(void **state)
{
	const struct query_crypt *m = query_munge();
	char *cred, *payload, *big = calloc(1, QUERY_MAX_PAYLOAD + 1);
	struct errbuf e;
	size_t len;
	uid_t uid;

	(void)state;
	assert_int_equal(m->seal(big, QUERY_MAX_PAYLOAD + 1, (uid_t)-1, &cred, &e), -1);
	assert_null(cred);
	assert_int_equal(m->unseal("MUNGE:forged:", &payload, &len, &uid, &e), -1);
	assert_null(payload);
	assert_non_null(strstr(e.text, "munge"));
	free(big);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frame_byte_by_byte),
		cmocka_unit_test(test_frame_lies),
		cmocka_unit_test(test_frame_limit),
		cmocka_unit_test(test_call),
		cmocka_unit_test(test_call_trust),
		cmocka_unit_test(test_call_sealed_for),
		cmocka_unit_test(test_call_of_root),
		cmocka_unit_test(test_call_misbehaviour),
		cmocka_unit_test(test_call_nobody_there),
		cmocka_unit_test(test_munge_limits),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
