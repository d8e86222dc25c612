/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory limit of the recorder. It is a small part of the process's share of its control group and address space.
 * So a program that fits its limits without the tracer also fits them with it.
 */
#ifndef PRECEDENT_SPANK_TRACER_MEMORY_H
#define PRECEDENT_SPANK_TRACER_MEMORY_H

#include <stdint.h>

/* Bytes; UINT64_MAX if the process has no limit. */
uint64_t memory_spare(void);

#endif
