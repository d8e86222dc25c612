/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The query server: one thread with its own connection to the store, so that neither slow clients nor a slow munged keep the
 * main loop from raising limits. All static data belongs to the thread; serve_start sets some of it before the thread exists.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/net/server.h"
#include "predictor/query/answer.h"
#include "predictor/precedentd/daemon.h"
#include "predictor/query/query.h"

static char *store_path;
static uid_t slurm_user;
static struct store *store;
static struct log_gate gate;

static void fault_say(const char *text)
{
	if (log_gate_pass(&gate, text, time(NULL), 600))
		log_warn("query: %s", text);
}

static char *request_answer(uid_t uid, const char *request, size_t len)
{
	struct answer_env env = {.uid = uid, .now = slurm_side_now()};
	struct errbuf why;
	char *reply;

	env.admin = uid == 0 || uid == slurm_user || uid == geteuid();
	if (!store && store_open(store_path, STORE_WRITE | STORE_WAIT, &store, &why) < 0) {
		fault_say(why.text);
		return strdup("{\"error\": \"precedentd cannot open its store; its log says why\"}");
	}
	env.store = store;
	env.conf = daemon_conf_hold();
	reply = answer_make(&env, request, len);
	daemon_conf_release();
	if (store_last_fault() == STORE_CORRUPT) { /* perhaps it has been replaced by now */
		store_close(store);
		store = NULL;
	}
	return reply;
}

/* From the frame that came in to the frame that goes out; -1 when the client is to be dropped. */
static int client_serve(struct net_client *c)
{
	const struct query_crypt *crypt = query_munge();
	char *cred = query_frame_credential(&c->in), *request = NULL, *reply = NULL, *sealed = NULL;
	struct errbuf why = {"no memory"};
	size_t len;
	uid_t uid;
	int rv = -1;

	buf_free(&c->in);
	if (!cred || crypt->unseal(cred, &request, &len, &uid, &why) < 0)
		goto out;
	reply = request_answer(uid, request, len);
	if (!reply || crypt->seal(reply, strlen(reply), uid, &sealed, &why) < 0 ||
	    query_frame_put(&c->out, sealed, &why) < 0)
		goto out;
	rv = 1;
out:
	if (rv < 0)
		fault_say(why.text);
	free(cred);
	free(request);
	free(reply);
	free(sealed);
	return rv;
}

static int answer(struct net_client *c, void *arg)
{
	struct errbuf why;
	size_t need;
	int rc = query_frame_check(&c->in, &need, &why);

	(void)arg;
	return rc > 0 ? client_serve(c) : rc;
}

static struct net_server server = {.answer = answer, .timeout_ms = QUERY_TIMEOUT_MS};

int serve_start(const char *host, unsigned port, const char *store_file, uid_t slurm_uid, struct errbuf *errp)
{
	slurm_user = slurm_uid;
	store_path = strdup(store_file);
	return store_path ? net_start(&server, host, port, errp) : err_set(errp, "query server: no memory");
}

void serve_stop(void)
{
	net_stop(&server);
	store_close(store);
	free(store_path);
	store = NULL;
	store_path = NULL;
}
