/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules of the site by which jobs keep their limits, as precedent doctor and precedent explain tell them. See daemon.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "predictor/precedentd/daemon.h"
#include "predictor/store/limits.h"

#define NAMED_MAX 6   /* of a kind: one line for people */
#define ITEM_MAX  100 /* a longer name is cut */

static struct rules {
	char item[NAMED_MAX][ITEM_MAX];
	unsigned n;
} rules[LIMIT_RULES];

void slurm_side_rules_clear(enum limit_rule kind)
{
	rules[kind].n = 0;
}

/* There is an association for each user of an account: the same words are kept once. */
void slurm_side_rule(enum limit_rule kind, const char *fmt, ...)
{
	struct rules *r = &rules[kind];
	char item[ITEM_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(item, sizeof(item), fmt, ap);
	va_end(ap);
	for (unsigned i = 0; i < NAMED_MAX && i < r->n; i++)
		if (!strcmp(r->item[i], item))
			return;
	if (r->n < NAMED_MAX)
		memcpy(r->item[r->n], item, sizeof(item));
	r->n++;
}

static void rules_append(char *out, size_t size, const struct rules *r)
{
	for (unsigned i = 0; i < r->n && i <= NAMED_MAX; i++) {
		size_t len = strlen(out);

		snprintf(out + len, size - len, "%s%s", len && out[len - 2] != ':' ? ", " : "", i < NAMED_MAX ? r->item[i] : "...");
	}
}

const char *slurm_side_rules(void)
{
	static char text[sizeof("these jobs keep their limits: ") + 2 * (NAMED_MAX + 1) * (ITEM_MAX + 2)];

	*text = '\0';
	if (rules[RULE_ALL].n) {
		snprintf(text, sizeof(text), STORE_LIMITS_ALL);
		rules_append(text, sizeof(text), &rules[RULE_ALL]);
	} else if (rules[RULE_PARTITIONS].n + rules[RULE_ACCOUNTING].n) {
		snprintf(text, sizeof(text), "these jobs keep their limits: ");
		rules_append(text, sizeof(text), &rules[RULE_PARTITIONS]);
		rules_append(text, sizeof(text), &rules[RULE_ACCOUNTING]);
	}
	return text;
}
