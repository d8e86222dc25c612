/* SPDX-License-Identifier: GPL-2.0-or-later */
/* File descriptors: see fd.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#endif

#include "common/fd.h"

int fd_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n == 0)
			errno = EIO;
		if (n <= 0)
			return -1;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

bool fd_read_at(int fd, void *buf, size_t len, uint64_t at)
{
	char *p = buf;

	while (len) {
		ssize_t n = pread(fd, p, len, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		at += (uint64_t)n;
		len -= (size_t)n;
	}
	return true;
}

char *fd_read_file(const char *path, size_t most, struct stat *of)
{
	char *text = NULL;
	int fd = -1;

	/* To open a pipe, even without waiting, lets its writer go on. */
	if (stat(path, of) == 0 && S_ISREG(of->st_mode))
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0 && fstat(fd, of) == 0 && S_ISREG(of->st_mode) && (uint64_t)of->st_size <= most)
		text = malloc((size_t)of->st_size + 1);
	if (text && !fd_read_at(fd, text, (size_t)of->st_size, 0)) {
		free(text);
		text = NULL;
	}
	if (fd >= 0)
		close(fd);
	return text;
}

/* Without openat2 (Linux before 5.6) a mount is not seen. */
int fd_open_here(int dir, const char *name, int flags)
{
	flags |= O_NOFOLLOW | O_CLOEXEC;
#ifdef RESOLVE_NO_XDEV
	const struct open_how how = {.flags = (uint64_t)flags, .resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS};
	int fd = (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));

	if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
		return fd;
#endif
	return openat(dir, name, flags);
}

int fd_stat_here(int dir, const char *name, struct stat *st)
{
	int fd = fd_open_here(dir, name, O_PATH), rv = fd < 0 ? -1 : fstat(fd, st);

	if (fd >= 0)
		close(fd);
	return rv;
}
