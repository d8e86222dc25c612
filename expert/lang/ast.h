/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A rule base as the parser builds it and the checker completes it. Both languages become the same two things: types of
 * structures, and rules. A rule is a join of patterns under a condition, with actions.
 *
 *   declare composite event T member(...)   the type T; a rule whose patterns wait, and that asserts T
 *   declare problem for T                   a rule of one pattern that asserts the observation `problem`
 *   defstruct, defrule                      unchanged
 *
 * Everything lies in the memory of the rule base. Sources, by A. V. Dergunov, in Russian: the paper on the
 * expert method of Performance Expert, sections 2.5 and 2.6 (`declare`); "A declarative approach to automating the
 * detection of causes of performance loss of MPI applications" (`defstruct`, `defrule`). His thesis has both: "Models,
 * methods and means of knowledge representation to raise the performance of MPI applications", Nizhny Novgorod, 2012.
 */
#ifndef PRECEDENT_EXPERT_AST_H
#define PRECEDENT_EXPERT_AST_H

#include <stdbool.h>
#include <stdint.h>

#define RULES_MAX_PATTERNS   8     /* structures that a rule joins */
#define RULES_MAX_PARAMS     80    /* of a structure; function_call has those of all functions */
#define RULES_MAX_RULES      4096
#define RULES_MAX_STRUCTS    1024
#define RULES_MAX_DEPTH      128   /* of nested expressions */
#define RULES_MAX_ACTIONS    16    /* of a rule */
#define RULES_MAX_ARGS       8     /* of a function */
#define RULES_MAX_NESTED     8     /* functions over a group inside of another one */
#define RULES_MAX_NAME       128
#define RULES_MAX_FILE       (1u << 20)
#define RULES_MAX_FILES      64
#define RULES_MAX_INCLUDES   16    /* files including files */
#define RULES_MAX_MEMORY     (64u << 20)

/* int and time are the same to each other: a time is an integer number of nanoseconds that is shown as a time. */
enum rules_type { RT_INT, RT_TIME, RT_DOUBLE, RT_BOOLEAN, RT_STRING, RT_N };

/* What every structure has without a declaration, written with an @. Of a structure that a rule made: the earliest start
 * and the latest finish of those it was made of, the rest of the first of them. */
enum rules_attr { RA_START, RA_FINISH, RA_RANK, RA_SITE, RA_FUNCTION, RA_EVENT, RA_N };

struct rules_pos {
	uint32_t file, line, col;
};

enum expr_kind {
	EX_INT, EX_DOUBLE, EX_BOOLEAN, EX_STRING, /* constants */
	EX_NAME,     /* of a constant, or of a parameter of the only pattern, until it is checked */
	EX_FIELD,    /* parameter or attribute of a pattern */
	EX_NOT, EX_NEGATE,
	EX_OR, EX_AND, EX_EQ, EX_NE, EX_LT, EX_LE, EX_GT, EX_GE, EX_ADD, EX_SUB, EX_MUL, EX_DIV, EX_MOD,
	EX_CALL,     /* function; over a group: of its members */
	EX_TEMPLATE, /* pieces of text, put together */
	EX_CONVERT   /* integer to double */
};

enum expr_fn {
	EF_MIN, EF_MAX, EF_ABS, EF_INT, EF_TIME, EF_DOUBLE,
	/* over the members of a group */
	EF_G_MIN, EF_G_MAX, EF_G_SUM, EF_G_MEAN, EF_G_COUNT, EF_G_AT_MIN, EF_G_AT_MAX, EF_N
};

struct expr {
	uint8_t kind, type, fn;
	bool attribute;       /* EX_FIELD: was written with an @ */
	bool in_parens;
	uint8_t n_arg;
	uint8_t pattern;      /* EX_FIELD: of the rule */
	uint16_t slot;        /* EX_FIELD: of the structure, attributes first */
	struct rules_pos pos;
	const char *name, *member;  /* EX_NAME: name; EX_FIELD: name.member; EX_CALL: name */
	union {
		int64_t integer;    /* EX_INT, EX_BOOLEAN; EX_STRING: number of the string */
		double real;
	} v;
	struct expr *a, *b;         /* operands */
	struct expr **arg;          /* EX_CALL, EX_TEMPLATE */
	struct expr *where;         /* EX_CALL over a group: only of the members of which this holds */
};

enum struct_category { SC_EVENT, SC_STATE, SC_OBSERVATION };

struct rules_param {
	const char *name;
	uint8_t type;
	bool optional;           /* need not be given: 0, false or "" then */
	struct rules_pos pos;
};

struct rules_struct {
	const char *name, *comment;
	uint8_t category;
	bool composite;          /* its parameters are those of its rule */
	bool builtin;
	uint32_t rule;           /* of a composite */
	uint32_t id;
	struct rules_param *param;
	uint32_t n_param;
	struct rules_pos pos;
};

struct rules_pattern {
	const char *name, *type_name;
	struct rules_pos pos;
	uint32_t type;           /* of the structure */
	bool waits;              /* a member: waits for the others beyond its own event */
	bool shared;
	struct expr *uses;       /* shared(N): by that many, then it no longer waits; or NULL */
	struct expr *all;        /* of a group: how many belong to it; else NULL */
	struct expr **by;        /* ... those of which these are equal */
	uint32_t n_by;
};

enum action_kind { AK_ASSERT, AK_RETRACT, AK_MODIFY };

struct rules_set {
	const char *name;
	uint16_t slot;           /* of the structure */
	struct expr *value;
	struct rules_pos pos;
};

struct rules_action {
	uint8_t kind;
	struct rules_pos pos;
	const char *name;        /* AK_ASSERT: of the structure; else of the pattern */
	uint32_t type;           /* AK_ASSERT */
	uint8_t pattern;         /* else */
	struct rules_set *set;
	uint32_t n_set;
};

enum rule_form { RF_RULE, RF_COMPOSITE, RF_PROBLEM };

struct rules_rule {
	const char *comment;     /* or the name of the composite event or problem, for messages */
	uint8_t form;
	struct rules_pos pos;
	struct rules_pattern *pattern;
	uint32_t n_pattern;
	struct expr *where;      /* or NULL */
	struct rules_action *action;
	uint32_t n_action;
};

#endif
