/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules in two halves that two threads can run one after the other. In the first are those that put composite structures
 * together from simple events and do nothing else; in the second those that look at these, and all others. Nothing goes
 * back, since rules make no simple events. That the order of what follows from an event does not change, a kind of simple
 * event is looked at by rules of one half only: then all that the second half gets of an event is made from the event
 * itself, in the order of the rules, and comes before what follows from it. And what it is made of belongs to it alone, so
 * that it can be given away with it.
 */
#include "expert/compile/plan.h"


static bool makes_text(const struct expr *e)
{
	if (!e)
		return false;
	if (e->kind == EX_TEMPLATE || makes_text(e->a) || makes_text(e->b) || makes_text(e->where))
		return true;
	for (uint8_t i = 0; i < e->n_arg; i++)
		if (makes_text(e->arg[i]))
			return true;
	return false;
}

/* Its strings are those of the second half, which makes and tells them. */
static bool rule_makes_text(const struct rules_rule *u)
{
	bool text = makes_text(u->where);

	for (uint32_t i = 0; i < u->n_pattern; i++) {
		text |= makes_text(u->pattern[i].uses) || makes_text(u->pattern[i].all);
		for (uint32_t n = 0; n < u->pattern[i].n_by; n++)
			text |= makes_text(u->pattern[i].by[n]);
	}
	for (uint32_t i = 0; i < u->n_action; i++)
		for (uint32_t n = 0; n < u->action[i].n_set; n++)
			text |= makes_text(u->action[i].set[n].value);
	return text;
}

/* Simple events, which belong to nothing else then, to composite structures, and nothing else. */
static bool only_composes(const struct rules *r, const struct rules_rule *u)
{
	for (uint32_t i = 0; i < u->n_pattern; i++)
		if (!u->pattern[i].waits || u->pattern[i].shared || !r->type[u->pattern[i].type]->builtin || r->type[u->pattern[i].type]->category != SC_EVENT)
			return false;
	for (uint32_t i = 0; i < u->n_action; i++)
		if (u->action[i].kind != AK_ASSERT || r->type[u->action[i].type]->builtin ||
		    r->type[u->action[i].type]->category == SC_OBSERVATION)
			return false;
	return !rule_makes_text(u);
}

bool plan_split(const struct rules *r, bool *first)
{
	bool second[RULES_MAX_STRUCTS] = {false}; /* simple events that rules of the second half look at */
	bool changed = true, any = false;

	for (uint32_t i = 0; i < r->n_rule; i++) {
		first[i] = only_composes(r, r->rule[i]);
		for (uint32_t a = 0; a < r->rule[i]->n_action; a++)
			if (r->rule[i]->action[a].kind == AK_ASSERT && r->type[r->rule[i]->action[a].type]->builtin)
				second[r->rule[i]->action[a].type] = true;
	}
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < r->n_rule; i++)
			for (uint32_t n = 0; n < r->rule[i]->n_pattern; n++) {
				uint32_t t = r->rule[i]->pattern[n].type;

				if (first[i] && second[t]) {
					first[i] = false;
					changed = true;
				}
				if (!first[i] && !second[t])
					second[t] = changed = true;
			}
	}
	for (uint32_t i = 0; i < r->n_rule; i++)
		any |= first[i];
	return any;
}
