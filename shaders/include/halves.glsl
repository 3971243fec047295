// Activations as halves, one block for 256 elements: element = factor x half, where the factor is a power of two and the largest
// magnitude becomes 1 to 2: nothing overflows, and few elements underflow.
//   f32 factor; 12 bytes free; f32 [16] sums of 16 halves; f32 [16] sums of 16 halves times what tile_codes.glsl adds to
//   nibbles (1024 1024 64 64 ...); f16 [256]
const uint block_elements = 256;
const uint block_bytes = 656;
const uint block_sums = 16; // byte offsets
const uint block_nibble_sums = 80;
const uint block_halves = 144;
