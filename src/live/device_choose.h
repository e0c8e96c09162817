/* From what a user asked for to a driver, its devices and their channels.
 *
 * Private to device*.c. Threads: the control thread.
 */
#ifndef HALO_DEVICE_CHOOSE_H
#define HALO_DEVICE_CHOOSE_H

#include "live/device_driver.h"

struct device_choice {
    const struct device_row *input; /* of the list; NULL: none */
    const struct device_row *output;
    struct device_channels in;
    struct device_channels out;
};

/* Is one of the wish's names this driver's, or begins so with a colon behind it? It is taken
 * out of the wish, and what follows the colon is *spec. Errors (usage): another spec before. */
MUST_CHECK enum status device_choose_driver(const struct device_driver *driver,
                                            struct device_request *request, bool *named,
                                            const char **spec);

/* Errors (usage or failed): as device_open's. */
MUST_CHECK enum status device_choose(const struct device_request *request,
                                     const struct device_list *list, bool named,
                                     struct device_choice *choice);

#endif
