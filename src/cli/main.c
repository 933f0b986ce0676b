/* SPDX-License-Identifier: MIT
 * The `dwell` program: one table of commands. */
#include "cli/cli.h"

#include "base/map.h"

#include <signal.h>
#include <stdio.h>

struct command {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
    {"run", "run a Python program and record it", dw_cmd_run},
    {"report", "print a table of what a recording holds", dw_cmd_report},
    {"export", "turn a recording into another format", dw_cmd_export},
    {"plot", "draw memory and CPU over time", dw_cmd_plot},
    {"diff", "say what changed between two recordings, and why", dw_cmd_diff},
    {"merge", "make one recording of many processes, hosts or runs", dw_cmd_merge},
    {"time", "time Python code, and compare it with other code", dw_cmd_time},
    {"attach", "record a running Python process from outside", dw_cmd_attach},
    {"top", "watch a Python process live, in the terminal", dw_cmd_top},
    {"dump", "print what every thread of a running process is doing", dw_cmd_dump},
    {"check", "verify a recording, and say what a damaged one still holds", dw_cmd_check},
};

static int print_help(FILE *stream)
{
    fputs("dwell shows where a Python program, and the native code under it, spends its time and "
          "memory.\n"
          "\n"
          "  dwell run train.py                   run it, record it, and say where its time went\n"
          "  dwell run -o run.dwell train.py      the same, recorded in run.dwell\n"
          "  dwell report run.dwell --by line     the lines that took the time\n"
          "  dwell export run.dwell -o run.html   a page for the browser; run.svg: a flame graph\n"
          "  dwell diff old.dwell run.dwell       what got slower, and why\n"
          "  dwell top 4711                       watch process 4711 live\n"
          "\n"
          "usage: dwell COMMAND [options]\n"
          "\n",
          stream);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(stream, "  %-8s %s\n", commands[i].name, commands[i].summary);
    fputs("\n"
          "'dwell COMMAND --help' explains a command.\n",
          stream);
    return stream == stdout ? 0 : DW_EXIT_USAGE;
}

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    return NULL;
}

static int say_unknown(const char *word)
{
    struct dw_guess guess = {.typed = word};
    bool is_option = word[0] == '-';
    for (size_t i = 0; !is_option && i < sizeof commands / sizeof *commands; i++)
        dw_guess_try(&guess, commands[i].name);
    return dw_cli_unknown(is_option ? "no option" : "no command", "", &guess, "see 'dwell --help'");
}

/* `dwell help COMMAND` is `dwell COMMAND --help`. */
static int help(int argc, char **argv)
{
    if (argc < 3)
        return print_help(stdout);
    const struct command *command = find(argv[2]);
    if (!command)
        return say_unknown(argv[2]);
    char *arguments[] = {argv[2], "--help", NULL};
    return command->run(2, arguments);
}

int main(int argc, char **argv)
{
    dw_hash_choose_seed();
    signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is an error, not a crash */
    if (argc < 2)
        return print_help(stderr);
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
        return print_help(stdout);
    if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
        puts("dwell " DW_VERSION);
        return 0;
    }
    if (!strcmp(argv[1], "help"))
        return help(argc, argv);
    const struct command *command = find(argv[1]);
    return command ? command->run(argc - 1, argv + 1) : say_unknown(argv[1]);
}
