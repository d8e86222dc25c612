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
	struct decide_memo memo;
	unsigned lookups;
	/* Partitions with their limits and access; waits of two-hour jobs on fast and slow. */
	struct place_partition doors[3];
	struct place_shape shape;
	struct place_wait waits[3];
	struct places places;
	struct decide_load load;
} w;

static inline int world_lookup(struct store *s, const char *key, struct store_lookup *out, struct errbuf *err)
{
	(void)s;
	assert_true(identity_key_valid(key));
	w.lookups++;
	if (w.lookup_rv < 0)
		return err_set(err, "store is locked");
	if (w.lookup_rv)
		*out = w.known;
	return w.lookup_rv;
}

static struct decide_source source;
static struct decide_reads reads; /* the source's */

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
	w.doors[0] = (struct place_partition){"fast", true, false, 1, 4, 4, "", "", "", "", "", true, 30, 1440, 0};
	w.doors[1] = (struct place_partition){"slow", true, false, 1, 4, 4, "", "", "", "", "", false, DURATION_UNSET, 600, 0};
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
	reads = (struct decide_reads){.lookup = world_lookup};
	source = (struct decide_source){.reads = &reads, .heartbeat = NOW - 5, .memo = &w.memo, .places = &w.places};
	w.conf.mode = MODE_LIMIT;
	w.conf.limit_guard = GUARD_RAISE; /* test_overtime.c has the other */
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
	w.lookup_rv = 1;
	w.known.program.uid = 1000;
	w.known.program.state = PROGRAM_READY;
	w.known.program.source_job = 17;
	add_estimate("slow", 460, 440, 480);
	add_estimate("fast", 192, 185, 200);
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

/* The comment as it is read again. */
static inline struct job_comment comment_of(const struct decision *d)
{
	char text[COMMENT_TEXT_MAX];
	struct job_comment c;

	assert_true(comment_format(&d->comment, text, sizeof(text)) > 0);
	assert_int_equal(comment_parse(text, &c), 0);
	assert_int_equal(c.act, d->act);
	return c;
}

static inline bool wishes(struct decision d)
{
	return d.wish.limit_min != DURATION_UNSET;
}

static inline void untouched(const struct decision *d)
{
	assert_int_equal(d->act, ACT_NONE);
	assert_false(d->trace || wishes(*d) || d->set_partition || d->set_features);
	assert_string_equal(d->message, "");
	assert_int_equal(d->comment.act, ACT_NONE);
}

#define T(f) cmocka_unit_test_setup(f, setup)

#endif
