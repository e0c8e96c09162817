/* Words, strings and signs of a BruteFIR configuration, one by one. */
#include "mask/mask_brutefir.h"

#include <ctype.h>
#include <string.h>

enum { BLOCK_DEPTH_MOST = 8 };

static bool is_sign(char c)
{
    return c && strchr("{}:;,/", c);
}

static enum status read_string(struct brutefir_tokens *tokens)
{
    char *end = strchr(tokens->at + 1, '"');
    if (!end)
        return mask_config_refuse(tokens->config, "an unterminated string");
    for (const char *c = tokens->at; c < end; c++)
        tokens->config->line += *c == '\n';
    *end = '\0';
    tokens->now.kind = TOKEN_STRING;
    tokens->now.text = tokens->at + 1;
    tokens->at = end + 1;
    return STATUS_OK;
}

/* Skips blanks and comments. Returns the next character, which a terminator may have replaced in
 * the text. */
static char skip_blanks(struct brutefir_tokens *tokens)
{
    for (;; tokens->at++) {
        char c = tokens->held ? tokens->held : *tokens->at;
        if (c == '#') {
            tokens->held = '\0';
            tokens->at++;
            tokens->at += strcspn(tokens->at, "\n");
            c = *tokens->at;
        }
        if (!isspace((unsigned char)c))
            return c;
        tokens->held = '\0';
        tokens->config->line += c == '\n';
    }
}

enum status brutefir_next(struct brutefir_tokens *tokens)
{
    char c = skip_blanks(tokens);
    tokens->held = '\0';
    if (c == '"')
        return read_string(tokens);
    if (!c || is_sign(c)) {
        tokens->now.kind = c ? TOKEN_SIGN : TOKEN_END;
        tokens->now.sign = c;
        tokens->at += c != '\0';
        return STATUS_OK;
    }
    char *end = tokens->at;
    while (*end && !isspace((unsigned char)*end) && !is_sign(*end) && *end != '#' && *end != '"')
        end++;
    tokens->now.kind = TOKEN_WORD;
    tokens->now.text = tokens->at;
    tokens->at = end;
    tokens->held = *end;
    *end = '\0';
    return STATUS_OK;
}

bool brutefir_at(const struct brutefir_tokens *tokens, char sign)
{
    return tokens->now.kind == TOKEN_SIGN && tokens->now.sign == sign;
}

enum status brutefir_expect(struct brutefir_tokens *tokens, char sign)
{
    if (!brutefir_at(tokens, sign))
        return mask_config_refuse(tokens->config, "'%c' is missing", sign);
    return brutefir_next(tokens);
}

enum status brutefir_text(struct brutefir_tokens *tokens, char **text)
{
    if (tokens->now.kind != TOKEN_STRING && tokens->now.kind != TOKEN_WORD)
        return mask_config_refuse(tokens->config, "a name or a value is missing");
    *text = tokens->now.text;
    return brutefir_next(tokens);
}

enum status brutefir_number(struct brutefir_tokens *tokens, double *value)
{
    char *text = NULL;
    TRY(brutefir_text(tokens, &text));
    if (!mask_config_number(text, value))
        return mask_config_refuse(tokens->config, "'%.40s' is not a number", text);
    return STATUS_OK;
}

enum status brutefir_count(struct brutefir_tokens *tokens, const char *what, uint64_t *value)
{
    char *text = NULL;
    TRY(brutefir_text(tokens, &text));
    if (!mask_config_count(text, value))
        return mask_config_refuse(tokens->config, "%s must be a whole number, not '%.40s'", what,
                                  text);
    return STATUS_OK;
}

enum status brutefir_skip(struct brutefir_tokens *tokens, bool are_modules)
{
    for (int depth = 0; (depth > 0 || !brutefir_at(tokens, ';'));) {
        if (tokens->now.kind == TOKEN_END || (depth == 0 && brutefir_at(tokens, '}')))
            return mask_config_refuse(tokens->config, "';' is missing");
        if (are_modules && depth == 0 && tokens->now.kind == TOKEN_STRING &&
            strcmp(tokens->now.text, "cli") != 0)
            return mask_config_refuse(tokens->config, "the module %.40s cannot be read as a mask",
                                      tokens->now.text);
        if (are_modules && tokens->now.kind == TOKEN_WORD &&
            strcmp(tokens->now.text, "script") == 0)
            return mask_config_refuse(tokens->config,
                                      "script: varies over time and cannot be read as a mask");
        depth += brutefir_at(tokens, '{') ? 1 : brutefir_at(tokens, '}') ? -1 : 0;
        if (depth > BLOCK_DEPTH_MOST)
            return mask_config_refuse(tokens->config, "too many '{'");
        TRY(brutefir_next(tokens));
    }
    return STATUS_OK;
}
