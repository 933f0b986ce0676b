/* SPDX-License-Identifier: MIT
 * `dwell top`: a process or a program that it starts, live in the terminal. */
#include "cli/cli.h"

#include "attach/sampling/describe.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/process_text.h"
#include "cli/run/child.h"
#include "cli/run/python.h"
#include "cli/sampling_options.h"
#include "cli/top/terminal.h"
#include "cli/top/top_screen.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define KEYS_EVERY_NS 50000000
#define DRAW_EVERY_NS 500000000
#define PRINT_EVERY_NS 1000000000
#define PRINTED_ROWS 20
#define OTHER_ROWS 7                  /* lines of the terminal that the last table leaves free */
#define PATIENCE_NS 500000000         /* with a process that is only starting */
#define CHILD_PATIENCE_NS 10000000000 /* with one that we started */

static const char help[] =
    "usage: dwell top PID [--rate HZ] [--count N]\n"
    "       dwell top [--rate HZ] [--count N] -- script.py | -m module | -c code  [arguments...]\n"
    "\n"
    "Shows live where a Python process spends its time, or a program that it starts. The process\n"
    "needs nothing installed, is not changed, and goes on running.\n"
    "\n"
    "  --rate HZ    samples a second (default: 100), or 'max'\n"
    "  --count N    without a terminal: end after N tables, one a second\n"
    "\n"
    "keys: o, t  sort by own or total time    l  lines or functions    h  threads\n"
    "      g  only while holding the GIL      w  also while waiting\n"
    "      p  pause    r  start counting anew    ?  help    q  quit\n"
    "\n"
    "The last table stays when it ends. Into a pipe or a file it prints a table a second. What a\n"
    "program started here writes is shown when the screen is left; 'q' ends the program too.\n";

struct top {
    struct dw_recording_options options;
    struct dw_recording recording;
    struct dw_top_screen screen;
    struct dw_out program; /* its name */
    char **arguments;      /* of the program to start; NULL: none */
    bool has_terminal;
    int output; /* what the program writes, until the screen is left; -1: it writes itself */
    uint64_t count;
};

/* The recording feeds the table, which is made only when the log is. */
static void feed(void *context, uint32_t thread, dw_path_id stack, uint32_t state,
                 uint64_t weight_ns)
{
    struct top *top = context;
    if (!top->screen.is_paused)
        dw_top_table_add(&top->screen.table, thread, stack, state, weight_ns);
}

static void press(struct top *top, char key, uint64_t now_ns)
{
    struct dw_top_screen *screen = &top->screen;
    struct dw_top_view *view = &screen->view;
    switch (key) {
    case 'o': view->by_total = false; break;
    case 't': view->by_total = true; break;
    case 'l': view->by = view->by == DW_TOP_LINES ? DW_TOP_FUNCTIONS : DW_TOP_LINES; break;
    case 'h': view->by = view->by == DW_TOP_THREADS ? DW_TOP_FUNCTIONS : DW_TOP_THREADS; break;
    case 'g': view->only_gil = !view->only_gil; break;
    case 'w': view->with_waiting = !view->with_waiting; break;
    case 'p': screen->is_paused = !screen->is_paused; break;
    case 'r': dw_top_table_reset(&screen->table, now_ns); break;
    case '?': screen->shows_help = !screen->shows_help; break;
    case 'q': dw_cli_stopped = 1; break;
    default: break;
    }
}

static bool press_all(struct top *top, uint64_t now_ns)
{
    bool any = false;
    for (char key; (key = dw_terminal_key());) {
        press(top, key, now_ns);
        any = true;
    }
    return any;
}

/* While it is paused the times stand still, but the rows can be looked at in other ways. */
static void update(struct top *top, uint64_t now_ns)
{
    struct dw_top_table *table = &top->screen.table;
    if (top->screen.is_paused)
        table->faded_ns = now_ns;
    dw_top_table_update(table, &top->screen.view, now_ns);
}

static int draw(struct top *top, uint64_t now_ns)
{
    struct dw_out out;
    unsigned columns, rows;
    dw_terminal_size(&columns, &rows);
    update(top, now_ns);
    dw_out_init_fd(&out, STDOUT_FILENO);
    dw_top_draw(&top->screen, columns, rows, &out);
    return dw_out_close(&out);
}

static int print(struct top *top, uint64_t now_ns, uint32_t limit)
{
    struct dw_out out;
    update(top, now_ns);
    dw_out_init_fd(&out, STDOUT_FILENO);
    dw_top_print(&top->screen, (unsigned)dw_cli_width(STDOUT_FILENO), limit, &out);
    return dw_out_close(&out);
}

/* The last table stays, with the command above it and the prompt below. */
static int print_last(struct top *top)
{
    unsigned columns, rows;
    dw_terminal_size(&columns, &rows);
    return print(top, dw_clock_ns(CLOCK_MONOTONIC), rows > OTHER_ROWS ? rows - OTHER_ROWS : 1);
}

static int watch_in_terminal(struct top *top)
{
    uint64_t drawn_ns = 0, first_ns = dw_clock_ns(CLOCK_MONOTONIC) + KEYS_EVERY_NS;
    int error = dw_recording_run(&top->recording, first_ns, &dw_cli_stopped);
    while (!error && !dw_cli_stopped && !top->recording.is_over) {
        uint64_t now_ns = dw_clock_ns(CLOCK_MONOTONIC);
        bool is_due = now_ns - drawn_ns >= DRAW_EVERY_NS;
        bool has_changed = dw_terminal_has_changed();
        if (press_all(top, now_ns) || has_changed || is_due) {
            error = draw(top, now_ns);
            drawn_ns = now_ns;
        }
        if (!error)
            error = dw_recording_run(&top->recording, now_ns + KEYS_EVERY_NS, &dw_cli_stopped);
    }
    return error;
}

static int watch_in_pipe(struct top *top)
{
    uint64_t next_ns = dw_clock_ns(CLOCK_MONOTONIC);
    int error = 0;
    for (uint64_t i = 0; !error && !dw_cli_stopped && i < top->count && !top->recording.is_over;
         i++) {
        next_ns += PRINT_EVERY_NS;
        error = dw_recording_run(&top->recording, next_ns, &dw_cli_stopped);
        if (!error)
            error = print(top, dw_clock_ns(CLOCK_MONOTONIC), PRINTED_ROWS);
    }
    return error == DW_ERR_IO && errno == EPIPE ? 0 : error;
}

static int watch(struct top *top)
{
    struct dw_top_screen *screen = &top->screen;
    screen->recording = &top->recording;
    dw_top_table_init(&screen->table, dw_recording_log(&top->recording, 0),
                      dw_clock_ns(CLOCK_MONOTONIC));
    dw_target_put_program(&dw_recording_sampler(&top->recording)->target, &top->program);
    dw_out_char(&top->program, 0);
    screen->program = (const char *)top->program.buffer.data;
    if (top->has_terminal && dw_terminal_enter()) {
        int error = watch_in_terminal(top);
        dw_terminal_leave();
        return error ? error : print_last(top);
    }
    return watch_in_pipe(top);
}

static int run(struct top *top)
{
    pid_t pid = top->options.pid;
    uint64_t patience_ns = top->arguments ? CHILD_PATIENCE_NS : PATIENCE_NS;
    int error = dw_recording_begin(&top->recording, &top->options, patience_ns), status = 0;
    bool has_ended = error == DW_ERR_ENDED || error == DW_ERR_NO_PROCESS;
    if (error && !(top->arguments && has_ended))
        status = dw_cli_process_trouble(pid, &dw_recording_sampler(&top->recording)->python, error);
    else if (!error && (error = watch(top)))
        status = dw_cli_error("standard output", error);
    if (!status && (has_ended || top->recording.is_over))
        dw_cli_process_end(pid, top->recording.is_barred);
    dw_top_table_release(&top->screen.table);
    dw_recording_release(&top->recording);
    return status;
}

/* What the program wrote while the screen was in use. */
static void show_output(int output)
{
    char bytes[8192];
    ssize_t size;
    if (output < 0 || lseek(output, 0, SEEK_SET))
        return;
    while ((size = read(output, bytes, sizeof bytes)) > 0)
        if (write(STDOUT_FILENO, bytes, (size_t)size) != size)
            break;
    close(output);
}

static int run_program(struct top *top)
{
    char found[PATH_MAX];
    const char *python = dw_python_find(found, sizeof found);
    if (top->has_terminal)
        top->output = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    top->options.pid =
        dw_child_start(python, top->arguments, (const int[]){-1, top->output, top->output});
    if (top->options.pid < 0)
        return dw_cli_error(python, DW_ERR_IO), 127;
    int status = run(top);
    if (dw_cli_stopped)
        kill(top->options.pid, SIGTERM);
    int child_status = dw_child_wait(top->options.pid);
    show_output(top->output);
    return status || dw_cli_stopped ? status : dw_child_exit(child_status);
}

static int parse_count(const char *word, uint64_t *count)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(word, &end, 10);
    if (*word < '0' || *word > '9' || *end || errno || !value)
        return dw_cli_usage("--count needs a number, not '%s'", word);
    *count = value;
    return 0;
}

/* Cuts argv at "--": what follows is the program. */
static int find_program(struct top *top, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") != 0)
            continue;
        top->arguments = argv + i + 1;
        return i;
    }
    return argc;
}

int dw_cmd_top(int argc, char **argv)
{
    struct top top = {
        .options = {.mode = DW_SAMPLE_WALL, .seen = feed}, .output = -1, .count = UINT64_MAX};
    const char *rate = "100", *count = NULL;
    const struct dw_option options[] = {
        {.name = "rate", .letter = 'r', .value = &rate},
        {.name = "count", .letter = 'n', .value = &count},
        {.name = NULL},
    };
    if (dw_cli_help(argc, argv, help))
        return 0;
    int operands = dw_cli_parse(options, find_program(&top, argc, argv), argv);
    if (operands < 0)
        return DW_EXIT_USAGE;
    bool has_program = top.arguments && top.arguments[0];
    if (top.arguments ? operands || !has_program : operands != 1)
        return dw_cli_usage(
            "top needs one process id, or -- and a program; see 'dwell top --help'");
    if ((!has_program && dw_cli_parse_pid("top", argv[1], &top.options.pid)) ||
        dw_cli_parse_rate(rate, &top.options.period_ns) ||
        (count && parse_count(count, &top.count)))
        return DW_EXIT_USAGE;
    top.options.seen_context = &top;
    top.has_terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    dw_out_init_memory(&top.program);
    dw_cli_catch_stop();
    int status = has_program ? run_program(&top) : run(&top);
    dw_out_close(&top.program);
    return status;
}
