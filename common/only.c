/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The key Only of precedent.conf, for a trial with some users, accounts or QOS: see conf.h. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/conf.h"

static const char *const kinds[] = {[ONLY_USER] = "user", [ONLY_ACCOUNT] = "account", [ONLY_QOS] = "qos"};

const char *only_kind_name(enum only_kind kind)
{
	return kinds[kind];
}

static bool name_is_good(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isgraph((unsigned char)name[i]) || strchr(":='\"\\`$", name[i]))
			return false;
	return len > 0 && len < CONF_NAME_MAX;
}

/* One "kind:name" in text[0..len). */
static int add(struct precedent_conf *c, const char *text, size_t len, struct errbuf *err)
{
	struct conf_only *o = &c->only[c->n_only];

	if (c->n_only == CONF_ONLY_MAX)
		return err_set(err, "more than %d names", CONF_ONLY_MAX);
	for (int k = ONLY_USER; k <= ONLY_QOS; k++) {
		size_t n = strlen(kinds[k]);

		if (len <= n || strncasecmp(text, kinds[k], n) || text[n] != ':' || !name_is_good(text + n + 1, len - n - 1))
			continue;
		o->kind = (enum only_kind)k;
		snprintf(o->name, sizeof(o->name), "%.*s", (int)(len - n - 1), text + n + 1);
		c->n_only++;
		return 0;
	}
	return err_set(err, "'%.*s' is not understood: write user:NAME, account:NAME or qos:NAME, separated by commas",
		       (int)(len < 60 ? len : 60), text);
}

int only_parse(struct precedent_conf *c, const char *v, struct errbuf *err)
{
	for (; *v; v += *v == ',') {
		size_t n, len;

		v += strspn(v, " \t");
		len = n = strcspn(v, ",");
		while (len && isspace((unsigned char)v[len - 1]))
			len--;
		if (add(c, v, len, err) < 0)
			return -1;
		v += n;
	}
	return 0;
}

/* Is the uid in a list such as " 1000 1001 "? */
static bool is_listed(const char *list, uint32_t uid)
{
	char text[16];

	snprintf(text, sizeof(text), " %u ", uid);
	return list && strstr(list, text);
}

/* Slurm knows accounts and QOS in any case. */
static bool is_named(const struct precedent_conf *conf, enum only_kind kind, const char *name)
{
	for (size_t i = 0; i < conf->n_only; i++)
		if (conf->only[i].kind == kind && !strcasecmp(conf->only[i].name, name))
			return true;
	return false;
}

bool only_admits(const struct precedent_conf *conf, const struct only_uids *uids, uint32_t uid, const char *account, const char *qos)
{
	if (!conf->n_only || is_listed(uids->users, uid))
		return true;
	if (account && *account ? is_named(conf, ONLY_ACCOUNT, account) : is_listed(uids->defaults, uid))
		return true;
	return qos && *qos && is_named(conf, ONLY_QOS, qos);
}

void only_text(const struct precedent_conf *conf, char *out, size_t size)
{
	size_t len = 0;

	*out = '\0';
	for (size_t i = 0; i < conf->n_only && len < size; i++)
		len += (size_t)snprintf(out + len, size - len, "%s%s:%s", i ? ", " : "", kinds[conf->only[i].kind], conf->only[i].name);
}
