#include "sound/metadata_names.h"

#include <string.h>
#include <strings.h>

/* Where several ids mean the same, the first is written; in CAF all are: those that Apple names,
 * and those that libsndfile reads. */
static const struct {
    const char *list, *id, *name;
} rows[] = {
    {"INFO", "INAM", "TITLE"},
    {"INFO", "IART", "ARTIST"},
    {"INFO", "IPRD", "ALBUM"},
    {"INFO", "IALB", "ALBUM"},
    {"INFO", "ICMT", "COMMENT"},
    {"INFO", "ICRD", "DATE"},
    {"INFO", "IGNR", "GENRE"},
    {"INFO", "ICOP", "COPYRIGHT"},
    {"INFO", "ITRK", "TRACKNUMBER"},
    {"INFO", "IPRT", "TRACKNUMBER"},
    {"INFO", "ISFT", "ENCODER"},
    {"INFO", "ISRC", "SOURCE"},
    {"INFO", "ISBJ", "SUBJECT"},
    {"INFO", "IKEY", "KEYWORDS"},
    {"INFO", "ILNG", "LANGUAGE"},
    {"INFO", "IMED", "MEDIA"},
    {"INFO", "IENG", "ENGINEER"},
    {"INFO", "ITCH", "ENCODEDBY"},
    {"INFO", "IMUS", "COMPOSER"},
    {"INFO", "IWRI", "LYRICIST"},
    {"INFO", "IPUB", "LABEL"},
    {"INFO", "IBPM", "BPM"},
    {"AIFF", "NAME", "TITLE"},
    {"AIFF", "AUTH", "ARTIST"},
    {"AIFF", "(c) ", "COPYRIGHT"},
    {"AIFF", "ANNO", "COMMENT"},
    {"CAF", "title", "TITLE"},
    {"CAF", "artist", "ARTIST"},
    {"CAF", "album", "ALBUM"},
    {"CAF", "comments", "COMMENT"},
    {"CAF", "comment", "COMMENT"},
    {"CAF", "recorded date", "DATE"},
    {"CAF", "date", "DATE"},
    {"CAF", "license", "LICENSE"},
    {"CAF", "genre", "GENRE"},
    {"CAF", "copyright", "COPYRIGHT"},
    {"CAF", "track number", "TRACKNUMBER"},
    {"CAF", "tracknumber", "TRACKNUMBER"},
    {"CAF", "encoding application", "ENCODER"},
    {"CAF", "software", "ENCODER"},
    {"CAF", "composer", "COMPOSER"},
    {"CAF", "lyricist", "LYRICIST"},
    {"CAF", "tempo", "BPM"},
    {"CAF", "key signature", "KEY"},
    {"CAF", "time signature", "TIMESIGNATURE"},
    {"CAF", "source encoder", "SOURCE ENCODER"},
};

const char *metadata_name_of(const char *list, const char *id, size_t size)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].list, list) == 0 && strlen(rows[i].id) == size &&
            strncasecmp(rows[i].id, id, size) == 0)
            return rows[i].name;
    return NULL;
}

const char *metadata_id_of(const char *list, const char *name, size_t index)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].list, list) == 0 && strcasecmp(rows[i].name, name) == 0 && index-- == 0)
            return rows[i].id;
    return NULL;
}
