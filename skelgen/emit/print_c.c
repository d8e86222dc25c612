/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * C from operations. ops_check has accepted the operations: each has its operands, and expressions are at most
 * OPS_MAX_DEPTH deep. Operations compute with 64 bits, C with the width of its types. A product that becomes a 64-bit
 * parameter is therefore printed with a cast.
 *
 * The time of a compiler grows faster than the length of a function. Statements longer than PART_BYTES become a part: a
 * function of their own.
 */
#include "skelgen/emit/print_c.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"

/* Precedence in C. */
enum { LEVEL_CHOOSE, LEVEL_OR, LEVEL_AND, LEVEL_RIGHT_OF_LESS = 7, LEVEL_UNARY = 9 };

static const struct {
	const char *sign;
	int level;
} binary[OPS_N] = {
	[OPS_OROR] = {"||", LEVEL_OR}, [OPS_ANDAND] = {"&&", LEVEL_AND}, [OPS_OR] = {"|", 3}, [OPS_XOR] = {"^", 4},
	[OPS_EQ] = {"==", 5}, [OPS_NE] = {"!=", 5}, [OPS_LT] = {"<", 6}, [OPS_LE] = {"<=", 6}, [OPS_GT] = {">", 6},
	[OPS_GE] = {">=", 6}, [OPS_ADD] = {"+", 7}, [OPS_SUB] = {"-", 7}, [OPS_MUL] = {"*", 8}, [OPS_DIV] = {"/", 8},
	[OPS_MOD] = {"%", 8},
};

static const char *const tables[OPS_TABLE_N] = {"comm", "type", "win", "req", "message"};

#define NONE UINT32_MAX

/* About 1,200 lines. Of a source of 40,000 lines, gcc -O2 compiles parts of this length in 3 s, one function in over 200 s. */
#define PART_BYTES 40000

/* An operation of the present statement's expressions. */
struct node {
	const uint64_t *word;
	uint32_t child; /* its first operand */
	uint32_t link;  /* on the stack: the node below; later: the next operand of the same operation */
};

struct printer {
	const struct ops_file *file;
	const struct code *code; /* the same operations with their comments */
	uint32_t n_named;
	size_t n_said;           /* comments printed so far */
	struct node *node;
	uint32_t n, cap, top;    /* top of the stack */
	int depth;               /* of tabs */
	struct text line, end;
	struct text *out;        /* the body of run() */
	size_t begin[OPS_MAX_DEPTH + 2]; /* of the block at each depth: where its statements begin that are in no part */
	int values;              /* depth of the block whose v the statements use; 0: they are in none */
	unsigned n_part;
	struct text part;        /* functions that run() calls */
};

/* ---- expressions ---- */

static void node_add(struct printer *p, const uint64_t *word)
{
	char takes[OPS_MAX_ARGS];
	uint32_t n = (uint32_t)ops_takes(*word, takes), child = NONE;

	if (ARRAY_ROOM(p->node, p->cap, p->n + 1) != 0) {
		p->out->failed = true;
		return;
	}
	for (n = OPS_OP(*word) == OPS_LIST ? OPS_COUNT(*word) : n; n > 0; n--) {
		uint32_t operand = p->top;

		p->top = p->node[operand].link;
		p->node[operand].link = child;
		child = operand;
	}
	p->node[p->n] = (struct node){word, child, p->top};
	p->top = p->n++;
}

static unsigned op_of(const struct printer *p, uint32_t k)
{
	return OPS_OP(*p->node[k].word);
}

static bool is_int(const struct printer *p, uint32_t k, uint64_t v)
{
	return op_of(p, k) == OPS_INT && p->node[k].word[1] == v;
}

static void put(struct printer *p, uint32_t k, int level, char wanted);

/* "a, b, c" of the operand k and those behind it, of these kinds. */
static void put_operands(struct printer *p, uint32_t k, const char *wanted)
{
	for (; k != NONE; k = p->node[k].link) {
		if (*wanted == 'J')
			text_put(&p->line, "(int *)"); /* not const in MPICH */
		put(p, k, *wanted == 'J' ? LEVEL_UNARY : LEVEL_CHOOSE, *wanted);
		text_put(&p->line, "%s", p->node[k].link != NONE ? ", " : "");
		wanted += *wanted != '\0';
	}
}

/* SKEL_SLOT(slot), the first buffer of a request, is 2 + 2 * slot. */
static bool put_slot(struct printer *p, uint32_t a, uint32_t b)
{
	if (!is_int(p, a, 2) || op_of(p, b) != OPS_MUL || !is_int(p, p->node[b].child, 2))
		return false;
	text_put(&p->line, "SKEL_SLOT(");
	put(p, p->node[p->node[b].child].link, LEVEL_CHOOSE, 'i');
	text_put(&p->line, ")");
	return true;
}

static void put_binary(struct printer *p, uint32_t k, int level, bool wide)
{
	uint32_t a = p->node[k].child, b = p->node[a].link;
	unsigned op = op_of(p, k);
	int own = binary[op].level, left = own, right = own + 1;
	bool cast_first = wide && op_of(p, a) == OPS_INT, cast = wide && !cast_first;
	bool braces = own < level;

	if (op == OPS_ADD && put_slot(p, a, b))
		return;
	if (op == OPS_OROR) { /* compilers warn of && in || without parentheses */
		left = op_of(p, a) == OPS_ANDAND ? LEVEL_AND + 1 : own;
		right = LEVEL_AND + 1;
	}
	text_put(&p->line, "%s%s", braces ? "(" : "", cast_first ? "(int64_t)" : "");
	put(p, a, cast_first ? LEVEL_UNARY : left, 0);
	text_put(&p->line, " %s %s", binary[op].sign, cast ? "(int64_t)" : "");
	if (op_of(p, a) == OPS_ELEMENT && ops_array_kind(p->file->array[OPS_ARG(*p->node[a].word)]) == 'B' &&
	    op_of(p, b) == OPS_INT)
		text_put(&p->line, "'%c'", (char)p->node[b].word[1]);
	else
		put(p, b, cast ? LEVEL_UNARY : right, 0);
	text_put(&p->line, "%s", braces ? ")" : "");
}

static void put_choice(struct printer *p, uint32_t k, int level, char wanted)
{
	uint32_t condition = p->node[k].child, yes = p->node[condition].link, no = p->node[yes].link;

	text_put(&p->line, "%s", level > LEVEL_CHOOSE ? "(" : "");
	put(p, condition, LEVEL_OR, 0);
	text_put(&p->line, " ? ");
	put(p, yes, LEVEL_CHOOSE, wanted);
	text_put(&p->line, " : ");
	put(p, no, LEVEL_CHOOSE, wanted);
	text_put(&p->line, "%s", level > LEVEL_CHOOSE ? ")" : "");
}

/* With as many decimals as the value has. */
static void put_real(struct text *out, uint64_t word)
{
	int decimals = 1;
	double v;

	memcpy(&v, &word, sizeof v);
	while (decimals < 9 && code_rounded(v, decimals) != v)
		decimals++;
	text_put(out, "%.*f", decimals, v);
}

static int64_t array_value(const struct ops_file *f, uint32_t place, uint64_t i)
{
	switch (ops_array_kind(f->array[place])) {
	case 'A':
		return ((const int64_t *)f->values[place])[i];
	case 'I':
		return ((const int32_t *)f->values[place])[i];
	default:
		return ((const char *)f->values[place])[i];
	}
}

static void put_array(struct printer *p, uint32_t place)
{
	char kind = ops_array_kind(p->file->array[place]);
	uint64_t n = ops_array_length(p->file->array[place]);

	if (place < p->n_named) {
		text_put(&p->line, "%s%u", kind == 'B' ? "ranks" : "array", place);
		return;
	}
	text_put(&p->line, "(const %s[]){", kind == 'A' ? "MPI_Aint" : "int");
	for (uint64_t i = 0; i < n; i++)
		text_put(&p->line, "%s%lld", i > 0 ? ", " : "", (long long)array_value(p->file, place, i));
	text_put(&p->line, "}");
}

/* "before", the only operand, "after". */
static void put_around(struct printer *p, uint32_t k, const char *before, const char *name, int level, const char *after)
{
	text_put(&p->line, "%s%s%s", before, name, level == LEVEL_CHOOSE ? "[" : "");
	put(p, p->node[k].child, level, 0);
	text_put(&p->line, "%s", after);
}

static void put(struct printer *p, uint32_t k, int level, char wanted)
{
	uint64_t w = *p->node[k].word;
	uint32_t arg = OPS_ARG(w);

	switch (OPS_OP(w)) {
	case OPS_INT:
		text_put(&p->line, "%llu", (unsigned long long)p->node[k].word[1]);
		break;
	case OPS_REAL:
		put_real(&p->line, p->node[k].word[1]);
		break;
	case OPS_RANK:
		text_put(&p->line, "rank");
		break;
	case OPS_SIZE:
		text_put(&p->line, "size");
		break;
	case OPS_NAMED:
		text_put(&p->line, "%s", ops_constant[arg].name);
		break;
	case OPS_ARRAY:
		put_array(p, arg);
		break;
	case OPS_VALUE:
		text_put(&p->line, "v[%u]", arg);
		break;
	case OPS_ELEMENT:
		put_array(p, arg);
		put_around(p, k, "", "", LEVEL_CHOOSE, "]");
		break;
	case OPS_HANDLE:
	case OPS_PLACE:
		put_around(p, k, OPS_OP(w) == OPS_PLACE ? "&" : "", tables[arg], LEVEL_CHOOSE, "]");
		break;
	case OPS_TO_INT:
		put_around(p, k, "(int)", "", LEVEL_UNARY, "");
		break;
	case OPS_NEGATE:
	case OPS_NOT:
		put_around(p, k, OPS_OP(w) == OPS_NOT ? "!" : "-", "", LEVEL_UNARY, "");
		break;
	case OPS_CHOOSE:
		put_choice(p, k, level, wanted);
		break;
	case OPS_LIST:
		text_put(&p->line, "(const MPI_Datatype[]){");
		put_operands(p, p->node[k].child, "");
		text_put(&p->line, "}");
		break;
	case OPS_CALL:
		text_put(&p->line, "%s(", ops_function[arg].name);
		put_operands(p, p->node[k].child, ops_function[arg].takes);
		text_put(&p->line, ")");
		break;
	default:
		put_binary(p, k, level, OPS_OP(w) == OPS_MUL && wanted == 'l');
		break;
	}
}

/* ---- statements ---- */

/* Lines of comment before the word i. */
static void comments_before(struct printer *p, size_t i)
{
	const struct code *c = p->code;

	for (; p->n_said < c->n_comment && c->comment[p->n_said].at <= i; p->n_said++) {
		const char *text = c->text.data + c->comment[p->n_said].text;

		if (*text == '\0')
			text_line(p->out, 0, "%s", "");
		else
			text_line(p->out, p->depth, "/* %s */", text);
	}
}

/* The statement of p->line, and a comment beside it, if there is one of the word i. */
static void put_line(struct printer *p, size_t i)
{
	const struct code *c = p->code;

	text_reset(&p->end);
	text_put(&p->end, ";");
	if (p->n_said < c->n_comment && c->comment[p->n_said].at == i + 1 && c->comment[p->n_said].beside)
		text_put(&p->end, " /* %s */", c->text.data + c->comment[p->n_said++].text);
	text_put_broken(p->out, p->depth, text_get(&p->line), text_get(&p->end));
}

/* The head of a loop, whose count or call is on the stack. */
static void put_loop(struct printer *p, uint64_t w)
{
	if (OPS_OP(w) == OPS_LOOP) {
		put(p, p->top, LEVEL_CHOOSE, 0);
		text_line(p->out, p->depth, "for (%s; skel_next(%u);) {", text_get(&p->line), OPS_ARG(w));
	} else {
		put(p, p->top, LEVEL_RIGHT_OF_LESS, 0);
		text_line(p->out, p->depth, "for (long i%d = 0; i%d < %s; i%d++) {", p->depth, p->depth, text_get(&p->line),
			  p->depth);
	}
	p->depth++;
}

static void put_statement(struct printer *p, size_t i)
{
	uint64_t w = p->file->code[i];

	text_reset(&p->line);
	switch (OPS_OP(w)) {
	case OPS_DO:
		put(p, p->top, LEVEL_CHOOSE, 0);
		put_line(p, i);
		break;
	case OPS_SET_TYPE:
		text_put(&p->line, "type[");
		put(p, p->node[p->top].link, LEVEL_CHOOSE, 0);
		text_put(&p->line, "] = ");
		put(p, p->top, LEVEL_CHOOSE, 0);
		put_line(p, i);
		break;
	case OPS_IF:
		text_put(&p->line, "if (");
		put(p, p->top, LEVEL_CHOOSE, 0);
		text_put_broken(p->out, p->depth++, text_get(&p->line), ") {");
		break;
	case OPS_ELSE:
		p->depth++;
		break;
	case OPS_VALUES:
		text_line(p->out, p->depth++, "{");
		text_line(p->out, p->depth, "const int64_t *v = skel_values(%u);\n", OPS_ARG(w));
		break;
	case OPS_END:
		w = i + 1 < p->file->n_code ? p->file->code[i + 1] : OPS_END;
		text_line(p->out, --p->depth, OPS_OP(w) == OPS_ELSE ? "} else {" : "}");
		break;
	default:
		put_loop(p, w);
		break;
	}
	p->n = 0;
	p->top = NONE;
}

/* Lines with `depth` tabs less. */
static void put_shifted(struct text *to, const char *from, int depth)
{
	while (*from != '\0') {
		int length = (int)strcspn(from, "\n");
		int tabs = (int)strspn(from, "\t");

		tabs = tabs < depth ? tabs : depth;
		text_put(to, "%.*s\n", length - tabs, from + tabs);
		from += length + (from[length] == '\n');
	}
}

/* The statements of the present block, if they are long, as a function. An else must follow its block. */
static void part_cut(struct printer *p, size_t next)
{
	size_t *begin = &p->begin[p->depth];
	bool before_else = next < p->file->n_code && OPS_OP(p->file->code[next]) == OPS_ELSE;

	if (p->values > 0 || before_else || p->out->failed || p->out->len - *begin < PART_BYTES)
		return;
	text_put(&p->part, "static __attribute__((noinline)) void part%u(int rank, int size)\n{\n\t(void)rank;\n\t(void)size;\n",
		 p->n_part);
	put_shifted(&p->part, p->out->data + *begin, p->depth - 1);
	text_put(&p->part, "}\n\n");
	p->out->len = *begin;
	text_line(p->out, p->depth, "part%u(rank, size);", p->n_part++);
	*begin = p->out->len;
}

/* After a statement: it began a block, or is whole. */
static void statement_end(struct printer *p, size_t i)
{
	unsigned op = OPS_OP(p->file->code[i]);

	if (op == OPS_VALUES && p->values == 0)
		p->values = p->depth;
	if (p->depth < p->values)
		p->values = 0;
	if (op == OPS_DO || op == OPS_SET_TYPE || op == OPS_END)
		part_cut(p, i + 1);
	else
		p->begin[p->depth] = p->out->len;
}

static void put_body(struct printer *p)
{
	const uint64_t *code = p->file->code;
	size_t begin = 0; /* of the statement */

	for (size_t i = 0; i < p->file->n_code && !p->out->failed; i++) {
		unsigned op = OPS_OP(code[i]);

		if (op <= OPS_LAST_EXPRESSION) {
			node_add(p, &code[i]);
			i += op == OPS_INT || op == OPS_REAL;
			continue;
		}
		comments_before(p, begin);
		put_statement(p, i);
		statement_end(p, i);
		begin = i + 1;
	}
	comments_before(p, begin);
}

static void put_run(struct printer *p, struct text *out)
{
	put_body(p);
	text_put(out, "%sstatic void run(int rank, int size)\n{\n\t(void)rank;\n\t(void)size;\n%s}\n\n", text_get(&p->part),
		 text_get(p->out));
	out->failed |= p->part.failed || p->out->failed;
	text_free(&p->part);
	text_free(p->out);
}

/* ---- declarations ---- */

static double real_field(const struct ops_file *f, enum ops_field field)
{
	double v;

	memcpy(&v, &f->word[OPS_H_FIELDS + field], sizeof v);
	return v;
}

static void put_fields(const struct ops_file *f, struct text *out)
{
	const uint64_t *field = f->word + OPS_H_FIELDS;
	double rounds_s = real_field(f, OPS_F_rounds_s);

#define FIELD(name) text_put(out, "\t." #name " = %llu,\n", (unsigned long long)field[OPS_F_##name])
	text_put(out, "static const struct skel_program program = {\n\t.name = \"%s\",\n", f->name);
	FIELD(n_ranks);
	FIELD(n_loops);
	FIELD(n_requests);
	FIELD(n_comms);
	FIELD(n_types);
	if (field[OPS_F_n_wins] > 0) {
		FIELD(n_wins);
		FIELD(rma_bytes);
	}
	if (field[OPS_F_n_files] > 0)
		FIELD(n_files);
	text_put(out, "\t.data = skel_data_begin,\n\t.data_end = skel_data_end,\n\t.data_hash = 0x%016llx,\n",
		 (unsigned long long)f->data[7]);
	text_put(out, "\t.traced_s = %.9f,\n\t.confidence = %.4f,\n\t.events = %.0f,\n",
		 real_field(f, OPS_F_traced_s), real_field(f, OPS_F_confidence), real_field(f, OPS_F_events));
	FIELD(bsend_bytes);
	if (rounds_s > 0)
		text_put(out, "\t.rounds_s = %.3f,\n", rounds_s);
	text_put(out, "};\n\n");
#undef FIELD
}

/* Lines that fit. */
static void put_ints(const struct ops_file *f, uint32_t place, struct text *out)
{
	uint64_t n = ops_array_length(f->array[place]);
	size_t line = out->len;

	text_put(out, "static const int array%u[] = {", place);
	for (uint64_t i = 0; i < n; i++) {
		text_put(out, "%s%lld", i > 0 ? ", " : "", (long long)array_value(f, place, i));
		if (out->len - line > 95 && i + 1 < n) {
			text_put(out, ",\n\t%s", "");
			line = out->len;
			i++;
			text_put(out, "%lld", (long long)array_value(f, place, i));
		}
	}
	text_put(out, "};\n");
}

static void put_ranks(const struct ops_file *f, uint32_t place, struct text *out)
{
	const char *set = (const char *)f->values[place];
	uint64_t n = ops_array_length(f->array[place]);

	text_put(out, "/* which ranks: '1' at their places */\nstatic const char ranks%u[] = \"", place);
	for (uint64_t i = 0; i < n; i++)
		text_put(out, "%c%s", set[i], i % 100 == 99 && i + 1 < n ? "\"\n\t\"" : "");
	text_put(out, "\";\n");
}

static void put_main(const struct ops_file *f, struct text *out)
{
	static const char *const names[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED",
					    "MPI_THREAD_MULTIPLE"};
	uint64_t level = f->word[OPS_H_FIELDS + OPS_F_thread_level];

	text_put(out, "int main(int argc, char **argv)\n{\n");
	if (level > 0)
		text_put(out, "\tint level;\n\n");
	text_put(out, "\tskel_start();\n");
	if (level > 0)
		text_put(out, "\tMPI_Init_thread(&argc, &argv, %s, &level);\n", names[level]);
	else
		text_put(out, "\tMPI_Init(&argc, &argv);\n");
	text_put(out, "\tskel_begin(argc, argv, &program);\n");
	if (real_field(f, OPS_F_rounds_s) > 0)
		text_put(out, "\tdo\n\t\trun(skel_rank, skel_size);\n\twhile (skel_again());\n");
	else
		text_put(out, "\trun(skel_rank, skel_size);\n");
	text_put(out, "\tskel_end();\n\tMPI_Finalize();\n\treturn skel_status();\n}\n");
}

void print_c(const struct ops_file *file, const struct program *program, struct text *out)
{
	struct text body = {.len = 0};
	struct printer p = {.file = file, .code = &program->code, .n_named = program->n_named, .top = NONE, .depth = 1,
			    .out = &body};

	put_fields(file, out);
	for (uint32_t i = 0; i < p.n_named; i++)
		if (ops_array_kind(file->array[i]) == 'B')
			put_ranks(file, i, out);
		else
			put_ints(file, i, out);
	if (p.n_named > 0)
		text_put(out, "\n");
	put_run(&p, out);
	put_main(file, out);
	out->failed |= p.line.failed || p.end.failed;
	free(p.node);
	text_free(&p.line);
	text_free(&p.end);
}
