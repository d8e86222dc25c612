/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loops that iterate more or less often, and calls that are left out in some iterations. Executions are numbered as if
 * nothing were left out: skel_position.
 */
#include "skelgen/runtime/runtime.h"
#include "skelgen/runtime/sampled.h"

void skel_loop_some(int id, uint64_t total, uint64_t turns)
{
	skel_loop(id, total, SKEL_ALL);
	skel_loops[id].end = turns < total ? turns : total;
}

void skel_loop_part(int id, uint64_t total, uint64_t turns, uint64_t run)
{
	turns = turns < total ? turns : total;
	skel_loop(id, turns, sampled_turns(total, run, turns));
	skel_loops[id].base = skel_loops[id].saved_base * total;
}

int64_t skel_turns(int id)
{
	return skel_values(id)[0];
}

int64_t skel_progress(int64_t first, int64_t step)
{
	return first + step * (int64_t)skel_position;
}

int skel_happens(int id)
{
	return skel_values(id)[0] != 0;
}

int skel_every(int64_t period, int64_t first, int64_t n)
{
	int64_t place = period > 0 ? (int64_t)(skel_position % (uint64_t)period) : -1;

	return place >= first && place < first + n;
}

int skel_between(int64_t first, int64_t last)
{
	return skel_position >= (uint64_t)first && skel_position <= (uint64_t)last;
}
