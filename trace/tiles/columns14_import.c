/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Converts the 14-column text to a trace file: see columns14.h. The number of processors and marks must be known
 * before the first tile. The last line gives the marks, and the first records give the processors. If a later
 * record has a greater processor number, the whole file is read once and the import starts again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clean.h"
#include "trace/tiles/columns14.h"
#include "trace/tiles/columns14_ahead.h"
#include "trace/tiles/columns14_match.h"

struct import {
	const struct columns14_options *o;
	struct columns14 *in;
	struct columns14_ahead *ahead;
	const char *out_path;
	struct trace_writer *out;
	struct tiles_writer *tiles;
	struct match *match;
	struct columns14_batch batch;
	struct tiles_extent x;
	struct columns14_report report;
	bool look; /* read the whole file first: the first guess was wrong */
};

/* Read the whole file to get its extent, or to report its first error. */
static int look_through(struct import *i, struct errbuf *err)
{
	int more;

	columns14_rewind(i->in);
	while ((more = columns14_next(i->in, &i->batch, err)) > 0)
		;
	return more;
}

static int find_extent(struct import *i, struct errbuf *err)
{
	const struct columns14_tally *y = columns14_tally(i->in);
	uint64_t cells = i->o->cells_max ? i->o->cells_max : COLUMNS14_CELLS_MAX;
	bool known = i->look || columns14_last_time(i->in, &i->x.last) == 0;
	int first = 1;

	columns14_rewind(i->in);
	if (known && !i->look)
		while (!y->records && (first = columns14_next(i->in, &i->batch, err)) > 0)
			;
	if (first < 0 || ((!known || i->look) && look_through(i, err) < 0))
		return -1;
	if (!y->records)
		return err_set(err, "the file has no records");
	i->x.first = y->first;
	i->x.n_ranks = y->n_ranks;
	if (!known || i->look || i->x.last < y->last)
		i->x.last = y->last;
	i->look = false;
	columns14_rewind(i->in);
	if (i->x.last - i->x.first >= COLUMNS14_MARKS_MAX || i->x.last - i->x.first >= cells / i->x.n_ranks)
		return err_set(err, "%u processors x %llu marks are too many: is column 1 the time in marks? Scale it",
			       i->x.n_ranks, (unsigned long long)(i->x.last - i->x.first + 1));
	return 0;
}

static int put_messages(struct import *i, const struct columns14_batch *b, struct errbuf *err)
{
	struct exchange m;

	for (uint32_t k = 0; k < b->n_message; k++) {
		int done = match_add(i->match, &b->message[k], &m);

		if (done < 0)
			return err_set(err, "no memory for messages in flight");
		i->report.messages += (unsigned int)done;
		if (done && tiles_writer_exchange(i->tiles, &m, err) < 0)
			return -1;
		while (match_full(i->match) && match_give_up(i->match, &m)) {
			i->report.unreceived++;
			if (tiles_writer_exchange(i->tiles, &m, err) < 0)
				return -1;
		}
	}
	return 0;
}

static int put_job(struct import *i, const char *path, struct errbuf *err)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	const struct columns14_tally *y = &i->report.tally;
	struct trace_page head = {.type = TPAGE_JOB};
	struct buf page = {0};
	char *text, *base = strdup(name);
	int n, rv = -1;

	clean_line(base);
	n = asprintf(&text, "program=%s\nformat=columns14\nsource=%s\nmark_ns=%.17g\nmarks=%llu\nrecords=%llu\nmessages=%llu\n"
		     "messages_unsent=%llu\nmessages_unreceived=%llu\nrecord_updates=%llu\nsubproblems_max=%llu\n",
		     base ? base : "?", base ? base : "?", i->o->mark_ns > 0 ? i->o->mark_ns : 1e6,
		     (unsigned long long)(y->last - y->first + 1), (unsigned long long)y->records,
		     (unsigned long long)i->report.messages, (unsigned long long)i->report.unsent,
		     (unsigned long long)i->report.unreceived, (unsigned long long)y->record_updates,
		     (unsigned long long)y->subproblems_max);
	free(base);
	if (n < 0)
		return err_set(err, "no memory");
	if (trace_page_encode(&head, text, (size_t)n, &page) < 0)
		err_set(err, "no memory");
	else
		rv = trace_writer_pages(i->out, page.data, page.len, err);
	buf_free(&page);
	free(text);
	return rv;
}

static int finish_tiles(struct import *i, const char *path, struct errbuf *err)
{
	struct exchange m;

	while (match_give_up(i->match, &m)) {
		i->report.unreceived++;
		if (tiles_writer_exchange(i->tiles, &m, err) < 0)
			return -1;
	}
	i->report.unsent = match_unsent(i->match);
	if (tiles_writer_finish(i->tiles, err) < 0)
		return -1;
	return put_job(i, path, err);
}

static void drop_import(struct import *i)
{
	columns14_ahead_stop(i->ahead);
	i->ahead = NULL;
	tiles_writer_destroy(i->tiles);
	trace_writer_abort(i->out);
	match_destroy(i->match);
	i->tiles = NULL;
	i->out = NULL;
	i->match = NULL;
}

/* Write all records to the tiles. Returns 0, 1 if the extent was too small, -1 on error (err says why). */
static int put_records(struct import *i, struct errbuf *err)
{
	const struct columns14_slot *s, *last;

	while ((s = columns14_ahead_next(i->ahead, &last))) {
		if (s->tally.n_ranks > i->x.n_ranks || s->tally.last > i->x.last)
			return 1; /* or the last line has an earlier time, which look_through reports */
		if (tiles_writer_put(i->tiles, s->batch.change, s->batch.n_change, err) < 0 ||
		    put_messages(i, &s->batch, err) < 0)
			return -1;
		if (i->o->progress)
			i->o->progress(s->done, columns14_size(i->in));
	}
	i->report.tally = last->tally;
	return last->more < 0 ? err_set(err, "%s", last->err.text) : 0;
}

static int attempt(struct import *i, const char *path, struct errbuf *err)
{
	int rv;

	i->report = (struct columns14_report){{0}, 0, 0, 0};
	i->x.tile_bytes = i->o->tile_bytes;
	i->match = match_create();
	if (!i->match)
		return err_set(err, "no memory");
	i->out = trace_writer_create(i->out_path, i->x.n_ranks, err);
	i->tiles = i->out ? tiles_writer_create(i->out, &i->x, err) : NULL;
	if (!i->tiles)
		return -1;
	i->ahead = columns14_ahead_start(i->in);
	if (!i->ahead)
		return err_set(err, "no memory");
	rv = put_records(i, err);
	return rv ? rv : finish_tiles(i, path, err);
}

int columns14_import(const char *path, const char *out, const struct columns14_options *o,
		     struct columns14_report *report, struct errbuf *err)
{
	struct import i = {.o = o, .out_path = out};
	int rv = -1;

	i.in = columns14_open(path, &o->codes, err);
	if (!i.in)
		return -1;
	if (columns14_batch_init(&i.batch) < 0) {
		err_set(err, "%s: no memory", path);
		goto out;
	}
	do {
		i.look = rv == 1;
		drop_import(&i);
		rv = find_extent(&i, err) < 0 ? -1 : attempt(&i, path, err);
	} while (rv == 1);
	if (rv == 0) {
		rv = trace_writer_close(i.out, false, err);
		i.out = NULL;
		if (report)
			*report = i.report;
	} else if (strncmp(err->text, path, strlen(path)) && strncmp(err->text, out, strlen(out))) {
		err_prefix(err, "%s", path);
	}
out:
	drop_import(&i);
	columns14_batch_free(&i.batch);
	columns14_close(i.in);
	return rv;
}
