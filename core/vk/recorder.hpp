#pragma once

#include "core/base/bytes.hpp"
#include "core/base/result.hpp"
#include "core/vk/buffer.hpp"
#include "core/vk/pipeline.hpp"
#include "core/vk/range.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace etna::vk {

class Device;

/// One compute dispatch. `reads` and `writes` list every range that the shader may access: barriers follow
/// from them.
struct Dispatch {
    const Pipeline& pipeline;
    ByteView push_constants = {};
    std::array<uint32_t, 3> groups{1, 1, 1};
    std::span<const Range> reads = {};
    std::span<const Range> writes = {};
};

/// Recorded work. Consumed by Device::submit(), not by Device::submit_reusable(). May be destroyed while the
/// device runs it.
class CommandBuffer {
public:
    CommandBuffer(CommandBuffer&&) noexcept;
    CommandBuffer& operator=(CommandBuffer&&) noexcept;
    ~CommandBuffer();

    [[nodiscard]] uint32_t barrier_count() const;
    [[nodiscard]] uint32_t dispatch_count() const;

private:
    friend class Recorder;
    friend class Device;
    struct Impl;
    explicit CommandBuffer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

struct RecorderOptions {
    /// Record timestamps around every dispatch; Device::timings() returns them after the submission has
    /// completed.
    bool timestamps = false;
    /// For Device::submit_reusable(); without timestamps.
    bool is_reusable = false;
};

/// Records one command buffer. The first error sticks and is returned by finish(), so that a forward pass
/// reads as a list of steps. The command buffer starts with a barrier that orders it after all earlier
/// submissions. A step (dispatch, copy, fill) that conflicts with one since the last barrier gets a barrier
/// before it: their ranges overlap, and one of them is written. Steps without a conflict run side by side.
class Recorder {
public:
    static Result<Recorder> create(Device& device, const RecorderOptions& options = {});

    Recorder(Recorder&&) noexcept;
    Recorder& operator=(Recorder&&) noexcept;
    ~Recorder();

    void dispatch(const Dispatch& dispatch);

    /// Separates all earlier steps from all later ones, also without a conflict; for measurements. Records
    /// nothing if there is no step since the last barrier.
    void barrier();

    /// Ranges must lie inside the buffers, else the recorder's error is invalid_argument.
    void copy(const Buffer& from, uint64_t from_offset, const Buffer& to, uint64_t to_offset, uint64_t bytes);
    /// Fills with a repeated 32-bit word; offset and size are multiples of 4.
    void fill(const Buffer& buffer, uint64_t offset, uint64_t bytes, uint32_t word);

    /// A labelled region in captures and profiles ("layer 3"); regions nest and must be closed.
    void begin_region(std::string_view label);
    void end_region();

    /// Records the error of a step that could not be recorded; only the first one is reported.
    void fail(Error error);

    Result<CommandBuffer> finish();

private:
    struct Impl;
    explicit Recorder(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

} // namespace etna::vk
