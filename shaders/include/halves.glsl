// Activations for weights in tiles, one block for 256 elements. Their halves: element = factor x half, where the factor is a power of two
// and the largest magnitude becomes 1 to 2: nothing overflows, and few elements underflow. Their codes, in blocks written for fast
// precision: element = scale x code, to the nearest, where the largest magnitude is 127.
//   f32 factor; 12 bytes free; f32 [16] sums of 16 halves; f32 [16] sums of 16 halves times what tile_codes.glsl adds to
//   nibbles (1024 1024 64 64 ...); f16 [256] halves
//   f32 scale; 12 bytes free; f32 [16] sums of 16 codes; int8 [256] codes, eight neighbours as words (e0 e4 e1 e5) (e2 e6 e3 e7)
const uint block_elements = 256;
const uint block_bytes = 992;
const uint block_sums = 16; // byte offsets
const uint block_nibble_sums = 80;
const uint block_halves = 144;
const uint block_code_scale = 656;
const uint block_code_sums = 672;
const uint block_codes = 736;
