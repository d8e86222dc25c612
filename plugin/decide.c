/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides about a submitted job: see decide.h. The steps are: mode, identity of the job, known estimates,
 * partitions, limit, message. If a step lacks data, the job is left unchanged.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/launches.h"
#include "plugin/decide_internal.h"
#include "predictor/cluster/cluster.h"

/* ---- mode ---- */

/* In some contexts, Slurm puts SPANK_ before the names of variables that plugins set. */
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

/* Split the user's list of partitions. If the list is too long, the job is only observed. */
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

static const struct place_partition *partition_find(const struct deciding *d, const char *name)
{
	return d->src->places ? places_partition(d->src->places, name) : NULL;
}

static void find_partitions(struct deciding *d, bool *named)
{
	const struct place_partition *part;

	if (split_partitions(d) < 0) {
		d->n_partitions = 0;
		*named = true;
		return;
	}
	*named = d->n_partitions > 0;
	part = *named ? NULL : partition_find(d, NULL);
	if (part)
		snprintf(d->partitions[d->n_partitions++], CONF_NAME_MAX, "%s", part->name);
}

/* The user's mode for this job, or else the most careful mode of its partitions. */
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

/* ---- what is known ---- */

static int option_before(const struct option *a, const struct option *b)
{
	return a->e->e.mean_s < b->e->e.mean_s;
}

/* Collect the usable estimates, shortest run time first. */
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

struct option *decide_option_for(struct deciding *d, const char *partition)
{
	const char *candidate = cluster_candidate(d->conf, partition, d->in->features);

	for (unsigned i = 0; i < d->n_options; i++) {
		if (!strcmp(d->options[i].e->candidate, candidate))
			return &d->options[i];
	}
	return NULL;
}

static bool known_where_it_runs(struct deciding *d)
{
	for (unsigned i = 0; i < d->n_partitions; i++)
		if (decide_option_for(d, d->partitions[i]))
			return true;
	return false;
}

int decide_others(struct deciding *d, bool alike)
{
	int rv = decide_kin(d, alike, &d->others);

	d->n_options = 0;
	if (rv < 0)
		return -1;
	if (rv)
		find_options(d, &d->others);
	d->by_others = known_where_it_runs(d);
	if (!d->by_others)
		d->n_options = 0;
	return d->by_others;
}

/* ---- limit ---- */

static bool daemon_alive(const struct deciding *d)
{
	int64_t age = d->in->now - d->src->heartbeat;

	return d->src->heartbeat > 0 && age <= (int64_t)d->conf->heartbeat_timeout_s &&
	       age >= -(int64_t)d->conf->heartbeat_timeout_s;
}

void decide_partition_cap(const struct deciding *d, const char *name, uint32_t *cap, uint32_t *max)
{
	const struct place_partition *part = partition_find(d, name);

	*cap = *max = DURATION_UNSET;
	if (part) {
		*max = part->max_min;
		*cap = part->default_min == DURATION_UNSET ? part->max_min : part->default_min;
	}
}

static uint32_t limit_wanted(const struct deciding *d, double hi_s)
{
	const struct decide_input *in = d->in;
	uint32_t want = places_limit_min(d->conf, hi_s + in->warn_time_s / (1 + d->conf->margin));

	/* Slurm refuses a limit below --time-min. */
	if (in->time_min_min != DURATION_UNSET && in->time_min_min != DURATION_UNLIMITED &&
	    want < in->time_min_min)
		want = in->time_min_min;
	return want;
}

/*
 * Does the job or its script look at its own limit? A script can stop early, or resubmit itself, when little time is left. Questions
 * of the program itself cannot be seen. A long script is not searched, and counts as one that looks.
 */
static bool watches_limit(const struct decide_input *in)
{
	static const char *const asks[] = {"squeue", "scontrol", "SLURM_JOB_END_TIME", "slurm_get_rem_time", "yogrt", "SCR_", "scr_"};

	if (in->watches_limit || in->time_min_min != DURATION_UNSET || strnlen(in->script, IDENTITY_NORMALISE_MAX) == IDENTITY_NORMALISE_MAX)
		return true;
	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++)
		if (strstr(in->script, asks[i]))
			return true;
	return false;
}

enum limit_guard decide_guard(const struct deciding *d)
{
	return conf_guard(d->conf, d->src->soft_works);
}

/*
 * Has the job a limit of its own, or DefaultTime? Else it gets MaxTime when it starts, and backfill then puts back what a job with a
 * time_min had before: no limit at all.
 */
static bool limit_is_given(const struct deciding *d)
{
	for (unsigned i = 0; d->in->time_limit_min == DURATION_UNSET && i < (d->placed ? 1 : d->n_partitions); i++) {
		const struct place_partition *part = partition_find(d, d->placed ? d->out->partition : d->partitions[i]);

		if (!part || part->default_min == DURATION_UNSET)
			return false;
	}
	return true;
}

/* A job with a time_min of its user's is planned with it already. precedentd changes nothing of a job without an end. */
static bool soft_has_effect(const struct deciding *d)
{
	return d->src->soft_works && limit_is_given(d) && d->cap_min != DURATION_UNLIMITED && d->in->time_min_min == DURATION_UNSET &&
	       !d->in->deadline;
}

uint32_t decide_limit_short(const struct deciding *d, double hi_s, uint32_t asked_min, uint32_t overtime_min)
{
	uint32_t want = limit_wanted(d, hi_s), least;

	if (decide_guard(d) == GUARD_OVERTIME) {
		least = d->watches_limit ? asked_min : overtime_least_min(asked_min, overtime_min);
		want = want > least ? want : least;
	}
	return want < asked_min ? want : asked_min;
}

/* The least OverTimeLimit of the partitions where the job may run. */
static uint32_t overtime_here(const struct deciding *d)
{
	uint32_t least = OVERTIME_UNLIMITED;

	for (unsigned i = 0; i < (d->placed ? 1 : d->n_partitions); i++) {
		const struct place_partition *part = partition_find(d, d->placed ? d->out->partition : d->partitions[i]);

		if (!part || part->overtime_min < least)
			least = part ? part->overtime_min : 0;
	}
	return d->placed || d->n_partitions ? least : 0;
}

void decide_find_cap(struct deciding *d)
{
	uint32_t cap, max;

	d->cap_min = d->in->time_limit_min;
	if (d->cap_min != DURATION_UNSET)
		return;
	if (d->placed) {
		decide_partition_cap(d, d->out->partition, &d->cap_min, &max);
		return;
	}
	for (unsigned i = 0; i < d->n_partitions; i++) {
		decide_partition_cap(d, d->partitions[i], &cap, &max);
		if (cap == DURATION_UNSET) {
			d->cap_min = DURATION_UNSET;
			return;
		}
		if (d->cap_min == DURATION_UNSET || cap < d->cap_min)
			d->cap_min = cap;
	}
}

/*
 * Does every partition where the job may run allow cap_min minutes? A job above a partition's maximum stays pending
 * there. With a shorter limit the job would start there, and its limit could not be raised to the user's limit.
 */
static bool cap_fits(const struct deciding *d)
{
	uint32_t cap, max;

	for (unsigned i = 0; i < (d->placed ? 1 : d->n_partitions); i++) {
		decide_partition_cap(d, d->placed ? d->out->partition : d->partitions[i], &cap, &max);
		if (max != DURATION_UNSET && d->cap_min > max)
			return false;
	}
	return true;
}

void decide_wish_limit(struct deciding *d, double need_s)
{
	uint32_t want;

	/* Without the daemon, no process would set the limit. */
	if (d->out->mode < MODE_LIMIT || !daemon_alive(d) || d->cap_min == DURATION_UNSET || !(need_s > 0))
		return;
	if (decide_guard(d) == GUARD_SOFT && !soft_has_effect(d))
		return;
	want = decide_limit_short(d, need_s, d->cap_min, overtime_here(d));
	if (want < d->cap_min && cap_fits(d)) {
		d->out->wish.limit_min = want;
		d->out->lowers = decide_guard(d) != GUARD_SOFT;
	}
}

/*
 * The job is not moved. The prediction is for its slowest partition. A limit needs estimates for all of its
 * partitions.
 */
static void keep_partitions(struct deciding *d)
{
	bool all = d->n_partitions > 0;

	for (unsigned i = 0; i < d->n_partitions; i++) {
		const struct option *o = decide_option_for(d, d->partitions[i]);

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

/* If the job goes to one partition for certain, count it in the load of jobs submitted at the same time. */
static void count_load(struct deciding *d)
{
	const struct conf_candidate *c = d->primary ? d->primary->candidate : NULL;
	const struct place_shape *shape = d->src->places ? places_shape(d->src->places, d->shape) : NULL;

	if (d->src->load && c && shape && (d->placed || d->n_partitions == 1) && !d->in->test_only)
		decide_load_add(d->src->load, d->conf, c->partition, d->primary->e->e.mean_s * shape->nodes, d->in->now);
}

static int predict_run(struct deciding *d, bool named)
{
	bool alive = d->out->mode >= MODE_LIMIT && daemon_alive(d);
	struct job_comment *c = &d->out->comment;
	int rv = decide_array(d);

	if (rv) {
		d->out->act = ACT_OBSERVE;
		return rv < 0 ? -1 : 0;
	}
	d->watches_limit = alive && decide_guard(d) == GUARD_OVERTIME && watches_limit(d->in);
	if (alive && d->out->mode == MODE_PLACE && !d->in->test_only)
		decide_place(d, named);
	if (!d->placed)
		keep_partitions(d);
	decide_find_cap(d);
	d->out->wish.asked_min = d->cap_min;
	decide_wish_limit(d, d->limit_hi_s);
	d->out->act = d->primary ? ACT_PREDICT : ACT_OBSERVE;
	if (d->primary) {
		snprintf(c->candidate, sizeof(c->candidate), "%s", d->primary->e->candidate);
		c->pred_s = d->primary->e->e.mean_s;
		c->lo_s = d->primary->e->e.lo_s;
		c->hi_s = d->primary->e->e.hi_s;
	}
	count_load(d);
	decide_say_predictions(d);
	decide_say_weighed(d);
	decide_say_place(d);
	decide_say_unpredicted(d);
	decide_say_limit(d);
	decide_say_opt_out(d->out);
	return 0;
}

/* Mark the key, and the launches: of several texts that launch the same, one is traced. Returns false if one was marked. */
static bool mark(struct deciding *d, int64_t since)
{
	struct decide_memo *memo = d->src->memo;
	uint64_t launch = d->out->comment.launch;
	char name[IDENTITY_KEY_LEN + 1];
	bool is_new = decide_memo_mark(memo, d->out->id.key, since, d->in->now);

	if (!launch)
		return is_new;
	snprintf(name, sizeof(name), "%016" PRIx64, launch << 3); /* without its fixed bits, since the first digits choose the slot */
	return decide_memo_mark(memo, name, since, d->in->now) && is_new;
}

/*
 * May this run be traced? If precedentd is silent, no: its traces would fill the spool unread. If the key was
 * marked a moment ago, no: a fault of the tracer then costs one run only. A mark from before `since` does not
 * count: precedentd has allowed the key again. An unknown program is traced if others of its kind come again. Returns
 * 1, 0 with d->untraced, or -1 on error.
 */
static int may_trace(struct deciding *d, bool unknown, int64_t since)
{
	const struct decide_source *src = d->src;
	const char *key = d->out->id.key, *name = store_trial_name(d->out->comment.kin, key);
	int guarded;

	if (!daemon_alive(d)) {
		d->untraced = UNTRACED_SILENT;
		return 0;
	}
	if (src->stopped) {
		d->untraced = UNTRACED_STOPPED;
		return 0;
	}
	if (d->untraced == UNTRACED_LAUNCHES)
		return 0;
	guarded = src->reads->trial ? src->reads->trial(src->store, name, key, &d->trial, d->err) : 0;
	if (guarded) {
		d->untraced = UNTRACED_GUARDED;
		return guarded < 0 ? -1 : 0;
	}
	if (unknown && decide_is_fresh(d))
		return 0;
	if (!d->in->test_only && src->memo && !mark(d, since)) {
		d->untraced = UNTRACED_MARKED;
		return 0;
	}
	return 1;
}

static int trace(struct deciding *d)
{
	uint32_t first, last;

	if (d->in->array_inx && decide_array_span(d->in->array_inx, &first, &last))
		d->out->comment.task = first;
	d->out->act = ACT_TRACE;
	d->out->trace = true;
	decide_say(d->out, d->n_options ? "precedent: this run is traced again, since the program does not run as it did"
					: "precedent: first run of this job: it is traced, predictions from the next submission on");
	decide_say_unmodelled(d);
	decide_say_opt_out(d->out);
	return 0;
}

/*
 * May a known program be traced again, by precedentd's word? Returns 1, 0 (with d->untraced if the trace is due), or -1 on error. A
 * traced run that ended in the second of its submission is allowed again from the next second on, so that its mark does not count
 * (predictor/follow/follow.c). That second is not waited for.
 */
static int trace_is_due(struct deciding *d, const struct store_program *p)
{
	/* It has predictions from past runs, and the guard of its failed traced run has the kin of another text. */
	if (d->same_launches && p->state == PROGRAM_FAILED)
		return 0;
	return p->retrace_at && d->in->now + 1 >= p->retrace_at ? may_trace(d, false, p->retrace_at) : 0;
}

/* The program has no estimates of its own: ask its kin. If the program's own runs have been refused, its kin does
 * not count. */
static int others_know(struct deciding *d, bool named, const struct store_program *p)
{
	bool refused = p->state == PROGRAM_FAILED ? strstr(p->reason, STORE_REMARK) != NULL : p->reason[0] != '\0';
	int rv = refused ? 0 : decide_others(d, true);

	if (rv <= 0)
		return rv;
	return predict_run(d, named) < 0 ? -1 : 1;
}

static int wait_for_estimates(struct deciding *d, bool named, const struct store_program *p)
{
	int rv = others_know(d, named, p);

	if (rv)
		return rv < 0 ? -1 : 0;
	if (d->untraced != UNTRACED_NOT && d->untraced != UNTRACED_SILENT)
		decide_say_untraced(d);
	else if (p->state == PROGRAM_NEW || p->state == PROGRAM_TRACED || p->state == PROGRAM_BUILDING)
		decide_say(d->out, "precedent: the first run of this job (%u) is %s, no prediction yet" OPT_OUT,
		    p->source_job, p->state == PROGRAM_BUILDING ? "being probed" : "being traced");
	else if (p->state == PROGRAM_FAILED && p->n_traces && !p->retrace_at) /* no skeleton repeats it */
		decide_say(d->out, "precedent: no prediction: %.300s" OPT_OUT, p->reason);
	return 0;
}

static void identify(struct identity_room *room, const struct decide_input *in, struct decision *out)
{
	struct job_comment *c = &out->comment;
	struct identity_input id = {
	    .uid = in->uid,
	    .script = in->script,
	    .args = in->args,
	    .n_args = in->n_args,
	    .fingerprint = env_value(in, IDENTITY_FINGERPRINT_VAR),
	    .work_dir = in->work_dir,
	    .layout = in->layout,
	};

	identity_compute_within(room, &id, &out->id);
	c->launch = store_launch_name(in->uid, &in->layout, env_value(in, LAUNCHES_VAR));
	memcpy(c->key, out->id.key, sizeof(c->key));
	memcpy(c->family, out->id.family, sizeof(c->family));
	identity_vars_format(&out->id, c->vars, sizeof(c->vars));
	if (c->vars[0])
		memcpy(c->kin, out->id.kin, sizeof(c->kin));
}

/* An unknown program. If its kin predicts a run where the job will run, that is the prediction. Otherwise this is
 * the program's first run. */
static int decide_unknown(struct deciding *d, bool named)
{
	int rv = decide_others(d, true);

	if (rv)
		return rv < 0 ? -1 : predict_run(d, named);
	d->out->act = ACT_OBSERVE;
	rv = may_trace(d, true, d->marked_since);
	if (rv > 0)
		return trace(d);
	decide_say_untraced(d);
	return rv;
}

static int decide_batch(struct deciding *d, bool named)
{
	struct store_lookup *known = &d->known;
	int rv;

	identify(d->identity, d->in, d->out);
	rv = d->src->reads->lookup(d->src->store, d->out->id.key, known, d->err);
	if (rv < 0)
		return -1;
	d->out->wish.asked_min = d->in->time_limit_min;
	if (rv == 0)
		rv = decide_launch(d);
	if (rv <= 0)
		return rv < 0 ? -1 : decide_unknown(d, named);
	if (known->program.uid != d->in->uid) {
		d->out->act = ACT_OBSERVE; /* the key includes the uid, so another owner means damage */
		return 0;
	}
	d->shape = known->program.shape;
	find_options(d, known);
	d->out->act = ACT_OBSERVE;
	rv = trace_is_due(d, &known->program);
	if (rv)
		return rv < 0 ? -1 : trace(d);
	if (d->n_options)
		return predict_run(d, named);
	return wait_for_estimates(d, named, &known->program);
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
	out->trace = out->lowers = out->set_partition = out->set_features = false;
	out->wish = (struct wish){DURATION_UNSET, DURATION_UNSET};
	out->partition[0] = out->features[0] = out->message[0] = '\0';
	comment_init(&out->comment);
	out->id.n_vars = 0;
	out->id.key[0] = out->id.family[0] = out->id.kin[0] = '\0';
}

/* Is the user told? */
static bool is_told(const struct deciding *d)
{
	const char *choice = env_value(d->in, MESSAGE_VAR), *terminal = env_value(d->in, MESSAGE_TERMINAL_VAR);
	enum conf_message message = d->conf->message;

	if (choice)
		message_parse(choice, &message); /* else the site's */
	return message == MESSAGE_ALWAYS || (message == MESSAGE_TERMINAL && terminal && !strcmp(terminal, "1"));
}

static int decide_within(struct deciding *d)
{
	struct job_comment *c = &d->out->comment;
	bool named;

	if (is_own_probe(d->in) || !only_admits(d->conf, &d->src->only, d->in->uid, d->in->account, d->in->qos))
		return 0;
	find_partitions(d, &named);
	d->out->mode = find_mode(d);
	if (d->out->mode == MODE_OFF) {
		clear_decision(d->out);
		return 0;
	}
	if (d->in->het || !d->in->script) {
		/* The job is not identified well enough, so only its run time is recorded. */
		d->out->act = ACT_OBSERVE;
		d->out->mode = MODE_OBSERVE;
		d->out->wish.asked_min = d->in->time_limit_min;
	} else if (decide_batch(d, named) < 0) {
		clear_decision(d->out);
		return -1;
	}
	decide_similar(d);
	if (!is_told(d))
		d->out->message[0] = '\0';
	c->act = d->out->act;
	c->mode = d->out->mode;
	c->user_limit_min = d->out->wish.asked_min;
	c->wish_min = d->out->wish.limit_min;
	return 0;
}

struct decide_room *decide_room_create(void)
{
	struct decide_room *room = malloc(sizeof(*room));

	if (!room)
		return NULL;
	room->identity = identity_room_create(); /* decide works without it */
	return room;
}

void decide_room_destroy(struct decide_room *room)
{
	if (!room)
		return;
	identity_room_destroy(room->identity);
	free(room);
}

void decide_identify(struct decide_room *room, const struct decide_input *in, struct decision *out)
{
	clear_decision(out);
	if (in->script)
		identify(room->identity, in, out);
}

int decide(const struct decide_input *in, const struct precedent_conf *conf, const struct decide_source *src,
	   struct decision *out, struct errbuf *err)
{
	struct decide_room *room = src->room ? src->room : decide_room_create();
	struct deciding *d = room ? &room->d : NULL;
	int rv;

	clear_decision(out);
	if (!room)
		return err_set(err, "no memory for a decision");
	memset(d, 0, offsetof(struct deciding, known));
	d->in = in;
	d->conf = conf;
	d->src = src;
	d->identity = room->identity;
	d->out = out;
	d->err = err;
	d->unseen = ARRAY_NO_INDEX;
	rv = decide_within(d);
	if (!src->room)
		decide_room_destroy(room);
	return rv;
}

const struct decide_reads decide_reads_store = {
	.lookup = store_lookup,
	.family = store_family_lookup,
	.model = store_model_lookup,
	.array_runs = store_array_runs,
	.groups = store_groups_get,
	.launch = store_launch_get,
	.kind = store_kind_get,
	.trial = store_trial_withholds,
};

/* ---- memo ---- */

#define MEMO_WAYS 8

static unsigned memo_slot(const char *key)
{
	unsigned h = 0;

	/* The key is already a hash. */
	for (int i = 0; i < 4 && key[i]; i++)
		h = h << 4 | (unsigned)(key[i] <= '9' ? key[i] - '0' : key[i] - 'a' + 10);
	return h % (DECIDE_MEMO_SLOTS / MEMO_WAYS) * MEMO_WAYS;
}

bool decide_memo_mark(struct decide_memo *memo, const char *key, int64_t since, int64_t now)
{
	unsigned first = memo_slot(key), oldest = first;

	for (unsigned i = first; i < first + MEMO_WAYS; i++) {
		if (!strcmp(memo->slot[i].key, key)) {
			/* If the clock was set back, a mark from the future does not count. */
			if (now - memo->slot[i].when < DECIDE_MEMO_S && now >= memo->slot[i].when && memo->slot[i].when >= since)
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
