#include "sound/file/sound_io.h"

#include "base/status.h"
#include "base/stop.h"
#include "sound/sndfile_library.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the pages of an Ogg ---- */

static void add_damage(struct ogg_pages *pages, uint64_t at, uint64_t bytes)
{
    if (pages->damages++ > 0)
        return;
    pages->damaged_at = at;
    pages->damaged_bytes = bytes;
    pages->after = -1;
}

/* Whether the page is the next one of its stream. */
static bool is_next(struct ogg_pages *pages, const ogg_page *page)
{
    int serial = ogg_page_serialno(page);
    long number = ogg_page_pageno(page);
    size_t i = 0;
    while (i < pages->streams && pages->next[i].serial != serial)
        i++;
    if (i == pages->streams && i < OGG_STREAMS_MOST)
        pages->next[pages->streams++] = (struct ogg_next){.serial = serial, .page = number};
    if (i == OGG_STREAMS_MOST)
        return true;
    bool is = pages->next[i].page == number;
    pages->next[i].page = number + 1;
    return is;
}

static void add_page(struct ogg_pages *pages, const ogg_page *page, uint64_t size)
{
    bool is_first = ogg_page_bos(page);
    pages->is_chain |= is_first && pages->has_headers;
    if (pages->is_chain)
        return;
    int64_t granule = ogg_page_granulepos(page);
    bool is_there = is_next(pages, page);
    if (pages->skipped > 0)
        add_damage(pages, pages->at - pages->skipped, pages->skipped);
    else if (!is_there && pages->has_samples)
        add_damage(pages, pages->at, 0);
    pages->begins_late |= !is_there && !pages->has_samples;
    if (granule > 0) {
        pages->granules[1] = pages->granules[0];
        pages->granules[0] = granule;
    }
    if (granule > 0 && pages->damages == 0)
        pages->before = granule;
    if (granule > 0 && pages->damages > 0 && pages->after < 0)
        pages->after = granule;
    pages->has_headers |= !is_first;
    pages->has_samples |= granule > 0;
    pages->has_ended = ogg_page_eos(page);
    pages->skipped = 0;
    pages->at += size;
}

static void take_pages(struct ogg_pages *pages)
{
    ogg_page page;
    long step;
    while ((step = ogg_sync_pageseek(&pages->sync, &page)) != 0) {
        if (step > 0) {
            add_page(pages, &page, (uint64_t)step);
        } else {
            pages->skipped += (uint64_t)-step;
            pages->at += (uint64_t)-step;
        }
    }
}

/* Errors are in pages->failed. */
static void ogg_pages_feed(struct ogg_pages *pages, const void *bytes, size_t count)
{
    char *room = pages->failed || count == 0 ? NULL : ogg_sync_buffer(&pages->sync, (long)count);
    pages->failed |= !room && count > 0;
    if (!room)
        return;
    memcpy(room, bytes, count);
    (void)ogg_sync_wrote(&pages->sync, (long)count);
    take_pages(pages);
}

/* Call when no more bytes follow. */
static void ogg_pages_end(struct ogg_pages *pages)
{
    uint64_t left = (uint64_t)(pages->sync.fill - pages->sync.returned);
    pages->skipped += left;
    pages->at += left;
    pages->sync.returned = pages->sync.fill;
}

static void ogg_pages_free(struct ogg_pages *pages)
{
    if (pages->sync.data)
        ogg_sync_clear(&pages->sync);
    pages->sync = (ogg_sync_state){0};
}

/* ---- files whose samples have no stated end ---- */

enum {
    HELD_MOST = 1 << 24, /* most bytes of chunks */
    CHUNKS_MOST = 64,    /* most chunks, since samples may look like very many */
    PART = 1 << 14,
    ID = 4,
    HEADER = 8,
};

enum chunks_there { NO, PERHAPS, YES };

static bool is_text(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] < ' ' || bytes[i] > '~')
            return false;
    return true;
}

/* Names of chunks that programs write after samples. The first chunk must have one. */
static const char known[][ID + 1] = {
    "LIST", "id3 ", "ID3 ", "bext", "cue ", "smpl", "inst", "iXML", "acid", "cart", "levl", "PEAK",
    "fact", "JUNK", "junk", "PAD ", "FLLR", "FILL", "axml", "bxml", "chna", "_PMX", "plst", "DISP",
    "umid", "strc", "afsp", "clm ", "elm1", "R64M", "MD5 ", "dbmd", "ubxt",
    /* AIFF */
    "NAME", "AUTH", "(c) ", "ANNO", "COMT", "MARK", "INST", "MIDI", "AESD", "APPL", "CHAN"};
enum { KNOWN = sizeof known / sizeof *known };

static bool begins_known(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < KNOWN; i++)
        if (memcmp(known[i], bytes, count) == 0)
            return true;
    return false;
}

/* Whether the bytes may be chunks up to the stream's end. any: the first may have any name. */
static enum chunks_there are_chunks(const struct open_end *end, const unsigned char *bytes,
                                    size_t size, bool any)
{
    size_t at = 0;
    bool is_padded = false;
    for (int chunks = 0; at < size; chunks++) {
        size_t left = size - at, part = left < ID ? left : ID;
        if (!(at == 0 && !any ? begins_known : is_text)(bytes + at, part))
            return NO;
        if (left < HEADER)
            return end->ended ? NO : PERHAPS;
        uint64_t content = (end->big_endian ? metadata_big : metadata_little)(bytes + at + ID, 4);
        is_padded = content & 1;
        at += HEADER + (size_t)content + is_padded;
        if (at > HELD_MOST || chunks == CHUNKS_MOST)
            return NO;
    }
    if (!end->ended)
        return PERHAPS;
    return at == size || (is_padded && at == size + 1) ? YES : NO;
}

/* Move end->samples to the next byte where chunks may begin. Checks the first letter before all
 * else, for speed in gigabytes of samples. */
static void find_chunks(struct open_end *end)
{
    const struct metadata_buffer *held = &end->held;
    size_t at = end->samples + ((end->samples & 1) != end->is_odd);
    enum chunks_there answer = NO;
    bool is_first[UCHAR_MAX + 1] = {false};
    for (size_t i = 0; i < KNOWN; i++)
        is_first[(unsigned char)*known[i]] = true;
    for (; at < held->size; at += 2) {
        bool any = at == 0 && end->may_begin;
        if (!any && !is_first[held->bytes[at]])
            continue;
        answer = are_chunks(end, held->bytes + at, held->size - at, any);
        if (answer != NO)
            break;
        end->may_begin = false;
    }
    end->samples = at < held->size ? at : held->size;
    end->has_chunks = answer == YES;
}

static void read_more(struct open_end *end, FILE *stream, size_t count)
{
    unsigned char part[PART];
    struct metadata_buffer *held = &end->held;
    if (end->first > 0) {
        held->size -= end->first;
        memmove(held->bytes, held->bytes + end->first, held->size);
        end->is_odd ^= end->first & 1;
        end->samples -= end->first;
        end->first = 0;
    }
    count = count < sizeof part ? count : sizeof part;
    size_t got = fread(part, 1, count, stream);
    metadata_put(held, part, got);
    end->ended = got < count;
}

static size_t pass_on(struct open_end *end, unsigned char *bytes, size_t count)
{
    size_t ready = end->samples - end->first, part = ready < count ? ready : count;
    if (part > 0)
        memcpy(bytes, end->held.bytes + end->first, part);
    end->first += part;
    return part;
}

/* Read like fread() of bytes, without the chunks at the end. No memory: sets end->held.failed. */
static size_t open_end_read(struct open_end *end, FILE *stream, unsigned char *bytes, size_t count)
{
    if (!end->is_sought)
        return fread(bytes, 1, count, stream);
    size_t done = pass_on(end, bytes, count);
    while (done < count && !end->ended && !end->held.failed) {
        read_more(end, stream, count - done);
        find_chunks(end);
        done += pass_on(end, bytes + done, count - done);
    }
    return done;
}

struct sound_bytes open_end_chunks(const struct open_end *end)
{
    struct sound_bytes chunks = {.fd = -1};
    if (end->held.bytes) {
        chunks.memory = end->held.bytes + end->samples;
        chunks.size = end->held.size - end->samples;
    }
    return chunks;
}

uint64_t open_end_find(struct open_end *end, struct sound_bytes *bytes, uint64_t from)
{
    if (from >= bytes->size)
        return bytes->size;
    if (bytes->size - from > HELD_MOST)
        from += (bytes->size - from - HELD_MOST) & ~UINT64_C(1);
    size_t count = (size_t)(bytes->size - from);
    *end = (struct open_end){.big_endian = bytes->big_endian, .ended = true};
    end->held.bytes = malloc(count);
    if (!end->held.bytes || !sound_bytes_read(bytes, from, end->held.bytes, count))
        return bytes->size;
    end->held.size = end->held.capacity = count;
    find_chunks(end);
    return from + end->samples;
}

static void open_end_free(struct open_end *end)
{
    free(end->held.bytes);
    end->held = (struct metadata_buffer){0};
}

/* Most memory of a codec, in all and for each channel. Vorbis takes 0.6 MB for two channels. */
enum { CODEC_BYTES = 1 << 22, CODEC_BYTES_EACH = 1 << 18 };

/* Unknown length: large, but far from overflow in libsndfile. */
#define LENGTH_UNKNOWN ((sf_count_t)1 << 60)

static void keep_error(struct sound_io *io)
{
    if (io->error == 0)
        io->error = errno;
}

/* Whether a call that failed must be repeated. */
static bool interrupted(void)
{
    return errno == EINTR && !stop_requested();
}

static sf_count_t write_all(struct sound_io *io, const void *bytes, sf_count_t count)
{
    sf_count_t done = 0;
    while (done < count) {
        ssize_t part = write(io->fd, (const char *)bytes + done, (size_t)(count - done));
        if (part < 0 && interrupted())
            continue;
        if (part == 0)
            errno = EIO;
        if (part <= 0) {
            keep_error(io);
            break;
        }
        done += part;
    }
    return done;
}

/* ---- a file that is written ---- */

static sf_count_t file_length(void *user)
{
    struct sound_io *io = user;
    struct stat about;
    if (fstat(io->fd, &about) == 0)
        return about.st_size - io->origin;
    keep_error(io);
    return -1;
}

static sf_count_t file_seek(sf_count_t offset, int whence, void *user)
{
    struct sound_io *io = user;
    off_t at = lseek(io->fd, whence == SEEK_SET ? offset + io->origin : offset, whence);
    if (at < 0 && errno != EINVAL) /* a damaged header may give any offset */
        keep_error(io);
    return at < 0 ? -1 : at - io->origin;
}

static sf_count_t file_tell(void *user)
{
    return file_seek(0, SEEK_CUR, user);
}

static sf_count_t file_write(const void *bytes, sf_count_t count, void *user)
{
    return write_all(user, bytes, count);
}

static SF_VIRTUAL_IO written_functions = {
    .get_filelen = file_length, .seek = file_seek, .write = file_write, .tell = file_tell};

/* ---- a file that is read, by several at once ---- */

static sf_count_t read_length(void *user)
{
    const struct sound_io *io = user;
    return (io->shown > 0 && io->shown < io->length ? io->shown : io->length) - io->origin;
}

/* The position. After an error the length, at which libsndfile stops looking for chunks. */
static sf_count_t read_position(void *user)
{
    const struct sound_io *io = user;
    return io->error ? read_length(user) : io->position;
}

/* Seek. -1 if the offset is not valid, as from a damaged header. */
static sf_count_t read_seek(sf_count_t offset, int whence, void *user)
{
    struct sound_io *io = user;
    sf_count_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? io->position : read_length(io);
    if (from < 0 || offset < -from - io->origin || offset > LENGTH_UNKNOWN - from)
        return -1;
    io->position = from + offset;
    return io->position;
}

/* Replace bytes read at offset `at` by the bytes of the patch. */
static void patch_bytes(const struct sound_patch *patch, unsigned char *bytes, int64_t at,
                        int64_t count)
{
    for (size_t i = 0; i < patch->size; i++) {
        int64_t to = patch->at + (int64_t)i - at;
        if (to >= 0 && to < count)
            bytes[to] = patch->bytes[i];
    }
}

static sf_count_t file_read(void *bytes, sf_count_t count, void *user)
{
    struct sound_io *io = user;
    sf_count_t done = 0, at = io->origin + io->position, left = read_length(io) - io->position;
    count = count < left ? count : left;
    while (done < count) {
        ssize_t part = pread(io->fd, (char *)bytes + done, (size_t)(count - done), at + done);
        if (part < 0 && interrupted())
            continue;
        if (part < 0)
            keep_error(io);
        if (part == 0 && io->error == 0)
            io->error = SOUND_SHRANK;
        if (part <= 0)
            break;
        done += part;
    }
    patch_bytes(&io->patch, bytes, at, done);
    io->position += done;
    return done;
}

static SF_VIRTUAL_IO read_functions = {
    .get_filelen = read_length, .seek = read_seek, .read = file_read, .tell = read_position};

/* ---- a stream that is written ---- */

static sf_count_t sent_length(void *user)
{
    return ((const struct sound_io *)user)->passed;
}

static sf_count_t sent_position(void *user)
{
    return ((const struct sound_io *)user)->position;
}

static sf_count_t sent_seek(sf_count_t offset, int whence, void *user)
{
    struct sound_io *io = user;
    sf_count_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? io->position : io->passed;
    io->position = from + offset;
    return io->position;
}

static sf_count_t stream_write(const void *bytes, sf_count_t count, void *user)
{
    struct sound_io *io = user;
    sf_count_t done = count;
    if (io->position == io->passed) {
        done = write_all(io, bytes, count);
        io->passed += done;
    }
    io->position += done;
    return done;
}

static SF_VIRTUAL_IO sent_functions = {
    .get_filelen = sent_length, .seek = sent_seek, .write = stream_write, .tell = sent_position};

/* ---- a stream that is read ---- */

static void follow_pages(struct sound_io *io, const void *bytes, size_t count)
{
    if (io->passed == 0)
        io->is_ogg = count >= 4 && memcmp(bytes, "OggS", 4) == 0;
    if (io->is_ogg)
        ogg_pages_feed(&io->pages, bytes, count);
    if (io->pages.failed && io->error == 0)
        io->error = ENOMEM;
}

static sf_count_t stream_read(void *buffer, sf_count_t count, void *user)
{
    struct sound_io *io = user;
    unsigned char *bytes = buffer;
    sf_count_t done = 0, asked = count, left = io->shown - io->position;
    if (io->shown > 0 && left < count)
        count = left > 0 ? left : 0;
    if (io->position < io->passed && io->position < STREAM_HEAD) {
        int64_t kept = (int64_t)sound_io_kept(io);
        done = kept - io->position < count ? kept - io->position : count;
        memcpy(bytes, io->head + io->position, (size_t)done);
        io->position += done;
    }
    io->ended |= done == count && count < asked;
    if (done == count || io->position != io->passed)
        return done;
    sf_count_t more =
        (sf_count_t)open_end_read(&io->end, io->stream, bytes + done, (size_t)(count - done));
    if (io->end.held.failed)
        errno = ENOMEM;
    if (more < count - done && (ferror(io->stream) || io->end.held.failed))
        keep_error(io);
    follow_pages(io, bytes + done, (size_t)more);
    if (io->passed < STREAM_HEAD) {
        int64_t capacity = STREAM_HEAD - io->passed;
        memcpy(io->head + io->passed, bytes + done, (size_t)(more < capacity ? more : capacity));
    }
    io->passed += more;
    io->position += more;
    io->ended = done + more < asked;
    return done + more;
}

/* The position. libsndfile compares it with the length to end its search for chunks. */
static sf_count_t received_position(void *user)
{
    const struct sound_io *io = user;
    return io->ended && io->position == io->passed ? LENGTH_UNKNOWN : io->position - io->origin;
}

static sf_count_t stream_seek(sf_count_t offset, int whence, void *user)
{
    struct sound_io *io = user;
    sf_count_t target = whence == SEEK_SET   ? io->origin + offset
                        : whence == SEEK_CUR ? io->position + offset
                                             : -1;
    if (target == io->position)
        return target - io->origin;
    /* Seek only in the head, until bytes after it are read: decoders may look beyond the sound. */
    if (target < io->origin || target > STREAM_HEAD || io->passed > STREAM_HEAD)
        return -1;
    if (target <= io->passed) {
        io->position = target;
        return target - io->origin;
    }
    char scrap[4096];
    io->position = io->passed;
    while (io->position < target) {
        sf_count_t part = target - io->position;
        if (part > (sf_count_t)sizeof scrap)
            part = sizeof scrap;
        if (stream_read(scrap, part, io) < part)
            return -1;
    }
    return target - io->origin;
}

static sf_count_t stream_length(void *user)
{
    const struct sound_io *io = user;
    return io->shown > 0 ? io->shown - io->origin : LENGTH_UNKNOWN;
}

static SF_VIRTUAL_IO stream_functions = {.get_filelen = stream_length,
                                         .seek = stream_seek,
                                         .read = stream_read,
                                         .tell = received_position};

/* ---- any ---- */

bool sound_io_seekable(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return !(flags & O_APPEND) && (lseek(fd, 0, SEEK_CUR) >= 0 || errno != ESPIPE);
}

void sound_io_begin(struct sound_io *io, int fd)
{
    off_t at = lseek(fd, 0, SEEK_CUR);
    io->fd = fd;
    io->stream = NULL;
    io->patch = (struct sound_patch){0};
    io->error = at < 0 && errno != ESPIPE ? errno : 0;
    io->origin = at > 0 ? at : 0;
    io->position = io->passed = io->shown = 0;
    io->length = io->origin + file_length(io);
}

void sound_io_begin_beside(struct sound_io *io, const struct sound_io *other)
{
    *io = (struct sound_io){.fd = other->fd,
                            .origin = other->origin,
                            .patch = other->patch,
                            .length = other->length,
                            .shown = other->shown};
}

enum status sound_io_begin_stream(struct sound_io *io, FILE *stream)
{
    io->fd = -1;
    io->stream = stream;
    io->error = 0;
    io->origin = io->position = io->passed = io->shown = 0;
    io->ended = false;
    io->is_ogg = false;
    io->pages = (struct ogg_pages){0};
    io->end = (struct open_end){0};
    io->head = malloc(STREAM_HEAD);
    return io->head ? STATUS_OK : fail_memory("reading");
}

void sound_io_free(struct sound_io *io)
{
    open_end_free(&io->end);
    ogg_pages_free(&io->pages);
    free(io->head);
}

void sound_io_begin_at(struct sound_io *io, uint64_t origin)
{
    io->origin = io->position = (int64_t)origin;
}

void sound_io_unread(struct sound_io *io, const void *bytes, size_t count)
{
    memcpy(io->head, bytes, count);
    follow_pages(io, bytes, count);
    io->passed = (int64_t)count;
}

size_t sound_io_kept(const struct sound_io *io)
{
    return (size_t)(io->passed < STREAM_HEAD ? io->passed : STREAM_HEAD);
}

size_t sound_io_fill_head(struct sound_io *io, size_t size)
{
    char scrap[4096];
    int64_t next = io->position;
    io->position = io->passed;
    size = size < STREAM_HEAD ? size : STREAM_HEAD;
    for (size_t kept; (kept = sound_io_kept(io)) < size;) {
        size_t part = size - kept < sizeof scrap ? size - kept : sizeof scrap;
        if (stream_read(scrap, (sf_count_t)part, io) < (sf_count_t)part)
            break;
    }
    io->position = next;
    return sound_io_kept(io);
}

static SF_VIRTUAL_IO *functions_of(const struct sound_io *io, int mode)
{
    if (io->stream)
        return &stream_functions;
    if (mode == SFM_READ)
        return &read_functions;
    return sound_io_seekable(io->fd) ? &written_functions : &sent_functions;
}

const SF_VIRTUAL_IO *sound_io_functions(const struct sound_io *io)
{
    return functions_of(io, SFM_READ);
}

static void read_stream_pages(struct sound_io *io)
{
    char scrap[4096];
    io->position = io->passed;
    while (io->is_ogg && stream_read(scrap, sizeof scrap, io) == sizeof scrap)
        ;
}

static void read_file_pages(struct sound_io *io)
{
    unsigned char part[1 << 15];
    sf_count_t got, before = io->position;
    io->position = 0;
    do {
        got = file_read(part, sizeof part, io);
        follow_pages(io, part, (size_t)got);
        io->passed += got;
    } while (io->is_ogg && got == sizeof part);
    io->position = before;
    io->passed = 0;
}

void sound_io_read_pages(struct sound_io *io)
{
    (io->stream ? read_stream_pages : read_file_pages)(io);
    if (io->is_ogg)
        ogg_pages_end(&io->pages);
}

static sf_count_t no_length(void *user)
{
    (void)user;
    return 0;
}

/* Whether libsndfile finds a resource fork, which makes a file with unknown first bytes a Macintosh
 * sound. Virtual files have no name, so libsndfile looks for fixed names. */
static bool has_resource_fork_near(void)
{
    static const char *const names[] = {"/..namedfork/rsrc", "._", ".AppleDouble/"};
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        found |= access(names[i], F_OK) == 0;
    return found;
}

/* Open a file with length 0, for which libsndfile looks for no resource fork. NULL: either
 * libsndfile knows the container, which must be opened with its length, or *is_unknown. MPEG is
 * recognised last, and its decoder needs no length. */
static SNDFILE *open_without_length(struct sound_io *io, SF_VIRTUAL_IO functions, SF_INFO *info,
                                    bool *is_unknown)
{
    const SF_INFO before = *info;
    functions.get_filelen = no_length;
    SNDFILE *file = sf_open_virtual(&functions, SFM_READ, info, io);
    *is_unknown = !file && sf_error(NULL) == SF_ERR_UNRECOGNISED_FORMAT;
    if (*is_unknown || (file && (info->format & SF_FORMAT_TYPEMASK) == SOUND_MPEG))
        return file;
    if (file)
        sf_close(file);
    functions.seek(0, SEEK_SET, io);
    *info = before;
    return NULL;
}

/* Vorbis is the first of the subtypes that compress with a library of their own. */
static bool allocates_late(int format)
{
    return (format & SF_FORMAT_TYPEMASK) == SF_FORMAT_FLAC ||
           (format & SF_FORMAT_SUBMASK) >= SF_FORMAT_VORBIS;
}

static bool has_codec_memory(struct sound_io *io, size_t channels)
{
    bool there = memory_is_there(CODEC_BYTES + channels * CODEC_BYTES_EACH);
    if (!there && io->error == 0)
        io->error = ENOMEM;
    return there;
}

bool sound_io_has_memory(struct sound_io *io, size_t channels)
{
    return !io->has_codec || has_codec_memory(io, channels);
}

/* libsndfile keeps one error of opening for the whole process, so this lock lets one file be opened
 * at a time. Streams do not take it, as they may wait for another program. */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static SNDFILE *open_one(struct sound_io *io, int mode, SF_INFO *info)
{
    SF_VIRTUAL_IO *functions = functions_of(io, mode);
    bool is_unknown = false;
    SNDFILE *file = NULL;
    if (!has_codec_memory(io, info->channels > 0 ? (size_t)info->channels : 0))
        return NULL;
    if (mode == SFM_READ && info->format == 0 && has_resource_fork_near())
        file = open_without_length(io, *functions, info, &is_unknown);
    bool is_spliced = mode == SFM_WRITE && io->splice.kind != SPLICE_NONE;
    if (is_spliced) {
        sound_splice_begin(&io->splice, functions, io);
        file = sf_open_virtual(&sound_splice_functions, mode, info, &io->splice);
    } else if (!file && !is_unknown) {
        file = sf_open_virtual(functions, mode, info, io);
    }
    io->has_codec = file && allocates_late(info->format);
    io->open_error = file ? 0 : sf_error(NULL);
    snprintf(io->open_problem, sizeof io->open_problem, "%s", file ? "" : sf_strerror(NULL));
    return file;
}

SNDFILE *sound_io_open(struct sound_io *io, int mode, SF_INFO *info)
{
    if (io->stream)
        return open_one(io, mode, info);
    pthread_mutex_lock(&opening);
    SNDFILE *file = open_one(io, mode, info);
    pthread_mutex_unlock(&opening);
    return file;
}

SNDFILE *sound_io_open_quietly(struct sound_io *io, SF_INFO *info)
{
    message_lock(); /* messages of other threads would be lost meanwhile */
    fflush(stderr);
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (nowhere >= 0 && before >= 0)
        dup2(nowhere, STDERR_FILENO);
    SNDFILE *file = sound_io_open(io, SFM_READ, info);
    if (before >= 0) {
        dup2(before, STDERR_FILENO);
        close(before);
    }
    if (nowhere >= 0)
        close(nowhere);
    message_unlock();
    return file;
}

int sound_io_append(struct sound_io *io, const void *bytes, size_t count)
{
    (void)write_all(io, bytes, (sf_count_t)count);
    return io->error;
}
