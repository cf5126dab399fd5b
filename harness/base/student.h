/* SPDX-License-Identifier: MIT
 * Student's t. */
#pragma once

/* Two-sided p of Student's t, and the t for a given p; degrees > 0. */
double student_p(double t, double degrees);
double student_quantile(double p, double degrees);
