/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plots as SVG, see svg.h. Coordinates are written with one digit after the point: more would be most of the page. */
#include <math.h>

#include "cli/ui/svg.h"
#include "common/clean.h"

void svg_text(FILE *out, const char *text)
{
	uint32_t c;

	for (int len; *text; text += len) {
		c = clean_char(text, &len);
		switch (c) {
		case '&':
			fputs("&amp;", out);
			break;
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		case '\'':
			fputs("&#39;", out);
			break;
		case CLEAN_UNFIT:
			putc('?', out);
			break;
		default:
			fwrite(text, 1, (size_t)len, out);
		}
	}
}

double svg_at(const struct svg_scale *s, double value)
{
	double lo = s->lo, hi = s->hi, share;

	value = !(value > lo) ? lo : value > hi ? hi : value;
	if (s->log) {
		lo = log(lo);
		hi = log(hi);
		value = log(value);
	}
	share = hi > lo ? (value - lo) / (hi - lo) : 0.5;
	return s->from + share * (s->to - s->from);
}

void svg_tick_x(const struct svg_plot *p, double value, const char *label)
{
	double x = svg_at(&p->x, value);

	fprintf(p->out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/><text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", x,
		p->y.to, p->y.from, x, p->y.from + 16);
	svg_text(p->out, label);
	fputs("</text>\n", p->out);
}

void svg_tick_y(const struct svg_plot *p, double value, const char *label)
{
	double y = svg_at(&p->y, value);

	fprintf(p->out, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/><text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">",
		p->x.from, y, p->x.to, p->x.from - 7, y + 4);
	svg_text(p->out, label);
	fputs("</text>\n", p->out);
}

void svg_axes(const struct svg_plot *p, const char *x_name, const char *y_name)
{
	fprintf(p->out, "<path class=\"axis\" d=\"M%.1f %.1fV%.1fH%.1f\"/>", p->x.from, p->y.to, p->y.from, p->x.to);
	fprintf(p->out, "<text class=\"name\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", p->x.to, p->y.from + 34);
	svg_text(p->out, x_name);
	fprintf(p->out, "</text><text class=\"name\" x=\"%.1f\" y=\"%.1f\">", p->x.from - 44, p->y.to - 10);
	svg_text(p->out, y_name);
	fputs("</text>\n", p->out);
}

void svg_begin(FILE *out, const char *id, double width, double height, const char *heading, const char *description)
{
	fprintf(out, "<figure>\n<h2 id=\"%s-h\">", id);
	svg_text(out, heading);
	fprintf(out,
		"</h2>\n<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-labelledby=\"%s-h\" aria-describedby=\"%s-d\">"
		"<desc id=\"%s-d\">",
		width, height, id, id, id);
	svg_text(out, description);
	fputs("</desc>\n", out);
}

void svg_end(FILE *out, const char *caption)
{
	fputs("</svg>\n", out);
	if (caption) {
		fputs("<figcaption>", out);
		svg_text(out, caption);
		fputs("</figcaption>\n", out);
	}
	fputs("</figure>\n", out);
}

void svg_legend(FILE *out, double x, double y, const char *class, bool stroke, const char *name)
{
	if (stroke)
		fprintf(out, "<path class=\"line %s\" d=\"M%.1f %.1fh22\"/>", class, x, y);
	else
		fprintf(out, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"12\" height=\"12\" rx=\"2\"/>", class, x + 5, y - 6);
	fprintf(out, "<text class=\"key\" x=\"%.1f\" y=\"%.1f\">", x + 28, y + 4);
	svg_text(out, name);
	fputs("</text>\n", out);
}
