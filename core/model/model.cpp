#include "core/model/model.hpp"

#include <utility>

namespace etna::model {

Result<Blueprint> plan_model(const gguf::File& file, const kernels::PlanTarget& target,
                             uint64_t matrix_part_bytes) {
    Blueprint blueprint;
    ETNA_TRY(blueprint.architecture, find_architecture(file));
    ETNA_TRY(blueprint.config, blueprint.architecture->read_config(file));
    ETNA_TRY(const std::vector<ClaimedTensor> claimed,
             blueprint.architecture->declare(blueprint.config).claim(file));
    for (const ClaimedTensor& tensor : claimed) {
        if (tensor.spec.name == rotary_divisors_name) {
            ETNA_TRY(blueprint.config.rotary.divisors,
                     read_divisors(file, *tensor.tensor, tensor.spec.columns));
        }
    }
    ETNA_TRY(blueprint.tensors, plan_weights(file, claimed, target, matrix_part_bytes));
    blueprint.weight_bytes = weight_bytes(blueprint.tensors);
    return blueprint;
}

Result<Model> Model::load(vk::Device& device, const gguf::File& file, const Blueprint& blueprint,
                          const Progress& progress) {
    ETNA_TRY(Weights weights, Weights::load(device, file, blueprint.tensors, progress));
    Decoder decoder = blueprint.architecture->assemble(blueprint.config, weights);
    return Model(blueprint.config, std::move(weights), std::move(decoder));
}

Model::Model(Config config, Weights weights, Decoder decoder)
    : config_(std::move(config)), rotary_(config_.rotary), weights_(std::move(weights)),
      decoder_(std::move(decoder)) {}

} // namespace etna::model
