/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages of a trace file that a test makes by hand. */
#ifndef PRECEDENT_TESTS_PUT_PAGE_H
#define PRECEDENT_TESTS_PUT_PAGE_H

#include "common/buf.h"
#include "trace/format/writer.h"

/* Write a page with these contents, and empty them. Ends the test program on failure. */
void put_page(struct trace_writer *w, uint32_t type, uint32_t rank, uint32_t first, uint32_t n, struct buf *raw);

#endif
