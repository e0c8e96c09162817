/* For sources that are compiled twice, once for each precision (halo_twice in CMakeLists.txt).
 *
 * Such sources write `real` for the type of a sample, and struct real_block and real_fft. They
 * write REAL(name) for a name that ends in _in_double in double precision. For the functions below,
 * and for those that headers of such sources list, they write the plain name. Types that only one
 * source uses have no REAL; only the type of their samples differs.
 */
#ifndef HALO_REAL_H
#define HALO_REAL_H

#include "signal/audio.h"
#include "signal/fft.h"
#include "signal/fft_double.h"
#include "signal/fft_odd.h"
#include "signal/fir.h"

#ifdef HALO_DOUBLE
#define real double
#define REAL(name) name##_in_double
#define REAL_IS_DOUBLE true
#else
#define real float
#define REAL(name) name
#define REAL_IS_DOUBLE false
#endif

#define real_block REAL(block)
#define real_fft REAL(fft)
#define real_odd_fft REAL(odd_fft)
#define block_init REAL(block_init)
#define block_init_unset REAL(block_init_unset)
#define block_free REAL(block_free)
#define block_silence REAL(block_silence)
#define audio_alloc REAL(audio_alloc)
#define audio_alloc_unset REAL(audio_alloc_unset)
#define audio_free REAL(audio_free)
#define audio_clear_rows REAL(audio_clear_rows)
#define audio_is_silent REAL(audio_is_silent)
#define audio_peak REAL(audio_peak)
#define audio_multiply REAL(audio_multiply)
#define audio_find_nonfinite REAL(audio_find_nonfinite)
#define audio_interleave REAL(audio_interleave)
#define audio_deinterleave REAL(audio_deinterleave)
#define audio_copy_rows REAL(audio_copy_rows)
#define fft_create REAL(fft_create)
#define fft_destroy REAL(fft_destroy)
#define fft_length REAL(fft_length)
#define fft_forward REAL(fft_forward)
#define fft_inverse REAL(fft_inverse)
#define odd_fft_create REAL(odd_fft_create)
#define odd_fft_find REAL(odd_fft_find)
#define odd_fft_size REAL(odd_fft_size)
#define odd_fft_destroy REAL(odd_fft_destroy)
#define odd_fft_forward REAL(odd_fft_forward)
#define odd_fft_inverse REAL(odd_fft_inverse)
#define odd_fft_multiply_add REAL(odd_fft_multiply_add)
#define fir_add REAL(fir_add)
#define fir_add_exactly REAL(fir_add_exactly)

#endif
