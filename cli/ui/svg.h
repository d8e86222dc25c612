/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plots as SVG inside a page: scales, axes, text that cannot become markup. Colours are classes of the page's style sheet,
 * so that light, dark and paper need one drawing.
 */
#ifndef PRECEDENT_CLI_SVG_H
#define PRECEDENT_CLI_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Text for element content and quoted attributes, clean (common/clean.h). */
void svg_text(FILE *out, const char *text);

/* From values to pixels. Logarithmic scales want lo > 0; values outside are put at the nearer end. */
struct svg_scale {
	double lo, hi;
	bool log;
	double from, to; /* pixels of lo and hi */
};
double svg_at(const struct svg_scale *s, double value);

/* The area that is drawn in, and its two scales. */
struct svg_plot {
	FILE *out;
	struct svg_scale x, y;
};

/* A mark on an axis: a grid line and its label. */
void svg_tick_x(const struct svg_plot *p, double value, const char *label);
void svg_tick_y(const struct svg_plot *p, double value, const char *label);
/* Names of the axes and the frame. */
void svg_axes(const struct svg_plot *p, const char *x_name, const char *y_name);

/* Begins a <figure> with its heading, and an <svg> of that size. The name and the description are for screen readers.
 * svg_end closes both, with a caption below (NULL: none). id: unique in the page. */
void svg_begin(FILE *out, const char *id, double width, double height, const char *heading, const char *description);
void svg_end(FILE *out, const char *caption);

/* A line of a legend inside the plot: a stroke or a mark of that class, and its name. */
void svg_legend(FILE *out, double x, double y, const char *class, bool stroke, const char *name);

#endif
