/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Control groups of this process: see cgroup.h. */
#include "spank/tracer/cgroup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* Is the name a word of the comma-separated list? */
static bool is_in(const char *list, size_t len, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = list; p < list + len; p += strcspn(p, ",:") + 1)
		if (!strncmp(p, name, n) && (p[n] == ',' || p[n] == ':'))
			return true;
	return false;
}

bool cgroup_find(const char *controller, struct cgroup *c)
{
	static char text[8192]; /* static, since the stack may be small */
	const char *found = NULL;
	char *save;
	int n;

	c->old = false;
	if (!read_file("/proc/self/cgroup", text, sizeof(text)))
		return false;
	/* Lines: "0::PATH" for version 2, "NUMBER:CONTROLLERS:PATH" for version 1. Version 1 is preferred. */
	for (char *line = strtok_r(text, "\n", &save); line && !c->old; line = strtok_r(NULL, "\n", &save)) {
		const char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;

		if (!path)
			continue;
		if (path == names + 1) {
			found = found ? found : path + 1;
		} else if (is_in(names + 1, (size_t)(path - names), controller)) {
			c->old = true;
			found = path + 1;
		}
	}
	if (!found)
		return false;
	n = snprintf(c->dir, sizeof(c->dir), "/sys/fs/cgroup%s%s", c->old ? "/" : "", c->old ? controller : "");
	c->root = (size_t)n;
	n = snprintf(c->dir + c->root, sizeof(c->dir) - c->root, "%s", found);
	return n >= 0 && (size_t)n < sizeof(c->dir) - c->root;
}

bool cgroup_up(struct cgroup *c)
{
	char *slash = strrchr(c->dir, '/');

	if (strlen(c->dir) <= c->root || !slash)
		return false;
	*slash = '\0';
	return true;
}

bool cgroup_read(const struct cgroup *c, const char *file, char *text, size_t size)
{
	static char path[sizeof(c->dir) + 64]; /* static, since the stack may be small */

	return snprintf(path, sizeof(path), "%s/%s", c->dir, file) < (int)sizeof(path) && read_file(path, text, size);
}
