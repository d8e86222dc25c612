/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent info --json: everything that the screen has, and all of it. The keys are described in precedent(1). */
#include <jansson.h>
#include <math.h>
#include <stdio.h>

#include "cli/trace/info_print.h"
#include "cli/trace/info_stopped.h"
#include "cli/ui/json_out.h"
#include "cli/ui/symbolize.h"
#include "cli/ui/util.h"
#include "trace/format/device.h"

#define PAIRS_MAX 100000

static json_t *sum_json(const char *name, const struct info_sum *s)
{
	return json_pack("{s:s, s:I, s:f}", "name", name, "calls", (json_int_t)s->calls, "seconds", s->seconds);
}

static json_t *counted_json(const struct trace *t)
{
	json_t *o = json_object();

	for (uint32_t r = 0; r < trace_n_ranks(t); r++) {
		const struct trace_defs *d = &trace_get_rank(t, r)->defs;

		for (uint32_t i = 0; i < d->n_counted; i++) {
			json_int_t old = json_integer_value(json_object_get(o, d->counted[i].name));

			json_object_set_new(o, d->counted[i].name, json_integer(old + (json_int_t)d->counted[i].calls));
		}
	}
	return o;
}

static json_t *sites_json(const struct trace *t, const struct info *o, struct symbolizer *sym)
{
	json_t *a = json_array();
	char site[256];

	for (uint32_t i = 0; i < o->n_site; i++) {
		const struct info_site *s = &o->site[i];
		const struct trace_defs *d = &trace_get_rank(t, s->rank)->defs;

		symbolizer_site(sym, d, &d->site[s->site], site, sizeof(site));
		json_array_append_new(a, json_pack("{s:s, s:s, s:I, s:f, s:I}", "site", site, "function",
						   trace_fn[s->fn].name, "calls", (json_int_t)s->sum.calls, "seconds",
						   s->sum.seconds, "bytes", (json_int_t)s->bytes));
	}
	return a;
}

/* Bits of enum trace_device as names. */
static json_t *devices_json(uint64_t devices)
{
	json_t *a = json_array();

	for (enum trace_device d = 0; d < TDEV_N; d++)
		if (devices >> d & 1)
			json_array_append_new(a, json_string(trace_device_name(d)));
	if (devices >> TDEV_N)
		json_array_append_new(a, json_string(trace_device_name(TDEV_N)));
	return a;
}

static json_t *ranks_json(const struct trace *t, const struct info *o)
{
	json_t *a = json_array();

	for (uint32_t r = 0; r < o->n_ranks; r++) {
		const struct trace_proc *p = &trace_get_rank(t, r)->defs.proc;
		const struct info_rank *k = &o->rank[r];
		json_t *x = json_pack("{s:i, s:s, s:b, s:I, s:f, s:f, s:f, s:f, s:I, s:I, s:b, s:s}", "rank", (int)r, "host",
				      p->host ? p->host : "", "present", (int)k->present, "events",
				      (json_int_t)k->events, "wall_s", k->wall, "compute_s", k->compute, "mpi_s", k->mpi,
				      "overhead_s", k->overhead, "polls", (json_int_t)k->polls, "untimed",
				      (json_int_t)k->untimed, "finalized", (int)p->finalized, "ended",
				      p->ended ? p->ended : "");

		json_object_set_new(x, "polling_s", json_real(k->polling));
		json_object_set_new(x, "paused_s", json_real(k->paused));
		if (p->network && *p->network)
			json_object_set_new(x, "switches", json_string(p->network));
		if (p->devices)
			json_object_set_new(x, "devices", devices_json(p->devices));
		json_object_set_new(x, "states_s",
				    json_pack("{s:f, s:f, s:f, s:f}", "waiting", k->state[TSTATE_WAITING], "working",
					      k->state[TSTATE_WORKING], "sending", k->state[TSTATE_SENDING], "receiving",
					      k->state[TSTATE_RECEIVING]));
		if (p->clock.n)
			json_object_set_new(x, "clock_error_s", json_real(p->clock.error_ns[p->clock.n - 1] * 1e-9));
		json_array_append_new(a, x);
	}
	return a;
}

static json_t *curve_json(const struct loop *l)
{
	json_t *a = json_array();

	for (uint32_t i = 0; i < l->n_curve; i++)
		json_array_append_new(a, isnan(l->curve[i]) ? json_null() : json_real(l->curve[i] * 1e-9));
	return a;
}

static json_t *loops_json(const struct trace *t, const struct info *o, struct symbolizer *sym)
{
	const struct loops *l = &o->loops;
	json_t *a = json_array(), *x;
	char site[256];

	for (uint32_t i = 0; i < l->n; i++) {
		const struct loop *k = &l->loop[i];

		info_loop_place(sym, t, l, i, site, sizeof(site));
		x = json_pack("{s:s, s:i, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f}", "site", site, "depth",
			      (int)k->depth, "parent", k->parent == LOOPS_NONE ? -1 : (int)k->parent, "executions",
			      (json_int_t)k->executions, "iterations", (json_int_t)k->iterations, "iterations_min",
			      (json_int_t)k->turns_min, "iterations_max", (json_int_t)k->turns_max, "first_event",
			      (json_int_t)k->first_event, "end_event", (json_int_t)k->end_event, "events_min",
			      (json_int_t)k->events_min, "events_max", (json_int_t)k->events_max, "seconds",
			      k->ns * 1e-9, "share", k->share);
		json_array_append_new(a, x);
		if (!k->timed)
			continue;
		json_object_set_new(x, "each_s",
				    json_pack("{s:f, s:f, s:f, s:f, s:I}", "mean", k->mean_ns * 1e-9, "deviation",
					      k->sd_ns * 1e-9, "min", k->min_ns * 1e-9, "max", k->max_ns * 1e-9, "slowest",
					      (json_int_t)k->slowest));
		json_object_set_new(x, "curve_step", json_integer((json_int_t)k->curve_step));
		json_object_set_new(x, "curve_s", curve_json(k));
	}
	return json_pack("{s:i, s:f, s:i, s:o}", "rank", (int)l->rank, "share", l->share, "left_out", (int)l->n_left_out,
			 "loops", a);
}

static json_t *sizes_json(const struct info *o)
{
	json_t *a = json_array();

	for (int i = 0; i < 63; i++)
		if (o->size_count[i])
			json_array_append_new(a, json_pack("{s:I, s:I, s:I}", "from",
							   (json_int_t)(i ? 1ll << i : 0), "to",
							   (json_int_t)((1ull << (i + 1)) - 1), "messages",
							   (json_int_t)o->size_count[i]));
	return a;
}

static json_t *pairs_json(const struct info *o)
{
	json_t *a = json_array();

	for (uint32_t i = 0; i < o->pairs.n && i < PAIRS_MAX; i++)
		json_array_append_new(a, json_pack("{s:i, s:i, s:I, s:I}", "from", (int)o->pairs.pair[i].src, "to",
						   (int)o->pairs.pair[i].dst, "messages",
						   (json_int_t)o->pairs.pair[i].messages, "bytes",
						   (json_int_t)o->pairs.pair[i].bytes));
	return a;
}

static void set_tables(json_t *root, const struct trace *t, const struct info *o, struct symbolizer *sym)
{
	json_t *cls = json_array(), *fn = json_array(), *damage = json_array();

	for (int i = 0; i < TC_N; i++)
		if (o->cls[i].calls)
			json_array_append_new(cls, sum_json(info_class_name[i], &o->cls[i]));
	for (int i = 0; i < TRACE_FN_N; i++)
		if (o->fn[i].calls)
			json_array_append_new(fn, sum_json(trace_fn[i].name, &o->fn[i]));
	for (uint32_t i = 0; i < trace_n_damage(t); i++)
		json_array_append_new(damage, json_string(trace_damage(t, i)));
	json_object_set_new(root, "classes", cls);
	json_object_set_new(root, "functions", fn);
	json_object_set_new(root, "sites", sites_json(t, o, sym));
	json_object_set_new(root, "per_rank", ranks_json(t, o));
	json_object_set_new(root, "loops_of", loops_json(t, o, sym));
	json_object_set_new(root, "message_sizes", sizes_json(o));
	json_object_set_new(root, "pairs", pairs_json(o));
	json_object_set_new(root, "passed_through", counted_json(t));
	json_object_set_new(root, "damage", damage);
}

int info_print_json(const struct trace *t, const struct info *o, const char *path)
{
	static const char *const keys[] = {"program", "arguments", "job", "step", "launcher", "mpi", "hosts", "date", "samples", TRACE_PREDICTED};
	struct symbolizer *sym = symbolizer_create();
	uint32_t ranks;
	json_t *root;

	root = json_pack("{s:s, s:i, s:b, s:b, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:I}", "trace", path, "ranks",
			 (int)o->n_ranks, "partial", (int)trace_is_partial(t), "imported", 0, "events",
			 (json_int_t)o->events, "bytes", (json_int_t)trace_file_size(t), "wall_s", o->wall, "compute_s",
			 o->compute, "mpi_s", o->mpi, "polling_s", o->polling, "overhead_s", o->overhead, "messages", (json_int_t)o->messages,
			 "bytes_sent", (json_int_t)o->bytes_sent, "polls", (json_int_t)o->polls, "untimed",
			 (json_int_t)o->untimed, "dropped", (json_int_t)o->dropped);
	if (root) {
		set_tables(root, t, o, sym);
		json_object_set_new(root, "paused_s", json_real(o->paused));
		json_object_set_new(root, "devices", devices_json(trace_devices(t, &ranks)));
		for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
			if (trace_job_get(t, keys[i]))
				json_object_set_new(root, keys[i], json_string(trace_job_get(t, keys[i])));
		if (trace_is_partial(t))
			info_set_stopped(root, t, sym);
	}
	symbolizer_destroy(sym);
	return cli_print_json(root);
}
