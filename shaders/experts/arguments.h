#include "shaders/include/shared.h"
#ifdef __cplusplus
namespace etna::shaders {
#endif
struct ExpertRouteArguments {
    ADDRESS(Floats) router; // [row][router_stride]
    ADDRESS(Floats) selection_bias; // [expert], read only with BIASED
    ADDRESS(Words) experts; // [row][experts_per_token]
    ADDRESS(Floats) routing_weights; // [row][experts_per_token]
    uint expert_count;
    uint router_stride;
    uint experts_per_token;
    float scale; // of the routing weights
    uint groups; // of experts, and how many are chosen from; read only with GROUPED
    uint groups_used;
};
struct ExpertRouterArguments {
    ADDRESS(Vectors) weights; // f32 [expert][columns]
    ADDRESS(InputElements) x; // Vectors; x, router, experts, routing_weights: of the first row of this dispatch
    ADDRESS(Floats) bias;     // [expert], read when use_bias != 0
    ADDRESS(Floats) selection_bias; // [expert], read only with BIASED
    ADDRESS(CoherentFloats) router;  // [row][router_stride]
    ADDRESS(Words) experts;          // [row][experts_per_token]
    ADDRESS(Floats) routing_weights; // [row][experts_per_token]
    ADDRESS(CoherentWords) counters; // [workgroup of y] of finished workgroups; zero before and after a dispatch
    uint rows;
    uint columns;  // in vec4, padded
    uint x_stride; // in vec4
    uint router_stride;
    uint expert_count;
    uint experts_per_token;
    uint use_bias;
    float scale; // of the routing weights
    uint groups; // of experts, and how many are chosen from; read only with GROUPED
    uint groups_used;
};
struct ExpertGroupArguments {
    ADDRESS(Words) experts; // [pair], a pair being row x experts_per_token + choice
    ADDRESS(Words) groups;  // kernels::ExpertGroups
    uint expert_count;
    uint pairs;
    uint columns; // pairs in a tile
    uint tiles;   // that groups has room for
};
struct ExpertLinearArguments {
    ADDRESS(Words) weights;
    ADDRESS(Quads) quads; // the weights again, for 16-byte loads
    ADDRESS(Words) scales;
    ADDRESS(InputElements) x; // Vectors or Floats; [pair / pairs_each]
    ADDRESS(Floats) y;        // [pair]
    ADDRESS(Words) groups;
    uint rows;        // of one expert's matrix, elements of y
    uint padded_rows; // from one expert to the next
    uint columns;     // padded to a multiple of 32
    uint expert_count;
    uint pairs;
    uint pairs_each; // pairs that share a row of x
    uint tiles;
    uint x_stride; // in vec4
    uint y_stride;
    uint unused;
};
struct ExpertTilesArguments {
    ADDRESS(Quads) gate; // the matrices, without GATED
    ADDRESS(Quads) up;
    ADDRESS(Quads) x;          // blocks of halves (include/halves.glsl), [pair / pairs_each]
    ADDRESS(CoherentFloats) y; // [pair][y_stride]
    ADDRESS(Words) words;      // y as blocks of halves, written with HALVES
    ADDRESS(Floats) floats;    // the same memory
    ADDRESS(CoherentWords) counters; // [pair or tile][rows / 256] of finished workgroups; zero before and after a dispatch
    ADDRESS(Floats) gate_bias;       // [expert][rows]; both biases are read only with BIASES
    ADDRESS(Floats) up_bias;
    ADDRESS(Words) experts; // [pair], read without GROUPED
    ADDRESS(Words) groups;  // read with GROUPED
    uint rows;              // of one expert's matrix, elements of y
    uint padded_rows;       // from one expert to the next
    uint column_tiles;      // of a group of eight rows
    uint expert_count;
    uint pairs;
    uint pairs_each; // pairs that share a row of x
    uint tiles;      // that groups has room for
    uint y_stride;
};
struct ExpertDownArguments {
    ADDRESS(Quads) weights;
    ADDRESS(Quads) x;       // blocks of halves, [pair]
    ADDRESS(Floats) y;      // [row][y_stride]
    ADDRESS(Words) experts; // [pair]
    ADDRESS(Floats) routing_weights; // [pair]
    ADDRESS(Floats) bias;            // [expert][rows], read only with BIAS
    uint rows;                       // of one expert's matrix, elements of y
    uint padded_rows;                // from one expert to the next
    uint column_tiles;               // of a group of eight rows
    uint column_tiles_inverse;       // 2^24 / column_tiles, rounded up
    uint expert_count;
    uint experts_per_token;
    uint y_stride;
    uint unused;
};
struct ExpertSumArguments {
    ADDRESS(Floats) x;      // [pair][x_stride]
    ADDRESS(Floats) routing_weights; // [pair]
    ADDRESS(Floats) y;      // [row][y_stride]
    ADDRESS(Words) experts; // [pair]; experts and bias are read only with BIAS
    ADDRESS(Floats) bias;   // [expert][columns]
    uint columns;
    uint experts_per_token;
    uint x_stride;
    uint y_stride;
    uint expert_count;
    uint unused;
};
#ifdef __cplusplus
} // namespace etna::shaders
#endif
