/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Complete writes to a file descriptor. */
#ifndef PRECEDENT_COMMON_FD_H
#define PRECEDENT_COMMON_FD_H

#include <stddef.h>

/* Write len bytes; interrupted calls are repeated. Returns 0; -1 with errno set, after which part of the data may
 * be written. */
int fd_write_all(int fd, const void *data, size_t len);

#endif
