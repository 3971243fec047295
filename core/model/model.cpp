#include "core/model/model.hpp"

#include "core/model/arch/decoder.hpp"
#include "core/model/fusion.hpp"

#include <utility>

#include <fmt/format.h>

namespace etna::model {

namespace {

/// Sets the frequency divisors of every cache group's rotation.
Status read_rotary_tensors(const gguf::File& file, const std::vector<ClaimedTensor>& claimed,
                           Config& config) {
    for (const ClaimedTensor& tensor : claimed) {
        if (tensor.spec.role != TensorRole::host)
            continue;
        ETNA_TRY(const std::vector<float> divisors, read_divisors(file, *tensor.tensor, tensor.spec.columns));
        for (CacheGroup& group : config.cache_groups) {
            if (!group.rotary.has_divisors)
                continue;
            if (tensor.spec.name == rotary_long_name) {
                group.rotary.long_divisors = divisors;
            } else {
                group.rotary.divisors = divisors;
            }
        }
    }
    return {};
}

/// A file's tensors as its architecture names them, before their layouts are planned.
Result<std::vector<ClaimedTensor>> claim_tensors(const gguf::File& file, bool has_draft_head,
                                                 Blueprint& blueprint) {
    ETNA_TRY(blueprint.architecture, find_architecture(file));
    if (file.tensors().empty()) {
        return Error{ErrorKind::unsupported,
                     fmt::format("{}: holds a vocabulary alone, no weights", file.name()),
                     "`etna tokenize` can use it; to generate text, fetch the model itself"};
    }
    ETNA_TRY(blueprint.config, blueprint.architecture->read_config(file));
    if (!has_draft_head)
        drop_draft_head(blueprint.config);
    ETNA_TRY(std::vector<ClaimedTensor> claimed,
             blueprint.architecture->declare(blueprint.config).claim(file));
    ETNA_CHECK(read_rotary_tensors(file, claimed, blueprint.config));
    return claimed;
}

} // namespace

Status check_model(const gguf::File& file) {
    Blueprint blueprint;
    const auto claimed = claim_tensors(file, true, blueprint);
    return claimed ? Status() : claimed.error();
}

Result<bool> is_encoder(const gguf::File& file) {
    ETNA_TRY(const Architecture* architecture, find_architecture(file));
    ETNA_TRY(const Config config, architecture->read_config(file));
    return config.is_encoder;
}

Result<Blueprint> plan_model(const gguf::File& file, const kernels::PlanTarget& target,
                             const BlueprintOptions& options) {
    Blueprint blueprint;
    blueprint.options = options;
    ETNA_TRY(const std::vector<ClaimedTensor> claimed,
             claim_tensors(file, options.has_draft_head, blueprint));
    ETNA_TRY(blueprint.tensors, plan_weights(file, claimed, target, options.matrix_part_bytes));
    blueprint.weight_bytes = weight_bytes(blueprint.tensors);
    return blueprint;
}

Result<Model> Model::load(kernels::Library& library, const gguf::File& file, const Blueprint& blueprint,
                          uint32_t context_tokens, const Progress& progress) {
    ETNA_TRY(Weights weights, Weights::load(library.device(), file, blueprint.tensors, progress));
    Decoder decoder = blueprint.architecture->assemble(blueprint.config, weights);
    fuse(decoder, library.target());
    return Model(blueprint.config, context_tokens, std::move(weights), std::move(decoder));
}

Model::Model(Config config, uint32_t context_tokens, Weights weights, Decoder decoder)
    : config_(std::move(config)), weights_(std::move(weights)), decoder_(std::move(decoder)) {
    for (const CacheGroup& group : config_.cache_groups)
        rotaries_.emplace_back(group.rotary, context_tokens);
}

} // namespace etna::model
