#pragma once

#include "server/storage/content.hpp"

#include <cstdint>
#include <mutex>

namespace etna::server::storage {

enum class Kind : uint8_t { response, conversation, completion }; ///< values as stored in the file
constexpr Kind kinds[] = {Kind::response, Kind::conversation, Kind::completion};

/// Exclusive access to the store: holds its lock and a fixed current time.
class Reading {
public:
    explicit Reading(Store::Content& content);

    [[nodiscard]] Database& database() const { return *content_->database; }
    [[nodiscard]] Pins& pins() const { return *content_->pins; }
    [[nodiscard]] int64_t now_us() const { return now_us_; }
    [[nodiscard]] uint64_t bytes_max() const { return content_->options.bytes_max; }
    [[nodiscard]] const Bounds& bounds(Kind kind) const;
    [[nodiscard]] bool keeps(Kind kind) const { return bounds(kind).entries_max > 0; }

    /// Entries last touched before this time are expired.
    [[nodiscard]] int64_t oldest_us(Kind kind) const;

private:
    std::unique_lock<std::mutex> lock_;
    Store::Content* content_; ///< borrowed
    int64_t now_us_;
};

} // namespace etna::server::storage
