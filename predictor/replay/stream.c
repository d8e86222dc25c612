/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See stream.h. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/array.h"
#include "common/comment.h"
#include "common/duration.h"
#include "common/hash_table.h"
#include "predictor/cluster/overtime.h"
#include "predictor/history/sacct.h"
#include "predictor/replay/stream.h"

#define MACHINE_MAX (1 << 24)		 /* processors; the largest machines have 2^23 */
#define TIME_MAX_S  ((int64_t)1 << 40)	 /* sums of such times stay far from overflow */
#define LIMIT_MAX   OVERTIME_UNLIMITED	 /* minutes: "unlimited" is a year, as slurmctld has it */
#define HOUR_MIN    60

struct item {
	struct sim_job sim;
	struct stream_job about;
	int64_t start_s; /* as it really was */
	uint32_t nodes, cpus; /* 0: not told */
};

struct reading {
	struct item *item;
	size_t n, room;
	struct stream *out;
	struct hash_table texts;
};

/* ---- texts ---- */

/* Returns the index of the text, or HASH_TABLE_NONE if memory runs out. */
static uint32_t text_index(struct reading *r, const char *text)
{
	struct stream *s = r->out;
	uint64_t hash = XXH3_64bits(text, strlen(text));
	uint32_t at, i;
	char *copy;

	HASH_TABLE_FOR_EACH(&r->texts, hash, at, i)
		if (!strcmp(s->text[i], text))
			return i;
	if (ARRAY_ROOM(s->text, s->text_room, s->n_text + 1) < 0 || !(copy = strdup(text)))
		return HASH_TABLE_NONE;
	s->text[s->n_text] = copy;
	return hash_table_add(&r->texts, hash, s->n_text) < 0 ? (free(copy), HASH_TABLE_NONE) : s->n_text++;
}

static int text_keep(struct reading *r, const char *text, const char **out)
{
	uint32_t i = text_index(r, text);

	*out = i == HASH_TABLE_NONE ? "" : r->out->text[i];
	return i == HASH_TABLE_NONE ? -1 : 0;
}

/* Names a program without a digit: a number in a script counts as an input of the program. */
static int letters_keep(struct reading *r, const char *text, const char **out)
{
	char letters[64];
	size_t n = 0;

	for (; text[n] && n < sizeof(letters) - 1; n++)
		letters[n] = text[n] >= '0' && text[n] <= '9' ? (char)(text[n] - '0' + 'g') : text[n]; /* hex has a to f */
	letters[n] = '\0';
	return text_keep(r, letters, out);
}

static struct item *item_add(struct reading *r)
{
	if (ARRAY_ROOM(r->item, r->room, r->n + 1) < 0)
		return NULL;
	memset(&r->item[r->n], 0, sizeof(*r->item));
	return &r->item[r->n++];
}

/* ---- the stream of all items ---- */

static int by_submission(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->sim.submit_s != y->sim.submit_s)
		return x->sim.submit_s < y->sim.submit_s ? -1 : 1;
	return x->about.jobid < y->about.jobid ? -1 : x->about.jobid > y->about.jobid;
}

struct change {
	int64_t at_s, nodes;
};

static int by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->at_s != y->at_s)
		return x->at_s < y->at_s ? -1 : 1;
	return x->nodes < y->nodes ? -1 : x->nodes > y->nodes; /* jobs that end make room for jobs that start */
}

/* The most that was in use at one moment; -1: no memory. */
static int64_t most_at_once(const struct reading *r)
{
	struct change *change = calloc(2 * r->n + 1, sizeof(*change));
	int64_t now = 0, most = 0;

	if (!change)
		return -1;
	for (size_t i = 0; i < r->n; i++) {
		const struct item *it = &r->item[i];

		change[2 * i] = (struct change){it->start_s, it->sim.nodes};
		change[2 * i + 1] = (struct change){it->start_s + it->sim.run_s, -(int64_t)it->sim.nodes};
	}
	qsort(change, 2 * r->n, sizeof(*change), by_time);
	for (size_t i = 0; i < 2 * r->n; i++) {
		now += change[i].nodes;
		most = now > most ? now : most;
	}
	free(change);
	return most;
}

/* Requests, run times within them, and sizes that fit. */
static void items_settle(struct reading *r)
{
	uint32_t most_min = 0;
	int64_t longest_s = 0;
	size_t kept = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct item *it = &r->item[i];

		r->out->n_requested += it->about.requested;
		if (it->about.requested && it->sim.request_min > most_min)
			most_min = it->sim.request_min;
		longest_s = it->sim.run_s > longest_s ? it->sim.run_s : longest_s;
	}
	if (!most_min)
		most_min = (duration_ceil_minutes((double)longest_s) + HOUR_MIN - 1) / HOUR_MIN * HOUR_MIN;
	most_min = most_min > LIMIT_MAX ? LIMIT_MAX : most_min;
	r->out->default_min = most_min;
	for (size_t i = 0; i < r->n; i++) {
		struct item *it = &r->item[i];
		int64_t most_s;

		if (!it->about.requested)
			it->sim.request_min = most_min;
		if (it->sim.request_min > LIMIT_MAX)
			it->sim.request_min = LIMIT_MAX;
		most_s = (int64_t)it->sim.request_min * 60;
		/* Its limit ended it: one second more, so that the limit ends it again. Others ran on a little past what was asked. */
		if (!strcmp(it->about.state, "TIMEOUT") && it->sim.run_s >= most_s)
			it->sim.run_s = most_s + 1;
		else if (it->sim.run_s > most_s)
			it->sim.run_s = most_s;
		if (it->sim.nodes > r->out->nodes)
			r->out->too_large++;
		else
			r->item[kept++] = *it;
	}
	r->n = kept;
}

static int stream_make(struct reading *r, struct errbuf *err)
{
	struct stream *s = r->out;
	double work = 0;

	if (!r->n)
		return err_set(err, "no job in it has a size and a run time");
	items_settle(r);
	if (!r->n)
		return err_set(err, "no job in it fits on %u %s: name the size of the machine by --nodes", s->nodes,
			       s->processors ? "processors" : "nodes");
	qsort(r->item, r->n, sizeof(*r->item), by_submission);
	s->jobs = calloc(r->n, sizeof(*s->jobs));
	s->about = calloc(r->n, sizeof(*s->about));
	if (!s->jobs || !s->about)
		return err_set(err, "no memory for %zu jobs", r->n);
	s->n = r->n;
	s->first_s = r->item[0].sim.submit_s;
	for (size_t i = 0; i < s->n; i++) {
		s->jobs[i] = r->item[i].sim;
		s->jobs[i].submit_s -= s->first_s;
		s->about[i] = r->item[i].about;
		work += (double)s->jobs[i].nodes * (double)s->jobs[i].run_s;
	}
	if (s->jobs[s->n - 1].submit_s > 0)
		s->load = work / ((double)s->jobs[s->n - 1].submit_s * s->nodes);
	return 0;
}

static int reading_end(struct reading *r, int rv)
{
	free(r->item);
	hash_table_free(&r->texts);
	if (rv < 0)
		stream_free(r->out);
	return rv;
}

void stream_load_set(struct stream *s, double load)
{
	double scale = s->load / load;

	for (size_t i = 0; i < s->n; i++)
		s->jobs[i].submit_s = (int64_t)((double)s->jobs[i].submit_s * scale);
	s->load = load;
}

void stream_free(struct stream *s)
{
	for (uint32_t i = 0; i < s->n_text; i++)
		free(s->text[i]);
	free(s->text);
	free(s->jobs);
	free(s->about);
	*s = (struct stream){0};
}

/* ---- Standard Workload Format ---- */

static int64_t swf_size(const int64_t *f)
{
	return f[SWF_ASKED_PROCESSORS] > 0 ? f[SWF_ASKED_PROCESSORS] : f[SWF_PROCESSORS];
}

static bool swf_usable(const int64_t *f)
{
	return f[SWF_RUN_S] > 0 && f[SWF_RUN_S] < TIME_MAX_S && swf_size(f) > 0 && swf_size(f) <= MACHINE_MAX &&
	       f[SWF_SUBMIT_S] < TIME_MAX_S && f[SWF_ASKED_S] < TIME_MAX_S && f[SWF_WAIT_S] < TIME_MAX_S && f[SWF_USER] >= 0 &&
	       f[SWF_USER] < INT32_MAX;
}

/* Status 0 is failed, 5 cancelled; other values are not told apart. */
static const char *swf_state(const int64_t *f)
{
	if (f[SWF_STATUS] != 0 && f[SWF_STATUS] != 5)
		return "COMPLETED";
	if (f[SWF_ASKED_S] > 0 && f[SWF_RUN_S] >= f[SWF_ASKED_S])
		return "TIMEOUT";
	return f[SWF_STATUS] == 5 ? "CANCELLED" : "FAILED";
}

/* "user", 7: "user7"; a number below 0 is not known: "". */
static int number_keep(struct reading *r, const char *what, int64_t number, const char **out)
{
	char text[64] = "";

	if (number >= 0)
		snprintf(text, sizeof(text), "%s%lld", what, (long long)number);
	return text_keep(r, text, out);
}

static int swf_take(struct reading *r, const int64_t *f)
{
	struct item *it = item_add(r);
	bool queue = f[SWF_PARTITION] < 0;
	int rc;

	if (!it)
		return -1;
	it->sim = (struct sim_job){f[SWF_SUBMIT_S], f[SWF_RUN_S], (uint32_t)swf_size(f), 0};
	it->start_s = f[SWF_SUBMIT_S] + (f[SWF_WAIT_S] > 0 ? f[SWF_WAIT_S] : 0);
	it->about.jobid = (uint32_t)r->n;
	it->about.uid = (uint32_t)f[SWF_USER];
	it->about.nodes = it->sim.nodes;
	it->about.state = swf_state(f);
	it->about.work_dir = "";
	it->about.requested = f[SWF_ASKED_S] > 0;
	if (it->about.requested)
		it->sim.request_min = duration_ceil_minutes((double)f[SWF_ASKED_S]);
	/* A log knows of a program only the number of its executable. The number stands for name, command and script. */
	rc = number_keep(r, "executable", f[SWF_EXECUTABLE] > 0 ? f[SWF_EXECUTABLE] : -1, &it->about.name);
	it->about.command = it->about.name;
	if (rc < 0 || letters_keep(r, it->about.name, &it->about.program) < 0 || number_keep(r, "group", f[SWF_GROUP], &it->about.account) < 0)
		return -1;
	if (queue && f[SWF_QUEUE] < 0)
		return text_keep(r, "all", &it->about.partition);
	return number_keep(r, queue ? "queue" : "partition", f[queue ? SWF_QUEUE : SWF_PARTITION], &it->about.partition);
}

int stream_from_swf(const struct swf *swf, uint32_t nodes, struct stream *out, struct errbuf *err)
{
	int64_t told = swf->max_procs > 0 ? swf->max_procs : swf->max_nodes;
	struct reading r = {.out = out};

	*out = (struct stream){.processors = true, .bad = swf->bad};
	out->nodes = nodes ? nodes : told > 0 && told <= MACHINE_MAX ? (uint32_t)told : 0;
	if (!out->nodes)
		return err_set(err, "no MaxProcs or MaxNodes in it says how large the machine is: name the size by --nodes");
	for (size_t i = 0; i < swf->n; i++) {
		if (!swf_usable(swf->jobs[i].field))
			out->left_out++;
		else if (swf_take(&r, swf->jobs[i].field) < 0)
			return reading_end(&r, err_set(err, "no memory for %zu jobs", swf->n));
	}
	return reading_end(&r, stream_make(&r, err));
}

/* ---- accounting ---- */

/* A program is what Precedent took it for when the job was submitted, or else the command line of its sbatch. */
static int program_keep(struct reading *r, const struct sacct_job *job, struct stream_job *about)
{
	const char *line = job->submit_line, *end = line + strcspn(line, " \t");
	struct job_comment c;

	if (comment_parse(job->comment, &c) == 0 && c.key[0])
		return letters_keep(r, c.key, &about->program);
	if (end - line >= 6 && !memcmp(end - 6, "sbatch", 6) && (end - line == 6 || end[-7] == '/'))
		return text_keep(r, line, &about->program);
	about->program = "";
	return 0;
}

/* A number for each name. */
static int user_number(struct reading *r, const struct sacct_job *job, uint32_t *uid)
{
	uint32_t i;

	if (job->uid >= 0) {
		*uid = (uint32_t)job->uid;
		return 0;
	}
	i = text_index(r, job->user);
	*uid = i;
	return i == HASH_TABLE_NONE ? -1 : 0;
}

/* What the user asked for. Precedent may have set another limit, and notes the request in its comment. */
static uint32_t requested_min(const struct sacct_job *job)
{
	struct job_comment c;

	return comment_parse(job->comment, &c) == 0 && c.user_limit_min != DURATION_UNSET ? c.user_limit_min : job->limit_min;
}

static int sacct_take(struct reading *r, const struct sacct_job *job)
{
	struct item *it = item_add(r);
	struct stream_job *about;
	uint32_t limit_min = requested_min(job);

	if (!it)
		return -1;
	it->nodes = job->nodes ? job->nodes : 1;
	it->cpus = job->cpus;
	it->start_s = job->start_time;
	it->sim = (struct sim_job){.submit_s = job->submit_time, .run_s = (int64_t)(job->elapsed_s + 0.5)};
	about = &it->about;
	about->jobid = job->jobid;
	about->array_job = job->array_job;
	about->array_task = job->array_task;
	about->nodes = it->nodes;
	about->requested = limit_min != DURATION_UNSET;
	if (about->requested)
		it->sim.request_min = limit_min > LIMIT_MAX ? LIMIT_MAX : limit_min;
	if (about->requested && !it->sim.request_min)
		it->sim.request_min = 1;
	return text_keep(r, job->partition, &about->partition) < 0 || text_keep(r, job->name, &about->name) < 0 ||
			       text_keep(r, job->account, &about->account) < 0 ||
			       text_keep(r, job->work_dir, &about->work_dir) < 0 ||
			       text_keep(r, job->submit_line, &about->command) < 0 ||
			       text_keep(r, job->state, &about->state) < 0 || user_number(r, job, &about->uid) < 0 ||
			       program_keep(r, job, about) < 0
		       ? -1
		       : 0;
}

/* Probes are Precedent's own; a job of no time used nothing. */
static bool sacct_usable(const struct sacct_job *job)
{
	struct job_comment c;

	return job->elapsed_s >= 0.5 && job->elapsed_s < (double)TIME_MAX_S && job->nodes <= MACHINE_MAX && job->cpus <= MACHINE_MAX &&
	       !(comment_parse(job->comment, &c) == 0 && c.act == ACT_PROBE);
}

/* Sets the unit, the jobs' sizes in it, and the machine's. */
static int sizes_set(struct reading *r, uint32_t nodes, struct errbuf *err)
{
	uint32_t per_node = 1;
	int64_t machine;

	r->out->processors = true;
	for (size_t i = 0; i < r->n; i++)
		r->out->processors = r->out->processors && r->item[i].cpus > 0;
	for (size_t i = 0; i < r->n; i++) {
		struct item *it = &r->item[i];
		uint32_t cpus = (it->cpus + it->nodes - 1) / it->nodes;

		it->sim.nodes = r->out->processors ? it->cpus : it->nodes;
		if (r->out->processors && cpus > per_node)
			per_node = cpus;
	}
	machine = nodes ? (int64_t)nodes * per_node : most_at_once(r);
	if (machine < 0)
		return err_set(err, "no memory for %zu jobs", r->n);
	r->out->nodes = machine > MACHINE_MAX ? MACHINE_MAX : (uint32_t)machine;
	return 0;
}

int stream_from_sacct(FILE *in, const char *name, uint32_t nodes, swf_bad *bad, void *arg, struct stream *out,
		      struct errbuf *err)
{
	struct sacct_reader *reader = sacct_reader_create(in, name, err);
	struct reading r = {.out = out};
	struct sacct_job job;
	int rc, rv = 0;

	*out = (struct stream){0};
	if (!reader)
		return -1;
	while (rv == 0 && (rc = sacct_read(reader, &job, err))) {
		if (rc < 0) {
			out->bad++;
			if (bad)
				bad(arg, err->text);
		} else if (!sacct_usable(&job)) {
			out->left_out++;
		} else if (sacct_take(&r, &job) < 0) {
			rv = err_set(err, "no memory after %zu jobs", r.n);
		}
	}
	out->left_out += sacct_left_out(reader);
	sacct_reader_destroy(reader);
	if (rv == 0 && (sizes_set(&r, nodes, err) < 0 || stream_make(&r, err) < 0))
		rv = err_prefix(err, "%.300s", name);
	return reading_end(&r, rv);
}
