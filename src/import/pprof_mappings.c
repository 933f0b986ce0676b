/* SPDX-License-Identifier: MIT
 * A file is opened only when its addresses are of use: there are locations in it without lines. */
#include "import/pprof_mappings.h"

#include "import/object.h"

#include <stdlib.h>
#include <string.h>

struct dw_pprof_module {
    uint32_t number; /* 1 + index, 0: not made yet */
    bool lacks_lines;
    struct dw_object object;
};

static const struct dw_pprof_entry *mapping_at(const struct dw_pprof_mappings *mappings,
                                               const struct dw_pprof_entry *location)
{
    uint64_t id = location->fields[DW_PPROF_LOCATION_MAPPING];
    const struct dw_pprof_entry *mapping =
        id ? dw_pprof_find(&mappings->tables->mappings, id) : NULL;
    bool is_real = mapping && mapping->fields[DW_PPROF_MAPPING_START] <
                                  mapping->fields[DW_PPROF_MAPPING_LIMIT];
    return is_real ? mapping : NULL; /* without a range it only says that there are names */
}

static struct dw_pprof_module *module_at(const struct dw_pprof_mappings *mappings,
                                         const struct dw_pprof_entry *mapping)
{
    return &mappings->modules[mapping - mappings->tables->mappings.entries];
}

static bool lacks_lines(const struct dw_pprof_tables *tables, const struct dw_pprof_entry *location)
{
    return !location->line_count ||
           !tables->lines.entries[location->first_line].fields[DW_PPROF_LINE_NUMBER];
}

int dw_pprof_mappings_init(struct dw_pprof_mappings *mappings, struct dw_foreign *foreign,
                           const struct dw_pprof_tables *tables)
{
    *mappings = (struct dw_pprof_mappings){.foreign = foreign, .tables = tables};
    mappings->modules = calloc(tables->mappings.count + 1u, sizeof *mappings->modules);
    if (!mappings->modules)
        return DW_ERR_MEMORY;
    for (uint32_t i = 0; i < tables->locations.count; i++) {
        const struct dw_pprof_entry *location = &tables->locations.entries[i];
        const struct dw_pprof_entry *mapping = mapping_at(mappings, location);
        if (mapping && lacks_lines(tables, location))
            module_at(mappings, mapping)->lacks_lines = true;
    }
    return 0;
}

void dw_pprof_mappings_release(struct dw_pprof_mappings *mappings)
{
    for (uint32_t i = 0; mappings->modules && i < mappings->tables->mappings.count; i++)
        dw_object_close(&mappings->modules[i].object);
    free(mappings->modules);
    mappings->modules = NULL;
}

static int digit_of(char c)
{
    const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c | 0x20) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Other tools put other things there, as Go its own id: only a hexadecimal number is a build id. */
static void read_build_id(struct dw_string text, struct dw_module *module)
{
    uint32_t size = 0;
    for (; size < DW_BUILD_ID_MAX && 2 * size + 1 < text.size; size++) {
        int high = digit_of(text.bytes[2 * size]), low = digit_of(text.bytes[2 * size + 1]);
        if (high < 0 || low < 0)
            return;
        module->build_id[size] = (uint8_t)(high << 4 | low);
    }
    module->build_id_size = 2 * size == text.size ? size : 0;
}

static void add_module(struct dw_pprof_mappings *mappings, const struct dw_pprof_entry *mapping)
{
    struct dw_profile *profile = mappings->foreign->profile;
    struct dw_pprof_module *made = module_at(mappings, mapping);
    const uint64_t *fields = mapping->fields;
    struct dw_string path = dw_pprof_string_at(mappings->tables, fields[DW_PPROF_MAPPING_FILE]);
    struct dw_module module = {.process = mappings->foreign->first_process,
                               .path = dw_foreign_string(mappings->foreign, path),
                               .start = fields[DW_PPROF_MAPPING_START],
                               .end = fields[DW_PPROF_MAPPING_LIMIT],
                               .file_offset = fields[DW_PPROF_MAPPING_OFFSET]};
    read_build_id(dw_pprof_string_at(mappings->tables, fields[DW_PPROF_MAPPING_BUILD_ID]), &module);
    made->object.bias = module.start - module.file_offset;
    if (made->lacks_lines)
        dw_object_open(&made->object, dw_profile_string(profile, module.path).bytes, &module,
                       mappings->foreign->written_ns);
    made->number = dw_object_add_module(&made->object, module, mappings->foreign);
}

struct dw_mapped dw_pprof_mapping_of(struct dw_pprof_mappings *mappings,
                                     const struct dw_pprof_entry *location)
{
    struct dw_mapped mapped = {0};
    const struct dw_pprof_entry *mapping = mapping_at(mappings, location);
    if (!mapping)
        return mapped;
    struct dw_pprof_module *module = module_at(mappings, mapping);
    if (!module->number)
        add_module(mappings, mapping);
    if (!module->number)
        return mapped;
    mapped.module = module->number;
    mapped.address = location->fields[DW_PPROF_LOCATION_ADDRESS] - module->object.bias;
    mapped.path = mappings->foreign->profile->modules[module->number - 1].path;
    return mapped;
}

dw_string_id dw_pprof_mapping_name(struct dw_pprof_mappings *mappings,
                                   const struct dw_pprof_entry *location)
{
    struct dw_foreign *foreign = mappings->foreign;
    struct dw_mapped mapped = dw_pprof_mapping_of(mappings, location);
    if (!mapped.module)
        return dw_foreign_string(foreign, (struct dw_string){"[unknown]", 9});
    const struct dw_pprof_module *module = module_at(mappings, mapping_at(mappings, location));
    return dw_object_name_at(&module->object, mapped.address, mapped.path, foreign);
}
