#include "core/model/forward.hpp"

#include "core/kernels/operations/embed.hpp"
#include "core/kernels/operations/linear.hpp"
#include "core/kernels/operations/rms_norm.hpp"
#include "core/kernels/operations/sample.hpp"
#include "core/kernels/operations/soft_cap.hpp"
#include "core/kernels/operations/suppress.hpp"
#include "core/model/nan_probe.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include <fmt/format.h>

namespace etna::model {
namespace {

void record_layer(const Recording& recording, const Layer& layer, uint32_t index) {
    recording.launcher.begin_region(fmt::format("layer {}", index));
    if (layer.altup) {
        record_predict(recording, *layer.altup);
    }
    if (layer.mixer) {
        recording.launcher.begin_region("attention");
        layer.mixer->record(recording, recording.states[index]);
        recording.launcher.end_region();
    }
    if (layer.altup) {
        record_laurel(recording, *layer.altup);
    }
    if (layer.feed_forward) {
        recording.launcher.begin_region("feed forward");
        std::visit([&](const auto& block) { record(recording, block); }, *layer.feed_forward);
        recording.launcher.end_region();
    }
    if (layer.per_layer) {
        recording.launcher.begin_region("layer input");
        record(recording, *layer.per_layer);
        recording.launcher.end_region();
    }
    if (layer.altup) {
        record_correct(recording, *layer.altup);
    }
    recording.launcher.end_region();
}

/// Rows that go through a head, and its weights.
struct HeadRows {
    vk::Range norm;
    const kernels::Matrix& head;
    uint32_t count = 0;
    vk::Range indices; ///< u32 [count], rows of the step
    vk::Range infos;   ///< kernels::SampleInfo [count]
    vk::Range results; ///< kernels::SampleResult [count]
    uint32_t candidates = 1;
    std::optional<uint32_t> nan_probe;
};

/// Changes of the logits before they are sampled.
void record_logit_changes(const Recording& recording, const Decoder& decoder, uint32_t count) {
    const kernels::Activations& logits = recording.activations.logits;
    if (decoder.logit_softcap > 0 || decoder.logit_scale != 1) {
        kernels::soft_cap(
            recording.launcher,
            {.values = logits, .count = count, .cap = decoder.logit_softcap, .scale = decoder.logit_scale});
    }
    for (std::span<const uint32_t> ids = decoder.suppressed_tokens; !ids.empty();) {
        const std::size_t suppressed = std::min(ids.size(), kernels::suppress_ids_max);
        kernels::suppress(recording.launcher,
                          {.logits = logits, .count = count, .ids = ids.first(suppressed)});
        ids = ids.subspan(suppressed);
    }
}

void record_head(const Recording& recording, const Decoder& decoder, const HeadRows& rows) {
    const Activations& activations = recording.activations;
    const Arena::Scope scope(recording.arena);
    const vk::Range partials =
        recording.arena.bytes(kernels::sample_partial_bytes(rows.count, activations.logits.columns));
    std::optional<kernels::NanProbe> nan_probe;
    if (rows.nan_probe)
        nan_probe = {.nan_probes = activations.nan_probes, .nan_probe = *rows.nan_probe};
    kernels::rms_norm(recording.launcher,
                      {.input = activations.residual,
                       .output = activations.output_hidden,
                       .weight = rows.norm,
                       .count = rows.count,
                       .indices = rows.indices,
                       .epsilon = decoder.epsilon,
                       .nan_probe = nan_probe,
                       .packs = rows.head.layout.arrangement == kernels::Arrangement::tiles
                                    ? std::optional(kernels::PackedForm::blocks)
                                    : std::nullopt});
    kernels::linear(recording.launcher, {.weight = rows.head,
                                         .input = activations.output_hidden,
                                         .output = activations.logits,
                                         .count = rows.count,
                                         .path = kernels::RowPath::decode});
    record_logit_changes(recording, decoder, rows.count);
    const kernels::Sample sample{.logits = activations.logits,
                                 .count = rows.count,
                                 .candidates = rows.candidates,
                                 .infos = rows.infos,
                                 .slots = activations.slots,
                                 .partials = partials,
                                 .results = rows.results,
                                 .nan_probes =
                                     activations.nan_probes.part(0, recording.step.rows * sizeof(uint32_t))};
    kernels::sample_partial(recording.launcher, sample);
    kernels::sample_finish(recording.launcher, sample);
}

/// The norms of each row's next token, and of its hidden state, side by side in `both`.
void record_draft_input(const Recording& recording, const Decoder& decoder,
                        const kernels::Activations& both) {
    const Activations& activations = recording.activations;
    const DraftHead& head = *decoder.draft_head;
    const auto norm = [&](const kernels::Activations& input, const kernels::Activations& output,
                          vk::Range weight) {
        kernels::rms_norm(recording.launcher, {.input = input,
                                               .output = output,
                                               .weight = weight,
                                               .count = recording.step.rows,
                                               .epsilon = decoder.epsilon});
    };
    const uint64_t half_bytes = uint64_t{both.columns} / 2 * sizeof(float);
    const kernels::Activations left{.range = both.range, .columns = both.columns / 2, .stride = both.stride};
    const kernels::Activations right{.range = both.range.part(half_bytes, both.range.bytes - half_bytes),
                                     .columns = both.columns / 2,
                                     .stride = both.stride};
    norm(activations.residual, activations.hidden, decoder.output_norm);
    norm(activations.hidden, right, head.hidden_norm);
    kernels::embed(recording.launcher,
                   {.rows = {.infos = recording.step.next_infos, .first = 0, .count = recording.step.rows},
                    .slots = activations.slots,
                    .table = head.embedding,
                    .output = activations.residual,
                    .scale = decoder.embedding_scale});
    norm(activations.residual, left, head.embedding_norm);
}

} // namespace

void record_forward(const Recording& recording, const Decoder& decoder) {
    const Step& step = recording.step;
    kernels::embed(recording.launcher, {.rows = rows_of(step.groups[0], 0, step.rows),
                                        .slots = recording.activations.slots,
                                        .embeddings = step.embeddings,
                                        .positions = decoder.positions.value_or(vk::Range{}),
                                        .constant = decoder.token_type.value_or(vk::Range{}),
                                        .table = decoder.embedding,
                                        .output = recording.activations.residual,
                                        .scale = decoder.embedding_scale,
                                        .embedding_scale = decoder.embedding_input_scale});
    if (decoder.per_layer_inputs) {
        record(recording, *decoder.per_layer_inputs);
    }
    if (decoder.stream_ends) // reads the embedding, as the inputs of layers do
        record_expand(recording, *decoder.stream_ends);
    for (uint32_t index = 0; index < decoder.layers.size(); ++index) {
        record_layer(recording, decoder.layers[index], index);
    }
    if (step.output_rows == 0 && !step.returns_hidden)
        return;
    if (decoder.stream_ends) {
        record_merge(recording, *decoder.stream_ends);
    }
    recording.launcher.begin_region("head");
    if (step.returns_hidden) {
        kernels::rms_norm(recording.launcher, {.input = recording.activations.residual,
                                               .output = recording.activations.hidden,
                                               .weight = decoder.output_norm,
                                               .count = step.rows,
                                               .epsilon = decoder.epsilon,
                                               .subtracts_mean = decoder.has_layer_norms,
                                               .bias = decoder.output_norm_bias});
    }
    if (step.output_rows == 0) {
        recording.launcher.end_region();
        return;
    }
    record_head(recording, decoder,
                {.norm = decoder.output_norm,
                 .head = decoder.head,
                 .count = step.output_rows,
                 .indices = step.output_indices,
                 .infos = step.sample_infos,
                 .results = step.sample_results,
                 .candidates = step.candidates,
                 .nan_probe = head_nan_probe(static_cast<uint32_t>(decoder.layers.size()))});
    recording.launcher.end_region();
}

void record_drafts(const Recording& recording, const Decoder& decoder) {
    const Step& step = recording.step;
    const DraftHead& head = *decoder.draft_head;
    recording.launcher.begin_region("draft head");
    {
        const Arena::Scope scope(recording.arena);
        // One row more than is read, because the second half of a row begins inside it.
        const kernels::Activations input =
            recording.matrix_input(step.rows + 1, head.projection.weight.columns);
        record_draft_input(recording, decoder, input);
        record_linear(recording, head.projection, input, recording.activations.residual,
                      kernels::Store::replace);
    }
    record_layer(recording, head.layer, static_cast<uint32_t>(decoder.layers.size()));
    if (step.draft_rows > 0) {
        record_head(recording, decoder,
                    {.norm = head.output_norm,
                     .head = head.head,
                     .count = step.draft_rows,
                     .indices = step.draft_indices,
                     .infos = step.draft_infos,
                     .results = step.draft_results,
                     .candidates = step.draft_candidates,
                     .nan_probe = std::nullopt});
    }
    recording.launcher.end_region();
}

} // namespace etna::model
