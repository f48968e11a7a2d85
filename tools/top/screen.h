/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The screen, drawn with ncurses */
#ifndef TOP_SCREEN_H
#define TOP_SCREEN_H

#include "view.h"

enum screen_mode {
	SCREEN_TABLES,
	SCREEN_HELP,
	SCREEN_FILTER,		/* keys edit the filter */
};

/* The current view, and all other state that keys change */
struct screen {
	struct view view;
	const char *source;
	enum screen_mode mode;
	bool frozen;
	bool explains;
	char *explanation;	/* NULL: none */
	/* The selected open operation, by id and begin; .selects false: none is selected */
	bool selects;
	uint64_t selected_id, selected_begin;
	size_t first_open;	/* first visible row of the list */
	bool quit;
};

/*
 * Opens the screen. Returns 0, or -1 after a message: there is no terminal, or its type is
 * unknown.
 */
int screen_open(void);
/* Returns the descriptor of the keyboard, for poll(2). */
int screen_fd(void);
/* Returns the next key, or -1. KEY_RESIZE is a key, too. */
int screen_key(void);
void screen_draw(struct screen *sc, const struct snapshot *s);
/* Restores the terminal. */
void screen_close(void);

/* keys.c: handles @key. */
void screen_do(struct screen *sc, const struct snapshot *s, int key);
/* Returns the open operation that is selected, or the oldest one; NULL: none is open. */
const struct open_operation *screen_selected(const struct screen *sc, const struct snapshot *s);
/* True if an operation is selected and has not ended. */
bool screen_selects(const struct screen *sc, const struct snapshot *s);

/* messages.c: between these calls, messages are kept for later */
void messages_hold(void);
void messages_release(void);

#endif /* TOP_SCREEN_H */
