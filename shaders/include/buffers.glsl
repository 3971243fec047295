// Buffer references: every access is `ref.v[i]`, never pointer arithmetic, which would need 64-bit integers.
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : enable

layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Floats { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 8) buffer Pairs { vec2 v[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Vectors { vec4 v[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer Quads { uvec4 v[]; };
// Visible to other workgroups of the same dispatch, in order with memoryBarrierBuffer() and atomic operations.
layout(buffer_reference, std430, buffer_reference_align = 4) coherent buffer CoherentWords { uint v[]; };
layout(buffer_reference, std430, buffer_reference_align = 4) coherent buffer CoherentFloats { float v[]; };
layout(buffer_reference, std430, buffer_reference_align = 16) coherent buffer CoherentVectors { vec4 v[]; };

// Formula: index of this workgroup when a long grid was folded over x and z (65,535 groups are all that x may have).
uint folded_group() { return gl_WorkGroupID.x + gl_WorkGroupID.z * gl_NumWorkGroups.x; }
