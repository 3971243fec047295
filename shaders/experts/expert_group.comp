// Sorts pairs (row, choice) by expert and cuts each expert's into tiles of at most `columns`. Which pairs share a tile
// changes no sum, so their order within an expert is unspecified.
// experts: u32 [pairs]; groups: see groups.glsl. Grid: one workgroup of 64. At most 1024 experts.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "shaders/include/buffers.glsl"
#define InputElements Floats
#include "shaders/experts/arguments.h"
#include "shaders/experts/groups.glsl"

layout(local_size_x = 64) in;
layout(push_constant, std430) uniform Push { ExpertGroupArguments a; };

shared uint counts[1024];
shared uint first_pair[1024];
shared uint first_tile[1024];

uint expert_of(uint pair) { return min(a.experts.v[pair], a.expert_count - 1); }

void main() {
    uint t = gl_LocalInvocationID.x;
    for (uint e = t; e < a.expert_count; e += 64)
        counts[e] = 0;
    barrier();
    for (uint p = t; p < a.pairs; p += 64)
        atomicAdd(counts[expert_of(p)], 1);
    barrier();
    if (t == 0) {
        uint pairs = 0;
        uint tiles = 0;
        for (uint e = 0; e < a.expert_count; ++e) {
            first_pair[e] = pairs;
            first_tile[e] = tiles;
            pairs += counts[e];
            tiles += (counts[e] + a.columns - 1) / a.columns;
        }
        a.groups.v[0] = min(tiles, a.tiles);
    }
    barrier();
    for (uint p = t; p < a.pairs; p += 64) {
        uint place = min(atomicAdd(first_pair[expert_of(p)], 1), a.pairs - 1);
        a.groups.v[order_at(a.tiles) + place] = p;
    }
    barrier();
    for (uint e = t; e < a.expert_count; e += 64) {
        uint first = first_pair[e] - counts[e]; // as it was before
        for (uint done = 0; done < counts[e]; done += a.columns) {
            uint at = tile_at(min(first_tile[e] + done / a.columns, a.tiles - 1));
            a.groups.v[at] = e;
            a.groups.v[at + 1] = first + done;
            a.groups.v[at + 2] = min(counts[e] - done, a.columns);
        }
    }
}
