/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plots of the page of precedent accuracy, each a <figure>. Answers are those of predictor/query/answer_accuracy.c. */
#ifndef PRECEDENT_CLI_ACCURACY_PLOTS_H
#define PRECEDENT_CLI_ACCURACY_PLOTS_H

#include <jansson.h>
#include <stdio.h>

void accuracy_plot_scatter(FILE *out, const json_t *answer);	  /* predicted against actual */
void accuracy_plot_distribution(FILE *out, const json_t *answer); /* how many runs were predicted how well, by whom */
void accuracy_plot_time(FILE *out, const json_t *answer);	  /* errors over time */
void accuracy_plot_coverage(FILE *out, const json_t *answer);	  /* jobs with a prediction, runs inside the interval, over time */
void accuracy_plot_reserved(FILE *out, const json_t *answer);	  /* asked, set and used, by partition */

#endif
