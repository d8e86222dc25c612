/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The data of decide() in the tests of its rules, all in memory: a configuration, a store, partitions and waits. */
#ifndef PRECEDENT_TESTS_UNIT_DECIDE_WORLD_H
#define PRECEDENT_TESTS_UNIT_DECIDE_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "plugin/decide.h"

#define NOW    1700000000
#define H      3600
#define SCRIPT "#!/bin/bash\n#SBATCH -N 2\nsrun ./heat 100\n"

/* The data of decide(). */
static struct world {
	struct precedent_conf conf;
	struct decide_input in;
	int lookup_rv;
	struct store_lookup known;
	int64_t heartbeat;
	int heartbeat_rv;
	struct store_partition parts[3];
	unsigned n_parts;
	int partition_rv; /* -1: error */
	struct decide_memo memo;
	unsigned lookups;
	/* Data for placement: access to each partition, waits of two-hour jobs on fast and slow. */
	struct place_partition doors[3];
	struct place_shape shape;
	struct place_wait waits[3];
	struct places places;
	struct decide_load load;
} w;

static inline int world_lookup(void *arg, const char *key, struct store_lookup *out, struct errbuf *err)
{
	(void)arg;
	assert_true(identity_key_valid(key));
	w.lookups++;
	if (w.lookup_rv < 0)
		return err_set(err, "store is locked");
	if (w.lookup_rv)
		*out = w.known;
	return w.lookup_rv;
}

static inline int world_partition(void *arg, const char *name, struct store_partition *out, struct errbuf *err)
{
	(void)arg;
	if (w.partition_rv < 0)
		return err_set(err, "store is locked");
	for (unsigned i = 0; i < w.n_parts; i++) {
		if (name ? !strcmp(w.parts[i].name, name) : w.parts[i].is_default) {
			*out = w.parts[i];
			return 1;
		}
	}
	return 0;
}

static inline int world_heartbeat(void *arg, int64_t *when, struct errbuf *err)
{
	(void)arg;
	(void)err;
	*when = w.heartbeat;
	return w.heartbeat_rv;
}

static inline bool world_trace_ok(void *arg, const char *key, int64_t since, int64_t now)
{
	(void)arg;
	return decide_memo_mark(&w.memo, key, since, now);
}

static struct decide_source source;

static inline void add_estimate(const char *candidate, double mean, double lo, double hi)
{
	struct store_estimate *e = &w.known.estimates[w.known.n_estimates++];

	*e = (struct store_estimate){.e = {mean, lo, hi, ESTIMATE_BLEND, 1}};
	snprintf(e->candidate, sizeof(e->candidate), "%s", candidate);
}

/* The waits of a job on fast and slow, by the scheduler's answer ten seconds ago; below 0: not asked. */
static inline void set_waits(double fast_s, double slow_s)
{
	const double s[] = {fast_s, slow_s};
	static const char *const names[] = {"fast", "slow"};

	w.places.n_waits = 0;
	w.places.waits = w.waits;
	for (int i = 0; i < 2; i++) {
		struct place_wait *p = &w.waits[w.places.n_waits];

		if (s[i] < 0)
			continue;
		*p = (struct place_wait){.shape = w.shape.id, .limit_min = 15, .asked = NOW - 10, .answer = PLACE_KNOWN,
					 .wait_s = s[i] + 10};
		strcpy(p->candidate, names[i]);
		w.places.n_waits++;
	}
}

static inline void set_doors(void)
{
	w.doors[0] = (struct place_partition){"fast", true, false, 1, 4, 4, "", "", "", "", "", false, 0, 0};
	w.doors[1] = (struct place_partition){"slow", true, false, 1, 4, 4, "", "", "", "", "", false, 0, 0};
	w.places.partitions = w.doors;
	w.places.n_partitions = 2;
	w.shape = (struct place_shape){.nodes = 2, .tasks = 4, .memory = 1000};
	w.shape.id = place_shape_id(&w.shape);
	w.places.shapes = &w.shape;
	w.places.n_shapes = 1;
	w.known.program.shape = w.shape.id;
	set_waits(0, 0);
}

/* A known job in mode limit, with two candidates and a running daemon; asks for two hours on fast. */
static inline int setup(void **state)
{
	(void)state;
	memset(&w, 0, sizeof(w));
	source = (struct decide_source){.lookup = world_lookup,
					.partition = world_partition,
					.heartbeat = world_heartbeat,
					.trace_ok = world_trace_ok,
					.places = &w.places};
	w.conf.mode = MODE_LIMIT;
	w.conf.margin = 0.15;
	w.conf.min_limit_min = 1;
	w.conf.heartbeat_timeout_s = 120;
	w.conf.n_candidates = 2;
	w.conf.candidates[0] = (struct conf_candidate){"fast", "fast", ""};
	w.conf.candidates[1] = (struct conf_candidate){"slow", "slow", ""};
	w.in = (struct decide_input){.uid = 1000,
				     .script = SCRIPT,
				     .work_dir = "/home/u",
				     .partition = "fast",
				     .time_limit_min = 120,
				     .time_min_min = DURATION_UNSET,
				     .now = NOW};
	w.heartbeat = NOW - 5;
	w.lookup_rv = 1;
	w.known.program.uid = 1000;
	w.known.program.state = PROGRAM_READY;
	w.known.program.source_job = 17;
	add_estimate("slow", 460, 440, 480);
	add_estimate("fast", 192, 185, 200);
	w.n_parts = 2;
	w.parts[0] = (struct store_partition){"fast", true, 30, 1440};
	w.parts[1] = (struct store_partition){"slow", false, DURATION_UNSET, 600};
	set_doors();
	return 0;
}

static inline struct decision run(void)
{
	struct decision d;
	struct errbuf err = {""};

	memset(&d, 0x5a, sizeof(d));
	assert_int_equal(decide(&w.in, &w.conf, &source, &d, &err), 0);
	return d;
}

static inline struct job_comment comment_of(const struct decision *d)
{
	struct job_comment c;

	assert_int_equal(comment_parse(d->admin_comment, &c), 0);
	assert_int_equal(c.act, d->act);
	return c;
}

static inline void untouched(const struct decision *d)
{
	assert_int_equal(d->act, ACT_NONE);
	assert_false(d->trace || d->set_limit || d->set_partition || d->set_features);
	assert_string_equal(d->message, "");
	assert_string_equal(d->admin_comment, "");
}

#define T(f) cmocka_unit_test_setup(f, setup)

#endif
