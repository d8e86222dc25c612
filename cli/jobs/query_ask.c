/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One question to precedentd and its answer, see query.h. Where it is and who it must be is read from the configuration. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/jobs/query.h"
#include "cli/jobs/query_print.h"
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
	server.host = conf.listen_host;
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

json_t *query_load(const char *path, const char *verb, const char *member)
{
	struct stat st;
	json_error_t why;
	json_t *answer = NULL;
	FILE *f = fopen(path, "re");

	if (!f || fstat(fileno(f), &st) < 0)
		cli_fail("%s: cannot open: %s", path, strerror(errno));
	else if (S_ISDIR(st.st_mode))
		cli_fail("%s: is a directory, not what precedent %s --json printed", path, verb);
	else if (!(answer = json_loadf(f, JSON_REJECT_DUPLICATES, &why)))
		cli_fail("%s:%d: is not what precedent %s --json printed: %s", path, why.line, verb, why.text);
	else if (!json_is_object(json_object_get(answer, member))) {
		cli_fail("%s: is not what precedent %s --json printed", path, verb);
		json_decref(answer);
		answer = NULL;
	}
	if (f)
		fclose(f);
	clean_json_all(answer);
	return answer;
}

int query_print_json(json_t *answer)
{
	json_object_del(answer, "precedent");
	if (json_dumpf(answer, stdout, JSON_INDENT(2)) < 0)
		return cli_fail("cannot write the JSON");
	putchar('\n');
	return 0;
}

