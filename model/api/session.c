/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sessions: opening and closing, control points by name, status, and the effect of fork. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clean.h"
#include "model/api/fitting.h"
#include "model/api/place.h"
#include "model/api/session.h"
#include "model/api/ticks.h"
#include "model/induce/journal.h"

#define RING_BYTES     (1u << 20)
#define RING_BYTES_MIN (1u << 13)
#define RING_BYTES_MAX (1u << 30)
#define ROWS_DEFAULT   1000000
#define STEPS_DEFAULT  200000
#define RUNS_DEFAULT   3
#define STACK_BYTES    (8u << 20)

static pthread_mutex_t sessions_lock = PTHREAD_MUTEX_INITIALIZER;
static struct precedent_model *sessions; /* under sessions_lock */
static uint64_t serials;		 /* under sessions_lock */
static pthread_once_t once = PTHREAD_ONCE_INIT;

void text_copy(char *to, size_t size, const char *text)
{
	size_t n = size ? strnlen(text, size - 1) : 0;

	if (!to || !size)
		return;
	memcpy(to, text, n);
	to[n] = 0;
}

/* ---- fork: the child has no threads but its own, and locks that nobody will ever open ---- */

static void fork_before(void)
{
	pthread_mutex_lock(&sessions_lock);
}

static void fork_parent(void)
{
	pthread_mutex_unlock(&sessions_lock);
}

static void fork_child(void)
{
	for (struct precedent_model *m = sessions; m; m = m->next)
		atomic_store(&m->state, PRECEDENT_MODEL_STATE_FORKED);
	sessions = NULL;
	fitting_forked();
	place_forked();
	pthread_mutex_unlock(&sessions_lock);
}

static void library_start(void)
{
	ticks_start();
	pthread_atfork(fork_before, fork_parent, fork_child);
}

/* ---- memory ---- */

static void session_free(struct precedent_model *m)
{
	for (struct ring *r = atomic_load(&m->rings), *next; r; r = next) {
		next = atomic_load(&r->next);
		ring_unref(r);
	}
	for (struct trouble *t = atomic_load(&m->troubles), *next; t; t = next) {
		next = t->next;
		free(t);
	}
	for (struct run_log *l = m->runs, *next; l; l = next) {
		next = l->next;
		run_log_free(l);
	}
	snapshot_free(atomic_load(&m->snapshot));
	for (struct snapshot *s = m->retired, *next; s; s = next) {
		next = s->next;
		snapshot_free(s);
	}
	for (uint32_t i = 0; i < m->n_points; i++) {
		free(m->point[i].name);
		free(m->point[i].var);
	}
	for (uint32_t i = 0; i < m->n_vars; i++)
		free(m->var[i]);
	for (uint32_t i = 0; m->input && i < m->n_inputs; i++)
		free(m->input[i]);
	free(m->input);
	free(m->path);
	pthread_cond_destroy(&m->wake_collect);
	pthread_cond_destroy(&m->wake_fit);
	pthread_mutex_destroy(&m->lock);
	pthread_mutex_destroy(&m->names_lock);
	free(m);
}

void session_ref(struct precedent_model *m)
{
	atomic_fetch_add(&m->refs, 1);
}

void session_unref(struct precedent_model *m)
{
	if (atomic_fetch_sub(&m->refs, 1) == 1)
		session_free(m);
}

void session_trouble(struct precedent_model *m, const char *text)
{
	struct trouble *t = atomic_load(&m->troubles);

	while (t && strncmp(t->text, text, sizeof(t->text) - 1))
		t = t->next;
	if (!t && atomic_fetch_add(&m->n_troubles, 1) < TROUBLES_MAX && (t = calloc(1, sizeof(*t)))) {
		text_copy(t->text, sizeof(t->text), text);
		t->next = atomic_load(&m->troubles);
		while (!atomic_compare_exchange_weak(&m->troubles, &t->next, t))
			;
	}
	if (t)
		atomic_store(&m->trouble, t);
}

/* ---- control points ---- */

int32_t session_point_find(const struct precedent_model *m, const char *name)
{
	uint32_t n = atomic_load_explicit(&m->n_points, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(m->point[i].name, name))
			return (int32_t)i;
	return -1;
}

static int name_check(const char *name, const char *what, struct errbuf *err)
{
	size_t n = name ? strnlen(name, JOURNAL_MAX_NAME + 1) : 0;

	if (!n || n > JOURNAL_MAX_NAME)
		return err_set(err, "the name of a %s is empty or longer than %d bytes", what, JOURNAL_MAX_NAME);
	return clean_is_line(name) ? 0 : err_set(err, "the name of a %s has a control character or is not UTF-8", what);
}

static int32_t var_add(struct precedent_model *m, const char *name, struct errbuf *err)
{
	uint32_t n = m->n_vars;

	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(m->var[i], name))
			return (int32_t)i;
	if (name_check(name, "variable", err) < 0)
		return -1;
	if (n == PRECEDENT_MODEL_VALUES_MAX)
		return err_set(err, "more than %d variables", PRECEDENT_MODEL_VALUES_MAX);
	m->var[n] = strdup(name);
	if (!m->var[n])
		return err_set(err, "no memory for variable %s", name);
	atomic_store_explicit(&m->n_vars, n + 1, memory_order_release);
	return (int32_t)n;
}

/* The point is added, under names_lock; -1 with the reason. */
static int32_t point_add(struct precedent_model *m, const char *name, const char *const *vars, uint32_t n_vars, struct errbuf *err)
{
	uint32_t n = m->n_points;
	struct point p = {0};

	if (name_check(name, "control point", err) < 0)
		return -1;
	if (n == PRECEDENT_MODEL_POINTS_MAX)
		return err_set(err, "more than %d control points", PRECEDENT_MODEL_POINTS_MAX - 1);
	p.name = strdup(name);
	p.var = calloc(n_vars + 1ull, sizeof(*p.var));
	p.n_vars = n_vars;
	if (!p.name || !p.var) {
		err_set(err, "no memory for a control point");
		goto fail;
	}
	for (uint32_t i = 0; i < n_vars; i++) {
		int32_t v = vars && vars[i] ? var_add(m, vars[i], err) : err_set(err, "a variable of %s has no name", name);

		if (v < 0)
			goto fail;
		p.var[i] = (uint32_t)v;
	}
	m->point[n] = p;
	atomic_store_explicit(&m->n_points, n + 1, memory_order_release);
	return (int32_t)n;
fail:
	free(p.name);
	free(p.var);
	return -1;
}

static bool point_same(const struct precedent_model *m, int32_t at, const char *const *vars, uint32_t n_vars)
{
	const struct point *p = &m->point[at];

	if (p->n_vars != n_vars)
		return false;
	for (uint32_t i = 0; i < n_vars; i++)
		if (!vars || !vars[i] || strcmp(m->var[p->var[i]], vars[i]))
			return false;
	return true;
}

int32_t precedent_model_point(precedent_model *m, const char *name, const char *const *vars, uint32_t n_vars)
{
	struct errbuf err;
	int32_t at;

	if (!m || !name)
		return -1;
	if (n_vars > PRECEDENT_MODEL_VALUES_MAX)
		n_vars = PRECEDENT_MODEL_VALUES_MAX + 1;
	at = session_point_find(m, name);
	if (at < 0) {
		if (atomic_load(&m->state) != PRECEDENT_MODEL_STATE_ON)
			return -1;
		pthread_mutex_lock(&m->names_lock);
		at = session_point_find(m, name);
		if (at < 0 && n_vars > PRECEDENT_MODEL_VALUES_MAX)
			err_set(&err, "point %.100s has too many variables", name);
		else if (at < 0)
			at = point_add(m, name, vars, n_vars, &err);
		if (at < 0)
			session_trouble(m, err.text);
		pthread_mutex_unlock(&m->names_lock);
		return at;
	}
	if (point_same(m, at, vars, n_vars))
		return at;
	if (atomic_load(&m->state) == PRECEDENT_MODEL_STATE_ON) {
		err_set(&err, "point %.100s was there with other variables", name);
		session_trouble(m, err.text);
	}
	return -1;
}

int precedent_model_point_name(precedent_model *m, int32_t point, char *name, size_t size)
{
	if (!m || point < 0 || (uint32_t)point >= atomic_load_explicit(&m->n_points, memory_order_acquire) || !name || !size)
		return -1;
	text_copy(name, size, m->point[point].name);
	return 0;
}

/* ---- opening and closing ---- */

static void numbers_set(struct precedent_model *m, const struct precedent_model_options *o)
{
	uint32_t bytes = o->ring_bytes ? o->ring_bytes : RING_BYTES;
	const char *priority = getenv("PRECEDENT_MODEL_PRIORITY");

	bytes = bytes < RING_BYTES_MIN ? RING_BYTES_MIN : bytes > RING_BYTES_MAX ? RING_BYTES_MAX : bytes;
	m->ring_words = RING_BYTES_MIN / 8;
	while (m->ring_words < bytes / 8)
		m->ring_words *= 2;
	m->rows_max = o->rows_max ? o->rows_max : ROWS_DEFAULT;
	m->steps_max = o->steps_max ? o->steps_max : STEPS_DEFAULT;
	m->runs_min = o->runs_min ? o->runs_min : RUNS_DEFAULT;
	m->normal_priority = o->normal_priority || (priority && !strcmp(priority, "normal"));
	m->core = -1;
	m->state = PRECEDENT_MODEL_STATE_ON;
	m->refs = 1;
}

static int names_set(struct precedent_model *m, const struct precedent_model_options *o, struct errbuf *err)
{
	if (o->n_inputs > PRECEDENT_MODEL_VALUES_MAX)
		return err_set(err, "more than %d inputs", PRECEDENT_MODEL_VALUES_MAX);
	m->input = calloc(o->n_inputs + 1ull, sizeof(*m->input));
	m->path = o->path ? strdup(o->path) : NULL;
	if (!m->input || (o->path && !m->path))
		return err_set(err, "no memory for a session");
	for (; m->n_inputs < o->n_inputs; m->n_inputs++) {
		const char *name = o->inputs ? o->inputs[m->n_inputs] : NULL;

		if (name_check(name, "input", err) < 0)
			return -1;
		for (uint32_t i = 0; i < m->n_inputs; i++)
			if (!strcmp(m->input[i], name))
				return err_set(err, "two inputs are called %s", name);
		m->input[m->n_inputs] = strdup(name);
		if (!m->input[m->n_inputs])
			return err_set(err, "no memory for a session");
	}
	return point_add(m, "(end)", NULL, 0, err) < 0 ? -1 : 0;
}

/* Fields that the caller's version of the options does not have are the default. */
static struct precedent_model_options options_read(const struct precedent_model_options *o)
{
	struct precedent_model_options out = PRECEDENT_MODEL_OPTIONS;

	if (o)
		memcpy(&out, o, o->size < sizeof(out) ? o->size : sizeof(out));
	return out;
}

static int conditions_make(struct precedent_model *m)
{
	pthread_condattr_t attr;
	int rc;

	if (pthread_mutex_init(&m->lock, NULL) || pthread_mutex_init(&m->names_lock, NULL) || pthread_condattr_init(&attr))
		return -1;
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	rc = pthread_cond_init(&m->wake_collect, &attr) || pthread_cond_init(&m->wake_fit, &attr);
	pthread_condattr_destroy(&attr);
	return rc ? -1 : 0;
}

/* Signals are for the program's own threads. */
int session_thread(struct precedent_model *m, void *(*run)(void *))
{
	pthread_attr_t attr;
	sigset_t all, old;
	pthread_t thread;
	int rc = -1;

	if (pthread_attr_init(&attr))
		return -1;
	sigfillset(&all);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	session_ref(m);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&thread, &attr, run, m) ? -1 : 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (rc < 0)
		session_unref(m);
	pthread_attr_destroy(&attr);
	return rc;
}

static void session_enter(struct precedent_model *m)
{
	pthread_mutex_lock(&sessions_lock);
	m->serial = ++serials;
	m->next = sessions;
	sessions = m;
	pthread_mutex_unlock(&sessions_lock);
}

static void session_leave(struct precedent_model *m)
{
	pthread_mutex_lock(&sessions_lock);
	for (struct precedent_model **p = &sessions; *p; p = &(*p)->next)
		if (*p == m) {
			*p = m->next;
			break;
		}
	pthread_mutex_unlock(&sessions_lock);
}

static struct precedent_model *session_make(const struct precedent_model_options *o, struct errbuf *err)
{
	size_t size = (sizeof(struct precedent_model) + RING_ALIGN - 1) / RING_ALIGN * RING_ALIGN;
	struct precedent_model *m = aligned_alloc(RING_ALIGN, size);

	if (!m) {
		err_set(err, "no memory for a session");
		return NULL;
	}
	memset(m, 0, size);
	numbers_set(m, o);
	if (conditions_make(m) < 0) {
		free(m);
		err_set(err, "no memory for a session");
		return NULL;
	}
	if (names_set(m, o, err) < 0) {
		session_free(m);
		return NULL;
	}
	return m;
}

precedent_model *precedent_model_open(const struct precedent_model_options *options, char *why, size_t why_size)
{
	struct precedent_model_options o = options_read(options);
	const char *off = getenv("PRECEDENT_MODEL");
	struct precedent_model *m;
	struct errbuf err;

	text_copy(why, why_size, "");
	if (off && !strcmp(off, "off")) {
		text_copy(why, why_size, "off: PRECEDENT_MODEL=off in the environment");
		return NULL;
	}
	pthread_once(&once, library_start);
	m = session_make(&o, &err);
	if (!m) {
		text_copy(why, why_size, err.text);
		return NULL;
	}
	session_enter(m);
	if (m->path && fitting_load(m, &err) < 0)
		session_trouble(m, err.text);
	if (session_thread(m, collect_main) < 0) {
		text_copy(why, why_size, "no thread can be made to fit models");
		session_leave(m);
		session_unref(m);
		return NULL;
	}
	return m;
}

void precedent_model_close(precedent_model *m)
{
	if (!m || atomic_load(&m->state) == PRECEDENT_MODEL_STATE_FORKED)
		return;
	session_leave(m);
	/* Without the lock: at worst they see it when their rest is over. */
	atomic_store(&m->stop, true);
	pthread_cond_signal(&m->wake_collect);
	pthread_cond_signal(&m->wake_fit);
	session_unref(m);
}

/* ---- status ---- */

static void status_text(const struct precedent_model *m, struct precedent_model_status *s)
{
	const struct trouble *t = atomic_load(&m->trouble);
	char where[48], text[2 * PRECEDENT_MODEL_LINE];

	if (s->core >= 0)
		snprintf(where, sizeof(where), "on core %d", s->core);
	else
		snprintf(where, sizeof(where), "%s", m->normal_priority ? "at normal priority" : "no spare core: at the lowest priority");
	snprintf(text, sizeof(text),
		 "%u fits from %llu runs%s, %llu runs unusable, %llu points dropped, %llu outside of runs, %s%s%s", s->fits,
		 (unsigned long long)s->runs, s->loaded ? " (a loaded model answers)" : "", (unsigned long long)s->unusable,
		 (unsigned long long)s->dropped, (unsigned long long)s->outside, where, t ? "; " : "", t ? t->text : "");
	text_copy(s->text, sizeof(s->text), text);
}

static void status_fill(const struct precedent_model *m, struct precedent_model_status *s)
{
	s->core = atomic_load(&m->core);
	s->fits = atomic_load(&m->fits);
	s->fit_s = atomic_load(&m->fit_s);
	s->loaded = atomic_load(&m->loaded);
	s->points = atomic_load(&m->n_points) - 1;
	s->threads = atomic_load(&m->n_rings);
	s->runs = atomic_load(&m->runs_ever);
	s->unusable = atomic_load(&m->unusable);
	s->dropped = atomic_load(&m->dropped);
	s->outside = atomic_load(&m->outside) + atomic_load(&m->outside_anywhere);
	status_text(m, s);
}

void precedent_model_status(precedent_model *m, struct precedent_model_status *status)
{
	struct precedent_model_status s = PRECEDENT_MODEL_STATUS;
	size_t size = status ? status->size : 0;

	if (size <= offsetof(struct precedent_model_status, text))
		return;
	if (!m) {
		text_copy(s.text, sizeof(s.text), "there is no session");
	} else if (atomic_load(&m->state) == PRECEDENT_MODEL_STATE_FORKED) {
		s.state = PRECEDENT_MODEL_STATE_FORKED;
		s.core = -1;
		text_copy(s.text, sizeof(s.text), "in a child of fork: open a session of its own to mark control points");
	} else {
		s.state = PRECEDENT_MODEL_STATE_ON;
		status_fill(m, &s);
	}
	s.size = size;
	if (size < sizeof(s))
		s.text[size - offsetof(struct precedent_model_status, text) - 1] = 0;
	memcpy(status, &s, size < sizeof(s) ? size : sizeof(s));
}
