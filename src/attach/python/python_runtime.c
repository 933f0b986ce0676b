/* SPDX-License-Identifier: MIT
 * _PyRuntime is a symbol for dynamic linking, so stripping keeps it; programs that were
 * linked without such symbols still have the section, or the cookie in their data. */
#include "attach/python/python_runtime.h"

#include "base/error.h"
#include "native/elf/elf_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCAN_STEP (1u << 20)

/* Where the symbols of one file of the process are in its memory; 0 when they are nowhere. */
struct symbols {
    uint64_t runtime, version;
};

uint32_t dw_python_version_in(const char *path)
{
    while ((path = strstr(path, "python"))) {
        path += strlen("python");
        char *end;
        unsigned long major = strtoul(path, &end, 10);
        if (end != path + 1 || *end != '.' || end[1] < '0' || end[1] > '9')
            continue;
        unsigned long minor = strtoul(end + 1, NULL, 10);
        if (minor < 256)
            return (uint32_t)(major << 24 | minor << 16);
    }
    return 0;
}

static bool may_hold_python(const struct dw_target *target, const struct dw_mapping *mapping)
{
    const char *name = strrchr(mapping->path, '/');
    return name && !mapping->file_offset &&
           (!strcmp(mapping->path, target->program) || !strncmp(name, "/libpython", 10));
}

static uint64_t loaded_at(const struct dw_elf *elf, const struct dw_mapping *mapping,
                          uint64_t address)
{
    return address - elf->base_address + mapping->start;
}

static void find_symbols(const struct dw_target *target, const struct dw_mapping *mapping,
                         struct symbols *symbols)
{
    struct dw_elf elf;
    uint64_t address;
    int fd = dw_target_open_file(target, mapping);
    if (fd < 0)
        return;
    if (!dw_elf_open(fd, &elf)) {
        if (!dw_elf_find_symbol(&elf, "_PyRuntime", &address) ||
            !dw_elf_find_section(&elf, ".PyRuntime", &address))
            symbols->runtime = loaded_at(&elf, mapping, address);
        if (symbols->runtime && !dw_elf_find_symbol(&elf, "Py_Version", &address))
            symbols->version = loaded_at(&elf, mapping, address);
        dw_elf_release(&elf);
    }
    close(fd);
}

static bool has_cookie(const struct dw_target *target, uint64_t address)
{
    uint8_t head[DW_PY_DEBUG_HEAD_BYTES];
    bool free_threaded;
    return !dw_target_read(target, address, head, sizeof head) &&
           dw_py_debug_size(dw_py_debug_version(head, &free_threaded) >> 16 & 0xff);
}

/* Looks for the cookie in the writable part of the mapping; 0 when it is not there. */
static uint64_t scan_mapping(const struct dw_target *target, const struct dw_mapping *mapping,
                             uint8_t *block)
{
    for (uint64_t at = mapping->start; at < mapping->end; at += SCAN_STEP) {
        uint64_t left = mapping->end - at;
        size_t size = dw_target_read_most(target, at, block, left < SCAN_STEP ? left : SCAN_STEP);
        const uint8_t *found = block, *end = block + size;
        while ((found = memmem(found, (size_t)(end - found), "xdebugpy", 8))) {
            uint64_t address = at + (uint64_t)(found - block);
            if (address % 8 == 0 && has_cookie(target, address))
                return address;
            found++;
        }
    }
    return 0;
}

static uint64_t scan_file(const struct dw_target *target, const char *path)
{
    uint64_t found = 0;
    uint8_t *block = malloc(SCAN_STEP);
    for (uint32_t i = 0; block && !found && i < target->count; i++)
        if (target->mappings[i].writable && !strcmp(target->mappings[i].path, path))
            found = scan_mapping(target, &target->mappings[i], block);
    free(block);
    return found;
}

static uint32_t version_by_name(const struct dw_target *target)
{
    uint32_t version = dw_python_version_in(target->program);
    for (uint32_t i = 0; !version && i < target->count; i++)
        version = dw_python_version_in(target->mappings[i].path);
    return version;
}

/* The version that the runtime states, else the one that the library does, else a guess. */
static uint32_t find_version(const struct dw_target *target, const struct symbols *symbols,
                             bool *free_threaded)
{
    uint8_t head[DW_PY_DEBUG_HEAD_BYTES];
    uint64_t stated = 0;
    uint32_t version = 0;
    *free_threaded = false;
    if (symbols->runtime && !dw_target_read(target, symbols->runtime, head, sizeof head))
        version = dw_py_debug_version(head, free_threaded);
    if (!version && symbols->version)
        dw_target_read_u64(target, symbols->version, &stated);
    if (!version && stated >> 24 == 3)
        version = (uint32_t)stated;
    return version ? version : version_by_name(target);
}

static int read_offsets(struct dw_python *python)
{
    uint8_t table[DW_PY_DEBUG_MAX_BYTES];
    unsigned minor = dw_python_minor(python);
    if (python->version >> 24 != 3 || python->free_threaded)
        return DW_ERR_PYTHON_VERSION;
    size_t size = dw_py_debug_size(minor);
    int error = size ? dw_target_read(python->target, python->runtime, table, size) : 0;
    return error ? error : dw_py_offsets_init(minor, table, &python->offsets);
}

/* One read tells whether memory may be read at all; otherwise the process would seem not to be a
 * Python. */
static int check_permission(const struct dw_target *target)
{
    char byte;
    if (!target->count)
        return DW_ERR_NOT_PYTHON;
    int error = dw_target_read(target, target->mappings[0].start, &byte, 1);
    return error == DW_ERR_UNREADABLE ? 0 : error;
}

int dw_python_locate(const struct dw_target *target, struct dw_python *python)
{
    struct symbols symbols = {0};
    bool has_library = false;
    int error = check_permission(target);
    if (error)
        return error;
    for (uint32_t i = 0; !symbols.runtime && i < target->count; i++) {
        if (!may_hold_python(target, &target->mappings[i]))
            continue;
        has_library |= dw_python_version_in(target->mappings[i].path) != 0;
        find_symbols(target, &target->mappings[i], &symbols);
        if (!symbols.runtime)
            symbols.runtime = scan_file(target, target->mappings[i].path);
    }
    if (!symbols.runtime && !has_library)
        return DW_ERR_NOT_PYTHON;
    python->target = target;
    python->runtime = symbols.runtime;
    python->version = find_version(target, &symbols, &python->free_threaded);
    if (!python->version)
        return DW_ERR_NOT_PYTHON;
    bool supported = python->version >> 24 == 3 && dw_python_minor(python) >= DW_PYTHON_OLDEST;
    return symbols.runtime ? read_offsets(python)
           : supported     ? DW_ERR_NO_RUNTIME
                           : DW_ERR_PYTHON_VERSION;
}
