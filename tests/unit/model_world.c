/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Models of simulated runs for tests: see model_world.h. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/buf.h"
#include "model/induce/compile.h"
#include "model/induce/file.h"
#include "tests/unit/model_world.h"

int world_learn(struct world *w, uint32_t dims, struct trace *const *trace, const double *k, const double *i, uint32_t n)
{
	static const char *const name[WORLD_RUNS] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l",
						  "m", "n", "o", "p", "q", "r"};
	struct runs_var var[] = {{.name = "K", .n_value = n, .value = (double *)(uintptr_t)k},
				 {.name = "I", .n_value = n, .value = (double *)(uintptr_t)i}};
	struct model *m;
	struct buf text = {0};

	memset(w, 0, sizeof(*w));
	if (runs_take(&w->runs, trace, name, n, var, 2, &w->err) < 0 ||
	    learn_runs(&w->runs, UINT32_MAX, dims, &w->learnt, &w->err) < 0)
		return -1;
	assert_int_equal(run_times_learn(&w->learnt, &w->times, &w->err), 0);
	m = inputs_build(&w->learnt, &w->times, &w->err);
	if (!m)
		fail_msg("%s", w->err.text);
	assert_int_equal(model_format(m, &text, &w->err), 0);
	w->model = model_parse((const char *)text.data, text.len, &w->err);
	if (!w->model)
		fail_msg("%s", w->err.text);
	buf_free(&text);
	model_destroy(m);
	return 0;
}

void world_forget(struct world *w)
{
	model_destroy(w->model);
	run_times_free(&w->times);
	learnt_free(&w->learnt);
	runs_close(&w->runs);
}

int world_ask(struct world *w, struct trace *t, uint32_t ranks, double k, double i, struct foresee_difference *out)
{
	const char *name[] = {"K", "I"};
	const double value[] = {k, i};
	struct foresee f;
	int rc = foresee_open(&f, w->model, ranks, name, value, 2, false, &w->err);

	if (rc == 0) {
		rc = foresee_compare(&f, t, out, &w->err);
		foresee_close(&f);
	}
	trace_close(t);
	return rc;
}

void world_exact(struct world *w, struct trace *t, uint32_t ranks, double k, double i)
{
	struct foresee_difference d;

	if (world_ask(w, t, ranks, k, i, &d) < 0)
		fail_msg("%u ranks, K = %g: %s", ranks, k, w->err.text);
	if (d.first[0])
		fail_msg("%u ranks, K = %g: %s", ranks, k, d.first);
	assert_int_equal(d.exact_ranks, ranks);
	assert_true(d.calls > ranks);
	assert_int_equal(d.wrong, 0);
	assert_int_equal(d.unknown, 0);
}

void world_refused(struct world *w, struct trace *t, uint32_t ranks, double k, double i, const char *words)
{
	struct foresee_difference d;

	assert_int_equal(world_ask(w, t, ranks, k, i, &d), -1);
	if (!strstr(w->err.text, words))
		fail_msg("%s", w->err.text);
}

double world_seconds(struct world *w, uint32_t ranks, uint32_t processors, double k, double i, char *why)
{
	const char *name[] = {"K", "I"};
	const double value[] = {k, i};
	double wall = 0, one;
	struct foresee f;
	char text[WORLD_WHY] = "";

	if (foresee_open(&f, w->model, ranks, name, value, 2, false, &w->err) < 0 || foresee_place(&f, processors, &w->err) < 0)
		fail_msg("%s", w->err.text);
	for (uint32_t r = 0; r < ranks; r++) {
		assert_int_equal(foresee_rank(&f, r, NULL, &one, NULL, &w->err), 0);
		wall = fmax(wall, one);
	}
	if (why)
		snprintf(why, WORLD_WHY, "%s", foresee_crowded(&f, text, sizeof(text)) ? text : "");
	foresee_close(&f);
	return wall;
}

/* ---- compiled ---- */

struct events {
	uint64_t n, hash;
	uint32_t n_vars;
};

static int add_event(void *arg, uint32_t point, double time_s, const double *var)
{
	struct events *e = arg;
	uint64_t x;

	memcpy(&x, &time_s, sizeof(x));
	e->hash = (e->hash ^ point ^ x) * 0x100000001b3u;
	for (uint32_t i = 0; i < e->n_vars; i++) {
		memcpy(&x, &var[i], sizeof(x));
		e->hash = (e->hash ^ x) * 0x100000001b3u + (e->hash >> 29);
	}
	e->n++;
	return 0;
}

void world_compiled(struct world *w, uint32_t ranks, double k, double i)
{
	char dir[] = "/tmp/precedent-test-world.XXXXXX", path[64];
	const char *name[] = {"K", "I"};
	const double value[] = {k, i};
	struct model_program *p;
	struct foresee f;

	assert_non_null(mkdtemp(dir));
	if (model_compile(w->model, dir, NULL, &w->err) < 0)
		fail_msg("%s", w->err.text);
	p = model_program_load(w->model, dir, &w->err);
	if (!p || foresee_open(&f, w->model, ranks, name, value, 2, false, &w->err) < 0)
		fail_msg("%s", w->err.text);
	for (uint32_t r = 0; r < ranks; r++) {
		struct events a = {.n_vars = w->model->n_vars}, b = a;
		struct model_sink sink = {add_event, &b};
		struct foresee_sink seen = {add_event, &a};
		struct model_result result = {0};

		if (foresee_rank(&f, r, &seen, NULL, NULL, &w->err) < 0 ||
		    model_program_run(p, f.input, 1, NULL, &sink, &result, &w->err) < 0)
			fail_msg("rank %u: %s", r, w->err.text);
		assert_true(a.n > 2);
		assert_int_equal(a.n, b.n);
		assert_int_equal(a.hash, b.hash);
	}
	foresee_close(&f);
	model_program_unload(p);
	for (int n = 0; n < 3; n++) {
		snprintf(path, sizeof(path), "%s/model.%s", dir, n == 2 ? "h" : n ? "so" : "c");
		unlink(path);
	}
	assert_int_equal(rmdir(dir), 0);
}
