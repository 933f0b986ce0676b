/* SPDX-License-Identifier: MIT
 * What the commands share. A command gets argv from its own name on and returns
 * the exit status: 0, 1 for trouble with a file, 2 for bad usage. */
#ifndef DW_CLI_CLI_H
#define DW_CLI_CLI_H

#include "base/guess.h"
#include "lens/table/view_report.h"
#include "lens/view/function_list.h"
#include "lens/view/line_list.h"
#include "lens/view/measured.h"
#include "lens/view/sample_list.h"
#include "model/prepare.h"
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

/* An option of a command. With a flag it takes no value; else the value goes to what is set. */
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
/* True, and the text is on stdout, when --help or -h is among the options. */
bool dw_cli_help(int argc, char **argv, const char *text);

/* A number that is not negative, and what stands behind it. */
bool dw_cli_parse_number(const char *text, double *number, const char **rest);
/* A time since the start, "2.5", "90s" or "1:30", which is the value of that option; NULL leaves it
 * as it is. 0, or DW_EXIT_USAGE after saying what is wrong. */
int dw_cli_parse_moment(const char *option, const char *text, uint64_t *ns);
/* The value of --threshold, "1%"; 0, or DW_EXIT_USAGE after saying what is wrong. */
int dw_cli_parse_threshold(const char *text, double *share);

/* The options of the tabular lenses, as text and as what it means. */
struct dw_report_words {
    const char *by, *sort, *limit, *columns;
    const char *measure; /* one whose family is shown: model/measure.h */
};
struct dw_report_options {
    struct dw_lens_options lens;
    char *column_text;    /* owned */
    const char **columns; /* owned */
};
/* 0, or DW_EXIT_USAGE after saying what is wrong. */
int dw_report_options_init(struct dw_report_options *options, const struct dw_report_words *words);
void dw_report_options_release(struct dw_report_options *options);

/* The options of reports of functions, as text and as what it means. */
struct dw_function_words {
    struct dw_option_uses restrictions; /* --limit and --match */
    bool callers, callees, strip_dirs, full_paths;
};
struct dw_function_request {
    struct dw_function_options options;
    struct dw_restriction *restrictions; /* owned, with their patterns */
    uint32_t count;
};
/* 0, or DW_EXIT_USAGE after saying what is wrong. */
int dw_function_request_init(struct dw_function_request *request,
                             const struct dw_function_words *words, const char *sort);
void dw_function_request_release(struct dw_function_request *request);
/* An option that such a report knows and one of rows does not, or NULL when none was given. */
const char *dw_function_words_given(const struct dw_function_words *words);
/* The same for an option that a report of lines does not know either. */
const char *dw_function_words_own(const struct dw_function_words *words);
/* The value of --match; 0, or DW_EXIT_USAGE after saying what is wrong. */
int dw_cli_compile(const char *text, regex_t *pattern);

/* The options of reports of lines, beside --match and --callees. */
struct dw_line_words {
    const char *unit;
    bool strip_zeros, summarize;
};
struct dw_line_request {
    struct dw_line_options options; /* points to the pattern */
    regex_t pattern;
};
/* 0, or DW_EXIT_USAGE after saying what is wrong. */
int dw_line_request_init(struct dw_line_request *request, const struct dw_line_words *words,
                         const struct dw_function_words *functions, const char *sort);
void dw_line_request_release(struct dw_line_request *request);
/* An option that only such a report knows, or NULL when none was given. */
const char *dw_line_words_given(const struct dw_line_words *words);

/* The options of reports of samples: some of those of functions. */
struct dw_sample_request {
    struct dw_sample_options options; /* points to the pattern */
    regex_t pattern;
};
/* 0, or DW_EXIT_USAGE after saying what is wrong. */
int dw_sample_request_init(struct dw_sample_request *request, const struct dw_report_words *words,
                           const struct dw_function_words *functions);
void dw_sample_request_release(struct dw_sample_request *request);
/* Whether `--by` has such rows of samples; NULL counts. */
bool dw_sample_by_is_known(const char *by);

/* The options of the one view. */
struct dw_view_words {
    const char *measures;
    struct dw_option_uses match_labels;
};
struct dw_view_request {
    struct dw_view_options options; /* points to what follows */
    regex_t pattern;
    char *keys;
    char *label_keys[DW_VIEW_KEYS_MAX];
    bool is_of_places; /* one of the keys is */
};
/* Whether the words ask for the view, and not for one of the reports with a form of their own. */
bool dw_view_words_given(const struct dw_view_words *words, const char *by);
/* 0, or DW_EXIT_USAGE after saying what is wrong; release it in any case. */
int dw_view_request_init(struct dw_view_request *request, const struct dw_profile *profile,
                         const struct dw_view_words *words, const struct dw_report_words *report,
                         const struct dw_function_words *functions);
void dw_view_request_release(struct dw_view_request *request);

/* Reads the files into one profile. Says what is wrong with a file that cannot be read and
 * goes on; NULL when none could. *status becomes the exit status so far. */
struct dw_profile *dw_cli_read(char **files, int count, unsigned flags, int *status);
/* Adds one file to the profile: a log, or what another tool wrote. 0 or an error, and whether that
 * leaves the profile as it was; after any other error the sum would be wrong. */
int dw_cli_read_one(const char *path, unsigned flags, struct dw_profile *profile);
bool dw_cli_can_go_on(int error);
/* Whether what was read can be added up; says why not. */
bool dw_cli_is_sum(const struct dw_profile *profile);
/* How native code is shown, in recordings that have samples of it. */
struct dw_native_words {
    const char *names; /* short, full or raw; NULL: short */
    bool lines;        /* source lines and inlined functions are wanted */
    bool internals;    /* the interpreter's own functions are, too */
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

bool dw_cli_is_same_file(const char *a, const char *b);
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
