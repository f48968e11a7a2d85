/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The screen, with ncurses */
#ifndef TOP_SCREEN_H
#define TOP_SCREEN_H

#include "view.h"

enum screen_mode {
	SCREEN_TABLES,
	SCREEN_HELP,
	SCREEN_FILTER,		/* keys are letters of the filter */
};

/* The present view, and all that keys change */
struct screen {
	struct view view;
	const char *source;
	enum screen_mode mode;
	bool frozen;
	bool explains;
	char *explanation;	/* NULL: none */
	/* The selected open operation, by id and begin; .selects false: the oldest */
	bool selects;
	uint64_t selected_id, selected_begin;
	size_t first_open;	/* row at the top of the list */
	bool quit;
};

/* 0, or -1 and a message: no terminal, or an unknown one */
int screen_open(void);
/* For poll(2): the keyboard */
int screen_fd(void);
/* The next key, or -1. KEY_RESIZE is one. */
int screen_key(void);
void screen_draw(struct screen *sc, const struct snapshot *s);
/* The terminal is as it was. */
void screen_close(void);

/* keys.c: obey @key. */
void screen_do(struct screen *sc, const struct snapshot *s, int key);
/* The open operation that is selected, or the oldest; NULL: none is open */
const struct open_operation *screen_selected(const struct screen *sc, const struct snapshot *s);

/* messages.c: while there is a screen, messages wait for its end */
void messages_hold(void);
void messages_release(void);

#endif /* TOP_SCREEN_H */
