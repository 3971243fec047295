#pragma once

#include "core/base/result.hpp"
#include "core/kernels/library.hpp"
#include "core/kernels/packed_forms.hpp"
#include "core/vk/hazards.hpp"
#include "core/vk/range.hpp"
#include "core/vk/recorder.hpp"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

namespace etna::kernels {

/// Everything one dispatch needs except its arguments.
struct Launch {
    shaders::Variant variant;
    std::initializer_list<uint32_t> specialization;
    std::array<uint32_t, 3> groups{1, 1, 1};
    std::initializer_list<vk::Range> reads;
    std::initializer_list<vk::Range> writes;
    uint32_t subgroup = 0;                ///< Library::pipeline()'s
    std::optional<TunedShape> tuned = {}; ///< if its sizes can be measured (tuning.hpp)
};

/// A launch of a dry recording.
struct PlannedLaunch {
    shaders::Variant variant;
    std::vector<vk::Range> reads;
    std::vector<vk::Range> writes;
    std::optional<TunedShape> tuned;
};

/// What a dry recording yields: the launches that a recorder would get, in order, and the barriers between
/// them. The first error sticks, as in vk::Recorder. Not thread-safe.
class LaunchList {
public:
    void add(const Launch& launch);
    void fail(Error error);

    [[nodiscard]] const std::vector<PlannedLaunch>& launches() const { return launches_; }
    /// Barriers that a recorder would place between these launches.
    [[nodiscard]] uint32_t barriers() const { return barriers_; }
    /// Success, or the first error.
    [[nodiscard]] Status status() const;

private:
    std::vector<PlannedLaunch> launches_;
    vk::Hazards hazards_;
    uint32_t barriers_ = 0;
    std::optional<Error> error_;
};

/// Where operations launch their kernels: into a command buffer, or, for a dry recording, onto a list, which
/// needs no device and accepts made-up addresses. Borrows everything; cheap to copy. Thread-safe as far as
/// vk::Recorder and LaunchList are: not for two threads at once.
class Launcher {
public:
    /// Without `forms` a caller packs the inputs of the kernels that it launches.
    Launcher(Library& library, vk::Recorder& recorder, // NOLINT(google-explicit-constructor)
             PackedForms* forms = nullptr)
        : target_(&library.target()), library_(&library), recorder_(&recorder), forms_(forms) {}
    Launcher(const PlanTarget& target, LaunchList& list, PackedForms* forms = nullptr)
        : target_(&target), list_(&list), forms_(forms) {}

    [[nodiscard]] const PlanTarget& target() const { return *target_; }

    /// Gets the pipeline and records the dispatch; if the pipeline is unavailable, fails.
    void launch(const Launch& launch, ByteView arguments) const;

    /// The last launch wrote rows [first, first + count) in this form too.
    void note_packed(const Activations& rows, PackedForm form, uint32_t first, uint32_t count) const;
    /// PackedForms::missing(); none without forms.
    [[nodiscard]] PackedForms::RowSpan missing_packed(const Activations& rows, PackedForm form,
                                                      uint32_t first, uint32_t count) const;

    /// vk::Recorder::fail()
    void fail(Error error) const;

    /// vk::Recorder::begin_region(); nothing in a dry recording.
    void begin_region(std::string_view label) const;
    void end_region() const;

private:
    const PlanTarget* target_;
    Library* library_ = nullptr; ///< with a recorder
    vk::Recorder* recorder_ = nullptr;
    LaunchList* list_ = nullptr; ///< without
    PackedForms* forms_ = nullptr;
};

} // namespace etna::kernels
