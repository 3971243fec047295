// Rows of activations in f16, for matrix units: [columns] f16, f32 factor, 12 bytes free; element = factor x f16. The factor is a power of
// two that brings the row's largest magnitude to 2^14 to 2^15, so that nothing overflows and few elements are subnormal.
const float f16_row_largest = 16384;

// The factor of a row with this largest magnitude, away from the lower end of the range so that it has an inverse.
float f16_row_factor(float largest) {
    float power = uintBitsToFloat(clamp(floatBitsToUint(largest) & 0x7F800000u, 0x08800000u, 0x7F000000u));
    return power / f16_row_largest;
}
