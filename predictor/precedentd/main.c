/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * precedentd: options, signals and the loop. Each look loads the jobs from slurmctld, follows limits, jobs, probes and estimates
 * (predictor/follow/follow.c), and says "alive" in the store. Neither a dead slurmctld nor a broken store
 * ends it: it says so once and goes on trying.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/file_mark.h"
#include "common/log.h"
#include "predictor/limits/raise.h"
#include "predictor/follow/clock_set.h"
#include "predictor/follow/follow.h"
#include "predictor/learn/trial_follow.h"
#include "predictor/follow/poll_interval.h"
#include "predictor/precedentd/daemon.h"
#include "predictor/query/query.h"
#include "predictor/follow/poll_cache.h"
#include "predictor/limits/lower.h"
#include "predictor/limits/proof.h"
#include "predictor/cluster/slurm_conf.h"
#include "predictor/probe/probes.h"
#include "predictor/spool/in_time.h"
#include "predictor/store/busy.h"
#include "predictor/store/keep.h"
#include "predictor/store/limits.h"

#define BACKOFF_MAX_S	 60
#define ANY_ADDRESS	 "0.0.0.0" /* as slurmctld listens */
#define PRUNE_INTERVAL_S 3600
#define ONLY_INTERVAL_S	 60
#define PRUNE_ROWS	 500 /* looked at in one look, so that it stays short */
#define FAULT_REPEAT_S	 600
#define FORGOTTEN_KEEP_S (7 * 86400) /* longer than slurmctld remembers ended jobs (MinJobAge) */

static pthread_rwlock_t conf_lock = PTHREAD_RWLOCK_INITIALIZER;
static struct precedent_conf conf; /* under conf_lock; written by the main thread only */

const struct precedent_conf *daemon_conf_hold(void)
{
	pthread_rwlock_rdlock(&conf_lock);
	return &conf;
}

void daemon_conf_release(void)
{
	pthread_rwlock_unlock(&conf_lock);
}

struct daemon {
	const char *conf_arg; /* as given by --conf, NULL */
	char *conf_file;      /* the same as an absolute path, for the trigger's program */
	struct file_mark conf_mark;
	struct slurm_conf slurm_conf;
	struct store *store;
	struct start_forecast *forecast;
	struct poll_cache *cache; /* NULL: no memory for one */
	struct limit_lower *lower;
	struct probes_turn probes;
	struct limit_proof *proof;
	struct log_gate slurm_gate, store_gate, index_gate, interval_gate, spool_gate;
	struct poll_interval interval;
	int64_t clock_set_by; /* slurmctld's; not in the store yet */
	int64_t only_asked; /* 0: the configuration has changed */
	bool slurm_down, store_down;
	unsigned failures; /* looks in a row without slurmctld */
	int64_t pruned;
	struct store_pruning pruning; /* under way unless it is done */
	int lock_fd;
	struct job_counts counts;
};

/* ---- options ---- */

static void help(void)
{
	puts("Usage: precedentd [--foreground] [--conf FILE] [--verbose]\n\n"
	     "Follows the jobs of this cluster, probes traced jobs on the candidate partitions, keeps the\n"
	     "predictions, and shortens limits as LimitGuard allows. Runs as SlurmUser or root.\n\n"
	     "      --foreground  log with time stamps, for a terminal (default: for systemd's journal)\n"
	     "      --conf FILE   configuration (default $PRECEDENT_CONF, else " CONF_DEFAULT_FILE ")\n"
	     "      --verbose     say more\n"
	     "      --extend JOB  raise this job's limit to its user's own, if Precedent has shortened it, and end;\n"
	     "                    slurmctld runs this by itself for a job near its limit\n"
	     "      --backup FILE copy the store to FILE, of one instant, while precedentd runs, and end\n"
	     "  -V, --version     print the version\n"
	     "  -h, --help        this text\n\n"
	     "A changed configuration is read at the next look, with SIGHUP at once. SIGTERM ends.");
}

struct options {
	const char *conf, *backup;
	bool foreground, verbose;
	uint32_t extend;
	bool has_extend;
};

/* -1: go on; else the exit code. */
static int options_parse(int argc, char **argv, struct options *o)
{
	static const struct option known[] = {{"foreground", no_argument, NULL, 'f'},
					      {"conf", required_argument, NULL, 'c'},
					      {"verbose", no_argument, NULL, 'v'},
					      {"extend", no_argument, NULL, 'x'},
					      {"backup", required_argument, NULL, 'b'},
					      {"version", no_argument, NULL, 'V'},
					      {"help", no_argument, NULL, 'h'},
					      {0}};
	char *end;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "hV", known, NULL)) != -1) {
		switch (c) {
		case 'f':
			o->foreground = true;
			break;
		case 'c':
			o->conf = optarg;
			break;
		case 'v':
			o->verbose = true;
			break;
		case 'b':
			o->backup = optarg;
			break;
		case 'x':
			o->has_extend = true;
			break;
		case 'V':
			puts("precedentd " PRECEDENT_VERSION);
			return 0;
		case 'h':
			help();
			return 0;
		default:
			fprintf(stderr, "precedentd: bad option '%s'; try 'precedentd --help'\n", argv[optind - 1]);
			return 2;
		}
	}
	if (o->has_extend && optind < argc) {
		unsigned long id = strtoul(argv[optind], &end, 10);

		if (*end || !id || id > UINT32_MAX) {
			fprintf(stderr, "precedentd: '%s' is not a job id\n", argv[optind]);
			return 2;
		}
		o->extend = (uint32_t)id;
		optind++;
	}
	if (optind < argc || (o->has_extend && !o->extend)) {
		fprintf(stderr, "precedentd: %s%s%s; try 'precedentd --help'\n", optind < argc ? "unexpected argument '" : "--extend needs a job id",
			optind < argc ? argv[optind] : "", optind < argc ? "'" : "");
		return 2;
	}
	return -1;
}

/* ---- the store ---- */

static void store_fault(struct daemon *d, const char *text)
{
	if (log_gate_pass(&d->store_gate, text, time(NULL), FAULT_REPEAT_S))
		log_error("store: %s; nothing is done until it is in order", text);
	d->store_down = true;
}

/* Opened anew after every fault: somebody may have made room or moved a damaged file away. */
static struct store *store_ready(struct daemon *d)
{
	struct errbuf why;

	if (d->store)
		return d->store;
	slurm_side_partitions_again();
	if (store_open(conf.store_file, STORE_WRITE | STORE_WAIT, &d->store, &why) < 0) {
		store_fault(d, why.text);
		return NULL;
	}
	return d->store;
}

static void store_dropped(struct daemon *d, const char *text)
{
	store_fault(d, text);
	if (d->store)
		store_rollback(d->store);
	store_close(d->store);
	d->store = NULL;
	poll_cache_forget(d->cache); /* it is of that connection */
}

/* ---- one look ---- */

static void log_line(enum log_level level, const char *line)
{
	log_msg(level, "%s", line);
}

/* Without it slurmctld asks the store itself: that is no fault. */
static void index_renew(struct daemon *d)
{
	struct errbuf why;
	int rv = store_index_renew(d->store, &why);

	if (rv < 0 && log_gate_pass(&d->index_gate, why.text, time(NULL), FAULT_REPEAT_S))
		log_warn("no index of the store, submissions take slurmctld longer: %s", why.text);
	if (rv > 0)
		log_info("the store's index was built");
	if (rv >= 0)
		log_gate_clear(&d->index_gate);
}

static int look_store(struct daemon *d, const struct daemon_env *env, const struct cluster_snapshot *snap, int64_t now,
		      struct errbuf *errp)
{
	if (slurm_side_partitions(d->store, errp) < 0 ||
	    store_limits_note_set(d->store, STORE_LIMITS_RULES, conf_guard(&conf, slurm_side_soft_works()) == GUARD_SOFT ? "" : slurm_side_rules(),
				  errp) < 0)
		return -1;
	if (now - d->only_asked >= ONLY_INTERVAL_S || now < d->only_asked) {
		d->only_asked = now;
		if (only_renew(d->store, &conf, errp) < 0)
			return -1;
	}
	if (now - d->pruned >= PRUNE_INTERVAL_S) {
		d->pruned = now;
		if (d->pruning.done)
			d->pruning = (struct store_pruning){0};
		if (store_forgotten_prune(d->store, now - FORGOTTEN_KEEP_S, errp) < 0 || trial_judge_tracing(env, now, errp) < 0)
			return -1;
		if (conf.retention_s)
			sweep_start(&conf, snap, now);
	}
	if (conf.retention_s && !d->pruning.done) {
		int n = store_prune_step(d->store, now - (int64_t)conf.retention_s, PRUNE_ROWS, &d->pruning, errp);

		if (n < 0)
			return -1;
		if (n)
			log_info("%d runs or programs older than the retention time dropped", n);
	}
	if (sweep_note(d->store, now, errp) < 0)
		return -1;
	index_renew(d);
	return store_heartbeat_set(d->store, now, errp);
}

static void slurm_fault(struct daemon *d, const char *text)
{
	if (log_gate_pass(&d->slurm_gate, text, time(NULL), 0))
		log_error("%s; trying again", text);
	d->slurm_down = true;
	limit_lower_doubt(d->lower);
	d->failures++;
}

/* Of this thread: answers and metrics have their own. */
static double cpu_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void interval_set(struct daemon *d, double cost_s, size_t jobs, int64_t now)
{
	uint32_t before = d->interval.period_s, poll_s = conf.poll_interval_s ? conf.poll_interval_s : 1;

	poll_interval_next(&d->interval, cost_s, poll_s, poll_interval_most(poll_s, conf.heartbeat_timeout_s, slurm_side_min_job_age()));
	if (d->interval.period_s > poll_s && before <= poll_s && log_gate_pass(&d->interval_gate, "", now, FAULT_REPEAT_S))
		log_info("%zu jobs, %.0f ms of processor time for each look: the next ones come less often than every %u s", jobs,
			 1e3 * d->interval.cost_s, poll_s);
}

static void spool_say(struct daemon *d)
{
	if (spool_is_silent()) {
		if (log_gate_pass(&d->spool_gate, "silent", time(NULL), FAULT_REPEAT_S))
			log_error("SpoolDir %s does not answer: traces and records of probes wait for it", conf.spool_dir);
	} else if (d->spool_gate.last[0]) {
		log_info("SpoolDir %s answers again", conf.spool_dir);
		log_gate_clear(&d->spool_gate);
	}
}

/* slurmctld's clock was set. A wrong clock must not make a month of runs older than Retention at once. */
static void clock_set(struct daemon *d, int64_t now, int64_t by)
{
	log_warn("slurmctld's clock was set %s by %lld s: nothing is learned from the times of jobs that ran then",
		 by > 0 ? "forward" : "back", (long long)(by > 0 ? by : -by));
	d->clock_set_by += by;
	d->pruned = now;
	d->pruning.done = true;
}

static int clock_note(struct daemon *d, int64_t now, struct errbuf *errp)
{
	if (!d->clock_set_by || !d->store)
		return 0;
	if (clock_set_note(d->store, now, d->clock_set_by, errp) < 0)
		return -1;
	d->clock_set_by = 0;
	return 0;
}

/* False when slurmctld or the store failed. */
static bool look_once(struct daemon *d, size_t *jobs)
{
	const struct cluster_snapshot *snap;
	int64_t now, set_by;
	struct errbuf why = {""};
	struct daemon_env env = {.conf = &conf, .store = store_ready(d), .ops = slurm_side_ops(d->conf_file), .say = log_line,
				 .counts = &d->counts};
	struct follow_memory memory = {d->cache, d->lower, d->proof, &d->probes};
	double begun = cpu_s();

	if (slurm_side_clock(&now, &set_by, &why) < 0 || slurm_side_jobs(&snap, &why) < 0) {
		slurm_fault(d, why.text);
		return false;
	}
	if (set_by)
		clock_set(d, now, set_by);
	interval_set(d, cpu_s() - begun, snap->n, now);
	env.period_s = d->interval.period_s;
	if (d->slurm_down) {
		log_info("slurmctld answers again");
		log_gate_clear(&d->slurm_gate);
		d->slurm_down = false;
	}
	d->failures = 0;
	*jobs = snap->n;
	/* The heartbeat says that limits are followed, so it comes after a look, and only then. */
	if (clock_note(d, now, &why) < 0 || follow_poll(&env, &memory, snap, now, &why) < 0 || (env.store && look_store(d, &env, snap, now, &why) < 0) ||
	    start_forecast_poll(d->forecast, &env, slurm_side_forecast(), snap, now, &why) < 0) {
		store_dropped(d, why.text);
		return false;
	}
	spool_say(d);
	if (d->store_down && env.store) {
		log_info("the store is in order again");
		log_gate_clear(&d->store_gate);
		d->store_down = false;
	}
	return env.store != NULL;
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static unsigned pause_s(const struct daemon *d)
{
	unsigned s = conf.poll_interval_s > d->interval.period_s ? conf.poll_interval_s : d->interval.period_s;

	s = s ? s : 1;
	for (unsigned i = 1; i < d->failures && s < BACKOFF_MAX_S; i++)
		s *= 2;
	return d->failures > 1 && s > BACKOFF_MAX_S && conf.poll_interval_s < BACKOFF_MAX_S ? BACKOFF_MAX_S : s;
}

static void queue_poll(struct daemon *d)
{
	double begun = now_s();
	size_t jobs = 0;
	bool good = look_once(d, &jobs);

	metrics_look(now_s() - begun, good, jobs, pause_s(d), &d->counts);
}

/* ---- configuration ---- */

static void candidates_check(void)
{
	char a[RESULT_NAME_SIZE], b[RESULT_NAME_SIZE];

	for (size_t i = 0; i < conf.n_candidates; i++) {
		result_candidate_name(conf.candidates[i].name, a, sizeof(a));
		for (size_t j = 0; j < i; j++) {
			result_candidate_name(conf.candidates[j].name, b, sizeof(b));
			if (!strcmp(a, b))
				log_error("candidates %s and %s are both %s in file names: rename one of them",
					  conf.candidates[i].name, conf.candidates[j].name, a);
		}
	}
}

static void reload(struct daemon *d)
{
	struct precedent_conf fresh = {0}, old;
	struct errbuf why;

	if (conf_load(d->conf_arg, &fresh, &why) < 0) {
		log_error("%s; the configuration stays as it was", why.text);
		return;
	}
	if (strcmp(fresh.state_dir, conf.state_dir) || strcmp(fresh.listen_host, conf.listen_host) ||
	    fresh.listen_port != conf.listen_port || strcmp(fresh.metrics_file, conf.metrics_file) ||
	    strcmp(fresh.metrics_host, conf.metrics_host) || fresh.metrics_port != conf.metrics_port)
		log_warn("StateDir, ListenHost, ListenPort and Metrics* change at the next start of precedentd only");
	pthread_rwlock_wrlock(&conf_lock);
	old = conf;
	conf = fresh;
	pthread_rwlock_unlock(&conf_lock);
	conf_free(&old);
	poll_cache_forget(d->cache); /* candidates may be others */
	d->only_asked = 0;
	candidates_check();
	log_info("configuration read again from %s", conf.file ? conf.file : "nowhere: the defaults");
}

/* Since this was asked last. So a configuration with an error is refused once, and not again until it is changed. */
static bool conf_has_changed(struct daemon *d)
{
	struct file_mark before = d->conf_mark;

	file_mark_take(conf_path(d->conf_arg), &d->conf_mark);
	return !file_mark_same(&before, &d->conf_mark);
}

/* ---- start ---- */

static int user_check(const struct slurm_conf *slurm_conf)
{
	if (geteuid() == 0 || geteuid() == slurm_conf->slurm_uid)
		return 0;
	return log_error("must run as SlurmUser (%s) or root: it submits jobs for users", slurm_conf->slurm_user), -1;
}

static int state_lock(struct daemon *d)
{
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s/precedentd.lock", conf.state_dir);

	if (n < 0 || (size_t)n >= sizeof(path))
		return log_error("StateDir is too long"), -1;
	if (mkdir(conf.state_dir, 0750) < 0 && errno != EEXIST)
		return log_error("%s: cannot be made: %s", conf.state_dir, strerror(errno)), -1;
	d->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (d->lock_fd < 0)
		return log_error("%s: %s; StateDir must belong to %s", path, strerror(errno), d->slurm_conf.slurm_user), -1;
	if (flock(d->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return log_error("another precedentd runs already (%s is locked)", path), -1;
	return 0;
}

static int daemon_start(struct daemon *d)
{
	struct errbuf why;

	query_munge_socket(d->slurm_conf.munge_socket);
	if (user_check(&d->slurm_conf) < 0 || state_lock(d) < 0)
		return -1;
	if (geteuid() == 0 && d->slurm_conf.slurm_uid != 0 && d->slurm_conf.slurm_uid != (uid_t)-1)
		log_warn("runs as root; SlurmUser (%s) is enough, and the plugin reads the store as that user",
			 d->slurm_conf.slurm_user);
	candidates_check();
	if (serve_start(*conf.listen_host ? conf.listen_host : ANY_ADDRESS, conf.listen_port, conf.store_file, d->slurm_conf.slurm_uid, &why) < 0)
		return log_error("%s", why.text), -1;
	if (metrics_start(&conf, &why) < 0)
		return log_error("%s", why.text), -1;
	log_info("precedentd " PRECEDENT_VERSION " started: mode %s, %zu candidate%s, %s, queries on %s:%u",
		 mode_name(conf.mode), conf.n_candidates, conf.n_candidates == 1 ? "" : "s",
		 conf.file ? conf.file : "no configuration file", *conf.listen_host ? conf.listen_host : ANY_ADDRESS, conf.listen_port);
	return 0;
}

/* ---- loop ---- */

static void run(struct daemon *d, const sigset_t *signals)
{
	for (;;) {
		struct timespec wait = {0};
		int sig;

		queue_poll(d);
		wait.tv_sec = pause_s(d);
		sig = sigtimedwait(signals, NULL, &wait);
		if (sig > 0 && sig != SIGHUP) {
			log_info("ends on signal %d", sig);
			return;
		}
		if (conf_has_changed(d) || sig == SIGHUP)
			reload(d);
	}
}

static int limit_raise_job(uint32_t job_id)
{
	struct errbuf why;

	log_open("precedentd", LOG_TARGET_SYSLOG, LOG_LEVEL_INFO);
	slurm_side_init();
	if (slurm_side_raise_limit(job_id, &why) < 0) {
		log_error("job %u: limit cannot be raised: %s", job_id, why.text);
		return 1;
	}
	log_info("job %u: near its limit, seen by slurmctld's trigger", job_id);
	return 0;
}

static int backup(const char *to)
{
	struct errbuf why;

	if (store_backup(conf.store_file, to, &why) < 0) {
		fprintf(stderr, "precedentd: backup: %s\n", why.text);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct daemon d = {.lock_fd = -1};
	struct options o = {0};
	struct errbuf why;
	sigset_t signals;
	int rc = options_parse(argc, argv, &o);

	if (rc >= 0)
		return rc;
	signal(SIGPIPE, SIG_IGN);
	if (o.conf)
		setenv("PRECEDENT_CONF", o.conf, 1);
	if (o.has_extend)
		return limit_raise_job(o.extend);
	log_open("precedentd", o.foreground || isatty(STDERR_FILENO) ? LOG_TARGET_STDERR : LOG_TARGET_STDERR_PLAIN,
		 o.verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO);
	file_mark_take(conf_path(o.conf), &d.conf_mark);
	if (conf_load(o.conf, &conf, &why) < 0) {
		log_error("%s", why.text);
		return 1;
	}
	if (o.backup) {
		rc = backup(o.backup);
		conf_free(&conf);
		log_close();
		return rc;
	}
	d.conf_arg = o.conf;
	d.conf_file = realpath(conf_path(o.conf), NULL);
	if (!d.conf_file)
		d.conf_file = strdup(conf_path(o.conf));
	slurm_conf_load(&d.slurm_conf);
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &signals, NULL); /* before any thread: all inherit it */
	slurm_side_init();
	d.forecast = start_forecast_create();
	d.cache = poll_cache_create();
	d.lower = limit_lower_create();
	d.proof = limit_proof_create();
	rc = !d.forecast || !d.lower || !d.proof || daemon_start(&d) < 0;
	if (!rc)
		run(&d, &signals);
	sweep_stop();
	metrics_stop();
	serve_stop();
	store_close(d.store);
	start_forecast_destroy(d.forecast);
	poll_cache_destroy(d.cache);
	limit_lower_destroy(d.lower);
	limit_proof_destroy(d.proof);
	if (d.lock_fd >= 0)
		close(d.lock_fd);
	free(d.conf_file);
	conf_free(&conf);
	log_close();
	return rc;
}
