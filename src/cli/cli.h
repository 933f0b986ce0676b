/* SPDX-License-Identifier: MIT
 * What the commands share. A command gets argv from its own name on and returns
 * the exit status: 0, 1 for trouble with a file, 2 for bad usage. */
#ifndef DW_CLI_CLI_H
#define DW_CLI_CLI_H

#include "base/file.h"
#include "base/guess.h"
#include "lens/table/view_report.h"
#include "lens/view/function_list.h"
#include "lens/view/line_list.h"
#include "lens/view/measured.h"
#include "lens/view/stack_tree.h"
#include "model/prepare/prepare.h"
#include "native/debug/annotate.h"

#define DW_EXIT_TROUBLE 1
#define DW_EXIT_USAGE 2

int dw_cmd_run(int argc, char **argv);
int dw_cmd_report(int argc, char **argv);
int dw_cmd_export(int argc, char **argv);
int dw_cmd_merge(int argc, char **argv);
int dw_cmd_time(int argc, char **argv);
int dw_cmd_check(int argc, char **argv);
int dw_cmd_diff(int argc, char **argv);
int dw_cmd_dump(int argc, char **argv);
int dw_cmd_attach(int argc, char **argv);
int dw_cmd_top(int argc, char **argv);
int dw_cmd_plot(int argc, char **argv);

/* "dwell: " and the sentence, on stderr; always returns DW_EXIT_USAGE. */
int dw_cli_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* "dwell: SENTENCE 'WORD'; did you mean 'ANOTHER'?" or, when no word was near, `otherwise` in place
 * of the question. Both words are shown behind the prefix. Always returns DW_EXIT_USAGE. */
int dw_cli_unknown(const char *sentence, const char *prefix, const struct dw_guess *guess,
                   const char *otherwise, ...) __attribute__((format(printf, 4, 5)));
/* "dwell: FILE: reason"; always returns DW_EXIT_TROUBLE. */
int dw_cli_error(const char *file, int error);

/* Options in the order in which they were given, for those whose order matters. */
struct dw_option_uses {
    struct dw_option_use {
        const char *name, *value;
    } * uses; /* owned */
    uint32_t count, capacity;
};

/* An option of a command. With a flag it takes no value; else the value goes to what is set. With
 * both, there may be a value in the same word: --name or --name=value. */
struct dw_option {
    const char *name; /* without the dashes; NULL ends a list */
    char letter;      /* 0: none */
    const char **value;
    bool *flag;
    struct dw_option_uses *uses;
};

/* Moves the operands to argv[1] and on, in order, and stores the values of the options.
 * Returns how many operands there are, or -1 after saying what is wrong. */
int dw_cli_parse(const struct dw_option *options, int argc, char **argv);
/* The same of a command that wants at least one file: -1 when there is none. */
int dw_cli_parse_files(const struct dw_option *options, int argc, char **argv);
/* The index of the word in a list that ends with NULL, or -1 after saying what there is. */
int dw_cli_find_word(const char *what, const char *word, const char *const *words);
/* True, and the text is on stdout, when --help or -h is among the options. */
bool dw_cli_help(int argc, char **argv, const char *text);

/* A number that is not negative, and what stands behind it. */
bool dw_cli_parse_number(const char *text, double *number, const char **rest);
/* The same with a unit behind it, of a list that ends with NULL; compared by strcmp or the like. */
struct dw_unit_word {
    const char *word;
    double size;
};
bool dw_cli_parse_amount(const char *text, const struct dw_unit_word *units,
                         int (*compare)(const char *, const char *), double *amount);
/* "24 MB", "100M", "1.5 GiB": as GNU tools have it, M and MiB are 1024 * 1024, MB is a million. */
bool dw_cli_parse_bytes(const char *text, double *bytes);
/* A time since the start, "2.5", "90s" or "1:30", which is the value of that option; NULL leaves it
 * as it is. 0, or DW_EXIT_USAGE after saying what is wrong. */
int dw_cli_parse_moment(const char *option, const char *text, uint64_t *ns);
/* The value of --threshold, "1%"; 0, or DW_EXIT_USAGE after saying what is wrong. */
int dw_cli_parse_threshold(const char *text, double *share);

/* The words of reports as they were typed; they mean the same in every report. */
struct dw_report_words {
    const char *by, *measure, *sort, *columns, *unit;
    struct dw_option_uses restrictions; /* --limit and --match, in their order */
    struct dw_option_uses match_labels;
    bool callers, callees, strip_dirs, full_paths, strip_zeros, summarize;
};
/* What they mean. Release it in any case; what follows returns 0, or DW_EXIT_USAGE after saying
 * what is wrong. */
struct dw_report_request {
    struct dw_lens_options lens; /* points to what was asked for of the following */
    struct dw_view_options view;
    struct dw_function_options functions;
    struct dw_line_options lines;
    struct dw_restrictions restrictions;
    struct dw_restriction *restriction_list; /* owned, with the patterns */
    char *label_keys[DW_VIEW_KEYS_MAX];      /* owned */
    char *text;                              /* owned: keys or columns point into it */
    const char **columns;                    /* owned */
};
int dw_report_request_init(struct dw_report_request *request, const struct dw_report_words *words);
void dw_report_request_release(struct dw_report_request *request);
/* Then one of these: a view, of a family or of all that was measured; functions in the manner of
 * pstats; lines; rows and trees. */
int dw_report_want_view(struct dw_report_request *request, const struct dw_report_words *words,
                        const struct dw_profile *profile, enum dw_family family);
int dw_report_want_functions(struct dw_report_request *request,
                             const struct dw_report_words *words);
int dw_report_want_lines(struct dw_report_request *request, const struct dw_report_words *words);
int dw_report_want_rows(struct dw_report_request *request, const struct dw_report_words *words);

/* Whether the words ask for keys, measures or labels of a view. */
bool dw_report_words_of_view(const struct dw_report_words *words);
/* An option that only reports of lines know, or only those of functions, or of both; NULL when
 * none was given. */
const char *dw_report_words_of_lines(const struct dw_report_words *words);
const char *dw_report_words_of_functions(const struct dw_report_words *words, bool or_lines);
/* Whether `--by` is of places in code; NULL counts. */
bool dw_cli_is_of_places(const char *by);

#define DW_CLI_EACH_HEAP (1u << 31) /* a flag beside those of the reader: DW_HEAP_EACH */

/* Reads the files into one profile. Says what is wrong with a file that cannot be read and
 * goes on; NULL when none could. *status becomes the exit status so far. */
struct dw_profile *dw_cli_read(char **files, int count, unsigned flags, int *status);
/* The profile becomes what was alive at that time since the start, the value of --at; NULL leaves
 * it as it is. It was read with DW_READ_MOMENTS. 0, or the status after saying what is wrong. */
int dw_cli_go_to(struct dw_profile *profile, const char *at, const char *file);
/* Lets the program take as much memory as reading the file may need. */
void dw_cli_allow_memory(const struct dw_file *file);
/* Whether an output would overwrite one of the files; says so. */
bool dw_cli_would_overwrite(char **files, int count, const char *path);
/* Adds one file to the profile: a log, or what another tool wrote. 0 or an error, and whether that
 * leaves the profile as it was; after any other error the sum would be wrong. */
int dw_cli_read_one(const char *path, unsigned flags, struct dw_profile *profile);
bool dw_cli_can_go_on(int error);
/* Whether what was read can be added up; says why not. */
bool dw_cli_is_sum(const struct dw_profile *profile);
/* How native code is shown, in recordings that have samples of it. */
struct dw_native_words {
    const char *names;   /* short, full or raw; NULL: short */
    bool lines;          /* source lines and inlined functions are wanted */
    bool only_functions; /* times of lines are not */
    bool internals;      /* the interpreter's own functions are, too */
};
/* 0, or DW_EXIT_USAGE after saying what is wrong. */
int dw_native_words_check(const struct dw_native_words *words);
/* Native code becomes as the words say, and the profile is prepared. 0 or an error. */
int dw_cli_make_showable(struct dw_profile *profile, const struct dw_native_words *words);
/* The same as dw_cli_read, for lenses: made showable. Says which files have changed, so that their
 * lines cannot be shown. */
struct dw_profile *dw_cli_load(char **files, int count, unsigned flags,
                               const struct dw_native_words *words, int *status);
/* The family that the words are about; any when they do not say. */
enum dw_family dw_cli_family_of(const struct dw_report_words *words,
                                const struct dw_profile *profile);
/* Whether an export shows the measure alone, by the stacks that it stands on. */
bool dw_cli_is_shown_alone(const char *name);
/* 0, or the status after saying that the measure that they name is not known, or not in there. */
int dw_cli_check_measure(const struct dw_report_words *words, const struct dw_profile *profile,
                         const char *file);
/* Whether they say so. */
bool dw_cli_asks_for_family(const struct dw_report_words *words);
/* How many families the profile has. */
uint32_t dw_cli_families(const struct dw_profile *profile);
/* A line that says what is shown below it. */
const char *dw_cli_heading(enum dw_family family);
#define DW_LINES_HEADING "Lines: those of the functions that were watched, each time they ran\n"
/* Says what there is beside the family that comes first, when nobody asked for this alone. */
void dw_cli_say_left_out(const struct dw_profile *profile, bool shows_lines);
/* 0, or the status after saying that the lens shows nothing of what the profile holds. */
int dw_cli_check_contents(const struct dw_profile *profile, const struct dw_lens *lens,
                          const struct dw_lens_options *options, const char *file);

/* Columns and lines of the terminal that the fd is; 0: it is not a terminal. */
size_t dw_cli_width(int fd);
size_t dw_cli_height(int fd);

/* Where a command writes: stdout, or a file that appears under its name only when it is whole. */
struct dw_output {
    char *path;      /* NULL: stdout */
    char *temporary; /* NULL: written in place, as it is not a regular file */
    int fd;
};

/* NULL or "-" is stdout. */
int dw_output_open(struct dw_output *output, const char *path);
/* Gives the file its name, or removes it when there was an error, which it returns. */
int dw_output_close(struct dw_output *output, int error);

/* What --redact says is left out of what is recorded from now on; NULL: nothing. 0, or the status
 * after saying what is wrong. */
int dw_cli_redact(const char *words);
/* 0 if a recording may have this name; else the status, after saying what the name stands for. */
int dw_cli_check_recording(const char *path);
/* Writes what `write` gives to the path. Says what went wrong, naming the input unless the output
 * is to blame; returns the status. */
typedef int dw_cli_writer(const void *context, struct dw_out *out);
int dw_cli_write_with(dw_cli_writer *write, const void *context, const char *input,
                      const char *path);
/* Writes the profile through the lens. */
int dw_cli_write(const struct dw_profile *profile, const struct dw_lens *lens,
                 const struct dw_lens_options *options, const char *input, const char *path);
/* Draws the profile's call graph as SVG through Graphviz's `dot`; otherwise the same. */
int dw_cli_draw(const struct dw_profile *profile, const struct dw_lens_options *options,
                const char *input, const char *path);

#endif
