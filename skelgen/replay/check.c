/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is this a file of operations that can be run? Sizes, checksum, every array, and every instruction with the kinds of
 * its operands, so that the program that runs it need not look again. Values that only a run knows (places in tables,
 * loops, requests) are looked at there.
 */
#define XXH_INLINE_ALL
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "skelgen/replay/check.h"

struct checker {
	struct ops_file *f;
	char *kind;            /* of each value on the stack */
	unsigned char *depth;
	uint64_t n, cap;
	unsigned block[OPS_MAX_DEPTH];
	uint32_t loop[OPS_MAX_DEPTH]; /* of blocks of loops: its number */
	uint64_t values[OPS_MAX_DEPTH + 1]; /* of the call that varies around, by depth of blocks; 0: none */
	int n_block;
	const uint64_t *columns;
	uint64_t n_vary;
	int closed_if;         /* the instruction before ended the block of a condition */
	unsigned before;       /* its operation, */
	uint32_t called;       /* and the function that it called */
	const char *why;
};

static int fail(struct checker *c, const char *why)
{
	if (c->why == NULL)
		c->why = why;
	return -1;
}

/* ---- sections ---- */

static int sections_find(struct ops_file *f, const char **why)
{
	const uint64_t *w = f->word;
	uint64_t at = OPS_HEAD, left = f->n_word - OPS_HEAD;

	for (int s = OPS_H_NAME; s <= OPS_H_DATA; s++) {
		if (w[s] > left) {
			*why = "its sections are longer than the file";
			return -1;
		}
		left -= w[s];
	}
	if (left != 0 || w[OPS_H_NAME] == 0) {
		*why = "its sections do not fill the file";
		return -1;
	}
	f->name = (const char *)(w + at);
	at += w[OPS_H_NAME];
	if (f->name[8 * w[OPS_H_NAME] - 1] != '\0') {
		*why = "its program's name has no end";
		return -1;
	}
	f->array = w + at;
	f->n_array = w[OPS_H_ARRAYS];
	at += f->n_array + w[OPS_H_VALUES];
	f->code = w + at;
	f->n_code = w[OPS_H_CODE];
	f->data = f->code + f->n_code;
	f->n_data = w[OPS_H_DATA];
	return 0;
}

static uint64_t array_words(char kind, uint64_t n)
{
	return kind == 'A' ? n : kind == 'I' ? (n + 1) / 2 : (n + 7) / 8;
}

static int arrays_find(struct ops_file *f, const char **why)
{
	const uint64_t *at = f->array + f->n_array;
	uint64_t left = f->word[OPS_H_VALUES];

	f->values = calloc(f->n_array + 1, sizeof *f->values);
	if (f->values == NULL) {
		*why = "there is no memory for it";
		return -1;
	}
	for (uint64_t i = 0; i < f->n_array; i++) {
		char kind = ops_array_kind(f->array[i]);
		uint64_t n = array_words(kind, ops_array_length(f->array[i]));

		if ((kind != 'I' && kind != 'A' && kind != 'B') || n > left) {
			*why = "an array in it is not whole";
			return -1;
		}
		f->values[i] = at;
		at += n;
		left -= n;
	}
	return 0;
}

/* Loops are bounded by the length of the file, and so is the memory for them: each is entered by several words of code. */
static int fields_check(const struct ops_file *f, const char **why)
{
	const uint64_t most[] = {
		[OPS_F_n_ranks] = 1 << 24, [OPS_F_n_loops] = f->n_word, [OPS_F_n_requests] = 1 << 26,
		[OPS_F_n_comms] = 1 << 26, [OPS_F_n_types] = 1 << 26, [OPS_F_n_wins] = 1 << 26,
		[OPS_F_n_files] = 1 << 26, [OPS_F_bsend_bytes] = 1ull << 40, [OPS_F_rma_bytes] = 1ull << 40,
		[OPS_F_traced_s] = UINT64_MAX, [OPS_F_confidence] = UINT64_MAX, [OPS_F_events] = UINT64_MAX,
		[OPS_F_rounds_s] = UINT64_MAX,
		[OPS_F_thread_level] = 3,
	};
	const uint64_t *field = f->word + OPS_H_FIELDS;

	for (int i = 0; i < OPS_F_N; i++)
		if (field[i] > most[i]) {
			*why = "one of its numbers is out of range";
			return -1;
		}
	if (field[OPS_F_n_ranks] == 0) {
		*why = "it has no ranks";
		return -1;
	}
	return 0;
}

/* ---- code ---- */

static int push(struct checker *c, char kind, unsigned depth)
{
	if (depth > OPS_MAX_DEPTH)
		return fail(c, "an expression in it is too deep");
	if (c->n == c->cap)
		return fail(c, "its code is damaged");
	c->kind[c->n] = kind;
	c->depth[c->n++] = (unsigned char)depth;
	c->f->n_node++;
	return 0;
}

/* The kind of either of two values. */
static char common_kind(char a, char b)
{
	if (ops_kind_fits(a, b))
		return b;
	return ops_kind_fits(b, a) ? a : 'v';
}

/* Take the operands of w from the stack: the depth of the deepest, or -1. */
static int operands(struct checker *c, uint64_t w, char *same)
{
	char takes[OPS_MAX_ARGS];
	uint64_t n = (uint64_t)ops_takes(w, takes), deepest = 0, first;
	int list = OPS_OP(w) == OPS_LIST;

	n = list ? OPS_COUNT(w) : n;
	if (n > c->n)
		return fail(c, "an operation in it lacks operands");
	first = c->n - n;
	for (uint64_t i = 0; i < n; i++) {
		char wanted = list ? 't' : takes[i], is = c->kind[first + i];

		if (wanted == 'v' ? is != 'v' : !ops_kind_fits(is, wanted))
			return fail(c, "an operand in it is of the wrong kind");
		if (wanted == '*')
			*same = *same == 0 ? is : common_kind(*same, is);
		deepest = c->depth[first + i] > deepest ? c->depth[first + i] : deepest;
	}
	if (*same == 'v')
		return fail(c, "the two values of a choice in it are of different kinds");
	c->n = first;
	return (int)deepest;
}

/* What the expression leaves, or 0. */
static char gives(struct checker *c, uint64_t w, char same)
{
	uint32_t arg = OPS_ARG(w);
	char kind;

	switch (OPS_OP(w)) {
	case OPS_REAL:
		return 'd';
	case OPS_RANK:
	case OPS_SIZE:
	case OPS_TO_INT:
		return 'i';
	case OPS_NAMED:
		return ops_constant[arg].kind;
	case OPS_ARRAY:
		kind = ops_array_kind(c->f->array[arg]);
		return kind == 'B' ? 0 : kind;
	case OPS_HANDLE:
		return ops_table_kind[arg] == 'M' ? 0 : ops_table_kind[arg];
	case OPS_PLACE:
		return ops_place_kind[arg];
	case OPS_CHOOSE:
		return same;
	case OPS_LIST:
		return 'Y';
	case OPS_CALL:
		return ops_function[arg].gives;
	default:
		return 'l';
	}
}

static int argument_check(struct checker *c, uint64_t w)
{
	uint64_t arg = OPS_ARG(w), limit;

	switch (OPS_OP(w)) {
	case OPS_NAMED:
		limit = ops_n_constant;
		break;
	case OPS_ARRAY:
	case OPS_ELEMENT:
		limit = c->f->n_array;
		break;
	case OPS_HANDLE:
	case OPS_PLACE:
		limit = OPS_TABLE_N;
		break;
	case OPS_CALL:
		limit = ops_n_function;
		break;
	case OPS_LOOP:
		limit = c->f->word[OPS_H_FIELDS + OPS_F_n_loops];
		break;
	case OPS_VALUE:
		limit = c->values[c->n_block];
		break;
	case OPS_VALUES:
		limit = c->n_vary;
		break;
	default:
		limit = 1;
		break;
	}
	if (arg >= limit || (OPS_OP(w) == OPS_LIST ? OPS_COUNT(w) > OPS_MAX_LIST : OPS_COUNT(w) != 0))
		return fail(c, "an operation in it names what is not there");
	return 0;
}

static int block_begin(struct checker *c, unsigned op, uint32_t arg)
{
	if (c->n_block == OPS_MAX_DEPTH)
		return fail(c, "its loops and conditions are nested too deeply");
	for (int i = 0; op == OPS_LOOP && i < c->n_block; i++)
		if (c->block[i] == OPS_LOOP && c->loop[i] == arg)
			return fail(c, "a loop in it runs inside itself");
	c->loop[c->n_block] = arg;
	c->block[c->n_block++] = op;
	c->values[c->n_block] = op == OPS_VALUES ? c->columns[arg] : c->values[c->n_block - 1];
	return 0;
}

static int block_end(struct checker *c)
{
	unsigned op;

	if (c->n_block == 0)
		return fail(c, "a block ends in it that never began");
	op = c->block[--c->n_block];
	c->closed_if = op == OPS_IF;
	return 0;
}

/* The loop that begins here must have been entered by the call before. */
static int is_entered(const struct checker *c)
{
	return c->before == OPS_CALL && strncmp(ops_function[c->called].name, "skel_loop", 9) == 0;
}

static int instruction(struct checker *c, uint64_t w)
{
	unsigned op = OPS_OP(w);
	int after_if = c->closed_if, depth;
	char same = 0, kind;

	c->closed_if = 0;
	if (op >= OPS_N)
		return fail(c, "it has an unknown operation");
	if (argument_check(c, w) != 0 || (depth = operands(c, w, &same)) < 0)
		return -1;
	if (op <= OPS_LAST_EXPRESSION) {
		kind = gives(c, w, same);
		if (kind == 0)
			return fail(c, "an operation in it names what is not there");
		return push(c, kind, (unsigned)depth + 1);
	}
	if (c->n != 0)
		return fail(c, "a statement in it leaves something over");
	c->f->n_statement++;
	switch (op) {
	case OPS_DO:
		return is_entered(c) ? fail(c, "a loop in it is entered but does not run") : 0;
	case OPS_SET_TYPE:
		return 0;
	case OPS_END:
		return block_end(c);
	case OPS_ELSE:
		return after_if ? block_begin(c, op, OPS_ARG(w)) : fail(c, "it has an else without its condition");
	case OPS_LOOP:
		return is_entered(c) ? block_begin(c, op, OPS_ARG(w)) : fail(c, "a loop in it is not entered");
	default:
		return block_begin(c, op, OPS_ARG(w));
	}
}

static int code_check(struct checker *c)
{
	const struct ops_file *f = c->f;

	for (uint64_t i = 0; i < f->n_code; i++) {
		uint64_t w = f->code[i];
		unsigned op = OPS_OP(w);

		if (instruction(c, w) != 0)
			return -1;
		if ((op == OPS_INT || op == OPS_REAL) && ++i == f->n_code)
			return fail(c, "its last number is missing");
		c->before = op;
		c->called = OPS_ARG(w);
	}
	return c->n_block == 0 && c->n == 0 ? 0 : fail(c, "its code has no end");
}

/* ---- the whole ---- */

uint64_t ops_hash(const uint64_t *word, uint64_t n)
{
	XXH3_state_t *s = XXH3_createState();
	const uint64_t zero = 0;
	uint64_t h = 0;

	if (s == NULL)
		return 0;
	XXH3_64bits_reset(s);
	XXH3_64bits_update(s, word, OPS_H_HASH * sizeof *word);
	XXH3_64bits_update(s, &zero, sizeof zero);
	XXH3_64bits_update(s, word + OPS_H_HASH + 1, (n - OPS_H_HASH - 1) * sizeof *word);
	h = XXH3_64bits_digest(s);
	XXH3_freeState(s);
	return h;
}

int ops_check(const uint64_t *word, uint64_t n_word, struct ops_file *out, const char **why)
{
	struct checker c = {.f = out};
	uint64_t *columns = NULL;
	int rv = -1;

	memset(out, 0, sizeof *out);
	out->word = word;
	out->n_word = n_word;
	*why = NULL;
	if (n_word < OPS_HEAD || word[OPS_H_MAGIC] != OPS_MAGIC)
		*why = "it is not the operations of a skeleton";
	else if (word[OPS_H_VERSION] != OPS_VERSION)
		*why = "it was written by another version of precedent";
	else if (word[OPS_H_WORDS] != n_word || n_word > OPS_MAX_WORDS)
		*why = "it is cut short";
	else if (word[OPS_H_HASH] != ops_hash(word, n_word))
		*why = "it is damaged";
	if (*why != NULL || sections_find(out, why) != 0 || fields_check(out, why) != 0 || arrays_find(out, why) != 0 ||
	    (columns = ops_data_check(out, &c.n_vary, why)) == NULL)
		goto done;
	c.columns = columns;
	c.cap = out->n_code;
	c.kind = malloc(c.cap + 1);
	c.depth = malloc(c.cap + 1);
	if (c.kind == NULL || c.depth == NULL)
		c.why = "there is no memory for it";
	else
		rv = code_check(&c);
	*why = c.why;
done:
	free(columns);
	free(c.kind);
	free(c.depth);
	if (rv != 0)
		ops_file_free(out);
	return rv;
}

void ops_file_free(struct ops_file *f)
{
	free(f->values);
	f->values = NULL;
}
