/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Python lines that a call comes from. Frames of Python are in the interpreter's memory, not on the stack. A thread
 * in an MPI call may have given up the interpreter's lock, so no function that needs the lock may be called. Nobody
 * changes the frames of a thread but itself, so they can be read. Where they are depends on the version of Python.
 * Frames of other versions than 3.8 to 3.13 are not read. At the first look, all is read with care, since builds of a
 * version may differ. If anything is not as expected, no frame is read in this process.
 */
#ifndef PRECEDENT_SPANK_TRACER_PYTHON_H
#define PRECEDENT_SPANK_TRACER_PYTHON_H

#include <stdbool.h>
#include <stdint.h>

#define PYTHON_FRAMES 64u /* that are read, innermost first: an import within an import has a dozen */

struct python_line {
	const char *file, *function; /* borrowed while the call lasts */
	uint32_t line;
};

/* Does this process run a Python whose frames may be read? The first look can end that. */
extern bool python_runs __attribute__((visibility("hidden")));

/* Find the interpreter, if the program is one or has loaded one. Before the first look-up of a call site. */
void python_begin(void);
/* Hash of the frames of this thread; 0: it runs no Python. Fit for every call. Under the recorder's lock. */
uint64_t python_hash(void);
/* The lines of the frames. Call python_hash before. Returns their number, up to PYTHON_FRAMES. */
uint32_t python_lines(struct python_line *to);
/* An address in the interpreter's code. */
uintptr_t python_code(void);

#endif
