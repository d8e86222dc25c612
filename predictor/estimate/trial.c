/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does tracing make jobs fail? See trial.h. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "predictor/estimate/trial.h"

static bool is_one_of(const char *state, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(state, *list))
			return true;
	return false;
}

/* ---- names ---- */

const char *trial_guard_name(enum trial_guard guard)
{
	static const char *const names[] = {"free", "doubt", "key", "suspect"};

	return (unsigned)guard <= TRIAL_SUSPECT ? names[guard] : "unknown";
}

const char *trial_pair_name(enum trial_pair pair)
{
	static const char *const names[] = {"none", "both_completed", "both_failed", "traced_failed", "untraced_failed"};

	return (unsigned)pair < TRIAL_PAIRS ? names[pair] : "unknown";
}

const char *tracing_state_name(enum tracing_state state)
{
	static const char *const names[] = {"on", "suspected", "stopped"};

	return (unsigned)state <= TRACING_STOPPED ? names[state] : "unknown";
}

/* ---- one program ---- */

static bool completed(const struct trial_run *r)
{
	return !strcmp(r->end_state, "COMPLETED");
}

static bool failed_by_itself(const struct trial_run *r)
{
	static const char *const states[] = {"FAILED", "OUT_OF_MEMORY", NULL};

	return is_one_of(r->end_state, states);
}

/* Ended from outside while it ran: a longer run of the program might have completed. */
static bool was_cut(const struct trial_run *r)
{
	static const char *const states[] = {"TIMEOUT", "CANCELLED", NULL};

	return is_one_of(r->end_state, states) && r->elapsed_s > 0;
}

static bool ran_out_of_memory(const struct trial_run *r)
{
	return !strcmp(r->end_state, "OUT_OF_MEMORY");
}

bool trial_may_be_tracer(const struct trial_run *traced)
{
	/* A program that hangs because of the tracer ends by its limit or by its user's patience. */
	return failed_by_itself(traced) || was_cut(traced) || !strcmp(traced->end_state, "UNKNOWN");
}

/* Was the traced run given less than the untraced one took? Then the lack may be why it ended. */
static bool had_too_little(const struct trial_run *traced, const struct trial_run *untraced)
{
	if (was_cut(traced))
		return untraced->elapsed_s >= traced->elapsed_s;
	return ran_out_of_memory(traced) && untraced->memory > traced->memory;
}

/* Users cancel for reasons of their own, and nobody saw how an UNKNOWN run ended: neither is a failure that counts. */
static bool counts_as_failed(const struct trial_run *traced)
{
	return failed_by_itself(traced) || !strcmp(traced->end_state, "TIMEOUT");
}

static bool after_failure(const struct trial_run *traced, const struct trial_run *untraced, enum trial_guard *guard,
			  enum trial_pair *pair)
{
	if (completed(untraced)) {
		bool suspect = !had_too_little(traced, untraced);

		*guard = suspect ? TRIAL_SUSPECT : TRIAL_FREE;
		*pair = suspect && counts_as_failed(traced) ? TRIAL_TRACED_FAILED : TRIAL_NO_PAIR;
		return true;
	}
	/* A run that its limit ended has not failed where the traced one failed by itself. */
	if (!failed_by_itself(untraced) && !(was_cut(traced) && !strcmp(untraced->end_state, "TIMEOUT")))
		return false;
	*guard = TRIAL_FREE;
	*pair = counts_as_failed(traced) ? TRIAL_BOTH_FAILED : TRIAL_NO_PAIR;
	return true;
}

static bool after_success(const struct trial_run *traced, const struct trial_run *untraced, enum trial_pair *pair)
{
	if (completed(untraced))
		*pair = TRIAL_BOTH_COMPLETED;
	else if (failed_by_itself(untraced) && !(ran_out_of_memory(untraced) && untraced->memory < traced->memory))
		*pair = TRIAL_UNTRACED_FAILED;
	else if (!strcmp(untraced->end_state, "TIMEOUT") && untraced->elapsed_s > traced->elapsed_s)
		*pair = TRIAL_UNTRACED_FAILED;
	else
		return false;
	return true;
}

bool trial_compare(const struct trial_run *traced, const struct trial_run *untraced, enum trial_guard *guard, enum trial_pair *pair)
{
	if (traced->array_task != untraced->array_task)
		return false; /* the index is a number of the program that the key does not hold */
	if (completed(traced)) {
		*guard = TRIAL_FREE;
		return after_success(traced, untraced, pair);
	}
	return after_failure(traced, untraced, guard, pair);
}

/* ---- all programs ---- */

double trial_chance(unsigned traced_failed, unsigned untraced_failed)
{
	const double share = (double)TRIAL_ODDS / (TRIAL_ODDS + 1);
	unsigned n = traced_failed + untraced_failed;
	double sum = 0;
	int sign;

	for (unsigned k = traced_failed; k <= n; k++)
		sum += exp(lgamma_r(n + 1.0, &sign) - lgamma_r(k + 1.0, &sign) - lgamma_r(n - k + 1.0, &sign) + k * log(share) +
			   (n - k) * log1p(-share));
	return fmin(sum, 1);
}

enum tracing_state trial_judge(unsigned traced_failed, unsigned untraced_failed)
{
	double chance = trial_chance(traced_failed, untraced_failed);

	if (chance <= TRIAL_STOP_CHANCE)
		return TRACING_STOPPED;
	return chance <= TRIAL_SUSPECT_CHANCE ? TRACING_SUSPECTED : TRACING_ON;
}
