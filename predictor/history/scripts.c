/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See scripts.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/hash_table.h"
#include "common/identity.h"
#include "common/sbatch_args.h"
#include "predictor/history/scripts.h"
#include "predictor/store/groups.h"
#include "predictor/store/unscripted.h"

#define HEAD	     "Batch Script for "
#define DASHES	     80	 /* the line below the head */
#define NO_SCRIPT    "NONE"
#define LINE_KEPT    1024 /* longer command lines are rare: their jobs are left out */
#define TRIED	     256  /* jobs without a script after which none is expected */
#define WORDS_MAX    (LINE_KEPT / 2)
#define BATCH_JOBS   1000 /* a transaction takes some milliseconds */

struct noted {
	char id[SCRIPTS_ID_MAX];
	uint32_t uid, jobid;
	int64_t submit_time, end_time;
	double elapsed_s;
	char partition[64], end_state[32];
	char *line; /* its command */
	uint64_t command; /* hash of uid, command, name and directory */
	bool wanted, asked;
	uint64_t text, pattern; /* 0: the script is not known */
};

struct scripts {
	struct noted *job;
	size_t n; /* jobs noted so far; job[i % SCRIPTS_KEPT] */
};

struct scripts *scripts_create(void)
{
	struct scripts *s = calloc(1, sizeof(*s));

	if (s && !(s->job = calloc(SCRIPTS_KEPT, sizeof(*s->job)))) {
		free(s);
		s = NULL;
	}
	return s;
}

static size_t kept(const struct scripts *s)
{
	return s->n < SCRIPTS_KEPT ? s->n : SCRIPTS_KEPT;
}

void scripts_destroy(struct scripts *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < kept(s); i++)
		free(s->job[i].line);
	free(s->job);
	free(s);
}

static uint64_t hash_of(uint64_t seed, const char *text)
{
	return XXH3_64bits_withSeed(text, strlen(text) + 1, seed);
}

/* srun and salloc have no script. Others may be sbatch by any path, or a program that submits by itself. */
static bool is_interactive(const char *line)
{
	size_t len = strcspn(line, " "), base = len;

	while (base && line[base - 1] != '/')
		base--;
	len -= base;
	return (len == 4 && !memcmp(line + base, "srun", 4)) || (len == 6 && !memcmp(line + base, "salloc", 6));
}

int scripts_note(struct scripts *s, const struct sacct_job *job, uint32_t uid, struct errbuf *err)
{
	struct noted *to = &s->job[s->n % SCRIPTS_KEPT];
	char *line;

	if (is_interactive(job->submit_line) || strlen(job->submit_line) > LINE_KEPT || !*job->partition ||
	    strlen(job->partition) >= sizeof(to->partition))
		return 0;
	line = strdup(job->submit_line);
	if (!line)
		return err_set(err, "no memory");
	free(to->line);
	*to = (struct noted){.uid = uid, .jobid = job->jobid, .submit_time = job->submit_time, .end_time = job->end_time,
			     .elapsed_s = job->elapsed_s, .line = line};
	if (job->array_job)
		snprintf(to->id, sizeof(to->id), "%u_%u", job->array_job, job->array_task);
	else
		snprintf(to->id, sizeof(to->id), "%u", job->jobid);
	strcpy(to->partition, job->partition);
	snprintf(to->end_state, sizeof(to->end_state), "%s", job->state);
	to->command = hash_of(hash_of(hash_of(uid, job->submit_line), job->name), job->work_dir);
	s->n++;
	return 0;
}

/* ---- an answer of sacct ---- */

/* Length of the head of id at text; 0: there is none. */
static size_t head_at(const char *text, size_t len, char *id)
{
	static const char head[] = HEAD;
	size_t n = sizeof(head) - 1, digits = 0, dashes = 0;

	if (len < n || memcmp(text, head, n))
		return 0;
	while (n < len && digits < SCRIPTS_ID_MAX - 1 && text[n] && strchr("0123456789_", text[n]))
		id[digits++] = text[n++];
	id[digits] = '\0';
	if (!digits || n == len || text[n++] != '\n')
		return 0;
	while (n < len && text[n] == '-') {
		n++;
		dashes++;
	}
	return dashes == DASHES && n < len && text[n] == '\n' ? n + 1 : 0;
}

struct found {
	size_t begin, end; /* 0: not found */
	bool twice;
};

static size_t id_index(char (*ids)[SCRIPTS_ID_MAX], size_t n, const char *id)
{
	size_t i = 0;

	while (i < n && strcmp(ids[i], id))
		i++;
	return i;
}

void scripts_split(char *text, size_t len, char (*ids)[SCRIPTS_ID_MAX], size_t n,
		   void (*script)(void *arg, size_t id, const char *text, size_t len), void *arg)
{
	struct found found[SCRIPTS_AT_ONCE] = {{0}}, *open = NULL;
	size_t at = 0;

	if (n > SCRIPTS_AT_ONCE)
		n = SCRIPTS_AT_ONCE;
	while (at < len) {
		const char *nl = memchr(text + at, '\n', len - at);
		char id[SCRIPTS_ID_MAX];
		size_t head = head_at(text + at, len - at, id), i = head ? id_index(ids, n, id) : n;

		if (i < n) { /* sacct writes a newline behind each script */
			if (open)
				open->end = at - 1;
			open = &found[i];
			open->twice |= open->begin != 0;
			open->begin = at + head;
			at += head;
		} else {
			at = nl ? (size_t)(nl - text) + 1 : len;
		}
	}
	if (open && len <= SCRIPTS_ANSWER_MAX)
		open->end = len - (text[len - 1] == '\n');
	for (size_t i = 0; i < n; i++) {
		struct found *f = &found[i];

		if (!f->begin || f->twice || f->end <= f->begin || memchr(text + f->begin, '\0', f->end - f->begin))
			continue;
		text[f->end] = '\0';
		if (strcmp(text + f->begin, NO_SCRIPT))
			script(arg, i, text + f->begin, f->end - f->begin);
	}
}

/* ---- which jobs, in which order ---- */

/* The i-th newest job. */
static struct noted *newest(const struct scripts *s, size_t i)
{
	return &s->job[(s->n - 1 - i) % SCRIPTS_KEPT];
}

/* Marks the jobs that are wanted: of each command the newest. Returns how many; -1 if memory runs out. */
static int64_t choose(struct scripts *s)
{
	struct hash_table table = {0};
	uint8_t *count = calloc(kept(s) + 1, 1);
	int64_t wanted = 0;

	for (uint32_t i = 0; count && i < kept(s); i++) {
		struct noted *job = newest(s, i);
		uint32_t at, first;

		HASH_TABLE_FOR_EACH(&table, job->command, at, first)
			if (newest(s, first)->command == job->command)
				break;
		if (first == HASH_TABLE_NONE && hash_table_add(&table, job->command, first = i) < 0) {
			wanted = -1;
			break;
		}
		job->wanted = count[first] < LADDER_RUNS;
		count[first] += job->wanted;
		wanted += job->wanted;
	}
	hash_table_free(&table);
	free(count);
	return count ? wanted : -1;
}

/* Jobs of one question, and the rest of it. */
struct question {
	struct noted *job[SCRIPTS_AT_ONCE];
	char ids[SCRIPTS_AT_ONCE][SCRIPTS_ID_MAX];
	char list[SCRIPTS_AT_ONCE * SCRIPTS_ID_MAX]; /* the ids with commas */
	size_t n, found;
};

/* The newest job that was not asked for, and more of its user. *from: all newer jobs were asked for. Returns how many
 * jobs. */
static size_t question_make(const struct scripts *s, struct question *q, size_t *from)
{
	size_t len = 0;

	q->n = q->found = 0;
	for (size_t i = *from; i < kept(s) && q->n < SCRIPTS_AT_ONCE; i++) {
		struct noted *job = newest(s, i);

		if (!job->wanted || job->asked) {
			*from += i == *from;
			continue;
		}
		if (q->n && job->uid != q->job[0]->uid)
			continue;
		job->asked = true;
		memcpy(q->ids[q->n], job->id, sizeof(job->id));
		len += (size_t)snprintf(q->list + len, sizeof(q->list) - len, "%s%s", q->n ? "," : "", job->id);
		q->job[q->n++] = job;
	}
	return q->n;
}

/* ---- a script ---- */

/* The words behind the script in the command as the accounting has it: words with blanks cannot be told apart. */
static size_t arguments_of(char *line, char *words[WORDS_MAX], char *const **args)
{
	struct sbatch_args read = {0};
	char *save = NULL;
	size_t n = 0;

	strtok_r(line, " \t\n", &save); /* sbatch */
	while (n < WORDS_MAX && (words[n] = strtok_r(NULL, " \t\n", &save)))
		n++;
	sbatch_args_read(words, n, NULL, &read);
	*args = read.args;
	return read.n_args;
}

static void script_take(void *arg, size_t id, const char *text, size_t len)
{
	struct question *q = arg;
	struct noted *job = q->job[id];
	struct identity_input in = {.uid = job->uid, .script = text};
	struct identity identity;
	char *words[WORDS_MAX];

	(void)len;
	in.n_args = arguments_of(job->line, words, &in.args);
	identity_compute(&in, &identity);
	job->text = identity.text;
	job->pattern = identity.pattern;
	q->found++;
}

/* Asks for the scripts of all jobs that are wanted. */
static int ask(struct scripts *s, const struct scripts_run *run, struct scripts_report *report, struct errbuf *err)
{
	struct question *q = malloc(sizeof(*q));
	size_t from = 0;
	int rc = q ? 0 : err_set(err, "no memory");

	while (rc == 0 && !report->none && run->go_on(run->arg, report->asked, report->wanted) && question_make(s, q, &from)) {
		size_t len;
		char *text = run->ask(run->arg, q->list, &len, err);

		if (!text) {
			rc = -1;
			break;
		}
		scripts_split(text, len, q->ids, q->n, script_take, q);
		free(text);
		report->asked += q->n;
		report->found += q->found;
		report->none = !report->found && report->asked >= TRIED;
	}
	report->none |= rc == 0 && report->asked && report->asked == report->wanted && !report->found;
	free(q);
	return rc;
}

/* ---- groups ---- */

static int by_end(const void *a, const void *b)
{
	const struct noted *x = *(struct noted *const *)a, *y = *(struct noted *const *)b;

	return (x->end_time > y->end_time) - (x->end_time < y->end_time);
}

static int groups_add(struct store *store, const struct noted *job, struct errbuf *err)
{
	const struct group_job known = {
	    .uid = job->uid, .partition = job->partition, .text = job->text, .pattern = job->pattern};
	const struct group_run run = {job->uid, job->end_state, job->elapsed_s, job->end_time};
	struct group_ids all, ids = {{0}};

	group_ids_of(&known, &all);
	ids.id[LADDER_SCRIPT] = all.id[LADDER_SCRIPT];
	ids.id[LADDER_NUMBERS] = all.id[LADDER_NUMBERS];
	return store_groups_add(store, &ids, &run, err);
}

static int write_batch(struct store *store, struct noted *const *job, size_t n, struct errbuf *err)
{
	if (store_begin(store, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (groups_add(store, job[i], err) < 0 ||
		    store_unscripted_drop(store, job[i]->jobid, job[i]->submit_time, err) < 0) {
			store_rollback(store);
			return -1;
		}
	}
	return store_commit(store, err);
}

static int write_groups(struct scripts *s, struct store *store, struct errbuf *err)
{
	struct noted **job = malloc((kept(s) + 1) * sizeof(struct noted *));
	size_t n = 0;
	int rc = 0;

	if (!job)
		return err_set(err, "no memory");
	for (size_t i = 0; i < kept(s); i++)
		if (s->job[i].text)
			job[n++] = &s->job[i];
	qsort(job, n, sizeof(struct noted *), by_end);
	for (size_t i = 0; rc == 0 && i < n; i += BATCH_JOBS)
		rc = write_batch(store, job + i, n - i < BATCH_JOBS ? n - i : BATCH_JOBS, err);
	free(job);
	return rc;
}

int scripts_add(struct scripts *s, const struct scripts_run *run, struct scripts_report *report, struct errbuf *err)
{
	int64_t wanted = choose(s);
	struct errbuf unasked;
	int rc;

	*report = (struct scripts_report){0};
	if (wanted < 0)
		return err_set(err, "no memory");
	report->wanted = (uint64_t)wanted;
	rc = ask(s, run, report, &unasked);
	if (write_groups(s, run->store, err) < 0)
		return -1;
	return rc < 0 ? err_set(err, "%s", unasked.text) : 0;
}
