/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The quota of each user in the spool: measured with all that lies in the user's directory, and enforced by removing what is
 * oldest. See spool_sweep in spool.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "predictor/spool/walk.h"

/* An entry of the user's directory, with all that is in it. */
struct item {
	char *name;
	int64_t written; /* last */
	uint64_t bytes, files;
	bool is_job, live;
};

struct quota {
	const struct spool_order *order;
	uid_t uid;
	unsigned depth;
	struct item *item; /* that is measured or removed; of the list below */
	struct item *items;
	size_t n, room;
	uint64_t closed; /* as in struct spool_use */
};

static void measure(void *arg, int dir, const char *name)
{
	struct quota *q = arg;
	struct stat st;
	int fd;

	if (fd_stat_here(dir, name, &st) < 0 || st.st_uid != q->uid)
		return;
	q->item->files++;
	q->item->bytes += (uint64_t)st.st_blocks * 512;
	if ((int64_t)st.st_mtime > q->item->written)
		q->item->written = st.st_mtime;
	if (!S_ISDIR(st.st_mode))
		return;
	fd = q->depth < WALK_DEPTH ? walk_open(dir, name, q->uid) : -1;
	q->depth++;
	q->closed += (fd < 0 && (errno == EACCES || q->depth > WALK_DEPTH)) || !walk_each(fd, q->order->stop, measure, q);
	q->depth--;
}

static void item_add(void *arg, int dir, const char *name)
{
	struct quota *q = arg;
	uint32_t job;

	if (q->n == q->room) {
		size_t room = q->room ? 2 * q->room : 64;
		struct item *more = realloc(q->items, room * sizeof(*more));

		if (!more)
			return;
		q->items = more;
		q->room = room;
	}
	q->item = &q->items[q->n];
	*q->item = (struct item){.name = strdup(name), .is_job = walk_number(name, &job), .live = walk_is_live(q->order, name)};
	if (!q->item->name)
		return;
	q->n++;
	measure(q, dir, name);
}

static void remove_entry(void *arg, int dir, const char *name)
{
	struct quota *q = arg;
	struct stat st;

	if (fd_stat_here(dir, name, &st) < 0 || st.st_uid != q->uid)
		return;
	if (S_ISDIR(st.st_mode) && q->depth < WALK_DEPTH) {
		q->depth++;
		walk_each(walk_open(dir, name, q->uid), q->order->stop, remove_entry, q);
		q->depth--;
	}
	if (unlinkat(dir, name, S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0) < 0)
		return;
	q->item->files -= q->item->files > 0;
	q->item->bytes -= q->item->bytes > (uint64_t)st.st_blocks * 512 ? (uint64_t)st.st_blocks * 512 : q->item->bytes;
}

/* What is no job's is none of ours and goes first, then the oldest. */
static int by_use(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->is_job != y->is_job)
		return x->is_job - y->is_job;
	return (x->written > y->written) - (x->written < y->written);
}

static bool is_over(const struct spool_order *order, const struct spool_use *use)
{
	return use->bytes > order->quota_bytes || use->files > SPOOL_QUOTA_FILES(order->quota_bytes);
}

static void item_remove(struct quota *q, int fd, struct spool_use *use)
{
	uint64_t bytes = q->item->bytes, files = q->item->files;

	remove_entry(q, fd, q->item->name);
	use->removed_bytes += bytes - q->item->bytes;
	use->removed_files += files - q->item->files;
	use->bytes -= bytes - q->item->bytes;
	use->files -= files - q->item->files;
}

void quota_enforce(int fd, uint32_t uid, const struct spool_order *order, struct spool_use *use)
{
	struct quota q = {.order = order, .uid = uid};
	int again = fd >= 0 ? dup(fd) : -1;

	*use = (struct spool_use){.uid = uid};
	q.closed += !walk_each(fd, order->stop, item_add, &q);
	for (size_t i = 0; i < q.n; i++) {
		use->bytes += q.items[i].bytes;
		use->files += q.items[i].files;
	}
	if (q.n)
		qsort(q.items, q.n, sizeof(*q.items), by_use);
	for (size_t i = 0; again >= 0 && i < q.n && is_over(order, use) && !atomic_load(order->stop); i++) {
		q.item = &q.items[i];
		if (!q.item->live)
			item_remove(&q, again, use);
	}
	use->closed = q.closed;
	use->over = is_over(order, use) || q.closed;
	for (size_t i = 0; i < q.n; i++)
		free(q.items[i].name);
	free(q.items);
	if (again >= 0)
		close(again);
}
