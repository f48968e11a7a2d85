/* SPDX-License-Identifier: GPL-2.0-or-later */
/* asynctrace session: functions that its verbs share */
#ifndef AT_SESSION_CMD_H
#define AT_SESSION_CMD_H

#include <stdbool.h>
#include <stdint.h>

#include <asynctrace/session.h>

/* Verbs. tool_begin() has set argv[0]. Return an exit status. */
int session_create_main(int argc, char **argv);
int session_init_main(int argc, char **argv);
int session_start_main(int argc, char **argv);
int session_stop_main(int argc, char **argv);
int session_update_main(int argc, char **argv);
int session_snapshot_main(int argc, char **argv);
int session_attach_main(int argc, char **argv);
int session_destroy_main(int argc, char **argv);
int session_list_main(int argc, char **argv);

/* The long options that each verb has, and the end of the list of options */
#define SESSION_COMMON_OPTIONS \
	{ "json", no_argument, NULL, 'j' }, \
	{ "help", no_argument, NULL, 'h' }, \
	{ 0 }

/* Reports a wrong option or number of arguments. Returns an exit status. */
int session_wrong_usage(void);
/* Returns the only argument, a session, or NULL after a message. */
const char *session_argument(int argc, char **argv);

/*
 * Opens the module and finds a session. Returns 0, or a negative errno after a message. The
 * caller must close *ctl in any case.
 */
int session_open(const char *text, struct at_ctl **ctl, uint32_t *id);
/* A callback for at_session_get(): adds the session to the struct json_doc @json. Returns 0. */
int session_print(const struct at_session_info *s, void *json);
/*
 * Closes the connection. If @err is 0 and @json is set, prints the session's state before. Returns
 * an exit status: TOOL_OK if @err is 0 and nothing failed, else TOOL_FAILED.
 */
int session_close(struct at_ctl *ctl, uint32_t id, bool json, int err);

#endif /* AT_SESSION_CMD_H */
