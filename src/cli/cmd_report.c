/* SPDX-License-Identifier: MIT
 * `dwell report`: tables on stdout. */
#include "cli/cli.h"

#include "log/reader.h"

static const char help[] =
    "usage: dwell report FILE... [options]\n"
    "\n"
    "Prints what the recordings hold; several files are added up.\n"
    "\n"
    "  --by WHAT        region (the tree, the default), path, thread, process or function\n"
    "  --sort COLUMN    largest first; names in order\n"
    "  --limit N        the first N rows only\n"
    "  --format FORMAT  table (the default), tree, csv or json\n"
    "  --columns A,B,C  which columns: name, total, self, count, average, min, max, p50, p95,\n"
    "                   p99, stdev, percents_of_total, active, suspended, cpu, open, path, ...\n"
    "\n"
    "examples:\n"
    "  dwell report run.dwell --format tree\n"
    "  dwell report run.dwell --by function --sort self --limit 10\n"
    "  dwell report rank*.dwell --by process --columns indented_name,total,count,p95\n"
    "  dwell report run.dwell --format csv > run.csv\n";

static const struct dw_lens *find_format(const char *name)
{
    static const char *const formats[] = {"table", "csv", "json", "tree"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (!strcmp(formats[i], name))
            return dw_lens_find(name);
    dw_cli_usage("no format '%s'; there are: table, csv, json, tree", name);
    return NULL;
}

static int report(char **files, int count, const struct dw_lens *lens,
                  const struct dw_lens_options *options)
{
    int status = 0;
    struct dw_profile *profile = dw_cli_load(files, count, 0, &status);
    if (!profile)
        return status;
    int written = dw_cli_write(profile, lens, options, files[0], NULL);
    dw_profile_free(profile);
    return written ? written : status;
}

int dw_cmd_report(int argc, char **argv)
{
    if (dw_cli_help(argc, argv, help))
        return 0;
    struct dw_report_words words = {0};
    const char *format = "table";
    const struct dw_option known[] = {
        {"by", 0, &words.by, NULL},       {"sort", 0, &words.sort, NULL},
        {"limit", 0, &words.limit, NULL}, {"columns", 0, &words.columns, NULL},
        {"format", 0, &format, NULL},     {NULL, 0, NULL, NULL},
    };
    int files = dw_cli_parse(known, argc, argv);
    if (files < 0)
        return DW_EXIT_USAGE;
    if (!files)
        return dw_cli_usage("report needs a file; see 'dwell report --help'");
    const struct dw_lens *lens = find_format(format);
    if (!lens)
        return DW_EXIT_USAGE;
    struct dw_report_options options;
    int status = dw_report_options_init(&options, &words);
    if (!status)
        status = report(argv + 1, files, lens, &options.lens);
    dw_report_options_release(&options);
    return status;
}
