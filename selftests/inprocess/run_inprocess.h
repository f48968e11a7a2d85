/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions that only sessions of the in-process back end have
 */
#ifndef RUN_INPROCESS_H
#define RUN_INPROCESS_H

#include "run.h"

/* If @linger is true, the end of the session checks that no writer writes after it. */
void run_linger(bool linger);
/* Returns the generation of the latest session, modulo 2^16. */
uint32_t run_generation(void);

#endif /* RUN_INPROCESS_H */
