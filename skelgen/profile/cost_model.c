/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A rough processor: see cost_model.h. */
#include "skelgen/profile/cost_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "skelgen/profile/address_stride.h"
#include "skelgen/profile/branch_frequency.h"
#include "skelgen/profile/trip_count.h"

#define HITS_MAX  1024  /* samples of a body that are looked at */
#define ROUNDS    8     /* iterations to find the chain of */
#define LINE      64
#define LOWEST    0x10000ull          /* addresses that a program can have: others are what registers held */
#define HIGHEST   0x800000000000ull   /* before the instruction was ever reached */
#define STRIDE    128   /* bytes: more is a stride */
#define LEAST_MET 16    /* samples that say which way branches go */
#define PENALTY   17    /* cycles from a mispredicted branch until the right instructions are under way (interval analysis) */
#define SHARP     3     /* how much of the time the longest of several takes that overlap */
#define LEAST_WAIT 0.5  /* of the waiting that was found, and at most: so that instructions and time agree */
#define MOST_WAIT 2
#define HALVINGS  12
#define NEAR      0.15  /* instructions and time agree so far */

enum level { L1, L2, L3, MEMORY, LEVELS };

/* Cycles, of a processor of these years: a line in order, an access without order by itself, one that awaits the one
 * before. */
static const double line_cycles[LEVELS] = {1, 1.3, 3, 9};
static const double apart_cycles[LEVELS] = {0.5, 2, 5, 30};
static const double chained_cycles[LEVELS] = {5, 14, 50, 300};

static const uint8_t stream_class[LEVELS] = {CLASS_INTEGER, CLASS_STREAM_L2, CLASS_STREAM_L3, CLASS_STREAM_MEM};
static const uint8_t random_class[LEVELS] = {CLASS_INTEGER, CLASS_RANDOM_L2, CLASS_RANDOM_L3, CLASS_RANDOM_MEM};

/* throughput and latency in cycles, and the class, by kind */
static const struct {
	double each, latency;
	uint8_t cls;
} cost_of[OP_KINDS] = {
	[OP_NOTHING] = {0.1, 0, CLASS_INTEGER}, [OP_MOVE] = {0.2, 0, CLASS_INTEGER},
	[OP_INTEGER] = {0.2, 1, CLASS_INTEGER}, [OP_MULTIPLY] = {1, 3, CLASS_INTEGER},
	[OP_SCALAR] = {0.5, 4, CLASS_SCALAR}, [OP_VECTOR] = {0.5, 4, CLASS_VECTOR},
	[OP_DIVIDE] = {5, 14, CLASS_DIVIDE}, [OP_LIBM] = {40, 60, CLASS_LIBM}, [OP_BRANCH] = {0.5, 0, CLASS_INTEGER},
	[OP_JUMP] = {0.5, 0, CLASS_INTEGER}, [OP_CALL] = {1, 0, CLASS_INTEGER}, [OP_RETURN] = {1, 0, CLASS_INTEGER},
};

/* The memory accesses of a load or store. */
struct access {
	struct address_stride stride;
	double bytes;  /* footprint; 0: unknown */
	double reach;  /* of an access in order: the footprint of all accesses in order; else its own */
	uint8_t level;
};

struct model {
	const struct loop_body *b;
	const struct loop_sample *hit;
	uint32_t n;
	const uint64_t *cache;
	bool blocked;
	struct access *access; /* by instruction */
	uint64_t *address;     /* room for the addresses of an instruction, */
	uint64_t *all;         /* and for the addresses of all accesses in order */
	uint32_t n_all;
	uint32_t *heat;        /* samples by instruction */
	double *often;         /* how often it is executed, of the most frequent one */
	double units[CLASS_N], memory[CLASS_N], chain[CLASS_N];
	double mispredicted;   /* cycles of mispredicted branches, an iteration */
	double row, row_waits; /* of a chain: iterations, and the waiting relative to an endless chain */
	double shorts;         /* of the scalar work: the part in short loops */
};

static bool touches(const struct loop_op *op)
{
	return op->bytes && (op->load || op->store);
}

/* ---- addresses ---- */

/* Registers that an instruction gives a new value; a small step does not count. */
static uint64_t spoils(const struct loop_op *op)
{
	const uint64_t callers = 0x0fc7; /* ax cx dx si di r8 .. r11 */

	if (op->kind == OP_CALL)
		return callers;
	return op->adds && op->add_reg == LOOP_NO_REG ? 0 : op->writes;
}

/* Do the registers at instruction p hold the values that instruction i sees, saw, or will see next? */
static bool is_valid(const struct loop_body *b, uint32_t p, uint32_t i, uint64_t need)
{
	uint64_t spoilt = 0;

	for (uint32_t k = p; k != i && !(spoilt & need); k = (k + 1) % b->n) {
		if (k + 1 == b->n && !b->is_loop)
			spoilt = UINT64_MAX;
		spoilt |= spoils(&b->op[k]);
	}
	if (!(spoilt & need))
		return true;
	spoilt = 0;
	for (uint32_t k = i; k < p; k++)
		spoilt |= spoils(&b->op[k]);
	return i <= p && !(spoilt & need);
}

static uint64_t value_of(const struct loop_sample *h, uint8_t r)
{
	return r < TSAMPLE_REGS ? h->reg[r] : 0;
}

/* Addresses of instruction i over the samples, into m->address. */
static uint32_t addresses(struct model *m, uint32_t i)
{
	const struct loop_op *op = &m->b->op[i];
	uint64_t need = (op->base < TSAMPLE_REGS ? 1ull << op->base : 0) | (op->index < TSAMPLE_REGS ? 1ull << op->index : 0);
	uint32_t n = 0;

	if (op->index != LOOP_NO_REG && op->index >= TSAMPLE_REGS)
		return 0; /* a gather: of vectors nothing is known */
	for (uint32_t k = 0; k < m->n; k++) {
		uint32_t p = loop_body_at(m->b, m->hit[k].offset);
		uint64_t at;

		if (p == UINT32_MAX || !is_valid(m->b, p, i, need))
			continue;
		at = value_of(&m->hit[k], op->base) + value_of(&m->hit[k], op->index) * op->scale + (uint64_t)op->disp;
		if (at >= LOWEST && at < HIGHEST)
			m->address[n++] = at;
	}
	return n;
}

uint8_t cost_model_level(const uint64_t *cache, double bytes)
{
	uint8_t level = L1;

	while (level < MEMORY && cache[level] && bytes > (double)cache[level])
		level++;
	return level;
}

static uint8_t level_of(const struct model *m, double bytes)
{
	uint8_t level = cost_model_level(m->cache, bytes);

	return m->blocked && level > L2 ? L2 : level;
}

/* The footprint of an access by its n addresses. Addresses in order are added to m->all. */
static void find_access(struct model *m, uint32_t i, uint32_t n)
{
	struct access *a = &m->access[i];
	bool even = a->stride.order == STRIDE_EVEN;

	if (even) {
		memcpy(m->all + m->n_all, m->address, n * sizeof(*m->all));
		m->n_all += n;
	}
	a->bytes = address_footprint(m->address, n, LINE, even);
}

/* Accesses in order share the caches. Random accesses keep their own place in them. */
static void find_levels(struct model *m)
{
	double streams;

	for (uint32_t i = 0; i < m->b->n; i++) {
		const struct loop_op *op = &m->b->op[i];
		struct access *a = &m->access[i];

		if (!touches(op))
			continue;
		a->stride = address_stride_of(m->b, op, m->n ? m->hit[0].reg : NULL);
		if (op->relative && op->index == LOOP_NO_REG)
			continue;
		find_access(m, i, addresses(m, i));
	}
	streams = address_footprint(m->all, m->n_all, LINE, true);
	for (uint32_t i = 0; i < m->b->n; i++) {
		struct access *a = &m->access[i];
		bool small = a->bytes < (double)m->cache[L1] / 2;

		a->reach = a->stride.order == STRIDE_EVEN && !small ? fmax(a->bytes, streams) : a->bytes;
		a->level = level_of(m, a->reach);
	}
}

/* ---- memory ---- */

/* Does an earlier instruction of the body bring the same line? */
static bool is_brought(const struct model *m, uint32_t i)
{
	const struct loop_op *op = &m->b->op[i];
	int64_t reach = llabs(m->access[i].stride.step) > LINE ? LINE : LINE / 2;

	for (uint32_t k = 0; k < i; k++) {
		const struct loop_op *o = &m->b->op[k];

		if (touches(o) && o->base == op->base && o->index == op->index && o->scale == op->scale &&
		    llabs(o->disp - op->disp) < reach && o->relative == op->relative)
			return true;
	}
	return false;
}

static void add_access(struct model *m, uint32_t i)
{
	const struct loop_op *op = &m->b->op[i];
	const struct access *a = &m->access[i];
	double step = fabs((double)a->stride.step);
	/* A written line is read first and written back, so that a stream of stores costs twice the bandwidth. Accesses that wait
	 * for a line each do not wait for the write-back. */
	double times = (op->store ? 2 : 1) * m->often[i];

	if (a->stride.order == STRIDE_NONE || a->level == L1 || is_brought(m, i))
		return;
	if (a->stride.order == STRIDE_IRREGULAR)
		m->memory[random_class[a->level]] += m->often[i] * apart_cycles[a->level];
	else if (step > STRIDE)
		m->memory[a->level == MEMORY ? CLASS_STRIDE_MEM : stream_class[a->level]] += times * apart_cycles[a->level];
	else
		m->memory[stream_class[a->level]] += times * line_cycles[a->level] * fmin(1, step / LINE);
}

/* ---- units and chains ---- */

/* Moves of a vector's registers are part of the arithmetic on them. */
static uint8_t class_of(const struct loop_op *op)
{
	uint64_t vectors = (op->reads | op->writes) >> LOOP_REG_VECTOR & UINT32_MAX;

	if (op->kind == OP_MOVE && vectors)
		return op->bytes >= 16 ? CLASS_VECTOR : CLASS_SCALAR;
	return cost_of[op->kind].cls;
}

/* Of the load alone, from when its address is known; 0: it loads nothing. */
static double load_latency(const struct model *m, uint32_t i, uint8_t *cls)
{
	const struct loop_op *op = &m->b->op[i];
	const struct access *a = &m->access[i];

	*cls = class_of(op);
	if (!op->load || op->kind == OP_CALL || op->kind == OP_RETURN)
		return 0;
	if (a->stride.order != STRIDE_IRREGULAR || !a->stride.chained || a->level == L1)
		return chained_cycles[L1];
	*cls = random_class[a->level];
	return chained_cycles[a->level];
}

/* The time at which a value is ready, and the classes of the latency until then. */
struct ready {
	double at, by[CLASS_N];
};

static double longest(const struct ready *r, uint32_t *which)
{
	*which = 0;
	for (uint32_t i = 1; i < LOOP_REGS; i++)
		if (r[i].at > r[*which].at)
			*which = i;
	return r[*which].at;
}

/* The result of an instruction is ready after its operands; a loaded operand is ready a latency after its address. */
static struct ready made(const struct model *m, uint32_t i, const struct ready *reg)
{
	const struct loop_op *op = &m->b->op[i];
	uint8_t cls = class_of(op), load_cls;
	double load = load_latency(m, i, &load_cls);
	struct ready now = {0};

	for (uint32_t r = 0; r < LOOP_REGS; r++) {
		double more = op->bytes && (r == op->base || r == op->index) ? load : 0;

		if (!(op->reads >> r & 1) || reg[r].at + more <= now.at)
			continue;
		now = reg[r];
		now.at += more;
		now.by[load_cls] += more;
	}
	now.at += cost_of[op->kind].latency;
	now.by[cls] += cost_of[op->kind].latency;
	return now;
}

/* Waiting in a chain has classes of its own. */
static uint8_t chained(int c)
{
	switch (c) {
	case CLASS_INTEGER:
		return CLASS_INTEGER_CHAIN;
	case CLASS_SCALAR:
	case CLASS_VECTOR:
		return CLASS_SCALAR_CHAIN;
	default:
		return (uint8_t)c;
	}
}

/* The chain of values: registers written in one iteration and read in the next. */
static int find_chain(struct model *m)
{
	struct ready reg[LOOP_REGS], *half, now;
	double per = 0;
	uint32_t last;

	half = calloc(LOOP_REGS, sizeof(*half));
	if (!half)
		return -1;
	memset(reg, 0, sizeof(reg));
	for (int round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < m->b->n; i++) {
			now = made(m, i, reg);
			for (uint32_t r = 0; r < LOOP_REGS; r++)
				if (m->b->op[i].writes >> r & 1)
					reg[r] = now;
		}
		if (round == ROUNDS / 2 - 1)
			memcpy(half, reg, sizeof(reg));
	}
	longest(reg, &last);
	for (int c = 0; c < CLASS_N; c++) {
		m->chain[c] = fmax(0, (reg[last].by[c] - half[last].by[c]) / (ROUNDS - ROUNDS / 2));
		if (chained(c) == CLASS_SCALAR_CHAIN) /* the kernel that ends with rows */
			m->chain[c] *= m->row_waits;
		per += m->chain[c];
	}
	free(half);
	if (per <= 0)
		memset(m->chain, 0, sizeof(m->chain));
	return 0;
}

/* ---- branches ---- */

/* Does this branch depend on data that are loaded or mixed in the loop? */
static bool is_by_data(const struct model *m, uint32_t i)
{
	const struct loop_body *b = m->b;

	for (uint32_t k = 1; k <= b->n; k++) {
		const struct loop_op *op = &b->op[(i + b->n - k) % b->n];

		if (!(op->writes >> LOOP_REG_FLAGS & 1))
			continue;
		if (op->load && m->access[op - b->op].stride.order != STRIDE_NONE)
			return true;
		for (uint8_t r = 0; r < LOOP_REGS - 1; r++) {
			struct loop_op use = {.base = r, .index = LOOP_NO_REG, .bytes = 8};

			if (!(op->reads >> r & 1))
				continue;
			if (r >= LOOP_REG_VECTOR || address_stride_of(b, &use, m->n ? m->hit[0].reg : NULL).order == STRIDE_IRREGULAR)
				return true;
		}
		return false;
	}
	return false;
}

/* May a branch go either way? */
static bool is_open(const struct model *m, uint32_t i)
{
	uint32_t t = m->b->op[i].kind == OP_BRANCH ? loop_body_at(m->b, m->b->op[i].target) : UINT32_MAX;

	return t != UINT32_MAX && t != i + 1 && is_by_data(m, i) && !trip_count_is_counted(m->b, i, m->n ? m->hit[0].reg : NULL);
}

/* A branch that data decide is mispredicted as often as it goes the way that is rarer. */
static double find_mispredicted(const struct model *m)
{
	double cycles = 0;

	for (uint32_t i = 0; i < m->b->n; i++) {
		double taken = is_open(m, i) ? branch_frequency_taken(m->b, m->often, i) : 0;

		cycles += m->often[i] * fmin(taken, 1 - taken) * PENALTY;
	}
	return cycles;
}

/* ---- all together ---- */

static double total(const double *v)
{
	double sum = 0;

	for (int c = 0; c < CLASS_N; c++)
		sum += v[c];
	return sum;
}

/* Work of other classes that a kernel does beside its own or while it waits: cycles of the units per cycle of the kernel, by
 * the costs above. So much less work is left to the kernels of these classes. The entry of a class for itself is its share of
 * its kernel's time.
 *
 * scalar_chain: 5 operations, 2 moves, 2 integer instructions and a branch, in 16 cycles of a chain of 4 operations.
 * scalar, scalar_short: counted from their code, divided by 1.4, the scalar operations of scalar at once. By the costs above
 * scalar has 25 cycles of scalar and 7 of integer work in 22 cycles; scalar_short has 11 and 9 in 8 cycles. */
static const struct {
	double integer, scalar, vector;
} content_of[CLASS_N] = {
	[CLASS_INTEGER] = {1, 0, 0}, [CLASS_INTEGER_CHAIN] = {0.2, 0, 0}, [CLASS_BRANCH] = {0.15, 0, 0},
	[CLASS_SCALAR] = {0.2, 0.8, 0}, [CLASS_SCALAR_SHORT] = {0.78, 0.95, 0},
	[CLASS_SCALAR_CHAIN] = {0.06, 0.18, 0}, [CLASS_VECTOR] = {0.3, 0, 0.7},
	[CLASS_STREAM_L2] = {0.32, 0.5, 0}, [CLASS_STREAM_L3] = {0.12, 0.19, 0}, [CLASS_STREAM_MEM] = {0.04, 0.06, 0},
	[CLASS_RANDOM_L2] = {0.07, 0, 0}, [CLASS_RANDOM_L3] = {0.02, 0, 0},
};

/* Streams are worked on as the rest of the floating point is. */
static bool is_stream(int c)
{
	return c == CLASS_STREAM_L2 || c == CLASS_STREAM_L3 || c == CLASS_STREAM_MEM;
}

/* The time that the kernel of a class takes for the rest of the class's work. */
static double rest_of(double need, double content)
{
	return content > 0 ? fmax(0, need) / content : fmax(0, need);
}

/* Time by class with `scale` times the waiting: kernels that wait do some of the units' work, the others the rest. Returns
 * the sum. */
static double fill(const struct model *m, const double *waits, double scale, double time[CLASS_N])
{
	double integer = m->units[CLASS_INTEGER], scalar = m->units[CLASS_SCALAR], vector = m->units[CLASS_VECTOR];
	double packed = vector > 0 ? vector / (vector + scalar) : 0;

	for (int c = 0; c < CLASS_N; c++) {
		double wait = waits[c] * scale, dense = c == CLASS_SCALAR_CHAIN ? 1 / m->row_waits : 1;

		integer -= wait * content_of[c].integer * dense;
		scalar -= wait * content_of[c].scalar * dense * (is_stream(c) ? 1 - packed : 1);
		vector -= wait * (content_of[c].vector + (is_stream(c) ? content_of[c].scalar * packed : 0));
		time[c] = wait + m->units[c];
	}
	time[CLASS_SCALAR] += rest_of(scalar * (1 - m->shorts), content_of[CLASS_SCALAR].scalar) - m->units[CLASS_SCALAR];
	time[CLASS_SCALAR_SHORT] += rest_of(scalar * m->shorts, content_of[CLASS_SCALAR_SHORT].scalar);
	time[CLASS_VECTOR] += rest_of(vector, content_of[CLASS_VECTOR].vector) - m->units[CLASS_VECTOR];
	integer -= (time[CLASS_SCALAR] - waits[CLASS_SCALAR] * scale) * content_of[CLASS_SCALAR].integer +
		   time[CLASS_SCALAR_SHORT] * content_of[CLASS_SCALAR_SHORT].integer +
		   (time[CLASS_VECTOR] - waits[CLASS_VECTOR] * scale) * content_of[CLASS_VECTOR].integer;
	time[CLASS_INTEGER] += fmax(0, integer) - m->units[CLASS_INTEGER];
	return total(time);
}

/* The units do all of their work in any case. If a chain of values or the memory takes longer than the units, the difference is
 * waiting. So a block of kernels executes as many instructions as the program's. A memory that is nearly as slow as the units
 * adds a little. */
static void combine(const struct model *m, double share[CLASS_N])
{
	double units = total(m->units), chain = total(m->chain), memory = total(m->memory), core = fmax(units, chain);
	double waits[CLASS_N] = {0}, most = fmax(core, memory), least = LEAST_WAIT, scale = MOST_WAIT, sum;
	double weight = most > 0 ? pow(memory, SHARP) / (pow(core, SHARP) + pow(memory, SHARP)) : 0;
	double wrong = m->mispredicted > 0 ? m->mispredicted / (m->mispredicted + most) : 0;

	if (most <= 0) {
		memset(share, 0, CLASS_N * sizeof(*share));
		share[CLASS_INTEGER] = 1 - wrong;
		share[CLASS_BRANCH] = wrong;
		return;
	}
	for (int c = 0; c < CLASS_N; c++) {
		waits[c] += memory > 0 ? weight * most * m->memory[c] / memory : 0;
		waits[chained(c)] += chain > units ? (1 - weight) * (chain - units) * m->chain[c] / chain : 0;
	}
	if (fabs(fill(m, waits, 1, share) / most - 1) < NEAR)
		least = scale = 1;
	for (int round = 0; round < HALVINGS && scale - least > 1e-3; round++) {
		double half = (least + scale) / 2;

		*(fill(m, waits, half, share) > most ? &scale : &least) = half;
	}
	fill(m, waits, least, share);
	sum = total(share);
	for (int c = 0; c < CLASS_N; c++)
		share[c] *= (1 - wrong) / sum;
	share[CLASS_BRANCH] += wrong;
}

/* How often instructions are executed. -1: no memory. */
static int find_often(struct model *m)
{
	double *cost = calloc(m->b->n + 1u, sizeof(*cost));
	int rv;

	if (!cost)
		return -1;
	for (uint32_t i = 0; i < m->b->n; i++)
		cost[i] = cost_of[m->b->op[i].kind].each;
	rv = branch_frequency(m->b, cost, m->heat, m->often);
	free(cost);
	m->mispredicted = rv == 0 && m->b->is_loop && m->n >= LEAST_MET ? find_mispredicted(m) : 0;
	return rv;
}

/* The part of the scalar work that lies in short loops: these have more branches than long loops and integer work. The constants
 * are those of the three kernels: branches and integer instructions for each operation, and integer instructions a branch. */
static double short_part(const struct model *m)
{
	const double in_long = 0.14, integer_in_long = 0.43, in_short = 0.5, integer_in_short = 1, per_branch = 4.7;
	double branches = 0, scalar = 0, integer = 0, more;

	for (uint32_t i = 0; i < m->b->n; i++) {
		const struct loop_op *op = &m->b->op[i];

		if (branch_frequency_leaves(op))
			branches += m->often[i];
		else if (op->kind == OP_SCALAR)
			scalar += m->often[i];
		else if (class_of(op) == CLASS_INTEGER)
			integer += m->often[i];
	}
	if (scalar <= 0)
		return 0;
	more = branches / scalar - in_long - fmax(0, integer / scalar - integer_in_long) / per_branch;
	return fmin(1, fmax(0, more / (in_short - in_long - (integer_in_short - integer_in_long) / per_branch)));
}

/* The given frequencies, or those by these samples. -1: no memory. */
static int find_branches(struct model *m, const struct cost_model_branches *branches)
{
	if (branches && branches->known) {
		memcpy(m->often, branches->often, m->b->n * sizeof(*m->often));
		m->mispredicted = branches->mispredicted;
		return 0;
	}
	for (uint32_t i = 0; i < m->n; i++) {
		uint32_t p = loop_body_at(m->b, m->hit[i].offset);

		if (p != UINT32_MAX)
			m->heat[p]++;
	}
	return find_often(m);
}

/* -1: no memory. */
static int weigh(struct model *m)
{
	for (uint32_t i = 0; i < m->b->n; i++) {
		const struct loop_op *op = &m->b->op[i];

		m->units[class_of(op)] += m->often[i] * cost_of[op->kind].each;
		if (touches(op))
			add_access(m, i);
	}
	m->shorts = short_part(m);
	m->row = trip_count(m->b, m->hit, m->n);
	m->row_waits = trip_count_waits(m->row, m->b->n);
	return m->b->is_loop ? find_chain(m) : 0;
}

/* How much memory lies behind each level, and how wide the arithmetic is that there is most of. */
static void find_bytes(const struct model *m, struct cost_model_result *use)
{
	double n = 0, sum = 0;

	memset(use->bytes, 0, sizeof(use->bytes));
	for (uint32_t i = 0; i < m->b->n; i++) {
		const struct loop_op *op = &m->b->op[i];
		const struct access *a = &m->access[i];

		if (touches(op) && a->level > L1 && a->stride.order != STRIDE_NONE)
			use->bytes[a->level - L2] = fmax(use->bytes[a->level - L2], a->reach);
		if (op->kind == OP_VECTOR && op->vector) {
			n++;
			sum += op->vector;
		}
	}
	use->vector = n > 0 ? sum / n : 0;
}

int cost_model(const struct loop_body *b, const struct loop_sample *hit, uint32_t n, const uint64_t *cache, bool blocked,
	      struct cost_model_branches *branches, struct cost_model_result *use)
{
	struct model m = {.b = b, .hit = hit, .n = n < HITS_MAX ? n : HITS_MAX, .cache = cache, .blocked = blocked};
	int rv = -1;

	m.access = calloc(b->n + 1u, sizeof(*m.access));
	m.heat = calloc(b->n + 1u, sizeof(*m.heat));
	m.often = calloc(b->n + 1u, sizeof(*m.often));
	m.address = calloc(m.n + 1u, sizeof(*m.address));
	m.all = calloc((size_t)m.n * b->n + 1u, sizeof(*m.all));
	if (!m.access || !m.heat || !m.often || !m.address || !m.all)
		goto out;
	find_levels(&m);
	if (find_branches(&m, branches) == 0 && weigh(&m) == 0) {
		combine(&m, use->share);
		find_bytes(&m, use);
		use->row = m.row;
		if (branches && !branches->known) {
			memcpy(branches->often, m.often, b->n * sizeof(*m.often));
			branches->mispredicted = m.mispredicted;
			branches->known = true;
		}
		rv = 0;
	}
out:
	free(m.access);
	free(m.heat);
	free(m.often);
	free(m.address);
	free(m.all);
	return rv;
}
