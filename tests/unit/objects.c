/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include "objects.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char directory[64];

int objects_setup(void **state)
{
    (void)state;
    strcpy(directory, "/tmp/dwell-objects-XXXXXX");
    setenv("CC", DW_TEST_CC, 1);
    setenv("CXX", DW_TEST_CXX, 1);
    setenv("LC_ALL", "C", 1);
    return !mkdtemp(directory) || chdir(directory);
}

int objects_teardown(void **state)
{
    (void)state;
    if (chdir("/"))
        return -1;
    run("rm -r %s", directory);
    return 0;
}

void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

uint8_t *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static char *format_command(const char *format, va_list arguments)
{
    char *command;
    assert_true(vasprintf(&command, format, arguments) > 0);
    return command;
}

void run(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *command = format_command(format, arguments);
    va_end(arguments);
    int status = system(command);
    if (status)
        fail_msg("%s: status %d", command, status);
    free(command);
}

FILE *read_from(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *command = format_command(format, arguments);
    va_end(arguments);
    FILE *pipe = popen(command, "r");
    free(command);
    assert_non_null(pipe);
    return pipe;
}
