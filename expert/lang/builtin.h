/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The structures that every rule base has, in the language itself: the simple events that a trace gives, and the
 * observation that `declare problem` makes. precedent-rules(5) says what they mean.
 */
#ifndef PRECEDENT_EXPERT_BUILTIN_H
#define PRECEDENT_EXPERT_BUILTIN_H

extern const char builtin_types[];

#endif
