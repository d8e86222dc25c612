/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The class of this node: what makes two nodes run a program alike. A hash and a line for people, from the CPU model, the
 * topology (hwloc), the memory's size, the MPI library's version, kernel, firmware and microcode. Nothing in it changes from
 * boot to boot by itself.
 */
#ifndef PRECEDENT_CLI_NODE_CLASS_H
#define PRECEDENT_CLI_NODE_CLASS_H

#include "common/errbuf.h"

struct node_class {
	char hex[17];
	char text[201];
};

int node_class_here(struct node_class *out, struct errbuf *err);

#endif
