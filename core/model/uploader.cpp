#include "core/model/uploader.hpp"

#include "core/vk/recorder.hpp"

#include <utility>

namespace etna::model {

Result<MutableByteView> Uploader::begin(const vk::Buffer& to, uint64_t offset, uint64_t bytes) {
    if (bytes > slice_bytes_max || offset + bytes > to.bytes())
        return Error{.kind = ErrorKind::internal, .message = "an upload slice does not fit its buffer"};
    target_ = nullptr;
    if (const MutableByteView mapped = to.mapped(); !mapped.empty())
        return mapped.subspan(offset, bytes);

    current_ = 1 - current_;
    Half& half = halves_[current_];
    if (half.buffer.bytes() == 0) {
        ETNA_TRY(half.buffer,
                 vk::Buffer::create(device_, vk::MemoryDomain::upload, slice_bytes_max, "weight staging"));
    }
    ETNA_CHECK(device_.wait(half.copied_at));
    target_ = &to;
    offset_ = offset;
    bytes_ = bytes;
    return half.buffer.mapped().first(bytes);
}

Status Uploader::end() {
    if (target_ == nullptr)
        return {};
    Half& half = halves_[current_];
    ETNA_TRY(vk::Recorder recorder, vk::Recorder::create(device_));
    recorder.copy(half.buffer, 0, *target_, offset_, bytes_);
    ETNA_TRY(vk::CommandBuffer commands, recorder.finish());
    ETNA_TRY(half.copied_at, device_.submit(std::move(commands)));
    return {};
}

Status Uploader::finish() {
    for (const Half& half : halves_)
        ETNA_CHECK(device_.wait(half.copied_at));
    return {};
}

} // namespace etna::model
