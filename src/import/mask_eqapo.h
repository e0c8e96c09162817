/* A configuration of Equalizer APO while it is read.
 *
 * First the lines of all included files are gathered, which says how many channels there are and at
 * which rate; then they are run in order on a matrix of responses (mask_matrix.h). Its first
 * outputs are the channels of the sound, further ones those that Copy: has created.
 */
#ifndef HALO_MASK_EQAPO_H
#define HALO_MASK_EQAPO_H

#include "import/mask_config.h"
#include "import/mask_matrix.h"

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

/* A command without functions is refused; see also the table in mask_eqapo.c. */
struct eqapo_command {
    const char *name;
    bool names_file;  /* its text is a file's name */
    bool is_numbered; /* Equalizer APO allows a number behind it */
    bool ends_itself; /* what is behind its unit has no effect in Equalizer APO */
    enum status (*gather)(struct eqapo *reading, char *text); /* while lines are gathered */
    enum status (*branch)(struct eqapo *reading, char *text); /* the same, in what If: leaves out */
    enum status (*run)(struct eqapo *reading, char *text);    /* may change the text */
    enum status (*prepare)(struct eqapo *reading, char *text); /* before any line is run */
    bool (*is_plausible)(const char *text); /* such a line makes a file a configuration */
};

struct eqapo_line {
    struct mask_config *config; /* of its file */
    size_t number;
    const struct eqapo_command *command;
    char *text; /* after the colon, with the values of its expressions; owned */
    unsigned stages;
};

struct eqapo_file;
struct eqapo {
    struct mask_config *config; /* of the outermost file; has the rate */
    struct mask_config *now;    /* of the present line */
    struct eqapo_file *files;   /* included */
    size_t file_count;
    struct eqapo_line *lines;
    size_t line_count, line_capacity;

    /* while lines are gathered */
    size_t depth; /* of includes */
    unsigned stages;
    const char *device; /* of Device: lines; NULL: all */
    bool has_remark;    /* a line that is no command was noted */
    bool has_foreign;   /* and one that Equalizer APO would pass over */
    bool has_tail;      /* and a # behind a command */
    struct eqapo_variables variables;
    struct eqapo_branches {
        size_t taken;    /* nested If: whose lines are gathered */
        size_t left_out; /* and in them those whose lines are not */
        bool has_else;   /* of the outermost of those, no branch was taken yet */
    } branches;          /* of the present file */

    /* before they are run */
    size_t channels;      /* of the sound */
    unsigned names_seen;  /* of speakers, a bit each */
    size_t channels_seen; /* the largest number, or columns of a file */
    bool has_routes;      /* channels differ */

    /* while they are run */
    struct mask_matrix *matrix;
    char *created[EQAPO_CHANNELS_MOST]; /* names of further channels */
    size_t created_count;
    bool is_selected[EQAPO_CHANNELS_MOST];
    bool saved[EQAPO_INCLUDES_MOST][EQAPO_CHANNELS_MOST]; /* at Include: lines */
    size_t filters;
    size_t designed;     /* of GraphicEQ: lines, in the shortest length */
    bool has_grouped[2]; /* eq_filter_note_grouped */
};

#define eqapo_refuse(reading, ...) mask_config_refuse((reading)->now, __VA_ARGS__)

/* mask_eqapo_lines.c: gather the lines of the configuration and those it includes. Errors: those of
 * the lines. */
MUST_CHECK enum status eqapo_gather(struct eqapo *reading);
/* The commands that are about lines, not sound; the last has no name. */
extern const struct eqapo_command eqapo_line_commands[];
void eqapo_free(struct eqapo *reading);
/* Say of the first such line that Equalizer APO would pass over it, for that word. */
void eqapo_note_foreign(struct eqapo *reading, const char *word);
/* The rest of a line as a file's name, in place: Windows separates folders by backslashes. */
char *eqapo_file_name(struct eqapo *reading, char *text);

/* mask_eqapo.c: find a command by the start of a line; *text: what follows the colon. */
const struct eqapo_command *eqapo_command_of(const char *line, const char **text);
/* Whether a line is a command with what such a command takes: no other program's file has one. */
bool eqapo_is_command(const char *line);

#endif
