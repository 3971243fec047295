// Weight formats (core/kernels/layout.hpp). FORMAT is one of these; a new one is a row of the table below.
#define FORMAT_f32 0
#define FORMAT_f16 1
#define FORMAT_bf16 2
#define FORMAT_q8_0 3
#define FORMAT_q4_0 4
#define FORMAT_q4_1 5
#define FORMAT_q5_0 6
#define FORMAT_q5_1 7
#define FORMAT_q2_k 8
#define FORMAT_q3_k 9
#define FORMAT_q4_k 10
#define FORMAT_q5_k 11
#define FORMAT_q6_k 12
#define FORMAT_iq4_nl 13
#define FORMAT_iq4_xs 14
#define FORMAT_mxfp4 15

// A quantised element is scale x code + offset. Its code has LOW_BITS in one plane of the row and HIGH_BITS above them in
// another, and is signed, or ZERO too large, or the number of a level. SUB_ELEMENTS neighbours share scale and offset.
#define SCALES_none 0
#define SCALES_half 1          // f16 per 32 elements, two a word
#define SCALES_bfloat 2        // bf16 per 32 elements, two a word
#define SCALES_pair 3          // f16 scale, f16 offset per 32 elements
#define SCALES_k_pairs 4       // per 256: f16 d, f16 m; then per 32 a byte s, a byte t: scale = d s, offset = -m t
#define SCALES_k_half_bytes 5  // per 256: f16 d, f16 m; then per 16 a byte s + 16 t: scale = d s, offset = -m t
#define SCALES_k_signed 6      // per 256: f16 d; then per SUB_ELEMENTS a signed byte s: scale = d s

#if FORMAT == FORMAT_f32 || FORMAT == FORMAT_f16 || FORMAT == FORMAT_bf16
#define PLAIN
#define SCALES SCALES_none
#elif FORMAT == FORMAT_q8_0
#define LOW_BITS 8
#define SCALES SCALES_half
#elif FORMAT == FORMAT_q4_0
#define LOW_BITS 4
#define ZERO 8
#define SCALES SCALES_half
#elif FORMAT == FORMAT_q4_1
#define LOW_BITS 4
#define SCALES SCALES_pair
#elif FORMAT == FORMAT_q5_0
#define LOW_BITS 4
#define HIGH_BITS 1
#define ZERO 16
#define SCALES SCALES_half
#elif FORMAT == FORMAT_q5_1
#define LOW_BITS 4
#define HIGH_BITS 1
#define SCALES SCALES_pair
#elif FORMAT == FORMAT_q2_k
#define LOW_BITS 2
#define SUB_ELEMENTS 16
#define SCALES SCALES_k_half_bytes
#elif FORMAT == FORMAT_q3_k
#define LOW_BITS 2
#define HIGH_BITS 1
#define ZERO 4
#define SUB_ELEMENTS 16
#define SCALES SCALES_k_signed
#elif FORMAT == FORMAT_q4_k
#define LOW_BITS 4
#define SCALES SCALES_k_pairs
#elif FORMAT == FORMAT_q5_k
#define LOW_BITS 4
#define HIGH_BITS 1
#define SCALES SCALES_k_pairs
#elif FORMAT == FORMAT_q6_k
#define LOW_BITS 4
#define HIGH_BITS 2
#define ZERO 32
#define SUB_ELEMENTS 16
#define SCALES SCALES_k_signed
#elif FORMAT == FORMAT_iq4_nl
#define LOW_BITS 4
#define LEVELS uvec4(0xBFAD9881u, 0xF6EADDCFu, 0x26190D01u, 0x71594535u) // sixteen int8: -127, -104, ... 113
#define SCALES SCALES_half
#elif FORMAT == FORMAT_iq4_xs
#define LOW_BITS 4
#define LEVELS uvec4(0xBFAD9881u, 0xF6EADDCFu, 0x26190D01u, 0x71594535u)
#define SCALES SCALES_k_signed
#elif FORMAT == FORMAT_mxfp4
#define LOW_BITS 4
#define LEVELS uvec4(0x03020100u, 0x0C080604u, 0xFDFEFF00u, 0xF4F8FAFCu) // twice the values of E2M1
#define SCALES SCALES_bfloat
#endif

#ifndef HIGH_BITS
#define HIGH_BITS 0
#endif
#ifndef SUB_ELEMENTS
#define SUB_ELEMENTS 32
#endif
#if SCALES == SCALES_pair || SCALES == SCALES_k_pairs || SCALES == SCALES_k_half_bytes
#define HAS_OFFSET
#endif
#define ARRANGEMENT_rows 0
#define ARRANGEMENT_lanes 1

#ifdef PLAIN
#include "shaders/include/plain_codes.glsl"
#else
#include "shaders/include/plane_codes.glsl"
#endif
#include "shaders/include/scales.glsl"

// First word of a row of `words` words, and the distance to its next one.
#if ARRANGEMENT == ARRANGEMENT_rows
const uint row_stride = 1;
uint row_start(uint row, uint words) { return row * words; }
#else
const uint row_stride = 8;
uint row_start(uint row, uint words) { return (row / 8) * words * 8 + row % 8; }
#endif
