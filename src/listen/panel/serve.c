#include "listen/panel/serve.h"

#include "base/atomic_file.h"
#include "base/json_text.h"
#include "base/monotonic.h"
#include "base/printable.h"
#include "base/stop.h"
#include "listen/trial.h"
#include "sound/sodium_library.h"
#include "web/web_server.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TOKEN = 32,         /* Tokens and ids have so many digits. */
    NAME_MOST = 100,    /* A name has at most so many bytes. */
    WRONG_A_SECOND = 5, /* So many wrong tokens are answered in a second. */
    LINK_MOST = WEB_LINK + 2 * DIGEST_TEXT + 3 * NAME_MOST,
};

enum { DONE = 200, BAD = 400, FORBIDDEN = 403, TAKEN = 409, TOO_MANY = 429, FAILED = 500 };

struct serve {
    const struct serve_settings *settings;
    char *folder, *key_path, *answers; /* paths: the page, the key, the folder of answers */
    json_t *key;
    const json_t *listeners; /* names that are accepted; NULL: any */
    json_t *own_listeners;   /* `listeners`, if the settings name them */
    long long second;        /* when the last wrong token came */
    unsigned wrong;          /* Count of wrong tokens in that second. */
    bool ended;
};

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

/* ---- names and tokens ---- */

/* Whether a name, in UTF-8, can be the name of a file. */
static bool is_fit(const char *name)
{
    for (const char *at = name; *at; at += printable_utf8(at))
        if (*at == '/' || printable_is_control(at))
            return false;
    return name[0] != '.' && strlen(name) <= NAME_MOST;
}

static enum status make_token(const struct serve *serve, const char *name, char token[DIGEST_TEXT])
{
    char *text;
    if (asprintf(&text, "%s token %s", text_of(serve->key, "salt"), name) < 0)
        return fail_memory("a token");
    digest_of_text(text, token);
    token[TOKEN] = '\0';
    free(text);
    return STATUS_OK;
}

static bool is_token(const char *token, const char *said)
{
    return strlen(said) == TOKEN && sodium_memcmp(token, said, TOKEN) == 0;
}

static bool is_listener(const struct serve *serve, const char *name)
{
    size_t index;
    const json_t *listener;
    json_array_foreach(serve->listeners, index, listener)
    {
        if (strcmp(json_string_value(listener), name) == 0)
            return true;
    }
    return !serve->listeners;
}

/* ---- the test ---- */

static enum status check_listeners(const struct serve *serve)
{
    size_t index;
    const json_t *listener;
    if (serve->listeners && json_array_size(serve->listeners) == 0)
        return fail(CAUSE_DAMAGED, "listeners of %s is not a list of names", serve->key_path);
    json_array_foreach(serve->listeners, index, listener)
    {
        const char *name = json_string_value(listener);
        if (!name || !*name || !is_fit(name))
            return fail(CAUSE_USAGE,
                        "'%s' cannot be a listener: a name has up to %d bytes, no '/', no control "
                        "character and no '.' at its start",
                        name ? name : "", NAME_MOST);
    }
    return STATUS_OK;
}

static enum status take_listeners(struct serve *serve)
{
    const struct serve_settings *settings = serve->settings;
    serve->listeners = json_object_get(serve->key, "listeners");
    if (settings->name_count > 0)
        serve->listeners = serve->own_listeners = json_array();
    for (size_t i = 0; i < settings->name_count; i++)
        if (json_array_append_new(serve->own_listeners, json_text(settings->names[i])) != 0)
            return fail_memory("the listeners");
    return check_listeners(serve);
}

/* Checks that the key's commitment is of this key. */
static enum status check_commitment(const struct serve *serve)
{
    char digest[DIGEST_TEXT];
    TRY(trial_log_commit(serve->key, digest));
    if (strcmp(digest, text_of(serve->key, "commitment")) != 0)
        return fail(CAUSE_DAMAGED, "%s was changed: it has not the hash of its content",
                    serve->key_path);
    return STATUS_OK;
}

static enum status load_key(struct serve *serve)
{
    json_error_t error;
    serve->key = json_text_load(serve->key_path, JSON_REJECT_DUPLICATES, &error);
    if (!serve->key && json_error_code(&error) == json_error_cannot_open_file)
        return fail_errno(errno, "cannot read %s", serve->key_path);
    if (!serve->key)
        return fail(CAUSE_DAMAGED, "%s: line %d: %s", serve->key_path, error.line, error.text);
    if (strcmp(text_of(serve->key, "halo"), "key") != 0 ||
        !json_is_object(json_object_get(serve->key, "trials")))
        return fail(CAUSE_DAMAGED, "%s is not the key of a listening test", serve->key_path);
    return check_commitment(serve);
}

/* Checks that the page has the key's commitment. Otherwise all answers would be refused. */
static enum status check_page(const struct serve *serve)
{
    char *path, *text = NULL;
    size_t size = 0;
    if (asprintf(&path, "%s/test.js", serve->folder) < 0)
        return fail_memory("a page");
    FILE *file = fopen(path, "re");
    enum status status = file ? STATUS_OK : fail_errno(errno, "cannot read %s", path);
    if (file && (getdelim(&text, &size, '\0', file) < 0 ||
                 !strstr(text, text_of(serve->key, "commitment"))))
        status = fail(CAUSE_OTHER, "%s is of another test than %s; export the test again", path,
                      serve->key_path);
    if (file)
        fclose(file);
    free(text);
    free(path);
    return status;
}

/* ---- posted answers ---- */

static json_t *refuse(web_status *status, web_status reason, const char *why)
{
    *status = reason;
    return web_error(why);
}

/* Wrong tokens: a program that tries many of them gets a hint to stop. */
static json_t *refuse_token(struct serve *serve, web_status *status)
{
    long long now = monotonic_ns() / 1000000000;
    serve->wrong = now == serve->second ? serve->wrong + 1 : 1;
    serve->second = now;
    if (serve->wrong > WRONG_A_SECOND)
        return refuse(status, TOO_MANY, "there were too many wrong links; try again later");
    return refuse(status, FORBIDDEN, "this link is not of this test; ask for your link");
}

static bool is_id(const char *id)
{
    return strlen(id) == TOKEN && strspn(id, "0123456789abcdef") == TOKEN;
}

/* Whether the sounds of a trial are of that trial, each once. */
static bool has_its_sounds(const json_t *trial, const json_t *known)
{
    size_t index;
    const json_t *sound, *slots = json_object_get(known, "slots");
    const json_t *shown = json_object_get(trial, "shown");
    json_t *seen = json_object();
    json_array_foreach(shown, index, sound)
    {
        if (!json_object_get(slots, json_string_value(sound)) ||
            json_object_set_new(seen, json_string_value(sound), json_true()) != 0)
            break;
    }
    bool are_known = seen && index > 0 && json_object_size(seen) == json_array_size(shown);
    json_decref(seen);
    return are_known;
}

/* Why answers are not of this test; NULL: they are. */
static const char *flaw_of(const struct serve *serve, const json_t *answers)
{
    size_t index;
    const json_t *trial, *trials = json_object_get(answers, "trials");
    json_t *seen = json_object();
    if (strcmp(text_of(answers, "halo"), "answers") != 0 || !is_id(text_of(answers, "id")))
        return json_decref(seen), "these are no answers of a listening test";
    if (strcmp(text_of(answers, "commitment"), text_of(serve->key, "commitment")) != 0 ||
        strcmp(text_of(answers, "kind"), text_of(serve->key, "kind")) != 0)
        return json_decref(seen), "these answers are of another test; reload the page";
    json_array_foreach(trials, index, trial)
    {
        const char *id = text_of(trial, "trial");
        const json_t *known = json_object_get(json_object_get(serve->key, "trials"), id);
        if (!known || !has_its_sounds(trial, known) ||
            json_object_set_new(seen, id, json_true()) != 0)
            break;
    }
    bool are_known =
        seen && json_is_array(trials) && json_object_size(seen) == json_array_size(trials);
    json_decref(seen);
    return are_known ? NULL : "these answers have trials that are not of this test";
}

static enum status write_answers(const char *path, bool force, json_t *answers)
{
    struct atomic_file file;
    FILE *stream;
    TRY(atomic_text_open(&file, path, force, &stream));
    int error = fchmod(file.fd, S_IRUSR | S_IWUSR) != 0 ? errno : 0;
    if (!error)
        error = json_write(json_incref(answers), JSON_INDENT(1), stream);
    return atomic_text_close(&file, path, stream,
                             error ? fail_errno(error, "cannot write %s", path) : STATUS_OK);
}

/* A failure to print shows at the end of the program. */
static void report(const struct serve *serve, const char *who, size_t trials, const char *path)
{
    if (serve->settings->json) {
        json_t *line = json_pack("{s:o, s:o, s:I}", "saved", json_text(path), "listener",
                                 json_text(who), "trials", (json_int_t)trials);
        if (json_write(line, JSON_COMPACT, stdout) == 0)
            return;
    }
    printf("%s: answers to %zu trial%s, saved as ", *who ? printable(who) : "no name", trials,
           trials == 1 ? "" : "s");
    puts(printable(path));
    fflush(stdout);
}

/* A copy of answers with their key and, since the token vouches for it, the name in the link. */
static json_t *with_key(const struct serve *serve, const char *name, json_t *answers)
{
    json_t *whole = json_copy(answers);
    if (*name)
        json_object_set_new(whole, "listener", json_string(name));
    json_object_set(whole, "key", serve->key);
    return whole;
}

static json_t *save_as(struct serve *serve, const char *path, json_t *whole, web_status *status)
{
    const struct serve_settings *settings = serve->settings;
    bool force = settings->output && settings->force;
    if (!force && access(path, F_OK) == 0)
        return refuse(status, TAKEN, "answers with this link are saved already");
    if (!settings->output && mkdir(serve->answers, S_IRWXU) != 0 && errno != EEXIST
            ? fail_errno(errno, "cannot create %s", serve->answers)
            : write_answers(path, force, whole))
        return refuse(status, FAILED, "the answers could not be saved; download them instead");
    if (!settings->output)
        report(serve, text_of(whole, "listener"), json_array_size(json_object_get(whole, "trials")),
               path);
    serve->ended = settings->output != NULL;
    *status = DONE;
    return json_pack("{s:b}", "saved", 1);
}

/* Saves answers that fit. */
static json_t *save(struct serve *serve, const char *name, json_t *answers, web_status *status)
{
    char *path = NULL;
    const char *output = serve->settings->output;
    *status = FAILED;
    if (!output &&
        asprintf(&path, "%s/%s.json", serve->answers, *name ? name : text_of(answers, "id")) < 0)
        return NULL;
    json_t *whole = with_key(serve, name, answers);
    json_t *reply = save_as(serve, output ? output : path, whole, status);
    json_decref(whole);
    free(path);
    return reply;
}

static json_t *take(struct serve *serve, const json_t *posted, web_status *status)
{
    char token[DIGEST_TEXT];
    const char *name = text_of(posted, "name");
    json_t *answers = json_object_get(posted, "answers");
    *status = FAILED;
    if (make_token(serve, name, token) != STATUS_OK)
        return NULL;
    if (!is_token(token, text_of(posted, "token")) || !is_listener(serve, name) || !is_fit(name))
        return refuse_token(serve, status);
    const char *flaw = flaw_of(serve, answers);
    return flaw ? refuse(status, BAD, flaw) : save(serve, name, answers, status);
}

static web_status take_post(void *context, const char *body, size_t size, json_t **reply)
{
    web_status status = BAD;
    json_t *posted = json_loadb(body, size, JSON_REJECT_DUPLICATES, NULL);
    *reply = posted ? take(context, posted, &status) : web_error("the answers are damaged");
    json_decref(posted);
    return status;
}

/* ---- the server ---- */

static bool is_served(const char *name)
{
    static const char *const names[] = {"index.html", "page.js", "page.css", "test.js"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    size_t length = strlen(name);
    return strncmp(name, "data/", 5) == 0 && length > 8 && name[5] != '.' &&
           !strchr(name + 5, '/') && strcmp(name + length - 3, ".js") == 0;
}

/* Calls ready() with a listener's link. */
static enum status show_link(const struct serve *serve, const char *base, const char *name)
{
    char link[LINK_MOST], token[DIGEST_TEXT];
    size_t at = (size_t)snprintf(link, sizeof link, "%s#listener=", base);
    TRY(make_token(serve, name, token));
    for (; *name; name++)
        at += (size_t)sprintf(link + at, isalnum((unsigned char)*name) ? "%c" : "%%%02X",
                              (unsigned char)*name);
    sprintf(link + at, "&token=%s", token);
    serve->settings->ready(serve->settings->context, link);
    return STATUS_OK;
}

static enum status show_links(const struct serve *serve, const char *base)
{
    size_t index;
    const json_t *listener;
    if (!serve->listeners)
        return show_link(serve, base, "");
    json_array_foreach(serve->listeners, index, listener)
    {
        TRY(show_link(serve, base, json_string_value(listener)));
    }
    return STATUS_OK;
}

static enum status serve_page(struct serve *serve)
{
    const struct serve_settings *settings = serve->settings;
    const struct web_settings web = {
        .address = settings->address,
        .certificate = settings->tls_certificate,
        .key = settings->tls_key,
        .insecure = settings->insecure,
        .folder = serve->folder,
        .serves = is_served,
        .post_name = "answers",
        .posted = take_post,
        .context = serve,
    };
    struct web_server *server;
    TRY(web_server_open(&web, &server));
    enum status status = show_links(serve, web_server_link(server));
    while (status == STATUS_OK && !serve->ended && !stop_requested())
        status = web_server_serve(server);
    web_server_close(server);
    return status == STATUS_OK && serve->settings->output && !serve->ended ? STATUS_INTERRUPTED
                                                                           : status;
}

static enum status run(struct serve *serve)
{
    const char *folder = serve->settings->folder;
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    serve->folder = strndup(folder, length);
    if (!serve->folder || asprintf(&serve->key_path, "%s.key", serve->folder) < 0)
        return serve->key_path = NULL, fail_memory("a listening test");
    if (asprintf(&serve->answers, "%s.answers", serve->folder) < 0)
        return serve->answers = NULL, fail_memory("a listening test");
    TRY(digest_start());
    TRY(load_key(serve));
    TRY(check_page(serve));
    TRY(take_listeners(serve));
    return serve_page(serve);
}

enum status serve_run(const struct serve_settings *settings)
{
    struct serve serve = {.settings = settings};
    enum status status = run(&serve);
    json_decref(serve.own_listeners);
    json_decref(serve.key);
    free(serve.folder);
    free(serve.key_path);
    free(serve.answers);
    return status;
}
