#include "live/web/live_web.h"

#include "base/json_text.h"
#include "base/ring.h"
#include "base/thread.h"
#include "base/user_folder.h"
#include "web/web_server.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

enum {
    LETTERS_MOST = 64,   /* answers and messages that wait for a page at most */
    LIVE_WEB_DIGITS = 9, /* of numbers, so that floats are exact */
    TOKEN_BYTES = 16,
    TOKEN_TEXT = 2 * TOKEN_BYTES + 1,
    LINK_BYTES = WEB_LINK + TOKEN_TEXT + 1,
};

/* A text that pages share. The last user frees it. */
struct letter {
    atomic_int users;
    size_t size;
    char text[];
};

struct web_page {
    uint64_t visit; /* 0: no page has this number */
    struct letter *letters[LETTERS_MOST];
    size_t first, count;
    uint64_t seen[LIVE_WEB_TOPICS]; /* number of the text that was sent last */
    struct letter *sending;         /* valid until the server asks for the next */
};

struct live_web {
    struct web_settings settings;
    struct web_server *server;
    char token[TOKEN_TEXT];
    char link[LINK_BYTES];
    pthread_t thread;
    bool runs;
    atomic_bool ends;
    int event;
    atomic_uint page_count;
    pthread_mutex_t lock; /* for all below, which the control thread holds for a copy at most */
    struct ring *requests;
    uint64_t visits;
    struct web_page pages[WEB_CLIENTS_MOST];
    struct letter *topics[LIVE_WEB_TOPICS];
    uint64_t numbers[LIVE_WEB_TOPICS]; /* numbers of these texts, from 1 */
};

/* ---- reading messages ---- */

enum { DO_MOST = 60, CURVE_ARGUMENTS = 4 };

static bool read_argument(const json_t *value, struct command_argument *argument)
{
    *argument = (struct command_argument){.text = json_string_value(value)};
    argument->is_switch = json_is_boolean(value);
    argument->number = argument->is_switch ? json_is_true(value) : json_number_value(value);
    return argument->text || argument->is_switch || json_is_number(value);
}

static bool read_number(const struct command_argument *argument, size_t least, size_t *number)
{
    const double most = 1 << 20;
    double value = argument->number;
    *number = value >= 0 && value <= most ? (size_t)value : 0;
    return !argument->text && !argument->is_switch && floor(value) == value &&
           value >= (double)least && value <= most;
}

static bool read_curves(const struct command_argument *arguments, size_t count,
                        struct live_web_request *request)
{
    const char *what = count == CURVE_ARGUMENTS ? arguments[0].text : NULL;
    request->wants_curves = true;
    request->curves.of_mask = what && strcmp(what, "mask") == 0;
    return what && (request->curves.of_mask || strcmp(what, "chain") == 0) &&
           read_number(&arguments[1], 0, &request->curves.choice) &&
           read_number(&arguments[2], 1, &request->curves.input) &&
           read_number(&arguments[3], 1, &request->curves.output);
}

static bool read_object(const json_t *message, struct live_web_request *request, char *reason)
{
    struct command_argument arguments[CURVE_ARGUMENTS];
    const json_t *with = json_object_get(message, "with");
    const char *what = json_string_value(json_object_get(message, "do"));
    char path[DO_MOST + 8];
    size_t count = json_array_size(with);
    request->id = json_integer_value(json_object_get(message, "id"));
    snprintf(reason, COMMAND_REASON_MOST,
             "a message is {\"id\": NUMBER, \"do\": NAME, \"with\": "
             "[ARGUMENT]}");
    bool valid = what && strlen(what) < DO_MOST && count <= CURVE_ARGUMENTS &&
                 (!with || json_is_array(with));
    for (size_t i = 0; valid && i < count; i++)
        valid = read_argument(json_array_get(with, i), &arguments[i]);
    if (!valid)
        return false;
    if (strcmp(what, "curves") == 0) {
        snprintf(reason, COMMAND_REASON_MOST,
                 "it takes \"chain\" or \"mask\", CHOICE, INPUT and OUTPUT");
        return read_curves(arguments, count, request);
    }
    snprintf(path, sizeof path, "/halo/%s", what);
    return live_command_make(path, arguments, count, &request->command, reason);
}

bool live_web_read(const char *text, size_t size, struct live_web_request *request,
                   char reason[static COMMAND_REASON_MOST])
{
    json_t *message = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    *request = (struct live_web_request){0};
    bool valid = read_object(message, request, reason);
    json_decref(message);
    return valid;
}

/* ---- letters ---- */

static void release(struct letter *letter)
{
    if (letter && atomic_fetch_sub(&letter->users, 1) == 1)
        free(letter);
}

static struct letter *share(struct letter *letter)
{
    atomic_fetch_add(&letter->users, 1);
    return letter;
}

/* Makes a letter with one user. NULL: memory ran out, or `text` is NULL. */
static struct letter *make_letter(const char *text)
{
    size_t size = text ? strlen(text) : 0;
    struct letter *letter = text ? malloc(sizeof *letter + size + 1) : NULL;
    if (!letter)
        return NULL;
    atomic_init(&letter->users, 1);
    letter->size = size;
    memcpy(letter->text, text, size + 1);
    return letter;
}

/* Adds a letter. If there are too many, the oldest is lost. */
static void post(struct web_page *page, struct letter *letter)
{
    if (page->count == LETTERS_MOST) {
        release(page->letters[page->first]);
        page->first = (page->first + 1) % LETTERS_MOST;
        page->count--;
    }
    page->letters[(page->first + page->count++) % LETTERS_MOST] = share(letter);
}

static struct letter *take_letter(struct web_page *page)
{
    struct letter *letter = page->letters[page->first];
    page->first = (page->first + 1) % LETTERS_MOST;
    page->count--;
    return letter;
}

/* The next letter for a page, or else a topic's text that it has not seen. */
static struct letter *next_letter(struct live_web *web, struct web_page *page)
{
    if (page->count > 0)
        return take_letter(page);
    for (size_t i = 0; i < LIVE_WEB_TOPICS; i++)
        if (page->seen[i] != web->numbers[i]) {
            page->seen[i] = web->numbers[i];
            return share(web->topics[i]);
        }
    return NULL;
}

static void empty(struct web_page *page)
{
    while (page->count > 0)
        release(take_letter(page));
    release(page->sending);
    *page = (struct web_page){0};
}

/* ---- the server's thread ---- */

static void joined(void *context, unsigned client)
{
    struct live_web *web = context;
    pthread_mutex_lock(&web->lock);
    web->pages[client].visit = ++web->visits;
    atomic_fetch_add(&web->page_count, 1);
    pthread_mutex_unlock(&web->lock);
}

static void left(void *context, unsigned client)
{
    struct live_web *web = context;
    pthread_mutex_lock(&web->lock);
    empty(&web->pages[client]);
    atomic_fetch_sub(&web->page_count, 1);
    pthread_mutex_unlock(&web->lock);
}

static const char *next(void *context, unsigned client, size_t *size)
{
    struct live_web *web = context;
    struct web_page *page = &web->pages[client];
    pthread_mutex_lock(&web->lock);
    release(page->sending);
    page->sending = next_letter(web, page);
    pthread_mutex_unlock(&web->lock);
    if (!page->sending)
        return NULL;
    *size = page->sending->size;
    return page->sending->text;
}

static void message(void *context, unsigned client, const char *text, size_t size)
{
    struct live_web *web = context;
    struct live_web_request request;
    char reason[COMMAND_REASON_MOST];
    bool valid = live_web_read(text, size, &request, reason);
    request.page = (struct live_web_page){.number = client, .visit = web->pages[client].visit};
    if (valid && ring_write(web->requests, &request, 1) == 1) {
        const uint64_t one = 1;
        (void)!write(web->event, &one, sizeof one);
    } else {
        live_web_answer(web, &request, valid ? "too many requests wait: try again" : reason);
    }
}

static void *serve(void *context)
{
    struct live_web *web = context;
    while (!atomic_load(&web->ends))
        if (web_server_serve(web->server) != STATUS_OK)
            break;
    return NULL;
}

/* ---- the token ---- */

static bool read_token(const char *path, char token[TOKEN_TEXT])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t size = fd >= 0 ? read(fd, token, TOKEN_TEXT) : -1;
    if (fd >= 0)
        close(fd);
    token[TOKEN_TEXT - 1] = '\0';
    return size >= TOKEN_TEXT - 1 && strspn(token, "0123456789abcdef") == TOKEN_TEXT - 1;
}

static enum status make_token(const char *path, char token[TOKEN_TEXT])
{
    unsigned char bytes[TOKEN_BYTES];
    char fresh[PATH_MAX + 32];
    TRY(user_folder_make(path));
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return fail_errno(errno, "cannot make a token");
    for (size_t i = 0; i < sizeof bytes; i++)
        sprintf(token + 2 * i, "%02x", bytes[i]);
    snprintf(fresh, sizeof fresh, "%s.%ld", path, (long)getpid());
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool done = fd >= 0 && write(fd, token, TOKEN_TEXT - 1) == TOKEN_TEXT - 1;
    done = fd >= 0 && close(fd) == 0 && done && rename(fresh, path) == 0;
    int error = errno;
    if (!done && fd >= 0)
        (void)unlink(fresh);
    return done ? STATUS_OK : fail_errno(error, "cannot write %s", path);
}

/* The token is kept, so that pages and bookmarks work after a restart. */
static enum status find_token(char token[TOKEN_TEXT])
{
    char path[PATH_MAX];
    TRY(user_folder_state("halo/web-token", path));
    return read_token(path, token) ? STATUS_OK : make_token(path, token);
}

/* ---- opening ---- */

/* Without an address: the usual port, or any free one if that is in use. */
static enum status open_server(struct live_web *web, const struct live_web_options *options)
{
    char address[32], reason[COMMAND_REASON_MOST];
    if (options->address) {
        web->settings.address = options->address;
        return web_server_open(&web->settings, &web->server);
    }
    snprintf(address, sizeof address, "127.0.0.1:%d", LIVE_WEB_PORT);
    web->settings.address = address;
    const struct log_keeper before = log_keep_in(reason, sizeof reason);
    enum status status = web_server_open(&web->settings, &web->server);
    log_keep_again(&before);
    web->settings.address = "127.0.0.1:0";
    return status == STATUS_OK ? status : web_server_open(&web->settings, &web->server);
}

static enum status start(struct live_web *web, const struct live_web_options *options)
{
    TRY(find_token(web->token));
    TRY(ring_create(sizeof(struct live_web_request), LIVE_WEB_REQUESTS_MOST, "web pages",
                    &web->requests));
    if ((web->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0)
        return fail_errno(errno, "cannot serve pages");
    TRY(open_server(web, options));
    snprintf(web->link, sizeof web->link, "%s#%s", web_server_link(web->server), web->token);
    int error = thread_start(&web->thread, "halo web", THREAD_ORDINARY, serve, web);
    web->runs = error == 0;
    return web->runs ? STATUS_OK
                     : fail(CAUSE_NO_MEMORY, "cannot start a thread for the web server: %s",
                            thread_error(error));
}

enum status live_web_open(const struct live_web_options *options, struct live_web **result)
{
    struct live_web *web = calloc(1, sizeof *web);
    *result = NULL;
    if (!web)
        return fail_memory("a web server");
    web->event = -1;
    pthread_mutex_init(&web->lock, NULL);
    web->settings = (struct web_settings){
        .certificate = options->certificate,
        .key = options->key,
        .insecure = options->insecure,
        .files = live_page_files,
        .token = web->token,
        .socket_name = "live",
        .context = web,
        .joined = joined,
        .left = left,
        .message = message,
        .next = next,
    };
    enum status status = start(web, options);
    if (status == STATUS_OK)
        *result = web;
    else
        live_web_close(web);
    return status;
}

void live_web_close(struct live_web *web)
{
    if (!web)
        return;
    atomic_store(&web->ends, true);
    if (web->runs) {
        web_server_wake(web->server);
        pthread_join(web->thread, NULL);
    }
    web_server_close(web->server);
    for (size_t i = 0; i < WEB_CLIENTS_MOST; i++)
        empty(&web->pages[i]);
    for (size_t i = 0; i < LIVE_WEB_TOPICS; i++)
        release(web->topics[i]);
    if (web->event >= 0)
        close(web->event);
    ring_destroy(web->requests);
    pthread_mutex_destroy(&web->lock);
    free(web);
}

const char *live_web_link(const struct live_web *web)
{
    return web->link;
}

/* ---- the control thread ---- */

int live_web_fd(const struct live_web *web)
{
    return web->event;
}

bool live_web_has_pages(const struct live_web *web)
{
    return web && atomic_load(&web->page_count) > 0;
}

bool live_web_take(struct live_web *web, struct live_web_request *request)
{
    uint64_t count;
    (void)!read(web->event, &count, sizeof count);
    return ring_read(web->requests, request, 1) == 1;
}

void live_web_answer(struct live_web *web, const struct live_web_request *request,
                     const char *error)
{
    live_web_send(web, &request->page,
                  json_pack("{s:s, s:I, s:o}", "event", "answer", "id", request->id, "error",
                            error ? json_text(error) : json_null()));
}

/* Releases the object. NULL: memory ran out. */
static char *to_text(json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(LIVE_WEB_DIGITS));
    json_decref(object);
    return text;
}

void live_web_publish_text(struct live_web *web, enum live_web_topic topic, const char *text)
{
    struct letter *letter = make_letter(text);
    if (!letter)
        return;
    pthread_mutex_lock(&web->lock);
    release(web->topics[topic]);
    web->topics[topic] = letter;
    web->numbers[topic]++;
    pthread_mutex_unlock(&web->lock);
}

void live_web_publish(struct live_web *web, enum live_web_topic topic, json_t *object)
{
    char *text = to_text(object);
    live_web_publish_text(web, topic, text);
    free(text);
}

void live_web_flush(struct live_web *web)
{
    web_server_wake(web->server);
}

void live_web_send_text(struct live_web *web, const struct live_web_page *page, const char *text)
{
    struct letter *letter = make_letter(text);
    if (!letter)
        return;
    pthread_mutex_lock(&web->lock);
    for (size_t i = 0; i < WEB_CLIENTS_MOST; i++)
        if (web->pages[i].visit && (!page || web->pages[i].visit == page->visit))
            post(&web->pages[i], letter);
    pthread_mutex_unlock(&web->lock);
    release(letter);
    web_server_wake(web->server);
}

void live_web_send(struct live_web *web, const struct live_web_page *page, json_t *object)
{
    char *text = to_text(object);
    live_web_send_text(web, page, text);
    free(text);
}
