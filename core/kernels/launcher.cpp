#include "core/kernels/launcher.hpp"

#include <utility>

namespace etna::kernels {

void LaunchList::add(const Launch& launch) {
    if (hazards_.conflict(launch.reads, launch.writes)) {
        ++barriers_;
        hazards_.clear();
    }
    hazards_.add(launch.reads, launch.writes);
    launches_.push_back(
        {.variant = launch.variant, .reads = launch.reads, .writes = launch.writes, .tuned = launch.tuned});
}

void LaunchList::fail(Error error) {
    if (!error_)
        error_ = std::move(error);
}

Status LaunchList::status() const {
    return error_ ? Status(*error_) : Status();
}

void Launcher::launch(const Launch& launch, ByteView arguments) const {
    if (forms_ != nullptr) {
        for (const vk::Range& written : launch.writes)
            forms_->forget(written);
    }
    if (list_ != nullptr)
        return list_->add(launch);
    auto pipeline = library_->pipeline(launch.variant, launch.specialization,
                                       static_cast<uint32_t>(arguments.size()), launch.subgroup);
    if (!pipeline)
        return recorder_->fail(std::move(pipeline).error());
    recorder_->dispatch({.pipeline = **pipeline,
                         .push_constants = arguments,
                         .groups = launch.groups,
                         .reads = launch.reads,
                         .writes = launch.writes});
}

void Launcher::note_packed(const Activations& rows, PackedForm form, uint32_t first, uint32_t count) const {
    if (forms_ != nullptr)
        forms_->note(rows, form, first, count);
}

PackedForms::RowSpan Launcher::missing_packed(const Activations& rows, PackedForm form, uint32_t first,
                                              uint32_t count) const {
    return forms_ != nullptr ? forms_->missing(rows, form, first, count) : PackedForms::RowSpan{};
}

void Launcher::fail(Error error) const {
    if (list_ != nullptr)
        return list_->fail(std::move(error));
    recorder_->fail(std::move(error));
}

void Launcher::begin_region(std::string_view label) const {
    if (recorder_ != nullptr)
        recorder_->begin_region(label);
}

void Launcher::end_region() const {
    if (recorder_ != nullptr)
        recorder_->end_region();
}

} // namespace etna::kernels
