/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parser of the 14-column text: see columns14.h. A line in plain form has one blank between numbers and no signs;
 * it takes the fast path. Any other line is parsed number by number, which also gives exact error messages.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/tiles/columns14.h"

#define BLOCK    (256u << 10)
#define LINE_MAX_BYTES 4096u
#define PADDING  64u
#define BATCH    4096u
#define N_COLUMNS 14

static const char *const column_name[N_COLUMNS] = {
	"time", "processor", "command", "command parameter 1", "command parameter 2", "command parameter 3",
	"command parameter 4", "event", "event parameter 1", "event parameter 2", "event parameter 3",
	"event parameter 4", "subproblems", "record flag"};

struct columns14 {
	char *path;
	int fd;
	uint64_t size, done;
	const struct columns14_codes *codes;
	char *buf;
	size_t at, end; /* complete lines that are not parsed yet */
	/* bytes in buf; an incomplete line may stand behind `end` */
	size_t held;
	bool eof;
	uint64_t line;
	struct columns14_tally tally;
};

struct fields {
	int64_t v[N_COLUMNS];
};

void columns14_codes_default(struct columns14_codes *c)
{
	memset(c->command, COLUMNS14_UNKNOWN, sizeof(c->command));
	for (uint8_t k = 0; k <= COLUMNS14_GOES_ON; k++)
		c->command[k] = k;
	memset(c->arrival, 0, sizeof(c->arrival));
	c->arrival[1] = true;
}

int columns14_batch_init(struct columns14_batch *b)
{
	*b = (struct columns14_batch){.change = malloc(BATCH * sizeof(*b->change)),
				      .message = malloc(2 * BATCH * sizeof(*b->message))};
	if (b->change && b->message)
		return 0;
	columns14_batch_free(b);
	return -1;
}

void columns14_batch_free(struct columns14_batch *b)
{
	free(b->change);
	free(b->message);
	*b = (struct columns14_batch){0};
}

struct columns14 *columns14_open(const char *path, const struct columns14_codes *codes, struct errbuf *err)
{
	struct columns14 *c = calloc(1, sizeof(*c));
	struct stat st;

	if (!c) {
		err_set(err, "%s: no memory", path);
		return NULL;
	}
	c->codes = codes;
	c->path = strdup(path);
	c->buf = malloc(LINE_MAX_BYTES + BLOCK + PADDING);
	c->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (c->fd < 0)
		err_set(err, "%s: cannot open: %s", path, strerror(errno));
	else if (fstat(c->fd, &st) < 0 || !S_ISREG(st.st_mode))
		err_set(err, "%s: is not a regular file (its end is looked at before it is read)", path);
	else if (!c->path || !c->buf)
		err_set(err, "%s: no memory", path);
	else {
		c->size = (uint64_t)st.st_size;
		posix_fadvise(c->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
		return c;
	}
	columns14_close(c);
	return NULL;
}

void columns14_close(struct columns14 *c)
{
	if (!c)
		return;
	if (c->fd >= 0)
		close(c->fd);
	free(c->path);
	free(c->buf);
	free(c);
}

void columns14_rewind(struct columns14 *c)
{
	c->done = c->line = 0;
	c->at = c->end = c->held = 0;
	c->eof = false;
	c->tally = (struct columns14_tally){0};
}

const struct columns14_tally *columns14_tally(const struct columns14 *c)
{
	return &c->tally;
}

uint64_t columns14_size(const struct columns14 *c)
{
	return c->size;
}

uint64_t columns14_done(const struct columns14 *c)
{
	return c->done;
}

/* ---- one line ---- */

static inline const char *digits(const char *p, int64_t *out)
{
	unsigned int d = (unsigned char)*p - '0';
	const char *start = p;
	uint64_t v = 0;

	for (; d <= 9; d = (unsigned char)*++p - '0')
		v = v * 10 + d;
	*out = (int64_t)v;
	return p == start || p - start > 18 ? NULL : p;
}

/* Parse four parameters, usually "0 0 0 0 ". */
static inline const char *parse_parameters(const char *p, int64_t *v)
{
	if (!memcmp(p, "0 0 0 0 ", 8)) {
		v[0] = v[1] = v[2] = v[3] = 0;
		return p + 8;
	}
	for (int i = 0; i < 4; i++, p++) {
		p = digits(p, &v[i]);
		if (!p || *p != ' ')
			return NULL;
	}
	return p;
}

/* Parse a line in plain form. Returns its end, or NULL. Reads at most 8 bytes behind the newline that ends the
 * buffer. */
static inline const char *fast_line(const char *p, struct fields *f)
{
	for (int i = 0; i < 3; i++, p++) {
		p = digits(p, &f->v[i]);
		if (!p || *p != ' ')
			return NULL;
	}
	p = parse_parameters(p, f->v + 3);
	if (!p)
		return NULL;
	p = digits(p, &f->v[7]);
	if (!p || *p++ != ' ')
		return NULL;
	p = parse_parameters(p, f->v + 8);
	if (!p)
		return NULL;
	p = digits(p, &f->v[12]);
	if (!p || *p++ != ' ')
		return NULL;
	p = digits(p, &f->v[13]);
	return p && *p == '\n' ? p : NULL;
}

static int column_error(const struct columns14 *c, struct errbuf *err, int column, const char *text, int len, const char *what)
{
	int n = len < 24 ? len : 24;

	return err_set(err, "%s:%llu: column %d (%s) is '%.*s%s', %s", c->path, (unsigned long long)c->line, column + 1,
		       column_name[column], n, text, len > n ? "..." : "", what);
}

static int slow_number(const struct columns14 *c, const char *p, int len, int column, int64_t *out, struct errbuf *err)
{
	bool parameter = (column >= 3 && column < 7) || (column >= 8 && column < 12);
	bool minus = *p == '-';
	uint64_t v = 0;

	for (int i = minus; i < len; i++) {
		if (p[i] == '.' && i > minus && strspn(p + i + 1, "0123456789") == (size_t)(len - i - 1))
			return column_error(c, err, column, p, len, "not a whole number: scale the values (awk) and import again");
		if (p[i] < '0' || p[i] > '9')
			return column_error(c, err, column, p, len, "not a whole number");
		v = v * 10 + (uint64_t)(p[i] - '0');
	}
	if (len == minus || len - minus > 18)
		return column_error(c, err, column, p, len, len == minus ? "not a whole number" : "longer than 18 digits");
	if (minus && !parameter && v)
		return column_error(c, err, column, p, len, "below zero");
	*out = minus ? -(int64_t)v : (int64_t)v;
	return 0;
}

/* Parse any line. Returns 1 if it was read, 0 if it is blank, -1 on error (err says why). */
static int slow_line(const struct columns14 *c, const char *p, const char *end, struct fields *f, struct errbuf *err)
{
	int n = 0;

	if (c->line <= 1 && end - p >= 2 && (!memcmp(p, "\xff\xfe", 2) || !memcmp(p, "\xfe\xff", 2)))
		return err_set(err, "%s: is text in UTF-16: convert it (iconv -f UTF-16 -t UTF-8) and import again", c->path);
	if (c->line <= 1 && end - p >= 3 && !memcmp(p, "\xef\xbb\xbf", 3))
		p += 3; /* a byte order mark, as some editors write it */
	if (end > p && end[-1] == '\r')
		end--;
	for (;;) {
		const char *start;

		while (p < end && (*p == ' ' || *p == '\t'))
			p++;
		if (p == end)
			break;
		for (start = p; p < end && *p != ' ' && *p != '\t';)
			p++;
		if (n < N_COLUMNS && slow_number(c, start, (int)(p - start), n, &f->v[n], err) < 0)
			return -1;
		n++;
	}
	if (n && n != N_COLUMNS)
		return err_set(err, "%s:%llu: has %d numbers, not 14 (time, processor, command, 4 parameters, event, "
			       "4 parameters, subproblems, record flag)", c->path, (unsigned long long)c->line, n);
	return n > 0;
}

/* ---- what a record says ---- */

static int value_error(const struct columns14 *c, const struct fields *f, int column, const char *what, struct errbuf *err)
{
	return err_set(err, "%s:%llu: column %d (%s) is %lld: %s", c->path, (unsigned long long)c->line, column + 1,
		       column_name[column], (long long)f->v[column], what);
}

static int add_message(struct columns14 *c, struct columns14_batch *b, const struct fields *f, int column, bool arrival,
		       struct errbuf *err)
{
	const int64_t *v = f->v + column; /* peer, tag, amount */

	if (v[0] < 0 || v[0] >= TRACE_MAX_RANKS)
		return value_error(c, f, column, arrival ? "there is no such processor to have sent it"
							 : "there is no such processor to send to", err);
	if (v[1] != (int32_t)v[1])
		return value_error(c, f, column + 1, "a tag has 32 bits", err);
	if (v[2] < 0)
		return value_error(c, f, column + 2, "an amount below zero", err);
	if (v[0] >= c->tally.n_ranks)
		c->tally.n_ranks = (uint32_t)v[0] + 1;
	b->message[b->n_message++] = (struct columns14_message){
		.t = (uint64_t)f->v[0], .rank = (uint32_t)f->v[1], .peer = (uint32_t)v[0], .tag = (int32_t)v[1],
		.amount = (uint64_t)v[2], .arrival = arrival};
	return 0;
}

static int check_record(struct columns14 *c, const struct fields *f, struct errbuf *err)
{
	uint64_t t = (uint64_t)f->v[0];

	if (c->tally.records && t < c->tally.last)
		return err_set(err, "%s:%llu: time goes back from %llu to %llu: sort the file by time first (sort -s -n -k1,1)",
			       c->path, (unsigned long long)c->line, (unsigned long long)c->tally.last, (unsigned long long)t);
	if (f->v[1] >= TRACE_MAX_RANKS)
		return value_error(c, f, 1, "at most 1048575 can be imported", err);
	if (f->v[2] >= COLUMNS14_CODES || c->codes->command[f->v[2]] == COLUMNS14_UNKNOWN)
		return value_error(c, f, 2, "what does it do? Say --command CODE=wait|work|send|receive|go-on", err);
	if (f->v[13] > 1)
		return value_error(c, f, 13, "it is 0 or 1", err);
	return 0;
}

static inline int take_record(struct columns14 *c, struct columns14_batch *b, const struct fields *f, struct errbuf *err)
{
	struct columns14_tally *y = &c->tally;
	uint64_t t = (uint64_t)f->v[0];
	uint8_t does;

	if ((y->records && t < y->last) || f->v[1] >= TRACE_MAX_RANKS || f->v[2] >= COLUMNS14_CODES ||
	    c->codes->command[f->v[2]] == COLUMNS14_UNKNOWN || f->v[13] > 1)
		return check_record(c, f, err);
	if (!y->records++)
		y->first = t;
	y->last = t;
	if (f->v[1] >= y->n_ranks)
		y->n_ranks = (uint32_t)f->v[1] + 1;
	y->record_updates += (uint64_t)f->v[13];
	if ((uint64_t)f->v[12] > y->subproblems_max)
		y->subproblems_max = (uint64_t)f->v[12];
	does = c->codes->command[f->v[2]];
	if (does != COLUMNS14_GOES_ON)
		b->change[b->n_change++] = (struct tile_change){.t = t, .rank = (uint32_t)f->v[1], .state = does};
	if (does == TSTATE_SENDING && add_message(c, b, f, 3, false, err) < 0)
		return -1;
	if (f->v[7] < COLUMNS14_CODES && c->codes->arrival[f->v[7]])
		return add_message(c, b, f, 8, true, err);
	return 0;
}

/* ---- the file ---- */

/* Read more complete lines into the buffer. Returns 1, 0 at the end of the file, -1 on error (err says why). */
static int refill(struct columns14 *c, struct errbuf *err)
{
	ssize_t n;

	memmove(c->buf, c->buf + c->end, c->held - c->end);
	c->held -= c->end;
	c->at = c->end = 0;
	while (!c->end) {
		char *last;

		if (c->eof)
			return 0;
		if (c->held >= LINE_MAX_BYTES)
			return err_set(err, "%s:%llu: is longer than %u bytes: is this a 14-column text trace?", c->path,
				       (unsigned long long)c->line + 1, LINE_MAX_BYTES);
		n = pread(c->fd, c->buf + c->held, BLOCK, (off_t)c->done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, "%s: cannot read: %s", c->path, strerror(errno));
		c->done += (uint64_t)n;
		c->held += (size_t)n;
		if (!n) {
			c->eof = true;
			if (c->held)
				c->buf[c->held++] = '\n'; /* the last line may lack a newline */
		}
		last = c->held ? memrchr(c->buf, '\n', c->held) : NULL;
		c->end = last ? (size_t)(last - c->buf) + 1 : 0;
	}
	return 1;
}

int columns14_next(struct columns14 *c, struct columns14_batch *b, struct errbuf *err)
{
	b->n_change = b->n_message = 0;
	if (c->at == c->end) {
		int more = refill(c, err);

		if (more <= 0)
			return more;
	}
	memset(c->buf + c->held, 0, PADDING);
	for (uint32_t n = 0; n < BATCH && c->at < c->end; n++) {
		const char *p = c->buf + c->at, *end;
		struct fields f;
		int is = 1;

		c->line++;
		end = fast_line(p, &f);
		if (!end) {
			end = memchr(p, '\n', c->end - c->at);
			is = slow_line(c, p, end, &f, err);
		}
		c->at = (size_t)(end + 1 - c->buf);
		if (is < 0 || (is > 0 && take_record(c, b, &f, err) < 0))
			return -1;
	}
	return 1;
}

int columns14_last_time(struct columns14 *c, uint64_t *t)
{
	char tail[2 * LINE_MAX_BYTES];
	uint64_t from = c->size > sizeof(tail) ? c->size - sizeof(tail) : 0;
	ssize_t n = pread(c->fd, tail, sizeof(tail), (off_t)from);
	struct fields f;
	char *line;

	while (n > 0 && strchr(" \t\r\n", tail[n - 1]))
		n--;
	if (n <= 0)
		return -1;
	line = memrchr(tail, '\n', (size_t)n);
	if ((!line && from) || slow_line(c, line ? line + 1 : tail, tail + n, &f, NULL) <= 0)
		return -1;
	*t = (uint64_t)f.v[0];
	return 0;
}
