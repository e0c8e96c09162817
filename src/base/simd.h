/* SIMD_CLONES before a static function builds it for several vector widths, of which the widest
 * that the processor supports is chosen at startup. clang 14 exports no cloned functions. */
#ifndef HALO_SIMD_H
#define HALO_SIMD_H

#if defined(__x86_64__) && defined(HALO_TARGET_CLONES)
#define SIMD_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SIMD_CLONES
#endif

#endif
