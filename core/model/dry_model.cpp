#include "core/model/dry_model.hpp"

#include "core/model/fusion.hpp"

#include <algorithm>
#include <utility>

namespace etna::model {
namespace {

// Made-up addresses. Below them are dry_activations(), above them those of a dry arena.
constexpr uint64_t inputs_address = uint64_t{1} << 40;
constexpr uint64_t states_address = uint64_t{1} << 41;
constexpr uint64_t weights_address = uint64_t{1} << 43;

/// Gives out consecutive ranges.
class Addresses {
public:
    explicit Addresses(uint64_t first) : next_(first) {}

    vk::Range take(uint64_t bytes) {
        constexpr uint64_t alignment = 256;
        const vk::Range range{.address = next_, .bytes = bytes};
        next_ = round_up(next_ + bytes, alignment);
        return range;
    }

private:
    uint64_t next_;
};

GroupInputs group_inputs(Addresses& inputs, const DryStep& step, uint32_t rotary_dims) {
    const uint64_t rows = step.rows;
    const kernels::AttendMax attended{.end = step.context_tokens, .keys = step.context_tokens};
    return {.infos = inputs.take(rows * sizeof(kernels::RowInfo)),
            .tables = {inputs.take(uint64_t{step.context_tokens} / kernels::page_tokens * sizeof(uint32_t))},
            .angles = inputs.take(rows * rotary_dims * sizeof(float)),
            .attend_max = {attended}};
}

} // namespace

DryModel::DryModel(const Blueprint& blueprint, const kernels::PlanTarget& target)
    : config_(blueprint.config), target_(target), tensors_(blueprint.tensors),
      weights_(Weights::planned(blueprint.tensors, weights_address)),
      decoder_(blueprint.architecture->assemble(config_, weights_)) {
    fuse(decoder_, target);
}

std::optional<std::size_t> DryModel::tensor_at(uint64_t address) const {
    uint64_t start = weights_address;
    for (std::size_t i = 0; i < tensors_.size() && start <= address; ++i) {
        if (address < start + tensors_[i].device_bytes())
            return i;
        start = round_up(start + tensors_[i].device_bytes(), Weights::planned_alignment);
    }
    return std::nullopt;
}

std::vector<LayerState> DryModel::states(const DryStep& step) const {
    const uint32_t pages = divide_up(step.context_tokens, kernels::page_tokens);
    constexpr uint32_t slots = 1;
    Addresses addresses(states_address);
    std::vector<LayerState> states;
    for (const LayerConfig& layer : config_.layers) {
        if (const AttentionConfig* attention = layer.attention()) {
            if (attention->keys_of) {
                states.push_back(states[*attention->keys_of]);
                continue;
            }
            kernels::LayerCache cache = layer_cache(*attention, step.cache_formats, pages);
            cache.keys = addresses.take(cache_bytes(cache).keys);
            cache.values = addresses.take(cache_bytes(cache).values);
            states.push_back({.cache = cache});
            continue;
        }
        LayerState state{.slots = slots};
        for (const StatePart& part : layer.mixer.parts())
            state.parts.push_back(addresses.take(slots * part.slot_bytes));
        states.push_back(std::move(state));
    }
    return states;
}

Step DryModel::step_of(const DryStep& step) const {
    Addresses inputs(inputs_address);
    const uint64_t outputs = step.output_rows;
    const uint32_t drafts = step.has_drafts ? step.output_rows : 0;
    Step made;
    made.row_ranges = {{.path = step.path, .first = 0, .count = step.rows, .sequences = 1}};
    made.rows = step.rows;
    for (const CacheGroup& group : config_.cache_groups)
        made.groups.push_back(group_inputs(inputs, step, group.rotary.dims));
    made.sequences = {.infos = inputs.take(sizeof(kernels::SequenceInfo)), .count = 1, .rows = step.rows};
    made.returns_hidden = step.returns_hidden;
    made.output_rows = step.output_rows;
    made.output_indices = inputs.take(outputs * sizeof(uint32_t));
    made.sample_infos = inputs.take(outputs * sizeof(kernels::SampleInfo));
    made.sample_results = inputs.take(outputs * sizeof(kernels::SampleResult));
    made.candidates = step.candidates;
    made.next_infos = inputs.take(uint64_t{step.rows} * sizeof(kernels::RowInfo));
    made.draft_rows = drafts;
    made.draft_indices = inputs.take(drafts * sizeof(uint32_t));
    made.draft_infos = inputs.take(drafts * sizeof(kernels::SampleInfo));
    made.draft_results = inputs.take(drafts * sizeof(kernels::SampleResult));
    return made;
}

Result<DryRecording> DryModel::record(const DryStep& step) const {
    DryRecording made;
    Arena arena;
    const Activations activations = dry_activations(
        config_, target_,
        {.batch_rows_max = step.rows, .output_rows_max = step.output_rows, .slots = step.rows});
    const std::vector<LayerState> layer_states = states(step);
    const Step recorded = step_of(step);
    kernels::PackedForms packed_forms;
    const Recording recording{.launcher = {target_, made.launches, &packed_forms},
                              .arena = arena,
                              .activations = activations,
                              .states = layer_states,
                              .step = recorded};
    record_forward(recording, decoder_);
    if (step.has_drafts)
        record_drafts(recording, decoder_);
    ETNA_CHECK(made.launches.status());
    made.arena = arena.peak();
    return made;
}

} // namespace etna::model
