/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loop contraction: speed, memory and contracted length on the strings of the design, for
 *   precedent  contract_symbols() as it is used
 *   suffixes   the same with the suffix-array engine (skeleton --repeats suffix-array)
 *   greedy     the same without the shortcut for dominant loops and without the exhaustive search of short bodies
 *   array      greedy with the suffix-array engine
 *   paper      Zhang, Zhang, Zhang 2010 (cited in contract.h), mistakes corrected: two suffix arrays, two sparse tables,
 *              every anchor
 *   window     greedy with a fixed window: loops of at most 64 symbols, left to right, to a fixpoint
 * and the ratio of their lengths to the exhaustive optimum on short random strings. Each run is a process of its own.
 * Memory: growth of the resident set. Speed: processor time. Usage: bench_contract [strings|speed|kernels|optimum ...].
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "skelgen/contract/contract.h"
#include "skelgen/contract/suffix_array.h"

#define WINDOW	64u
#define SHORT_N 200u
static uint64_t rng_state;
static uint32_t rng(void)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return (uint32_t)(rng_state >> 32);
}

static void *must(void *p)
{
	if (!p) {
		perror("bench_contract");
		exit(1);
	}
	return p;
}

/* ---- the strings ---- */

struct text {
	uint32_t *s;
	uint32_t n, cap;
};

static void put(struct text *t, uint32_t symbol)
{
	if (t->n < t->cap)
		t->s[t->n++] = symbol;
}

static void put_loop(struct text *t, uint32_t first, uint32_t body, uint32_t count)
{
	for (uint32_t k = 0; k < count * body; k++)
		put(t, first + k % body);
}

static void make_nested(struct text *t)
{
	while (t->n + 7 <= t->cap) {
		put_loop(t, 0, 2, 3);
		put(t, 2);
	}
}

static void make_inner(struct text *t)
{
	while (t->n + 10 <= t->cap) {
		put_loop(t, 0, 1, 9);
		put(t, 1);
	}
}

/* Set up; steps of two pipelined sweeps over 160 planes, an exchange of faces and a norm; final checks. */
static void make_wavefront(struct text *t)
{
	put_loop(t, 0, 12, 1);
	while (t->n + 2 * 160 * 4 + 24 + 9 <= t->cap) {
		put_loop(t, 20, 4, 160);
		put_loop(t, 30, 4, 160);
		put_loop(t, 40, 24, 1);
	}
	put_loop(t, 70, 9, 1);
}

static void make_random(struct text *t)
{
	while (t->n < t->cap)
		put(t, rng() % 4);
}

/* A loop of 50 iterations of (AB)^9 C..., every hundredth event replaced. */
static void make_noise(struct text *t)
{
	for (uint32_t k = 0; t->n < t->cap; k++)
		put(t, rng() % 100 ? k % 20 : 50 + rng() % 4);
}

static void make_varying(struct text *t)
{
	for (uint32_t i = 1; t->n + i + 1 <= t->cap; i++) {
		put_loop(t, 0, 1, i);
		put(t, 1);
	}
}

static void make_optional(struct text *t)
{
	while (t->n + 21 <= t->cap) {
		put_loop(t, 0, 20, 1);
		if (rng() % 10 == 0)
			put(t, 30);
	}
}

static void make_fibonacci(struct text *t)
{
	uint32_t a = 1, b = 2;

	t->s[0] = 0;
	t->s[1] = 1;
	while (a + b <= t->cap) {
		uint32_t next = a + b;

		memcpy(t->s + b, t->s, a * sizeof(*t->s));
		a = b;
		b = next;
	}
	t->n = b;
}

static const struct {
	const char *name;
	void (*make)(struct text *);
} strings[] = {
    {"((AB)^3 C)^k", make_nested},	   {"((A)^9 B)^k", make_inner},
    {"LU-like wavefront", make_wavefront}, {"random, 4 letters", make_random},
    {"loop, 1% noise", make_noise},	   {"(A)^i B, i=1..k", make_varying},
    {"loop, 10% optional", make_optional}, {"Fibonacci", make_fibonacci},
};

#define LOOPY	  7u /* the first three */
#define NOISE	  4
#define N_STRINGS (sizeof(strings) / sizeof(*strings))

/* ---- contraction by a given search for repetitions, bodies included: what both baselines share ---- */

struct run {
	uint32_t start, length, period;
};

struct runs {
	struct run *item;
	uint32_t n, cap;
};

static void runs_add(struct runs *r, struct run x)
{
	if (r->n == r->cap) {
		r->cap = r->cap ? 2 * r->cap : 1024;
		r->item = must(realloc(r->item, (size_t)r->cap * sizeof(*r->item)));
	}
	r->item[r->n++] = x;
}

typedef void (*find_fn)(const uint32_t *s, uint32_t n, struct runs *out);

struct loop {
	uint32_t *body, length, weight, next;
	uint64_t hash;
	uint32_t count;
};

struct book {
	struct loop *loop;
	uint32_t n, cap, *head, n_head;
	uint32_t base;
};

static uint32_t baseline_contract(struct book *book, uint32_t *s, uint32_t n, find_fn find);

/* One symbol per (body, count). The body is contracted when it is met first. */
static uint32_t book_loop(struct book *book, const uint32_t *s, uint32_t length, uint32_t count, find_fn find)
{
	uint64_t hash = count;
	struct loop x = {.length = length, .count = count};
	uint32_t i, *body;

	for (i = 0; i < length; i++)
		hash = (hash ^ s[i]) * UINT64_C(0x9e3779b97f4a7c15) + (hash >> 29);
	for (i = book->head[hash % book->n_head]; i; i = book->loop[i - 1].next) {
		const struct loop *l = &book->loop[i - 1];

		if (l->hash == hash && l->count == count && l->length == length &&
		    !memcmp(l->body, s, (size_t)length * sizeof(*s)))
			return book->base + i - 1;
	}
	body = must(malloc((size_t)length * sizeof(*body)));
	memcpy(body, s, (size_t)length * sizeof(*body));
	x.weight = baseline_contract(book, body, length, find);
	memcpy(body, s, (size_t)length * sizeof(*body));
	x.body = body;
	x.hash = hash;
	if (book->n == book->cap) {
		book->cap = book->cap ? 2 * book->cap : 1024;
		book->loop = must(realloc(book->loop, book->cap * sizeof(*book->loop)));
	}
	x.next = book->head[hash % book->n_head];
	book->loop[book->n++] = x;
	book->head[hash % book->n_head] = book->n;
	return book->base + book->n - 1;
}

static int longest_first(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	if (x->length != y->length)
		return x->length > y->length ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

/* Contract s in place, to a fixpoint; returns the number of symbols written once each. */
static uint32_t baseline_contract(struct book *book, uint32_t *s, uint32_t n, find_fn find)
{
	uint32_t weight = 0;
	bool again = n > 1;

	while (again) {
		struct runs runs = {0};
		uint32_t *at = must(calloc(n, sizeof(*at))), to = 0;
		uint8_t *taken = must(calloc(n, 1));

		find(s, n, &runs);
		if (runs.n)
			qsort(runs.item, runs.n, sizeof(*runs.item), longest_first);
		again = runs.n > 0;
		for (uint32_t i = 0; i < runs.n; i++) {
			const struct run *r = &runs.item[i];

			if (taken[r->start] || taken[r->start + r->length - 1])
				continue;
			memset(taken + r->start, 1, r->length);
			at[r->start] = i + 1;
		}
		for (uint32_t i = 0; i < n;) {
			const struct run *r = at[i] ? &runs.item[at[i] - 1] : NULL;
			uint32_t left;

			if (!r) {
				s[to++] = s[i++];
				continue;
			}
			left = r->length % r->period;
			s[to++] = book_loop(book, s + i, r->period, r->length / r->period, find);
			memmove(s + to, s + i + r->length - left, left * sizeof(*s));
			to += left;
			i += r->length;
		}
		n = to;
		free(taken);
		free(at);
		free(runs.item);
	}
	for (uint32_t i = 0; i < n; i++)
		weight += s[i] >= book->base ? book->loop[s[i] - book->base].weight : 1;
	return weight;
}

static uint64_t baseline_length(const uint32_t *s, uint32_t n, find_fn find)
{
	struct book book = {.n_head = n / 4 + 64, .base = 1000};
	uint32_t *copy = must(malloc(((size_t)n + 1) * sizeof(*copy))), length;

	book.head = must(calloc(book.n_head, sizeof(*book.head)));
	memcpy(copy, s, (size_t)n * sizeof(*copy));
	length = baseline_contract(&book, copy, n, find);
	for (uint32_t i = 0; i < book.n; i++)
		free(book.loop[i].body);
	free(book.loop);
	free(book.head);
	free(copy);
	return length;
}

/* ---- Zhang, Zhang, Zhang 2010, section 3: suffix arrays of the text and its reverse, each with a table of minima ---- */

struct sparse {
	uint32_t n, levels, *rank, **min;
};

static void sparse_create(struct sparse *t, const uint32_t *s, uint32_t n, uint32_t n_symbols)
{
	uint32_t *sa = must(malloc((size_t)n * sizeof(*sa))), k = 0;
	struct errbuf err;

	if (suffix_array_build(s, n, n_symbols, sa, &err)) {
		fprintf(stderr, "bench_contract: %s\n", err.text);
		exit(1);
	}
	t->n = n;
	t->rank = must(malloc((size_t)n * sizeof(*t->rank)));
	for (uint32_t i = 0; i < n; i++)
		t->rank[sa[i]] = i;
	t->levels = 32 - (uint32_t)__builtin_clz(n);
	t->min = must(calloc(t->levels, sizeof(*t->min)));
	t->min[0] = must(malloc((size_t)n * sizeof(**t->min)));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t r = t->rank[i];

		if (r)
			while (i + k < n && sa[r - 1] + k < n && s[i + k] == s[sa[r - 1] + k])
				k++;
		else
			k = 0;
		t->min[0][r] = k;
		k -= k > 0;
	}
	free(sa);
	for (uint32_t v = 1; v < t->levels; v++) {
		uint32_t half = 1u << (v - 1);

		t->min[v] = must(malloc((size_t)n * sizeof(**t->min)));
		for (uint32_t i = 0; i + 2 * half <= n; i++) {
			uint32_t a = t->min[v - 1][i], b = t->min[v - 1][i + half];

			t->min[v][i] = a < b ? a : b;
		}
	}
}

static void sparse_free(struct sparse *t)
{
	for (uint32_t v = 0; v < t->levels; v++)
		free(t->min[v]);
	free(t->min);
	free(t->rank);
}

static uint32_t sparse_lce(const struct sparse *t, uint32_t i, uint32_t j)
{
	uint32_t a, b, v;

	if (i >= t->n || j >= t->n)
		return 0;
	a = t->rank[i] < t->rank[j] ? t->rank[i] : t->rank[j];
	b = t->rank[i] < t->rank[j] ? t->rank[j] : t->rank[i];
	v = 31 - (uint32_t)__builtin_clz(b - a);
	i = t->min[v][a + 1];
	j = t->min[v][b + 1 - (1u << v)];
	return i < j ? i : j;
}

static int by_place(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->length != y->length)
		return x->length < y->length ? -1 : 1;
	return (x->period > y->period) - (x->period < y->period);
}

static void find_paper(const uint32_t *s, uint32_t n, struct runs *out)
{
	uint32_t *dense = must(malloc((size_t)n * sizeof(*dense))),
		 *turned = must(malloc((size_t)n * sizeof(*turned)));
	uint32_t k, kept = 0;
	struct sparse ahead, behind;
	struct errbuf err;

	if (suffix_array_dense(s, n, dense, &k, &err))
		must(NULL);
	for (uint32_t i = 0; i < n; i++)
		turned[i] = dense[n - 1 - i];
	sparse_create(&ahead, dense, n, k);
	sparse_create(&behind, turned, n, k);
	for (uint32_t p = 1; p <= n / 2; p++) {
		uint32_t last = UINT32_MAX;

		for (uint32_t j = 0; j + p < n; j += p) {
			uint32_t f, b;

			if (s[j] != s[j + p])
				continue;
			f = sparse_lce(&ahead, j, j + p);
			b = j ? sparse_lce(&behind, n - j, n - j - p) : 0;
			if (b + f >= p && j - b != last)
				runs_add(out, (struct run){j - b, b + p + f, p});
			if (b + f >= p)
				last = j - b;
		}
	}
	/* The same run is met at multiples of its period: keep the smallest. */
	if (out->n)
		qsort(out->item, out->n, sizeof(*out->item), by_place);
	for (uint32_t i = 0; i < out->n; i++)
		if (!kept || out->item[kept - 1].start != out->item[i].start ||
		    out->item[kept - 1].length != out->item[i].length)
			out->item[kept++] = out->item[i];
	out->n = kept;
	sparse_free(&behind);
	sparse_free(&ahead);
	free(turned);
	free(dense);
}

/* ---- fixed window ---- */

static void find_window(const uint32_t *s, uint32_t n, struct runs *out)
{
	for (uint32_t i = 0; i < n;) {
		struct run best = {i, 1, 0};

		for (uint32_t p = 1; p <= WINDOW && i + 2 * p <= n; p++) {
			uint32_t got = symbols_match(s + i, s + i + p, n - i - p);

			got -= got % p;
			if (got >= p && got + p > best.length)
				best = (struct run){i, got + p, p};
		}
		if (best.period)
			runs_add(out, best);
		i += best.length;
	}
}

/* ---- measuring ---- */

enum method { PRECEDENT, SUFFIXES, GREEDY, ARRAY, PAPER, FIXED, N_METHODS };

static const char *const method_name[] = {"precedent", "suffixes", "greedy", "array", "paper", "window"};

static uint64_t method_length(enum method m, const uint32_t *s, uint32_t n)
{
	static const struct contract_options options[] = {
	    [PRECEDENT] = {.engine = REPEATS_LYNDON},
	    [SUFFIXES] = {.engine = REPEATS_SUFFIX_ARRAY},
	    [GREEDY] = {.without_shortcut = true, .without_search = true},
	    [ARRAY] = {.without_shortcut = true, .without_search = true, .engine = REPEATS_SUFFIX_ARRAY},
	};
	struct contract_tree tree;
	struct errbuf err;
	uint64_t length;

	if (m == PAPER || m == FIXED)
		return baseline_length(s, n, m == PAPER ? find_paper : find_window);
	if (contract_symbols(s, n, &options[m], &tree, &err)) {
		fprintf(stderr, "bench_contract: %s\n", err.text);
		exit(1);
	}
	length = contract_tree_length(&tree);
	contract_tree_free(&tree);
	return length;
}

static uint64_t status_kib(const char *key)
{
	char line[256];
	FILE *f = must(fopen("/proc/self/status", "r"));
	uint64_t value = 0;

	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			value = strtoull(line + strlen(key), NULL, 10);
	fclose(f);
	return value;
}

struct result {
	uint32_t n;
	uint64_t length;
	double seconds, cpu_s, bytes_per_symbol;
};

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* One contraction in a child, so that its memory is its own. */
static void measure(uint32_t string, uint32_t cap, enum method m, struct result *shared)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		must(NULL);
	if (pid == 0) {
		struct text t = {.cap = cap};
		double begin, cpu;
		uint64_t before;

		rng_state = 88172645463325252u;
		t.s = must(malloc((size_t)cap * sizeof(*t.s)));
		strings[string].make(&t);
		before = status_kib("VmRSS:");
		begin = now(CLOCK_MONOTONIC);
		cpu = now(CLOCK_PROCESS_CPUTIME_ID);
		shared->length = method_length(m, t.s, t.n);
		shared->cpu_s = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
		shared->seconds = now(CLOCK_MONOTONIC) - begin;
		shared->n = t.n;
		shared->bytes_per_symbol = 1024.0 * (double)(status_kib("VmHWM:") - before) / t.n;
		free(t.s);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status != 0) {
		fprintf(stderr, "bench_contract: the run of %s failed\n", method_name[m]);
		exit(1);
	}
}

static int by_cpu_time(const void *a, const void *b)
{
	const struct result *x = a, *y = b;

	return (x->cpu_s > y->cpu_s) - (x->cpu_s < y->cpu_s);
}

/* The strings whose bits are set; the median of `runs`. */
static void table(uint32_t cap, unsigned which, unsigned methods, int runs)
{
	struct result run[5], *r = mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (r == MAP_FAILED)
		must(NULL);
	for (uint32_t string = 0; string < N_STRINGS; string++) {
		for (enum method m = 0; m < N_METHODS; m++) {
			const struct result *mid = &run[runs / 2];

			if (!(which >> string & 1) || !(methods >> m & 1) || (m == PAPER && cap > 1000000 && string != 2))
				continue;
			for (int k = 0; k < runs; k++) {
				measure(string, cap, m, r);
				run[k] = *r;
			}
			qsort(run, (size_t)runs, sizeof(*run), by_cpu_time);
			printf("%-20s %9u  %-10s %9llu  %9.2f  %8.1f  %8.3f  %8.3f\n", strings[string].name, mid->n,
			       method_name[m], (unsigned long long)mid->length, mid->n / mid->cpu_s / 1e6,
			       mid->bytes_per_symbol, mid->cpu_s, mid->seconds);
			fflush(stdout);
		}
	}
	munmap(r, sizeof(*r));
}

/* ---- the communication of NAS kernels ---- */

/*
 * One rank of 16, class C: the order of calls of each kernel as its published sources have them, with the kernel's own
 * iterations, so that strings are about as long as those of the paper's table 3. A call is told apart by its place and
 * its peer, and MG's by its level, whose messages differ in size.
 */
static void make_bt(struct text *t)
{
	put_loop(t, 0, 6, 1);
	for (uint32_t step = 0; step < 201; step++) {
		put_loop(t, 10, 12, 1); /* faces */
		put(t, 12 + 10);
		for (uint32_t axis = 0; axis < 3; axis++) { /* forward and backward sweeps over 4 cells */
			put_loop(t, 30 + 20 * axis, 4, 1);
			for (uint32_t stage = 0; stage < 2; stage++)
				put_loop(t, 34 + 20 * axis, 4, 1);
			put_loop(t, 38 + 20 * axis, 4, 1);
			for (uint32_t stage = 0; stage < 2; stage++)
				put_loop(t, 42 + 20 * axis, 4, 1);
		}
	}
	put_loop(t, 100, 7, 1);
}

static void make_sp(struct text *t)
{
	put_loop(t, 0, 6, 1);
	for (uint32_t step = 0; step < 401; step++) {
		put_loop(t, 10, 13, 1);
		for (uint32_t axis = 0; axis < 3; axis++) {
			put_loop(t, 30 + 20 * axis, 2, 1);
			for (uint32_t stage = 0; stage < 2; stage++)
				put_loop(t, 32 + 20 * axis, 4, 1);
			put_loop(t, 36 + 20 * axis, 2, 1);
			for (uint32_t stage = 0; stage < 2; stage++)
				put_loop(t, 38 + 20 * axis, 3, 1);
		}
	}
	put_loop(t, 100, 7, 1);
}

static void make_cg(struct text *t)
{
	put_loop(t, 0, 4, 1);
	for (uint32_t step = 0; step < 76; step++) {
		put_loop(t, 10, 6, 1);
		for (uint32_t inner = 0; inner < 25; inner++)
			put_loop(t, 20, 21, 1);
		put_loop(t, 50, 12, 1);
	}
	put_loop(t, 80, 3, 1);
}

static void make_lu(struct text *t)
{
	put_loop(t, 0, 10, 1);
	for (uint32_t step = 0; step < 252; step++) {
		for (uint32_t plane = 0; plane < 160; plane++)
			put_loop(t, 20, 4, 1);
		for (uint32_t plane = 0; plane < 160; plane++)
			put_loop(t, 30, 4, 1);
		put_loop(t, 40, 8, 1);
		if (step == 0 || step == 250)
			put(t, 60);
	}
	put_loop(t, 70, 9, 1);
}

/* V cycles over eight levels: one exchange of the faces at each on the way down, two on the way up. */
static void make_mg(struct text *t)
{
	put_loop(t, 0, 9, 1);
	for (uint32_t step = 0; step < 21; step++) {
		for (uint32_t level = 8; level > 0; level--)
			put_loop(t, 20 + 20 * level, 18, 1);
		for (uint32_t level = 1; level <= 8; level++)
			put_loop(t, 400 + 20 * level, 18, level < 8 ? 2 : 4);
	}
	put_loop(t, 800, 8, 1);
}

static const struct {
	const char *name;
	void (*make)(struct text *);
	uint32_t paper_events, paper_length;
} kernels[] = {
    {"BT", make_bt, 17111, 44},	  {"CG", make_cg, 41954, 26}, {"LU", make_lu, 324355, 38},
    {"MG", make_mg, 10043, 302}, {"SP", make_sp, 26891, 43},
};

/* Processor time of one contraction: the least of seven. */
static double least_ms(enum method m, const struct text *t)
{
	double least = INFINITY;

	for (int i = 0; i < 7; i++) {
		double begin = now(CLOCK_PROCESS_CPUTIME_ID);

		method_length(m, t->s, t->n);
		least = fmin(least, 1e3 * (now(CLOCK_PROCESS_CPUTIME_ID) - begin));
	}
	return least;
}

static void kernel_table(void)
{
	struct text t = {.cap = 1u << 20};

	t.s = must(malloc((size_t)t.cap * sizeof(*t.s)));
	printf("\ncommunication of NAS kernels, 16 ranks, class C: lengths on the same string, and the paper's own; ms by Lyndon roots and by\n"
	       "suffix array\n%-8s %9s %10s %10s %10s %22s %8s %8s\n", "kernel", "calls", "precedent", "paper's", "window", "paper's table",
	       "Lyndon", "suffixes");
	for (size_t k = 0; k < sizeof(kernels) / sizeof(*kernels); k++) {
		t.n = 0;
		kernels[k].make(&t);
		printf("%-8s %9u %10llu %10llu %10llu %13u -> %-5u %8.2f %8.2f\n", kernels[k].name, t.n,
		       (unsigned long long)method_length(PRECEDENT, t.s, t.n),
		       (unsigned long long)method_length(PAPER, t.s, t.n),
		       (unsigned long long)method_length(FIXED, t.s, t.n), kernels[k].paper_events,
		       kernels[k].paper_length, least_ms(PRECEDENT, &t), least_ms(SUFFIXES, &t));
	}
	free(t.s);
}

/* ---- ratio to the optimum ---- */

static uint32_t cost[SHORT_N + 2][SHORT_N + 2];

static uint32_t optimum(const uint32_t *s, uint32_t n)
{
	for (uint32_t i = n + 1; i-- > 0;) {
		cost[i][i] = 0;
		for (uint32_t j = i + 1; j <= n; j++)
			cost[i][j] = 1 + cost[i + 1][j];
		for (uint32_t p = 1; i + 2 * p <= n; p++) {
			uint32_t got = symbols_match(s + i, s + i + p, n - i - p);

			for (uint32_t t = 2; (t - 1) * p <= got; t++)
				for (uint32_t j = i + t * p; j <= n; j++)
					if (cost[i][i + p] + cost[i + t * p][j] < cost[i][j])
						cost[i][j] = cost[i][i + p] + cost[i + t * p][j];
		}
	}
	return cost[0][n];
}

static uint32_t random_program(uint32_t *s, uint32_t n, uint32_t letters, uint32_t depth)
{
	uint32_t at = 0;

	while (at < n && (at == 0 || rng() % 4)) {
		if (depth == 0 || rng() % 2) {
			s[at++] = rng() % letters;
		} else {
			uint32_t body = random_program(s + at, n - at, letters, depth - 1);

			for (uint32_t t = rng() % 6, from = at; t > 0 && at + 2 * body <= n; t--, at += body)
				memcpy(s + at + body, s + from, body * sizeof(*s));
			at += body;
		}
	}
	return at;
}

static void ratios(bool programs, uint32_t letters)
{
	uint32_t s[SHORT_N], rounds = 200;
	uint64_t sum[N_METHODS] = {0}, best = 0;
	double worst[N_METHODS] = {0};

	for (uint32_t round = 0; round < rounds; round++) {
		uint32_t n = SHORT_N, want;

		if (programs)
			while ((n = random_program(s, SHORT_N, letters, 5)) < SHORT_N / 4)
				;
		else
			for (uint32_t i = 0; i < n; i++)
				s[i] = rng() % letters;
		want = optimum(s, n);
		best += want;
		for (enum method m = 0; m < N_METHODS; m++) {
			uint64_t got = method_length(m, s, n);

			if (got < want) {
				fprintf(stderr, "bench_contract: %s is below the optimum\n", method_name[m]);
				exit(1);
			}
			sum[m] += got;
			if ((double)got / want > worst[m])
				worst[m] = (double)got / want;
		}
	}
	printf("%-15s %2u letters ", programs ? "nested programs," : "random text,", letters);
	for (enum method m = 0; m < N_METHODS; m++)
		printf("  %6.3f (%5.2f)", (double)sum[m] / (double)best, worst[m]);
	printf("\n");
}

static void ratio_table(void)
{
	rng_state = 88172645463325252u;
	printf("\nlength over exhaustive optimum, %u symbols, mean (worst of 200)\n%-26s", SHORT_N, "");
	for (enum method m = 0; m < N_METHODS; m++)
		printf("  %14s", method_name[m]);
	printf("\n");
	for (uint32_t letters = 2; letters <= 8; letters *= 2) {
		ratios(true, letters);
		ratios(false, letters);
	}
}

static bool wanted(int argc, char **argv, const char *part)
{
	bool any = argc < 2;

	for (int i = 1; i < argc; i++)
		any |= !strcmp(argv[i], part);
	return any;
}

int main(int argc, char **argv)
{
	if (wanted(argc, argv, "strings") || wanted(argc, argv, "speed"))
		printf("%-20s %9s  %-10s %9s  %9s  %8s  %8s  %8s\n", "string", "symbols", "method", "length", "Msymbol/s",
		       "byte/sym", "cpu s", "wall s");
	if (wanted(argc, argv, "strings")) {
		table(1000000, ~0u, 1u << PRECEDENT | 1u << GREEDY | 1u << ARRAY | 1u << PAPER | 1u << FIXED, 1);
		table(10000000, ~0u, 1u << PRECEDENT | 1u << GREEDY | 1u << PAPER, 1);
	}
	if (wanted(argc, argv, "speed")) {
		table(10000000, 1u << NOISE, 1u << PRECEDENT | 1u << FIXED, 5);
		table(100000000, LOOPY, 1u << PRECEDENT | 1u << FIXED, 3);
	}
	if (wanted(argc, argv, "kernels"))
		kernel_table();
	if (wanted(argc, argv, "optimum"))
		ratio_table();
	return 0;
}
