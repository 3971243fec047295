#pragma once

#include "core/kernels/kv_cache.hpp"
#include "tests/support/random_model.hpp"

#include <string>
#include <vector>

// The complete models that are compared with the CPU twin.
namespace etna::test {

struct NamedModel {
    std::string name;
    kernels::CacheFormat cache;
    Bytes bytes;
};

/// Widths that are multiples of nothing.
RandomModelOptions odd(RandomArchitecture architecture);
/// Latent attention with heads whose parts are multiples of 32, between matrices of odd sizes.
RandomModelOptions latent();

std::vector<NamedModel> models();
std::vector<NamedModel> windowed_models();
std::vector<NamedModel> expert_models();
std::vector<NamedModel> recurrent_models();
std::vector<NamedModel> latent_models();

} // namespace etna::test
