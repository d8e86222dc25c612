/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules of a user about functions of the program: precedent-trace-rules(5) has the language. A rule is the declaration of a
 * C function and the values that a trace keeps of each call:
 *
 *     int solve(int n, const double *b, double *x, int *iterations) { n = INT(n) in, iterations = INT(*iterations) out }
 */
#ifndef PRECEDENT_CLI_OWN_RULES_H
#define PRECEDENT_CLI_OWN_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "trace/format/own_name.h"

#define OWN_RULES_FILE  (1u << 20) /* bytes */
#define OWN_RULES_MAX   256
#define OWN_PARAMS_MAX  32

struct own_value {
	char *name;
	uint32_t param;    /* number of the parameter; own_rule.n_param stands for the return value */
	bool is_pointed;   /* the value that the parameter points to */
	bool is_out;
};

struct own_rule {
	uint32_t line;
	char *name, *returns;               /* returns: type of the result */
	char *param[OWN_PARAMS_MAX];        /* declarations */
	char *param_name[OWN_PARAMS_MAX];   /* names in these */
	uint32_t n_param;
	struct own_value value[2 * TRACE_OWN_VALUES];
	uint32_t n_value;
};

struct own_rules {
	char *file;
	struct own_rule *rule;
	uint32_t n, cap;
};

/* file: the name for messages. Returns 0, or -1 with "FILE:LINE: reason". */
int own_rules_parse(const char *file, const char *text, size_t len, struct own_rules *out, struct errbuf *err);
int own_rules_read(const char *file, struct own_rules *out, struct errbuf *err);
void own_rules_free(struct own_rules *r);
/* The name of the rule's function in a trace: trace/format/own_name.h. Returns out. */
const char *own_rule_text(const struct own_rule *r, char *out, size_t size);

#endif
