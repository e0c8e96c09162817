#include "web/web_server.h"

#include "base/json_text.h"
#include "base/monotonic.h"
#include "base/options.h"
#include "web/web_sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
    HEADERS_MOST = 1 << 14, /* A request's headers have at most so many bytes. */
    REPLY_MOST = 4096,      /* An answer that is no file has at most so many bytes. */
    OWN_FILES = 3,          /* of libwebsockets: the listening socket, an event, the timer */
    TOKENS_MOST = 10,       /* wrong tokens in TOKENS_TIME */
    TOKENS_TIME = 60,       /* seconds */
    TEXT_AT_ONCE = 1 << 16, /* So many bytes are given to the system at once. */
    UPGRADE_REQUIRED = 426,
    TOO_MANY = 429,
    SESSION_MOST = 1024, /* The text that opens a session has at most so many bytes. */
    NAME_MOST = 256,
};

static const char session_name[] = "session";

static const char headers[] = "Content-Security-Policy: default-src 'self'; style-src 'self'%s; "
                              "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
                              "X-Content-Type-Options: nosniff\r\n"
                              "Referrer-Policy: no-referrer\r\n"
                              "Cache-Control: no-store\r\n"
                              "Connection: close\r\n";

struct web_server {
    const struct web_settings *settings;
    struct lws_context_creation_info info;
    struct lws_context *context;
    struct lws_vhost *vhost;
    int folder;
    int family;           /* The address is AF_INET or AF_INET6. */
    char host[NAME_MOST]; /* the address as a number */
    bool is_loopback;
    bool is_any;
    char link[WEB_LINK];
    unsigned port;
    char headers[512];    /* of each answer */
    long long minute;     /* when the minute began in which wrong tokens are counted, s */
    unsigned wrong;       /* wrong tokens in that minute */
    int timer;            /* for tick_ms; libwebsockets owns it */
    atomic_bool is_woken; /* web_sockets_ask is due */
    struct web_sockets sockets;
};

/* A posted text, of one client. */
struct web_post {
    char *body;
    size_t size, taken;
    bool opens_session;
    bool waits; /* the timer runs, which libwebsockets 4.1 cannot stop */
};

struct web_connection {
    struct web_post post;
    struct web_client *client; /* NULL: no WebSocket */
};

/* ---- the address ---- */

/* Splits "ADDRESS:PORT", with brackets around an IPv6 address. */
static enum status split_address(const char *text, char host[NAME_MOST], size_t *port)
{
    const char *colon = strrchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : 0;
    bool brackets = length > 2 && text[0] == '[' && text[length - 1] == ']';
    if (length == 0 || length >= NAME_MOST || (!brackets && memchr(text, ':', length)))
        return fail(CAUSE_USAGE,
                    "--web takes ADDRESS:PORT, such as 127.0.0.1:8443 or [::1]:8443, not '%s'",
                    text);
    snprintf(host, NAME_MOST, "%.*s", (int)(brackets ? length - 2 : length), text + brackets);
    return options_parse_number("web", colon + 1, 0, 65535, port);
}

static bool is_loopback(const struct sockaddr *address)
{
    const struct sockaddr_in *four = (const void *)address;
    const struct sockaddr_in6 *six = (const void *)address;
    return address->sa_family == AF_INET ? ntohl(four->sin_addr.s_addr) >> 24 == 127
                                         : IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

static bool is_any(const struct sockaddr *address)
{
    const struct sockaddr_in *four = (const void *)address;
    const struct sockaddr_in6 *six = (const void *)address;
    return address->sa_family == AF_INET ? four->sin_addr.s_addr == INADDR_ANY
                                         : IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr);
}

/* Sets port and link. If all addresses of the machine are bound, the link has the machine's
 * name. */
static void make_link(struct web_server *server)
{
    bool brackets = server->family == AF_INET6;
    if (server->is_any && gethostname(server->host, sizeof server->host - 1) == 0)
        brackets = false;
    server->port = (unsigned)lws_get_vhost_listen_port(server->vhost);
    snprintf(server->link, sizeof server->link, "http%s://%s%s%s:%u/",
             server->settings->certificate ? "s" : "", brackets ? "[" : "", server->host,
             brackets ? "]" : "", server->port);
}

/* libwebsockets binds the address itself; this tells why it cannot. */
static enum status try_address(const struct web_server *server, const struct addrinfo *found)
{
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool bound = fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) == 0 &&
                 bind(fd, found->ai_addr, found->ai_addrlen) == 0 && listen(fd, 1) == 0;
    int error = errno;
    if (fd >= 0)
        close(fd);
    return bound ? STATUS_OK : fail_errno(error, "cannot listen on %s", server->settings->address);
}

static enum status take_address(struct web_server *server, const struct addrinfo *found)
{
    const struct web_settings *settings = server->settings;
    server->family = found->ai_family;
    server->is_loopback = is_loopback(found->ai_addr);
    server->is_any = is_any(found->ai_addr);
    if (!server->is_loopback && !settings->certificate && !settings->insecure)
        return fail(CAUSE_USAGE,
                    "%s can be reached from other machines: use --tls-certificate and --tls-key, "
                    "or --web-insecure",
                    settings->address);
    if (getnameinfo(found->ai_addr, found->ai_addrlen, server->host, sizeof server->host, NULL, 0,
                    NI_NUMERICHOST) != 0)
        return fail(CAUSE_USAGE, "cannot listen on %s", settings->address);
    return try_address(server, found);
}

static enum status find_address(struct web_server *server, size_t *port)
{
    char host[NAME_MOST];
    struct addrinfo *found, hints = {.ai_socktype = SOCK_STREAM};
    TRY(split_address(server->settings->address, host, port));
    char service[8];
    snprintf(service, sizeof service, "%zu", *port);
    int error = getaddrinfo(host, service, &hints, &found);
    if (error)
        return fail(CAUSE_USAGE, "cannot listen on %s: %s", server->settings->address,
                    gai_strerror(error));
    enum status status = take_address(server, found);
    freeaddrinfo(found);
    return status;
}

/* ---- answers ---- */

/* Sends JSON, which it releases, and further headers. Returns what the callback has to, -1: each
 * answer ends its connection, since libwebsockets 4.1 hangs on some requests that follow another
 * one. */
static int reply(struct lws *wsi, web_status status, json_t *json, const char *more)
{
    const struct web_server *server = lws_context_user(lws_get_context(wsi));
    unsigned char buffer[LWS_PRE + REPLY_MOST], *start = buffer + LWS_PRE, *at = start,
                                                *end = buffer + sizeof buffer;
    static const char type[] = "application/json";
    char *text = json_line(json, JSON_COMPACT);
    size_t size = text ? strlen(text) : 0;
    bool done = text && size + strlen(server->headers) + strlen(more) < REPLY_MOST / 2 &&
                !lws_add_http_common_headers(wsi, status, type, size, &at, end);
    if (done) {
        at += sprintf((char *)at, "%s%s", server->headers, more);
        done = !lws_finalize_write_http_header(wsi, start, &at, end);
    }
    if (done) {
        memcpy(start, text, size);
        (void)lws_write(wsi, start, size, LWS_WRITE_HTTP_FINAL);
    }
    free(text);
    return -1;
}

static int refuse(struct lws *wsi, web_status status, const char *why)
{
    return reply(wsi, status, web_error(why), "");
}

/* ---- files ---- */

static const char *type_of(const char *name)
{
    static const struct {
        const char *ending, *type;
    } types[] = {{".html", "text/html; charset=utf-8"},
                 {".css", "text/css; charset=utf-8"},
                 {".svg", "image/svg+xml"}};
    const char *ending = strrchr(name, '.');
    for (size_t i = 0; ending && i < sizeof types / sizeof *types; i++)
        if (strcmp(ending, types[i].ending) == 0)
            return types[i].type;
    return "text/javascript; charset=utf-8";
}

/* Opens a regular file in the folder without following links. Returns -1 if there is none. */
static int open_file(const struct web_server *server, const char *name)
{
    const struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK,
                                 .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    struct stat about;
    int fd = (int)syscall(SYS_openat2, server->folder, name, &how, sizeof how);
    if (fd < 0 || (fstat(fd, &about) == 0 && S_ISREG(about.st_mode)))
        return fd;
    close(fd);
    return -1;
}

/* Opens a copy of a file that the program holds. Returns -1 if there is none. */
static int open_held(const struct embedded_file *file, const char *name)
{
    while (file->name && strcmp(file->name, name) != 0)
        file++;
    int fd = file->name ? memfd_create(name, MFD_CLOEXEC) : -1;
    if (fd < 0 || write(fd, file->bytes, file->size) == (ssize_t)file->size)
        return fd;
    close(fd);
    return -1;
}

static int open_page(const struct web_server *server, const char *name)
{
    if (server->settings->files)
        return open_held(server->settings->files, name);
    return server->settings->serves(name) ? open_file(server, name) : -1;
}

static int send_file(const struct web_server *server, struct lws *wsi, const char *name)
{
    int fd = open_page(server, name);
    if (fd < 0)
        return refuse(wsi, HTTP_STATUS_NOT_FOUND, "there is no such page");
    char path[64]; /* This is the checked file, whatever has its name now. */
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int sent = lws_serve_http_file(wsi, path, type_of(name), server->headers,
                                   (int)strlen(server->headers));
    close(fd);
    return sent == 0 ? 0 : -1; /* Otherwise the file is sent, or cannot be sent. */
}

/* ---- requests ---- */

/* The value of a header; empty: it is missing or too long. */
static void copy_header(struct lws *wsi, enum lws_token_indexes token, char value[NAME_MOST])
{
    if (lws_hdr_copy(wsi, value, NAME_MOST, token) < 0)
        value[0] = '\0';
}

static bool is_own_host(const struct web_server *server, const char *host)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    char own[NAME_MOST];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(own, sizeof own, "%s:%u", names[i], server->port);
        if (strcasecmp(host, own) == 0)
            return true;
    }
    return !server->is_loopback;
}

/* Whether a request comes from the server's own page, or from no page. */
static bool is_own_origin(const struct web_server *server, struct lws *wsi, const char *host)
{
    char origin[NAME_MOST], own[NAME_MOST + 8];
    if (lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN) == 0)
        return true;
    copy_header(wsi, WSI_TOKEN_ORIGIN, origin);
    snprintf(own, sizeof own, "http%s://%s", server->settings->certificate ? "s" : "", host);
    return strcasecmp(origin, own) == 0;
}

/* Prepares for the body, which follows. */
static int begin_post(struct lws *wsi, struct web_post *post)
{
    size_t most = post->opens_session ? SESSION_MOST : WEB_BODY_MOST;
    char length[NAME_MOST], *end;
    copy_header(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH, length);
    unsigned long long size = strtoull(length, &end, 10);
    if (length[strspn(length, "0123456789")] || size == 0 ||
        lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING) > 0) {
        return refuse(wsi, HTTP_STATUS_LENGTH_REQUIRED, "the length of the text is missing");
    }
    lws_set_timer_usecs(wsi, WEB_PATIENCE * LWS_US_PER_SEC);
    post->waits = true;
    if (size > most)
        return refuse(wsi, HTTP_STATUS_REQ_ENTITY_TOO_LARGE, "the text is too large");
    post->body = malloc(size);
    post->size = size;
    return post->body ? 0 : -1;
}

static int take_body(struct web_post *post, const void *bytes, size_t size)
{
    if (!post->body || size > post->size - post->taken)
        return -1;
    memcpy(post->body + post->taken, bytes, size);
    post->taken += size;
    return 0;
}

static void forget_post(struct web_post *post)
{
    free(post->body);
    *post = (struct web_post){0};
}

/* ---- sessions ---- */

/* Compares texts of the right length in a time that does not depend on them. */
static bool is_token(const struct web_server *server, const char *text, size_t length)
{
    const char *token = server->settings->token;
    volatile int difference = 0;
    if (length != strlen(token))
        return false;
    for (size_t i = 0; i < length; i++)
        difference |= text[i] ^ token[i];
    return difference == 0;
}

static bool has_session(const struct web_server *server, struct lws *wsi)
{
    char cookies[HEADERS_MOST], name[NAME_MOST], *rest;
    if (!server->settings->token ||
        lws_hdr_copy(wsi, cookies, sizeof cookies, WSI_TOKEN_HTTP_COOKIE) <= 0)
        return false;
    const size_t length = (size_t)snprintf(name, sizeof name, "halo_%u=", server->port);
    for (char *at = strtok_r(cookies, "; ", &rest); at; at = strtok_r(NULL, "; ", &rest))
        if (strncmp(at, name, length) == 0 && is_token(server, at + length, strlen(at + length)))
            return true;
    return false;
}

/* After too many wrong tokens, none is compared for the rest of the minute. */
static bool may_try_token(struct web_server *server)
{
    long long now = monotonic_ns() / 1000000000;
    if (now - server->minute >= TOKENS_TIME) {
        server->minute = now;
        server->wrong = 0;
    }
    return server->wrong < TOKENS_MOST;
}

static int open_session(struct web_server *server, struct lws *wsi, struct web_post *post)
{
    char cookie[NAME_MOST];
    const struct web_settings *settings = server->settings;
    json_t *posted = json_loadb(post->body, post->taken, 0, NULL);
    const json_t *token = json_object_get(posted, "token");
    bool may_try = may_try_token(server),
         fits = may_try && json_is_string(token) &&
                is_token(server, json_string_value(token), json_string_length(token));
    json_decref(posted);
    forget_post(post);
    if (!may_try)
        return refuse(wsi, TOO_MANY, "there were too many wrong links; try again in a minute");
    server->wrong += !fits;
    if (!fits)
        return refuse(wsi, HTTP_STATUS_FORBIDDEN, "this link is wrong or old; use the newest link");
    snprintf(cookie, sizeof cookie,
             "Set-Cookie: halo_%u=%s; HttpOnly; SameSite=Strict; Path=/%s\r\n", server->port,
             settings->token, settings->certificate ? "; Secure" : "");
    return reply(wsi, HTTP_STATUS_OK, json_pack("{s:b}", "session", 1), cookie);
}

/* Whether a request to become a WebSocket is accepted. */
static bool may_join(const struct web_server *server, struct lws *wsi)
{
    char host[NAME_MOST], path[NAME_MOST];
    const char *name = server->settings->socket_name;
    copy_header(wsi, WSI_TOKEN_HOST, host);
    copy_header(wsi, WSI_TOKEN_GET_URI, path);
    return name && path[0] == '/' && strcmp(path + 1, name) == 0 && is_own_host(server, host) &&
           is_own_origin(server, wsi, host) && has_session(server, wsi);
}

static int confirm_upgrade(const struct web_server *server, struct lws *wsi, const char *protocol)
{
    if (!server->settings->socket_name || strcasecmp(protocol, "websocket") != 0)
        return -1;
    return may_join(server, wsi)
               ? 0
               : refuse(wsi, HTTP_STATUS_FORBIDDEN, "open the page by its own link first");
}

static int end_post(struct web_server *server, struct lws *wsi, struct web_post *post)
{
    json_t *answer = NULL;
    if (!post->body) /* a page was asked for */
        return -1;
    if (post->opens_session)
        return open_session(server, wsi, post);
    web_status status =
        server->settings->posted(server->settings->context, post->body, post->taken, &answer);
    forget_post(post);
    return reply(wsi, status, answer, "");
}

/* Whether a request is for a name that may be NULL. */
static bool is_for(const char *asked, const char *name)
{
    return name && strcmp(asked, name) == 0;
}

static int take_request(struct web_server *server, struct lws *wsi, struct web_post *post,
                        const char *path, size_t length)
{
    char host[NAME_MOST];
    const struct web_settings *settings = server->settings;
    forget_post(post);
    copy_header(wsi, WSI_TOKEN_HOST, host);
    bool posts = lws_hdr_total_length(wsi, WSI_TOKEN_POST_URI) > 0;
    const char *name = path + (path[0] == '/');
    if (strlen(path) != length || !is_own_host(server, host) || !is_own_origin(server, wsi, host))
        return refuse(wsi, HTTP_STATUS_FORBIDDEN, "this page was not opened by its own link");
    post->opens_session = posts && settings->token && strcmp(name, session_name) == 0;
    if (post->opens_session || (posts && is_for(name, settings->post_name)))
        return begin_post(wsi, post);
    if (posts || lws_hdr_total_length(wsi, WSI_TOKEN_GET_URI) == 0)
        return refuse(wsi, HTTP_STATUS_METHOD_NOT_ALLOWED, "only pages can be read here");
    if (is_for(name, settings->socket_name))
        return has_session(server, wsi)
                   ? refuse(wsi, UPGRADE_REQUIRED, "this is a WebSocket")
                   : refuse(wsi, HTTP_STATUS_FORBIDDEN, "open the page by its own link first");
    return send_file(server, wsi, *name ? name : "index.html");
}

static int handle_http(struct web_server *server, struct lws *wsi, enum lws_callback_reasons reason,
                       struct web_post *post, void *in, size_t length)
{
    switch ((int)reason) {
    case LWS_CALLBACK_HTTP:
        return take_request(server, wsi, post, in, length);
    case LWS_CALLBACK_HTTP_BODY:
        return take_body(post, in, length);
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
        return end_post(server, wsi, post);
    case LWS_CALLBACK_HTTP_FILE_COMPLETION:
        return -1;
    case LWS_CALLBACK_HTTP_DROP_PROTOCOL:
    case LWS_CALLBACK_CLOSED_HTTP:
        forget_post(post);
        return 0;
    case LWS_CALLBACK_TIMER: /* the body took too long */
        return post->waits ? -1 : 0;
    default:
        return 0;
    }
}

/* libwebsockets' callback. Some events are of no connection. */
static int handle(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                  size_t length)
{
    struct web_server *server = lws_context_user(lws_get_context(wsi));
    struct web_connection *connection = user;
    uint64_t ticks;
    switch ((int)reason) {
    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
        return confirm_upgrade(server, wsi, in);
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION: /* any way to a WebSocket, also by HTTP/2 */
        return may_join(server, wsi) ? 0 : -1;
    case LWS_CALLBACK_RAW_ADOPT: /* CONNECT */
        return -1;
    case LWS_CALLBACK_RAW_RX_FILE:
        server->is_woken |= read(server->timer, &ticks, sizeof ticks) > 0;
        return 0;
    default:
        break;
    }
    if (!connection)
        return 0;
    int result = handle_http(server, wsi, reason, &connection->post, in, length);
    return result
               ? result
               : web_sockets_handle(&server->sockets, wsi, reason, &connection->client, in, length);
}

static const struct lws_protocols protocols[] = {
    {
        .name = "http",
        .callback = handle,
        .per_session_data_size = sizeof(struct web_connection),
        .rx_buffer_size = WEB_MESSAGE_MOST,
        .tx_packet_size = TEXT_AT_ONCE,
    },
    {.name = NULL},
};

/* ---- the server ---- */

static char first_line[256]; /* libwebsockets' first message names the cause. */

static void take_line(int level, const char *line)
{
    (void)level;
    const int length = (int)strcspn(line, "\n");
    if (!*first_line)
        snprintf(first_line, sizeof first_line, "%.*s", length, line);
    note_detail("%.*s", length, line);
}

static enum status check_tls(const struct web_settings *settings)
{
    const char *const files[] = {settings->certificate, settings->key};
    if (!settings->certificate != !settings->key)
        return fail(CAUSE_USAGE, "--tls-certificate and --tls-key need each other");
    for (size_t i = 0; settings->certificate && i < 2; i++)
        if (access(files[i], R_OK) != 0)
            return fail_errno(errno, "cannot read %s", files[i]);
    return STATUS_OK;
}

static enum status start(struct web_server *server, size_t port)
{
    const struct web_settings *settings = server->settings;
    struct lws_context_creation_info *info = &server->info;
    /* Pages of sessions have no styles of their own. */
    snprintf(server->headers, sizeof server->headers, headers,
             settings->token ? "" : " 'unsafe-inline'");
    *info = (struct lws_context_creation_info){
        .port = (int)port,
        .iface = server->is_any ? NULL : server->host,
        .protocols = protocols,
        .user = server,
        .options = LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND | LWS_SERVER_OPTION_VALIDATE_UTF8 |
                   (server->family == AF_INET ? LWS_SERVER_OPTION_DISABLE_IPV6 : 0) |
                   (settings->certificate ? LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT : 0),
        .ssl_cert_filepath = settings->certificate,
        .ssl_private_key_filepath = settings->key,
        .alpn = "http/1.1",
        .server_string = "halo",
        .timeout_secs = WEB_PATIENCE,
        .timeout_secs_ah_idle = WEB_PATIENCE,
        .max_http_header_data = HEADERS_MOST,
        .max_http_header_pool = WEB_CLIENTS_MOST,
        .fd_limit_per_thread = WEB_CLIENTS_MOST + OWN_FILES,
    };
    lws_set_log_level(LLL_ERR | LLL_WARN, take_line);
    server->context = lws_create_context(info);
    server->vhost = server->context ? lws_get_vhost_by_name(server->context, "default") : NULL;
    if (server->vhost)
        return STATUS_OK;
    if (settings->certificate)
        return fail(CAUSE_OTHER, "cannot use the certificate %s with the key %s: %s",
                    settings->certificate, settings->key, first_line);
    return fail(CAUSE_OTHER, "cannot start libwebsockets: %s", first_line);
}

/* libwebsockets 4.1 rounds the waits of its own timers down, and spins for their last part. */
static enum status start_ticks(struct web_server *server)
{
    const struct timespec tick = {.tv_sec = server->settings->tick_ms / 1000,
                                  .tv_nsec = server->settings->tick_ms % 1000 * 1000000L};
    const struct itimerspec ticks = {.it_interval = tick, .it_value = tick};
    server->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (server->timer < 0 || timerfd_settime(server->timer, 0, &ticks, NULL) != 0)
        return fail_errno(errno, "cannot start a timer");
    const lws_sock_file_fd_type file = {.filefd = server->timer};
    return lws_adopt_descriptor_vhost(server->vhost, LWS_ADOPT_RAW_FILE_DESC, file, NULL, NULL)
               ? STATUS_OK
               : fail_memory("a timer");
}

static enum status open_server(struct web_server *server)
{
    size_t port;
    const struct web_settings *settings = server->settings;
    TRY(check_tls(settings));
    server->folder =
        settings->files ? -1 : open(settings->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (server->folder < 0 && !settings->files)
        return fail_errno(errno, "cannot open the folder %s", settings->folder);
    TRY(library_open(&websockets_library));
    TRY(find_address(server, &port));
    TRY(start(server, port));
    if (settings->tick_ms > 0)
        TRY(start_ticks(server));
    make_link(server);
    return STATUS_OK;
}

enum status web_server_open(const struct web_settings *settings, struct web_server **server)
{
    *server = calloc(1, sizeof **server);
    if (!*server)
        return fail_memory("a web server");
    (*server)->settings = (*server)->sockets.settings = settings;
    (*server)->folder = -1;
    enum status status = open_server(*server);
    if (status == STATUS_OK)
        return STATUS_OK;
    web_server_close(*server);
    *server = NULL;
    return status;
}

void web_server_close(struct web_server *server)
{
    if (!server)
        return;
    if (server->context)
        lws_context_destroy(server->context);
    if (server->folder >= 0)
        close(server->folder);
    free(server->sockets.frame);
    free(server);
}

const char *web_server_link(const struct web_server *server)
{
    return server->link;
}

enum status web_server_serve(struct web_server *server)
{
    if (atomic_exchange(&server->is_woken, false))
        web_sockets_ask(&server->sockets);
    return lws_service(server->context, 0) >= 0 ? STATUS_OK
                                                : fail(CAUSE_OTHER, "the web server failed");
}

void web_server_wake(struct web_server *server)
{
    atomic_store(&server->is_woken, true);
    lws_cancel_service(server->context);
}
