/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What sacct prints, as jobs: see sacct.h. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/duration.h"
#include "predictor/history/sacct.h"

#define FIELDS_MAX   256 /* sacct has about 120 columns */
#define SYNTHETIC    0x80000000u
#define JOB_ID_MAX   0x03ffffffu /* MAX_JOB_ID of Slurm */
#define STATE_MAX    23		 /* end_state in predictor/store/runs.h */
#define LINES_JOINED 1000	 /* lines of one record: a command with more is not typed by people */

static const char *const column_names[SACCT_COLUMNS] = {
    "JobID",   "JobIDRaw",  "UID",    "User",  "Account", "Partition", "JobName", "Submit",	"Start",	"End",
    "Elapsed", "Timelimit", "NNodes", "NCPUS", "NTasks",  "State",     "WorkDir", "SubmitLine", "AdminComment",
};
static const enum sacct_column wanted[] = {SACCT_JOB_ID,  SACCT_SUBMIT, SACCT_START,	SACCT_END,
					   SACCT_ELAPSED, SACCT_STATE,	SACCT_PARTITION};

struct sacct_reader {
	FILE *in;
	char *name;
	char separator;
	unsigned columns;      /* of the header */
	int at[SACCT_COLUMNS]; /* -1: the file has no such column */
	uint64_t line, first;  /* lines read; where the record began */
	uint64_t left_out;
	bool has_next; /* `next` was read and is not used yet */
	bool broken;   /* a read has failed */
	size_t len, next_len;
	char text[SACCT_LINE_MAX], next[SACCT_LINE_MAX];
	char *field[FIELDS_MAX];
};

uint32_t sacct_synthetic_id(uint32_t array_job, uint32_t array_task)
{
	/* Multiplication by an odd number keeps neighbours apart (Knuth, TAOCP 3, 6.4). */
	return SYNTHETIC | ((array_job * 2654435761u + array_task) & ~SYNTHETIC);
}

/* ---- lines ---- */

enum { LINE_END = 0, LINE_OK = 1, LINE_LONG = 2, LINE_NUL = 3 };

static int line_get(struct sacct_reader *r, char *text, size_t *len)
{
	size_t n = 0;
	bool whole = false, nul = false;
	int c;

	while ((c = getc_unlocked(r->in)) != EOF && c != '\n') {
		nul |= c == '\0';
		whole = true;
		if (n < SACCT_LINE_MAX - 1)
			text[n] = (char)c;
		n++;
	}
	if (c == EOF && !whole)
		return LINE_END;
	if (n && n < SACCT_LINE_MAX && text[n - 1] == '\r') /* the file was on a system that ends lines by CR LF */
		n--;
	r->line++;
	*len = n < SACCT_LINE_MAX - 1 ? n : SACCT_LINE_MAX - 1;
	text[*len] = '\0';
	if (n > *len)
		return LINE_LONG;
	return nul ? LINE_NUL : LINE_OK;
}

static unsigned fields_count(const struct sacct_reader *r, const char *text)
{
	unsigned n = 1;

	for (; (text = strchr(text, r->separator)); text++)
		n++;
	return n;
}

static int bad(const struct sacct_reader *r, struct errbuf *err, const char *why)
{
	return err_set(err, "%.200s:%llu: %.250s: the line is left out", r->name, (unsigned long long)r->first, why);
}

/* Does this line begin a record? Then the line before it was cut off. */
static bool begins_record(const struct sacct_reader *r, const char *text)
{
	return isdigit((unsigned char)*text) && fields_count(r, text) >= r->columns;
}

/* A record with too few fields goes on in the next line: a job's command may have line breaks. */
static int record_complete(struct sacct_reader *r, struct errbuf *err)
{
	unsigned fields = fields_count(r, r->text);

	for (unsigned joined = 0; fields < r->columns; joined++) {
		int rc = joined < LINES_JOINED ? line_get(r, r->next, &r->next_len) : LINE_END;

		if (rc == LINE_OK && !begins_record(r, r->next) && r->len + 1 + r->next_len < SACCT_LINE_MAX) {
			r->text[r->len] = ' ';
			memcpy(r->text + r->len + 1, r->next, r->next_len + 1);
			r->len += 1 + r->next_len;
			fields = fields_count(r, r->text);
			continue;
		}
		r->has_next = rc == LINE_OK;
		return err_set(err, "%.200s:%llu: %u fields instead of %u: the line is left out", r->name,
			       (unsigned long long)r->first, fields, r->columns);
	}
	return 1;
}

/* 1: a record with enough fields, 0: the end, -1: a bad one. */
static int record_get(struct sacct_reader *r, struct errbuf *err)
{
	int rc = LINE_OK;

	do {
		if (r->has_next) {
			memcpy(r->text, r->next, r->next_len + 1);
			r->len = r->next_len;
			r->has_next = false;
		} else {
			rc = line_get(r, r->text, &r->len);
		}
	} while (rc == LINE_OK && !r->len);
	r->first = r->line;
	if (rc == LINE_END) {
		if (!ferror(r->in) || r->broken)
			return 0;
		r->broken = true;
		return err_set(err, "%.200s:%llu: cannot be read further: %s", r->name,
			       (unsigned long long)r->line + 1, strerror(errno));
	}
	if (rc != LINE_OK)
		return bad(r, err, rc == LINE_LONG ? "longer than 256 KiB" : "it contains a byte 0");
	return record_complete(r, err);
}

/* Only the last column may have the separator in it. */
static void record_split(struct sacct_reader *r)
{
	char *text = r->text;

	for (unsigned i = 0; i < r->columns; i++) {
		char *end = i + 1 < r->columns ? strchr(text, r->separator) : NULL;

		r->field[i] = text;
		if (!end)
			break;
		*end = '\0';
		text = end + 1;
	}
}

/* ---- header ---- */

static int header_read(struct sacct_reader *r, struct errbuf *err)
{
	int rc = line_get(r, r->text, &r->len);

	if (rc != LINE_OK)
		return err_set(
		    err, "%.300s: is empty or no text: make it with 'sacct --allusers --parsable2 --format=...'",
		    r->name);
	r->separator = strchr(r->text, SACCT_SEPARATOR) ? SACCT_SEPARATOR : '|';
	r->columns = fields_count(r, r->text);
	if (r->columns > FIELDS_MAX)
		return err_set(err, "%.300s: has more than %d columns", r->name, FIELDS_MAX);
	record_split(r);
	for (int c = 0; c < SACCT_COLUMNS; c++) {
		r->at[c] = -1;
		for (unsigned i = 0; i < r->columns && r->at[c] < 0; i++)
			if (!strcasecmp(r->field[i], column_names[c]))
				r->at[c] = (int)i;
	}
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (r->at[wanted[i]] < 0)
			return err_set(err,
				       "%.300s: has no column %s: print it with 'sacct --parsable2 --format=...'",
				       r->name, column_names[wanted[i]]);
	if (r->at[SACCT_USER] < 0 && r->at[SACCT_UID] < 0)
		return err_set(
		    err, "%.300s: has neither column User nor UID: print one with 'sacct --parsable2 --format=...'",
		    r->name);
	return 0;
}

struct sacct_reader *sacct_reader_create(FILE *in, const char *name, struct errbuf *err)
{
	struct sacct_reader *r = calloc(1, sizeof(*r));

	if (!r || !(r->name = strdup(name))) {
		free(r);
		err_set(err, "no memory");
		return NULL;
	}
	r->in = in;
	if (header_read(r, err) < 0) {
		sacct_reader_destroy(r);
		return NULL;
	}
	return r;
}

void sacct_reader_destroy(struct sacct_reader *r)
{
	if (!r)
		return;
	free(r->name);
	free(r);
}

uint64_t sacct_left_out(const struct sacct_reader *r)
{
	return r->left_out;
}

/* ---- fields ---- */

static const char *text_of(const struct sacct_reader *r, enum sacct_column c)
{
	return r->at[c] < 0 ? "" : r->field[r->at[c]];
}

/* Digits alone, at most max. Returns the first byte behind them; NULL: no such number. */
static const char *digits(const char *text, uint64_t max, uint64_t *out)
{
	uint64_t n = 0;

	if (!isdigit((unsigned char)*text))
		return NULL;
	for (; isdigit((unsigned char)*text); text++) {
		n = 10 * n + (uint64_t)(*text - '0');
		if (n > max)
			return NULL;
	}
	*out = n;
	return text;
}

static int number(const char *text, uint64_t max, uint64_t *out)
{
	const char *end = digits(text, max, out);

	return end && !*end ? 0 : -1;
}

/* Empty: 0. */
static int count(const struct sacct_reader *r, enum sacct_column c, uint32_t *out)
{
	uint64_t n = 0;

	if (*text_of(r, c) && number(text_of(r, c), INT32_MAX, &n) < 0)
		return -1;
	*out = (uint32_t)n;
	return 0;
}

/* "2026-02-03T04:05:06" of the machine's time zone, or seconds since the epoch (SLURM_TIME_FORMAT=%s). Returns 1, 0
 * for a time that is not known, -1 for no time. */
static int moment(const char *text, int64_t *out)
{
	uint64_t part[6];
	const char *between = "--T::", *p = text;
	struct tm tm = {.tm_isdst = -1};

	*out = 0;
	if (!*text || !strcmp(text, "Unknown") || !strcmp(text, "None"))
		return 0;
	if (number(text, INT64_C(1) << 40, &part[0]) == 0) {
		*out = (int64_t)part[0];
		return *out > 0;
	}
	for (int i = 0; i < 6; i++) {
		p = digits(p, 9999, &part[i]);
		if (!p || *p != between[i])
			return -1;
		p += i < 5;
	}
	if (part[0] < 1970 || part[1] < 1 || part[1] > 12 || part[2] < 1 || part[2] > 31 || part[3] > 23 ||
	    part[4] > 59 || part[5] > 60)
		return -1;
	tm.tm_year = (int)part[0] - 1900;
	tm.tm_mon = (int)part[1] - 1;
	tm.tm_mday = (int)part[2];
	tm.tm_hour = (int)part[3];
	tm.tm_min = (int)part[4];
	tm.tm_sec = (int)part[5];
	*out = mktime(&tm);
	return *out > 0 ? 1 : -1;
}

/* [D-]HH:MM:SS, or MM:SS with a fraction. */
static int seconds(const char *text, double *out)
{
	uint64_t part[3], days = 0;
	const char *p = text;
	int n = 0;

	if (strchr(text, '-')) {
		p = digits(text, 1000000, &days);
		if (!p || *p++ != '-')
			return -1;
	}
	while (n < 3 && (p = digits(p, 1u << 30, &part[n]))) {
		n++;
		if (*p != ':')
			break;
		p++;
	}
	if (!p || n < 2 || (*p && *p != '.'))
		return -1;
	*out = (double)part[n - 1] + 60.0 * (double)part[n - 2] + (n == 3 ? 3600.0 * (double)part[0] : 0) +
	       86400.0 * (double)days;
	return 0;
}

static int limit(const char *text, uint32_t *out)
{
	*out = DURATION_UNSET;
	if (!*text || !strcmp(text, "Partition_Limit"))
		return 0;
	return duration_parse_minutes(text, out, NULL);
}

/* "123", "123_4". Returns 1; 0 for steps, parts of heterogeneous jobs and tasks that wait; -1 for no id. */
static int job_id(const struct sacct_reader *r, struct sacct_job *job)
{
	const char *text = text_of(r, SACCT_JOB_ID), *raw = text_of(r, SACCT_JOB_ID_RAW), *p;
	uint64_t id, task, raw_id;

	p = digits(text, JOB_ID_MAX, &id);
	if (!p || !id)
		return -1;
	if (*p == '.' || *p == '+' || (*p == '_' && p[1] == '['))
		return 0;
	job->jobid = (uint32_t)id;
	job->array_job = job->array_task = 0;
	if (*p == '_') {
		p = digits(p + 1, INT32_MAX, &task);
		if (p && (*p == '.' || *p == '+'))
			return 0;
		if (!p)
			return -1;
		job->array_job = (uint32_t)id;
		job->array_task = (uint32_t)task;
		job->jobid = sacct_synthetic_id(job->array_job, job->array_task);
	}
	if (*p)
		return -1;
	if (*raw) {
		if (number(raw, JOB_ID_MAX, &raw_id) < 0 || !raw_id)
			return -1;
		job->jobid = (uint32_t)raw_id;
	}
	return 1;
}

/* "CANCELLED by 1000": the first word. Returns 1, 0 if the job has not ended, -1 for no state. */
static int state_cut(char *state)
{
	static const char *const lasts[] = {"PENDING",	"RUNNING",     "SUSPENDED", "REQUEUED",
					    "RESIZING", "CONFIGURING", "COMPLETING"};

	state[strcspn(state, " +")] = '\0';
	if (!*state || strlen(state) > STATE_MAX || state[strspn(state, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_")])
		return -1;
	for (size_t i = 0; i < sizeof(lasts) / sizeof(lasts[0]); i++)
		if (!strcmp(state, lasts[i]))
			return 0;
	return 1;
}

static int times(const struct sacct_reader *r, struct sacct_job *job)
{
	int submit = moment(text_of(r, SACCT_SUBMIT), &job->submit_time),
	    start = moment(text_of(r, SACCT_START), &job->start_time),
	    end = moment(text_of(r, SACCT_END), &job->end_time);

	if (submit <= 0 || start < 0 || end < 0)
		return -1;
	return start && end && job->start_time <= job->end_time;
}

static const char *fields_take(const struct sacct_reader *r, struct sacct_job *job)
{
	uint64_t uid = 0;

	if (seconds(text_of(r, SACCT_ELAPSED), &job->elapsed_s) < 0)
		return "Elapsed is no time";
	if (limit(text_of(r, SACCT_TIMELIMIT), &job->limit_min) < 0)
		return "Timelimit is no time";
	if (count(r, SACCT_NNODES, &job->nodes) < 0 || count(r, SACCT_NCPUS, &job->cpus) < 0 ||
	    count(r, SACCT_NTASKS, &job->tasks) < 0)
		return "NNodes, NCPUS or NTasks is no number";
	job->uid = -1;
	if (*text_of(r, SACCT_UID)) {
		if (number(text_of(r, SACCT_UID), UINT32_MAX - 1, &uid) < 0)
			return "UID is no number";
		job->uid = (int64_t)uid;
	}
	job->user = text_of(r, SACCT_USER);
	job->account = text_of(r, SACCT_ACCOUNT);
	job->partition = text_of(r, SACCT_PARTITION);
	job->name = text_of(r, SACCT_JOB_NAME);
	job->work_dir = text_of(r, SACCT_WORK_DIR);
	job->submit_line = text_of(r, SACCT_SUBMIT_LINE);
	job->comment = text_of(r, SACCT_ADMIN_COMMENT);
	return *job->user || job->uid >= 0 ? NULL : "no user";
}

/* 1: a job, 0: to be left out, -1: bad. */
static int job_take(const struct sacct_reader *r, struct sacct_job *job, struct errbuf *err)
{
	char *state = r->field[r->at[SACCT_STATE]];
	const char *why;
	int rc = job_id(r, job);

	if (rc <= 0)
		return rc < 0 ? bad(r, err, "JobID is no id of a job") : 0;
	rc = state_cut(state);
	if (rc <= 0)
		return rc < 0 ? bad(r, err, "State is no state of a job") : 0;
	job->state = state;
	rc = times(r, job);
	if (rc <= 0)
		return rc < 0 ? bad(r, err, "Submit, Start or End is no time") : 0;
	why = fields_take(r, job);
	return why ? bad(r, err, why) : 1;
}

int sacct_read(struct sacct_reader *r, struct sacct_job *job, struct errbuf *err)
{
	for (;;) {
		int rc = record_get(r, err);

		if (rc <= 0)
			return rc;
		record_split(r);
		rc = job_take(r, job, err);
		if (rc)
			return rc;
		r->left_out++;
	}
}
