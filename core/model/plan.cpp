#include "core/model/plan.hpp"

#include "core/kernels/operations/embed.hpp"
#include "core/kernels/policy.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace etna::model {
namespace {

/// The tensors that the launches of a step read, by index. Lookups of an embedding's rows do not count.
std::vector<bool> tensors_read(const DryModel& model, const DryRecording& recording) {
    std::vector<bool> is_read(model.tensors().size(), false);
    for (const kernels::PlannedLaunch& launch : recording.launches.launches()) {
        if (kernels::is_embed(launch.variant))
            continue;
        for (const vk::Range& range : launch.reads) {
            if (const auto tensor = model.tensor_at(range.address))
                is_read[*tensor] = true;
        }
    }
    return is_read;
}

/// Steps that together launch every kernel of the model: kernel selection may change with the number of rows,
/// and attention splits the keys of long contexts.
std::vector<DryStep> steps_of_each_kind(const DryModel& model) {
    constexpr std::array row_counts{1U, 2U, 8U, 64U, 512U};
    constexpr uint32_t long_context = 1U << 17;
    const Config& config = model.config();
    std::vector<DryStep> steps;
    for (const kernels::RowPath path : {kernels::RowPath::decode, kernels::RowPath::prefill}) {
        for (const uint32_t rows : row_counts) {
            for (const uint32_t context_tokens :
                 {rows, std::max(rows, std::min(config.context, long_context))}) {
                steps.push_back({.path = path,
                                 .rows = rows,
                                 .output_rows = config.is_encoder ? 0 : rows,
                                 .candidates = kernels::candidates_max,
                                 .context_tokens = context_tokens,
                                 .returns_hidden = true,
                                 .has_drafts = config.has_draft_head});
            }
        }
    }
    return steps;
}

uint64_t row_weights_of(const PlannedTensor& tensor, const ExpertConfig& experts) {
    if (tensor.role == TensorRole::vector)
        return 0;
    const uint64_t weights = uint64_t{tensor.rows} * tensor.columns;
    return weights * (tensor.holds_experts() ? experts.experts_per_token : tensor.count);
}

} // namespace

Result<ArenaSizes> arena_sizes(const DryModel& model, const WorkspaceOptions& options) {
    ArenaSizes sizes;
    const uint32_t output_rows = model.config().is_encoder ? 0 : options.output_rows_max; // it has no head
    for (const kernels::RowPath path : {kernels::RowPath::decode, kernels::RowPath::prefill}) {
        for (const uint32_t rows : {1U, options.batch_rows_max}) {
            ETNA_TRY(const DryRecording recording,
                     model.record({.path = path,
                                   .rows = rows,
                                   .output_rows = std::min(rows, output_rows),
                                   .candidates = kernels::candidates_max,
                                   .context_tokens = options.context_tokens,
                                   .cache_formats = options.cache_formats,
                                   .returns_hidden = true,
                                   .has_drafts = model.config().has_draft_head}));
            sizes.include(recording.arena);
        }
    }
    // Experts of a step with rows of both paths take some memory twice, for fewer rows each: what both round
    // up.
    constexpr uint64_t rounding_bytes = 1024;
    sizes.bytes += rounding_bytes;
    return sizes;
}

Result<WeightReads> weight_reads(const DryModel& model) {
    const Config& config = model.config();
    const ExpertConfig& experts = config.experts;
    DryStep step{.output_rows = config.is_encoder ? 0U : 1U,
                 .returns_hidden = config.is_encoder,
                 .has_drafts = config.has_draft_head};
    ETNA_TRY(const DryRecording generation, model.record(step));
    step.path = kernels::RowPath::prefill;
    step.output_rows = 0;
    ETNA_TRY(const DryRecording prompt, model.record(step));
    const std::vector<bool> generated = tensors_read(model, generation);
    const std::vector<bool> prompted = tensors_read(model, prompt);
    WeightReads reads;
    for (std::size_t i = 0; i < model.tensors().size(); ++i) {
        const PlannedTensor& tensor = model.tensors()[i];
        if (prompted[i])
            reads.row_weights += row_weights_of(tensor, experts);
        if (!generated[i])
            continue;
        if (tensor.holds_experts()) {
            reads.expert_bytes += tensor.device_bytes() / tensor.count * experts.experts_per_token;
        } else {
            reads.shared_bytes += tensor.device_bytes();
        }
    }
    return reads;
}

Result<kernels::VariantSet> used_kernels(const DryModel& model, kernels::CacheFormats formats) {
    constexpr kernels::CacheFormats compact{.keys = kernels::CacheFormat::q8_0,
                                            .values = kernels::CacheFormat::q8_0};
    kernels::VariantSet variants;
    for (const kernels::CacheFormats& stored : {formats, compact}) {
        for (const DryStep& step : steps_of_each_kind(model)) {
            DryStep one = step;
            one.cache_formats = stored;
            ETNA_TRY(const DryRecording recording, model.record(one));
            for (const kernels::PlannedLaunch& launch : recording.launches.launches())
                variants.add(launch.variant);
        }
    }
    return variants;
}

Result<std::vector<kernels::TunedShape>> tuned_shapes(const DryModel& model) {
    std::vector<kernels::TunedShape> shapes;
    for (const DryStep& step : steps_of_each_kind(model)) {
        ETNA_TRY(const DryRecording recording, model.record(step));
        for (const kernels::PlannedLaunch& launch : recording.launches.launches()) {
            if (launch.tuned && std::ranges::find(shapes, *launch.tuned) == shapes.end() &&
                kernels::tuning_candidates(model.target(), *launch.tuned).size() > 1)
                shapes.push_back(*launch.tuned);
        }
    }
    return shapes;
}

} // namespace etna::model
