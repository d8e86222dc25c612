/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes decide()'s message to the user: one line, which ends with the way to opt out. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/append.h"
#include "plugin/decide_internal.h"

#define OTHERS_MAX 4 /* candidates in the message besides the first */

void decide_say(struct decision *out, const char *fmt, ...)
{
	size_t len = strlen(out->message);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(out->message + len, sizeof(out->message) - len, fmt, ap);
	va_end(ap);
}

/* Append text without a format. */
static void say_text(struct decision *out, const char *text)
{
	size_t len = strlen(out->message);

	append_text(out->message, sizeof(out->message), &len, text);
}

void decide_say_opt_out(struct decision *out)
{
	size_t room = sizeof(out->message) - sizeof(OPT_OUT);

	if (strlen(out->message) > room)
		out->message[room] = '\0';
	say_text(out, OPT_OUT);
}

static void say_option(struct decision *out, const struct option *o, bool interval)
{
	char mean[DURATION_TEXT_MAX], lo[DURATION_TEXT_MAX], hi[DURATION_TEXT_MAX];
	const struct estimate *e = &o->e->e;

	say_text(out, duration_format(mean, sizeof(mean), e->mean_s));
	say_text(out, " on ");
	say_text(out, o->e->candidate);
	if (!interval)
		return;
	decide_say(out, " (%s-%s%s", duration_format(lo, sizeof(lo), e->lo_s), duration_format(hi, sizeof(hi), e->hi_s),
		   e->kind == ESTIMATE_HISTORY	? ", from past runs"
		   : e->kind == ESTIMATE_FAMILY ? ", from runs with other numbers"
		   : e->kind == ESTIMATE_JOINT	? ", with a model over inputs"
						: "");
	if (e->kind == ESTIMATE_MODEL)
		decide_say(out, ", from a model over inputs of %u runs", e->n);
	say_text(out, ")");
}

void decide_say_unmodelled(struct deciding *d)
{
	if (d->unmodelled.text[0] && !d->n_options)
		decide_say(d->out, "; its model over inputs does not know: %.200s", d->unmodelled.text);
}

void decide_say_untraced(struct deciding *d)
{
	const struct store_trial *t = &d->trial;

	if (d->untraced == UNTRACED_MARKED)
		decide_say(d->out, "precedent: the first run of this job is being traced, no prediction yet");
	if (d->untraced == UNTRACED_LAUNCHES)
		decide_say(d->out, "precedent: not traced: job %u, which launched the same, failed while it was traced; this run is without "
				   "the tracer", d->same_job);
	if (d->untraced == UNTRACED_FRESH)
		decide_say(d->out, "precedent: not traced: the last %u jobs with this name and script were all new ones; to trace it: "
				   "--predict=%s", d->fresh, mode_name(d->out->mode));
	if (d->untraced == UNTRACED_GUARDED)
		decide_say(d->out, "precedent: not traced: job %u of this program ended %s while it was traced", t->traced_job,
			   strcmp(t->end_state, "UNKNOWN") ? t->end_state : "unseen");
	if (d->untraced == UNTRACED_GUARDED && t->guard == TRIAL_SUSPECT)
		decide_say(d->out, ", job %u without the tracer completed; precedent retrace %u traces it again", t->control_job,
			   t->traced_job);
	else if (d->untraced == UNTRACED_GUARDED)
		decide_say(d->out, "; this run is without the tracer");
	/* The trace of a killed run is the user's: precedent explain reads it as the user, and no daemon does. */
	if (d->untraced == UNTRACED_GUARDED && !strcmp(t->end_state, "TIMEOUT"))
		decide_say(d->out, "; precedent explain %u says what job %u did when its limit ended it", t->traced_job,
			   t->traced_job);
	if (d->out->message[0])
		decide_say_opt_out(d->out);
}

void decide_say_predictions(struct deciding *d)
{
	const struct option *first = d->primary ? d->primary : &d->options[0];
	unsigned others = 0;

	say_text(d->out, "precedent: ");
	say_option(d->out, first, true);
	for (unsigned i = 0; i < d->n_options; i++) {
		if (&d->options[i] == first)
			continue;
		if (others++ < OTHERS_MAX) {
			say_text(d->out, ", ");
			say_option(d->out, &d->options[i], false);
		}
	}
	if (others > OTHERS_MAX)
		decide_say(d->out, " and %u more", others - OTHERS_MAX);
	if (d->same_launches && d->same_job)
		decide_say(d->out, "; same program, arguments and inputs as job %u", d->same_job);
	else if (d->same_launches)
		say_text(d->out, "; same program, arguments and inputs as past runs");
	if (d->unseen != ARRAY_NO_INDEX)
		decide_say(d->out, "; index %u has not run yet: taken to be like those that have", d->unseen);
}

static bool has_estimate(const struct store_lookup *known, const char *candidate)
{
	for (unsigned i = 0; i < known->n_estimates; i++)
		if (!strcmp(known->estimates[i].candidate, candidate))
			return true;
	return false;
}

/* What precedentd has noted of a candidate that got no estimate; NULL: nothing. Kin have estimates only. */
static const char *refused_why(const struct deciding *d, const char *candidate)
{
	char text[CONF_CANDIDATE_MAX + 16];
	int n = snprintf(text, sizeof(text), "nothing for %s: ", candidate);
	const char *reason = d->by_others ? "" : d->known.program.reason;

	return strncmp(reason, text, (size_t)n) ? NULL : reason + n;
}

void decide_say_unpredicted(struct deciding *d)
{
	const struct store_lookup *known = d->by_others ? &d->others : &d->known;

	if (d->placed || !d->in->partition || !*d->in->partition)
		return;
	for (unsigned i = 0; i < d->n_partitions; i++) {
		const char *name = d->partitions[i];
		const struct conf_candidate *c = conf_candidate_match(d->conf, name, d->in->features);
		const char *why = refused_why(d, c ? c->name : name);

		if (decide_option_for(d, name))
			continue;
		decide_say(d->out, "; none for %s: ", name);
		say_text(d->out, has_estimate(known, c ? c->name : name) ? "its estimate is too uncertain"
				 : why				       ? why
				 : c				       ? "it has no estimate yet"
								       : "it is no candidate");
		return;
	}
}

/* Write that the limit is too short, or hardly enough, for the prediction. */
static void say_too_little(struct deciding *d, const char *asked, bool given)
{
	const struct estimate *e = d->primary ? &d->primary->e->e : NULL;
	char need[DURATION_TEXT_MAX];

	if (!e || d->cap_min == DURATION_UNSET || d->cap_min == DURATION_UNLIMITED || d->cap_min * 60.0 >= e->hi_s)
		return;
	/* MinLimit is no need of the job. */
	decide_say(d->out, "; %s %s, less than %s: it may need %s", given ? "you asked" : "the partition's limit is", asked,
		   d->cap_min * 60.0 < e->mean_s ? "predicted" : "the upper bound",
		   duration_format_minutes(need, sizeof(need), duration_ceil_minutes(e->hi_s * (1 + d->conf->margin) + d->in->warn_time_s)));
}

void decide_say_limit(struct deciding *d)
{
	char limit[DURATION_TEXT_MAX], asked[DURATION_TEXT_MAX];
	bool given = d->in->time_limit_min != DURATION_UNSET;

	duration_format_minutes(asked, sizeof(asked), d->cap_min);
	if (d->out->wish.limit_min != DURATION_UNSET && decide_guard(d) == GUARD_SOFT)
		decide_say(d->out, "; Slurm plans with %s, %s limit of %s stays",
			   duration_format_minutes(limit, sizeof(limit), d->out->wish.limit_min), given ? "your" : "the partition's", asked);
	else if (d->out->wish.limit_min != DURATION_UNSET)
		decide_say(d->out, "; limit will be %s (%s %s)", duration_format_minutes(limit, sizeof(limit), d->out->wish.limit_min),
			   given ? "you asked" : "the partition's is", asked);
	else
		say_too_little(d, asked, given);
}

/* ---- where, and why there ---- */

#define SPAN_MAX 32

/* Write an approximate duration of at most two units. */
static const char *rough_span(char *buf, double seconds)
{
	unsigned long s = seconds > 0 ? (unsigned long)(seconds + 0.5) : 0, m = (s + 30) / 60;

	if (s < 60)
		snprintf(buf, SPAN_MAX, "%lus", s);
	else if (m < 60)
		snprintf(buf, SPAN_MAX, "%lum", m);
	else if (m < 1440)
		snprintf(buf, SPAN_MAX, m % 60 ? "%luh%02lum" : "%luh", m / 60, m % 60);
	else
		snprintf(buf, SPAN_MAX, m / 60 % 24 ? "%lud%luh" : "%lud", m / 1440, m / 60 % 24);
	return buf;
}

static double end_s(const struct option *o)
{
	return o->wait_s + o->e->e.mean_s;
}

static void say_start(struct deciding *d)
{
	char wait[SPAN_MAX];

	if (d->primary->answer != PLACE_KNOWN)
		return;
	if (d->primary->wait_s < 1)
		decide_say(d->out, ", starts at once");
	else
		decide_say(d->out, ", starts in about %s", rough_span(wait, d->primary->wait_s));
}

static void say_gain(struct deciding *d, const struct option *other)
{
	char gain[SPAN_MAX];
	double s;

	switch (d->conf->policy) {
	case POLICY_FASTEST:
		s = other->e->e.mean_s - d->primary->e->e.mean_s;
		decide_say(d->out, ", runs %s less than on %s", rough_span(gain, s), other->e->candidate);
		break;
	case POLICY_CHEAPEST:
		decide_say(d->out, ", costs less than on %s", other->e->candidate);
		break;
	default:
		if (other->answer == PLACE_REFUSED) {
			decide_say(d->out, ", cannot start on %s", other->e->candidate);
			break;
		}
		s = end_s(other) - end_s(d->primary);
		decide_say(d->out, ", ends %s%s earlier than on %s", other->answer == PLACE_AT_LEAST ? "at least " : "",
			   rough_span(gain, s), other->e->candidate);
	}
}

void decide_say_place(struct deciding *d)
{
	size_t at;

	if (!d->placed && d->waits_unknown)
		decide_say(d->out, "; not moved: how long such jobs would wait is asked from now on");
	if (!d->placed)
		return;
	decide_say(d->out, "; placed on %s", d->primary->e->candidate);
	at = strlen(d->out->message);
	say_start(d);
	if (d->instead_of)
		say_gain(d, d->instead_of);
	if (d->out->message[at] == ',')
		d->out->message[at] = ':';
}

/* NULL if the wait tells enough. */
static const char *weighed_why(const struct option *o)
{
	if (!o->candidate)
		return "other";
	if (o->barred)
		return o->barred;
	return o->answer == PLACE_REFUSED ? "refused" : o->answer == PLACE_AT_LEAST ? "least" : NULL;
}

void decide_say_weighed(struct deciding *d)
{
	char *at = d->out->comment.at;
	size_t len = 0, size = sizeof(d->out->comment.at);

	if (!d->weighed || !d->primary)
		return;
	for (unsigned i = 0; i <= d->n_options; i++) {
		const struct option *o = i ? &d->options[i - 1] : d->primary;
		const char *why = weighed_why(o);
		size_t before = len;

		if (i && o == d->primary)
			continue;
		append_text(at, size, &len, len ? "," : "");
		append_text(at, size, &len, o->e->candidate);
		append_text(at, size, &len, "/");
		if (o->answer == PLACE_KNOWN || o->answer == PLACE_AT_LEAST)
			append_rounded(at, size, &len, o->wait_s);
		else
			append_text(at, size, &len, "-");
		append_text(at, size, &len, "/");
		append_rounded(at, size, &len, o->e->e.mean_s);
		if (why) {
			append_text(at, size, &len, "/");
			append_text(at, size, &len, why);
		}
		if (len >= size) {
			at[before] = '\0';
			return;
		}
	}
}
