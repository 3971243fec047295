// to[0] = subgroup size, to[1] = number of subgroups, to[2] = workgroup size.
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_KHR_shader_subgroup_basic : require

layout(local_size_x = 1, local_size_x_id = 0) in;

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint v[]; };

layout(push_constant) uniform Push { Words to; };

void main() {
    if (gl_LocalInvocationID.x != 0)
        return;
    to.v[0] = gl_SubgroupSize;
    to.v[1] = gl_NumSubgroups;
    to.v[2] = gl_WorkGroupSize.x;
}
