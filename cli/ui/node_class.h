/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The class of this node: two nodes of the same class run a program alike. The class is a hash, and a line for people.
 * It is made from the CPU model, the topology (hwloc), the size of memory, the MPI library's version, kernel, firmware
 * and microcode. None of these changes from boot to boot by itself.
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
