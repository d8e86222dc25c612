/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cost of probes, and node-hours that shorter limits freed: a row for each user and partition, and their sum.
 */
#include <stdlib.h>

#include "common/clean_json.h"
#include "predictor/probe/probes.h"
#include "predictor/query/answer_cost.h"
#include "predictor/store/keep.h"

#define ROWS_MAX 1000
#define HOUR_S	 3600.0

struct rows {
	json_t *list;
	json_int_t n;
	struct store_cost total;
};

static double share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

static json_t *row_json(const struct store_cost *c)
{
	return json_pack("{s:I, s:f, s:I, s:f, s:f, s:I, s:f, s:f, s:f}", "probes", (json_int_t)c->probes, "probe_node_h",
			 c->probe_node_s / HOUR_S, "jobs", (json_int_t)c->jobs, "used_node_h", c->used_node_s / HOUR_S,
			 "probe_share", share(c->probe_node_s, c->used_node_s), "limited", (json_int_t)c->limited, "asked_node_h",
			 c->asked_node_s / HOUR_S, "freed_node_h", c->freed_node_s / HOUR_S, "freed_share",
			 share(c->freed_node_s, c->asked_node_s));
}

static int row_add(const struct store_cost *c, void *arg)
{
	struct rows *r = arg;
	json_t *row;

	r->total.probes += c->probes;
	r->total.probe_node_s += c->probe_node_s;
	r->total.jobs += c->jobs;
	r->total.used_node_s += c->used_node_s;
	r->total.limited += c->limited;
	r->total.asked_node_s += c->asked_node_s;
	r->total.freed_node_s += c->freed_node_s;
	if (r->n++ >= ROWS_MAX)
		return 0;
	row = row_json(c);
	json_object_set_new(row, "uid", json_integer(c->uid));
	json_object_set_new(row, "partition", clean_json(c->partition));
	json_array_append_new(r->list, row);
	return 0;
}

json_t *answer_cost(const struct answer_env *env, json_t *request, struct errbuf *errp)
{
	json_int_t days = json_integer_value(json_object_get(request, "days"));
	bool everybody = env->admin && !json_is_true(json_object_get(request, "mine"));
	struct rows r = {.list = json_array()};

	if (days < 0 || days > 100000)
		days = 0;
	if (store_costs_each(env->store, everybody ? STORE_ALL_USERS : env->uid, days ? env->now - days * 86400 : 0, row_add, &r,
			     errp) < 0) {
		json_decref(r.list);
		return NULL;
	}
	/* What a program's probes may cost: this share of its traced run, but at least so many seconds on each candidate. */
	return json_pack("{s:i, s:b, s:I, s:f, s:f, s:o, s:I, s:o}", "precedent", 1, "everybody", everybody, "days", days, "budget",
			 env->conf->probe_budget, "budget_least_s", env->conf->probe_seconds + PROBES_LEAST_S, "total",
			 row_json(&r.total), "rows_n", r.n, "rows", r.list);
}
