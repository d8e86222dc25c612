/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing to a file descriptor: see fd.h. */
#include <errno.h>
#include <unistd.h>

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
