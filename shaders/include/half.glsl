// f32 to binary16, to the nearest, ties to even (IEEE 754). Not packHalf2x16: it may round either way (GLSL 4.60, 8.4), and where the
// result is unpacked again a compiler may leave out both (with Mesa 25.0 codes of the cache then belong to another scale than is
// kept). |x| <= 65504 or not finite.
uint half_bits(float x) {
    uint bits = floatBitsToUint(x);
    uint sign = bits >> 16 & 0x8000u;
    uint magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u)
        return sign | 0x7E00u; // no number
    if (magnitude == 0x7F800000u)
        return sign | 0x7C00u;
    if (magnitude < 0x38800000u) // below 2^-14: multiples of 2^-24
        return sign | uint(roundEven(abs(x) * 16777216.0));
    return sign | (magnitude - 0x38000000u + 0x0FFFu + (magnitude >> 13 & 1u)) >> 13;
}

uint pack_halves(vec2 x) { return half_bits(x.x) | half_bits(x.y) << 16; }
