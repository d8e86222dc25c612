/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See doctor_tracing.h. */
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "cli/admin/doctor_tracing.h"
#include "cli/admin/finding.h"
#include "predictor/store/trials.h"

#define NAMED_MAX 8 /* programs, the latest: enough to find what they have in common */

struct report {
	char *out;
	size_t size, len;
	unsigned named;
};

static void __attribute__((format(printf, 2, 3))) say(struct report *r, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(r->out + r->len, r->size - r->len, fmt, ap);
	va_end(ap);
	if (n > 0)
		r->len += (size_t)n < r->size - r->len ? (size_t)n : r->size - r->len - 1;
}

static int name_jobs(const struct store_trial *t, void *arg)
{
	const struct passwd *pw = getpwuid(t->uid);
	struct report *r = arg;

	if (r->named == NAMED_MAX) {
		say(r, ", ...");
		return 1;
	}
	say(r, "%s %u and %u (", r->named++ ? "," : TO_DO "compare jobs", t->pair_traced, t->pair_untraced);
	if (pw)
		say(r, "%.32s)", pw->pw_name);
	else
		say(r, "uid %u)", t->uid);
	return 0;
}

static int read_report(struct store *s, int64_t now, const struct store_tracing *t, struct report *r, struct errbuf *err)
{
	struct store_trial_tally n;
	uint64_t programs = 0;
	time_t since = t->since;
	char when[32];
	struct tm tm;

	if (store_trial_count(s, now - TRIAL_WINDOW_S, &n, err) < 0)
		return -1;
	for (int i = TRIAL_BOTH_COMPLETED; i < TRIAL_PAIRS; i++)
		programs += n.pairs[i];
	if (t->state == TRACING_STOPPED && localtime_r(&since, &tm) && strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &tm))
		say(r, "stopped since %s: ", when);
	else if (t->state == TRACING_SUSPECTED)
		say(r, "suspected of making jobs fail: ");
	say(r, "of %llu programs that ran with the tracer and without, %llu failed with it alone and %llu without it alone",
	    (unsigned long long)programs, (unsigned long long)n.pairs[TRIAL_TRACED_FAILED],
	    (unsigned long long)n.pairs[TRIAL_UNTRACED_FAILED]);
	return t->state == TRACING_ON ? 0 : store_trials_against(s, now - TRIAL_WINDOW_S, name_jobs, r, err);
}

enum tracing_verdict tracing_report(struct store *s, int64_t now, char *out, size_t size)
{
	static const enum tracing_verdict verdicts[] = {[TRACING_ON] = TRACING_FINE, [TRACING_SUSPECTED] = TRACING_DOUBT,
							[TRACING_STOPPED] = TRACING_BROKEN};
	struct report r = {out, size, 0, 0};
	struct store_tracing t;
	struct errbuf err;

	if (store_tracing_get(s, &t, &err) < 0 || read_report(s, now, &t, &r, &err) < 0) {
		snprintf(out, size, "%s", err.text);
		return TRACING_DOUBT;
	}
	if (t.state == TRACING_STOPPED)
		say(&r, "%sprecedent retrace --all resumes tracing", r.named ? "; " : TO_DO);
	return verdicts[t.state];
}
