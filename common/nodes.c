/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files in which nodes tell whether they have the tracer: see nodes.h. */
#include "common/nodes.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/inject.h"

#define NODES_DIR     "nodes"
#define NODE_NAME_MAX 200
/* The text of a mark. A node with a version before the agent has another text, and its jobs are not traced. */
#define MARK          "%s " INJECT_AGENT_NAME

bool nodes_name_valid(const char *node)
{
	size_t n = strspn(node, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");
	return n > 0 && n <= NODE_NAME_MAX && node[n] == '\0' && node[0] != '.';
}

/* Does the node's file name this tracer? */
static bool is_marked(int dir_fd, const char *node, const char *lib)
{
	char text[PATH_MAX + sizeof(MARK)], wanted[PATH_MAX + sizeof(MARK)];
	struct stat st;
	ssize_t n = -1;
	int fd = openat(dir_fd, node, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0 || text[n - 1] != '\n')
		return false;
	text[n - 1] = '\0';
	snprintf(wanted, sizeof(wanted), MARK, lib);
	return strcmp(text, wanted) == 0;
}

static int write_mark(int dir_fd, const char *node, const char *lib)
{
	char temporary[NODE_NAME_MAX + 32], text[PATH_MAX + sizeof(MARK)];
	int len = snprintf(text, sizeof(text), MARK "\n", lib), rc = -1;
	snprintf(temporary, sizeof(temporary), ".%ld.%s", (long)getpid(), node);
	if (len < 0 || (size_t)len >= sizeof(text)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	unlinkat(dir_fd, temporary, 0); /* left from a crash */
	int fd = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return -1;
	if (write(fd, text, (size_t)len) == len && fchmod(fd, 0644) == 0)
		rc = 0;
	if (close(fd) != 0)
		rc = -1;
	if (rc == 0)
		rc = renameat(dir_fd, temporary, dir_fd, node);
	if (rc != 0)
		unlinkat(dir_fd, temporary, 0);
	return rc;
}

static bool owned_alone(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid()) && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

int nodes_mark(const char *spool, const char *node, const char *lib, struct errbuf *err)
{
	int rc = -1, dir_fd = -1, spool_fd = open(spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (spool_fd < 0)
		return err_set(err, "spool %s: %s", spool, strerror(errno));
	if (!nodes_name_valid(node) || !owned_alone(spool_fd)) {
		err_set(err, "spool %s: node %.64s: bad name, or the spool is not root's alone", spool, node);
		goto done;
	}
	bool made = mkdirat(spool_fd, NODES_DIR, 0755) == 0;
	if (!made && errno != EEXIST) {
		err_set(err, "spool %s/%s: %s%s", spool, NODES_DIR, strerror(errno), inject_squash_hint());
		goto done;
	}
	dir_fd = openat(spool_fd, NODES_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* independent of the umask */
	if (dir_fd < 0 || (made && fchmod(dir_fd, 0755) != 0) || !owned_alone(dir_fd)) {
		err_set(err, "spool %s/%s: not a directory of root's alone", spool, NODES_DIR);
		goto done;
	}
	if (!lib)
		rc = unlinkat(dir_fd, node, 0) == 0 || errno == ENOENT ? 0 : -1;
	else
		rc = is_marked(dir_fd, node, lib) ? 0 : write_mark(dir_fd, node, lib);
	if (rc < 0)
		err_set(err, "spool %s/%s/%s: %s%s", spool, NODES_DIR, node, strerror(errno), inject_squash_hint());
done:
	if (dir_fd >= 0)
		close(dir_fd);
	close(spool_fd);
	return rc;
}

int nodes_check(const char *spool, const char *node, const char *lib, struct errbuf *err)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/%s", spool, NODES_DIR);
	int fd = n > 0 && (size_t)n < sizeof(path) ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	bool ready = fd >= 0 && nodes_name_valid(node) && is_marked(fd, node, lib);
	if (fd >= 0)
		close(fd);
	return ready ? 0 : err_set(err, "node %.64s has not said that it has the tracer %s", node, lib);
}
