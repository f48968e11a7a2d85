/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * asynctrace session: what its verbs share
 */
#ifndef AT_SESSION_CMD_H
#define AT_SESSION_CMD_H

#include <stdbool.h>
#include <stdint.h>

#include <asynctrace/session.h>

/* A verb. argv[0] is as tool_begin() has it. Returns an exit status. */
int session_create_main(int argc, char **argv);
int session_init_main(int argc, char **argv);
int session_start_main(int argc, char **argv);
int session_stop_main(int argc, char **argv);
int session_update_main(int argc, char **argv);
int session_snapshot_main(int argc, char **argv);
int session_attach_main(int argc, char **argv);
int session_destroy_main(int argc, char **argv);
int session_list_main(int argc, char **argv);

/* The letters and names of options that each verb has. */
#define SESSION_COMMON_OPTIONS \
	{ "json", no_argument, NULL, 'j' }, \
	{ "help", no_argument, NULL, 'h' }, \
	{ 0 }

/* Says what is wrong about an option, or an argument too much or too few. */
int session_wrong_usage(void);
/* The one argument there is to be, a session; NULL, and a message. */
const char *session_argument(int argc, char **argv);

/*
 * Opens the module and looks for a session. 0, or a negative errno, and a
 * message. *ctl is to be closed in any case.
 */
int session_open(const char *text, struct at_ctl **ctl, uint32_t *id);
/* With --json, prints it as it now is. An exit status, from @err. */
int session_close(struct at_ctl *ctl, uint32_t id, bool json, int err);

#endif /* AT_SESSION_CMD_H */
