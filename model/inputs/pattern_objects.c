/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Datatypes, windows and files of a rank: see pattern_objects.h. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/inputs/pattern_objects.h"

#define NUMBER 1		       /* byte of a name's text: a number */
#define FILE_NAME 4096
#define NUMBER_MOST  (INT64_C(1) << 40) /* of a datatype: such that no product of three overflows */
#define ADDRESS_MOST (INT64_C(1) << 48)
#define BYTES_MOST   ((__int128)1 << 62)

int pattern_objects_begin(struct pattern_objects *o, uint32_t n_patterns)
{
	*o = (struct pattern_objects){.n = n_patterns};
	for (int k = 0; k < POBJ_N; k++) {
		o->latest[k] = malloc((n_patterns + 1u) * sizeof(*o->latest[k]));
		for (uint32_t i = 0; o->latest[k] && i < n_patterns; i++)
			o->latest[k][i] = TRACE_NULL;
		if (!o->latest[k])
			return -1;
	}
	return 0;
}

void pattern_objects_end(struct pattern_objects *o)
{
	for (int k = 0; k < POBJ_N; k++)
		free(o->latest[k]);
	for (uint32_t i = 0; i < o->n_file; i++)
		free(o->file[i].name);
	free(o->win);
	free(o->win_live);
	free(o->file);
	free(o->file_live);
	*o = (struct pattern_objects){0};
}

static bool *live_at(struct pattern_objects *o, enum pattern_object kind, int64_t index)
{
	uint32_t n = kind == POBJ_WIN ? o->n_win : kind == POBJ_FILE ? o->n_file : 0;

	return index >= 0 && index < n ? &(kind == POBJ_WIN ? o->win_live : o->file_live)[index] : NULL;
}

void pattern_objects_made(struct pattern_objects *o, enum pattern_object kind, uint32_t pattern, int64_t index)
{
	bool *live = live_at(o, kind, index);

	if (pattern < o->n)
		o->latest[kind][pattern] = index;
	if (live)
		*live = true;
}

void pattern_objects_freed(struct pattern_objects *o, enum pattern_object kind, int64_t index)
{
	bool *live = live_at(o, kind, index);

	if (live)
		*live = false;
}

/* ---- windows and files: the lowest ordinal that is free, and a definition that nobody has now ---- */

static int room_for_object(void **array, size_t size, bool **live, uint32_t n)
{
	void *more = realloc(*array, (n + 1u) * size);
	bool *l;

	if (!more)
		return -1;
	*array = more;
	l = realloc(*live, (n + 1u) * sizeof(*l));
	if (!l)
		return -1;
	*live = l;
	l[n] = false;
	return 0;
}

static bool ordinal_taken(const struct pattern_objects *o, enum pattern_object kind, uint32_t comm, uint32_t ordinal)
{
	uint32_t n = kind == POBJ_WIN ? o->n_win : o->n_file;

	for (uint32_t i = 0; i < n; i++)
		if (kind == POBJ_WIN ? o->win_live[i] && o->win[i].comm == comm && o->win[i].ordinal == ordinal
				     : o->file_live[i] && o->file[i].comm == comm && o->file[i].ordinal == ordinal)
			return true;
	return false;
}

int64_t pattern_objects_window(struct pattern_objects *o, const struct trace_win *w)
{
	struct trace_win want = *w;
	void *win = o->win;

	for (want.ordinal = 0; ordinal_taken(o, POBJ_WIN, want.comm, want.ordinal);)
		want.ordinal++;
	for (uint32_t i = 0; i < o->n_win; i++) {
		const struct trace_win *d = &o->win[i];

		if (!o->win_live[i] && d->kind == want.kind && d->comm == want.comm && d->ordinal == want.ordinal &&
		    d->size == want.size && d->disp_unit == want.disp_unit)
			return i;
	}
	if (room_for_object(&win, sizeof(*o->win), &o->win_live, o->n_win) < 0)
		return TRACE_NULL;
	o->win = win;
	o->win[o->n_win] = want;
	return o->n_win++;
}

int64_t pattern_objects_file(struct pattern_objects *o, uint32_t comm, int32_t amode, const char *name)
{
	struct trace_file want = {.comm = comm, .amode = amode};
	void *file = o->file;

	while (ordinal_taken(o, POBJ_FILE, comm, want.ordinal))
		want.ordinal++;
	for (uint32_t i = 0; i < o->n_file; i++) {
		const struct trace_file *d = &o->file[i];

		if (!o->file_live[i] && d->comm == comm && d->ordinal == want.ordinal && d->amode == amode && !strcmp(d->name, name))
			return i;
	}
	want.name = strdup(name);
	if (!want.name || room_for_object(&file, sizeof(*o->file), &o->file_live, o->n_file) < 0) {
		free(want.name);
		return TRACE_NULL;
	}
	o->file = file;
	o->file[o->n_file] = want;
	return o->n_file++;
}

/* ---- who made it ---- */

int pattern_makers_learn(struct pattern_makers *m, const struct pattern_objects *o, enum pattern_object kind, int64_t index,
			 struct arena *arena)
{
	uint32_t k = 0;

	if (!m->seen) {
		for (uint32_t i = 0; index >= 0 && i < o->n; i++)
			m->n += o->latest[kind][i] == index;
		m->by = arena_alloc(arena, m->n, sizeof(*m->by));
		if (!m->by)
			return -1;
		for (uint32_t i = 0; index >= 0 && i < o->n; i++)
			if (o->latest[kind][i] == index)
				m->by[k++] = i;
		m->seen = true;
		return 0;
	}
	for (uint32_t i = 0; i < m->n; i++)
		if (m->by[i] < o->n && o->latest[kind][m->by[i]] == index)
			m->by[k++] = m->by[i];
	m->n = k;
	return 0;
}

int64_t pattern_makers_find(const struct pattern_makers *m, const struct pattern_objects *o, enum pattern_object kind, const char **why)
{
	static const char *const none[] = {"uses a derived datatype that is made in different places, or was not made",
					   "uses a window that is made in different places, or was not made",
					   "uses a file that is opened in different places, or was not opened"};
	static const char *const several[] = {"uses a datatype of which the traces do not tell where it was made: name more of them",
					      "uses a window of which the traces do not tell where it was made: name more of them",
					      "uses a file of which the traces do not tell where it was opened: name more of them"};
	int64_t found = m->n && m->by[0] < o->n ? o->latest[kind][m->by[0]] : TRACE_NULL;

	if (found < 0)
		*why = none[kind];
	for (uint32_t i = 1; i < m->n && !*why; i++)
		if (m->by[i] >= o->n || o->latest[kind][m->by[i]] != found)
			*why = several[kind];
	return *why ? TRACE_NULL : found;
}

/* ---- names of files ---- */

/* The name with a byte for each number. */
static int name_form(const char *name, char *out, uint8_t *digits, bool *zero)
{
	size_t at = 0, from = 0, k = 0, n;
	const char *number;

	memset(digits, 0, CALL_FILE_NUMBERS);
	if (strlen(name) >= FILE_NAME || strchr(name, NUMBER))
		return -1;
	for (uint32_t i = 0; i < CALL_FILE_NUMBERS && (number = call_file_number(name, &at, &n)); i++) {
		size_t before = (size_t)(number - name) - from;

		memcpy(out + k, name + from, before);
		k += before;
		out[k++] = NUMBER;
		digits[i] = (uint8_t)n;
		zero[i] = n > 1 && *number == '0';
		from = at;
	}
	memcpy(out + k, name + from, strlen(name + from) + 1);
	return 0;
}

int pattern_name_learn(struct pattern_name *p, const char *name, struct arena *arena)
{
	char form[FILE_NAME];
	uint8_t digits[CALL_FILE_NUMBERS];
	bool zero[CALL_FILE_NUMBERS] = {false};

	if (name_form(name, form, digits, zero) < 0 || (p->text && strcmp(p->text, form))) {
		p->other = true;
		return 0;
	}
	if (!p->text) {
		p->text = arena_alloc(arena, strlen(form) + 1, 1);
		if (!p->text)
			return -1;
		memcpy(p->text, form, strlen(form) + 1);
	}
	for (uint32_t i = 0; i < CALL_FILE_NUMBERS; i++)
		if (zero[i])
			p->pad[i] = digits[i];
	return 0;
}

int pattern_name_make(const struct pattern_name *p, const int64_t *number, uint32_t n, char *out, size_t size)
{
	uint32_t used = 0;
	size_t k = 0;

	if (!p->text || p->other)
		return -1;
	for (const char *s = p->text; *s; s++) {
		int len = 1;

		if (*s != NUMBER) {
			if (k + 1 < size)
				out[k] = *s;
		} else if (used == n || used == CALL_FILE_NUMBERS || number[used] < 0) {
			return -1;
		} else {
			len = snprintf(out + k, size - k, "%0*lld", p->pad[used] ? p->pad[used] : 1, (long long)number[used]);
			used++;
		}
		k += (size_t)len;
		if (k + 1 > size)
			return -1;
	}
	out[k] = '\0';
	return 0;
}

/* ---- datatypes ---- */

/* What blocks of a type, one behind the other, span. */
struct span {
	__int128 size, lb, ub;
	bool any;
};

static void put_block(struct span *s, const struct trace_type *sub, __int128 disp, __int128 n)
{
	__int128 lb = disp + sub->lb, ub = lb + sub->extent, last = (n - 1) * sub->extent;

	if (n <= 0)
		return;
	if (last < 0)
		lb += last;
	else
		ub += last;
	s->size += n * sub->size;
	s->lb = !s->any || lb < s->lb ? lb : s->lb;
	s->ub = !s->any || ub > s->ub ? ub : s->ub;
	s->any = true;
}

/* Blocks that are evenly apart: the first and the last say what they span. */
static void put_even(struct span *s, const struct trace_type *sub, int64_t count, int64_t block, __int128 apart)
{
	if (count <= 0)
		return;
	put_block(s, sub, 0, block);
	if (count > 1)
		put_block(s, sub, (count - 1) * apart, block);
	s->size = (__int128)count * block * sub->size;
}

static int put_listed(struct span *s, const struct trace_type *t, const struct trace_type *sub)
{
	bool one = t->combiner == TCOMB_INDEXED_BLOCK || t->combiner == TCOMB_HINDEXED_BLOCK;
	bool bytes = t->combiner == TCOMB_HINDEXED || t->combiner == TCOMB_HINDEXED_BLOCK;
	int64_t count = t->integer[0];
	uint64_t ints = one ? 2 + (bytes ? 0 : (uint64_t)count) : 1 + (bytes ? 1 : 2) * (uint64_t)count;

	if (count < 0 || count > UINT32_MAX / 4 || t->n_int != ints || t->n_addr != (bytes ? (uint64_t)count : 0))
		return -1;
	for (int64_t i = 0; i < count; i++) {
		int64_t block = t->integer[1 + (one ? 0 : i)];
		__int128 disp = bytes ? t->addr[i] : (__int128)t->integer[one ? 2 + i : 1 + count + i] * sub->extent;

		put_block(s, sub, disp, block);
	}
	return 0;
}

/* The whole array is what it spans. */
static int put_subarray(struct span *s, const struct trace_type *t, const struct trace_type *sub)
{
	int64_t n = t->integer[0];
	__int128 part = 1, whole = 1;

	if (n < 1 || n > 64 || t->n_int != 3 * (uint64_t)n + 2)
		return -1;
	for (int64_t i = 0; i < n; i++) {
		int64_t size = t->integer[1 + i], sub_n = t->integer[1 + n + i], start = t->integer[1 + 2 * n + i];

		if (sub_n < 1 || start < 0 || sub_n > size || start > size - sub_n || whole > BYTES_MOST / size)
			return -1;
		part *= sub_n;
		whole *= size;
	}
	*s = (struct span){.size = part * sub->size, .ub = whole * sub->extent, .any = true};
	return 0;
}

static int span_of(const struct trace_type *t, const struct trace_type *sub, struct span *s)
{
	const int64_t *v = t->integer;
	uint32_t ints = t->n_int, addrs = t->n_addr;

	switch (t->combiner) {
	case TCOMB_DUP:
		put_block(s, sub, 0, 1);
		return ints || addrs ? -1 : 0;
	case TCOMB_CONTIGUOUS:
		if (ints != 1 || addrs || v[0] < 0)
			return -1;
		put_block(s, sub, 0, v[0]);
		return 0;
	case TCOMB_VECTOR:
		if (ints != 3 || addrs || v[0] < 0 || v[1] < 0)
			return -1;
		put_even(s, sub, v[0], v[1], (__int128)v[2] * sub->extent);
		return 0;
	case TCOMB_HVECTOR:
		if (ints != 2 || addrs != 1 || v[0] < 0 || v[1] < 0)
			return -1;
		put_even(s, sub, v[0], v[1], t->addr[0]);
		return 0;
	case TCOMB_RESIZED:
		if (ints || addrs != 2)
			return -1;
		*s = (struct span){sub->size, t->addr[0], (__int128)t->addr[0] + t->addr[1], true};
		return 0;
	case TCOMB_SUBARRAY:
		return ints ? put_subarray(s, t, sub) : -1;
	default:
		return ints ? put_listed(s, t, sub) : -1;
	}
}

static bool is_sane(const int64_t *v, uint32_t n, int64_t most)
{
	for (uint32_t i = 0; i < n; i++)
		if (v[i] > most || v[i] < -most)
			return false;
	return true;
}

int pattern_type_measure(struct trace_type *t, const struct trace_type *type, uint32_t n_type)
{
	struct span s = {0};
	const struct trace_type *sub;

	if (t->name || call_type_measured(t))
		return 0;
	sub = t->n_sub == 1 && t->sub[0] < n_type ? &type[t->sub[0]] : NULL;
	if (!sub || !is_sane(t->integer, t->n_int, NUMBER_MOST) || !is_sane(t->addr, t->n_addr, ADDRESS_MOST) || !is_sane(&sub->size, 1, NUMBER_MOST) ||
	    !is_sane(&sub->lb, 1, NUMBER_MOST) || !is_sane(&sub->extent, 1, NUMBER_MOST) || span_of(t, sub, &s) < 0 || s.size > BYTES_MOST ||
	    s.lb < -BYTES_MOST || s.ub > BYTES_MOST || s.ub < s.lb)
		return -1;
	t->size = s.size > INT32_MAX ? 0 : (int64_t)s.size; /* as the tracer has what is more than an int holds */
	t->lb = (int64_t)s.lb;
	t->extent = (int64_t)(s.ub - s.lb);
	return 1;
}
