/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values that step with the counter of a loop (see runs.h): a number is added in every iteration, or multiplies the
 * value, or the last iteration differs. The counter is the number of iterations before; it is 0 whenever the loop is
 * entered.
 */
#include "model/inputs/runs.h"

/* first times or divided by ratio, n times. */
static bool powers_agree(int64_t first, int64_t ratio, uint64_t n, bool up, int64_t value)
{
	if (first == 0 || ratio < 2 || n > 62)
		return false;
	for (; n; n--) {
		if (up ? __builtin_mul_overflow(first, ratio, &first) : first % ratio != 0)
			return false;
		first = up ? first : first / ratio;
	}
	return first == value;
}

static bool goes_on(const struct runs_step *s, uint8_t kind, uint64_t counter, int64_t value)
{
	int64_t step, sum;

	switch (kind) {
	case STEP_EVEN:
		return counter <= INT64_MAX && !__builtin_sub_overflow(s->second, s->first, &step) &&
		       !__builtin_mul_overflow(step, (int64_t)counter, &step) && !__builtin_add_overflow(s->first, step, &sum) &&
		       sum == value;
	case STEP_UP:
		return s->first && s->second % s->first == 0 && powers_agree(s->first, s->second / s->first, counter, true, value);
	}
	return s->second && s->first % s->second == 0 && powers_agree(s->first, s->first / s->second, counter, false, value);
}

static void note_last(struct runs_step *s, bool last, int64_t value)
{
	int64_t *seen = last ? &s->last : &s->others;

	if (*seen != CALL_MISSING && *seen != value)
		s->dead |= 1u << STEP_LAST;
	*seen = value;
}

static void note_cycle(struct runs_step *s, uint64_t counter, int64_t value)
{
	if (counter < RUNS_CYCLE && s->cycle[counter] == CALL_MISSING)
		s->cycle[counter] = value;
	for (uint32_t n = 2; n <= RUNS_CYCLE; n++)
		if (s->cycle[counter % n] != value)
			s->no_cycle |= (uint16_t)(1u << (n - 1));
}

void runs_step_note(struct runs_step *s, uint64_t counter, uint64_t count, int64_t value)
{
	const uint8_t progressions = 1u << STEP_EVEN | 1u << STEP_UP | 1u << STEP_DOWN;

	if (counter > s->most)
		s->most = counter;
	note_cycle(s, counter, value);
	if (value == CALL_MISSING)
		s->dead = (1u << STEP_KINDS) - 1;
	if (s->dead == (1u << STEP_KINDS) - 1)
		return;
	note_last(s, counter + 1 == count, value);
	if (counter == 0) {
		if (s->first != CALL_MISSING && s->first != value)
			s->dead |= progressions;
		s->first = value;
		return;
	}
	if (counter == 1) {
		if (s->second != CALL_MISSING && s->second != value)
			s->dead |= progressions;
		s->second = value;
	}
	for (uint8_t kind = STEP_EVEN; kind <= STEP_DOWN; kind++)
		if (!(s->dead >> kind & 1) && (s->first == CALL_MISSING || s->second == CALL_MISSING || !goes_on(s, kind, counter, value)))
			s->dead |= 1u << kind;
}
