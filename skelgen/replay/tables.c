/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions and constants of calls.h by name and kind, without MPI. */
#include <string.h>

#include "skelgen/replay/calls.h"
#include "skelgen/replay/ops.h"

/* MAP(M, a, b, ...): M(a) M(b) ... */
#define MAP_1(M, a) M(a)
#define MAP_2(M, a, ...) M(a) MAP_1(M, __VA_ARGS__)
#define MAP_3(M, a, ...) M(a) MAP_2(M, __VA_ARGS__)
#define MAP_4(M, a, ...) M(a) MAP_3(M, __VA_ARGS__)
#define MAP_5(M, a, ...) M(a) MAP_4(M, __VA_ARGS__)
#define MAP_6(M, a, ...) M(a) MAP_5(M, __VA_ARGS__)
#define MAP_7(M, a, ...) M(a) MAP_6(M, __VA_ARGS__)
#define MAP_8(M, a, ...) M(a) MAP_7(M, __VA_ARGS__)
#define MAP_9(M, a, ...) M(a) MAP_8(M, __VA_ARGS__)
#define MAP_10(M, a, ...) M(a) MAP_9(M, __VA_ARGS__)
#define MAP_11(M, a, ...) M(a) MAP_10(M, __VA_ARGS__)
#define MAP_12(M, a, ...) M(a) MAP_11(M, __VA_ARGS__)
#define MAP_13(M, a, ...) M(a) MAP_12(M, __VA_ARGS__)
#define MAP_14(M, a, ...) M(a) MAP_13(M, __VA_ARGS__)
#define MAP_PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, NAME, ...) NAME
#define MAP(M, ...)                                                                                                    \
	MAP_PICK(__VA_ARGS__, MAP_14, MAP_13, MAP_12, MAP_11, MAP_10, MAP_9, MAP_8, MAP_7, MAP_6, MAP_5, MAP_4, MAP_3, \
		 MAP_2, MAP_1, 0)(M, __VA_ARGS__)

#define LETTER(k) #k
#define AS_CALL(function, ...)         {#function, 'v', MAP(LETTER, __VA_ARGS__)},
#define AS_VALUE(function, gives, ...) {#function, #gives[0], MAP(LETTER, __VA_ARGS__)},

const struct ops_function ops_function[] = {SKEL_CALLS(AS_CALL, AS_VALUE, AS_CALL)};
const uint32_t ops_n_function = sizeof ops_function / sizeof *ops_function;

#define AS_TYPE(name)        {#name, 't'},
#define AS_OP(name)          {#name, 'o'},
#define AS_NAMED(name, kind) {#name, #kind[0]},

const struct ops_constant ops_constant[] = {SKEL_DATATYPES(AS_TYPE) SKEL_OPS(AS_OP) SKEL_NAMED(AS_NAMED)};
const uint32_t ops_n_constant = sizeof ops_constant / sizeof *ops_constant;

const char ops_table_kind[OPS_TABLE_N] = {'m', 't', 'w', 'q', 'M'};
const char ops_place_kind[OPS_TABLE_N] = {'C', 'T', 'W', 'Q', 'M'};

int ops_kind_fits(char is, char wanted)
{
	if (is == wanted || wanted == '*')
		return is != 'v';
	if (is == 'n')
		return strchr("pIJAY", wanted) != NULL;
	if (is == 'i' || is == 'l')
		return wanted == 'i' || wanted == 'l' || wanted == 'd';
	return is == 'I' && wanted == 'J';
}

int ops_takes(uint64_t w, char takes[OPS_MAX_ARGS])
{
	unsigned op = OPS_OP(w);

	memset(takes, 0, OPS_MAX_ARGS);
	switch (op) {
	case OPS_ELEMENT:
	case OPS_HANDLE:
	case OPS_PLACE:
	case OPS_TO_INT:
	case OPS_NEGATE:
	case OPS_NOT:
	case OPS_IF:
	case OPS_FOR:
		takes[0] = 'l';
		break;
	case OPS_CHOOSE:
		strcpy(takes, "l**");
		break;
	case OPS_CALL:
		strcpy(takes, ops_function[OPS_ARG(w)].takes);
		break;
	case OPS_SET_TYPE:
		strcpy(takes, "lt");
		break;
	case OPS_DO:
	case OPS_LOOP:
		takes[0] = 'v';
		break;
	default:
		if (op >= OPS_ADD && op <= OPS_OROR)
			strcpy(takes, "ll");
		break;
	}
	return (int)strlen(takes);
}
