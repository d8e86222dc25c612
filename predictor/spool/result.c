/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Strict reader and writer of probe result records: the form and its rules are in result.h.
 * The reader works on a line at a time, in place; every field has one parser that refuses what it does not know.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clean.h"
#include "common/fd.h"
#include "predictor/spool/result.h"

#define MAGIC "precedent-result 1"

void result_candidate_name(const char *candidate, char *out, size_t size)
{
	size_t n = 0;

	if (!size)
		return;
	for (; *candidate && n + 1 < size; candidate++, n++) {
		unsigned char c = (unsigned char)*candidate;
		bool fine = (c < 0x80 && isalnum(c)) || c == '_' || c == '-' || (c == '.' && n);

		out[n] = fine ? (char)c : '_';
	}
	out[n] = '\0';
}

/* A word of the line at *pos: from the first byte up to a space or the end; the space is stepped over. */
static const char *word_next(char **pos)
{
	char *w = *pos, *sp;

	if (!w || !*w || *w == ' ')
		return NULL;
	sp = strchr(w, ' ');
	if (sp)
		*sp++ = '\0';
	*pos = sp;
	return w;
}

static int parse_u64(const char *s, uint64_t max, uint64_t *out)
{
	uint64_t v = 0;

	if (!s || !*s || strlen(s) > 19)
		return -1;
	for (; *s; s++) {
		if (*s < '0' || *s > '9')
			return -1;
		v = v * 10 + (uint64_t)(*s - '0');
	}
	if (v > max)
		return -1;
	*out = v;
	return 0;
}

static int parse_double(const char *s, double max, double *out)
{
	char *end;
	double v;

	if (!s || !*s || strlen(s) > 32 || s[strspn(s, "0123456789.eE+-")])
		return -1;
	if (!isdigit((unsigned char)s[0]))
		return -1;
	v = strtod(s, &end);
	if (*end || !isfinite(v) || v < 0 || v > max)
		return -1;
	*out = v;
	return 0;
}

static int parse_hex16(const char *s, char out[17])
{
	if (!s || strlen(s) != 16 || strspn(s, "0123456789abcdef") != 16)
		return -1;
	memcpy(out, s, 17);
	return 0;
}

static bool name_is_fine(const char *s, size_t size)
{
	char copy[RESULT_NAME_SIZE];

	if (!s || !*s || strlen(s) >= size)
		return false;
	result_candidate_name(s, copy, sizeof(copy));
	return !strcmp(s, copy);
}

static int parse_text(const char *s, char *out, size_t size)
{
	size_t n = s ? strlen(s) : 0;

	if (!n || n >= size || !clean_is_line(s))
		return -1;
	memcpy(out, s, n + 1);
	return 0;
}

/* `key` then a number, as in "mpi_s 1.25". */
static int parse_pair(char **pos, const char *key, double max, double *out)
{
	const char *k = word_next(pos);

	if (!k || strcmp(k, key))
		return -1;
	return parse_double(word_next(pos), max, out);
}

static int parse_trace(struct result *r, char *pos, struct errbuf *errp)
{
	struct result_trace *t = &r->traces[r->traces_n];
	const double most = RESULT_MAX_SECONDS;
	const char *k;
	uint64_t n;

	if (r->traces_n == RESULT_MAX_TRACES)
		return err_set(errp, "more than %d traces", RESULT_MAX_TRACES);
	if (parse_u64(word_next(&pos), RESULT_MAX_TRACES, &n) < 0 || n != r->traces_n)
		return err_set(errp, "trace number is not %u", r->traces_n);
	if (parse_pair(&pos, "mpi_s", most, &t->mpi_s) < 0 || parse_pair(&pos, "skel_s", most, &t->skel_s) < 0 ||
	    parse_pair(&pos, "lo_s", most, &t->lo_s) < 0 || parse_pair(&pos, "hi_s", most, &t->hi_s) < 0 ||
	    parse_pair(&pos, "ran_s", most, &t->ran_s) < 0)
		return err_set(errp, "bad seconds in trace %u", r->traces_n);
	k = word_next(&pos);
	if (!k || strcmp(k, "events") || parse_u64(word_next(&pos), INT64_MAX, &t->events) < 0)
		return err_set(errp, "bad event count in trace %u", r->traces_n);
	if (parse_pair(&pos, "confidence", 1.0, &t->confidence) < 0 || pos)
		return err_set(errp, "bad confidence in trace %u", r->traces_n);
	if (t->lo_s > t->skel_s || t->hi_s < t->skel_s)
		return err_set(errp, "trace %u: skel_s lies outside lo_s..hi_s", r->traces_n);
	r->traces_n++;
	return 0;
}

static int parse_partial(struct result *r, char *pos, struct errbuf *errp)
{
	const double most = RESULT_MAX_SECONDS;
	struct result_partial *p;
	uint64_t n;

	if (parse_u64(word_next(&pos), RESULT_MAX_TRACES, &n) < 0 || n >= r->traces_n || r->traces[n].partial.present)
		return err_set(errp, "partial execution of a trace that is not there, or has one");
	p = &r->traces[n].partial;
	if (parse_pair(&pos, "whole_s", most, &p->whole_s) < 0 || parse_pair(&pos, "lo_s", most, &p->lo_s) < 0 ||
	    parse_pair(&pos, "hi_s", most, &p->hi_s) < 0 || parse_pair(&pos, "ran_s", most, &p->ran_s) < 0 || pos)
		return err_set(errp, "bad seconds in the partial execution of trace %u", (unsigned)n);
	if (p->lo_s > p->whole_s || p->hi_s < p->whole_s || !(p->whole_s > 0))
		return err_set(errp, "partial execution of trace %u: whole_s lies outside lo_s..hi_s", (unsigned)n);
	p->present = true;
	return 0;
}

/* Computation within the skeleton's seconds; partial: within those of partial execution. */
static int parse_compute(struct result *r, bool partial, char *pos, struct errbuf *errp)
{
	const char *name = partial ? "whole_s" : "skel_s";
	struct result_compute *c;
	struct result_trace *t;
	uint64_t n;

	if (parse_u64(word_next(&pos), RESULT_MAX_TRACES, &n) < 0 || n >= r->traces_n ||
	    (partial && !r->traces[n].partial.present))
		return err_set(errp, "computation of what is not there");
	t = &r->traces[n];
	c = partial ? &t->partial.compute : &t->compute;
	if (c->present)
		return err_set(errp, "computation of trace %u given twice", (unsigned)n);
	if (parse_pair(&pos, "traced_s", RESULT_MAX_SECONDS, &c->traced_s) < 0 ||
	    parse_pair(&pos, name, RESULT_MAX_SECONDS, &c->skel_s) < 0 || pos)
		return err_set(errp, "bad seconds in the computation of trace %u", (unsigned)n);
	if (c->traced_s > t->mpi_s || c->skel_s > (partial ? t->partial.whole_s : t->skel_s))
		return err_set(errp, "trace %u computes longer than it runs", (unsigned)n);
	c->present = true;
	return 0;
}

static int parse_kernel(struct result *r, char *pos, struct errbuf *errp)
{
	struct result_kernel *k = &r->kernels[r->kernels_n];
	const char *name;

	if (r->kernels_n == RESULT_MAX_KERNELS)
		return err_set(errp, "more than %d kernels", RESULT_MAX_KERNELS);
	name = word_next(&pos);
	if (!name_is_fine(name, sizeof(k->name)))
		return err_set(errp, "bad kernel name");
	if (parse_double(word_next(&pos), 1e15, &k->ns_per_unit) < 0 || pos)
		return err_set(errp, "bad time of kernel %s", name);
	snprintf(k->name, sizeof(k->name), "%s", name);
	r->kernels_n++;
	return 0;
}

static int parse_point(struct result *r, char *pos, struct errbuf *errp)
{
	struct result_point *p = &r->points[r->points_n];
	const char *vars = word_next(&pos);

	if (r->points_n == RESULT_MAX_POINTS)
		return err_set(errp, "more than %d points", RESULT_MAX_POINTS);
	if (!vars || strlen(vars) >= sizeof(p->vars) || vars[strspn(vars, "0123456789.,e+-")])
		return err_set(errp, "bad numbers of point %u", r->points_n);
	if (parse_double(word_next(&pos), RESULT_MAX_SECONDS, &p->seconds) < 0 || !(p->seconds > 0) ||
	    parse_double(word_next(&pos), RESULT_MAX_CLAIM, &p->claim) < 0 || pos)
		return err_set(errp, "bad seconds or claim of point %u", r->points_n);
	memcpy(p->vars, vars, strlen(vars) + 1);
	r->points_n++;
	return 0;
}

static int parse_class(struct result *r, char *pos)
{
	if (parse_hex16(word_next(&pos), r->class_hex) < 0 || !pos)
		return -1;
	return parse_text(pos, r->class_text, sizeof(r->class_text));
}

/* What has been seen of a record so far; every key but trace, kernel and point comes once. */
enum seen { SEEN_JOB = 1, SEEN_CANDIDATE = 2, SEEN_STATUS = 4, SEEN_REASON = 8, SEEN_CLASS = 16,
	    SEEN_STARTUP = 32, SEEN_HASH = 64, SEEN_UNPARTIAL = 128, SEEN_INTERPRETED = 256, SEEN_NOISE = 512,
	    SEEN_WITHOUT_OWN = 1024 /* written by earlier versions */, SEEN_UNSKELETON = 2048, SEEN_UNPOINT = 4096 };

static int seen_once(unsigned *seen, unsigned bit, const char *key, struct errbuf *errp)
{
	if (*seen & bit)
		return err_set(errp, "%s given twice", key);
	*seen |= bit;
	return 0;
}

static int parse_scalar(struct result *r, const char *key, char *val, unsigned *seen, struct errbuf *errp)
{
	char ignored[301];
	uint64_t n = 0;
	unsigned bit = 0;
	int rv = -1;

	if (!strcmp(key, "job")) {
		bit = SEEN_JOB;
		rv = parse_u64(val, UINT32_MAX, &n);
		r->job_id = (uint32_t)n;
	} else if (!strcmp(key, "candidate")) {
		bit = SEEN_CANDIDATE;
		rv = name_is_fine(val, sizeof(r->candidate)) ? 0 : -1;
		if (!rv)
			snprintf(r->candidate, sizeof(r->candidate), "%s", val);
	} else if (!strcmp(key, "status")) {
		bit = SEEN_STATUS;
		r->ok = val && !strcmp(val, "ok");
		rv = r->ok || (val && !strcmp(val, "failed")) ? 0 : -1;
	} else if (!strcmp(key, "reason")) {
		bit = SEEN_REASON;
		rv = parse_text(val, r->reason, sizeof(r->reason));
	} else if (!strcmp(key, "unpartial")) {
		bit = SEEN_UNPARTIAL;
		rv = parse_text(val, r->unpartial, sizeof(r->unpartial));
	} else if (!strcmp(key, "unskeleton")) {
		bit = SEEN_UNSKELETON;
		rv = parse_text(val, r->unskeleton, sizeof(r->unskeleton));
	} else if (!strcmp(key, "unpoint")) {
		bit = SEEN_UNPOINT;
		rv = parse_text(val, r->unpoint, sizeof(r->unpoint));
	} else if (!strcmp(key, "node_class")) {
		bit = SEEN_CLASS;
		rv = parse_class(r, val);
		r->has_class = true;
	} else if (!strcmp(key, "startup_s")) {
		bit = SEEN_STARTUP;
		rv = parse_double(val, RESULT_MAX_SECONDS, &r->startup_s);
		r->has_startup = true;
	} else if (!strcmp(key, "noise")) {
		bit = SEEN_NOISE;
		rv = parse_double(val, 10, &r->noise);
		r->has_noise = true;
	} else if (!strcmp(key, "interpreted")) {
		bit = SEEN_INTERPRETED;
		rv = parse_text(val, r->interpreted, sizeof(r->interpreted));
	} else if (!strcmp(key, "without_own")) {
		bit = SEEN_WITHOUT_OWN;
		rv = parse_text(val, ignored, sizeof(ignored));
	} else if (!strcmp(key, "hash")) {
		bit = SEEN_HASH;
		rv = parse_hex16(val, r->hash_hex);
		r->has_hash = true;
	} else {
		return err_set(errp, "unknown key \"%.32s\"", key);
	}
	if (rv < 0)
		return err_set(errp, "bad value of %s", key);
	return seen_once(seen, bit, key, errp);
}

static int parse_line(struct result *r, char *line, unsigned *seen, struct errbuf *errp)
{
	char *pos = line;
	const char *key = word_next(&pos);

	if (!key)
		return err_set(errp, "empty line or leading space");
	if (!strcmp(key, "trace"))
		return parse_trace(r, pos, errp);
	if (!strcmp(key, "partial"))
		return parse_partial(r, pos, errp);
	if (!strcmp(key, "compute") || !strcmp(key, "partial_compute"))
		return parse_compute(r, key[0] == 'p', pos, errp);
	if (!strcmp(key, "kernel"))
		return parse_kernel(r, pos, errp);
	if (!strcmp(key, "point"))
		return parse_point(r, pos, errp);
	return parse_scalar(r, key, pos, seen, errp);
}

static int record_check(const struct result *r, unsigned seen, struct errbuf *errp)
{
	const unsigned always = SEEN_JOB | SEEN_CANDIDATE | SEEN_STATUS;
	const unsigned when_ok = SEEN_CLASS | SEEN_STARTUP | SEEN_HASH;

	if ((seen & always) != always)
		return err_set(errp, "job, candidate or status is missing");
	if (r->points_n && (!r->ok || r->unpoint[0]))
		return err_set(errp, "points, though the probe failed or says why there are none");
	if (!r->ok)
		return seen & SEEN_REASON ? 0 : err_set(errp, "failed without a reason");
	if (seen & SEEN_REASON)
		return err_set(errp, "a reason, though the status is ok");
	if ((seen & when_ok) != when_ok)
		return err_set(errp, "node_class, startup_s or hash is missing");
	if (!r->traces_n)
		return err_set(errp, "no trace");
	for (unsigned i = 0; r->unskeleton[0] && i < r->traces_n; i++)
		if (!r->traces[i].partial.present || r->traces[i].hi_s > 0)
			return err_set(errp, "unskeleton, but trace %u has seconds of a skeleton, or no partial execution", i);
	return 0;
}

int result_parse(const char *text, size_t len, struct result *res, struct errbuf *errp)
{
	unsigned seen = 0, line_no = 0;
	bool ended = false;
	char line[1024];

	memset(res, 0, sizeof(*res));
	if (len > RESULT_MAX_BYTES)
		return err_set(errp, "longer than %d bytes", RESULT_MAX_BYTES);
	for (size_t pos = 0; pos < len;) {
		const char *nl = memchr(text + pos, '\n', len - pos);
		size_t n = nl ? (size_t)(nl - text) - pos : 0;

		line_no++;
		if (ended)
			return err_set(errp, "line %u: text after the end line", line_no);
		if (!nl)
			return err_set(errp, "line %u: no line end", line_no);
		if (n >= sizeof(line) || memchr(text + pos, '\0', n))
			return err_set(errp, "line %u: too long or with a zero byte", line_no);
		memcpy(line, text + pos, n);
		line[n] = '\0';
		pos += n + 1;
		if (line_no == 1) {
			if (strcmp(line, MAGIC))
				return err_set(errp, "line 1: not \"" MAGIC "\"");
		} else if (!strcmp(line, "end")) {
			ended = true;
		} else if (parse_line(res, line, &seen, errp) < 0) {
			return err_prefix(errp, "line %u", line_no);
		}
	}
	if (!ended)
		return err_set(errp, "the end line is missing");
	return record_check(res, seen, errp);
}

/* ---- writing ---- */

static void put_fmt(struct buf *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put_fmt(struct buf *out, const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(line))
		out->failed = true;
	else
		buf_put(out, line, (size_t)n);
}

static void put_text(struct buf *out, const char *key, const char *s)
{
	size_t start;

	put_fmt(out, "%s ", key);
	if (!*s)
		s = "-";
	start = out->len;
	buf_put(out, s, strlen(s) + 1);
	if (out->failed)
		return;
	clean_line((char *)out->data + start);
	out->data[out->len - 1] = '\n';
}

static void put_traces(struct buf *out, const struct result *res)
{
	for (unsigned i = 0; i < res->traces_n && i < RESULT_MAX_TRACES; i++) {
		const struct result_trace *t = &res->traces[i];

		put_fmt(out,
			"trace %u mpi_s %.9g skel_s %.9g lo_s %.9g hi_s %.9g ran_s %.9g events %llu confidence %.4g\n",
			i, t->mpi_s, t->skel_s, t->lo_s, t->hi_s, t->ran_s, (unsigned long long)t->events,
			t->confidence);
	}
	for (unsigned i = 0; i < res->traces_n && i < RESULT_MAX_TRACES; i++) {
		const struct result_compute *c = &res->traces[i].compute;

		if (c->present)
			put_fmt(out, "compute %u traced_s %.9g skel_s %.9g\n", i, c->traced_s, c->skel_s);
	}
	for (unsigned i = 0; i < res->traces_n && i < RESULT_MAX_TRACES; i++) {
		const struct result_partial *p = &res->traces[i].partial;

		if (p->present)
			put_fmt(out, "partial %u whole_s %.9g lo_s %.9g hi_s %.9g ran_s %.9g\n", i, p->whole_s, p->lo_s,
				p->hi_s, p->ran_s);
		if (p->present && p->compute.present)
			put_fmt(out, "partial_compute %u traced_s %.9g whole_s %.9g\n", i, p->compute.traced_s,
				p->compute.skel_s);
	}
}

int result_format(const struct result *res, struct buf *out, struct errbuf *errp)
{
	size_t start = out->len;
	struct result *back;
	int rv;

	put_fmt(out, MAGIC "\njob %u\ncandidate %s\nstatus %s\n", res->job_id, res->candidate,
		res->ok ? "ok" : "failed");
	if (!res->ok)
		put_text(out, "reason", res->reason);
	if (res->has_class) {
		put_fmt(out, "node_class ");
		put_text(out, res->class_hex, res->class_text);
	}
	if (res->has_startup)
		put_fmt(out, "startup_s %.9g\n", res->startup_s);
	put_traces(out, res);
	if (res->unpartial[0])
		put_text(out, "unpartial", res->unpartial);
	if (res->unskeleton[0])
		put_text(out, "unskeleton", res->unskeleton);
	for (unsigned i = 0; i < res->kernels_n && i < RESULT_MAX_KERNELS; i++)
		put_fmt(out, "kernel %s %.9g\n", res->kernels[i].name, res->kernels[i].ns_per_unit);
	for (unsigned i = 0; i < res->points_n && i < RESULT_MAX_POINTS; i++)
		put_fmt(out, "point %s %.9g %.4g\n", res->points[i].vars, res->points[i].seconds, res->points[i].claim);
	if (res->unpoint[0])
		put_text(out, "unpoint", res->unpoint);
	if (res->has_noise)
		put_fmt(out, "noise %.4g\n", res->noise);
	if (res->interpreted[0])
		put_text(out, "interpreted", res->interpreted);
	if (res->has_hash)
		put_fmt(out, "hash %s\n", res->hash_hex);
	put_fmt(out, "end\n");
	if (out->failed)
		return err_set(errp, "no memory for the result record, or a field is too long");
	back = malloc(sizeof(*back));
	if (!back)
		return err_set(errp, "no memory for the result record");
	rv = result_parse((const char *)out->data + start, out->len - start, back, errp);
	free(back);
	if (rv < 0)
		return err_prefix(errp, "result record cannot be written");
	return 0;
}

/* ---- files ---- */

static int file_slurp(int fd, char *text, size_t size, size_t *len)
{
	*len = 0;
	while (*len < size) {
		ssize_t n = read(fd, text + *len, size - *len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (!n)
			break;
		*len += (size_t)n;
	}
	return 0;
}

int result_read(int dirfd, const char *name, uid_t uid, struct result *res, struct errbuf *errp)
{
	int fd = fd_open_here(dirfd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	char *text = NULL;
	struct stat st;
	size_t len;
	int rv = -1;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return err_set(errp, "%s: %s", name, errno == ELOOP ? "is a symbolic link" : strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		err_set(errp, "%s: not a regular file", name);
		goto out;
	}
	if (st.st_uid != uid || st.st_nlink != 1) {
		err_set(errp, "%s: belongs to uid %u, not %u, or has several names", name, (unsigned)st.st_uid,
			(unsigned)uid);
		goto out;
	}
	text = malloc(RESULT_MAX_BYTES + 1);
	if (!text) {
		err_set(errp, "%s: no memory", name);
		goto out;
	}
	if (file_slurp(fd, text, RESULT_MAX_BYTES + 1, &len) < 0) {
		err_set(errp, "%s: %s", name, strerror(errno));
		goto out;
	}
	if (result_parse(text, len, res, errp) < 0) {
		err_prefix(errp, "%s", name);
		goto out;
	}
	rv = 1;
out:
	free(text);
	close(fd);
	return rv;
}

static int file_put(int fd, const uint8_t *p, size_t n)
{
	while (n) {
		ssize_t w = write(fd, p, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -1;
		p += w;
		n -= (size_t)w;
	}
	return fsync(fd);
}

int result_write(int dirfd, const char *name, const struct result *res, struct errbuf *errp)
{
	struct buf text = {0};
	char tmp[256];
	int fd = -1, rv = -1, n;

	if (result_format(res, &text, errp) < 0)
		goto out;
	n = snprintf(tmp, sizeof(tmp), ".%s.%ld", name, (long)getpid());
	if (n < 0 || (size_t)n >= sizeof(tmp)) {
		err_set(errp, "%s: name too long", name);
		goto out;
	}
	fd = openat(dirfd, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
	if (fd < 0) {
		err_set(errp, "%s: cannot create: %s", tmp, strerror(errno));
		goto out;
	}
	if (fchmod(fd, 0640) < 0 || file_put(fd, text.data, text.len) < 0 ||
	    renameat(dirfd, tmp, dirfd, name) < 0) {
		err_set(errp, "%s: cannot write: %s", name, strerror(errno));
		unlinkat(dirfd, tmp, 0);
		goto out;
	}
	rv = 0;
out:
	if (fd >= 0)
		close(fd);
	buf_free(&text);
	return rv;
}
