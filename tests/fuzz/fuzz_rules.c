/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fuzzes the rule languages and their engine. The input is a file of rules. Valid rules process random events: once with
 * much memory, and twice with little. With little memory they process events once as they come and once a little later, and must
 * end the same way. Error messages name the place.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expert/engine/engine.h"

#define EVENTS 300

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
	struct engine_report report;
	uint64_t hash;
	int rv;
};

static int look(void *arg, uint32_t type, const union rules_value *v)
{
	uint64_t *h = arg;

	*h = *h * 31 + type + (uint64_t)v[RA_RANK].i;
	return 0;
}

static int found(void *arg, struct engine *e, const struct engine_finding *f, struct errbuf *err)
{
	uint64_t *h = arg;

	(void)err;
	for (uint32_t i = 0; i < f->action->src->n_set; i++) {
		uint8_t type = f->type->param[f->action->src->set[i].slot - RA_N].type;
		union rules_value v;

		if (!engine_finding_value(e, f, i, &v))
			return 0;
		*h = *h * 31 + (type == RT_STRING ? strlen(engine_text(e, v.i)) : (uint64_t)v.i);
	}
	engine_finding_events(e, f, look, h);
	return 0;
}

static uint64_t draw(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

static struct outcome run(const struct plan *p, uint64_t seed, bool little, bool later)
{
	struct outcome o = {.hash = 1};
	struct engine_options options = {.found = found, .arg = &o.hash, .firings_max = 2000, .waiting_max = little ? 5 : 1000,
					 .age_max_ns = little ? 300 : 0, .ahead_from = later};
	struct errbuf err = {""};
	struct engine *e = engine_create(p, &options, &err);
	uint32_t n_events = 0;

	if (!e)
		return o;
	while (n_events < p->rules->n_type && p->rules->type[n_events]->builtin && p->rules->type[n_events]->category == SC_EVENT)
		n_events++;
	for (uint64_t i = 0; i < EVENTS && o.rv == 0; i++) {
		uint32_t type = (uint32_t)(draw(&seed) % n_events);
		struct engine_simple s = {.start_ns = i * 10, .finish_ns = i * 10 + draw(&seed) % 100, .rank = (uint32_t)(draw(&seed) % 4),
					  .site = 1, .function = 0, .event = (int64_t)i, .untimed = draw(&seed) % 16 == 0};
		union rules_value v[RULES_MAX_PARAMS] = {{0}};

		for (uint32_t k = 0; k < p->rules->type[type]->n_param; k++)
			v[k].i = (int64_t)(draw(&seed) % 4) - 1;
		o.rv = engine_event(e, type, &s, v, &err);
		engine_report(e, &o.report);
		if (o.report.waiting > options.waiting_max || (o.rv < 0 && !*err.text))
			abort();
	}
	if (o.rv == 0)
		o.rv = engine_finish(e, &err);
	engine_report(e, &o.report);
	engine_destroy(e);
	return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct errbuf err = {""};
	struct rules *r;
	struct plan *p;

	if (size >= 8 && memmem(data, size, "include", 7))
		return 0; /* including files is not tested here */
	r = rules_load_text("fuzz", (const char *)data, size, &err);
	if (!r) {
		if (strncmp(err.text, "fuzz:", 5))
			abort();
		return 0;
	}
	p = plan_create(r, &err);
	if (p) {
		struct outcome a = run(p, size, true, false), b = run(p, size, true, true);

		if (a.rv != b.rv || a.hash != b.hash || (a.rv == 0 && memcmp(&a.report, &b.report, sizeof(a.report))))
			abort();
		run(p, size + 1, false, false);
	}
	plan_destroy(p);
	rules_free(r);
	return 0;
}
