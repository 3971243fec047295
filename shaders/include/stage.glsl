// Numbers of the NaN probes of the forward pass; mirrored by kernels::no_stage.
const uint NO_STAGE = 0xFFFFu;

// Tests the bits: compilers may assume that arithmetic never yields NaN or infinity.
bool is_finite(float x) { return (floatBitsToUint(x) & 0x7F800000u) != 0x7F800000u; }
