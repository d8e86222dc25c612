/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writing to a file descriptor until all of it is there. */
#ifndef PRECEDENT_COMMON_FD_H
#define PRECEDENT_COMMON_FD_H

#include <stddef.h>

/* len bytes, through interruptions. 0; -1 with errno, when some of it may have been written. */
int fd_write_all(int fd, const void *data, size_t len);

#endif
