/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reader of shell words. It does not parse compound commands: `case`, `for` and function bodies are read as plain
 * commands, in the order of the text. The limits in the header bound memory; time is linear in the text.
 */
#include "common/script_words.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define HEREDOCS_MAX 8
#define DELIM_MAX    128

struct variable {
	char name[64];
	char *value;
	uint32_t command; /* that set it */
	bool fleeting;	  /* set for one command alone: NAME=value COMMAND */
	bool shaky;	  /* as SCRIPT_WORD_MODULE */
};

struct heredoc {
	char delim[DELIM_MAX];
	bool strip_tabs;
};

struct reader {
	const char *text, *p, *end;
	const struct script_context *ctx;
	struct script_words *out;
	struct variable vars[SCRIPT_VARS_MAX];
	size_t n_vars;
	struct heredoc heredocs[HEREDOCS_MAX];
	size_t n_heredocs;
	uint32_t command;
	uint16_t dir;
	bool have_head;        /* the command's name has been read */
	bool next_is_output;   /* after > */
	uint8_t output_fd;     /* of it, as in struct script_word */
	bool output_appends;
	bool next_is_delim;    /* after << */
	bool delim_strip_tabs; /* after <<- */
	bool head_is_cd, head_declares;
	/* the current word */
	char word[SCRIPT_WORD_LEN_MAX];
	size_t len;
	bool in_word, opaque, quoted;
	bool strange; /* opaque by more than Slurm's variables */
	bool split;
	bool shaky; /* SCRIPT_WORD_MODULE */
	bool modules; /* as in struct script_context */
	uint8_t joint;
	bool in_date; /* within a harmless substitution */
	bool failed; /* memory ran out */
};

char *path_normal(const char *dir, const char *name)
{
	char in[PATH_MAX], *out = NULL;
	int n = name[0] == '/' ? snprintf(in, sizeof(in), "%s", name) : snprintf(in, sizeof(in), "%s/%s", dir, name);
	size_t o = 0;
	if (n < 0 || (size_t)n >= sizeof(in) || !(out = malloc((size_t)n + 2)))
		return NULL;
	for (const char *p = in; *p;) {
		while (*p == '/')
			p++;
		size_t part = strcspn(p, "/");
		if (part == 2 && p[0] == '.' && p[1] == '.') {
			while (o > 0 && out[--o] != '/')
				;
		} else if (part && !(part == 1 && p[0] == '.')) {
			out[o++] = '/';
			memcpy(out + o, p, part);
			o += part;
		}
		p += part;
	}
	if (!o)
		out[o++] = '/';
	out[o] = '\0';
	return out;
}

bool path_is_textual(const char *dir, const char *name)
{
	bool textual = true;
	for (const char *p = name; textual && (p = strstr(p, "..")); p += 2) {
		char before[PATH_MAX], *path;
		struct stat st;
		if ((p > name && p[-1] != '/') || (p[2] && p[2] != '/'))
			continue;
		if (snprintf(before, sizeof(before), "%.*s.", (int)(p - name), name) >= PATH_MAX)
			return false;
		path = path_normal(dir, before);
		textual = path && (lstat(path, &st) != 0 || !S_ISLNK(st.st_mode));
		free(path);
	}
	return textual;
}

static bool is_name_char(int c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Length of NAME in "NAME=...", or 0. */
static size_t assign_name_len(const char *s)
{
	size_t n = 0;
	if (isdigit((unsigned char)s[0]))
		return 0;
	while (is_name_char(s[n]))
		n++;
	return n && s[n] == '=' ? n : 0;
}

static void word_char(struct reader *r, char c)
{
	r->in_word = true;
	if (r->len + 1 < sizeof(r->word) && c != '\0')
		r->word[r->len++] = c;
	else
		r->opaque = r->strange = true;
}

static void variable_set(struct reader *r, const char *name, size_t name_len, const char *value)
{
	struct variable *v = NULL;
	if (name_len >= sizeof(v->name)) {
		r->out->plain = false;
		return;
	}
	for (size_t i = 0; i < r->n_vars && !v; i++)
		if (strlen(r->vars[i].name) == name_len && memcmp(r->vars[i].name, name, name_len) == 0)
			v = &r->vars[i];
	if (!v) {
		if (r->n_vars == SCRIPT_VARS_MAX) {
			r->out->plain = false;
			return;
		}
		v = &r->vars[r->n_vars++];
		memcpy(v->name, name, name_len);
		v->name[name_len] = '\0';
	}
	v->command = r->command;
	v->fleeting = false;
	v->shaky = r->shaky;
	free(v->value);
	v->value = value ? strdup(value) : NULL; /* NULL: set in the script to an unknown value */
}

/* Neither modules nor profiles change them. */
static const char *const OF_USER[] = {"HOME", "LOGNAME", "USER"};

/* A module may set variables again that the script or its caller has set. */
static void take_module(struct reader *r)
{
	r->modules = true;
	for (size_t i = 0; i < r->n_vars; i++)
		r->vars[i].shaky = true;
}

/* The value of $name, or NULL if it is not known before the job runs. */
static const char *variable_get(struct reader *r, const char *name, size_t len)
{
	char key[64];
	if (len == 0 || len >= sizeof(key))
		return NULL;
	memcpy(key, name, len);
	key[len] = '\0';
	if (len == 1 && key[0] >= '1' && key[0] <= '9') {
		size_t i = (size_t)(key[0] - '1');
		return i < r->ctx->n_args ? r->ctx->args[i] : NULL;
	}
	for (size_t i = 0; i < r->n_vars; i++) {
		const struct variable *v = &r->vars[i];
		if (strcmp(v->name, key) != 0)
			continue;
		/* The shell expands a command before it sets the variables in front of it. */
		if (v->fleeting || v->command == r->command)
			r->out->plain = false;
		r->shaky |= v->shaky;
		return v->value;
	}
	if (strcmp(key, "SLURM_SUBMIT_DIR") == 0)
		return r->ctx->submit_dir ? r->ctx->submit_dir : r->ctx->work_dir;
	if (strcmp(key, "PWD") == 0)
		return r->out->dirs[r->dir];
	/* The job's SLURM_* differ from the SLURM_* of the submitting shell. */
	if (strncmp(key, "SLURM", 5) == 0 || !r->ctx->lookup)
		return NULL;
	r->shaky |= r->modules && !WORD_LISTED(key, OF_USER);
	return r->ctx->lookup(key);
}

/* Variables that Slurm sets from the layout or from the number of the job. Others depend on options of sbatch. */
static bool is_of_layout(const char *name, size_t len)
{
	static const char *const NAMES[] = {
		"SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_CPUS_PER_TASK", "SLURM_JOBID", "SLURM_JOB_ID",
		"SLURM_JOB_NODELIST", "SLURM_JOB_NUM_NODES", "SLURM_NNODES", "SLURM_NODELIST", "SLURM_NPROCS", "SLURM_NTASKS",
		"SLURM_NTASKS_PER_NODE", "SLURM_TASKS_PER_NODE",
	};
	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
		if (strlen(NAMES[i]) == len && memcmp(NAMES[i], name, len) == 0)
			return true;
	return false;
}

static void word_expand(struct reader *r, const char *name, size_t len, bool quoted)
{
	const char *value = variable_get(r, name, len);
	r->in_word = true;
	if (!value) {
		bool slurm = is_of_layout(name, len);
		r->opaque = true;
		r->strange |= !slurm;
		for (size_t i = 0; slurm && i < len + 3; i++)
			word_char(r, i < 2 ? "${"[i] : i < len + 2 ? name[i - 2] : '}');
		return;
	}
	r->split |= !quoted && (!*value || value[strcspn(value, " \t\n*?[")]);
	while (*value)
		word_char(r, *value++);
}

/* At "$(": is it a command that changes nothing, without anything to expand? */
static bool is_harmless_substitution(const char *p, const char *end)
{
	static const char *const HARMLESS[] = {"date", "hostname", "pwd", "whoami"};
	size_t len = 0, name;
	for (p += 2; p + len < end && !strchr(";&|`$()<>\n\\\"'", p[len]); len++)
		;
	if (p + len == end || p[len] != ')')
		return false;
	for (name = 0; name < len && is_name_char(p[name]);)
		name++;
	for (size_t i = 0; i < sizeof(HARMLESS) / sizeof(HARMLESS[0]); i++)
		if (strlen(HARMLESS[i]) == name && memcmp(HARMLESS[i], p, name) == 0)
			return name == len || p[name] == ' ';
	return false;
}

/* Read an expansion at '$' and move p behind it. "$(" only marks the word; its contents are read as commands. */
static void read_dollar(struct reader *r, bool quoted)
{
	const char *p = r->p + 1;
	if (p < r->end && *p == '(' && !is_harmless_substitution(r->p, r->end))
		r->out->plain = false;
	if (p < r->end && *p == '{') {
		const char *name = ++p;
		while (p < r->end && is_name_char(*p))
			p++;
		if (p < r->end && *p == '}') {
			word_expand(r, name, (size_t)(p - name), quoted);
			r->p = p + 1;
			return;
		}
		while (p < r->end && *p != '}' && *p != '\n')
			p++;
		r->in_word = r->opaque = r->strange = true;
		/* "${A:=value}" sets A, and a value can hold commands. */
		r->out->plain = false;
		r->p = p < r->end && *p == '}' ? p + 1 : p;
		return;
	}
	const char *name = p;
	if (p < r->end && isdigit((unsigned char)*p))
		p++;
	else
		while (p < r->end && is_name_char(*p))
			p++;
	if (p > name) {
		word_expand(r, name, (size_t)(p - name), quoted);
	} else {
		r->in_word = r->opaque = r->strange = true;
		if (p < r->end && strchr("@*#?!$-", *p))
			p++;
	}
	r->p = p;
}

static void read_single_quoted(struct reader *r)
{
	r->in_word = r->quoted = true;
	for (r->p++; r->p < r->end && *r->p != '\''; r->p++)
		word_char(r, *r->p);
	if (r->p < r->end)
		r->p++;
}

static void read_double_quoted(struct reader *r)
{
	r->in_word = r->quoted = true;
	for (r->p++; r->p < r->end && *r->p != '"';) {
		if (*r->p == '\\' && r->p + 1 < r->end) {
			if (r->p[1] != '\n') {
				if (!strchr("$`\"\\", r->p[1]))
					word_char(r, '\\');
				word_char(r, r->p[1]);
			}
			r->p += 2;
		} else if (*r->p == '$') {
			read_dollar(r, true);
		} else {
			if (*r->p == '`') {
				r->opaque = r->strange = true;
				r->out->plain = false;
			}
			word_char(r, *r->p++);
		}
	}
	if (r->p < r->end)
		r->p++;
}

static void command_end(struct reader *r)
{
	if (r->have_head || (r->out->n && r->out->words[r->out->n - 1].command == r->command)) {
		r->command++;
		r->joint = SCRIPT_JOINT_NEXT;
	}
	r->have_head = r->next_is_output = r->next_is_delim = false;
	r->head_is_cd = r->head_declares = false;
}

static void dir_change(struct reader *r, const char *to)
{
	struct script_words *out = r->out;
	char *path;
	if (strcmp(to, "-") == 0 || out->n_dirs == SCRIPT_DIRS_MAX) {
		out->plain = false;
		return;
	}
	path = path_normal(out->dirs[r->dir], to);
	if (!path) {
		out->plain = false;
		return;
	}
	for (size_t i = 0; i < out->n_dirs; i++) {
		if (strcmp(out->dirs[i], path) == 0) {
			r->dir = (uint16_t)i;
			free(path);
			return;
		}
	}
	out->dirs[out->n_dirs] = path;
	r->dir = (uint16_t)out->n_dirs++;
}

static void word_add(struct reader *r, uint8_t flags)
{
	struct script_words *out = r->out;
	if (out->n == SCRIPT_WORDS_MAX) {
		out->plain = false;
		return;
	}
	flags |= r->split ? SCRIPT_WORD_SPLIT : 0;
	flags |= r->opaque && !r->strange ? SCRIPT_WORD_SLURM : 0;
	flags |= r->shaky ? SCRIPT_WORD_MODULE : 0;
	if (out->n == out->cap) {
		size_t cap = out->cap ? out->cap * 2 : 64;
		struct script_word *w = realloc(out->words, cap * sizeof(*w));
		if (!w) {
			r->failed = true;
			return;
		}
		out->words = w;
		out->cap = cap;
	}
	char *text = strdup(r->word);
	if (!text) {
		r->failed = true;
		return;
	}
	out->words[out->n++] = (struct script_word){.text = text, .command = r->command, .dir = r->dir, .flags = flags,
						    .joint = r->joint, .fd = r->output_fd, .append = r->output_appends};
}

/* Words that come before a command's name. */
static bool is_prefix(const char *s)
{
	static const char *const PREFIX[] = {"!", "do", "elif", "else", "exec", "if", "then", "time", "until", "while", "{"};
	for (size_t i = 0; i < sizeof(PREFIX) / sizeof(PREFIX[0]); i++)
		if (strcmp(s, PREFIX[i]) == 0)
			return true;
	return false;
}

static void word_take_plain(struct reader *r)
{
	uint8_t flags = r->opaque ? SCRIPT_WORD_OPAQUE : 0;
	size_t name_len = assign_name_len(r->word);
	if (name_len && (!r->have_head || r->head_declares)) {
		variable_set(r, r->word, name_len, r->opaque ? NULL : r->word + name_len + 1);
		flags |= SCRIPT_WORD_ASSIGN;
	} else if (!r->have_head) {
		if (!r->quoted && is_prefix(r->word)) {
			if (strcmp(r->word, "time") != 0)
				r->out->plain = false;
			return;
		}
		for (size_t i = 0; i < r->n_vars; i++)
			r->vars[i].fleeting |= r->vars[i].command == r->command;
		r->have_head = true;
		flags |= SCRIPT_WORD_HEAD;
		if (strcmp(r->word, "module") == 0 || strcmp(r->word, "ml") == 0)
			take_module(r);
		r->head_is_cd = strcmp(r->word, "cd") == 0 || strcmp(r->word, "pushd") == 0;
		r->head_declares = strcmp(r->word, "export") == 0 || strcmp(r->word, "declare") == 0 ||
				   strcmp(r->word, "local") == 0 || strcmp(r->word, "readonly") == 0;
	} else if (r->head_is_cd && !r->opaque && r->word[0]) {
		dir_change(r, r->word);
	}
	word_add(r, flags);
}

static void word_end(struct reader *r)
{
	if (!r->in_word)
		return;
	r->word[r->len] = '\0';
	if (r->next_is_delim) {
		if (r->n_heredocs < HEREDOCS_MAX && r->len < DELIM_MAX) {
			struct heredoc *h = &r->heredocs[r->n_heredocs++];
			memcpy(h->delim, r->word, r->len + 1);
			h->strip_tabs = r->delim_strip_tabs;
		}
		r->next_is_delim = false;
	} else if (r->next_is_output) {
		word_add(r, (uint8_t)(SCRIPT_WORD_OUTPUT | (r->opaque ? SCRIPT_WORD_OPAQUE : 0)));
		r->next_is_output = r->output_appends = false;
		r->output_fd = 0;
	} else {
		word_take_plain(r);
	}
	r->len = 0;
	r->in_word = r->opaque = r->quoted = r->strange = r->split = r->shaky = false;
}

/* At the newline behind a command with here-documents: skip their bodies. */
static void skip_heredocs(struct reader *r)
{
	for (size_t i = 0; i < r->n_heredocs; i++) {
		const struct heredoc *h = &r->heredocs[i];
		size_t delim_len = strlen(h->delim);
		while (r->p < r->end) {
			const char *line = r->p, *nl = memchr(line, '\n', (size_t)(r->end - line));
			const char *stop = nl ? nl : r->end;
			r->p = nl ? nl + 1 : r->end;
			while (h->strip_tabs && line < stop && *line == '\t')
				line++;
			if ((size_t)(stop - line) == delim_len && memcmp(line, h->delim, delim_len) == 0)
				break;
		}
	}
	r->n_heredocs = 0;
}

/* Read a redirection at '<' or '>'; the '&' of "&>" was read already. */
static void read_redirection(struct reader *r)
{
	bool writes = *r->p == '>', digits = r->in_word && !r->quoted && !r->opaque;
	for (size_t i = 0; i < r->len && digits; i++)
		digits = isdigit((unsigned char)r->word[i]);
	int fd = 1;
	if (digits) { /* "2>": a descriptor, not a word */
		r->word[r->len] = '\0';
		fd = r->len < 4 ? atoi(r->word) : SCRIPT_FD_BOTH - 1; /* no shell opens such a descriptor */
		r->len = 0;
		r->in_word = false;
	}
	word_end(r);
	if (!writes)
		r->out->plain = false;
	const char *p = r->p + 1;
	if (!writes && p + 1 < r->end && p[0] == '<' && p[1] == '<') { /* here-string */
		r->p = p + 2;
		return;
	}
	if (!writes && p < r->end && *p == '<') {
		r->next_is_delim = true;
		r->delim_strip_tabs = ++p < r->end && *p == '-';
		r->p = r->delim_strip_tabs ? p + 1 : p;
		return;
	}
	if (!writes && p < r->end && *p == '>') { /* <> */
		writes = true;
		p++;
	}
	if (r->p > r->text && r->p[-1] == '&')
		fd = SCRIPT_FD_BOTH;
	bool appends = false;
	for (; writes && p < r->end && (*p == '>' || *p == '|'); p++)
		appends |= *p == '>';
	if (p < r->end && *p == '&') {
		p++;
		if (p < r->end && (isdigit((unsigned char)*p) || *p == '-')) { /* 2>&1, >&- */
			while (p < r->end && (isdigit((unsigned char)*p) || *p == '-'))
				p++;
			writes = false;
		} else {
			fd = SCRIPT_FD_BOTH;
		}
	}
	r->next_is_output = writes;
	r->output_fd = writes ? (uint8_t)fd : 0;
	r->output_appends = writes && appends;
	r->p = p;
}

static void read_comment(struct reader *r)
{
	while (r->p < r->end && *r->p != '\n')
		r->p++;
}

static void read_newline(struct reader *r)
{
	word_end(r);
	command_end(r);
	r->p++;
	if (r->n_heredocs)
		skip_heredocs(r);
}

static void read_other(struct reader *r)
{
	char c = *r->p;
	if (c == '~' && !r->in_word && r->ctx->lookup && (r->p + 1 == r->end || strchr("/ \t\n;", r->p[1]))) {
		word_expand(r, "HOME", 4, true);
	} else {
		if (strchr("*?[{", c))
			r->opaque = r->strange = true;
		word_char(r, c);
	}
	r->p++;
}

/* An operator between two commands. Other operators belong to compound commands. */
static void read_operator(struct reader *r)
{
	char c = *r->p;
	bool doubled = r->p + 1 < r->end && r->p[1] == c;
	word_end(r);
	command_end(r);
	if (doubled && (c == '&' || c == '|')) {
		r->joint = c == '&' ? SCRIPT_JOINT_AND : SCRIPT_JOINT_OR;
		r->p++;
	} else if (c == '|') {
		r->joint = SCRIPT_JOINT_PIPE;
	} else if (c == ')' && r->in_date) {
		const char *next = r->p + 1;
		while (next < r->end && (*next == ' ' || *next == '\t'))
			next++;
		/* In "S=$(date) ./app" the variable is the program's, but this reader takes it for the shell's. */
		if (next < r->end && !strchr("\n;&|#", *next))
			r->out->plain = false;
		r->in_date = false;
	} else if (c == '(' && r->p > r->text && r->p[-1] == '$' && is_harmless_substitution(r->p - 1, r->end)) {
		r->in_date = true;
	} else if (c != ';') {
		r->out->plain = false;
	}
	r->p++;
}

static void read_step(struct reader *r)
{
	switch (*r->p) {
	case '\n':
		read_newline(r);
		break;
	case '\r': /* the shell takes it for a letter */
		r->out->plain = false;
		/* fall through */
	case ' ':
	case '\t':
		word_end(r);
		r->p++;
		break;
	case '&':
		if (r->p + 1 < r->end && r->p[1] == '>') {
			word_end(r);
			r->p++;
			read_redirection(r);
			break;
		}
		read_operator(r);
		break;
	case ';':
	case '|':
	case '(':
	case ')':
	case '`':
		read_operator(r);
		break;
	case '<':
	case '>':
		read_redirection(r);
		break;
	case '#':
		if (r->in_word)
			read_other(r);
		else
			read_comment(r);
		break;
	case '\'':
		read_single_quoted(r);
		break;
	case '"':
		read_double_quoted(r);
		break;
	case '$':
		read_dollar(r, false);
		break;
	case '\\':
		if (r->p + 1 < r->end && r->p[1] != '\n') {
			r->quoted = true;
			word_char(r, r->p[1]);
		}
		r->p += r->p + 1 < r->end ? 2 : 1;
		break;
	default:
		read_other(r);
	}
}

int script_words_read(const char *text, size_t len, const struct script_context *ctx, struct script_words *out)
{
	struct reader *r = calloc(1, sizeof(*r));
	int rc = -1;
	*out = (struct script_words){0};
	out->dirs = calloc(SCRIPT_DIRS_MAX, sizeof(*out->dirs));
	if (!r || !out->dirs || !(out->dirs[0] = path_normal("/", ctx->work_dir)))
		goto done;
	out->n_dirs = 1;
	out->plain = len <= SCRIPT_BYTES_MAX;
	r->p = r->text = text;
	r->end = text + (out->plain ? len : SCRIPT_BYTES_MAX);
	r->ctx = ctx;
	r->out = out;
	r->modules = ctx->modules;
	while (r->p < r->end && !r->failed && out->n < SCRIPT_WORDS_MAX)
		read_step(r);
	word_end(r);
	out->plain &= r->p == r->end && !r->n_heredocs;
	rc = r->failed ? -1 : 0;
done:
	if (r)
		for (size_t i = 0; i < r->n_vars; i++)
			free(r->vars[i].value);
	free(r);
	return rc;
}

void script_words_free(struct script_words *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->words[i].text);
	for (size_t i = 0; i < w->n_dirs; i++)
		free(w->dirs[i]);
	free(w->words);
	free(w->dirs);
	*w = (struct script_words){0};
}

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- lists ---- */

bool word_listed(const char *word, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(word, list[i]) == 0)
			return true;
	return false;
}

bool is_launcher(const char *path)
{
	static const char *const names[] = {
		"aprun", "ibrun", "jsrun", "mpiexec", "mpiexec.hydra", "mpiexec.openmpi", "mpirun", "mpirun.openmpi", "orterun",
		"prterun", "srun",
	};

	return WORD_LISTED(path_base(path), names);
}
