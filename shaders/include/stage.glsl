// Stages of the forward pass that watch for numbers that are none; mirrored by kernels::no_stage.
const uint NO_STAGE = 0xFFFFu;

// By the bits: compilers may take for granted that arithmetic gives numbers.
bool is_finite(float x) { return (floatBitsToUint(x) & 0x7F800000u) != 0x7F800000u; }
