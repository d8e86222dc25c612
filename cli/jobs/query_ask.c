/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One question to precedentd and its answer, see query.h. Where it is and who it must be is read from the configuration. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/jobs/query.h"
#include "cli/jobs/query_print.h"
#include "cli/ui/json_out.h"
#include "cli/ui/util.h"
#include "common/clean_json.h"
#include "common/conf.h"
#include "predictor/query/query.h"
#include "predictor/cluster/slurm_conf.h"

json_t *query_request(const char *verb)
{
	return json_pack("{s:i, s:s}", "precedent", 1, "verb", verb);
}

json_t *query_ask(json_t *request)
{
	struct precedent_conf conf = {0};
	struct query_server server = {.timeout_ms = 2 * QUERY_TIMEOUT_MS};
	char *text = NULL, *reply = NULL;
	json_t *answer = NULL;
	struct errbuf err;
	struct slurm_conf slurm_conf;

	if (conf_load(NULL, &conf, &err) < 0) {
		cli_fail("%s", err.text);
		return NULL;
	}
	slurm_conf_load(&slurm_conf);
	query_munge_socket(slurm_conf.munge_socket);
	server.host = slurm_conf_daemon_host(&slurm_conf, &conf);
	server.port = conf.listen_port;
	server.uid = slurm_conf.slurm_uid;
	text = json_dumps(request, JSON_COMPACT);
	if (!text || query_call(&server, query_munge(), text, &reply, &err) < 0) {
		cli_fail("%s", text ? err.text : "no memory");
		goto out;
	}
	answer = json_loads(reply, JSON_REJECT_DUPLICATES, NULL);
	clean_json_all(answer);
	if (!json_is_object(answer)) {
		cli_fail("precedentd at %s:%u gave no JSON object", server.host, server.port);
		json_decref(answer);
		answer = NULL;
	} else if (json_object_get(answer, "error")) {
		cli_fail("%s", jstr(answer, "error"));
		json_decref(answer);
		answer = NULL;
	}
out:
	free(text);
	free(reply);
	conf_free(&conf);
	return answer;
}

/* Members that are points in time. precedentd sends seconds since 1970, and the JSON for users has ISO 8601. */
static bool is_time(const char *key)
{
	static const char *const keys[] = {"created", "end", "end_hi", "end_lo", "first", "limit_end", "not_before", "now", "retrace_at", "since",
					   "source_ended", "source_submitted", "start", "submit", "tracing_stopped", "updated", "when"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!strcmp(keys[i], key))
			return true;
	return false;
}

static json_t *time_to_text(const json_t *seconds)
{
	time_t t = (time_t)json_number_value(seconds);
	char text[32];
	struct tm tm;

	if (t <= 0 || !gmtime_r(&t, &tm) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		return json_null();
	return json_string(text);
}

static json_t *text_to_time(const json_t *text)
{
	struct tm tm = {0};
	const char *end = strptime(json_string_value(text), "%Y-%m-%dT%H:%M:%SZ", &tm);

	return end && !*end ? json_integer((json_int_t)timegm(&tm)) : NULL;
}

/* Change the times of an answer and of all in it: to text, or from text. */
static void times_change(json_t *x, bool to_text)
{
	const char *key;
	json_t *v;
	size_t i;
	void *next;

	json_array_foreach(x, i, v) times_change(v, to_text);
	json_object_foreach_safe(x, next, key, v)
	{
		json_t *changed = NULL;

		if (is_time(key) && to_text && json_is_number(v))
			changed = time_to_text(v);
		else if (is_time(key) && !to_text && json_is_string(v))
			changed = text_to_time(v);
		else
			times_change(v, to_text);
		if (changed)
			json_object_set_new(x, key, changed);
	}
}

json_t *query_load(const char *path, const char *verb, const char *member)
{
	struct stat st;
	json_error_t why;
	json_t *answer = NULL;
	FILE *f = strcmp(path, "-") ? fopen(path, "re") : stdin;

	if (!f || fstat(fileno(f), &st) < 0)
		cli_fail("%s: cannot open: %s", path, strerror(errno));
	else if (S_ISDIR(st.st_mode))
		cli_fail("%s: is a directory, not what precedent %s --json printed", path, verb);
	else if (!(answer = json_loadf(f, JSON_REJECT_DUPLICATES, &why)))
		cli_fail("%s:%d: is not what precedent %s --json printed: %s", path, why.line, verb, why.text);
	else if (!json_object_get(answer, member)) {
		cli_fail("%s: is not what precedent %s --json printed", path, verb);
		json_decref(answer);
		answer = NULL;
	}
	if (f && f != stdin)
		fclose(f);
	times_change(answer, false);
	clean_json_all(answer);
	return answer;
}

int query_print_json(json_t *answer)
{
	json_object_del(answer, "precedent");
	times_change(answer, true);
	return cli_print_json(json_incref(answer));
}

