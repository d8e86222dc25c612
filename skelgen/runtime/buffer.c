/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Message buffers by slot, and the small arrays that collectives with a count per peer need. A slot has memory of its own
 * even for messages of no bytes, because MPI libraries refuse two buffers at one address. All memory together is bounded by
 * half of the machine's memory.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "skelgen/runtime/runtime.h"

#define SPAN_CACHE  64
#define PLACES      64
#define LINE        64        /* bytes of a cache line: alignment of long messages */
#define SHORT_LINE  16        /* alignment of short messages, as malloc() aligns: a program's lie as close */
#define PAGE        4096      /* messages from here on are long and take whole pages */
#define CHUNK       (1 << 20) /* short messages share memory of this size, because a page for each costs a page fault */
#define BLOCKING    2         /* slots below this belong to blocking calls */

struct span {
	MPI_Datatype type;
	int known;
	MPI_Aint extent, true_lb, true_extent;
};

struct memo {
	const void *key, *key2;
	int n;
	void *value;
};

/* Where a message lies. Kept, because most calls repeat their last request, and the program has no such cost. */
struct place {
	int slot;
	int64_t count;
	MPI_Datatype type;
	int64_t used;
	void *at; /* NULL: nothing here */
};

/* Only memory that is written counts: the rest of a receive's room is address space alone. */
struct slot {
	char *at;
	size_t size, written;
};

static struct {
	struct slot *slot;
	int n_slot;
	struct place place[PLACES];
	void **kept; /* memory that lives until the end: chunks, and memory of requests' slots */
	int n_kept, cap_kept;
	char *chunk;       /* rest of the present chunk */
	size_t chunk_left;
	size_t total, limit;
	struct span span[SPAN_CACHE];
	struct memo *memo;
	int n_memo, cap_memo;
} state;

static const struct span *span_of(MPI_Datatype t)
{
	uintptr_t h = (uintptr_t)t;
	struct span *s = &state.span[(h >> 4 ^ h >> 12) % SPAN_CACHE];
	MPI_Aint lb;

	if (s->known && s->type == t)
		return s;
	MPI_Type_get_extent(t, &lb, &s->extent);
	MPI_Type_get_true_extent(t, &s->true_lb, &s->true_extent);
	s->type = t;
	s->known = 1;
	return s;
}

static size_t memory_limit(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	return pages > 0 && page > 0 ? (size_t)pages / 2 * (size_t)page : (size_t)1 << 32;
}

static void slots_grow(int slot)
{
	int n = state.n_slot > 0 ? state.n_slot : 16;

	while (n <= slot)
		n *= 2;
	state.slot = realloc(state.slot, (size_t)n * sizeof *state.slot);
	if (state.slot == NULL)
		skel_fail("no memory for %d message buffers", n);
	memset(state.slot + state.n_slot, 0, (size_t)(n - state.n_slot) * sizeof *state.slot);
	state.n_slot = n;
}

/* Zeroed here, because the kernel backs unwritten pages with one page of zeros: reads of a long message would be too fast. */
static void memory_write(char *at, size_t size)
{
	if (state.limit == 0)
		state.limit = memory_limit();
	state.total += size;
	if (state.total > state.limit)
		skel_fail("message buffers need more than half of this machine's memory (%zu bytes)", state.limit);
	memset(at, 0, size);
}

static void *memory_new(size_t size)
{
	void *p;

	if (posix_memalign(&p, LINE, size) != 0)
		skel_fail("no memory for a message buffer of %zu bytes", size);
	return p;
}

static void *memory_kept(size_t size)
{
	if (state.n_kept == state.cap_kept) {
		state.cap_kept = state.cap_kept > 0 ? 2 * state.cap_kept : 16;
		state.kept = realloc(state.kept, (size_t)state.cap_kept * sizeof *state.kept);
		if (state.kept == NULL)
			skel_fail("no memory for %d message buffers", state.cap_kept);
	}
	return state.kept[state.n_kept++] = memory_new(size);
}

static char *short_new(size_t size)
{
	char *at;

	if (size > state.chunk_left) {
		state.chunk = memory_kept(CHUNK);
		memory_write(state.chunk, CHUNK);
		state.chunk_left = CHUNK;
	}
	at = state.chunk;
	state.chunk += size;
	state.chunk_left -= size;
	return at;
}

static size_t rounded(size_t size, size_t unit)
{
	return size > SIZE_MAX / 2 ? size : (size + unit - 1) / unit * unit;
}

/* The old memory is kept: a request that the program has freed may still use it. The new memory is twice as long, so that
 * a slot never keeps more than it uses. */
static void request_grow(struct slot *s, size_t need)
{
	size_t size = need > 2 * s->size ? need : 2 * s->size;

	s->size = rounded(size > 0 ? size : 1, size < PAGE ? SHORT_LINE : PAGE);
	s->at = s->size < PAGE ? short_new(s->size) : memory_kept(s->size);
	s->written = s->size < PAGE ? s->size : 0;
}

/* The slot keeps its pages, at another address. Other ranks may wait, so only new pages cost time. */
static void blocking_grow(struct slot *s, size_t need)
{
	size_t size = rounded(need > 0 ? need : 1, PAGE);
	void *p;

	if (s->at == NULL)
		p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	else
		p = mremap(s->at, s->size, size, MREMAP_MAYMOVE);
	if (p == MAP_FAILED)
		skel_fail("no memory for a message buffer of %zu bytes", size);
	s->at = p;
	s->size = size;
}

/* The program has memory of its own, whose cost is in its gaps. In a piece, a weight would multiply the cost of this
 * memory. Only this rank's time is without it. A rank that waits for this one has the wait in its time. */
static char *slot_memory(int slot, size_t need, size_t used)
{
	struct slot *s;
	double before;

	if (slot >= state.n_slot)
		slots_grow(slot);
	s = &state.slot[slot];
	if (need <= s->size && used <= s->written && s->at != NULL)
		return s->at;
	before = skel_virtual_ns();
	if (s->at != NULL && need > s->size)
		memset(state.place, 0, sizeof state.place);
	if ((s->at == NULL || need > s->size) && slot < BLOCKING)
		blocking_grow(s, need);
	else if (s->at == NULL || need > s->size)
		request_grow(s, need);
	used = rounded(used, PAGE) < s->size ? rounded(used, PAGE) : s->size;
	if (used > s->written) {
		memory_write(s->at + s->written, used - s->written);
		s->written = used;
	}
	skel_virtual_forward(before - skel_virtual_ns(), 0);
	return s->at;
}

/* Bytes below and above the pointer that count elements touch. */
static void touched(const struct span *s, int64_t count, int64_t *below, int64_t *above)
{
	__int128 last, lo = s->true_lb, hi;

	*below = *above = 0;
	if (count <= 0)
		return;
	last = (__int128)(count - 1) * s->extent;
	if (last < 0)
		lo += last;
	hi = (last > 0 ? last : 0) + s->true_lb + s->true_extent;
	if (lo < -((__int128)1 << 46) || hi > (__int128)1 << 46)
		skel_fail("a message of %lld elements is too long for this machine", (long long)count);
	*below = lo < 0 ? (int64_t)-lo : 0;
	*above = hi > 0 ? (int64_t)hi : 0;
}

void skel_span(int64_t count, MPI_Datatype t, int64_t *below, int64_t *above)
{
	touched(span_of(t), count, below, above);
}

static void *place_find(int slot, int64_t count, MPI_Datatype t, int64_t used)
{
	struct place *p = &state.place[((uintptr_t)t >> 5 ^ (uintptr_t)count ^ (uintptr_t)slot * 11) % PLACES];
	int64_t below, above, used_below, used_above;
	char *memory;

	if (p->slot == slot && p->count == count && p->type == t && p->used == used && p->at != NULL)
		return p->at;
	touched(span_of(t), count, &below, &above);
	touched(span_of(t), used, &used_below, &used_above);
	memory = slot_memory(slot, (size_t)(below + above), (size_t)(below + used_above));
	*p = (struct place){slot, count, t, used, memory + below};
	return p->at;
}

void *skel_buf(int slot, int64_t count, MPI_Datatype t)
{
	return place_find(slot, count, t, count);
}

void *skel_buf_part(int slot, int64_t count, MPI_Datatype t, int64_t used)
{
	return place_find(slot, count, t, used < count ? used : count);
}

void *skel_buf_v(int slot, const int *count, int n, MPI_Datatype t)
{
	int64_t sum = 0;

	for (int i = 0; i < n; i++)
		sum += count[i] > 0 ? count[i] : 0;
	return skel_buf(slot, sum, t);
}

/* Blocks of several types lie one after the other, each in its own span (see skel_displs_bytes). */
static int64_t span_bytes(const int count, MPI_Datatype t, int64_t *below)
{
	int64_t above = 0;

	*below = 0;
	if (count > 0 && t != MPI_DATATYPE_NULL)
		touched(span_of(t), count, below, &above);
	return (*below + above + 15) / 16 * 16;
}

void *skel_buf_w(int slot, const int *count, const MPI_Datatype *t, int n)
{
	int64_t sum = 0, below;

	for (int i = 0; i < n; i++)
		sum += span_bytes(count[i], t[i], &below);
	return slot_memory(slot, (size_t)sum, (size_t)sum);
}

static struct memo *memo_slot(struct memo *table, int cap, const void *key, const void *key2, int n)
{
	uint64_t h = ((uintptr_t)key * 0x9e3779b97f4a7c15ull) ^ ((uintptr_t)key2 * 0xc2b2ae3d27d4eb4full) ^ (uint64_t)n;

	for (int i = (int)(h >> 40) & (cap - 1);; i = (i + 1) & (cap - 1))
		if (table[i].key == NULL || (table[i].key == key && table[i].key2 == key2 && table[i].n == n))
			return &table[i];
}

static void memo_grow(void)
{
	int cap = state.cap_memo > 0 ? 2 * state.cap_memo : 64;
	struct memo *table = skel_alloc((size_t)cap, sizeof *table);

	for (int i = 0; i < state.cap_memo; i++)
		if (state.memo[i].key != NULL)
			*memo_slot(table, cap, state.memo[i].key, state.memo[i].key2, state.memo[i].n) =
				state.memo[i];
	free(state.memo);
	state.memo = table;
	state.cap_memo = cap;
}

/* Where the array made from these keys is kept; NULL there: not made yet. */
static void **memo_find(const void *key, const void *key2, int n)
{
	struct memo *m;

	if (2 * (state.n_memo + 1) > state.cap_memo)
		memo_grow();
	m = memo_slot(state.memo, state.cap_memo, key, key2, n);
	if (m->key == NULL) {
		*m = (struct memo){key, key2, n, NULL};
		state.n_memo++;
	}
	return &m->value;
}

const int *skel_displs(const int *count, int n)
{
	void **value = memo_find(count, NULL, n);
	int64_t at = 0;

	if (*value == NULL) {
		int *d = skel_alloc((size_t)n + 1, sizeof *d);

		for (int i = 0; i < n; i++) {
			if (at > INT32_MAX)
				skel_fail("displacements exceed the range of int");
			d[i] = (int)at;
			at += count[i] > 0 ? count[i] : 0;
		}
		*value = d;
	}
	return *value;
}

const int *skel_displs_bytes(const int *count, const MPI_Datatype *t, int n)
{
	void **value = memo_find(count, t, n);
	int64_t at = 0, below;

	if (*value == NULL) {
		int *d = skel_alloc((size_t)n + 1, sizeof *d);

		for (int i = 0; i < n; i++) {
			int64_t bytes = span_bytes(count[i], t[i], &below);

			if (at + below > INT32_MAX)
				skel_fail("displacements exceed the range of int");
			d[i] = (int)(at + below);
			at += bytes;
		}
		*value = d;
	}
	return *value;
}

const MPI_Aint *skel_displs_aint(const int *count, const MPI_Datatype *t, int n)
{
	void **value = memo_find(count, (const char *)t + 1, n); /* another key than that of the displacements as int */
	const int *bytes = *value == NULL ? skel_displs_bytes(count, t, n) : NULL;

	if (bytes != NULL) {
		MPI_Aint *d = skel_alloc((size_t)n + 1, sizeof *d);

		for (int i = 0; i < n; i++)
			d[i] = bytes[i];
		*memo_find(count, (const char *)t + 1, n) = d; /* the table may have moved */
		return d;
	}
	return *value;
}

const MPI_Datatype *skel_types(const int *index, int n)
{
	void **value = memo_find(index, &state, n);

	if (*value == NULL) {
		MPI_Datatype *t = skel_alloc((size_t)n + 1, sizeof *t);

		for (int i = 0; i < n; i++)
			t[i] = index[i] >= 0 ? type[index[i]] : MPI_BYTE;
		*value = t;
	}
	return *value;
}

void skel_buffers_close(void)
{
	for (int i = 0; i < BLOCKING && i < state.n_slot; i++)
		if (state.slot[i].at != NULL)
			munmap(state.slot[i].at, state.slot[i].size);
	for (int i = 0; i < state.n_kept; i++)
		free(state.kept[i]);
	for (int i = 0; i < state.cap_memo; i++)
		free(state.memo[i].value);
	free(state.kept);
	free(state.slot);
	free(state.memo);
	memset(&state, 0, sizeof state);
}
