// SPDX-License-Identifier: GPL-2.0-or-later
/* Draws the screen with ncurses */
#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fxt/utf8.h"
#include "lines.h"
#include "screen.h"
#include "tool.h"

#define COLUMNS_MIN	50
#define LINES_MIN	10
/* Maximum width of the names of types and open operations */
#define NAME_MAX_COLUMNS	40

static const char *const help[] = {
	"Types of operations: ends in a second, latencies in milliseconds,",
	"and the shares of their time in each state:",
	"  RUN%  running: a thread that worked on them had a CPU",
	"  WAIT  runnable: the thread waited for a CPU",
	"  BLCK  blocked: the thread slept",
	"  QUEU  queued: no thread worked on them",
	"  UNKN  unknown: records that show the state are missing",
	"P50 and P99 are at most 1/32 above the exact ones; MAX is exact.",
	"",
	"  s, S       sort by the next or the previous column",
	"  t          the last 10 seconds, or all since the start",
	"  /          show only types and providers with this text in their names",
	"  f, Space   freeze, or continue",
	"  Up, Down   select an open operation (also k, j)",
	"  e, Enter   explain the selected or the oldest operation",
	"  Escape     no selection, no filter",
	"  q, Ctrl-C  quit",
	"",
	"Numbers of types are complete up to the delay in the first line.",
};

static FILE *terminal;
static SCREEN *screen;

/* --- opening, closing ----------------------------------------------------------------- */

static int refuse(const char *format, const char *what)
{
	tool_error(format, what);
	if (terminal)
		fclose(terminal);
	terminal = NULL;
	return -1;
}

int screen_open(void)
{
	const char *term = getenv("TERM");

	if (!isatty(STDOUT_FILENO))
		return refuse("standard output is not a terminal; use --batch%s", "");
	if (!term || !*term)
		return refuse("TERM is not set, so the terminal cannot be used; set it, or use --batch%s",
			      "");
	/* Read keys from the terminal device, because standard input may be the trace. */
	terminal = fopen("/dev/tty", "r+e");
	if (!terminal)
		return refuse("there is no terminal to read keys from; use --batch%s", "");
	screen = newterm(NULL, stdout, terminal);
	if (!screen)
		return refuse("the terminal '%s' is not known: TERM is wrong, or its package is not installed (ncurses-term); or use --batch",
			      tool_text(term));
	if (!tigetstr("cup") || tigetstr("cup") == (char *)-1) {
		screen_close();
		return refuse("the terminal '%s' cannot move its cursor; use --batch", tool_text(term));
	}
	messages_hold();
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	/* Shortens the wait that tells the Escape key from escape sequences. */
	set_escdelay(50);
	curs_set(0);
	return 0;
}

void screen_close(void)
{
	if (!screen)
		return;
	endwin();
	delscreen(screen);
	screen = NULL;
	if (terminal)
		fclose(terminal);
	terminal = NULL;
	messages_release();
}

int screen_fd(void)
{
	return fileno(terminal);
}

int screen_key(void)
{
	int key = getch();

	return key == ERR ? -1 : key;
}

/* --- drawing ---------------------------------------------------------------------------- */

/* Draws one line of @text. Characters that the terminal's character set lacks become '?'. */
static void put_line(int y, int attributes, const char *text)
{
	const size_t len = strlen(text);
	int columns;

	attrset(attributes);
	move(y, 0);
	for (size_t at = 0, left = lines_fit(text, COLS, &columns); left;) {
		uint32_t code;
		const size_t n = fxt_char(text + at, len - at, &code);
		const wchar_t c[2] = { n && wcwidth(code) >= 0 ? (wchar_t)code : L'?' };

		addnwstr(c, 1);
		at += n ? n : 1;
		left -= n ? n : 1;
	}
	/* Extend a highlighted line to the width of the screen. */
	if (attributes & A_REVERSE)
		hline(' ' | attributes, COLS - columns);
	attrset(A_NORMAL);
}

struct line {
	char *text;
	size_t len;
	FILE *f;
};

static FILE *line_begin(struct line *l)
{
	l->text = NULL;
	l->f = open_memstream(&l->text, &l->len);
	return l->f;
}

static void line_put(struct line *l, int y, int attributes)
{
	fclose(l->f);
	/* If memory for the text is missing, the line stays empty. */
	if (l->text)
		put_line(y, attributes, l->text);
	free(l->text);
}

/* Draws a line broken at spaces, from @y until before @end. Returns the next @y. */
static int put_sentence(int y, int end, const char *text)
{
	while (*text && y < end) {
		int columns;
		size_t bytes = lines_fit(text, COLS, &columns), at = bytes;
		char *line;

		while (text[bytes] && at && text[at] != ' ')
			at--;
		if (text[bytes] && at)
			bytes = at;
		/* Stop if a single character is wider than the screen. */
		if (!bytes)
			return y;
		line = strndup(text, bytes);
		if (!line)
			return y;
		put_line(y++, A_NORMAL, line);
		free(line);
		text += bytes;
		text += strspn(text, " ");
	}
	return y;
}

/*
 * Draws lines of @text. Sentences are broken. Lines of tables begin with a space and are cut.
 */
static void put_text(int y, int end, const char *text)
{
	while (*text && y < end) {
		const size_t len = strcspn(text, "\n");
		char *line = strndup(text, len);

		if (!line)
			return;
		if (*line == ' ')
			put_line(y++, A_NORMAL, line);
		else
			y = put_sentence(y, end, line);
		free(line);
		text += len + (text[len] == '\n');
	}
}

static int name_width(int columns)
{
	const int width = columns - LINES_NUMBERS - 2;

	return width < 8 ? 8 : width > NAME_MAX_COLUMNS ? NAME_MAX_COLUMNS : width;
}

static int draw_head(const struct screen *sc, const struct snapshot *s)
{
	struct line l;
	int y = 0;

	for (; y < 2; y++) {
		if (!line_begin(&l))
			return y;
		if (!y && sc->frozen)
			fputs("FROZEN ", l.f);
		lines_head(l.f, s, &sc->view, sc->source, y);
		line_put(&l, y, y ? A_NORMAL : A_BOLD);
	}
	if (line_begin(&l)) {
		lines_warning(l.f, s);
		line_put(&l, y, A_BOLD);
	}
	return y + 1;
}

static int draw_types(const struct screen *sc, int y, int end)
{
	const struct view *v = &sc->view;
	struct line l;

	if (line_begin(&l)) {
		lines_types_title(l.f, name_width(COLS));
		line_put(&l, y, A_REVERSE);
	}
	y++;
	for (size_t i = 0; i < v->nr_types && y < end; i++, y++) {
		if (!line_begin(&l))
			return y;
		/* The last line shows how many types are missing. */
		if (y + 1 == end && i + 1 < v->nr_types)
			fprintf(l.f, "  and %zu more types", v->nr_types - i);
		else
			lines_type(l.f, v, v->types[i], name_width(COLS));
		line_put(&l, y, A_NORMAL);
	}
	return y;
}

/* Scrolls the list until row @at is visible. */
static void scroll_to(struct screen *sc, size_t at, size_t rows)
{
	if (at < sc->first_open)
		sc->first_open = at;
	if (rows && at >= sc->first_open + rows)
		sc->first_open = at - rows + 1;
}

static void draw_open(struct screen *sc, const struct snapshot *s, int y, int end)
{
	const struct open_operation *selected = screen_selects(sc, s) ?
						screen_selected(sc, s) : NULL;
	const struct view *v = &sc->view;
	size_t at = 0;
	struct line l;

	/* On a low screen, the explanation replaces the list. */
	if (y >= end)
		return;
	if (line_begin(&l)) {
		lines_open_title(l.f, s, v);
		line_put(&l, y, A_REVERSE);
	}
	while (selected && &s->open[v->open[at]] != selected)
		at++;
	scroll_to(sc, at, end - y - 1);
	y++;
	for (size_t i = sc->first_open; i < v->nr_open && y < end; i++, y++) {
		const struct open_operation *op = &s->open[v->open[i]];

		if (!line_begin(&l))
			return;
		fputs(op == selected ? "> " : "  ", l.f);
		lines_open(l.f, op, s->ages[v->open[i]], name_width(COLS) - 2);
		line_put(&l, y, op == selected ? A_BOLD : A_NORMAL);
	}
}

static void draw_explanation(const struct screen *sc, const struct snapshot *s, int y, int end)
{
	struct line l;

	if (line_begin(&l)) {
		fprintf(l.f, "WHY: the %s operation", screen_selects(sc, s) ? "selected" : "oldest open");
		if (s->delay)
			fprintf(l.f, ", as of %.1f s ago", s->delay / 1e9);
		line_put(&l, y, A_REVERSE);
	}
	put_text(y + 1, end, sc->explanation ? sc->explanation : "No operation is open.");
}

static void draw_help(void)
{
	const int nr = sizeof(help) / sizeof(help[0]);

	for (int i = 0; i < nr && i < LINES - 1; i++)
		put_line(i, A_NORMAL, help[i]);
	put_line(LINES - 1, A_REVERSE, "any key goes back");
}

static void draw_last_line(const struct screen *sc)
{
	char text[FILTER_MAX + 64];

	if (sc->mode == SCREEN_FILTER) {
		snprintf(text, sizeof(text), "show only: %s_   (Enter, Escape)",
			 tool_text(sc->view.filter));
		put_line(LINES - 1, A_REVERSE, text);
	} else {
		put_line(LINES - 1, A_REVERSE,
			 "q quit  ? help  s sort  t time  / filter  f freeze  e explain  Up/Down select");
	}
}

/*
 * Divides the lines: types get what they need, up to half. The explanation gets two thirds of
 * the rest.
 */
static void draw_tables(struct screen *sc, const struct snapshot *s)
{
	const int end = LINES - 1;
	int y = draw_head(sc, s);
	int types = sc->view.nr_types ? sc->view.nr_types : 1, open, why = end;

	if (types > (end - y) / 2 - 1)
		types = (end - y) / 2 - 1;
	open = draw_types(sc, y, y + 1 + types) + 1;
	if (sc->explains) {
		why = open + (end - open) / 3;
		draw_explanation(sc, s, why, end);
	}
	draw_open(sc, s, open, why);
	draw_last_line(sc);
}

void screen_draw(struct screen *sc, const struct snapshot *s)
{
	char text[80];

	erase();
	if (COLS < COLUMNS_MIN || LINES < LINES_MIN) {
		snprintf(text, sizeof(text), "%dx%d is too small: needs %dx%d", COLS, LINES,
			 COLUMNS_MIN, LINES_MIN);
		put_line(0, A_NORMAL, text);
	} else if (sc->mode == SCREEN_HELP) {
		draw_help();
	} else {
		draw_tables(sc, s);
	}
	refresh();
}
