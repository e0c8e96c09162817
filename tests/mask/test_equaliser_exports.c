/* What REW exports of an equaliser besides its listing: the table of filters, and biquads for
 * miniDSP. */
#include "command.h"
#include "mask_load.h"
#include "suite.h"

#include <math.h>

#define HEADER "Number\tEnabled\tControl\tType\tFrequency(Hz)\tGain(dB)\tQ\tBandwidth(Hz)"

static void expect_equal(struct mask *mask, const char *listing)
{
    struct mask *wanted = mask_loaded_text(listing, mask->rate, 2);
    ck_assert_uint_eq(mask->columns, 1);
    ck_assert(!mask->has_own_paths);
    ck_assert_uint_eq(mask->taps, wanted->taps);
    for (size_t k = 0; k < mask->taps; k++)
        ck_assert_double_eq_tol(mask_column(mask, 0)[k], mask_column(wanted, 0)[k], 1e-12);
}

/* ---- tables ---- */

START_TEST(tables)
{
    static const struct {
        const char *table, *listing;
    } cases[] = {
        {"Generic\n" HEADER "\n1\tTrue\tAuto\tPK\t63.80\t-7.5\t6.850\t9.31\n"
         "2\tFalse\tAuto\tPK\t100\t9.0\t1\t100\n3\tTrue\tManual\tLS\t78.30\t5.7\t\t\n"
         "4\tTrue\tAuto\tNone\t\t\t\t\n\nCompound_filters\n"
         "Number\tEnabled\tControl\tType\n1\tTrue\tAuto\tNone\n",
         "Filter: ON PK Fc 63.8 Hz Gain -7.5 dB Q 6.85\nFilter: ON LS Fc 78.3 Hz Gain 5.7 dB\n"},
        {"\xEF\xBB\xBF" HEADER
         "\tTargetT60(ms)\r\n1\tTrue\tAuto\tModal\t63,80\t-7,5\t6,85\t9\t300\r\n"
         "2\tTrue\tManual\tHS_Q\t1.000\t2\t0.7\t\r\n",
         "Filter: ON PK Fc 63.8 Hz Gain -7.5 dB Q 6.85\nFilter: ON HSC Fc 1000 Hz Gain 2 dB Q .7\n"},
        {"Notes:left\nNumber Enabled Control Type Frequency(Hz) Gain(dB) BW/60\n"
         "1 True Auto PA 66.00 -12.00 10\n2 True Manual HP1 20\n",
         "Filter: ON PK Fc 66 Hz Gain -12 dB Q 4.242640687119285\nFilter: ON HP1 Fc 20 Hz\n"},
        {"Generic\nNumber Enabled Control Type Frequency(Hz) Gain(dB) Q Bandwidth(Hz) "
         "TargetT60(ms) FilterT60(ms) Comment Quality\n"
         "1 True Auto PK 63.80 -7.5 6.85 9.3 300 212 mine 7\n2 True Manual All_pass 90 0 0.7\n"
         "3 True Manual Notch 50\n4 True Manual LP_Q 9000 0 0.5\n3 True Auto None\n",
         "Filter: ON PK Fc 63.8 Hz Gain -7.5 dB Q 6.85\nFilter: ON AP Fc 90 Hz Q 0.7\n"
         "Filter: ON NO Fc 50 Hz\nFilter: ON LPQ Fc 9000 Hz Q 0.5\n"},
        {"Number,Enabled,Control,Type,Frequency(Hz),Gain(dB),Q\n1,True,Auto,PK,63.80,-7.5,6.85\n"
         "2,False,Auto,PK,,,\n3,True,Auto,None\n",
         "Filter: ON PK Fc 63.8 Hz Gain -7.5 dB Q 6.85\n"},
        {"Number; Enabled; Control; Type; Frequency(Hz); Gain(dB); Q\n"
         "1; True; Auto; PK; 63,80; -7,5; 6,85\n2;True;Auto;LS;100;2;;\n",
         "Filter: ON PK Fc 63.8 Hz Gain -7.5 dB Q 6.85\nFilter: ON LS Fc 100 Hz Gain 2 dB\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mask_save_text("t.txt", cases[i].table);
        expect_equal(mask_loaded("t.txt", &(struct mask_load_options){.sound = {.rate = 48000,
                                                                                .channels = 2}}),
                     cases[i].listing);
    }
    command_expect(command_done("$HALO mask show t.txt,rate=44100").out, "REW filter table, 44100");
}

START_TEST(tables_refused)
{
    mask_refused("t.txt", HEADER "\n1\tTrue\tAuto\tXY\t100\t1\t1\t\n", "line 2: an equaliser's");
    mask_refused("t.txt", HEADER "\n1\tTrue\tAuto\tPK\t100\t1\t\t\n", "line 2: PK without Q");
    mask_refused("t.txt", HEADER "\n1\tMaybe\tAuto\tPK\t100\t1\t1\t\n", "'Maybe'");
    mask_refused("t.txt", "Number\tEnabled\tControl\tType\tFrequency(Hz)\tGain (dB)\n",
                 "line 1: a column 'Gain (dB)' cannot be read");
    mask_refused("t.txt", "Number\tEnabled\tControl\tType\tFrequency(kHz)\n",
                 "line 1: a column 'Frequency(kHz)' cannot be read");
    mask_refused("t.txt", HEADER "\n1\tTrue\tAuto\tL-T\t50\t\t1.2\n", "L-T takes Fc and Q");
    mask_refused("t.txt", HEADER "\n1\tTrue\tAuto\tPK\t100\t1\t1\t\t5\n",
                 "more cells than columns");
    mask_refused("t.txt", HEADER "\n1\n", "line 2: it has one cell");
    mask_refused("t.txt", HEADER "\n1\tTrue\tAuto\tPK\t30000\t1\t1\n", "needs more than a rate");
}

/* ---- biquads ---- */

/* A peak of -6 dB and a section that does nothing. */
#define PEAK "b0=0.942468895,b1=-1.754191012,\nb2=0.826858962,\na1=1.754191012,\r\na2=-0.769327857"

START_TEST(biquads)
{
    static const char *const texts[] = {
        "biquad1,\n" PEAK ",\nbiquad2,\nb0=1,\nb1=0,\nb2=0,\na1=0,\na2=0\n",
        "# 48k\n\n* REW\nbiquad1, " PEAK "\n",
        "BIQUAD12 " PEAK ",",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (uint32_t rate = 48000; rate <= 96000; rate *= 2) {
            mask_save_text("b.txt", texts[i]);
            struct mask *mask = mask_loaded(
                "b.txt", &(struct mask_load_options){.sound = {.rate = 44100, .channels = 2},
                                                     .raw.rate = rate});
            ck_assert_uint_eq(mask->rate, rate);
            ck_assert(!mask->has_own_paths);
            ck_assert_double_eq_tol(mask_magnitude(mask, 0, rate / 48.0), -6, 1e-4);
            ck_assert_double_eq_tol(mask_magnitude(mask, 0, 0), 0, 1e-4);
        }
}

START_TEST(biquads_refused)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"biquad1,\nb0=1,\nb1=0,\nb2=0,\na1=0,\n", "line 5: a biquad ends here without its a2"},
        {"biquad1,\nb0=1,\nb1=0,\nbiquad2,\nb0=1\n", "line 4: a biquad ends here without its b2"},
        {"biquad1,\nb0=1,\nb2=0,\n", "line 3: 'b2=0' where b1 must be"},
        {"biquad1,\nb0=1,\nb1=0,\nb2=0,\na1=0,\na2=0,\na3=0", "where biquad and its number must"},
        {"biquad1,\nb0=1,\nb1=x,\n", "line 3: 'x' is not a number"},
        {"biquad1,\nb0=1,\nb1=0,\nb2=0,\na1=-1.8,\na2=0.82\n", "the signs of a transfer function"},
        {"biquad1,\nb0=1,\nb1=0,\nb2=0,\na1=0,\na2=2\n", "does not decay"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mask_save_text("b.txt", cases[i].text);
        command_refused(1, cases[i].expected, "$HALO mask show b.txt,rate=48000");
    }
    mask_refused("b.txt", "biquad1,\n" PEAK "\n", "for one rate, which the file does not say");
}
