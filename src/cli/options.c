/* SPDX-License-Identifier: MIT
 * Command lines in the GNU manner: options and operands in any order, values as
 * `--by x`, `--by=x`, `-o x` or `-ox`, and `--` before operands that look like options. */
#include "cli/cli.h"

#include "base/grow.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

int dw_cli_unknown(const char *sentence, const char *prefix, const struct dw_guess *guess,
                   const char *otherwise, ...)
{
    fprintf(stderr, "dwell: %s '%s%s'; ", sentence, prefix, guess->typed);
    if (guess->meant) {
        fprintf(stderr, "did you mean '%s%s'?\n", prefix, guess->meant);
        return DW_EXIT_USAGE;
    }
    va_list arguments;
    va_start(arguments, otherwise);
    vfprintf(stderr, otherwise, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    return DW_EXIT_USAGE;
}

int dw_cli_find_word(const char *what, const char *word, const char *const *words)
{
    struct dw_out list;
    struct dw_guess guess = {.typed = word};
    dw_out_init_memory(&list);
    for (int i = 0; words[i]; i++) {
        if (!strcmp(words[i], word)) {
            dw_out_close(&list);
            return i;
        }
        dw_guess_try(&guess, words[i]);
        dw_out_text(&list, i ? ", " : "");
        dw_out_text(&list, words[i]);
    }
    dw_cli_unknown(what, "", &guess, "there are: %.*s", (int)list.buffer.size,
                   (const char *)list.buffer.data);
    dw_out_close(&list);
    return -1;
}

bool dw_cli_help(int argc, char **argv, const char *text)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            fputs(text, stdout);
            return true;
        }
    }
    return false;
}

/* The option that the argument names, and the value written in the same word, if any. */
static const struct dw_option *find(const struct dw_option *options, const char *argument,
                                    const char **value)
{
    bool is_long = argument[1] == '-';
    size_t length = is_long ? strcspn(argument + 2, "=") : 1;
    const char *rest = argument + (is_long ? 2 : 1) + length;
    for (; options->name; options++) {
        bool match = is_long ? strlen(options->name) == length &&
                                   !strncmp(options->name, argument + 2, length)
                             : options->letter && options->letter == argument[1];
        if (!match)
            continue;
        *value = is_long && *rest ? rest + 1 : *rest ? rest : NULL;
        return options;
    }
    return NULL;
}

/* Only long names are guessed. */
static void say_unknown(const struct dw_option *options, const char *argument, const char *command)
{
    bool is_long = argument[1] == '-';
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(argument + 1 + is_long, "="),
             argument + 1 + is_long);
    struct dw_guess guess = {.typed = name};
    for (; is_long && options->name; options++)
        dw_guess_try(&guess, options->name);
    dw_cli_unknown("no option", is_long ? "--" : "-", &guess, "see 'dwell %s --help'", command);
}

static bool keep(const struct dw_option *option, const char *value)
{
    struct dw_option_uses *uses = option->uses;
    if (option->value)
        *option->value = value;
    if (!uses)
        return true;
    if (DW_GROW(uses->uses, uses->count, uses->capacity)) {
        dw_cli_usage("out of memory");
        return false;
    }
    uses->uses[uses->count++] = (struct dw_option_use){option->name, value};
    return true;
}

/* Handles the option at argv[*at]; false after saying what is wrong. */
static bool take(const struct dw_option *options, int argc, char **argv, int *at)
{
    const char *value = NULL;
    const struct dw_option *option = find(options, argv[*at], &value);
    if (!option) {
        say_unknown(options, argv[*at], argv[0]);
        return false;
    }
    if (option->flag) {
        *option->flag = true;
        if (value && !option->value)
            dw_cli_usage("--%s takes no value", option->name);
        return !value || (option->value && keep(option, value));
    }
    if (!value && *at + 1 < argc)
        value = argv[++*at];
    if (!value)
        dw_cli_usage("--%s needs a value", option->name);
    return value && keep(option, value);
}

int dw_cli_parse(const struct dw_option *options, int argc, char **argv)
{
    int operands = 0;
    bool only_operands = false;
    for (int at = 1; at < argc; at++) {
        bool is_option = !only_operands && argv[at][0] == '-' && argv[at][1];
        if (is_option && !strcmp(argv[at], "--"))
            only_operands = true;
        else if (!is_option)
            argv[++operands] = argv[at];
        else if (!take(options, argc, argv, &at))
            return -1;
    }
    return operands;
}

int dw_cli_parse_files(const struct dw_option *options, int argc, char **argv)
{
    int files = dw_cli_parse(options, argc, argv);
    if (!files)
        dw_cli_usage("%s needs a file; see 'dwell %s --help'", argv[0], argv[0]);
    return files ? files : -1;
}

bool dw_cli_parse_number(const char *text, double *number, const char **rest)
{
    char *end;
    *number = strtod(text, &end);
    *rest = end;
    return end != text && *text != '-' && *text != '+' && isfinite(*number);
}

bool dw_cli_parse_amount(const char *text, const struct dw_unit_word *units,
                         int (*compare)(const char *, const char *), double *amount)
{
    const char *rest;
    bool is_number = dw_cli_parse_number(text, amount, &rest);
    rest += strspn(rest, " ");
    for (; is_number && units->word; units++)
        if (!compare(rest, units->word)) {
            *amount *= units->size;
            return true;
        }
    return false;
}

bool dw_cli_parse_bytes(const char *text, double *bytes)
{
    static const struct dw_unit_word units[] = {
        {"", 1},        {"B", 1},         {"K", 1 << 10},   {"M", 1 << 20},
        {"G", 1 << 30}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30},
        {"KB", 1e3},    {"MB", 1e6},      {"GB", 1e9},      {NULL, 0}};
    return dw_cli_parse_amount(text, units, strcasecmp, bytes);
}

int dw_cli_parse_threshold(const char *text, double *share)
{
    const char *rest;
    double number;
    if (!dw_cli_parse_number(text, &number, &rest) || (*rest && strcmp(rest, "%") != 0) ||
        number > 100)
        return dw_cli_usage("--threshold needs a share such as 1%%, not '%s'", text);
    *share = number / 100;
    return 0;
}
