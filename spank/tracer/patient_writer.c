/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing of the trace file with a deadline: see patient_writer.h. Work that is late keeps what it uses for ever. */
#include "spank/tracer/patient_writer.h"

#include <stdio.h>

#include "spank/tracer/patience.h"

/* Of the one trace that a process writes. Static, because late work may still use it. */
static struct {
	struct trace_writer *w;
	struct buf pages;
	bool partial;
	char path[sizeof(((struct ends_file *)0)->path)];
	struct ends_file file;
	struct errbuf err;
	int rv;
} of;

static void work_pages(void *arg)
{
	(void)arg;
	of.rv = trace_writer_pages(of.w, of.pages.data, of.pages.len, &of.err);
}

static void work_close(void *arg)
{
	(void)arg;
	trace_writer_ends(of.w);
	of.rv = trace_writer_close(of.w, of.partial, &of.err);
	if (of.rv == 0)
		ends_file_of(of.path, &of.file);
}

static void work_abort(void *arg)
{
	(void)arg;
	trace_writer_abort(of.w);
}

/* Do the work with the writer. Returns its result. */
static int work_on(struct trace_writer **w, void (*work)(void *), unsigned seconds, struct errbuf *err)
{
	of.w = *w;
	if (patience_run(work, NULL, seconds)) {
		if (of.rv < 0)
			*err = of.err;
		return of.rv;
	}
	*w = NULL;
	return err_set(err, "the file server does not answer");
}

int patient_pages(struct trace_writer **w, struct buf *pages, struct errbuf *err)
{
	int rv;

	of.pages = *pages;
	rv = work_on(w, work_pages, SERVER_S, err);
	if (!*w)
		*pages = (struct buf){0};
	else if (rv < 0)
		patient_abort(w);
	return rv;
}

int patient_close(struct trace_writer **w, bool partial, const char *path, struct ends_file *file, struct errbuf *err)
{
	int rv;

	of.partial = partial;
	snprintf(of.path, sizeof(of.path), "%s", path);
	rv = work_on(w, work_close, SERVER_SYNC_S, err);
	if (rv == 0)
		*file = of.file;
	*w = NULL;
	return rv;
}

void patient_abort(struct trace_writer **w)
{
	of.w = *w;
	if (*w)
		patience_run(work_abort, NULL, SERVER_S);
	*w = NULL;
}
