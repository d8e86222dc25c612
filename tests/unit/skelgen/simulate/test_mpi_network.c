/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which message a receive of the simulated network gets: compared with a search through all messages in order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "skelgen/simulate/network.h"
#include "tests/unit/synthetic.h"

#define RANKS    4
#define COMMS    2
#define TAGS     3
#define STEPS    20000
#define KEPT_MAX 200

/* The oracle: all messages that were not received, the oldest first. */
struct kept {
	struct net_message m;
	uint32_t request;
};

static int find(const struct kept *kept, int n, const struct net_message *r)
{
	for (int i = 0; i < n; i++)
		if (kept[i].m.to == r->to && kept[i].m.comm == r->comm && (r->source < 0 || kept[i].m.source == r->source) &&
		    (r->tag < 0 || kept[i].m.tag == r->tag))
			return i;
	return -1;
}

static struct net_message draw(uint64_t *seed, bool wild)
{
	struct net_message m = {.comm = (uint32_t)(syn_random(seed) % COMMS), .to = (uint32_t)(syn_random(seed) % RANKS), .bytes = 8};

	m.from = (uint32_t)(syn_random(seed) % RANKS);
	m.source = wild && syn_random(seed) % 3 == 0 ? -1 : (int64_t)m.from;
	m.tag = wild && syn_random(seed) % 3 == 0 ? -1 : (int64_t)(syn_random(seed) % TAGS);
	m.sync = true; /* its request says when it is received */
	return m;
}

static void test_order(void **state)
{
	struct net *net = net_create(RANKS, COMMS);
	struct kept kept[KEPT_MAX];
	struct net_message m, first;
	struct errbuf err = {""};
	uint64_t seed = 5, received = 0;
	int n = 0, at;

	(void)state;
	for (int i = 0; i < STEPS; i++) {
		if (n < KEPT_MAX && syn_random(&seed) % 2 == 0) {
			m = draw(&seed, false);
			kept[n++] = (struct kept){m, net_send(net, &m, &err)};
			assert_false(net_done(net, kept[n - 1].request));
			continue;
		}
		m = draw(&seed, true);
		at = find(kept, n, &m);
		assert_int_equal(net_probe(net, &m), at >= 0);
		if (at < 0)
			continue;
		net_release(net, net_receive(net, &m, &err));
		for (int k = 0; k < n; k++)
			assert_int_equal(net_done(net, kept[k].request), k == at);
		net_release(net, kept[at].request);
		for (n--; at < n; at++)
			kept[at] = kept[at + 1];
		received++;
	}
	assert_true(received > STEPS / 4);
	assert_int_equal(net_unreceived(net, &first), n);
	for (uint32_t r = 0; n > 0 && r < RANKS; r++)
		for (int k = 0; k < n; k++)
			if (kept[k].m.to == r) {
				assert_int_equal(first.to, r);
				assert_int_equal(first.from, kept[k].m.from);
				assert_int_equal(first.tag, kept[k].m.tag);
				r = RANKS;
				break;
			}
	net_destroy(net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_order)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
