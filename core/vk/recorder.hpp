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

/// One compute dispatch. `reads` and `writes` are every range that the shader may touch: synchronization
/// validation cannot see buffer addresses, so this declaration is what the hazard check works on.
struct Dispatch {
    const Pipeline& pipeline;
    ByteView push_constants = {};
    std::array<uint32_t, 3> groups{1, 1, 1};
    std::span<const Range> reads = {};
    std::span<const Range> writes = {};
};

/// Recorded, not yet submitted work. Consumed by Device::submit.
class Commands {
public:
    Commands(Commands&&) noexcept;
    Commands& operator=(Commands&&) noexcept;
    ~Commands();

    [[nodiscard]] uint32_t barrier_count() const;
    [[nodiscard]] uint32_t dispatch_count() const;

private:
    friend class Recorder;
    friend class Device;
    struct Content;
    explicit Commands(std::unique_ptr<Content> content);
    std::unique_ptr<Content> content_;
};

struct RecorderOptions {
    /// Leave out the barrier of this number (from 0), as if it had been forgotten: for tests of the hazard
    /// check.
    std::optional<uint32_t> omitted_barrier = {};
    /// Take a timestamp around every dispatch; Device::timings() tells them after the submission completed.
    bool timestamps = false;
};

/// Records one command buffer. The first error sticks and is returned by finish(), so that a forward pass
/// reads as a list of steps. The command buffer opens with a barrier that orders it after everything
/// submitted before.
///
/// With ETNA_CHECKS, two accesses since the last barrier() whose ranges overlap and of which one writes are
/// an error (internal) that names both labels and the ranges.
class Recorder {
public:
    static Result<Recorder> create(Device& device, const RecorderOptions& options = {});

    Recorder(Recorder&&) noexcept;
    Recorder& operator=(Recorder&&) noexcept;
    ~Recorder();

    void dispatch(const Dispatch& dispatch);

    /// Everything recorded before is visible to everything recorded after (compute and transfer).
    void barrier();

    /// Ranges must lie inside the buffers, else the recorder's error is invalid_argument.
    void copy(const Buffer& from, uint64_t from_offset, const Buffer& to, uint64_t to_offset, uint64_t bytes);
    /// Fills with a repeated 32-bit word; offset and size are multiples of 4.
    void fill(const Buffer& buffer, uint64_t offset, uint64_t bytes, uint32_t word);

    /// A labelled region in captures and profiles ("layer 3"); regions nest and must be closed.
    void begin_region(std::string_view label);
    void end_region();

    /// Keeps the first error of a step that could not be recorded.
    void fail(Error error);

    Result<Commands> finish();

private:
    struct Content;
    explicit Recorder(std::unique_ptr<Content> content);
    std::unique_ptr<Content> content_;
};

} // namespace etna::vk
