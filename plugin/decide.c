/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What to do with a submitted job: see decide.h. The order is: whose mode counts, who the job is, what is
 * known of it, where it may run, which limit follows, what to tell. Every step that lacks something ends in
 * "leave it as it was".
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plugin/decide.h"

#define OPT_OUT	       "; --predict=off to opt out"
#define PARTITIONS_MAX 32
#define OTHERS_MAX     4 /* candidates named in the message besides the first */

/* One estimate that may be used, with the candidate that it is for. */
struct option {
	const struct store_estimate *e;
	const struct conf_candidate *candidate; /* NULL: a partition that is no candidate (any more) */
};

struct deciding {
	const struct decide_input *in;
	const struct precedent_conf *conf;
	const struct decide_source *src;
	struct decision *out;
	struct errbuf *err;
	struct job_comment comment;
	bool mode_given; /* by the user, for this job */
	/*
	 * Partitions where the job may run as it was submitted: the user's, else the default when it is
	 * known.
	 */
	unsigned n_partitions;
	char partitions[PARTITIONS_MAX][CONF_NAME_MAX];
	unsigned n_options;
	struct option options[STORE_ESTIMATES_MAX];
	const struct option *primary; /* what the prediction is for; NULL: nowhere where the job will run */
	double limit_hi_s;	      /* upper bound that a limit must cover; 0: not known */
	uint32_t cap_min;	      /* what the limit may be at most */
	bool placed;
};

/* ---- mode ---- */

/* Slurm puts SPANK_ in front of what plugins set, in some of its contexts. */
static const char *env_value(const struct decide_input *in, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < in->n_spank_env; i++) {
		const char *e = in->spank_env[i];

		if (e && !strncmp(e, "SPANK_", 6))
			e += 6;
		if (e && !strncmp(e, name, n) && e[n] == '=')
			return e + n + 1;
	}
	return NULL;
}

/* Split the user's list; what does not fit makes the job one that is only observed. */
static int split_partitions(struct deciding *d)
{
	const char *p = d->in->partition ? d->in->partition : "";

	while (*p) {
		size_t n = strcspn(p, ",");

		if (n) {
			if (d->n_partitions == PARTITIONS_MAX || n >= CONF_NAME_MAX)
				return -1;
			memcpy(d->partitions[d->n_partitions], p, n);
			d->partitions[d->n_partitions++][n] = '\0';
		}
		p += n;
		p += *p == ',';
	}
	return 0;
}

static int find_partitions(struct deciding *d, bool *named)
{
	struct store_partition part;
	int rv;

	if (split_partitions(d) < 0) {
		d->n_partitions = 0;
		*named = true;
		return 0;
	}
	*named = d->n_partitions > 0;
	if (*named || !d->src->partition)
		return 0;
	rv = d->src->partition(d->src->arg, NULL, &part, d->err);
	if (rv == 1)
		snprintf(d->partitions[d->n_partitions++], CONF_NAME_MAX, "%s", part.name);
	return rv < 0 ? -1 : 0;
}

/* The user's for this job, else the most careful one of the partitions. */
static enum precedent_mode find_mode(struct deciding *d)
{
	const char *option = env_value(d->in, DECIDE_OPTION_VAR);
	enum precedent_mode mode;

	if (option && mode_parse(option, &mode) == 0) {
		d->mode_given = true;
		return mode;
	}
	if (!d->n_partitions)
		return conf_mode_for(d->conf, NULL);
	mode = MODE_PLACE;
	for (unsigned i = 0; i < d->n_partitions; i++) {
		enum precedent_mode m = conf_mode_for(d->conf, d->partitions[i]);

		mode = m < mode ? m : mode;
	}
	return mode;
}

/* ---- message ---- */

static void __attribute__((format(printf, 2, 3))) say(struct decision *out, const char *fmt, ...)
{
	size_t len = strlen(out->message);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(out->message + len, sizeof(out->message) - len, fmt, ap);
	va_end(ap);
}

/* The end of every message; an overlong one gives way to it. */
static void say_opt_out(struct decision *out)
{
	size_t room = sizeof(out->message) - sizeof(OPT_OUT);

	if (strlen(out->message) > room)
		out->message[room] = '\0';
	say(out, "%s", OPT_OUT);
}

static void say_option(struct decision *out, const struct option *o, bool interval)
{
	char mean[DURATION_TEXT_MAX], lo[DURATION_TEXT_MAX], hi[DURATION_TEXT_MAX];
	const struct estimate *e = &o->e->e;

	say(out, "%s on %s", duration_format(mean, sizeof(mean), e->mean_s), o->e->candidate);
	if (interval)
		say(out, " (%s-%s)", duration_format(lo, sizeof(lo), e->lo_s),
		    duration_format(hi, sizeof(hi), e->hi_s));
}

static void say_predictions(struct deciding *d)
{
	const struct option *first = d->primary ? d->primary : &d->options[0];
	unsigned others = 0;

	say(d->out, "precedent: ");
	say_option(d->out, first, true);
	for (unsigned i = 0; i < d->n_options; i++) {
		if (&d->options[i] == first)
			continue;
		if (others++ < OTHERS_MAX) {
			say(d->out, ", ");
			say_option(d->out, &d->options[i], false);
		}
	}
	if (others > OTHERS_MAX)
		say(d->out, " and %u more", others - OTHERS_MAX);
}

static void say_limit(struct deciding *d)
{
	char limit[DURATION_TEXT_MAX], asked[DURATION_TEXT_MAX];
	uint32_t user = d->in->time_limit_min;
	bool given = user != DURATION_UNSET;

	if (d->out->set_limit)
		say(d->out, "; limit %s (%s %s)",
		    duration_format_minutes(limit, sizeof(limit), d->out->limit_min),
		    given ? "you asked" : "the partition's is",
		    duration_format_minutes(asked, sizeof(asked), d->cap_min));
	else if (d->primary && given && user != DURATION_UNLIMITED && user * 60.0 < d->primary->e->e.mean_s)
		say(d->out, "; you asked %s, less than predicted",
		    duration_format_minutes(asked, sizeof(asked), user));
}

/* ---- what is known ---- */

static int option_before(const struct option *a, const struct option *b)
{
	return a->e->e.mean_s < b->e->e.mean_s;
}

/* Estimates that are fit to be told, quickest first. */
static void find_options(struct deciding *d, const struct store_lookup *known)
{
	for (unsigned i = 0; i < known->n_estimates; i++) {
		struct option o = {.e = &known->estimates[i]};
		unsigned at = d->n_options;

		if (estimate_check(&o.e->e, NULL) < 0)
			continue;
		o.candidate = conf_candidate_find(d->conf, o.e->candidate);
		for (; at && option_before(&o, &d->options[at - 1]); at--)
			d->options[at] = d->options[at - 1];
		d->options[at] = o;
		d->n_options++;
	}
}

/* The estimate for a partition as the job asks for it. */
static const struct option *option_for(const struct deciding *d, const char *partition)
{
	const struct conf_candidate *c = conf_candidate_match(d->conf, partition, d->in->features);

	for (unsigned i = 0; i < d->n_options; i++) {
		if (!strcmp(d->options[i].e->candidate, c ? c->name : partition))
			return &d->options[i];
	}
	return NULL;
}

/* ---- limit ---- */

static int daemon_alive(struct deciding *d)
{
	int64_t when = 0, age;

	if (!d->src->heartbeat || d->src->heartbeat(d->src->arg, &when, d->err) < 0)
		return -1;
	age = d->in->now - when;
	return when > 0 && age <= (int64_t)d->conf->heartbeat_timeout_s &&
	       age >= -(int64_t)d->conf->heartbeat_timeout_s;
}

/*
 * What the job would get on this partition when the user gives no limit; DURATION_UNSET when that is not
 * known.
 */
static int partition_cap(struct deciding *d, const char *name, uint32_t *cap, uint32_t *max)
{
	struct store_partition part;
	int rv = d->src->partition ? d->src->partition(d->src->arg, name, &part, d->err) : 0;

	*cap = *max = DURATION_UNSET;
	if (rv == 1) {
		*max = part.max_min;
		*cap = part.default_min == DURATION_UNSET ? part.max_min : part.default_min;
	}
	return rv < 0 ? -1 : 0;
}

static uint32_t limit_wanted(const struct deciding *d, double hi_s)
{
	const struct decide_input *in = d->in;
	uint32_t want = duration_ceil_minutes(hi_s * (1 + d->conf->margin) + in->warn_time_s);

	if (want < d->conf->min_limit_min)
		want = d->conf->min_limit_min;
	/* Slurm refuses a limit below --time-min. */
	if (in->time_min_min != DURATION_UNSET && in->time_min_min != DURATION_UNLIMITED &&
	    want < in->time_min_min)
		want = in->time_min_min;
	return want;
}

/* The user's limit, else the least that the partitions give; unknown when one of them is. */
static int find_cap(struct deciding *d)
{
	uint32_t cap, max;

	d->cap_min = d->in->time_limit_min;
	if (d->cap_min != DURATION_UNSET)
		return 0;
	if (d->placed)
		return partition_cap(d, d->out->partition, &d->cap_min, &max);
	for (unsigned i = 0; i < d->n_partitions; i++) {
		if (partition_cap(d, d->partitions[i], &cap, &max) < 0)
			return -1;
		if (cap == DURATION_UNSET) {
			d->cap_min = DURATION_UNSET;
			return 0;
		}
		if (d->cap_min == DURATION_UNSET || cap < d->cap_min)
			d->cap_min = cap;
	}
	return 0;
}

static void set_limit(struct deciding *d)
{
	uint32_t want;

	if (d->out->mode < MODE_LIMIT || d->cap_min == DURATION_UNSET || !(d->limit_hi_s > 0))
		return;
	want = limit_wanted(d, d->limit_hi_s);
	if (want >= d->cap_min)
		return;
	d->out->set_limit = true;
	d->out->limit_min = d->comment.limit_min = want;
}

/* ---- place ---- */

static bool in_partitions(const struct deciding *d, const char *name)
{
	for (unsigned i = 0; i < d->n_partitions; i++) {
		if (!strcmp(d->partitions[i], name))
			return true;
	}
	return false;
}

/* 1 the job may be sent there, 0 not, -1 fault. */
static int may_place(struct deciding *d, const struct option *o, bool named)
{
	const struct conf_candidate *c = o->candidate;
	const char *features = d->in->features ? d->in->features : "";
	uint32_t cap, max, need = limit_wanted(d, o->e->e.hi_s);

	if (!c || (named && !in_partitions(d, c->partition)))
		return 0;
	if (features[0] && c->constraint[0] && strcmp(features, c->constraint))
		return 0;
	if (!d->mode_given && conf_mode_for(d->conf, c->partition) < MODE_PLACE)
		return 0;
	if (d->in->time_limit_min != DURATION_UNSET && d->in->time_limit_min < need)
		need = d->in->time_limit_min;
	if (partition_cap(d, c->partition, &cap, &max) < 0)
		return -1;
	/* A limit above the partition's would keep the job waiting for ever. */
	return max == DURATION_UNSET || need <= max;
}

/* Where it would run anyway there is a candidate of which nothing is known: nothing says that another is better. */
static bool unknown_here(const struct deciding *d)
{
	for (unsigned i = 0; i < d->n_partitions; i++) {
		if (conf_candidate_match(d->conf, d->partitions[i], d->in->features) && !option_for(d, d->partitions[i]))
			return true;
	}
	return false;
}

static int place(struct deciding *d, bool named)
{
	const struct option *best = NULL;
	double best_s = 0;

	if (unknown_here(d))
		return 0;
	for (unsigned i = 0; i < d->n_options; i++) {
		const struct option *o = &d->options[i];
		int rv = may_place(d, o, named);
		double s;

		if (rv < 0)
			return -1;
		if (!rv)
			continue;
		s = o->e->e.mean_s + (d->src->wait_s ? d->src->wait_s(d->src->arg, o->candidate) : 0);
		if (!best || s < best_s) {
			best = o;
			best_s = s;
		}
	}
	if (!best)
		return 0;
	d->placed = d->out->set_partition = true;
	snprintf(d->out->partition, sizeof(d->out->partition), "%s", best->candidate->partition);
	if (best->candidate->constraint[0] && !(d->in->features && d->in->features[0])) {
		d->out->set_features = true;
		snprintf(d->out->features, sizeof(d->out->features), "%s", best->candidate->constraint);
	}
	d->primary = best;
	d->limit_hi_s = best->e->e.hi_s;
	return 0;
}

/*
 * Where the job stays: the prediction is for the slowest of its partitions, and a limit needs to know them
 * all.
 */
static void stay(struct deciding *d)
{
	bool all = d->n_partitions > 0;

	for (unsigned i = 0; i < d->n_partitions; i++) {
		const struct option *o = option_for(d, d->partitions[i]);

		if (!o) {
			all = false;
			continue;
		}
		if (!d->primary || o->e->e.hi_s > d->primary->e->e.hi_s)
			d->primary = o;
	}
	d->limit_hi_s = all && d->primary ? d->primary->e->e.hi_s : 0;
}

/* ---- the acts ---- */

static int predict(struct deciding *d, bool named)
{
	int alive = d->out->mode >= MODE_LIMIT ? daemon_alive(d) : 0;

	if (alive < 0)
		return -1;
	if (alive && d->out->mode == MODE_PLACE && !d->in->pinned && (!named || d->n_partitions > 1) &&
	    place(d, named) < 0)
		return -1;
	if (!d->placed)
		stay(d);
	if (find_cap(d) < 0)
		return -1;
	d->comment.user_limit_min = d->cap_min;
	/* Without the daemon nobody would raise a limit in time. */
	if (alive)
		set_limit(d);
	d->out->act = d->primary ? ACT_PREDICT : ACT_OBSERVE;
	if (d->primary) {
		snprintf(d->comment.candidate, sizeof(d->comment.candidate), "%s", d->primary->e->candidate);
		d->comment.pred_s = d->primary->e->e.mean_s;
		d->comment.lo_s = d->primary->e->e.lo_s;
		d->comment.hi_s = d->primary->e->e.hi_s;
	}
	say_predictions(d);
	say_limit(d);
	say_opt_out(d->out);
	return 0;
}

static bool is_test(const struct decide_input *in)
{
	return in->submit_line && strstr(in->submit_line, "--test-only");
}

/*
 * Mark for tracing; an unknown key not when it was marked a moment ago and precedentd has had no time to see
 * it. For a known one precedentd has said when. Not while precedentd is silent: nobody would look at the
 * traces, and the spool would fill.
 */
static int trace(struct deciding *d, bool known)
{
	const char *key = d->out->id.key;
	int alive = d->conf->n_candidates ? daemon_alive(d) : 0;

	d->out->act = ACT_OBSERVE;
	if (alive <= 0)
		return alive;
	if (!known && !is_test(d->in) && d->src->trace_ok &&
	    !d->src->trace_ok(d->src->arg, key, d->in->now)) {
		say(d->out,
		    "precedent: the first run of this job is being traced, no prediction yet" OPT_OUT);
		return 0;
	}
	d->out->act = ACT_TRACE;
	d->out->trace = true;
	say(d->out, "precedent: first run of this job: it is traced, predictions from the next submission "
		    "on" OPT_OUT);
	return 0;
}

static int wait_for_estimates(struct deciding *d, const struct store_program *p)
{
	bool again = p->retrace_at && d->in->now >= p->retrace_at;

	d->out->act = ACT_OBSERVE;
	if (again)
		return trace(d, true);
	if (p->state == PROGRAM_NEW || p->state == PROGRAM_TRACED || p->state == PROGRAM_BUILDING)
		say(d->out, "precedent: the first run of this job (%u) is %s, no prediction yet" OPT_OUT,
		    p->source_job, p->state == PROGRAM_BUILDING ? "being probed" : "being traced");
	return 0;
}

static void identify(struct deciding *d)
{
	const struct decide_input *in = d->in;
	struct identity_input id = {
	    .uid = in->uid,
	    .script = in->script,
	    .args = in->args,
	    .n_args = in->n_args,
	    .fingerprint = env_value(in, IDENTITY_FINGERPRINT_VAR),
	    .work_dir = in->work_dir,
	    .layout = in->layout,
	};

	identity_compute(&id, &d->out->id);
	memcpy(d->comment.key, d->out->id.key, sizeof(d->comment.key));
	memcpy(d->comment.family, d->out->id.family, sizeof(d->comment.family));
}

static int decide_batch(struct deciding *d, bool named)
{
	struct store_lookup known;
	int rv;

	identify(d);
	rv = d->src->lookup(d->src->arg, d->out->id.key, &known, d->err);
	if (rv < 0)
		return -1;
	d->comment.user_limit_min = d->in->time_limit_min;
	if (rv == 0)
		return trace(d, false);
	if (known.program.uid != d->in->uid) {
		d->out->act = ACT_OBSERVE; /* the key holds the uid: this is damage, not a precedent */
		return 0;
	}
	find_options(d, &known);
	if (d->n_options)
		return predict(d, named);
	return wait_for_estimates(d, &known.program);
}

static bool is_own_probe(const struct decide_input *in)
{
	struct job_comment c;

	return in->privileged && comment_parse(in->admin_comment, &c) == 0 && c.act == ACT_PROBE;
}

static void clear_decision(struct decision *out)
{
	out->act = ACT_NONE;
	out->mode = MODE_OFF;
	out->trace = out->set_limit = out->set_partition = out->set_features = false;
	out->limit_min = DURATION_UNSET;
	out->partition[0] = out->features[0] = out->admin_comment[0] = out->message[0] = '\0';
	out->id.n_vars = 0;
	out->id.key[0] = out->id.family[0] = '\0';
}

int decide(const struct decide_input *in, const struct precedent_conf *conf, const struct decide_source *src,
	   struct decision *out, struct errbuf *err)
{
	struct deciding d = {.in = in, .conf = conf, .src = src, .out = out, .err = err};
	bool named;

	clear_decision(out);
	comment_init(&d.comment);
	if (is_own_probe(in) || find_partitions(&d, &named) < 0)
		goto leave;
	out->mode = find_mode(&d);
	if (out->mode == MODE_OFF) {
		clear_decision(out);
		return 0;
	}
	if (in->het || !in->script) {
		/* Nothing identifies them well enough: only their times are kept. */
		out->act = ACT_OBSERVE;
		out->mode = MODE_OBSERVE;
		d.comment.user_limit_min = in->time_limit_min;
	} else if (decide_batch(&d, named) < 0) {
		goto leave;
	}
	d.comment.act = out->act;
	d.comment.mode = out->mode;
	if (comment_format(&d.comment, out->admin_comment, sizeof(out->admin_comment)) < 0) {
		err_set(err, "the admin_comment is too long");
		goto leave;
	}
	return 0;
leave:
	clear_decision(out);
	return is_own_probe(in) ? 0 : -1;
}

/* ---- memo ---- */

#define MEMO_WAYS 8

static unsigned memo_slot(const char *key)
{
	unsigned h = 0;

	/* The key is a hash already. */
	for (int i = 0; i < 4 && key[i]; i++)
		h = h << 4 | (unsigned)(key[i] <= '9' ? key[i] - '0' : key[i] - 'a' + 10);
	return h % (DECIDE_MEMO_SLOTS / MEMO_WAYS) * MEMO_WAYS;
}

bool decide_memo_mark(struct decide_memo *memo, const char *key, int64_t now)
{
	unsigned first = memo_slot(key), oldest = first;

	for (unsigned i = first; i < first + MEMO_WAYS; i++) {
		if (!strcmp(memo->slot[i].key, key)) {
			/* A clock that was set back does not silence it for good. */
			if (now - memo->slot[i].when < DECIDE_MEMO_S && now >= memo->slot[i].when)
				return false;
			oldest = i;
			break;
		}
		if (!memo->slot[i].key[0]) {
			oldest = i;
			break;
		}
		if (memo->slot[i].when < memo->slot[oldest].when)
			oldest = i;
	}
	snprintf(memo->slot[oldest].key, sizeof(memo->slot[oldest].key), "%s", key);
	memo->slot[oldest].when = now;
	return true;
}
