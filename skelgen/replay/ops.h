/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * skel.ops: the statements of skel.c for machines without a compiler, as 64-bit words in the byte order of the machine.
 *
 *     header        OPS_HEAD words: magic, version, words in all, hash of all words (with 0 in its place), then the
 *                   numbers of words or entries of the sections, and the fields of struct skel_program
 *     name          of the program, bytes, padded with zeros; the last byte is 0
 *     arrays        one word each: kind 'I', 'A' or 'B' (32-bit, 64-bit integers, bytes) in the low byte, length above
 *     values        of the arrays, one after the other, each padded to whole words
 *     code          instructions
 *     data          copy of skel.c.data
 *
 * An instruction is one word: operation (bits 0-7), n (8-31), argument (32-63). The value follows OPS_INT and OPS_REAL.
 * Expressions are in postfix order. The next statement takes the values that the expressions leave on the stack. Loops
 * and conditions begin a block, and OPS_END ends the block.
 *
 * This file and check.c need no MPI. A user wrote the file skel.ops, so every field is checked before use.
 */
#ifndef PRECEDENT_SKELGEN_REPLAY_OPS_H
#define PRECEDENT_SKELGEN_REPLAY_OPS_H

#include <stddef.h>
#include <stdint.h>

#define OPS_MAGIC     0x00001a53504f5350ull
#define OPS_VERSION   7
#define OPS_MAX_WORDS ((uint64_t)1 << 27) /* 1 GiB */
#define OPS_MAX_DEPTH 64                  /* of expressions, and of blocks */
#define OPS_MAX_ARGS  16
#define OPS_MAX_LIST  (1u << 20)

enum ops_head {
	OPS_H_MAGIC, OPS_H_VERSION, OPS_H_WORDS, OPS_H_HASH,
	OPS_H_NAME, OPS_H_ARRAYS, OPS_H_VALUES, OPS_H_CODE, OPS_H_DATA, /* words (arrays: entries, one word each) */
	OPS_H_FIELDS = 16,
	OPS_HEAD = 48
};

/* Fields of struct skel_program by their places from OPS_H_FIELDS on. */
#define OPS_PROGRAM(INT, REAL)                                                                                         \
	INT(n_ranks) INT(n_loops) INT(n_requests) INT(n_comms) INT(n_types) INT(n_wins) INT(n_files) INT(bsend_bytes)  \
	INT(rma_bytes) REAL(traced_s) REAL(confidence) REAL(events) REAL(rounds_s)
#define OPS_FIELD(name) OPS_F_##name,
enum ops_field { OPS_PROGRAM(OPS_FIELD, OPS_FIELD) OPS_F_thread_level, OPS_F_N };
#undef OPS_FIELD

/* In parentheses: kinds of the operands on the stack. After the arrow: kind of the result. */
enum ops_op {
	OPS_INT,     /* -> l; the next word */
	OPS_REAL,    /* -> d; the next word */
	OPS_RANK,    /* -> i */
	OPS_SIZE,    /* -> i */
	OPS_NAMED,   /* -> kind of constant `argument`, see ops_constant */
	OPS_ARRAY,   /* -> I or A: array `argument` */
	OPS_ELEMENT, /* (i) -> l: element of array `argument` */
	OPS_VALUE,   /* -> l: value `argument` of the enclosing OPS_VALUES */
	OPS_HANDLE,  /* (i) -> the handle there in table `argument`, see enum ops_table */
	OPS_PLACE,   /* (i) -> pointer to it */
	OPS_TO_INT,  /* (l) -> i: cut to 32 bits as in C */
	OPS_NEGATE, OPS_NOT, /* (l) -> l */
	OPS_ADD, OPS_SUB, OPS_MUL, OPS_DIV, OPS_MOD, OPS_XOR, OPS_OR, /* (l l) -> l */
	OPS_LT, OPS_LE, OPS_GT, OPS_GE, OPS_EQ, OPS_NE, OPS_ANDAND, OPS_OROR, /* (l l) -> l */
	OPS_CHOOSE,  /* (l x x) -> x */
	OPS_LIST,    /* (n times t) -> Y */
	OPS_CALL,    /* (n parameters) -> what function `argument` gives */
	OPS_LAST_EXPRESSION = OPS_CALL,
	OPS_DO,      /* (x) */
	OPS_SET_TYPE, /* (i t): type[i] = t */
	OPS_IF,      /* (l) block, OPS_ELSE may follow directly */
	OPS_ELSE,    /* block */
	OPS_FOR,     /* (l) block: as many times */
	OPS_LOOP,    /* (v: call of skel_loop or skel_loop_first with loop `argument`) block */
	OPS_VALUES,  /* block: with the values of varying call `argument` */
	OPS_END,
	OPS_N
};

enum ops_table { OPS_COMM, OPS_TYPE, OPS_WIN, OPS_REQ, OPS_MESSAGE, OPS_TABLE_N };

#define OPS_WORD(op, n, arg)  ((uint64_t)(op) | (uint64_t)(n) << 8 | (uint64_t)(arg) << 32)
#define OPS_OP(w)             ((unsigned)((w) & 0xff))
#define OPS_COUNT(w)          ((uint32_t)((w) >> 8 & 0xffffff))
#define OPS_ARG(w)            ((uint32_t)((w) >> 32))

/* A function: name, kind of its value ('v': none), kinds of its parameters. */
struct ops_function {
	const char *name;
	char gives;
	char takes[OPS_MAX_ARGS];
};
extern const struct ops_function ops_function[];
extern const uint32_t ops_n_function;

struct ops_constant {
	const char *name;
	char kind;
};
extern const struct ops_constant ops_constant[];
extern const uint32_t ops_n_constant;

/* Kinds of the handles in a table, and of pointers to them. */
extern const char ops_table_kind[OPS_TABLE_N], ops_place_kind[OPS_TABLE_N];

/* May a value of kind `is` be used where `wanted` is? */
int ops_kind_fits(char is, char wanted);
/* What the operation w takes: kinds of its operands, '*' any; their number. Lists and calls say it by w. */
int ops_takes(uint64_t w, char takes[OPS_MAX_ARGS]);

/* A file in memory, checked: where its sections are. */
struct ops_file {
	const uint64_t *word;
	uint64_t n_word;
	const char *name;
	const uint64_t *array;
	const uint64_t **values; /* of each array; malloced */
	uint64_t n_array;
	const uint64_t *code;
	uint64_t n_code;
	const uint64_t *data;
	uint64_t n_data;
	uint64_t n_node;         /* expressions in the code */
	uint64_t n_statement;
};

static inline char ops_array_kind(uint64_t entry)
{
	return (char)(entry & 0xff);
}
static inline uint64_t ops_array_length(uint64_t entry)
{
	return entry >> 8;
}

/* Of all words with 0 in the hash's place (XXH3, 64 bits). n_word is at least OPS_HEAD; 0 without memory. */
uint64_t ops_hash(const uint64_t *word, uint64_t n_word);
/* 0; -1 with the reason when the words are no such file or one that is damaged. They are borrowed. */
int ops_check(const uint64_t *word, uint64_t n_word, struct ops_file *out, const char **why);
void ops_file_free(struct ops_file *f);

#endif
