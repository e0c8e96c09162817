/* Names made short by what they have in common. */
#include "suite.h"
#include "view/distinct_name.h"

#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

static void expect(const char *const *names, size_t count, size_t which, int columns,
                   const char *right)
{
    char text[DISTINCT_NAME_BYTES];
    distinct_name(names, count, which, columns, text);
    ck_assert_msg(strcmp(text, right) == 0, "%s in %d columns: %s, not %s", names[which], columns,
                  text, right);
}

START_TEST(a_common_folder_is_left_out)
{
    static const char *const names[] = {"/home/me/rooms/hall.wav", "/home/me/rooms/plate.wav",
                                        "/home/me/rooms/far/hall.wav"};
    expect(names, 3, 0, INT_MAX, "hall.wav");
    expect(names, 3, 2, INT_MAX, "far/hall.wav");
    expect(names, 1, 0, INT_MAX, "hall.wav");
    expect((const char *const[]){"hall.wav", "/hall.wav"}, 2, 1, INT_MAX, "/hall.wav");
    expect((const char *const[]){"/r/hall.wav", "lowpass:100", "/r/plate.wav"}, 3, 0, 20,
           "hall.wav");
    expect((const char *const[]){"/r/hall.wav", "lowpass:100", "/r/plate.wav"}, 3, 1, 20,
           "lowpass:100");
    expect((const char *const[]){"ab/hall.wav", "ac/hall.wav"}, 2, 1, INT_MAX, "ac/hall.wav");
}

START_TEST(long_names_keep_what_differs)
{
    static const char *const names[] = {
        "rooms/microphone-and-loudspeaker-1-left.wav",
        "rooms/microphone-and-loudspeaker-1-right.wav",
        "rooms/microphone-and-loudspeaker-2-left-of-the-door-to-the-garden.wav",
        "rooms/spring-that-swings-as-long-as-this-name.wav",
    };
    expect(names, 4, 0, 24, "microphone-and-…left.wav");
    expect(names, 4, 1, 24, "microphone-and…right.wav");
    expect(names, 4, 2, 24, "…2-left-of-the-door-to-…");
    expect(names, 4, 3, 24, "spring-that-swings-as-l…");
}

/* Whatever the width: within it, distinct as far as that can be, and whole characters. */
START_TEST(names_fit)
{
    static const char *const names[] = {"größe/größer-und-größer-é.wav",
                                        "größe/größer-und-größer-è.wav", "größe/日本語の部屋.wav",
                                        "größe/\xff\xfe.wav", "größe/\xff\xfe.wav"};
    for (int columns = 4; columns < 40; columns++)
        for (size_t i = 0; i < 5; i++) {
            char text[DISTINCT_NAME_BYTES], other[DISTINCT_NAME_BYTES];
            distinct_name(names, 5, i, columns, text);
            int used = 0, width;
            mbstate_t state = {0};
            wchar_t character;
            for (const char *at = text; *at; used += width) {
                at += next_column(at, &state, &character, &width);
                ck_assert_msg(character != L'?' || i > 2, "%s", text);
            }
            ck_assert_msg(used <= columns, "%s: %d of %d", text, used, columns);
            distinct_name(names, 5, 1, columns, other);
            ck_assert_msg(i == 1 || columns < 6 || strcmp(text, other) != 0, "%s twice", text);
        }
}

int main(void)
{
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 77;
    return suite_run();
}
