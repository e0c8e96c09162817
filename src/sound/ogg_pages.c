#include "sound/ogg_pages.h"

#include "sound/sndfile_library.h"

#include <string.h>

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

void ogg_pages_feed(struct ogg_pages *pages, const void *bytes, size_t count)
{
    char *room = pages->failed || count == 0 ? NULL : ogg_sync_buffer(&pages->sync, (long)count);
    pages->failed |= !room && count > 0;
    if (!room)
        return;
    memcpy(room, bytes, count);
    (void)ogg_sync_wrote(&pages->sync, (long)count);
    take_pages(pages);
}

void ogg_pages_end(struct ogg_pages *pages)
{
    uint64_t left = (uint64_t)(pages->sync.fill - pages->sync.returned);
    pages->skipped += left;
    pages->at += left;
    pages->sync.returned = pages->sync.fill;
}

void ogg_pages_free(struct ogg_pages *pages)
{
    if (pages->sync.data)
        ogg_sync_clear(&pages->sync);
    pages->sync = (ogg_sync_state){0};
}
