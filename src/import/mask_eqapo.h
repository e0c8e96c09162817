/* A configuration of Equalizer APO while it is read.
 *
 * First the lines of all included files are gathered. They show how many channels there are, and
 * the rate. Then the lines are run in order on a matrix of responses (mask_matrix.h). The matrix's
 * first outputs are the sound's channels. Copy: lines may create further outputs. */
#ifndef HALO_MASK_EQAPO_H
#define HALO_MASK_EQAPO_H

#include "import/mask_config.h"
#include "import/mask_matrix.h"
#include "signal/eq_bands.h"

enum {
    EQAPO_CHANNELS_MOST = MATRIX_CHANNELS_MOST,
    EQAPO_INCLUDES_MOST = 8, /* nested */
};

enum eqapo_stage { EQAPO_PRE_MIX = 1, EQAPO_POST_MIX = 2, EQAPO_CAPTURE = 4 };

enum { EQAPO_VARIABLES_MOST = 256, EQAPO_VARIABLE_BYTES = 32 };

/* All zero: no variables. */
struct eqapo_variables {
    double sample_rate; /* Hz */
    double channels;
    bool is_logical; /* the last expression was true or false, not a number */
    size_t count;
    struct {
        char name[EQAPO_VARIABLE_BYTES];
        double value;
        bool is_logical;
    } items[EQAPO_VARIABLES_MOST];
};

struct eqapo;

/* A command of Equalizer APO. One without functions is refused. See the table in mask_eqapo.c. */
struct eqapo_command {
    const char *name;
    bool names_file;  /* the text after the colon is a file's name */
    bool is_numbered; /* Equalizer APO allows a number after the command */
    bool ends_itself; /* text after the unit has no effect in Equalizer APO */
    bool makes_bands; /* `run` adds to eqapo.bands */
    enum status (*gather)(struct eqapo *reading, char *text); /* called while lines are gathered */
    /* like `gather`, but also for lines that If: leaves out */
    enum status (*branch)(struct eqapo *reading, char *text);
    /* called when the lines are run; may change the text */
    enum status (*run)(struct eqapo *reading, char *text);
    enum status (*prepare)(struct eqapo *reading, char *text); /* called before any line is run */
    /* whether the text is proof that the file is such a configuration */
    bool (*is_plausible)(const char *text);
};

struct eqapo_line {
    struct mask_config *config; /* configuration of the line's file */
    size_t number;
    const struct eqapo_command *command;
    char *text; /* text after the colon, with the values of its expressions; owned */
    unsigned stages;
};

struct eqapo_file;
struct eqapo {
    struct mask_config *config; /* configuration of the outermost file; has the rate */
    struct mask_config *now;    /* configuration of the current line's file */
    struct eqapo_file *files;   /* included files */
    size_t file_count;
    struct eqapo_line *lines;
    size_t line_count, line_capacity;

    /* State while lines are gathered. */
    size_t depth; /* nested includes */
    unsigned stages;
    const char *device; /* text of the last Device: line; NULL: all devices */
    bool has_remark;    /* a note said that a line is no command */
    bool has_foreign;   /* a note said that Equalizer APO ignores a line */
    bool has_tail;      /* a note said that a # follows a command */
    struct eqapo_variables variables;
    struct eqapo_branches {
        size_t taken;    /* open If: whose current branch is read */
        size_t left_out; /* open If: within them that are skipped now */
        bool has_else;   /* the outermost If: of `left_out` has taken no branch yet */
    } branches;          /* If: lines of the current file */

    /* What the lines show before they are run. */
    size_t channels;      /* channels of the sound */
    unsigned names_seen;  /* speakers that are named, a bit each */
    size_t channels_seen; /* largest channel number, or columns of a file */
    bool has_routes;      /* channels are treated differently */

    /* State while lines are run. */
    struct mask_matrix *matrix;
    char *created[EQAPO_CHANNELS_MOST]; /* names of channels that Copy: created */
    size_t created_count;
    bool is_selected[EQAPO_CHANNELS_MOST];
    /* `is_selected` at Include: lines, by depth */
    bool saved[EQAPO_INCLUDES_MOST][EQAPO_CHANNELS_MOST];
    size_t filters;
    struct eq_bands bands;
    bool has_more;       /* the file has more than a preamp and bands */
    size_t designed;     /* GraphicEQ: designs, counted in designs of the shortest length */
    bool has_grouped[2]; /* see eq_filter_note_grouped */
};

#define eqapo_refuse(reading, ...) mask_config_refuse((reading)->now, __VA_ARGS__)

/* In mask_eqapo_lines.c: gathers the lines of the configuration and of files that it includes. */
MUST_CHECK enum status eqapo_gather(struct eqapo *reading);
/* Commands that control lines, not sound. The last one has no name. */
extern const struct eqapo_command eqapo_line_commands[];
void eqapo_free(struct eqapo *reading);
/* Notes, once per configuration, that Equalizer APO would ignore the present line or read it
 * otherwise, because of `word`. halo applies the line. */
void eqapo_note_foreign(struct eqapo *reading, const char *word);
/* The rest of a line as a file's name, in place. Backslashes separate folders, as in Windows. */
char *eqapo_file_name(struct eqapo *reading, char *text);

/* In mask_eqapo.c: finds a command by the start of a line. *text: what follows the colon. */
const struct eqapo_command *eqapo_command_of(const char *line, const char **text);
/* Whether a line is a command with a plausible argument. No other program's file has one. */
bool eqapo_is_command(const char *line);

#endif
