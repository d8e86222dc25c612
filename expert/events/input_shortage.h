/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How ranks lack their processors: see input_shortage.c. */
#ifndef PRECEDENT_EXPERT_INPUT_SHORTAGE_H
#define PRECEDENT_EXPERT_INPUT_SHORTAGE_H

#include <stdbool.h>
#include <stdint.h>

struct input;
struct input_rank;

/* From that call on: the share of its time awake in which a rank lacks its processor, and its time asleep. All 0: the
 * rank has its processor. */
struct input_lack {
	uint64_t event;
	float part;
	uint32_t asleep_us;
};

/* How a rank lacked its processor, by its samples. */
struct input_shortage {
	bool is_sampled;
	uint64_t delayed_ns, cpu_ns; /* ready but others had it, and on it */
	struct input_lack *change;
	uint32_t n, passed;
	struct input_lack now;  /* of the call that is read */
};

/* What the samples of the rank say. -1 without memory. */
int input_shortage_open(struct input *in, uint32_t rank);
/* Goes on to that call, which comes behind the one before. */
void input_shortage_at(struct input_rank *k, uint64_t event);
/* What was computed in that time before it, without what the rank lacked of its processor. */
uint64_t input_computed(const struct input_shortage *h, uint64_t gap_ns);

#endif
