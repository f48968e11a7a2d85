/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Assignment of providers to sessions
 */
#ifndef AT_ASSIGN_H
#define AT_ASSIGN_H

#include <linux/types.h>

struct at_prepared;
struct at_provider;
struct at_session;

bool at_offer(struct at_provider *p, u32 since);
void at_offer_later(struct at_provider *p);
bool at_offer_free(const struct at_session *s, const struct at_provider *p, bool start);
bool at_offer_adopt(struct at_session *s, struct at_prepared *prep, bool start, bool last);
void at_offer_started(struct at_session *s);
void at_offer_rest(struct at_session *s, u32 run);

#endif /* AT_ASSIGN_H */
