/* SPDX-License-Identifier: MIT
 * The one list of lenses, in the order in which they are shown to people. */
#include "lens/lens.h"

#define EACH_LENS(LENS)                                                                            \
    LENS(table)                                                                                    \
    LENS(tree)                                                                                     \
    LENS(lines)                                                                                    \
    LENS(csv)                                                                                      \
    LENS(json)                                                                                     \
    LENS(html)                                                                                     \
    LENS(svg)                                                                                      \
    LENS(chrome)                                                                                   \
    LENS(perfetto)                                                                                 \
    LENS(speedscope)                                                                               \
    LENS(firefox)                                                                                  \
    LENS(collapsed)                                                                                \
    LENS(pprof)                                                                                    \
    LENS(pstats)                                                                                   \
    LENS(callgrind)                                                                                \
    LENS(dot)

#define DECLARE(name) extern const struct dw_lens dw_lens_##name;
EACH_LENS(DECLARE)

#define ENTRY(name) &dw_lens_##name,
static const struct dw_lens *const lenses[] = {EACH_LENS(ENTRY)};

static const struct {
    const char *word;
    enum dw_by by;
} groupings[] = {{"region", DW_BY_REGION},   {"path", DW_BY_PATH},     {"thread", DW_BY_THREAD},
                 {"process", DW_BY_PROCESS}, {"function", DW_BY_NAME}, {"name", DW_BY_NAME}};

const char *dw_by_word(size_t index)
{
    return index < sizeof groupings / sizeof *groupings ? groupings[index].word : NULL;
}

bool dw_by_find(const char *word, enum dw_by *by)
{
    for (size_t i = 0; i < sizeof groupings / sizeof *groupings; i++) {
        if (strcmp(groupings[i].word, word) != 0)
            continue;
        *by = groupings[i].by;
        return true;
    }
    return false;
}

const struct dw_lens *dw_lens_at(size_t index)
{
    return index < sizeof lenses / sizeof *lenses ? lenses[index] : NULL;
}

const struct dw_lens *dw_lens_find(const char *name)
{
    const struct dw_lens *lens;
    for (size_t i = 0; (lens = dw_lens_at(i)); i++)
        if (!strcmp(lens->name, name))
            return lens;
    return NULL;
}

bool dw_file_ends_with(const char *path, const char *end)
{
    size_t size = strlen(path), end_size = strlen(end);
    return size > end_size && !strcmp(path + size - end_size, end);
}

const struct dw_lens *dw_lens_of_file(const char *path)
{
    const struct dw_lens *lens, *found = NULL;
    if (dw_file_ends_with(path, ".prof") || dw_file_ends_with(path, ".pprof"))
        return &dw_lens_pprof;
    for (size_t i = 0; (lens = dw_lens_at(i)); i++)
        if (lens->extension && dw_file_ends_with(path, lens->extension) &&
            (!found || strlen(lens->extension) > strlen(found->extension)))
            found = lens;
    return found;
}
