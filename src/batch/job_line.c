#include "batch/job_line.h"

#include <string.h>

/* NULL is passed on: no such text. */
static const char *skip_space(const char *at)
{
    while (at && (*at == ' ' || *at == '\t' || *at == '\r' || *at == '\n'))
        at++;
    return at;
}

static const char *skip(const char *at, char wanted)
{
    at = skip_space(at);
    return at && *at == wanted ? at + 1 : NULL;
}

/* From behind the quote that opens a text to behind the one that closes it, before which the
 * backslashes are pairs. */
static const char *skip_text(const char *text)
{
    for (const char *quote = text; (quote = strchr(quote, '"')); quote++) {
        size_t escapes = 0;
        while (quote - escapes > text && quote[-1 - (ptrdiff_t)escapes] == '\\')
            escapes++;
        if (escapes % 2 == 0)
            return quote + 1;
    }
    return NULL;
}

/* From its first bracket to behind its last. */
static const char *skip_nested(const char *at)
{
    size_t depth = 0;
    do {
        depth += *at == '{' || *at == '[';
        depth -= *at == '}' || *at == ']';
        at = *at == '"' ? skip_text(at + 1) : *at ? at + 1 : NULL;
    } while (at && depth > 0);
    return at;
}

static const char *skip_value(const char *at)
{
    if (*at == '"')
        return skip_text(at + 1);
    if (*at == '{' || *at == '[')
        return skip_nested(at);
    size_t length = strcspn(at, ",{}[]\": \t\r\n");
    return length > 0 ? at + length : NULL;
}

/* What is in the line as it is meant: ASCII from the space on, and no escape. */
static bool is_plain(const struct job_text *text)
{
    unsigned odd = 0;
    for (size_t i = 0; i < text->length; i++) {
        unsigned char byte = (unsigned char)text->text[i];
        odd |= (unsigned)(byte < ' ') | (unsigned)(byte > '~') | (unsigned)(byte == '\\');
    }
    return text->length > 0 && !odd;
}

/* As output_within() leaves it: without empty words and those that begin with a dot, some of which
 * are no names. */
static bool is_tidy(const struct job_text *path)
{
    char before = '/';
    bool tidy = true;
    for (size_t i = 0; i < path->length; i++) {
        tidy = tidy && !(before == '/' && (path->text[i] == '/' || path->text[i] == '.'));
        before = path->text[i];
    }
    return tidy && before != '/';
}

/* Behind the quote of a member's name; *name is empty where it has an escape. */
static const char *read_name(const char *at, struct job_text *name)
{
    const char *end = skip_text(at);
    *name = (struct job_text){at, end ? (size_t)(end - 1 - at) : 0};
    return end && !memchr(at, '\\', name->length) ? skip_space(skip(end, ':')) : NULL;
}

static bool is_named(const struct job_text *name, const char *wanted)
{
    size_t length = strlen(wanted);
    return name->length == length && memcmp(name->text, wanted, length) == 0;
}

static struct job_text *member_of(struct job_line *job, const struct job_text *name)
{
    return is_named(name, "id")    ? &job->id
           : is_named(name, "in")  ? &job->in
           : is_named(name, "out") ? &job->out
                                   : NULL;
}

/* NULL: it is not one of these, or is one again. */
static const char *read_member(const char *at, struct job_line *job)
{
    struct job_text name;
    at = read_name(at, &name);
    if (!at)
        return NULL;
    struct job_text *member = member_of(job, &name);
    const char *end = skip_value(at);
    if (!end || !member)
        return end;
    if (*at != '"' || member->text)
        return NULL;
    *member = (struct job_text){at + 1, (size_t)(end - at) - 2};
    return is_plain(member) ? end : NULL;
}

/* False: the line is no object, or not an ordinary one. */
static bool scan(const char *line, struct job_line *job)
{
    *job = (struct job_line){0};
    const char *at = skip(line, '{');
    for (bool more = true; at && more;) {
        at = skip(at, '"');
        at = at ? skip_space(read_member(at, job)) : NULL;
        more = at && *at == ',';
        at = at && (*at == ',' || *at == '}') ? at + 1 : NULL;
    }
    at = skip_space(at);
    return at && !*at;
}

bool job_line_scan(const char *line, struct job_line *job)
{
    return scan(line, job) && job->id.text && job->in.text && job->out.text && is_tidy(&job->out);
}

bool job_line_scan_done(const char *line, struct job_line *job)
{
    return scan(line, job) && job->id.text && job->out.text;
}
