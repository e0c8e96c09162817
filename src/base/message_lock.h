/* The order of messages. Threads: any. */
#ifndef HALO_MESSAGE_LOCK_H
#define HALO_MESSAGE_LOCK_H

/* Until the unlock other threads wait before they print a message, and this one prints none but by
 * message_emit. Also for a call that redirects standard error: those of others would be lost. */
void message_lock(void);
void message_unlock(void);

/* Print a line, behind "halo: ", or pass it to who shows them; between lock and unlock. */
void message_emit(const char *line);

#endif
