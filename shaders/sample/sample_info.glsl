// Mirrors kernels::SampleInfo.
struct SampleInfo {
    float temperature;
    uint top_k;
    float top_p;
    float min_p;
    uint seed;
    uint position;
    uint slot;
    uint candidates;
};
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer SampleInfos { SampleInfo v[]; };

const uint chunk_logits = 1024; // logits that one workgroup of sample_partial looks at
const uint chunks_max = 512;
const uint candidates_max = 64;
const uint result_words = 4 + 2 * candidates_max;
#define minus_infinity uintBitsToFloat(0xFF800000u)
