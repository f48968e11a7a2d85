/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Clearing of rings at a start
 */
#ifndef AT_CLEAR_H
#define AT_CLEAR_H

#include "ring/cursor.h"

struct at_kring;
struct at_member;
struct at_rings;
struct at_session;

void at_clear_begin(struct at_session *s, u32 disposition);
void at_clear_finish(struct at_session *s);
bool at_clear_apply(struct at_session *s, struct at_cursor *c, const struct at_source *src,
		    struct at_clear *clear);
bool at_clear_take(struct at_session *s, struct at_cursor *c, const struct at_clear *clear,
		   const struct at_cursor *next);
/* Let writers reuse the words of a ring that were read or cleared. */
void at_clear_limit_uring(struct at_member *m, const struct at_range *range, struct at_rings *r,
			  u32 i);
void at_clear_limit_kring(struct at_session *s, struct at_kring *r);

#endif /* AT_CLEAR_H */
