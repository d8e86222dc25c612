/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes the query protocol of precedentd: the frame on the wire, and the request in it. The store has a program and
 * a run of uid 1000. Uid 2000, who is no administrator, must always get one JSON object without the name of that run. A
 * faulty verb is repeated in the reply, so requests with the name itself or with \u escapes are not compared.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "predictor/query/answer.h"
#include "predictor/query/query.h"
#include "predictor/store/programs.h"
#include "predictor/store/runs.h"

#define KEY "0123456789abcdef0123456789abcdef"
#define NOW 1700000000

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[] = "/tmp/precedent-fuzz-query-XXXXXX";
static struct precedent_conf conf;
static struct store *store;

static void removed(void)
{
	static const char *const name[] = {"", "-wal", "-shm", ".index"};
	char file[96];

	store_close(store);
	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++) {
		snprintf(file, sizeof(file), "%s/precedent.db%s", dir, name[i]);
		unlink(file);
	}
	rmdir(dir);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct store_program p = {.key = KEY, .family = KEY, .name = "secret", .uid = 1000, .state = PROGRAM_READY,
				  .source_job = 1, .source_elapsed_s = 100, .created = NOW, .updated = NOW};
	struct store_run r = {.key = KEY, .family = KEY, .name = "secret", .jobid = 1, .submit_time = NOW, .uid = 1000,
			      .act = ACT_PREDICT, .pred_s = 100, .lo_s = 90, .hi_s = 110, .elapsed_s = 100, .end_time = NOW};
	struct errbuf e;
	char file[96];

	(void)argc;
	(void)argv;
	if (!mkdtemp(dir))
		abort();
	snprintf(file, sizeof(file), "%s/precedent.db", dir);
	if (store_open(file, STORE_WRITE | STORE_WAIT, &store, &e) < 0 || store_program_put(store, &p, &e) < 0 ||
	    store_run_put(store, &r, &e) < 0)
		abort();
	conf.spool_dir = dir;
	atexit(removed);
	return 0;
}

static void frame(const uint8_t *data, size_t size)
{
	struct buf in = {.data = (uint8_t *)data, .len = size};
	struct errbuf e;
	size_t need = 0;
	int rv = query_frame_check(&in, &need, &e);

	if (rv == 0 && need > QUERY_HEAD_BYTES + QUERY_MAX_BYTES)
		abort();
	if (rv > 0)
		free(query_frame_credential(&in));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct answer_env env = {.store = store, .conf = &conf, .uid = 2000, .now = NOW + 10};
	json_t *reply;
	char *text;

	frame(data, size);
	text = answer_make(&env, (const char *)data, size);
	reply = text ? json_loads(text, 0, NULL) : NULL;
	if (!json_is_object(reply) || (strstr(text, "secret") && !memmem(data, size, "secret", 6) && !memmem(data, size, "\\u", 2)))
		abort();
	json_decref(reply);
	free(text);
	return 0;
}
