/* Streams that fail, also in the C library's buffers; see faults.h. */
#undef _FORTIFY_SOURCE /* it would define what is defined here */
#include "faults.h"

#include <stdarg.h>
#include <stdio_ext.h>
#include <string.h>

enum { ERROR_SEEN = 0x20 }; /* glibc's mark, for ferror */

static bool fails(const char *call, int error, FILE *stream)
{
    if (!fault_at(call, error, fileno(stream)))
        return false;
    stream->_flags |= ERROR_SEEN;
    return true;
}

/* serd ignores each; halo reads again what it wrote, where the buffer as a whole may be missing. */
static bool is_serd(const void *caller)
{
    Dl_info about;
    return dladdr(caller, &about) && about.dli_fname && strstr(about.dli_fname, "/libserd");
}

#define READ(stream) fails("read", EIO, stream)
#define WRITE(stream) (!is_serd(__builtin_return_address(0)) && fails("write", ENOSPC, stream))

FAULTY(size_t, fread, READ(stream), 0, (void *bytes, size_t size, size_t count, FILE *stream),
       (bytes, size, count, stream))
FAULTY(size_t, __fread_chk, READ(stream), 0,
       (void *bytes, size_t room, size_t size, size_t count, FILE *stream),
       (bytes, room, size, count, stream))
FAULTY(char *, fgets, READ(stream), NULL, (char *text, int size, FILE *stream),
       (text, size, stream))
FAULTY(char *, __fgets_chk, READ(stream), NULL, (char *text, size_t room, int size, FILE *stream),
       (text, room, size, stream))
FAULTY(ssize_t, getline, READ(stream), -1, (char **text, size_t *room, FILE *stream),
       (text, room, stream))
FAULTY(ssize_t, __getdelim, READ(stream), -1, (char **text, size_t *room, int end, FILE *stream),
       (text, room, end, stream))
FAULTY(int, fgetc, READ(stream), EOF, (FILE * stream), (stream))
FAULTY(int, getc, READ(stream), EOF, (FILE * stream), (stream))
FAULTY(size_t, fwrite, WRITE(stream), 0,
       (const void *bytes, size_t size, size_t count, FILE *stream), (bytes, size, count, stream))
FAULTY(int, fputs, WRITE(stream), EOF, (const char *text, FILE *stream), (text, stream))
FAULTY(int, fputc, WRITE(stream), EOF, (int byte, FILE *stream), (byte, stream))
FAULTY(int, putc, WRITE(stream), EOF, (int byte, FILE *stream), (byte, stream))
FAULTY(int, puts, WRITE(stdout), EOF, (const char *text), (text))
FAULTY(int, putchar, WRITE(stdout), EOF, (int byte), (byte))
FAULTY(int, vfprintf, WRITE(stream), -1, (FILE * stream, const char *format, va_list arguments),
       (stream, format, arguments))
FAULTY(int, __vfprintf_chk, WRITE(stream), -1,
       (FILE * stream, int flag, const char *format, va_list arguments),
       (stream, flag, format, arguments))

/* The compiler's forms of these. */
int __fprintf_chk(FILE *stream, int flag, const char *format, ...);
int __printf_chk(int flag, const char *format, ...);

#define PASS_ON(STREAM, LAST)                                                                      \
    va_list arguments;                                                                             \
    va_start(arguments, LAST);                                                                     \
    int written = vfprintf(STREAM, format, arguments);                                             \
    va_end(arguments);                                                                             \
    return written

int fprintf(FILE *stream, const char *format, ...)
{
    PASS_ON(stream, format);
}

int __fprintf_chk(FILE *stream, int flag, const char *format, ...)
{
    (void)flag;
    PASS_ON(stream, format);
}

int printf(const char *format, ...)
{
    PASS_ON(stdout, format);
}

int __printf_chk(int flag, const char *format, ...)
{
    (void)flag;
    PASS_ON(stdout, format);
}

/* Only of streams that hold something. */
FAULTY(int, fflush, stream &&__fpending(stream) > 0 && WRITE(stream), EOF, (FILE * stream),
       (stream))
FAULTY(int, fseeko, fails("lseek", EIO, stream), -1, (FILE * stream, off_t offset, int whence),
       (stream, offset, whence))
FAULTY(FILE *, fopen, fault_at_path("open", EMFILE, path), NULL,
       (const char *path, const char *mode), (path, mode))
FAULTY(FILE *, fopen64, fault_at_path("open", EMFILE, path), NULL,
       (const char *path, const char *mode), (path, mode))
FAULTY(FILE *, fdopen, fault_at("open", ENOMEM, fd), NULL, (int fd, const char *mode), (fd, mode))

/* Closed nevertheless. */
int fclose(FILE *stream)
{
    NEXT(int, "fclose", FILE *);
    bool fails = fault_at("close", EIO, fileno(stream));
    int error = errno, result = next(stream);
    errno = fails ? error : errno;
    return fails ? EOF : result;
}
