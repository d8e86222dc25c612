/* SPDX-License-Identifier: GPL-2.0-or-later */
/* As much of HTTP as a scraper needs: one GET a connection. Requests are from anybody on this machine: bounded, and never
 * more than looked at. */
#ifndef PRECEDENT_PREDICTOR_METRICS_HTTP_H
#define PRECEDENT_PREDICTOR_METRICS_HTTP_H

#include "common/buf.h"

#define METRICS_REQUEST_MAX 8192

/* Status of the request read so far: 0 if it is incomplete, 200 for GET of /metrics, 404 for another path, 405 for another
 * method, 400 for a malformed request, 431 if it is too long. */
int metrics_http_request(const struct buf *in);

/* The whole reply, body only with 200. */
void metrics_http_reply(int status, const struct buf *body, struct buf *out);

#endif
