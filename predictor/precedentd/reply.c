/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the servers of precedentd, for commands and for metrics, send what they have to say. */
#include <errno.h>
#include <sys/socket.h>

#include "predictor/precedentd/daemon.h"

int reply_send(int fd, const struct buf *out, size_t *sent)
{
	while (*sent < out->len) {
		ssize_t n = send(fd, out->data + *sent, out->len - *sent, MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n <= 0)
			return -1;
		*sent += (size_t)n;
	}
	shutdown(fd, SHUT_WR);
	return -1;
}
