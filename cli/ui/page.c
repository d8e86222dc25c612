/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See page.h. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cli/ui/page.h"
#include "cli/ui/util.h"

/* The style sheet, as it is in this directory; the assembler reads it from the top of the source tree. */
extern const char page_css[] __attribute__((visibility("hidden")));
__asm__(".pushsection .rodata\n.hidden page_css\n.global page_css\npage_css:\n.incbin \"cli/ui/page.css\"\n.byte 0\n.popsection\n");

int page_begin(FILE *out, const char *title, const char *heading)
{
	unsigned char seed[16];
	char nonce[33];

	if (getrandom(seed, sizeof(seed), 0) != sizeof(seed))
		return cli_fail("no random numbers: %s", strerror(errno));
	for (size_t i = 0; i < sizeof(seed); i++)
		snprintf(nonce + 2 * i, 3, "%02x", seed[i]);
	fprintf(out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'nonce-%s'; img-src data:; "
		"base-uri 'none'; form-action 'none'\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		"<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n"
		"<title>%s - Precedent</title>\n<link rel=\"icon\" href=\"data:,\">\n"
		"<style nonce=\"%s\">\n%s</style>\n</head>\n<body>\n<main>\n<h1>%s</h1>\n",
		nonce, title, nonce, page_css, heading);
	return 0;
}

void page_end(FILE *out, const char *text, const char *maker)
{
	fprintf(out,
		"</main>\n<footer>\n<p>%s</p>\n<p>Made by %s, version " PRECEDENT_VERSION ".</p>\n</footer>\n</body>\n</html>\n",
		text, maker);
}

void page_tile(FILE *out, const char *what, const char *class, const char *value, const char *more)
{
	fprintf(out, "<div><dt>%s</dt><dd%s%s%s>%s</dd><dd>", what, *class ? " class=\"" : "", class, *class ? "\"" : "", value);
	for (; *more; more++) { /* a number stays with its sign */
		if (!strncmp(more, " %", 2))
			fputs("&nbsp;", out);
		else
			putc(*more, out);
	}
	fputs("</dd></div>\n", out);
}

void page_table_begin(FILE *out, const char *title, const char *caption, const char *const *headings)
{
	fprintf(out, "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">\n<table>\n<caption><b>%s</b>%s</caption>\n<thead><tr>", title, title,
		caption);
	for (; *headings; headings++)
		fprintf(out, "<th scope=\"col\">%s</th>", *headings);
	fputs("</tr></thead>\n<tbody>\n", out);
}

void page_table_end(FILE *out)
{
	fputs("</tbody>\n</table>\n</div>\n", out);
}

int page_write(const char *path, int (*put)(FILE *out, const void *of), const void *of)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int rc;

	if (!out)
		return cli_fail("no memory");
	rc = put(out, of);
	if (fclose(out) != 0 && !rc)
		rc = cli_fail("no memory");
	if (!rc)
		rc = cli_write_file(path, text, len);
	free(text);
	return rc;
}
