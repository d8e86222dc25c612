/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Partial traces of runs that died: see salvage.h. One rank's spill file is read in salvage_rank.c. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/clean.h"
#include "trace/format/page.h"
#include "trace/salvage/salvage.h"
#include "trace/salvage/salvage_rank.h"

/* Largest numbers that a mark of ours has. */
#define MARK_MOST_S 1e9
#define SIGNAL_MOST 64u


struct name {
	char id[192];
	uint32_t rank;
	char *path;
};

struct names {
	struct name *v;
	size_t n, cap;
};

/* ---- the files ---- */

/* Parse a file name <id>.r<rank>.spill. */
static bool parse_name(const char *file, struct name *out)
{
	size_t len = strlen(file), tail = strlen(SPILL_SUFFIX), i;
	uint64_t rank = 0;

	if (len <= tail || strcmp(file + len - tail, SPILL_SUFFIX))
		return false;
	len -= tail;
	for (i = len; i > 0 && isdigit((unsigned char)file[i - 1]); i--)
		;
	if (i == len || len - i > 9 || i < 3 || file[i - 1] != 'r' || file[i - 2] != '.' || i - 2 >= sizeof(out->id))
		return false;
	for (size_t k = i; k < len; k++)
		rank = rank * 10 + (uint64_t)(file[k] - '0');
	memcpy(out->id, file, i - 2);
	out->id[i - 2] = '\0';
	out->rank = (uint32_t)rank;
	return rank < TRACE_MAX_RANKS;
}

static int by_id_and_rank(const void *a, const void *b)
{
	const struct name *x = a, *y = b;
	int c = strcmp(x->id, y->id);

	return c ? c : x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void names_free(struct names *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i].path);
	free(l->v);
	*l = (struct names){0};
}

static int add_name(struct names *l, const char *dir, const char *file, const struct name *one)
{
	if (ARRAY_ROOM(l->v, l->cap, l->n + 1) != 0)
		return -1;
	l->v[l->n] = *one;
	if (asprintf(&l->v[l->n].path, "%s/%s", dir, file) < 0)
		return -1;
	l->n++;
	return 0;
}

/* List the spill files of run `id`, or of all runs if id is NULL, in order of run and rank. */
static int list_spill_files(const char *dir, const char *id, struct names *out, struct errbuf *err)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int rv = 0;

	*out = (struct names){0};
	if (!d)
		return err_set(err, "%s: cannot open: %s", dir, strerror(errno));
	while (rv == 0 && (e = readdir(d))) {
		struct name one = {0};

		if (parse_name(e->d_name, &one) && (!id || !strcmp(one.id, id)) && add_name(out, dir, e->d_name, &one) < 0)
			rv = err_set(err, "no memory");
	}
	closedir(d);
	if (rv < 0)
		names_free(out);
	else if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), by_id_and_rank);
	return rv;
}

/* Open a spill file and check that it belongs to that run and rank. */
static int open_named(const struct name *n, struct salvage_rank *s, struct errbuf *err)
{
	if (salvage_rank_open(s, n->path, err) < 0)
		return -1;
	if (!strcmp(s->header.id, n->id) && s->header.rank == n->rank)
		return 0;
	salvage_rank_close(s);
	return err_set(err, "%s: holds rank %u of %s", n->path, s->header.rank, s->header.id);
}

int salvage_find(const char *dir, struct salvage_run **run, struct errbuf *err)
{
	struct names l;
	int n = 0;

	*run = NULL;
	if (list_spill_files(dir, NULL, &l, err) < 0)
		return -1;
	*run = calloc(l.n ? l.n : 1, sizeof(**run));
	for (size_t i = 0; *run && i < l.n; i++) {
		struct salvage_run *r;
		struct salvage_rank s;
		struct errbuf why;

		if (!i || strcmp(l.v[i].id, l.v[i - 1].id))
			memcpy((*run)[n++].id, l.v[i].id, sizeof(l.v[i].id));
		r = &(*run)[n - 1];
		r->n_found++;
		if (!r->world_size && open_named(&l.v[i], &s, &why) == 0) {
			r->world_size = s.header.world_size;
			salvage_rank_close(&s);
		}
	}
	names_free(&l);
	return *run ? n : err_set(err, "no memory");
}

/* ---- facts ---- */

static void put_line(struct buf *b, const char *key, const char *value)
{
	size_t start;

	buf_put(b, key, strlen(key));
	buf_put_u8(b, '=');
	start = b->len;
	buf_put(b, value, strlen(value) + 1);
	if (b->failed)
		return;
	clean_line((char *)b->data + start);
	b->data[b->len - 1] = '\n';
}

struct summary {
	uint32_t world_size, n_ranks; /* n_ranks: readable files */
	uint64_t death_real_ns;       /* last time at which the run is known to have lived */
	struct buf facts, hosts;      /* facts of the lowest rank; host names without repetition, joined by commas */
	uint32_t n_hosts;
};

static void add_host(struct summary *m, const char *host)
{
	size_t len = strlen(host);
	const char *at = (const char *)m->hosts.data, *end = at ? at + m->hosts.len : NULL;

	while (at < end) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		size_t n = (size_t)((comma ? comma : end) - at);

		if (n == len && !memcmp(at, host, len))
			return;
		at = comma ? comma + 1 : end;
	}
	if (!len || strchr(host, ',') || m->hosts.len > 65536)
		return;
	if (m->hosts.len)
		buf_put_u8(&m->hosts, ',');
	buf_put(&m->hosts, host, len);
	m->n_hosts++;
}

static void add_rank_facts(const struct names *l, struct summary *m)
{
	for (size_t i = 0; i < l->n; i++) {
		struct salvage_rank s;
		struct errbuf why;

		if (open_named(&l->v[i], &s, &why) < 0)
			continue;
		if (!m->world_size) {
			m->world_size = s.header.world_size;
			buf_put(&m->facts, s.header.facts, strlen(s.header.facts));
		}
		if (s.header.world_size == m->world_size) {
			m->n_ranks++;
			add_host(m, s.header.host);
			if (s.seen_real_ns > m->death_real_ns)
				m->death_real_ns = s.seen_real_ns;
		}
		salvage_rank_close(&s);
	}
}

/* Is there a file with this suffix beside the spill file? path: its name, for PATH_MAX bytes. */
static bool beside(const struct name *n, const char *suffix, char *path)
{
	return snprintf(path, PATH_MAX, "%s%s", n->path, suffix) < PATH_MAX && access(path, F_OK) == 0;
}

/* The facts of a mark; none if the mark is of another form. */
static void put_ends(const char *path, struct buf *b)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), used = 0;
	unsigned number;
	double within_s;
	char text[64];
	ssize_t n;

	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	if (sscanf(text, "%lf %u%n", &within_s, &number, &used) != 2 || !used || !(within_s >= 0 && within_s < MARK_MOST_S) || number > SIGNAL_MOST)
		return;
	snprintf(text, sizeof(text), "%.6f", within_s);
	put_line(b, "ends_within", text);
	snprintf(text, sizeof(text), "%u", number);
	if (number)
		put_line(b, "launcher_signal", text);
}

static void put_first_ended(const struct names *l, struct buf *b)
{
	char path[PATH_MAX], text[32];

	for (size_t i = 0; i < l->n; i++) {
		if (!beside(&l->v[i], SALVAGE_FIRST, path))
			continue;
		snprintf(text, sizeof(text), "%u", l->v[i].rank);
		put_line(b, "first_ended", text);
		put_ends(path, b);
		return;
	}
}

static int write_job(const struct names *l, const struct summary *m, const char *ended, struct trace_writer *w, struct errbuf *err)
{
	struct trace_page job = {.type = TPAGE_JOB};
	struct buf b = {0}, page = {0};
	char text[32];
	int rv;

	buf_put(&b, m->facts.data, m->facts.len);
	if (b.len && b.data[b.len - 1] != '\n')
		buf_put_u8(&b, '\n');
	snprintf(text, sizeof(text), "%u", m->n_hosts);
	put_line(&b, "nodes", text);
	buf_put(&b, "hosts=", 6);
	buf_put(&b, m->hosts.data, m->hosts.len);
	buf_put_u8(&b, '\n');
	put_line(&b, "ended", ended);
	snprintf(text, sizeof(text), "%u of %u", m->n_ranks, m->world_size);
	put_line(&b, "salvaged", text);
	put_first_ended(l, &b);
	rv = b.failed || trace_page_encode(&job, b.data, b.len, &page) < 0 ? err_set(err, "no memory") :
									    trace_writer_pages(w, page.data, page.len, err);
	buf_free(&b);
	buf_free(&page);
	return rv;
}

/* ---- writing ---- */

/* How the tasks on this rank's node ended, from the collector's file beside the spill file. Without that file:
 * `ended`. */
static const char *node_end(const char *path, const char *ended, char *text, size_t size)
{
	char file[PATH_MAX];
	ssize_t n = -1;
	int fd = -1;

	if (snprintf(file, sizeof(file), "%s" SALVAGE_ENDED, path) < (int)sizeof(file))
		fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd >= 0) {
		n = read(fd, text, size - 1);
		close(fd);
	}
	if (n <= 0)
		return ended;
	text[n] = '\0';
	return clean_line(text);
}

static void remove_parts(const struct names *l)
{
	char path[PATH_MAX];

	for (size_t i = 0; i < l->n; i++) {
		unlink(l->v[i].path);
		if (beside(&l->v[i], SALVAGE_ENDED, path))
			unlink(path);
		if (beside(&l->v[i], SALVAGE_FIRST, path))
			unlink(path);
	}
}

static int write_ranks(const struct names *l, const struct summary *m, const char *ended, struct trace_writer *w,
		       struct salvage_report *r, struct errbuf *err)
{
	struct errbuf why = {""};

	for (size_t i = 0; i < l->n; i++) {
		struct salvage_rank s;
		uint64_t events = 0;
		char own[128];

		if (open_named(&l->v[i], &s, &why) < 0)
			continue;
		if (s.header.world_size == m->world_size &&
		    salvage_rank_write(&s, w, node_end(l->v[i].path, ended, own, sizeof(own)), m->death_real_ns, &events, &why) == 0) {
			r->n_found++;
			r->events += events;
		}
		salvage_rank_close(&s);
	}
	return r->n_found ? 0 : err_set(err, "no rank can be salvaged: %s", why.text);
}

int salvage_write(const char *dir, const char *id, const char *out_dir, const char *out_file, const char *ended,
		  struct salvage_report *report, struct errbuf *err)
{
	struct salvage_report r = {0};
	struct summary m = {0};
	struct trace_writer *w = NULL;
	struct names l;
	int rv = -1;

	if (list_spill_files(dir, id, &l, err) < 0)
		return -1;
	add_rank_facts(&l, &m);
	r.n_ranks = m.world_size;
	if (!m.n_ranks) {
		err_set(err, "%s: no spill file of %s can be read", dir, id);
		goto out;
	}
	if ((out_file ? snprintf(r.path, sizeof(r.path), "%s", out_file) :
			snprintf(r.path, sizeof(r.path), "%s/%s.partial.ptrace", out_dir, id)) >= (int)sizeof(r.path)) {
		err_set(err, "%s: the path is too long", out_dir);
		goto out;
	}
	w = trace_writer_create(r.path, m.world_size, err);
	if (!w || write_job(&l, &m, ended ? ended : "", w, err) < 0 || write_ranks(&l, &m, ended ? ended : "", w, &r, err) < 0) {
		trace_writer_abort(w);
		goto out;
	}
	rv = trace_writer_close(w, true, err);
	/* Keep the spill files of an incomplete run. If more files arrive, the trace is written again from all of
	 * them. */
	if (rv == 0 && (out_file || r.n_found == r.n_ranks))
		remove_parts(&l);
	if (rv == 0 && report)
		*report = r;
out:
	names_free(&l);
	buf_free(&m.facts);
	buf_free(&m.hosts);
	return rv;
}
