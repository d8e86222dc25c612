/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The structures that every rule base has, written in the language itself. They are the simple events of a trace, and
 * the observation that `declare problem` makes. precedent-rules(5) has their meaning.
 */
#ifndef PRECEDENT_EXPERT_BUILTIN_H
#define PRECEDENT_EXPERT_BUILTIN_H

extern const char builtin_types[];

#endif
