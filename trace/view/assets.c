/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page's files, embedded in the program, so that no path is looked up at run time. The assembler reads them
 * from the top of the source tree, where the compiler runs.
 */
#include "trace/view/assets.h"

#define ASSET(sym, file)                                                                                               \
	__asm__(".pushsection .rodata\n"                                                                               \
		".hidden view_asset_" #sym "\n.global view_asset_" #sym "\nview_asset_" #sym ":\n"                     \
		".incbin \"trace/view/" file "\"\n.byte 0\n"                                                           \
		".popsection\n")

ASSET(page_html, "page.html");
ASSET(view_css, "view.css");
ASSET(data_js, "data.js");
ASSET(model_js, "model.js");
ASSET(paint_js, "paint.js");
ASSET(timeline_js, "timeline.js");
ASSET(card_js, "card.js");
ASSET(input_js, "input.js");
ASSET(panels_js, "panels.js");
ASSET(selftest_js, "selftest.js");
ASSET(main_js, "main.js");

const char *const view_scripts[] = {view_asset_data_js, view_asset_model_js, view_asset_paint_js,
				    view_asset_timeline_js, view_asset_card_js, view_asset_input_js,
				    view_asset_panels_js, view_asset_selftest_js, view_asset_main_js, 0};
