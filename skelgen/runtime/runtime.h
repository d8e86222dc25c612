/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the skeleton's runtime share among themselves; generated programs do not include it. */
#ifndef PRECEDENT_SKELGEN_RUNTIME_RUNTIME_H
#define PRECEDENT_SKELGEN_RUNTIME_RUNTIME_H

#include <stdio.h>
#include <time.h>

#include "skelgen/runtime/compute.h"
#include "skelgen/runtime/skel.h"

/* Say one line on stderr, with the rank, and end all ranks. */
void skel_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
void *skel_alloc(size_t n, size_t size);

/* Collective: the largest share of its time that a rank has lost to other programs since `begin`, and the share in which all
 * ranks had their processors (company.h). */
struct company;
void skel_company(const struct company *begin, double *most, double *together);

static inline double skel_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- data.c ---- */
void skel_data_open(const struct skel_program *p, int rank);
void skel_data_close(void);
/* Gap of this rank at call `gap` and position `at`, and the mix that it consists of. */
double skel_data_gap(int gap, uint64_t at, int *mix);
/* Forget the executions so far. */
void skel_data_rewind(void);
/* The mixes, DATA_MIX numbers each. */
const double *skel_data_mixes(int *n);

/* Windows of sampled loops (see data.h) and the words that are left from there on; NULL when there are none. */
const uint64_t *skel_data_windows(uint64_t *n_words);

/* ---- loop.c ---- */
void skel_loops_open(int n);
void skel_loops_close(void);
/* Virtual time at a time of skel_clock_ns(), with the extrapolation so far, and its squared half-width. */
double skel_virtual_at(double clock_ns);
double skel_virtual_ns(void); /* now */
double skel_width2_ns2(void);
/* From now on virtual time is so much later, known to within a half-width at 95 %. */
void skel_virtual_forward(double ns, double half_ns);
/* The iterations left out would have spent so much more in blocks. */
void skel_spent_forward(double took_ns, double asked_ns);
/* Virtual time in blocks: real time, and the time of the blocks left out. */
void skel_spent_virtual(struct compute_spent *out);
/* The skeleton's clock starts; and how much of virtual time was spent in blocks since. */
void skel_spent_start(void);
double skel_computed_ns(void);
/* Virtual time, its squared half-width, and virtual time in blocks. */
struct skel_virtual {
	double ns, width2_ns2;
	struct compute_spent spent;
};
void skel_virtual_look(struct skel_virtual *now);
/* Virtual time goes on from there. */
void skel_virtual_set(const struct skel_virtual *now);
/* Virtual times at which the first sampled loop began and the last one ended; 0 when none has. */
void skel_loops_phases(double *first, double *last);
/* Windows that a sampled loop runs in; 0: none. */
int skel_loop_windows(const struct skel_loop_state *l);

/* ---- pieces.c ---- */
/* All pieces have run. Is there time for another round of them within all_ns? Collective. */
int skel_pieces_again(double all_ns);
/* No further round: the interval is known. */
void skel_pieces_close(void);

/* ---- share.c ---- */
/* The skeleton's clock started at this time, on all ranks at once. */
void skel_share_from(double started_ns);
/* Does only a share of long computations run? Then ranks wait for each other less than they did in the program. */
int skel_shares(void);

/* ---- buffer.c ---- */
void skel_buffers_close(void);
/* Bytes below and above the pointer that count elements touch. */
void skel_span(int64_t count, MPI_Datatype t, int64_t *below, int64_t *above);

/* ---- window.c, file.c ---- */
void skel_windows_open(const struct skel_program *p);
/* Are there windows? */
int skel_windows_left(void);
void skel_windows_close(void);
/* scratch: the directory for scratch files, or NULL. */
void skel_files_open(const struct skel_program *p, const char *scratch);
void skel_files_close(void);
void skel_files_print(FILE *f);
/* The scratch files, where the skeleton ends before its time. */
void skel_files_remove(void);
/* Let as much time pass, all of it. */
void skel_sleep(double ns);

/* ---- handle.c ---- */
void skel_handles_open(const struct skel_program *p);
/* Free and count what the program left. */
void skel_handles_free(void);
void skel_handles_close(void);
/* Requests and communicators that the program left and that were completed or freed at the end. */
extern int skel_left_requests, skel_left_comms;

#endif
