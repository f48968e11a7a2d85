/* SPDX-License-Identifier: GPL-2.0 */
/* Snapshots: reading all that a circular session holds, without consuming it */
#ifndef AT_SNAPSHOT_H
#define AT_SNAPSHOT_H

struct at_session;

void at_snapshot_begin(struct at_session *s);
void at_snapshot_end(struct at_session *s);

#endif /* AT_SNAPSHOT_H */
