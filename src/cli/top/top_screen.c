/* SPDX-License-Identifier: MIT
 * The numbers have fixed columns and names take what is left; each line is cut to the screen after
 * it is made. */
#include "cli/top/top_screen.h"

#include "attach/sampling/describe.h"
#include "lens/table/fit.h"

#include <math.h>

#define HOME "\033[H"
#define END_OF_LINE "\033[K\r\n"
#define CLEAR_BELOW "\033[J"
#define REVERSE "\033[7m"
#define PLAIN "\033[0m"
#define COLUMN_WIDTH 38 /* of the numbers before a name */
#define FIT_WIDTH 24    /* a name with less than this is cut at its end */
#define HEAD_ROWS 5

static const char *const help_lines[] = {
    "o  sort by own time          t  sort by total time",
    "l  lines or functions        h  threads",
    "g  only while holding the GIL",
    "w  also while waiting",
    "p  pause                     r  start counting anew",
    "q  quit                      ?  this help",
    "",
    "own: in the function itself; total: also in what it called.",
    "Percentages are of the last seconds; seconds are since the start.",
};

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static const char *title_of(const struct dw_top_view *view)
{
    return view->by == DW_TOP_THREADS ? "thread" : view->by == DW_TOP_LINES ? "line" : "function";
}

/* The program's name gives way, so that the rest fits; 0 columns: any number. */
static void put_head(const struct dw_top_screen *screen, unsigned columns, struct dw_out *out)
{
    const struct dw_sampler *sampler = dw_recording_sampler(screen->recording);
    struct dw_out before, after;
    dw_out_init_memory(&before);
    dw_out_init_memory(&after);
    dw_out_printf(&before, "process %d: ", (int)screen->recording->options.pid);
    dw_out_text(&after, ", Python ");
    dw_python_put_version(sampler->python.version, &after);
    dw_out_printf(&after, ", %u thread%s%s", sampler->thread_count,
                  sampler->thread_count == 1 ? "" : "s", sampler->is_lost ? ", no Python now" : "");
    size_t others = before.buffer.size + after.buffer.size;
    size_t room = columns > others + FIT_WIDTH ? columns - others : FIT_WIDTH;
    dw_out_write(out, before.buffer.data, before.buffer.size);
    dw_fit_put(out, screen->program, strlen(screen->program), columns ? room : 0);
    dw_out_write(out, after.buffer.data, after.buffer.size);
    dw_out_close(&before);
    dw_out_close(&after);
}

static void put_rates(const struct dw_top_screen *screen, unsigned columns, struct dw_out *out)
{
    (void)columns;
    struct dw_recording_numbers numbers = dw_recording_numbers(screen->recording);
    dw_out_printf(out, "GIL held %.0f %%, %.0f samples a second; 100 %% is one thread all the time",
                  fmin(100, percent(screen->table.gil.recent, screen->table.elapsed.recent)),
                  numbers.rate_hz);
}

static void put_mode(const struct dw_top_screen *screen, unsigned columns, struct dw_out *out)
{
    (void)columns;
    const struct dw_top_view *view = &screen->view;
    dw_out_printf(out, "%ss by %s time%s%s%s   ? help, q quit", title_of(view),
                  view->by_total ? "total" : "own", view->only_gil ? ", holding the GIL" : "",
                  view->with_waiting && view->by != DW_TOP_THREADS ? ", waiting too" : "",
                  screen->is_paused ? ", PAUSED" : "");
}

static void put_title(const struct dw_top_screen *screen, unsigned columns, struct dw_out *out)
{
    (void)columns;
    const char *word = screen->view.only_gil ? "holds" : "runs";
    if (screen->view.by == DW_TOP_THREADS)
        dw_out_printf(out, "%6s%% %7s %7s s %9s   thread", word, "all%", word, "all s");
    else
        dw_out_printf(out, "%7s %7s %9s %9s   %s", "own%", "total%", "own s", "total s",
                      title_of(&screen->view));
}

static void put_numbers(const struct dw_top_screen *screen, const struct dw_top_row *row,
                        struct dw_out *out)
{
    double elapsed = screen->table.elapsed.recent;
    dw_out_printf(out, "%7.1f %7.1f %9.2f %9.2f   ", percent(row->own.recent, elapsed),
                  percent(row->total.recent, elapsed), row->own.all, row->total.all);
}

/* Writes a line and closes it, cut where the screen ends. Each of its characters takes a column. */
static void end_line(struct dw_out *line, unsigned columns, struct dw_out *out)
{
    const uint8_t *text = line->buffer.data, *end = text + line->buffer.size, *at = text;
    for (unsigned used = 0; used < columns && at < end; used++)
        at += dw_utf8_length(at, end);
    dw_out_write(out, text, (size_t)(at - text));
    dw_out_text(out, END_OF_LINE);
    dw_out_close(line);
}

static void draw_help(unsigned columns, unsigned rows, struct dw_out *out)
{
    struct dw_out line;
    for (size_t i = 0; i < sizeof help_lines / sizeof *help_lines && i + HEAD_ROWS < rows; i++) {
        dw_out_init_memory(&line);
        dw_out_text(&line, help_lines[i]);
        end_line(&line, columns, out);
    }
}

static void put_row(const struct dw_top_screen *screen, const struct dw_top_row *row,
                    unsigned columns, struct dw_out *out)
{
    struct dw_out name;
    dw_out_init_memory(&name);
    dw_top_row_put_name(&screen->table, &screen->view, row, &name);
    put_numbers(screen, row, out);
    bool has_room = columns >= COLUMN_WIDTH + FIT_WIDTH;
    dw_fit_put(out, name.buffer.data, name.buffer.size, has_room ? columns - COLUMN_WIDTH : 0);
    dw_out_close(&name);
}

static void draw_row(const struct dw_top_screen *screen, const struct dw_top_row *row,
                     unsigned columns, struct dw_out *out)
{
    struct dw_out line;
    dw_out_init_memory(&line);
    put_row(screen, row, columns, &line);
    end_line(&line, columns, out);
}

static void draw_head(const struct dw_top_screen *screen, unsigned columns, struct dw_out *out)
{
    static void (*const puts[])(const struct dw_top_screen *, unsigned,
                                struct dw_out *) = {put_head, put_rates, put_mode, put_title};
    for (size_t i = 0; i < sizeof puts / sizeof *puts; i++) {
        struct dw_out line;
        dw_out_init_memory(&line);
        puts[i](screen, columns, &line);
        dw_out_text(out, puts[i] == put_title ? REVERSE : "");
        end_line(&line, columns, out);
    }
    dw_out_text(out, PLAIN);
}

void dw_top_draw(const struct dw_top_screen *screen, unsigned columns, unsigned rows,
                 struct dw_out *out)
{
    dw_out_text(out, HOME);
    draw_head(screen, columns, out);
    if (screen->shows_help)
        draw_help(columns, rows, out);
    for (uint32_t i = 0; !screen->shows_help && i < screen->table.row_count && i + HEAD_ROWS < rows;
         i++)
        draw_row(screen, &screen->table.rows[i], columns, out);
    dw_out_text(out, CLEAR_BELOW);
}

void dw_top_print(const struct dw_top_screen *screen, unsigned columns, uint32_t limit,
                  struct dw_out *out)
{
    put_head(screen, columns, out);
    dw_out_char(out, '\n');
    put_rates(screen, columns, out);
    dw_out_char(out, '\n');
    put_title(screen, columns, out);
    dw_out_char(out, '\n');
    for (uint32_t i = 0; i < screen->table.row_count && i < limit; i++) {
        put_row(screen, &screen->table.rows[i], columns, out);
        dw_out_char(out, '\n');
    }
    dw_out_char(out, '\n');
}
