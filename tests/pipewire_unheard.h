/* A client of PipeWire that names the default sink while another reading of the defaults is under
 * way. The server sends each change that comes meanwhile to the reader alone: nobody else hears
 * of it. Programs that begin at the wrong moment cause the same, mostly on a busy machine.
 */
#ifndef HALO_TESTS_PIPEWIRE_UNHEARD_H
#define HALO_TESTS_PIPEWIRE_UNHEARD_H

/* Errors fail the test. */
void pipewire_rig_default_unheard(const char *sink);

#endif
