#pragma once

#include "core/model/config.hpp"
#include "core/model/metadata_reader.hpp"

// What Gemma 3n and Gemma 4 have in common.
namespace etna::model {

/// attention.shared_kv_layers: the number of last layers that read the keys and values of the last layer
/// before them with the same window.
void share_keys(MetadataReader& reader, Config& config);

/// Fails the reader if layers differ in widths of q, k or feed-forward blocks that are no multiples of
/// kernels::tile_columns: they share scratch memory, whose rows then must have no padding.
void check_layer_widths(MetadataReader& reader, const Config& config);

} // namespace etna::model
