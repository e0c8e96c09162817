#include "sound/metadata/tag_module.h"

#include <taglib/attachedpictureframe.h>
#include <taglib/id3v2framefactory.h>
#include <taglib/id3v2header.h>
#include <taglib/id3v2tag.h>
#include <taglib/mpegfile.h>
#include <taglib/tbytevectorstream.h>
#include <taglib/tpropertymap.h>

#include <memory>
#include <vector>

namespace
{

using Picture = TagLib::ID3v2::AttachedPictureFrame;

struct Bytes {
    Bytes(const unsigned char *bytes, size_t size)
        : stream(TagLib::ByteVector(reinterpret_cast<const char *>(bytes),
                                    static_cast<unsigned>(size))),
          file(&stream, TagLib::ID3v2::FrameFactory::instance(), false)
    {
    }
    TagLib::ByteVectorStream stream;
    TagLib::MPEG::File file;
};

/* Names of tags that differ between TagLib and Vorbis comments. */
const struct {
    const char *of_taglib, *of_halo;
} names[] = {{"ENCODING", "ENCODER"}};

TagLib::String renamed(const TagLib::String &name, bool to_halo)
{
    for (const auto &row : names)
        if (name == (to_halo ? row.of_taglib : row.of_halo))
            return to_halo ? row.of_halo : row.of_taglib;
    return name;
}

int visit_texts(const TagLib::PropertyMap &properties, const tag_visitor *visitor)
{
    for (const auto &property : properties)
        for (const auto &value : property.second)
            if (visitor->text(visitor->user, renamed(property.first, true).toCString(true),
                              value.toCString(true)))
                return 1;
    return 0;
}

int visit_pictures(TagLib::ID3v2::Tag *tag, const tag_visitor *visitor)
{
    for (const auto *frame : tag->frameList("APIC")) {
        const auto *picture = dynamic_cast<const Picture *>(frame);
        if (!picture)
            continue;
        const TagLib::ByteVector image = picture->picture();
        const TagLib::String mime = picture->mimeType(), description = picture->description();
        tag_picture visited = {};
        visited.mime = mime.toCString(true);
        visited.description = description.toCString(true);
        visited.type = static_cast<unsigned>(picture->type());
        visited.bytes = reinterpret_cast<const unsigned char *>(image.data());
        visited.size = image.size();
        if (visitor->picture(visitor->user, &visited))
            return 1;
    }
    return 0;
}

bool is_about_sound(const TagLib::ByteVector &id)
{
    static const char *const ids[] = {"RVA2", "RVAD", "XRVA", "RGAD", "TLEN",
                                      "ASPI", "MLLT", "SEEK", "APIC"};
    for (const char *one : ids)
        if (id == one)
            return true;
    return false;
}

/* Remove frames about the old sound (levels, length, positions) and pictures, which are written
 * anew. `frames` is no list of TagLib, which would delete its elements, even if it is a copy. */
void remove_frames(TagLib::ID3v2::Tag &tag)
{
    const std::vector<TagLib::ID3v2::Frame *> frames(tag.frameList().begin(),
                                                     tag.frameList().end());
    for (auto *frame : frames)
        if (is_about_sound(frame->frameID()))
            tag.removeFrame(frame);
}

void set_texts(TagLib::ID3v2::Tag &tag, const tag_content *content)
{
    TagLib::PropertyMap properties;
    for (size_t i = 0; i < content->text_count; i++) {
        const TagLib::String name(content->texts[i].name, TagLib::String::UTF8);
        const TagLib::String value(content->texts[i].value, TagLib::String::UTF8);
        properties.insert(renamed(name, false), TagLib::StringList(value));
    }
    tag.setProperties(properties);
}

void add_pictures(TagLib::ID3v2::Tag &tag, const tag_content *content)
{
    for (size_t i = 0; i < content->picture_count; i++) {
        const tag_picture &from = content->pictures[i];
        if (!from.bytes)
            continue;
        auto picture = std::make_unique<Picture>();
        picture->setTextEncoding(TagLib::String::UTF8);
        picture->setMimeType(from.mime);
        picture->setDescription(TagLib::String(from.description, TagLib::String::UTF8));
        picture->setType(static_cast<Picture::Type>(from.type));
        picture->setPicture(TagLib::ByteVector(reinterpret_cast<const char *>(from.bytes),
                                               static_cast<unsigned>(from.size)));
        tag.addFrame(picture.release());
    }
}

} // namespace

int halo_tag_read(const unsigned char *bytes, size_t size, const tag_visitor *visitor)
try {
    Bytes opened(bytes, size);
    TagLib::ID3v2::Tag *tag = opened.file.ID3v2Tag(false);
    if (visit_texts(opened.file.properties(), visitor))
        return 1;
    if (!tag || tag->frameList().isEmpty())
        return opened.file.hasID3v1Tag() ? 0 : TAG_NOTHING;
    return visit_pictures(tag, visitor);
} catch (...) {
    return 1;
}

int halo_tag_write(const tag_content *content, int (*put)(void *, const void *, size_t), void *user)
try {
    static const unsigned char nothing[1] = {};
    Bytes base(content->base ? content->base : nothing, content->base_size);
    TagLib::ID3v2::Tag &tag = *base.file.ID3v2Tag(true);
    remove_frames(tag);
    set_texts(tag, content);
    add_pictures(tag, content);
    const TagLib::ByteVector made = tag.render();
    return tag.isEmpty() ? 0 : put(user, made.data(), made.size());
} catch (...) {
    return 1;
}
