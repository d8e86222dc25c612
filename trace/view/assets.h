/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page's files, embedded in the program, each with a NUL at its end. */
#ifndef PRECEDENT_TRACE_VIEW_ASSETS_H
#define PRECEDENT_TRACE_VIEW_ASSETS_H

extern const char view_asset_page_html[], view_asset_view_css[], view_asset_data_js[], view_asset_model_js[],
	view_asset_paint_js[], view_asset_timeline_js[], view_asset_card_js[], view_asset_input_js[],
	view_asset_panels_js[], view_asset_selftest_js[], view_asset_main_js[];

/* In the order in which they form one script; ends with NULL. */
extern const char *const view_scripts[];

#endif
