/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How much memory the recorder may take, so that a program that fits its limits without the tracer fits them with it: a
 * small part of the process's share of its control group and of its address space.
 */
#ifndef PRECEDENT_SPANK_TRACER_MEMORY_H
#define PRECEDENT_SPANK_TRACER_MEMORY_H

#include <stdint.h>

/* Bytes; UINT64_MAX where nothing limits the process. */
uint64_t memory_spare(void);

#endif
