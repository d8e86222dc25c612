/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One-sided communication in the replay (see replay.h). An access waits for its exposure. The end of an exposure waits
 * for its accesses. A request for a lock waits for the last rank that released the lock meanwhile.
 *
 * Epochs of an origin and a target are matched in their order. The trace has no order of locks, so times decide.
 * Candidates are the ranks that began to release the lock while a rank requested it. The rank waited for the last
 * candidate that excludes it. An implementation may delay the request until a flush or the release. A release that
 * still waits for the lock is therefore no candidate.
 *
 * A rank that did not wait for a lock depends on no rank, because the order may differ if ranks come at other times.
 */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "expert/replay/replay_impl.h"

#define KEY_WINDOW  (4ull << 60) /* of nodes; 2 and 3 are replay.c's */
#define KEY_EXPOSED (KEY_WINDOW | 0ull << 56)
#define KEY_DONE    (KEY_WINDOW | 1ull << 56)
#define KEY_ASKED   (KEY_WINDOW | 2ull << 56)
#define MAX_SHARED  (1u << 20)
#define RELEASES    8            /* of a lock, the last ones: but for those who wait for it still, one is enough */

enum shared_use {
	SU_ACCESS, /* of a target by an origin */
	SU_LOCK,   /* of a target, while somebody asks for it */
	SU_HELD    /* of a target by an origin */
};

/* A lock is given back. */
struct release {
	struct replay_side side;
	uint64_t leave_ns;
	bool is_exclusive;
};

struct replay_shared {
	int64_t window;
	uint32_t origin, target;        /* ranks; the origin of a lock is 0 */
	uint8_t use;                    /* enum shared_use */
	struct replay_shared *next;     /* of the same hash */
	union {
		struct {                /* SU_ACCESS */
			uint64_t number;/* different for all that ever were */
			uint64_t posted, started, completed, waited;
			uint64_t start_event;
		};
		struct {                /* SU_LOCK */
			struct release *release; /* ring of RELEASES */
			uint64_t n_release;
			uint32_t askers;
		};
		struct {                /* SU_HELD */
			struct replay_shared *before, *after; /* of the same rank, the last one first */
			bool is_exclusive;
			uint64_t event; /* the lock's call */
			uint64_t end[REPLAY_CASES]; /* when that ended */
		};
	};
};

/* A call in which a rank may wait for a lock. */
struct asker {
	uint64_t enter_ns, leave_ns;
	uint32_t rank;
	bool is_exclusive, late;        /* the lock itself may be asked for in a later call than MPI_Win_lock: this one */
	struct replay_node *node;
	struct replay_shared *lock;
};

struct replay_windows {
	struct replay_shared **slot;
	uint32_t n_slot, n_shared;
	uint64_t n_access, n_asked;     /* so far */
	struct asker *asker;            /* heap, the first one to leave on top */
	uint32_t n_asker, cap_asker;
	struct replay_shared **held;    /* of each rank, the last one */
};

/* ---- what is shared ---- */

static struct replay_shared **place(struct replay_windows *w, int64_t window, uint8_t use, uint32_t origin, uint32_t target)
{
	uint64_t h = ((uint64_t)window * 4 + use) * 0x9e3779b97f4a7c15ull ^ ((uint64_t)origin << 32 | target) * 0xc2b2ae3d27d4eb4full;
	struct replay_shared **at = &w->slot[(h * 0xff51afd7ed558ccdull >> 32) & (w->n_slot - 1)];

	while (*at && ((*at)->window != window || (*at)->use != use || (*at)->origin != origin || (*at)->target != target))
		at = &(*at)->next;
	return at;
}

static int grow_shared(struct replay_windows *w)
{
	struct replay_shared **old = w->slot;
	uint32_t old_n = w->n_slot, n = old_n ? 2 * old_n : 256;

	if (w->n_shared < old_n)
		return 0;
	w->slot = calloc(n, sizeof(*w->slot));
	if (!w->slot) {
		w->slot = old;
		return -1;
	}
	w->n_slot = n;
	for (uint32_t i = 0; i < old_n; i++)
		while (old[i]) {
			struct replay_shared *x = old[i], **at = place(w, x->window, x->use, x->origin, x->target);

			old[i] = x->next;
			x->next = *at;
			*at = x;
		}
	free(old);
	return 0;
}

/* The one of these, zeroed when it is new. NULL without memory, or past the limit, which is noted. */
static struct replay_shared *shared_of(struct replay *p, int64_t window, uint8_t use, uint32_t origin, uint32_t target)
{
	struct replay_windows *w = p->windows;
	struct replay_shared **at, *x;

	if (grow_shared(w) < 0)
		return NULL;
	at = place(w, window, use, origin, target);
	if (*at)
		return *at;
	if (w->n_shared == MAX_SHARED) {
		p->incomplete = true;
		return NULL;
	}
	x = calloc(1, sizeof(*x));
	if (!x)
		return NULL;
	x->window = window;
	x->use = use;
	x->origin = origin;
	x->target = target;
	*at = x;
	w->n_shared++;
	return x;
}

static struct replay_shared *shared_find(struct replay_windows *w, int64_t window, uint8_t use, uint32_t origin, uint32_t target)
{
	return w->n_slot ? *place(w, window, use, origin, target) : NULL;
}

static void shared_free(struct replay_windows *w, struct replay_shared *x)
{
	struct replay_shared **at = place(w, x->window, x->use, x->origin, x->target);

	*at = x->next;
	w->n_shared--;
	if (x->use == SU_LOCK)
		free(x->release);
	free(x);
}

static int no_more(const struct replay *p)
{
	return p->incomplete ? 0 : -1;
}

/* ---- epochs ---- */

static int on_epoch(struct replay *p, const struct input_types *t, uint32_t rank, const struct pending *x)
{
	struct replay_shared *a = shared_of(p, x->v[0].i, SU_ACCESS, (uint32_t)x->v[1].i, (uint32_t)x->v[2].i);
	struct replay_windows *w = p->windows;
	struct pending waits = *x;
	uint64_t exposed, done;
	int rv;

	if (!a)
		return no_more(p);
	if (!a->posted && !a->started && !a->completed && !a->waited)
		a->number = w->n_access++;
	exposed = KEY_EXPOSED | a->number;
	done = KEY_DONE | a->number;
	if (x->type == t->post) {
		rv = replay_part_add(p, rank, x, replay_node_of(p, exposed, a->posted++, 3), 0, RN_NOTHING);
	} else if (x->type == t->start) {
		a->start_event = (uint64_t)x->s.event;
		rv = replay_part_add(p, rank, x, replay_node_of(p, exposed, a->started++, 3), 1, RN_FIRST);
	} else if (x->type == t->complete) {
		waits.s.event = (int64_t)a->start_event; /* the call and the ranks that it keeps waiting belong to the
							  * same problem */
		rv = replay_part_add(p, rank, &waits, replay_node_of(p, exposed, a->completed, 3), 1, RN_FIRST);
		if (rv == 0)
			rv = replay_part_add(p, rank, x, replay_node_of(p, done, a->completed, 2), 0, RN_NOTHING);
		a->completed++;
	} else {
		rv = replay_part_add(p, rank, x, replay_node_of(p, done, a->waited++, 2), 1, RN_FIRST);
	}
	if (a->posted == a->started && a->posted == a->completed && a->posted == a->waited)
		shared_free(w, a);
	return rv;
}

/* ---- who asks for a lock ---- */

static void swap(struct asker *a, struct asker *b)
{
	struct asker x = *a;

	*a = *b;
	*b = x;
}

static int asker_push(struct replay_windows *w, const struct asker *a)
{
	uint32_t i = w->n_asker;

	if (ARRAY_ROOM(w->asker, w->cap_asker, i + 1) != 0)
		return -1;
	w->asker[w->n_asker++] = *a;
	for (; i && w->asker[(i - 1) / 2].leave_ns > w->asker[i].leave_ns; i = (i - 1) / 2)
		swap(&w->asker[i], &w->asker[(i - 1) / 2]);
	return 0;
}

static struct asker asker_pop(struct replay_windows *w)
{
	struct asker top = w->asker[0];
	uint32_t n = --w->n_asker;

	w->asker[0] = w->asker[n];
	for (uint32_t i = 0, least; 2 * i + 1 < n; i = least) {
		least = 2 * i + 1;
		if (least + 1 < n && w->asker[least + 1].leave_ns < w->asker[least].leave_ns)
			least++;
		if (w->asker[i].leave_ns <= w->asker[least].leave_ns)
			break;
		swap(&w->asker[i], &w->asker[least]);
	}
	return top;
}

/* Whom it waited for; NULL: nobody. */
static const struct release *waited_for(const struct asker *a)
{
	const struct replay_shared *l = a->lock;
	const struct release *last = NULL;

	for (uint64_t i = l->n_release; i > 0 && l->n_release - i < RELEASES; i--) {
		const struct release *r = &l->release[(i - 1) % RELEASES];

		if (r->side.rank == a->rank || r->side.ns <= a->enter_ns || (!a->is_exclusive && !r->is_exclusive) ||
		    (a->late && r->leave_ns > a->leave_ns))
			continue;
		last = !last || r->side.ns > last->side.ns ? r : last;
	}
	return last;
}

void window_settle(struct replay *p, uint64_t ns)
{
	struct replay_windows *w = p->windows;

	while (w->n_asker && w->asker[0].leave_ns <= ns) {
		struct asker a = asker_pop(w);
		const struct release *r = waited_for(&a);

		if (r)
			a.node->side[0] = r->side;
		if (!--a.lock->askers)
			shared_free(w, a.lock);
	}
}

static int ask_for_lock(struct replay *p, uint32_t rank, const struct pending *x, const struct replay_shared *held,
			bool late)
{
	const struct replay_rank *k = &p->rank[rank];
	struct replay_windows *w = p->windows;
	struct replay_shared *lock = shared_of(p, held->window, SU_LOCK, 0, held->target);
	struct asker a = {k->enter_ns, k->leave_ns, rank, held->is_exclusive, late, NULL, lock};
	struct pending waits = *x;

	if (!lock)
		return no_more(p);
	a.node = replay_node_of(p, KEY_ASKED, w->n_asked++, 1);
	if (!a.node || asker_push(w, &a) < 0) {
		if (!lock->askers)
			shared_free(w, lock);
		return a.node ? -1 : no_more(p);
	}
	lock->askers++;
	waits.s.event = (int64_t)held->event;
	return replay_part_add(p, rank, &waits, a.node, 1, RN_FIRST);
}

/* ---- locks ---- */

static int on_lock(struct replay *p, uint32_t rank, const struct pending *x)
{
	struct replay_shared *h = shared_find(p->windows, x->v[0].i, SU_HELD, rank, (uint32_t)x->v[1].i);
	struct replay_shared **last = &p->windows->held[rank];

	if (!h) {
		h = shared_of(p, x->v[0].i, SU_HELD, rank, (uint32_t)x->v[1].i);
		if (!h)
			return no_more(p);
		h->before = *last;
		if (*last)
			(*last)->after = h;
		*last = h;
	}
	h->is_exclusive = x->v[2].i;
	h->event = (uint64_t)x->s.event;
	return ask_for_lock(p, rank, x, h, false);
}

static int on_flush(struct replay *p, uint32_t rank, const struct pending *x)
{
	for (struct replay_shared *h = p->windows->held[rank]; h; h = h->before)
		if (h->window == x->v[0].i && (x->v[1].i == INPUT_ALL || x->v[1].i == h->target) && ask_for_lock(p, rank, x, h, true) < 0)
			return -1;
	return 0;
}

/* Who computes with the lock could have given it back as soon as it had it, and computed then. */
static int give_back(struct replay *p, uint32_t rank, const struct replay_shared *h)
{
	const struct replay_rank *k = &p->rank[rank];
	struct replay_shared *l = shared_find(p->windows, h->window, SU_LOCK, 0, h->target);
	struct release *r;

	if (!l)
		return 0;
	if (!l->release && !(l->release = calloc(RELEASES, sizeof(*l->release))))
		return -1;
	r = &l->release[l->n_release++ % RELEASES];
	*r = (struct release){.leave_ns = k->leave_ns, .is_exclusive = h->is_exclusive};
	replay_side_add(p, &r->side, rank, k->enter_ns);
	for (uint32_t c = 0; c < p->n_case; c++)
		r->side.early[c] = h->end[c] > r->side.early[c] ? h->end[c] : r->side.early[c];
	return 0;
}

static int on_unlock(struct replay *p, uint32_t rank, const struct pending *x)
{
	struct replay_shared *h = shared_find(p->windows, x->v[0].i, SU_HELD, rank, (uint32_t)x->v[1].i);

	if (!h)
		return 0;
	if (give_back(p, rank, h) < 0 || ask_for_lock(p, rank, x, h, true) < 0)
		return -1;
	if (h->after)
		h->after->before = h->before;
	else
		p->windows->held[rank] = h->before;
	if (h->before)
		h->before->after = h->after;
	shared_free(p->windows, h);
	return 0;
}

/* ---- all ---- */

int window_told(struct replay *p, const struct input_types *t, uint32_t rank, const struct pending *x)
{
	if (x->type == t->lock)
		return on_lock(p, rank, x);
	if (x->type == t->unlock)
		return on_unlock(p, rank, x);
	if (x->type == t->flush)
		return on_flush(p, rank, x);
	if (x->type == t->post || x->type == t->start || x->type == t->complete || x->type == t->wait)
		return on_epoch(p, t, rank, x);
	return 0;
}

void window_call_ended(struct replay *p, uint32_t rank)
{
	const struct replay_rank *k = &p->rank[rank];

	for (struct replay_shared *h = p->windows->held[rank]; h && h->event == k->event; h = h->before)
		memcpy(h->end, k->end, sizeof(h->end));
}

struct replay_windows *windows_create(uint32_t ranks)
{
	struct replay_windows *w = calloc(1, sizeof(*w));

	if (w && !(w->held = calloc(ranks + 1ull, sizeof(*w->held)))) {
		free(w);
		return NULL;
	}
	return w;
}

void windows_destroy(struct replay_windows *w)
{
	if (!w)
		return;
	for (uint32_t i = 0; i < w->n_slot; i++)
		while (w->slot[i]) {
			struct replay_shared *x = w->slot[i];

			w->slot[i] = x->next;
			if (x->use == SU_LOCK)
				free(x->release);
			free(x);
		}
	free(w->slot);
	free(w->asker);
	free(w->held);
	free(w);
}
