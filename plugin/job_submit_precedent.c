/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Slurm's job_submit plugin: converts the job descriptor for decide(), and writes the decision back. It runs inside
 * slurmctld under its locks: it never blocks, never forks and never calls back. Any fault lets the job through
 * unchanged. Configuration and store are checked for changes at most once a second, so slurmctld need not restart.
 * Until precedentd has looked at the queue once, each submission checks them.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clean.h"
#include "common/file_mark.h"
#include "common/inject.h"
#include "common/log.h"
#include "plugin/decide.h"
#include "plugin/slurmctld.h"
#include "predictor/cluster/overtime.h"
#include "predictor/store/limits.h"
#include "predictor/store/places.h"

#define EXPORT	       __attribute__((visibility("default")))
#define CHECK_S	       1

EXPORT const char plugin_name[] = "Precedent: predicts walltimes";
EXPORT const char plugin_type[] = "job_submit/precedent";
EXPORT const uint32_t plugin_version = SLURM_VERSION_NUMBER;

/* Guarded by context_lock: from Slurm 23.02 on, submissions may be concurrent. */
static pthread_mutex_t context_lock = PTHREAD_MUTEX_INITIALIZER;
static struct plugin_context {
	bool configured;
	struct precedent_conf conf;
	struct file_mark conf_mark, store_mark;
	struct store *store;
	bool early; /* precedentd has not looked at the queue yet */
	time_t checked;
	/* Read once per check, since they change slowly. */
	int64_t heartbeat;
	struct store_tracing tracing;
	char *users, *defaults; /* of Only: lists of uids, ONLY_UIDS_MAX bytes each; NULL: not needed so far */
	struct places places; /* copy of the store's table of this generation */
	int64_t places_generation;
	int64_t doors_seen; /* last_part_update of these partitions, or earlier */
	struct decide_memo memo;
	struct decide_load load;
	struct log_gate conf_gate, store_gate, decide_gate;
} ctx;

/* ---- faults ---- */

static void log_once(struct log_gate *gate, const char *text)
{
	if (log_gate_pass(gate, text, time(NULL), 0))
		slurm_error("job_submit/precedent: %s", text);
}

static void recovered(struct log_gate *gate, const char *what)
{
	if (gate->last[0])
		slurm_info("job_submit/precedent: %s", what);
	log_gate_clear(gate);
}

/* ---- configuration and store ---- */

static void drop_store(void)
{
	store_close(ctx.store);
	ctx.store = NULL;
	ctx.heartbeat = 0;
	places_free(&ctx.places);
	ctx.places_generation = ctx.doors_seen = 0;
}

/* If the configuration has an error, the last valid one stays in force. */
static void check_conf(void)
{
	struct precedent_conf fresh;
	struct errbuf err = {""};
	struct file_mark mark;

	file_mark_take(conf_path(NULL), &mark);
	if (ctx.configured && file_mark_same(&mark, &ctx.conf_mark))
		return;
	if (conf_load(NULL, &fresh, &err) < 0) {
		log_once(&ctx.conf_gate, err.text);
		return;
	}
	recovered(&ctx.conf_gate, "configuration is sound again");
	if (ctx.configured && strcmp(ctx.conf.store_file, fresh.store_file))
		drop_store();
	conf_free(&ctx.conf);
	memset(&ctx.load, 0, sizeof(ctx.load)); /* load is indexed by the position of a candidate in the list */
	ctx.conf = fresh;
	ctx.conf_mark = mark;
	ctx.configured = true;
}

static void open_store(const struct file_mark *mark)
{
	struct errbuf err = {""};

	ctx.early = false;
	if (store_open(ctx.conf.store_file, STORE_READ, &ctx.store, &err) == 0) {
		ctx.store_mark = *mark;
		return;
	}
	/* Before precedentd has run once, there is no store. This is no fault. */
	ctx.early = store_last_fault() == STORE_MISSING;
	if (!ctx.early)
		log_once(&ctx.store_gate, err.text);
}

/* The table has some hundred rows and is read after precedentd changes it: below a millisecond, once per
 * PollInterval. */
static int check_places(struct errbuf *err)
{
	int64_t generation;

	/* Read this time first, so that the data read next are at least as recent. */
	if (store_doors_seen(ctx.store, &ctx.doors_seen, err) < 0)
		return -1;
	if (store_places_generation(ctx.store, &generation, err) < 0)
		return -1;
	if (generation == ctx.places_generation)
		return 0;
	ctx.places_generation = generation;
	return store_places_load(ctx.store, PLACES_WAITS_MAX, &ctx.places, err);
}

/* The uids of Only, as precedentd looked them up. Without precedentd nobody is admitted by name. */
static int check_only(struct errbuf *err)
{
	if (!ctx.conf.n_only)
		return 0;
	ctx.users = ctx.users ? ctx.users : calloc(1, ONLY_UIDS_MAX);
	ctx.defaults = ctx.defaults ? ctx.defaults : calloc(1, ONLY_UIDS_MAX);
	if (!ctx.users || !ctx.defaults)
		return err_set(err, "no memory for the users of Only");
	*ctx.users = *ctx.defaults = '\0';
	return store_meta_get(ctx.store, STORE_ONLY_USERS, ctx.users, ONLY_UIDS_MAX, err) < 0 ||
			       store_meta_get(ctx.store, STORE_ONLY_DEFAULTS, ctx.defaults, ONLY_UIDS_MAX, err) < 0
		       ? -1 : 0;
}

static void check_store(void)
{
	struct errbuf err = {""};
	struct file_mark mark;
	bool there = file_mark_take(ctx.conf.store_file, &mark);

	if (ctx.store && (!there || !file_mark_same_inode(&mark, &ctx.store_mark)))
		drop_store();
	if (!ctx.store)
		open_store(&mark);
	if (!ctx.store)
		return;
	/* A damaged store can still be opened, so it counts as working only when it answers. */
	if (store_heartbeat_get(ctx.store, &ctx.heartbeat, &err) < 0 || store_tracing_get(ctx.store, &ctx.tracing, &err) < 0 ||
	    store_index_check(ctx.store, &err) < 0 || check_places(&err) < 0 || check_only(&err) < 0) {
		log_once(&ctx.store_gate, err.text);
		drop_store();
	} else {
		ctx.early = ctx.heartbeat == 0;
		recovered(&ctx.store_gate, "store is readable again");
	}
}

static void check_files(time_t now)
{
	/* Until then a check is cheap, and a job that is submitted right after precedentd's first look is traced. */
	if (ctx.checked && !ctx.early && now >= ctx.checked && now - ctx.checked < CHECK_S)
		return;
	ctx.checked = now;
	check_conf();
	if (ctx.configured)
		check_store();
}

/* Guarded by context_lock too, because of its room. */
static struct decide_source source = {
    .reads = &decide_reads_store,
    .memo = &ctx.memo,
    .places = &ctx.places,
    .load = &ctx.load,
};

/* ---- descriptor to input ---- */

static uint32_t number32(uint32_t v)
{
	return v == NO_VAL || v == INFINITE ? 0 : v;
}

static uint32_t number16(uint16_t v)
{
	return v == NO_VAL16 || v == INFINITE16 ? 0 : v;
}

static uint32_t minutes(uint32_t v)
{
	if (v == NO_VAL)
		return DURATION_UNSET;
	return v == INFINITE ? DURATION_UNLIMITED : v;
}

static bool text_given(const char *text)
{
	return text && *text;
}

static bool given16(uint16_t v)
{
	return v && v != NO_VAL16 && v != INFINITE16;
}

/* Does the job ask for resources that are in neither key nor shape, but decide where it can run? */
static bool asks_more(const job_desc_msg_t *d)
{
	return text_given(d->tres_per_job) || text_given(d->tres_per_node) || text_given(d->tres_per_socket) || text_given(d->tres_per_task) ||
	       text_given(d->cpus_per_tres) || text_given(d->mem_per_tres) || text_given(d->licenses) || text_given(d->burst_buffer) ||
	       text_given(d->cluster_features) || text_given(d->network) || given16(d->core_spec) || given16(d->boards_per_node) ||
	       given16(d->sockets_per_node) || given16(d->threads_per_core) || number32(d->pn_min_tmp_disk) != 0;
}

static bool starts_later(const job_desc_msg_t *d, time_t now)
{
	return d->begin_time > now || text_given(d->dependency) || d->priority == 0;
}

static bool watches_limit(const job_desc_msg_t *d)
{
	const uint16_t mails = MAIL_JOB_TIME100 | MAIL_JOB_TIME90 | MAIL_JOB_TIME80 | MAIL_JOB_TIME50;

	return given16(d->warn_signal) || (d->deadline && d->deadline != NO_VAL) || text_given(d->reservation) ||
	       (d->mail_type != NO_VAL16 && d->mail_type & mails);
}

static void read_place(const job_desc_msg_t *d, time_t now, struct decide_input *in)
{
	in->account = d->account;
	in->qos = d->qos;
	in->memory = d->pn_min_memory == NO_VAL64 ? 0 : d->pn_min_memory;
	in->exclusive = d->shared == JOB_SHARED_NONE;
	in->more = asks_more(d);
	in->later = starts_later(d, now);
	in->array_inx = d->array_inx;
	in->array = text_given(d->array_inx) && strpbrk(d->array_inx, ",-") != NULL;
	in->pinned = text_given(d->req_nodes) || text_given(d->exc_nodes) || text_given(d->reservation) || text_given(d->clusters);
}

static void read_descriptor(const job_desc_msg_t *desc, uint32_t submit_uid, time_t now,
			    struct decide_input *in)
{
	bool args = desc->argv && desc->argc > 1 && desc->argc != NO_VAL;

	*in = (struct decide_input){
	    .uid = desc->user_id == NO_VAL ? submit_uid : desc->user_id,
	    .privileged = submit_uid == 0 || submit_uid == geteuid(),
	    .script = desc->script,
	    .args = args ? desc->argv + 1 : NULL, /* argv[0] is the script's name */
	    .n_args = args ? desc->argc - 1 : 0,
	    .spank_env = desc->spank_job_env,
	    .n_spank_env = desc->spank_job_env ? number32(desc->spank_job_env_size) : 0,
	    .work_dir = desc->work_dir,
	    .name = desc->name,
	    .command = desc->submit_line,
	    .partition = desc->partition,
	    .features = desc->features,
	    .admin_comment = desc->admin_comment,
	    .test_only = compat_test_only(desc),
	    .layout =
		{
		    .nodes_min = number32(desc->min_nodes),
		    .nodes_max = number32(desc->max_nodes),
		    .tasks = number32(desc->num_tasks),
		    .tasks_per_node = number16(desc->ntasks_per_node),
		    .cpus_per_task = number16(desc->cpus_per_task),
		    .cpus_min = number32(desc->min_cpus),
		},
	    .time_limit_min = minutes(desc->time_limit),
	    .time_min_min = desc->time_min ? minutes(desc->time_min) : DURATION_UNSET,
	    .warn_time_s = desc->warn_signal && desc->warn_signal != NO_VAL16 ? number16(desc->warn_time) : 0,
	    .watches_limit = watches_limit(desc),
	    .deadline = desc->deadline && desc->deadline != NO_VAL,
	    .het = desc->het_job_offset != NO_VAL,
	    .now = now,
	};
	read_place(desc, now, in);
}

/* ---- decision to descriptor ---- */

static void replace_string(char **field, const char *text)
{
	char *copy = slurm_xstrdup(text);

	if (!copy)
		return;
	compat_free(*field);
	*field = copy;
}

static void append_string(char **field, const char *separator, const char *text)
{
	char *joined = NULL;

	if (!text_given(*field)) {
		replace_string(field, text);
		return;
	}
	if (asprintf(&joined, "%s%s%s", *field, separator, text) < 0)
		return;
	replace_string(field, joined);
	free(joined);
}

/* Set a variable of the job. Where it is not wanted (unset), only an inherited value is replaced. */
static void set_variable(job_desc_msg_t *desc, const char *name, const char *value, const char *unset)
{
	uint32_t n = desc->environment ? number32(desc->env_size) : 0;
	char **env, text[96];

	snprintf(text, sizeof(text), "%s=%s", name, value ? value : unset);
	for (uint32_t i = 0; i < n; i++) {
		if (desc->environment[i] && !strncmp(desc->environment[i], text, strlen(name) + 1)) {
			replace_string(&desc->environment[i], text);
			return;
		}
	}
	if (!value || !n)
		return;
	env = desc->environment;
	if (!compat_resize(env, (size_t)n + 2))
		return;
	env[n] = slurm_xstrdup(text);
	env[n + 1] = NULL;
	desc->environment = env;
	desc->env_size = n + 1;
}

/* Mark the environment for tracing, and tell it the limits. An inner job inherits neither from an outer job. */
static void mark_environment(job_desc_msg_t *desc, const struct decision *d)
{
	char limits[32];

	snprintf(limits, sizeof(limits), "%u:%u", d->wish.asked_min, d->wish.limit_min);
	set_variable(desc, INJECT_MARK, d->trace ? "1" : NULL, "0");
	set_variable(desc, INJECT_LIMITS, d->lowers && d->wish.asked_min != DURATION_UNLIMITED ? limits : NULL, "");
}

static void write_descriptor(job_desc_msg_t *desc, const struct decision *d, char **err_msg)
{
	char comment[COMMENT_TEXT_MAX], message[DECIDE_MESSAGE_MAX];

	mark_environment(desc, d);
	if (d->act == ACT_NONE)
		return;
	if (d->set_partition)
		replace_string(&desc->partition, d->partition);
	if (d->set_features)
		replace_string(&desc->features, d->features);
	if (comment_format(&d->comment, comment, sizeof(comment)) > 0)
		append_string(&desc->admin_comment, " | ", comment);
	if (d->message[0] && err_msg)
		append_string(err_msg, "\n", clean_copy(message, sizeof(message), d->message));
}

/* ---- entry points ---- */

/* Returns 0 with a decision, or -1 if the job must pass unchanged. */
static int decide_locked(const struct decide_input *in, struct decision *out)
{
	struct errbuf err = {""};

	check_files(in->now);
	if (!ctx.configured || !ctx.store)
		return -1;
	if (!source.room)
		source.room = decide_room_create();
	source.store = ctx.store;
	source.heartbeat = ctx.heartbeat;
	/* Has slurmctld changed a partition since the table was read? */
	source.doors_old = &last_part_update && last_part_update >= ctx.doors_seen;
	source.soft_works = soft_limit_works(SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER), SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER),
					     &slurm_conf ? slurm_conf.schedtype : NULL, &slurm_conf ? slurm_conf.sched_params : NULL);
	source.only = (struct only_uids){ctx.users, ctx.defaults};
	source.stopped = ctx.tracing.state == TRACING_STOPPED;
	if (decide(in, &ctx.conf, &source, out, &err) == 0) {
		recovered(&ctx.decide_gate, "store answers again");
		return 0;
	}
	log_once(&ctx.decide_gate, err.text);
	/*
	 * A lock is temporary. After any other fault, the next check opens a new connection.
	 */
	if (store_last_fault() != STORE_LOCKED)
		drop_store();
	return -1;
}

EXPORT int job_submit(job_desc_msg_t *desc, uint32_t submit_uid, char **err_msg)
{
	struct decide_input in;
	struct decision out;
	int rv, errno_before = errno;

	if (!desc)
		return SLURM_SUCCESS;
	read_descriptor(desc, submit_uid, time(NULL), &in);
	pthread_mutex_lock(&context_lock);
	rv = decide_locked(&in, &out);
	pthread_mutex_unlock(&context_lock);
	if (rv == 0)
		write_descriptor(desc, &out, err_msg);
	errno = errno_before; /* see job_modify */
	return SLURM_SUCCESS;
}

static uint32_t modified_job(const job_desc_msg_t *desc)
{
	if (number32(COMPAT_JOB_ID(desc)))
		return COMPAT_JOB_ID(desc);
	return desc->job_id_str ? (uint32_t)strtoul(desc->job_id_str, NULL, 10) : 0;
}

/* Has precedentd changed what this job is planned with? */
static bool is_changed(uint32_t jobid, struct store_limit *row)
{
	struct errbuf err = {""};
	bool changed = false;

	pthread_mutex_lock(&context_lock);
	check_files(time(NULL));
	if (ctx.store)
		changed = store_limit_get(ctx.store, jobid, row, &err) == 1 && row->set_min != DURATION_UNSET;
	pthread_mutex_unlock(&context_lock);
	return changed;
}

/*
 * slurmctld refuses a limit below the job's time_min. Where that is ours, it goes: a limit that somebody changes is his.
 *
 * A job that goes to another partition, QOS or account takes its user's limit along. OverTimeLimit may be shorter there. Nor does
 * slurmctld compare a limit that SlurmUser has set with MaxTime or MaxWall. Nothing else is touched.
 *
 * errno too: without accounting, slurmctld 24.11 takes a left errno for the result of a request that changes the partition.
 */
EXPORT COMPAT_JOB_MODIFY(desc, job, uid)
{
	bool has_limit, moves, changed;
	int errno_before = errno;
	struct store_limit row;

	(void)job;
	(void)uid;
	COMPAT_JOB_MODIFY_UNUSED;
	has_limit = desc && desc->time_limit != NO_VAL && desc->time_min == NO_VAL;
	moves = desc && desc->time_limit == NO_VAL && (desc->partition || desc->qos || desc->account);
	changed = (has_limit || moves) && is_changed(modified_job(desc), &row);
	errno = errno_before;
	if (changed && has_limit && row.soft)
		desc->time_min = 0;
	if (changed && moves && !row.soft)
		desc->time_limit = row.asked_min;
	return SLURM_SUCCESS;
}

EXPORT int init(void)
{
	pthread_mutex_lock(&context_lock);
	check_files(time(NULL));
	slurm_info("job_submit/precedent %s: %s", PRECEDENT_VERSION,
		   ctx.configured ? (ctx.conf.file ? ctx.conf.file : "no configuration file, defaults")
				  : "configuration has an error, jobs pass unchanged");
	pthread_mutex_unlock(&context_lock);
	return SLURM_SUCCESS;
}

EXPORT int fini(void)
{
	pthread_mutex_lock(&context_lock);
	drop_store();
	decide_room_destroy(source.room);
	source.room = NULL;
	conf_free(&ctx.conf);
	free(ctx.users);
	free(ctx.defaults);
	memset(&ctx, 0, sizeof(ctx));
	pthread_mutex_unlock(&context_lock);
	return SLURM_SUCCESS;
}
