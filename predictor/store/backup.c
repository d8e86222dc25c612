/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A copy of the store while it is in use: see store/keep.h. One read transaction holds the instant that is copied; writers
 * go on beside it (write-ahead log), and readers never notice.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/store/internal.h"
#include "predictor/store/keep.h"

static int fail_errno(const char *what, struct errbuf *err)
{
	enum store_fault fault = errno == ENOSPC || errno == EDQUOT    ? STORE_FULL
				 : errno == EACCES || errno == EPERM ? STORE_DENIED
								      : STORE_FAILED;

	return store_fault_set(fault, err, "%s: %s", what, strerror(errno));
}

static int fail_sqlite(sqlite3 *db, const char *what, struct errbuf *err)
{
	bool full = (sqlite3_errcode(db) & 0xff) == SQLITE_FULL;

	return store_fault_set(full ? STORE_FULL : STORE_FAILED, err, "%s: %s", what, sqlite3_errmsg(db));
}

/* Every page of `from`, as it is now, to the empty file tmp. */
static int copy_pages(struct store *from, const char *tmp, struct errbuf *err)
{
	sqlite3_backup *b = NULL;
	sqlite3 *db = NULL;
	int rv = -1;

	/* No journal: a copy that breaks off is thrown away whole. */
	if (sqlite3_open_v2(tmp, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK ||
	    sqlite3_exec(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", NULL, NULL, NULL) != SQLITE_OK ||
	    !(b = sqlite3_backup_init(db, "main", from->db, "main"))) {
		fail_sqlite(db, tmp, err);
		goto out;
	}
	if (sqlite3_backup_step(b, -1) == SQLITE_DONE)
		rv = 0;
	if (sqlite3_backup_finish(b) != SQLITE_OK || rv < 0) {
		rv = fail_sqlite(db, tmp, err);
		goto out;
	}
	/* One file that needs no other: the copy of the header says write-ahead log. */
	if (sqlite3_exec(db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL) != SQLITE_OK)
		rv = fail_sqlite(db, tmp, err);
out:
	if (sqlite3_close(db) != SQLITE_OK && !rv)
		rv = store_fault_set(STORE_FAILED, err, "%s: cannot be closed", tmp);
	return rv;
}

/* Every page has its place and every row is readable; indexes are not compared row by row. */
static int copy_check(const char *tmp, struct errbuf *err)
{
	struct store *copy;
	sqlite3_stmt *st;
	char text[200] = "";
	int rv;

	if (store_open(tmp, STORE_READ, &copy, err) < 0)
		return -1;
	st = store_prepare(copy, "PRAGMA quick_check(1)", err);
	rv = st ? store_step(copy, st, "cannot check", err) : -1;
	if (rv == 1)
		store_column_text(st, 0, text, sizeof(text));
	sqlite3_finalize(st);
	if (rv == 1)
		rv = strcmp(text, "ok") ? store_fault_set(STORE_CORRUPT, err, "%s: damaged: %s", tmp, text) : 0;
	store_close(copy);
	return rv;
}

static int fd_sync(const char *path, int flags, struct errbuf *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | flags), rv;

	if (fd < 0)
		return fail_errno(path, err);
	rv = fsync(fd) < 0 ? fail_errno(path, err) : 0;
	close(fd);
	return rv;
}

static int copy_publish(const char *tmp, const char *to, struct errbuf *err)
{
	char dir[4096];
	const char *slash = strrchr(to, '/');

	snprintf(dir, sizeof(dir), "%.*s", slash ? slash == to ? 1 : (int)(slash - to) : 1, slash ? to : ".");
	if (fd_sync(tmp, O_NOFOLLOW, err) < 0)
		return -1;
	if (rename(tmp, to) < 0)
		return fail_errno(to, err);
	return fd_sync(dir, O_DIRECTORY, err);
}

int store_backup(const char *path, const char *to, struct errbuf *err)
{
	struct store *from = NULL;
	struct stat st;
	char tmp[4096];
	int fd, rv = -1, n = snprintf(tmp, sizeof(tmp), "%s.%d.tmp", to, (int)getpid());

	if (n < 0 || (size_t)n >= sizeof(tmp))
		return store_fault_set(STORE_FAILED, err, "%s: the name is too long", to);
	if (lstat(to, &st) == 0 && !S_ISREG(st.st_mode))
		return store_fault_set(STORE_FAILED, err, "%s: is not a regular file", to);
	if (store_open(path, STORE_READ | STORE_WAIT, &from, err) < 0)
		return -1;
	fd = open(tmp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		fail_errno(tmp, err);
		goto out;
	}
	close(fd);
	if (copy_pages(from, tmp, err) == 0 && copy_check(tmp, err) == 0 && copy_publish(tmp, to, err) == 0)
		rv = 0;
	else
		unlink(tmp);
out:
	store_close(from);
	return rv;
}
