/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of a module's functions by address. libdw looks through all symbols of the module for each address: 20 ms where a
 * library has 243,000. */
#ifndef PRECEDENT_CLI_SYMBOLS_H
#define PRECEDENT_CLI_SYMBOLS_H

#include <elfutils/libdwfl.h>

struct symbols;

/* NULL: no memory, or the module has no symbols. The names are the module's. */
struct symbols *symbols_read(Dwfl_Module *mod);
void symbols_free(struct symbols *s);

/* The name that dwfl_module_addrname() gives. Global symbols that cover the address come before local ones. Of
 * several, the last to begin counts. If none covers it and some symbols have no size, dwfl_module_addrname() is
 * asked. NULL: no name. */
const char *symbols_name(const struct symbols *s, Dwfl_Module *mod, Dwarf_Addr at);

#endif
