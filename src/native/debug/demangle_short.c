/* SPDX-License-Identifier: MIT
 * Takes arguments, template parameters, return types and tags off names that are demangled.
 * A name that cannot be followed stays whole. */
#include "native/debug/demangle.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 256 /* of brackets: names come from files, which may be broken */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 128;
}

/* Points behind the bracket that closes the one at `at`; NULL when nothing closes it, or the
 * nesting is too deep. Inside of other brackets angle brackets are skipped: they may be
 * operators. */
static const char *skip_nested(const char *at, int depth)
{
    char open = *at;
    char close = (char)(open == '<' ? '>' : open == '(' ? ')' : open == '[' ? ']' : '}');
    for (at++; *at && *at != close;) {
        bool is_arrow = at[0] == '-' && at[1] == '>';
        bool nests = *at == '(' || *at == '[' || *at == '{' || (*at == '<' && open == '<');
        if (!strncmp(at, "operator", 8) && strchr("<>-", at[8]) && at[8])
            at += 8 + strspn(at + 8, "<>-=");
        else if (is_arrow)
            at += 2;
        else if (!nests)
            at++;
        else if (depth == MAX_DEPTH || !(at = skip_nested(at, depth + 1)))
            return NULL;
    }
    return *at ? at + 1 : NULL;
}

static const char *skip_brackets(const char *at)
{
    return skip_nested(at, 1);
}

/* What is read and what is written, which is never longer. */
struct shortening {
    const char *at;
    char *text, *end;
    bool after_arguments; /* of a function: const and the like may follow */
    bool in_type;         /* of a conversion operator, which has spaces */
};

static void copy(struct shortening *s, size_t size)
{
    memmove(s->end, s->at, size);
    s->end += size;
    s->at += size;
}

static bool skip(struct shortening *s)
{
    const char *after = skip_brackets(s->at);
    if (after)
        s->at = after;
    return after != NULL;
}

/* Whether what was written ends in the keyword. */
static bool is_operator(const struct shortening *s)
{
    size_t size = (size_t)(s->end - s->text);
    return size >= 8 && !memcmp(s->end - 8, "operator", 8) && (size == 8 || !is_word(s->end[-9])) &&
           !is_word(*s->at);
}

/* Longer operators are tried first. Template parameters may follow; a space separates them from
 * operator<. */
static void take_operator(struct shortening *s)
{
    static const char *const operators[] = {
        "()", "[]", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "==", "!=",
        "&&", "||", "++",  "--",  "+=",  "-=",  "*=", "/=", "%=", "^=", "&=", "|=", "+",
        "-",  "*",  "/",   "%",   "^",   "&",   "|",  "~",  "!",  "=",  "<",  ">",  ","};
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (strncmp(s->at, operators[i], strlen(operators[i])) != 0)
            continue;
        copy(s, strlen(operators[i]));
        if (!strncmp(s->at, " <", 2))
            s->at++;
        return;
    }
    s->in_type = true;
    copy(s, 1);
}

/* {lambda(int)#1}, {unnamed type#2} */
static bool take_braces(struct shortening *s)
{
    const char *after = skip_brackets(s->at);
    while (after && s->at < after) {
        if (*s->at != '(')
            copy(s, 1);
        else if (!skip(s))
            return false;
    }
    return after != NULL;
}

static bool take_parentheses(struct shortening *s)
{
    static const char nameless[] = "(anonymous namespace)";
    if (!strncmp(s->at, nameless, sizeof nameless - 1)) {
        copy(s, sizeof nameless - 1);
        return true;
    }
    if (s->end == s->text) /* of a return type: decltype (...), or a pointer to a function */
        return s->at[1] != '*' && s->at[1] != '&' && skip(s);
    s->after_arguments = true;
    s->in_type = false;
    return skip(s);
}

static bool is_thunk(const struct shortening *s)
{
    static const char *const words[] = {"virtual", "non-virtual", "thunk",
                                        "to",      "covariant",   "return"};
    const char *word = s->end;
    while (word > s->text && word[-1] != ' ')
        word--;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if ((size_t)(s->end - word) == strlen(words[i]) &&
            !memcmp(word, words[i], strlen(words[i])))
            return true;
    return false;
}

/* What came before a space is the return type, unless the name is complete. */
static void take_space(struct shortening *s)
{
    if (s->in_type || is_thunk(s)) {
        copy(s, 1);
    } else if (s->after_arguments) {
        while (*s->at && *s->at != ':' && *s->at != '[')
            s->at++;
    } else {
        s->at++;
        s->end = s->text;
    }
}

static bool take(struct shortening *s)
{
    if (is_operator(s) && *s->at) {
        take_operator(s);
        return true;
    }
    switch (*s->at) {
    case '<': return skip(s);
    case '(': return take_parentheses(s);
    case '{': return take_braces(s);
    case '[':
        if (!s->in_type)
            return skip(s);
        copy(s, 1);
        return true;
    case ' ': take_space(s); return true;
    case ':':
        s->after_arguments = s->in_type = false;
        copy(s, 1);
        return true;
    default: copy(s, 1); return true;
    }
}

void dw_shorten_cpp(char *name)
{
    char *text = strdup(name);
    if (!text)
        return;
    struct shortening s = {.at = name, .text = text, .end = text};
    bool is_fine = true;
    while (is_fine && *s.at)
        is_fine = take(&s);
    *s.end = 0;
    if (is_fine && *text)
        strcpy(name, text);
    free(text);
}

/* Parameters follow a name (Vec<T>) or are set off from it (push::<T>); at the beginning of a
 * part of the path they are a type in itself: <T as Trait>, <impl T>. */
void dw_shorten_rust(char *name)
{
    char *end = name;
    const char *at = name;
    while (*at) {
        bool is_set_off = end - name > 2 && end[-1] == ':' && strncmp(at, "<impl ", 6) != 0;
        bool follows = end > name && is_word(end[-1]);
        const char *after = *at == '<' && (is_set_off || follows) ? skip_brackets(at) : NULL;
        if (after && is_set_off)
            end -= 2;
        if (after)
            at = after;
        else
            *end++ = *at++;
    }
    *end = 0;
}
