#include "live/driver_portaudio_messages.h"

#include "base/status.h"
#include "live/portaudio_library.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGES_MOST = 4, MESSAGE_SIZE = 200 };

/* A message is written once, by the thread that claimed its place, and read after it is `ready`. */
struct message {
    _Atomic(const char *) format; /* which tells messages apart; NULL: a free place */
    char text[MESSAGE_SIZE];
    atomic_bool ready;
    bool reported; /* the control thread's */
};

static struct message messages[MESSAGES_MOST];

/* `error`: an errno, negative or not; 0: none. */
static void keep(int error, const char *format, va_list arguments)
{
    for (size_t i = 0; i < MESSAGES_MOST; i++) {
        struct message *message = &messages[i];
        const char *other = NULL;
        if (atomic_compare_exchange_strong(&message->format, &other, format)) {
            int length = vsnprintf(message->text, MESSAGE_SIZE, format, arguments);
            if (error != 0 && length >= 0 && length < MESSAGE_SIZE)
                snprintf(message->text + length, (size_t)(MESSAGE_SIZE - length), ": %s",
                         strerror(error < 0 ? -error : error));
            message->text[strcspn(message->text, "\n")] = '\0';
            atomic_store(&message->ready, true);
            return;
        }
        if (other == format)
            return;
    }
}

static void keep_of_alsa(const char *file, int line, const char *function, int error,
                         const char *format, ...)
{
    va_list arguments;
    (void)file, (void)line, (void)function;
    va_start(arguments, format);
    keep(error, format, arguments);
    va_end(arguments);
}

void portaudio_messages_catch(void)
{
    union {
        void *address;
        int (*set)(void (*handler)(const char *file, int line, const char *function, int error,
                                   const char *format, ...));
    } alsa_lib = {library_symbol(&portaudio_library,
                                 "snd_lib_error_set_handler")}; /* its headers may be missing */
    if (alsa_lib.address)
        alsa_lib.set(keep_of_alsa);
}

void portaudio_messages_report(void)
{
    for (size_t i = 0; i < MESSAGES_MOST; i++)
        if (!messages[i].reported && atomic_load(&messages[i].ready)) {
            messages[i].reported = true;
            note("ALSA: %s", messages[i].text);
        }
}

void portaudio_messages_forget(void)
{
    for (size_t i = 0; i < MESSAGES_MOST; i++)
        if (atomic_load(&messages[i].ready)) {
            messages[i].reported = false;
            messages[i].ready = false;
            messages[i].format = NULL;
        }
}
