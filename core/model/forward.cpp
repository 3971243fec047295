#include "core/model/forward.hpp"

#include "core/kernels/embed.hpp"
#include "core/kernels/linear.hpp"
#include "core/kernels/rms_norm.hpp"
#include "core/kernels/sample.hpp"
#include "core/kernels/soft_cap.hpp"
#include "core/kernels/suppress.hpp"
#include "core/model/nan_probe.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>

namespace etna::model {
namespace {

void record_layer(const Recording& recording, const Layer& layer, uint32_t index) {
    vk::Recorder& recorder = recording.recorder;
    recorder.begin_region(fmt::format("layer {}", index));
    if (layer.altup) {
        record_predict(recording, *layer.altup);
        recorder.barrier();
    }
    if (layer.mixer) {
        recorder.begin_region("attention");
        std::visit(
            [&]<class Block>(const Block& mixer) {
                record(recording, mixer, std::get<typename Block::State>(recording.states[index]));
            },
            *layer.mixer);
        recorder.end_region();
    }
    if (layer.altup) {
        recorder.barrier();
        record_laurel(recording, *layer.altup);
    }
    if (layer.mixer && layer.feed_forward)
        recorder.barrier();
    if (layer.feed_forward) {
        recorder.begin_region("feed forward");
        std::visit([&](const auto& block) { record(recording, block); }, *layer.feed_forward);
        recorder.end_region();
    }
    if (layer.per_layer) {
        recorder.barrier();
        recorder.begin_region("layer input");
        record(recording, *layer.per_layer);
        recorder.end_region();
    }
    if (layer.altup) {
        recorder.barrier();
        record_correct(recording, *layer.altup);
    }
    recorder.end_region();
}

void record_head(const Recording& recording, const Decoder& decoder) {
    const Activations& activations = recording.activations;
    const Step& step = recording.step;
    kernels::Library& library = recording.library;
    vk::Recorder& recorder = recording.recorder;
    const kernels::Sample sample{.logits = activations.logits,
                                 .count = step.output_rows,
                                 .candidates = step.candidates,
                                 .infos = step.sample_infos,
                                 .slots = activations.slots,
                                 .partials = activations.sample_partials,
                                 .results = step.sample_results,
                                 .nan_probes = activations.nan_probes.part(0, step.rows * sizeof(uint32_t))};
    const auto layers = static_cast<uint32_t>(decoder.layers.size());

    recorder.begin_region("head");
    kernels::rms_norm(library, recorder,
                      {.input = activations.residual,
                       .output = activations.output_hidden,
                       .weight = decoder.output_norm,
                       .count = step.output_rows,
                       .indices = step.output_indices,
                       .epsilon = decoder.epsilon,
                       .nan_probe = kernels::NanProbe{.nan_probes = activations.nan_probes,
                                                      .nan_probe = head_nan_probe(layers)},
                       .halves = decoder.head.layout.arrangement == kernels::Arrangement::tiles});
    recorder.barrier();
    kernels::linear(library, recorder,
                    {.weight = decoder.head,
                     .input = activations.output_hidden,
                     .output = activations.logits,
                     .count = step.output_rows,
                     .path = kernels::RowPath::decode});
    recorder.barrier();
    if (decoder.logit_softcap > 0 || decoder.logit_scale != 1) {
        kernels::soft_cap(library, recorder,
                          {.values = activations.logits,
                           .count = step.output_rows,
                           .cap = decoder.logit_softcap,
                           .scale = decoder.logit_scale});
        recorder.barrier();
    }
    for (std::span<const uint32_t> ids = decoder.suppressed_tokens; !ids.empty();) {
        const std::size_t count = std::min(ids.size(), kernels::suppress_ids_max);
        kernels::suppress(library, recorder,
                          {.logits = activations.logits, .count = step.output_rows, .ids = ids.first(count)});
        recorder.barrier();
        ids = ids.subspan(count);
    }
    kernels::sample_partial(library, recorder, sample);
    recorder.barrier();
    kernels::sample_finish(library, recorder, sample);
    recorder.end_region();
}

} // namespace

void record_forward(const Recording& recording, const Decoder& decoder) {
    const Step& step = recording.step;
    vk::Recorder& recorder = recording.recorder;
    kernels::embed(recording.library, recorder,
                   {.rows = rows_of(step.groups[0], 0, step.rows),
                    .slots = recording.activations.slots,
                    .embeddings = step.embeddings,
                    .table = decoder.embedding,
                    .output = recording.activations.residual,
                    .scale = decoder.embedding_scale,
                    .embedding_scale = decoder.embedding_input_scale});
    if (decoder.per_layer_inputs) {
        recorder.barrier();
        record(recording, *decoder.per_layer_inputs);
    }
    if (decoder.stream_ends) // reads the embedding, as the inputs of layers do
        record_expand(recording, *decoder.stream_ends);
    for (uint32_t index = 0; index < decoder.layers.size(); ++index) {
        // the first layer reads its input after further barriers, but streams at once
        if ((index > 0 || !decoder.per_layer_inputs || decoder.stream_ends) &&
            !decoder.layers[index].is_parallel)
            recorder.barrier();
        record_layer(recording, decoder.layers[index], index);
    }
    if (step.output_rows == 0)
        return;
    recorder.barrier();
    if (decoder.stream_ends) {
        record_merge(recording, *decoder.stream_ends);
        recorder.barrier();
    }
    record_head(recording, decoder);
}

} // namespace etna::model
