/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of functions by address, against those that libdw finds by looking through all symbols. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/ui/symbols.h"
#include "tests/unit/synthetic.h"

#define ADDRESSES 2000

static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
					 .find_debuginfo = dwfl_standard_find_debuginfo,
					 .section_address = dwfl_offline_section_address};

/* A tenth of the addresses lie anywhere from the first function to the last, the others in a function. */
static GElf_Addr any_address(Dwfl_Module *mod, uint64_t *random)
{
	int n = dwfl_module_getsymtab(mod);
	GElf_Addr begin[2] = {0, 0}, at;
	GElf_Word section;
	GElf_Sym sym;

	for (int i = 0; i < 2;) {
		int any = (int)(syn_random(random) % (uint64_t)n);
		const char *name = dwfl_module_getsym_info(mod, any, &sym, &at, &section, NULL, NULL);

		if (name != NULL && section != SHN_UNDEF && GELF_ST_TYPE(sym.st_info) == STT_FUNC)
			begin[i++] = at + (sym.st_size > 0 ? syn_random(random) % sym.st_size : 0);
	}
	if (syn_random(random) % 10 > 0)
		return begin[0];
	at = begin[0] < begin[1] ? begin[1] - begin[0] : begin[0] - begin[1];
	return (begin[0] < begin[1] ? begin[0] : begin[1]) + syn_random(random) % (at + 1);
}

static void compare(const char *path)
{
	Dwfl *dwfl = dwfl_begin(&callbacks);
	struct symbols *symbols;
	Dwfl_Module *mod;
	GElf_Addr bias;
	uint64_t random = 5;
	int named = 0;

	assert_non_null(dwfl);
	dwfl_report_begin(dwfl);
	mod = dwfl_report_offline(dwfl, path, path, -1);
	dwfl_report_end(dwfl, NULL, NULL);
	assert_non_null(mod);
	assert_non_null(dwfl_module_getelf(mod, &bias));
	symbols = symbols_read(mod);
	assert_non_null(symbols);
	for (int i = 0; i < ADDRESSES; i++) {
		GElf_Addr at = any_address(mod, &random);
		const char *name = symbols_name(symbols, mod, at), *whole = dwfl_module_addrname(mod, at);

		assert_int_equal(name == NULL, whole == NULL);
		if (name != NULL)
			assert_string_equal(name, whole);
		named += name != NULL;
	}
	assert_true(named > ADDRESSES / 2);
	symbols_free(symbols);
	dwfl_end(dwfl);
}

/* With local symbols, and those without a size. */
static void test_program(void **state)
{
	(void)state;
	compare("/proc/self/exe");
}

/* With several names for a function. */
static void test_library(void **state)
{
	Dl_info where;

	(void)state;
	assert_int_not_equal(dladdr(stdout, &where), 0);
	compare(where.dli_fname);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {cmocka_unit_test(test_program), cmocka_unit_test(test_library)};

	unsetenv("DEBUGINFOD_URLS");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
