// to[i] = from[i] + 1, repeated `rounds` times on the same values, for i < count; one invocation per element.
#version 460
#extension GL_EXT_buffer_reference : require

layout(local_size_x = 64) in;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint v[]; };

layout(push_constant) uniform Push {
    Words from;
    Words to;
    uint count;
    uint rounds;
};

void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (i >= count)
        return;
    uint value = from.v[i];
    for (uint round = 0; round < rounds; ++round)
        value += 1 + (value & 0);
    to.v[i] = value;
}
