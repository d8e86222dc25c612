/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fitting thread: see fitting.h. One fit at a time in a process, as GSL's error handler is one for the process. */
#include <errno.h>
#include <gsl/gsl_errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "model/api/fitting.h"
#include "model/api/place.h"
#include "model/api/ticks.h"
#include "model/induce/file.h"
#include "model/induce/learn.h"

#define INTERVAL_LEAST_NS 200000000ull	 /* between fits, when there is something new */
#define INTERVAL_OLD_NS	  10000000000ull /* if new runs only repeat known inputs */
#define FIT_SHARE	  2		 /* a rest at least so many times as long as the fit */
#define VALIDATE_NS	  5000000000ull	 /* no further runs are left out after that */
#define VALIDATE_LEAST	  3
#define WAIT_NS		  300000

static pthread_mutex_t fit_lock = PTHREAD_MUTEX_INITIALIZER;
static gsl_error_handler_t *program_handler; /* under fit_lock, while a fit is going on */
static bool fit_going_on;		     /* under fit_lock */

static void fit_enter(void)
{
	pthread_mutex_lock(&fit_lock);
	program_handler = gsl_set_error_handler_off();
	fit_going_on = true;
}

static void fit_leave(void)
{
	fit_going_on = false;
	gsl_set_error_handler(program_handler);
	pthread_mutex_unlock(&fit_lock);
}

void fitting_forked(void)
{
	if (fit_going_on)
		gsl_set_error_handler(program_handler);
	fit_going_on = false;
	pthread_mutex_init(&fit_lock, NULL);
}

/* ---- snapshots: readers are counted, so that what they may still look at stays ---- */

void snapshot_free(struct snapshot *s)
{
	if (!s)
		return;
	model_destroy(s->model);
	free(s);
}

struct snapshot *snapshot_make(struct model *model, uint32_t fit)
{
	struct snapshot *s = calloc(1, sizeof(*s));

	if (!s) {
		model_destroy(model);
		return NULL;
	}
	s->model = model;
	s->fit = fit;
	return s;
}

const struct snapshot *snapshot_borrow(struct precedent_model *m)
{
	const struct snapshot *s;

	atomic_fetch_add(&m->readers, 1);
	s = atomic_load(&m->snapshot);
	if (!s)
		atomic_fetch_sub(&m->readers, 1);
	return s;
}

void snapshot_return(struct precedent_model *m)
{
	atomic_fetch_sub(&m->readers, 1);
}

static void snapshot_publish(struct precedent_model *m, struct snapshot *s)
{
	struct snapshot *old = atomic_exchange(&m->snapshot, s);

	if (old) {
		old->next = m->retired;
		m->retired = old;
	}
	/* Whoever comes now finds the new one. */
	if (atomic_load(&m->readers))
		return;
	while (m->retired) {
		old = m->retired;
		m->retired = old->next;
		snapshot_free(old);
	}
}

/* ---- a model from a file ---- */

static int names_agree(const struct precedent_model *m, const struct model *model, struct errbuf *err)
{
	if (model->n_inputs != m->n_inputs)
		return err_set(err, "%.200s has %u inputs, the program %u: not used", m->path, model->n_inputs, m->n_inputs);
	for (uint32_t i = 0; i < m->n_inputs; i++)
		if (strcmp(model->input[i].name, m->input[i]))
			return err_set(err, "%.200s has input %.60s where the program has %.60s: not used", m->path,
				       model->input[i].name, m->input[i]);
	return 0;
}

int fitting_load(struct precedent_model *m, struct errbuf *err)
{
	struct snapshot *s;
	struct model *model;

	if (access(m->path, F_OK) && errno == ENOENT)
		return 0;
	model = model_load(m->path, err);
	if (!model)
		return -1;
	if (names_agree(m, model, err) < 0) {
		model_destroy(model);
		return -1;
	}
	s = snapshot_make(model, 0);
	if (!s)
		return err_set(err, "no memory for the model of %.200s", m->path);
	atomic_store(&m->loaded, true);
	snapshot_publish(m, s);
	return 0;
}

/* ---- learning ---- */

static struct model *learn_without(const struct precedent_model *m, const struct fitting_set *set, uint32_t group, uint32_t run,
				   struct errbuf *err)
{
	struct journal *j = fitting_journal(m, set, group, run, err);
	struct model *model = j ? model_learn(j, NULL, err) : NULL;

	journal_destroy(j);
	return model;
}

/* Runs at inputs that are left out; with one set of inputs only, runs that are left out. */
static int validate(const struct precedent_model *m, const struct fitting_set *set, struct model_confidence *c, struct errbuf *err)
{
	uint64_t begin = ticks_mono_ns();
	uint32_t n = set->n_groups > 1 ? set->n_groups : set->n > 1 ? set->n : 0;

	for (uint32_t k = 0; k < n; k++) {
		struct model *model;

		if (k >= VALIDATE_LEAST && ticks_mono_ns() - begin > VALIDATE_NS)
			break;
		model = learn_without(m, set, set->n_groups > 1 ? k : UINT32_MAX, set->n_groups > 1 ? UINT32_MAX : k, err);
		if (!model)
			return -1;
		for (uint32_t i = 0; i < set->n; i++)
			if (set->n_groups > 1 ? set->group[i] == k : i == k)
				fitting_compare(m, set, i, model, c);
		model_destroy(model);
	}
	return 0;
}

/* Sums to means. */
static void confidence_close(struct model_confidence *c)
{
	if (c->n_runs)
		c->prefix /= c->n_runs;
	if (c->n_runs > c->n_refused)
		c->time_error /= c->n_runs - c->n_refused;
}

/* A model from a file stays until a new model is at least as good on these runs. The new model is judged by
 * cross-validation. */
static bool is_better(const struct precedent_model *m, const struct fitting_set *set, const struct model_confidence *c)
{
	const struct snapshot *old = atomic_load(&m->snapshot);
	struct model_confidence o = {0};

	if (!old || old->fit)
		return true;
	for (uint32_t i = 0; i < set->n; i++)
		fitting_compare(m, set, i, old->model, &o);
	confidence_close(&o);
	if (o.n_refused == o.n_runs)
		return true;
	if (!c->n_runs || c->n_refused == c->n_runs)
		return false;
	if ((uint64_t)c->n_exact * o.n_runs != (uint64_t)o.n_exact * c->n_runs)
		return (uint64_t)c->n_exact * o.n_runs > (uint64_t)o.n_exact * c->n_runs;
	return c->time_error <= o.time_error * 1.05;
}

static void fit_publish(struct precedent_model *m, const struct fitting_set *set, struct model *model, uint32_t fit)
{
	struct snapshot *s;

	if (!is_better(m, set, &model->confidence)) {
		model_destroy(model);
		return;
	}
	s = snapshot_make(model, fit);
	if (!s) {
		session_trouble(m, "no memory for a model");
		return;
	}
	snapshot_publish(m, s);
	atomic_store(&m->loaded, false);
}

static void fit_region(struct precedent_model *m, uint32_t number)
{
	struct fitting_set set;
	struct model *model;
	struct errbuf err = {""};

	if (fitting_choose(m, &set) < 0) {
		session_trouble(m, "no memory to fit a model");
		return;
	}
	fit_enter();
	model = learn_without(m, &set, UINT32_MAX, UINT32_MAX, &err);
	if (model && validate(m, &set, &model->confidence, &err) < 0) {
		model_destroy(model);
		model = NULL;
	}
	fit_leave();
	if (model) {
		confidence_close(&model->confidence);
		fit_publish(m, &set, model, number);
	} else {
		session_trouble(m, err.text);
	}
	fitting_release(m, &set);
}

/* ---- when ---- */

struct schedule {
	uint64_t ended_ns, took_ns, runs, news; /* at the last fit */
	struct place place;
};

/* Nanoseconds until the next fit; 0 now; UINT64_MAX when there is nothing to fit. Under the lock. */
static uint64_t fit_due(const struct precedent_model *m, const struct schedule *s)
{
	uint64_t rest = m->runs_news > s->news ? INTERVAL_LEAST_NS : INTERVAL_OLD_NS, now = ticks_mono_ns();

	if (m->runs_ever == s->runs || !m->n_runs)
		return UINT64_MAX;
	if (m->flush_drained != m->flush_fitted)
		return 0;
	if (m->n_runs < m->runs_min && m->runs_ever < m->runs_min)
		return UINT64_MAX;
	if (!s->ended_ns)
		return 0;
	rest = rest > FIT_SHARE * s->took_ns ? rest : FIT_SHARE * s->took_ns;
	return now - s->ended_ns >= rest ? 0 : rest - (now - s->ended_ns);
}

static void wait_fit(struct precedent_model *m, uint64_t ns)
{
	struct timespec until;

	if (ns > INTERVAL_LEAST_NS / 4)
		ns = INTERVAL_LEAST_NS / 4;
	clock_gettime(CLOCK_MONOTONIC, &until);
	ns += (uint64_t)until.tv_nsec;
	until.tv_sec += (time_t)(ns / 1000000000);
	until.tv_nsec = (long)(ns % 1000000000);
	pthread_cond_timedwait(&m->wake_fit, &m->lock, &until);
}

/* With the lock, which is not held while the fit is going on. */
static void fit_once(struct precedent_model *m, struct schedule *s)
{
	uint64_t begin = ticks_mono_ns(), drained = atomic_load(&m->flush_drained);

	if (atomic_load(&m->runs_ever) != s->runs && m->n_runs) {
		s->runs = atomic_load(&m->runs_ever);
		s->news = m->runs_news;
		pthread_mutex_unlock(&m->lock);
		place_look(&s->place);
		fit_region(m, atomic_load(&m->fits) + 1);
		s->ended_ns = ticks_mono_ns();
		s->took_ns = s->ended_ns - begin;
		atomic_fetch_add(&m->fits, 1);
		atomic_store(&m->fit_s, 1e-9 * (double)s->took_ns);
		pthread_mutex_lock(&m->lock);
	}
	atomic_store(&m->flush_fitted, drained);
}

void *fitting_main(void *session)
{
	struct precedent_model *m = session;
	struct schedule s = {.place.normal_priority = m->normal_priority};

	pthread_mutex_lock(&m->lock);
	while (!atomic_load(&m->stop)) {
		uint64_t due = fit_due(m, &s);

		if (due && atomic_load(&m->flush_drained) == atomic_load(&m->flush_fitted))
			wait_fit(m, due);
		else
			fit_once(m, &s);
	}
	pthread_mutex_unlock(&m->lock);
	session_unref(m);
	return NULL;
}

/* Looks again and again instead of taking a lock that a thread at the lowest priority may hold. */
int precedent_model_wait(precedent_model *m, double seconds)
{
	const struct timespec pause = {0, WAIT_NS};
	uint64_t asked, begin = ticks_mono_ns();

	if (!m || atomic_load(&m->state) != PRECEDENT_MODEL_STATE_ON)
		return 0;
	asked = atomic_fetch_add(&m->flush_asked, 1) + 1;
	pthread_cond_signal(&m->wake_collect);
	while (atomic_load(&m->flush_fitted) < asked) {
		if (!(1e-9 * (double)(ticks_mono_ns() - begin) < seconds))
			return 0;
		nanosleep(&pause, NULL);
	}
	return atomic_load(&m->snapshot) != NULL;
}

int precedent_model_save(precedent_model *m, const char *path, char *why, size_t why_size)
{
	const struct snapshot *s = m ? snapshot_borrow(m) : NULL;
	struct errbuf err = {""};
	int rc = -1;

	if (!m)
		err_set(&err, "there is no session");
	else if (!s)
		err_set(&err, "no model was fitted yet");
	else if (!path && !m->path)
		err_set(&err, "no file is named");
	else
		rc = model_save(s->model, path ? path : m->path, &err);
	if (s)
		snapshot_return(m);
	text_copy(why, why_size, rc < 0 ? err.text : "");
	return rc;
}
