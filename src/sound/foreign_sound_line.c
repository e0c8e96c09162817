/* The refusal of a foreign sound: the command line that was typed, with ffmpeg around it. */
#include "base/command_line.h"
#include "base/text_stream.h"
#include "sound/foreign_sound.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { LINE_MOST = 7000 }; /* bytes; a message has 8192 */

static bool is(const char *word, const char *other)
{
    return word && strcmp(word, other) == 0;
}

/* -O DIR: all arguments are inputs. */
static bool has_folder(void)
{
    const char *word;
    for (size_t i = 2; (word = command_line_word(i)); i++)
        if (strncmp(word, "-O", 2) == 0 || strncmp(word, "--out-d", 7) == 0)
            return true;
    return false;
}

/* halo render IN OUT: its pipes can take their places. */
static bool is_render(void)
{
    return is(command_line_word(1), "render") && command_line_argument(1) && !has_folder();
}

/* --edge reflect and wrap seek. */
static bool seeks(void)
{
    const char *word;
    for (size_t i = 2; (word = command_line_word(i)); i++) {
        const char *value = strrchr(word, '=');
        value = value ? value + 1 : word;
        if (is(value, "reflect") || is(value, "wrap"))
            return true;
    }
    return false;
}

/* Whether an option is given: a long one by the beginning that tells it, or a letter among such. */
static bool is_given(const char *beginning, char letter)
{
    const char *word;
    for (size_t i = 2; (word = command_line_word(i)); i++)
        if (strncmp(word, beginning, strlen(beginning)) == 0 ||
            (letter && word[0] == '-' && word[1] && strspn(word + 1, "fqv") == strlen(word + 1) &&
             strchr(word, letter)))
            return true;
    return false;
}

/* ffmpeg takes what begins with a dash for an option, and what precedes a colon for a protocol. */
static void put_path(FILE *line, const char *path)
{
    bool is_option = path[0] == '-' && path[1], is_address = strchr(path, ':');
    char *named = NULL;
    if ((is_option || is_address) && (named = malloc(strlen(path) + sizeof "file:")))
        strcat(strcpy(named, "file:"), path);
    command_line_quote(line, named ? named : path);
    free(named);
}

static void put_reader(FILE *line, const char *path, const struct foreign_sound *sound)
{
    fputs("ffmpeg -v error -i ", line);
    put_path(line, path);
    fprintf(line, " -c:a %s", sound->codec);
}

static bool is_lossless(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (strcasecmp(dot, ".wv") == 0 || strcasecmp(dot, ".tta") == 0);
}

/* What is lossy is better encoded from floats than from dithered integers. */
static void put_render(FILE *line, bool from_pipe, bool to_pipe)
{
    const char *word, *in = command_line_argument(0), *out = command_line_argument(1);
    for (size_t i = 0; (word = command_line_word(i)); i++) {
        bool piped = (from_pipe && word == in) || (to_pipe && word == out);
        if (i > 0)
            fputc(' ', line);
        command_line_quote(line, piped ? "-" : word);
        if (to_pipe && i == 1 && !is_lossless(out) && !is_given("--form", 0))
            fputs(" --format float", line);
    }
    if (!to_pipe)
        return;
    fprintf(line, " | ffmpeg -v error%s -f wav -i - ", is_given("--forc", 'f') ? " -y" : "");
    put_path(line, out);
}

/* Whether the word is that path, or a spec that begins with it, and where. */
static const char *path_in(const char *word, const char *path)
{
    size_t length = strlen(path);
    const char *value = word[0] == '-' ? strchr(word, '=') : NULL;
    const char *at = value ? value + 1 : word;
    bool begins = strncmp(at, path, length) == 0 && (!at[length] || at[length] == ',');
    return begins ? at : NULL;
}

static bool is_used(const char *path)
{
    const char *word;
    for (size_t i = 1; (word = command_line_word(i)); i++)
        if (path_in(word, path))
            return true;
    return access(path, F_OK) == 0;
}

/* A WAV beside the file, of a name that nothing has. */
static char *converted_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    const char *folder = path[0] == '-' ? "./" : ""; /* no option */
    size_t stem = dot ? (size_t)(dot - path) : strlen(path), size = strlen(path) + sizeof "./.wav";
    char *name = malloc(size);
    if (!name)
        return NULL;
    snprintf(name, size, "%s%.*s.wav", folder, (int)stem, path);
    if (is_used(name))
        snprintf(name, size, "%s%s.wav", folder, path);
    return name;
}

/* -O DIR: the file is one of the inputs, whose number counts from 1; 0: it is none of them. */
static size_t number_among_inputs(const char *path, size_t *count)
{
    const char *word;
    size_t number = 0;
    *count = 0;
    for (size_t i = 0; has_folder() && (word = command_line_word(i)); i++)
        if (command_line_is_argument(i) && ++*count && !number && is(word, path))
            number = *count;
    return number;
}

/* A pattern of names, which would count the file alone. */
static char *numbered(const char *word, size_t number, size_t count)
{
    static const char field[] = "{index}";
    const char *at = strstr(word, field);
    char *text = NULL;
    if (!at || (at > word && at[-1] == '{') ||
        asprintf(&text, "%.*s%0*zu%s", (int)(at - word), word, snprintf(NULL, 0, "%zu", count),
                 number, at + strlen(field)) < 0)
        return NULL;
    return text;
}

static char *with_other_path(const char *word, const char *path, const char *other)
{
    char *text = NULL;
    const char *at = path_in(word, path);
    if (!at || asprintf(&text, "%.*s%s%s", (int)(at - word), word, other, at + strlen(path)) < 0)
        return NULL;
    return text;
}

/* The command with the converted file in the other's place, if it names that one. Of many inputs
 * it has that one alone: the others need no conversion, or have a line of their own. */
static void put_command(FILE *line, const char *path, const char *converted)
{
    const char *word;
    bool names = false;
    size_t count, number = number_among_inputs(path, &count);
    for (size_t i = 1; (word = command_line_word(i)); i++)
        names |= path_in(word, path) != NULL;
    if (!names)
        return;
    fputs(" &&", line);
    for (size_t i = 0; (word = command_line_word(i)); i++) {
        bool is_input = command_line_is_argument(i);
        if (number && is_input && !is(word, path))
            continue;
        char *other = i > 0 ? with_other_path(word, path, converted) : NULL;
        if (!other && number && !is_input)
            other = numbered(word, number, count);
        fputc(' ', line);
        command_line_quote(line, other ? other : word);
        free(other);
    }
}

/* Converted first, for what does not read from a pipe. */
static void put_conversion(FILE *line, const char *path, const struct foreign_sound *sound)
{
    char *converted = converted_name(path);
    if (!converted)
        return;
    put_reader(line, path, sound);
    fputc(' ', line);
    put_path(line, converted);
    put_command(line, path, converted);
    free(converted);
}

static void put_input_line(FILE *line, const char *path, const struct foreign_sound *sound)
{
    bool piped = is_render() && is(command_line_argument(0), path) && (!seeks() || is(path, "-"));
    if (!piped) {
        put_conversion(line, path, sound);
        return;
    }
    const char *out = command_line_argument(1);
    put_reader(line, path, sound);
    fputs(" -f wav - | ", line);
    put_render(line, true, foreign_sound_is_output(out) && !is_given("--con", 0));
}

/* Else from a WAV of another name, for what does not write to a pipe. */
static void put_output_line(FILE *line, const char *path)
{
    if (is_render() && is(command_line_argument(1), path)) {
        put_render(line, false, true);
        return;
    }
    char *written = converted_name(path);
    fputs("ffmpeg -v error -i ", line);
    put_path(line, written ? written : "-");
    fputc(' ', line);
    put_path(line, path);
    free(written);
}

enum status foreign_sound_refuse(const char *path, const struct foreign_sound *sound)
{
    char *text = NULL;
    size_t size = 0;
    FILE *line = text_stream_open(&text, &size);
    if (line)
        put_input_line(line, path, sound);
    bool whole = text_stream_finish(line) == 0 && size > 0 && size < LINE_MOST;
    enum status status =
        whole ? fail(STATUS_FAILED, "cannot read %s: halo does not read %s; use: %s", path,
                     sound->name, text)
              : fail(STATUS_FAILED, "cannot read %s: halo does not read %s; convert it by ffmpeg",
                     path, sound->name);
    free(text);
    return status;
}

enum status foreign_sound_refuse_output(const char *path)
{
    char *text = NULL;
    size_t size = 0;
    FILE *line = text_stream_open(&text, &size);
    if (line)
        put_output_line(line, path);
    bool whole = text_stream_finish(line) == 0 && size > 0 && size < LINE_MOST;
    enum status status =
        whole ? fail(STATUS_USAGE, "cannot write %s: halo does not write its container; %suse: %s",
                     path, is_render() ? "" : "write WAV and ", text)
              : fail(STATUS_USAGE,
                     "cannot write %s: halo does not write its container; write WAV and convert it "
                     "by ffmpeg",
                     path);
    free(text);
    return status;
}
