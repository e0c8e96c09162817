/* The folders that plugins are searched for in. */
#ifndef HALO_PLUGIN_PLACES_H
#define HALO_PLUGIN_PLACES_H

/* The next folder of a list with colons, for the caller to free(), "~" at its beginning replaced by
 * the home folder. NULL: no more, or no memory. */
char *plugin_places_next(const char **list);

/* Of all files below a folder, or of one file: their names, sizes and times, as text. It changes
 * with each installation, upgrade and removal. Reads no file. */
enum { PLUGIN_STAMP = 17 };
void plugin_places_stamp(const char *path, const char *surroundings, char stamp[PLUGIN_STAMP]);

#endif
