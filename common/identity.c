/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exact key and family key of a job: see identity.h. Fields are hashed with their lengths, so different jobs never
 * give the same bytes. The family hash sees the same text with a mark in place of every number.
 */
#include <ctype.h>
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL /* runs in every submission */
#include <xxhash.h>

#include "common/identity.h"
#include "common/identity_print.h"
#include "common/made_up.h"

#define NUMBER_MARK "\001#"
/* longer digit runs (hashes, joined dates) are cut in their value, not in the key */
#define NUMBER_DIGITS 40
#define HEREDOCS_MAX 8
#define HEREDOC_WORD 64

#define SCRIPTS_KEPT 4
#define SCRIPT_MAX   8192 /* bytes of a script that are kept */

/* The bytes that were hashed into one state, kept to hash them into another state. */
struct stream {
	size_t n;
	bool over; /* there were too many bytes */
	char bytes[2 * SCRIPT_MAX + 64]; /* a number's digits are replaced by NUMBER_MARK */
};

/* Gathers small pieces for a hash state. */
struct feed {
	XXH3_state_t state;
	struct stream *keep; /* if not NULL, bytes are kept there and not hashed */
	size_t n;
	char pending[1024];
};

struct hasher {
	struct feed exact, family, kin, pattern;
	struct identity *id;
	bool printed;		     /* there is a fingerprint: files count by content */
	char plain[2 * SCRIPT_MAX];  /* a text without the names that a program made up */
};

/* A script with the result of its normalisation. */
struct script {
	size_t len; /* 0: no script */
	bool printed;
	char text[SCRIPT_MAX];
	struct stream exact, family, pattern;
	struct identity numbers; /* only its vars are used */
};

struct identity_room {
	struct hasher h, reading;
	struct script scripts[SCRIPTS_KEPT];
	unsigned oldest;
};

static void stream_add(struct stream *s, const void *p, size_t n)
{
	if (s->over || n > sizeof(s->bytes) - s->n) {
		s->over = true;
		return;
	}
	memcpy(s->bytes + s->n, p, n);
	s->n += n;
}

static void feed_out(struct feed *f, const void *p, size_t n)
{
	if (f->keep)
		stream_add(f->keep, p, n);
	else
		XXH3_128bits_update(&f->state, p, n);
}

static void feed_flush(struct feed *f)
{
	feed_out(f, f->pending, f->n);
	f->n = 0;
}

/* Pass on bytes that do not fit into the buffer. */
static __attribute__((noinline)) void feed_pass(struct feed *f, const void *p, size_t n)
{
	feed_flush(f);
	feed_out(f, p, n);
}

static inline void feed_add(struct feed *f, const void *p, size_t n)
{
	if (n > sizeof(f->pending) || f->n > sizeof(f->pending) - n) {
		feed_pass(f, p, n);
		return;
	}
	memcpy(f->pending + f->n, p, n);
	f->n += n;
}

static void feed_start(struct feed *f)
{
	XXH3_128bits_reset(&f->state);
	f->keep = NULL;
	f->n = 0;
}

static void hash_length(struct feed *f, uint64_t n)
{
	uint64_t bytes = htole64(n);

	feed_add(f, &bytes, sizeof(bytes));
}

static void hash_both(struct hasher *h, const void *p, size_t n)
{
	hash_length(&h->exact, n);
	feed_add(&h->exact, p, n);
	hash_length(&h->family, n);
	feed_add(&h->family, p, n);
	feed_add(&h->pattern, p, n);
}

static inline bool is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

static void hash_number(struct hasher *h, uint64_t n)
{
	hash_length(&h->exact, n);
	hash_length(&h->family, n);
	hash_length(&h->pattern, n);
}

/*
 * May a number start at text[i]? Yes behind a short option ("-n100"), not inside a word ("lib64", "a1b").
 */
static bool number_may_start(const char *text, size_t i)
{
	unsigned char before = i ? (unsigned char)text[i - 1] : ' ';

	if (!isalnum(before) && before != '_')
		return true;
	return i >= 2 && isalpha(before) && text[i - 2] == '-' &&
	       (i == 2 || isspace((unsigned char)text[i - 3]));
}

static size_t digits_at(const char *text, size_t i, size_t len)
{
	size_t n = 0;

	while (i + n < len && is_digit(text[i + n]))
		n++;
	return n;
}

/* Length of the number that starts with the digit text[i]: integer, decimal or with exponent. */
static size_t number_length(const char *text, size_t i, size_t len)
{
	size_t n = digits_at(text, i, len), m;

	if (i + n + 1 < len && text[i + n] == '.' && (m = digits_at(text, i + n + 1, len)))
		n += 1 + m;
	if (i + n + 1 < len && (text[i + n] == 'e' || text[i + n] == 'E')) {
		size_t e = i + n + 1;

		if (text[e] == '-' || text[e] == '+')
			e++;
		m = digits_at(text, e, len);
		if (m && (e + m == len || !isalnum((unsigned char)text[e + m])))
			n = e + m - i;
	}
	return n;
}

/* Parse a short number to the same value as strtod, but faster: both integers are exact, and one division rounds
 * once. */
static bool short_number(const char *text, size_t n, double *out)
{
	static const double scale[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
	size_t point = n;
	uint64_t digits = 0;

	if (n > 15)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (is_digit(text[i]))
			digits = 10 * digits + (uint64_t)(text[i] - '0');
		else if (text[i] == '.' && point == n)
			point = i;
		else
			return false;
	}
	*out = (double)digits / scale[point < n ? n - 1 - point : 0];
	return true;
}

static void keep_variable(struct identity *id, const char *text, size_t n)
{
	char number[NUMBER_DIGITS + 1];

	if (id->n_vars == IDENTITY_VARS_MAX)
		return;
	if (short_number(text, n, &id->vars[id->n_vars])) {
		id->n_vars++;
		return;
	}
	if (n > NUMBER_DIGITS)
		n = NUMBER_DIGITS;
	memcpy(number, text, n);
	number[n] = '\0';
	id->vars[id->n_vars++] = strtod(number, NULL);
}

/* Hash text into the family state without its numbers. */
static void hash_family_text(struct hasher *h, const char *text, size_t len, bool variables)
{
	size_t done = 0, i = 0;

	while (i < len) {
		size_t n;

		while (i < len && !is_digit(text[i]))
			i++;
		if (i == len)
			break;
		if (!number_may_start(text, i)) {
			i += digits_at(text, i, len);
			continue;
		}
		n = number_length(text, i, len);
		feed_add(&h->family, text + done, i - done);
		feed_add(&h->family, NUMBER_MARK, sizeof(NUMBER_MARK) - 1);
		if (variables)
			keep_variable(h->id, text + i, n);
		i += n;
		done = i;
	}
	feed_add(&h->family, text + done, len - done);
}

static void hash_pattern(struct hasher *h, const char *text, size_t len)
{
	size_t done = 0, at = 0, n;

	while ((n = made_up_word(text, len, &at))) {
		feed_add(&h->pattern, text + done, at - done);
		feed_add(&h->pattern, NUMBER_MARK, sizeof(NUMBER_MARK) - 1);
		at = done = at + n;
	}
	feed_add(&h->pattern, text + done, len - done);
	feed_add(&h->pattern, "\n", 1);
}

/* Made-up names never count in the family, nor in the exact key if a fingerprint says what is in the files. */
static size_t hash_plain(struct hasher *h, const char **text, size_t len, bool variables)
{
	size_t n = made_up_hide(*text, len, h->plain, sizeof(h->plain));

	hash_family_text(h, n ? h->plain : *text, n ? n : len, variables);
	hash_pattern(h, n ? h->plain : *text, n ? n : len);
	if (!n || !h->printed)
		return len;
	*text = h->plain;
	return n;
}

static void hash_text(struct hasher *h, const char *text, size_t len, bool variables)
{
	len = hash_plain(h, &text, len, variables);
	hash_length(&h->exact, len);
	feed_add(&h->exact, text, len);
	feed_add(&h->family, "", 1);
}

/* ---- the script ---- */

/* State of the shell's syntax at the start of a line. */
struct shell {
	char quote;		      /* 0, '\'', '"', '`'; '$' for $'...' */
	bool continued;		      /* the last line ended in a backslash */
	unsigned n_heredocs, heredoc; /* here-documents that started on a line; index of the one being read */
	struct {
		char word[HEREDOC_WORD];
		size_t len;
		bool tabs; /* <<- : leading tabs before the end word are ignored */
	} heredocs[HEREDOCS_MAX];
	unsigned subst; /* open "$( inside a string */
	bool lost;	/* syntax not understood: no further lines are normalised */
};

static bool is_word_end(char c)
{
	return !c || isspace((unsigned char)c) || strchr(";&|<>()", c);
}

/* Behind "<<": store the end word of the here-document. Returns the number of bytes read. */
static size_t heredoc_open(struct shell *sh, const char *text, size_t len)
{
	size_t i = 0, n = 0;
	char *word;

	if (sh->n_heredocs == HEREDOCS_MAX) {
		sh->lost = true;
		return 0;
	}
	sh->heredocs[sh->n_heredocs].tabs = len && text[0] == '-';
	i += len && text[0] == '-';
	while (i < len && (text[i] == ' ' || text[i] == '\t'))
		i++;
	word = sh->heredocs[sh->n_heredocs].word;
	while (i < len && !is_word_end(text[i])) {
		if (!strchr("'\"\\", text[i])) {
			if (n == HEREDOC_WORD) {
				sh->lost = true;
				return i;
			}
			word[n++] = text[i];
		}
		i++;
	}
	if (n)
		sh->heredocs[sh->n_heredocs++].len = n;
	return i;
}

/* Does this line end the open here-document? */
static bool heredoc_ends(const struct shell *sh, const char *line, size_t len)
{
	while (sh->heredocs[sh->heredoc].tabs && len && *line == '\t') {
		line++;
		len--;
	}
	return len == sh->heredocs[sh->heredoc].len && !memcmp(line, sh->heredocs[sh->heredoc].word, len);
}

/* Inside a string: returns the index behind the byte at i, or behind two bytes if that byte is an escape. */
static size_t scan_quoted(struct shell *sh, const char *line, size_t i, size_t len)
{
	char close = sh->quote == '$' ? '\'' : sh->quote;
	char next = i + 1 < len ? line[i + 1] : '\0';

	if (line[i] == '\\' && sh->quote != '\'')
		return i + 2 > len ? len : i + 2;
	if (line[i] == close)
		sh->quote = 0;
	else if (sh->quote == '"' && line[i] == '$' && next == '(')
		sh->subst++;
	else if (line[i] == ')' && sh->subst)
		sh->subst--;
	else if (sh->quote == '"' && line[i] == '<' && next == '<')
		sh->lost = true; /* a here-document inside a string */
	return i + 1;
}

static void open_quote(struct shell *sh, const char *line, size_t i)
{
	sh->quote = line[i];
	if (line[i] == '\'' && i && line[i - 1] == '$')
		sh->quote = '$';
}

/* Does a word start at line[i]? Then a '#' there starts a comment. */
static bool word_starts(const struct shell *sh, const char *line, size_t i)
{
	if (!i)
		return !sh->continued;
	return isspace((unsigned char)line[i - 1]) || strchr(";&|", line[i - 1]);
}

/* Bytes with a meaning in code; other bytes are skipped. */
static const bool scan_code_stops[256] = {
	['#'] = true, ['\''] = true, ['"'] = true, ['`'] = true, ['\\'] = true, [')'] = true, ['<'] = true,
};

/*
 * Follow quotes and here-documents through one line of code. Returns the start of a comment that can be removed, or
 * len. A comment behind a string on the same line stays. After a substitution that spans lines inside a string,
 * everything stays. Nested quotes can be misread, and a comment too many only costs one more trace.
 */
static size_t scan_code(struct shell *sh, const char *line, size_t len)
{
	bool quoted = sh->quote != 0, escaped_end = false;
	size_t i = 0, keep = len;

	while (i < len) {
		char c;

		if (sh->quote) {
			i = scan_quoted(sh, line, i, len);
			continue;
		}
		while (i < len && !scan_code_stops[(unsigned char)line[i]])
			i++;
		if (i == len)
			break;
		c = line[i];
		if (c == '#' && word_starts(sh, line, i)) {
			keep = quoted ? len : i;
			break;
		}
		if (c == '\'' || c == '"' || c == '`') {
			open_quote(sh, line, i);
			quoted = true;
		} else if (c == '\\') {
			escaped_end = i + 1 == len;
			i++;
		} else if (c == ')' && sh->subst) {
			sh->subst--;
		} else if (c == '<' && i + 2 < len && line[i + 1] == '<') {
			if (line[i + 2] == '<')
				i += 2;
			else
				i += 1 + heredoc_open(sh, line + i + 2, len - i - 2);
		}
		i++;
	}
	sh->continued = escaped_end;
	if (sh->subst)
		sh->lost = true;
	return keep;
}

static void emit_line(struct hasher *h, const char *line, size_t len)
{
	len = hash_plain(h, &line, len, true);
	feed_add(&h->exact, line, len);
	feed_add(&h->exact, "\n", 1);
	feed_add(&h->family, "\n", 1);
}

static size_t trimmed(const char *line, size_t len)
{
	size_t n = len;

	while (n && isspace((unsigned char)line[n - 1]))
		n--;
	return n && n < len && line[n - 1] == '\\' ? len : n;
}

static void normalise_line(struct hasher *h, struct shell *sh, const char *line, size_t len)
{
	bool joined = sh->continued || sh->quote;
	size_t keep;

	if (sh->lost) {
		emit_line(h, line, len);
		return;
	}
	if (sh->n_heredocs) {
		if (heredoc_ends(sh, line, len) && ++sh->heredoc == sh->n_heredocs)
			sh->n_heredocs = sh->heredoc = 0;
		emit_line(h, line, len);
		return;
	}
	keep = scan_code(sh, line, len);
	/* blanks at the end of a line inside a string matter */
	if (!sh->quote)
		keep = trimmed(line, keep);
	if (keep || joined)
		emit_line(h, line, keep);
}

static size_t line_length(const char *text, size_t left)
{
	const char *nl = memchr(text, '\n', left);

	return nl ? (size_t)(nl - text) : left;
}

/* Is this the shebang of sh, bash, dash, ksh or zsh, whose syntax scan_code knows? */
static bool is_posix_shell(const char *line, size_t len)
{
	static const char *const shells[] = {"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh"};
	char copy[256], *save = NULL, *word;

	if (len < 2 || line[0] != '#' || line[1] != '!' || len >= sizeof(copy))
		return false;
	memcpy(copy, line + 2, len - 2);
	copy[len - 2] = '\0';
	for (word = strtok_r(copy, " \t\r", &save); word; word = strtok_r(NULL, " \t\r", &save)) {
		const char *base = strrchr(word, '/') ? strrchr(word, '/') + 1 : word;

		if (!strcmp(base, "env") || word[0] == '-' || strchr(word, '='))
			continue;
		for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
			if (!strcmp(base, shells[i]))
				return true;
		}
		return false;
	}
	return false;
}

/* Is this line in the head of the script? Slurm reads #SBATCH lines up to the first line that is neither comment
 * nor blank. */
static bool is_head_line(const char *line, size_t len, bool *sbatch)
{
	size_t i = 0;

	*sbatch = len >= 7 && !memcmp(line, "#SBATCH", 7);
	while (i < len && isspace((unsigned char)line[i]))
		i++;
	return i == len || line[i] == '#';
}

/* The next line of *text; *left: bytes behind it. */
static const char *next_line(const char **text, size_t *left, size_t *len)
{
	const char *line = *text;

	*len = line_length(line, *left);
	*text += *len + (*len < *left);
	*left -= *len + (*len < *left);
	return line;
}

static void hash_shell_script(struct hasher *h, const char *text, size_t left)
{
	struct shell sh = {0};
	const char *line;
	size_t n;

	while (left) {
		line = next_line(&text, &left, &n);
		normalise_line(h, &sh, line, n);
	}
}

/* Hash a script for another shell or a long script: unchanged but for its #SBATCH head. */
static void hash_other_script(struct hasher *h, const char *text, size_t left)
{
	while (left) {
		const char *rest = text, *line;
		size_t rest_len = left, n;
		bool sbatch;

		line = next_line(&rest, &rest_len, &n);
		if (!is_head_line(line, n, &sbatch))
			break;
		if (!sbatch)
			emit_line(h, line, n);
		text = rest;
		left = rest_len;
	}
	if (left > IDENTITY_NORMALISE_MAX)
		hash_both(h, text, left); /* without a search for numbers */
	else
		hash_text(h, text, left, true);
}

static void hash_script(struct hasher *h, const char *text, size_t left)
{
	size_t n;
	bool shell = left <= IDENTITY_NORMALISE_MAX;
	const char *line;

	if (left >= 2 && text[0] == '#' && text[1] == '!') {
		/* The shebang determines the meaning of the script, so it is kept. */
		line = next_line(&text, &left, &n);
		emit_line(h, line, trimmed(line, n));
		shell = shell && is_posix_shell(line, n);
	} else {
		shell = false;
	}
	if (shell)
		hash_shell_script(h, text, left);
	else
		hash_other_script(h, text, left);
}

/* ---- scripts that are kept ---- */

static const struct script *script_find(const struct identity_room *room, const char *text, size_t len, bool printed)
{
	for (unsigned i = 0; i < SCRIPTS_KEPT; i++) {
		const struct script *s = &room->scripts[i];

		if (s->len == len && s->printed == printed && !memcmp(s->text, text, len))
			return s;
	}
	return NULL;
}

static void keep_start(struct feed *f, struct stream *to)
{
	to->n = 0;
	to->over = false;
	f->keep = to;
	f->n = 0;
}

/* Returns NULL if the script gave too many bytes to keep. */
static const struct script *script_keep(struct identity_room *room, const char *text, size_t len, bool printed)
{
	struct script *s = &room->scripts[room->oldest];
	struct hasher *h = &room->reading;

	room->oldest = (room->oldest + 1) % SCRIPTS_KEPT;
	keep_start(&h->exact, &s->exact);
	keep_start(&h->family, &s->family);
	keep_start(&h->pattern, &s->pattern);
	h->id = &s->numbers;
	h->printed = s->printed = printed;
	s->numbers.n_vars = 0;
	hash_script(h, text, len);
	feed_flush(&h->exact);
	feed_flush(&h->family);
	feed_flush(&h->pattern);
	s->len = s->exact.over || s->family.over || s->pattern.over ? 0 : len;
	memcpy(s->text, text, len);
	return s->len ? s : NULL;
}

static void hash_script_kept(struct identity_room *room, struct hasher *h, const char *text)
{
	size_t len = strlen(text);
	const struct script *s = NULL;

	if (room && len && len <= SCRIPT_MAX) {
		s = script_find(room, text, len, h->printed);
		s = s ? s : script_keep(room, text, len, h->printed);
	}
	if (!s) {
		hash_script(h, text, len);
		return;
	}
	feed_add(&h->exact, s->exact.bytes, s->exact.n);
	feed_add(&h->family, s->family.bytes, s->family.n);
	feed_add(&h->pattern, s->pattern.bytes, s->pattern.n);
	for (unsigned i = 0; i < s->numbers.n_vars && h->id->n_vars < IDENTITY_VARS_MAX; i++)
		h->id->vars[h->id->n_vars++] = s->numbers.vars[i];
}

/* ---- keys ---- */

static void write_key(char out[IDENTITY_KEY_LEN + 1], struct feed *f)
{
	static const char hex[] = "0123456789abcdef";
	XXH128_canonical_t c;

	feed_flush(f);
	XXH128_canonicalFromHash(&c, XXH3_128bits_digest(&f->state));
	for (int i = 0; i < 16; i++) {
		out[2 * i] = hex[c.digest[i] >> 4];
		out[2 * i + 1] = hex[c.digest[i] & 15];
	}
	out[IDENTITY_KEY_LEN] = '\0';
}

static void hash_layout(struct feed *f, const struct identity_layout *l)
{
	hash_length(f, l->nodes_min);
	hash_length(f, l->nodes_max);
	hash_length(f, l->tasks);
	hash_length(f, l->tasks_per_node);
	hash_length(f, l->cpus_per_task);
	hash_length(f, l->cpus_min);
}

static void keep_own(struct identity *id, const struct identity_layout *l, double bytes)
{
	double nodes = l->nodes_min ? l->nodes_min : 1;

	id->vars[0] = l->tasks ? l->tasks : l->tasks_per_node ? l->tasks_per_node * nodes : nodes;
	id->vars[1] = nodes;
	id->vars[2] = l->cpus_per_task ? l->cpus_per_task : 1;
	id->vars[3] = bytes;
	id->n_vars = IDENTITY_OWN_VARS;
}

/* Copy the family state, which is used further. */
static struct feed *fork_family(struct hasher *h)
{
	struct feed *f = &h->kin;

	f->state = h->family.state;
	f->keep = NULL;
	f->n = h->family.n;
	memcpy(f->pending, h->family.pending, f->n);
	return f;
}

/* Called when script and arguments are hashed, and nothing else. */
static void write_text(struct hasher *h)
{
	struct feed *f = fork_family(h);

	feed_flush(&h->pattern);
	h->id->pattern = XXH3_64bits_digest(&h->pattern.state);
	for (unsigned i = IDENTITY_OWN_VARS; i < h->id->n_vars; i++) {
		uint64_t bits;

		memcpy(&bits, &h->id->vars[i], sizeof(bits));
		hash_length(f, bits);
	}
	feed_flush(f);
	h->id->text = XXH3_64bits_digest(&f->state);
}

/* Write the kin from the family state, which has no layout yet. fingerprint may be NULL. */
static void write_kin(struct hasher *h, const char *fingerprint, const struct identity_print *p)
{
	struct feed *f = fork_family(h);

	if (fingerprint && p->like)
		feed_add(f, p->like, 32);
	else if (fingerprint)
		feed_add(f, fingerprint, p->len);
	write_key(h->id->kin, f);
}

static void hash_arguments(struct hasher *h, const struct identity_input *in)
{
	size_t total = 0;

	hash_number(h, in->n_args);
	for (size_t i = 0; i < in->n_args; i++) {
		const char *arg = in->args[i] ? in->args[i] : ""; /* Slurm's protocol has strings that are NULL */
		size_t len = strlen(arg);

		total += len;
		if (total > IDENTITY_NORMALISE_MAX)
			hash_both(h, arg, len); /* without a search for numbers */
		else
			hash_text(h, arg, len, true);
	}
}

static void compute_identity(struct identity_room *room, struct hasher *h, const struct identity_input *in, struct identity *out)
{
	static const char version[] = "precedent-identity-1";
	const char *dir = in->work_dir ? in->work_dir : "";
	struct identity_print p = {0};
	const char *print = identity_print_read(in->fingerprint, &p) ? in->fingerprint : NULL;

	h->id = out;
	h->printed = print != NULL;
	keep_own(out, &in->layout, print ? p.bytes : 0);
	out->key[0] = out->family[0] = out->kin[0] = '\0';
	feed_start(&h->exact);
	feed_start(&h->family);
	feed_start(&h->pattern);
	hash_both(h, version, sizeof(version));
	hash_number(h, in->uid);
	hash_layout(&h->exact, &in->layout);
	hash_arguments(h, in);
	hash_script_kept(room, h, in->script ? in->script : "");
	hash_number(h, 0); /* marks the end of the script's lines */
	write_text(h);
	if (print) {
		/* The fingerprint covers input files, which may differ within a family: it counts in the exact
		 * key only. */
		feed_add(&h->exact, print, p.len);
		feed_add(&h->exact, "", 1);
	} else {
		hash_text(h, dir, strlen(dir), false);
	}
	write_key(out->key, &h->exact);
	write_kin(h, print, &p);
	hash_layout(&h->family, &in->layout);
	write_key(out->family, &h->family);
}

void identity_compute(const struct identity_input *in, struct identity *out)
{
	struct hasher h;

	compute_identity(NULL, &h, in, out);
}

struct identity_room *identity_room_create(void)
{
	struct identity_room *room = aligned_alloc(_Alignof(struct identity_room), sizeof(*room));

	if (!room)
		return NULL;
	room->oldest = 0;
	for (unsigned i = 0; i < SCRIPTS_KEPT; i++)
		room->scripts[i].len = 0;
	return room;
}

void identity_room_destroy(struct identity_room *room)
{
	free(room);
}

void identity_compute_within(struct identity_room *room, const struct identity_input *in, struct identity *out)
{
	if (room)
		compute_identity(room, &room->h, in, out);
	else
		identity_compute(in, out);
}
