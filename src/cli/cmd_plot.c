/* SPDX-License-Identifier: MIT
 * `dwell plot`: memory and CPU over time, as a picture or in the terminal. */
#include "cli/cli.h"

#include "base/error.h"
#include "cli/run/child.h"
#include "lens/plot/chart.h"
#include "log/reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define USUAL_WIDTH 80

static const char help[] =
    "usage: dwell plot FILE... [-o PICTURE.svg|PICTURE.png]\n"
    "\n"
    "Draws memory and CPU over time, of recordings made with 'dwell run --memory' and of the .dat\n"
    "files of mprof. Several files, such as those of a program and its children, lie on one time\n"
    "axis. Regions of a timeline ('dwell run --memory --regions --timeline') are brackets with "
    "names.\n"
    "Without -o, a small chart is printed.\n"
    "\n"
    "  -o, --output OUT  where to: .svg, or .png, which needs rsvg-convert, inkscape, ImageMagick\n"
    "                    or cairosvg; '-' is standard output, as SVG\n"
    "  --sum             one curve of all processes together, on one clock\n"
    "  --measure NAME    which gauge: rss (the default), pss, threads, ...\n"
    "  --from, --to TIME only this part, in seconds since the first reading: 2.5, 1:30 or 90s\n"
    "  --title TEXT      above the picture\n"
    "\n"
    "examples:\n"
    "  dwell run --memory -o run.dwell train.py && dwell plot run.dwell\n"
    "  dwell plot run.dwell run.*.dwell -o run.svg\n"
    "  dwell plot mprofile_20260101120000.dat -o old.png\n";

struct request {
    struct dw_plot_options options;
    const char *path, *from, *to;
};

struct picture {
    const struct dw_chart *chart;
    const struct dw_plot_options *options;
};

static int put_svg(const void *context, struct dw_out *out)
{
    const struct picture *picture = context;
    dw_plot_put_svg(out, picture->chart, picture->options->title);
    return 0;
}

static int put_text(const void *context, struct dw_out *out)
{
    const struct picture *picture = context;
    dw_plot_put_text(out, picture->chart, picture->options->width);
    return 0;
}

/* Programs that make a PNG of an SVG, in the order in which they are tried. */
static const struct converter {
    const char *words[6]; /* "IN" and "OUT" stand for the files */
} converters[] = {
    {{"rsvg-convert", "--zoom=2", "-o", "OUT", "IN"}},
    {{"inkscape", "--export-dpi=192", "-o", "OUT", "IN"}},
    {{"cairosvg", "--scale=2", "-o", "OUT", "IN"}},
    {{"magick", "-density", "192", "IN", "OUT"}},
    {{"convert", "-density", "192", "IN", "OUT"}},
};

static bool convert(const struct converter *converter, const char *in, const char *out)
{
    char *words[7] = {0};
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (size_t i = 0; i < 6 && converter->words[i]; i++)
        words[i] = (char *)(uintptr_t)(!strcmp(converter->words[i], "IN")    ? in
                                       : !strcmp(converter->words[i], "OUT") ? out
                                                                             : converter->words[i]);
    pid_t child =
        nothing < 0 ? -1 : dw_child_start(words[0], words + 1, (const int[]){-1, nothing, nothing});
    int status = child > 0 ? dw_child_wait(child) : -1;
    if (nothing >= 0)
        close(nothing);
    return !status && !access(out, R_OK);
}

/* The picture goes to a temporary file beside the one asked for, and is converted from there. */
static int write_png(const struct picture *picture, const char *input, const char *path)
{
    char *svg, *png;
    if (asprintf(&svg, "%s.%d.svg", path, (int)getpid()) < 0)
        return dw_cli_error(path, DW_ERR_MEMORY);
    if (asprintf(&png, "%s.%d.png", path, (int)getpid()) < 0) {
        free(svg);
        return dw_cli_error(path, DW_ERR_MEMORY);
    }
    int status = dw_cli_write_with(put_svg, picture, input, svg);
    bool is_made = false;
    for (size_t i = 0; !status && !is_made && i < sizeof converters / sizeof *converters; i++)
        is_made = convert(&converters[i], svg, png);
    if (!status && !is_made) {
        fprintf(stderr,
                "dwell: %s: a PNG needs rsvg-convert (Debian: librsvg2-bin), inkscape, cairosvg or "
                "ImageMagick, and none of them could make it; write an .svg instead\n",
                path);
        status = DW_EXIT_TROUBLE;
    } else if (!status && rename(png, path)) {
        status = dw_cli_error(path, DW_ERR_IO);
    }
    unlink(svg);
    if (status)
        unlink(png);
    free(svg);
    free(png);
    return status;
}

static bool ends_with(const char *path, const char *end)
{
    size_t size = strlen(path), end_size = strlen(end);
    return size >= end_size && !strcmp(path + size - end_size, end);
}

static int write_picture(const struct dw_chart *chart, const struct request *request,
                         const char *file)
{
    struct picture picture = {chart, &request->options};
    if (!request->path)
        return dw_cli_write_with(put_text, &picture, file, NULL);
    if (ends_with(request->path, ".png"))
        return write_png(&picture, file, request->path);
    return dw_cli_write_with(put_svg, &picture, file, request->path);
}

static int say_nothing_to_draw(const struct request *request, const char *file)
{
    if (request->options.from_ns || request->options.to_ns)
        fprintf(stderr, "dwell: %s: has nothing from %s to %s\n", file,
                request->from ? request->from : "the start", request->to ? request->to : "the end");
    else
        fprintf(stderr, "dwell: %s: holds no %s over time; record it with 'dwell run --memory%s'\n",
                file, request->options.gauge ? request->options.gauge : "memory",
                request->options.gauge && !strcmp(request->options.gauge, DW_SERIES_PSS) ? " --pss"
                                                                                         : "");
    return DW_EXIT_TROUBLE;
}

static int plot(char **files, int count, const struct request *request)
{
    int status = 0;
    struct dw_chart chart;
    if (dw_cli_would_overwrite(files, count, request->path))
        return DW_EXIT_USAGE;
    struct dw_native_words native = {0};
    struct dw_profile *profile =
        dw_cli_load(files, count, DW_READ_EVENTS | DW_READ_NO_SOURCES, &native, &status);
    if (!profile)
        return status;
    int error = dw_chart_init(&chart, profile, &request->options);
    int drawn = error == DW_ERR_NO_SAMPLES ? say_nothing_to_draw(request, files[0])
                : error                    ? dw_cli_error(files[0], error)
                                           : write_picture(&chart, request, files[0]);
    if (!error)
        dw_chart_release(&chart);
    dw_profile_free(profile);
    return drawn ? drawn : status;
}

int dw_cli_parse_moment(const char *option, const char *text, uint64_t *ns)
{
    double seconds = 0, number;
    const char *rest = text;
    bool is_right = text != NULL;
    for (int i = 0; is_right && i < 3; i++) {
        is_right = dw_cli_parse_number(rest, &number, &rest);
        seconds = 60 * seconds + number;
        if (*rest != ':')
            break;
        rest++;
    }
    double unit = is_right && !strcmp(rest, "ms") ? 1e6 : 1e9;
    if (!text)
        return 0;
    if (!is_right || (*rest && strcmp(rest, "s") != 0 && strcmp(rest, "ms") != 0) ||
        seconds * unit > 1e18)
        return dw_cli_usage("--%s is a time such as 2.5, 90s or 1:30, not '%s'", option, text);
    *ns = (uint64_t)(seconds * unit);
    return 0;
}

int dw_cmd_plot(int argc, char **argv)
{
    if (dw_cli_help(argc, argv, help))
        return 0;
    struct request request = {0};
    const struct dw_option known[] = {
        {.name = "output", .letter = 'o', .value = &request.path},
        {.name = "title", .value = &request.options.title},
        {.name = "measure", .value = &request.options.gauge},
        {.name = "from", .value = &request.from},
        {.name = "to", .value = &request.to},
        {.name = "sum", .flag = &request.options.sum},
        {.name = NULL},
    };
    int files = dw_cli_parse_files(known, argc, argv);
    if (files < 0)
        return DW_EXIT_USAGE;
    int status = dw_cli_parse_moment("from", request.from, &request.options.from_ns);
    if (!status)
        status = dw_cli_parse_moment("to", request.to, &request.options.to_ns);
    size_t width = dw_cli_width(STDOUT_FILENO);
    request.options.width = width ? width : USUAL_WIDTH;
    return status ? status : plot(argv + 1, files, &request);
}
