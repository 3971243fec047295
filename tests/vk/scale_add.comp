// y[i] = a * x[i] + y[i] for i < count; one invocation per element.
#version 460
#extension GL_EXT_buffer_reference : require

layout(local_size_x = 64, local_size_x_id = 0) in;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { float v[]; };

layout(push_constant) uniform Push {
    Floats x;
    Floats y;
    float a;
    uint count;
};

void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (i < count)
        y.v[i] = a * x.v[i] + y.v[i];
}
