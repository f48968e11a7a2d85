// SPDX-License-Identifier: GPL-2.0-or-later
/* Handles keys: selection, filter, modes of the screen */
#include <ncurses.h>
#include <string.h>

#include "screen.h"

#define KEY_ESCAPE	27

/*
 * Finds the row of the selected operation in the list. Returns false, and sets *@row to 0, if none
 * is selected or it has ended.
 */
static bool find_selected(const struct screen *sc, const struct snapshot *s, size_t *row)
{
	const struct view *v = &sc->view;

	for (*row = 0; sc->selects && *row < v->nr_open; ++*row) {
		const struct open_operation *op = &s->open[v->open[*row]];

		if (op->id == sc->selected_id && op->begin == sc->selected_begin)
			return true;
	}
	*row = 0;
	return false;
}

static size_t selected_row(const struct screen *sc, const struct snapshot *s)
{
	size_t row;

	find_selected(sc, s, &row);
	return row;
}

bool screen_selects(const struct screen *sc, const struct snapshot *s)
{
	size_t row;

	return find_selected(sc, s, &row);
}

const struct open_operation *screen_selected(const struct screen *sc, const struct snapshot *s)
{
	return sc->view.nr_open ? &s->open[sc->view.open[selected_row(sc, s)]] : NULL;
}

static void select_row(struct screen *sc, const struct snapshot *s, size_t row)
{
	const struct open_operation *op;

	if (row >= sc->view.nr_open)
		return;
	op = &s->open[sc->view.open[row]];
	sc->selects = true;
	sc->selected_id = op->id;
	sc->selected_begin = op->begin;
}

/* Edits the filter. A character of several bytes arrives as several keys, one for each byte. */
static void edit_filter(struct screen *sc, int key)
{
	char *filter = sc->view.filter;
	size_t len = strlen(filter);

	switch (key) {
	case '\n':
	case '\r':
	case KEY_ENTER:
		sc->mode = SCREEN_TABLES;
		break;
	case KEY_ESCAPE:
		sc->mode = SCREEN_TABLES;
		filter[0] = 0;
		break;
	case KEY_BACKSPACE:
	case '\b':
	case 127:
		/* Remove all bytes of the character. */
		while (len && (filter[--len] & 0xc0) == 0x80)
			;
		filter[len] = 0;
		break;
	default:
		if (key >= ' ' && key <= 255 && len < FILTER_MAX) {
			filter[len] = key;
			filter[len + 1] = 0;
		}
	}
}

static void do_in_tables(struct screen *sc, const struct snapshot *s, int key)
{
	switch (key) {
	case 'q':
		sc->quit = true;
		break;
	case '?':
	case 'h':
		sc->mode = SCREEN_HELP;
		break;
	case 's':
		sc->view.sort = (sc->view.sort + 1) % VIEW_SORTS;
		break;
	case 'S':
		sc->view.sort = (sc->view.sort + VIEW_SORTS - 1) % VIEW_SORTS;
		break;
	case 't':
		sc->view.since_start = !sc->view.since_start;
		break;
	case 'f':
	case ' ':
		sc->frozen = !sc->frozen;
		break;
	case '/':
		sc->mode = SCREEN_FILTER;
		break;
	case 'e':
	case '\n':
	case '\r':
	case KEY_ENTER:
		sc->explains = !sc->explains;
		break;
	case KEY_UP:
	case 'k':
		if (selected_row(sc, s))
			select_row(sc, s, selected_row(sc, s) - 1);
		break;
	case KEY_DOWN:
	case 'j':
		select_row(sc, s, screen_selects(sc, s) ? selected_row(sc, s) + 1 : 0);
		break;
	case KEY_ESCAPE:
		sc->selects = false;
		sc->view.filter[0] = 0;
	}
}

void screen_do(struct screen *sc, const struct snapshot *s, int key)
{
	if (key == KEY_RESIZE)
		return;
	if (sc->mode == SCREEN_FILTER) {
		edit_filter(sc, key);
	} else if (sc->mode == SCREEN_HELP) {
		sc->mode = SCREEN_TABLES;
		sc->quit = key == 'q';
	} else {
		do_in_tables(sc, s, key);
	}
}
