/* Keeps messages back, for a call that redirects standard error: those of other threads would be
 * lost. Threads: any. */
#ifndef HALO_MESSAGE_LOCK_H
#define HALO_MESSAGE_LOCK_H

/* Until the unlock other threads wait before they print a message, and this one prints none. */
void message_lock(void);
void message_unlock(void);

#endif
