/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of open receives is the same exactly where each envelope has the same receives in the same order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "skelgen/pieces/open_requests.h"
#include "tests/unit/synthetic.h"

enum { SLOTS = 5, ENVELOPES = 2, STEPS = 3000, MANY = 200, QUEUES = 5 };

/* The oracle: slots of each envelope in the order in which they were posted, plus 1; 0 ends them. */
struct queues {
	uint8_t slot[ENVELOPES][SLOTS + 1];
};

static void queues_remove(struct queues *q, uint8_t slot)
{
	for (int e = 0; e < ENVELOPES; e++) {
		uint8_t *at = memchr(q->slot[e], slot + 1, SLOTS);

		if (at != NULL)
			memmove(at, at + 1, (size_t)(q->slot[e] + SLOTS - at));
	}
}

static void queues_add(struct queues *q, uint8_t slot, uint32_t envelope)
{
	queues_remove(q, slot);
	q->slot[envelope][strlen((const char *)q->slot[envelope])] = (uint8_t)(slot + 1);
}

static bool queues_have(const struct queues *q, uint8_t slot)
{
	return memchr(q->slot[0], slot + 1, SLOTS) != NULL || memchr(q->slot[1], slot + 1, SLOTS) != NULL;
}

/* Another call posts the slot's receive for each envelope. */
static void post(struct open_requests *o, int64_t slot, uint64_t envelope)
{
	const struct open_request r = {slot, envelope + 1, 1000 * (uint64_t)slot + envelope + 7};

	assert_int_equal(open_requests_add(o, &r), 0);
}

static void test_state_tells_queues(void **arg)
{
	static struct queues seen[STEPS];
	static uint64_t state[STEPS];
	struct open_requests o = {.state = 0};
	struct queues q = {{{0}}};
	uint64_t seed = 5;
	uint32_t again = 0;

	(void)arg;
	for (uint32_t i = 0; i < STEPS; i++) {
		uint8_t slot = (uint8_t)(syn_random(&seed) % SLOTS);
		uint32_t what = (uint32_t)(syn_random(&seed) % (ENVELOPES + 1));

		if (what < ENVELOPES) {
			post(&o, slot, what);
			queues_add(&q, slot, what);
		} else {
			assert_int_equal(open_requests_remove(&o, slot), queues_have(&q, slot));
			queues_remove(&q, slot);
		}
		seen[i] = q;
		state[i] = o.state;
		for (uint32_t j = 0; j < i; j++) {
			bool same = memcmp(&seen[j], &q, sizeof q) == 0;

			assert_int_equal(state[j] == o.state, same);
			again += same;
		}
	}
	assert_true(again > STEPS);
	open_requests_free(&o);
}

/* Also of many receives, only the order in each envelope counts. */
static void test_many(void **arg)
{
	struct open_requests mixed = {.state = 0}, sorted = {.state = 0};

	(void)arg;
	for (int64_t slot = 0; slot < MANY; slot++)
		post(&mixed, slot, (uint64_t)slot % QUEUES);
	for (int64_t e = 0; e < QUEUES; e++)
		for (int64_t slot = e; slot < MANY; slot += QUEUES)
			post(&sorted, slot, (uint64_t)e);
	assert_true(mixed.state != 0);
	assert_int_equal(mixed.state, sorted.state);
	post(&sorted, MANY - 1 - QUEUES, QUEUES - 1); /* behind the last one of its envelope */
	assert_int_not_equal(mixed.state, sorted.state);
	post(&sorted, MANY - 1, QUEUES - 1);
	assert_int_equal(mixed.state, sorted.state);
	for (int64_t slot = 0; slot < MANY; slot++)
		assert_true(open_requests_remove(&mixed, slot * 7 % MANY));
	assert_false(open_requests_remove(&mixed, 0));
	assert_int_equal(mixed.state, 0);
	open_requests_free(&mixed);
	open_requests_free(&sorted);
}

/* Receives that can stand for each other: the order is told exactly, and their slots in that order. */
static void test_alike(void **arg)
{
	static const char *const queue[] = {"xyxx", "xxyx", "xxxy", "xyxx"};
	uint64_t order[4];

	(void)arg;
	for (uint32_t k = 0; k < 4; k++) {
		struct open_requests o = {.state = 0};
		uint32_t slot[4];

		for (uint32_t i = 0; i < 4; i++) /* the last ones have other slots */
			assert_int_equal(open_requests_add(&o, &(struct open_request){(i + k) % 4, 1, (uint64_t)queue[k][i]}), 0);
		order[k] = open_requests_order(&o);
		assert_int_equal(open_requests_list(&o, NULL), 4);
		assert_int_equal(open_requests_list(&o, slot), 4);
		for (uint32_t i = 0; i < 4; i++)
			assert_int_equal(slot[i], (3 - i + k) % 4);
		open_requests_free(&o);
	}
	assert_int_equal(order[0], order[3]);
	assert_true(order[0] != order[1] && order[1] != order[2] && order[0] != order[2]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_state_tells_queues),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_alike),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
