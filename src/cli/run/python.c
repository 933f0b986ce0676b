/* SPDX-License-Identifier: MIT
 * Parses Python's options just as far as is needed to find where the program begins; Python itself
 * parses them again and reports mistakes in their values. */
#include "cli/run/python.h"

#include "base/file.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LETTERS "bBdEiIOPqRsSuvx" /* options without a value that go on to run a program */

/* In a virtual environment `python` is its own; elsewhere it may be another version. */
const char *dw_python_find(char *path, size_t size)
{
    static const char *const names[] = {"../pyvenv.cfg", "python", "python3"};
    ssize_t length = readlink("/proc/self/exe", path, size - 16);
    if (length > 0) {
        path[length] = 0;
        char *name = strrchr(path, '/') + 1;
        strcpy(name, names[0]);
        for (int i = access(path, F_OK) ? 2 : 1; i < 3; i++) {
            strcpy(name, names[i]);
            if (!access(path, X_OK))
                return path;
        }
    }
    return "python3";
}

/* Where in a word like -uIm the letters without a value end. */
static const char *end_of_letters(const char *word)
{
    return word + 1 + strspn(word + 1, LETTERS);
}

int dw_python_option(const char *word)
{
    if (word[0] != '-' || !word[1])
        return 0;
    if (!strcmp(word, "--check-hash-based-pycs"))
        return 2;
    const char *end = end_of_letters(word);
    switch (*end) {
    case 0: return 1;
    case 'c':
    case 'm': return 0;
    case 'W':
    case 'X': return end[1] ? 1 : 2;
    default: return -1;
    }
}

bool dw_python_has_letter(const char *word, char letter)
{
    return word[0] == '-' && memchr(word, letter, (size_t)(end_of_letters(word) - word));
}

void dw_python_program_name(char *const *program, char *name, size_t size)
{
    const char *from = program[0];
    if (from[0] == '-') {
        const char *option = from[1] ? end_of_letters(from) : from;
        bool is_module = *option == 'm' && (option[1] || program[1]);
        from = !is_module ? "python" : option[1] ? option + 1 : program[1];
    }
    const char *slash = strrchr(from, '/');
    snprintf(name, size, "%s", slash ? slash + 1 : from);
    char *dot = strrchr(name, '.');
    if (dot && dot != name && !strcmp(dot, ".py"))
        *dot = 0;
}

static char *read_text(const char *path)
{
    struct dw_file file;
    if (dw_file_open(path, &file))
        return NULL;
    bool is_text = !memchr(file.data, 0, file.size);
    char *text = is_text ? strndup((const char *)file.data, file.size) : NULL;
    dw_file_close(&file);
    return text;
}

char *dw_python_source(char *const *program)
{
    if (program[0][0] != '-')
        return read_text(program[0]);
    const char *option = end_of_letters(program[0]);
    if (*option != 'c' || (!option[1] && !program[1]))
        return NULL;
    return strdup(option[1] ? option + 1 : program[1]);
}
