#pragma once

#include "server/memory/change.hpp"

#include <vector>

// Items of a conversation, by its number.
namespace etna::server::memory {

/// At the end, in this order; the conversation is touched and grows. Error: invalid_argument (one was
/// refused).
Status append_items(const Change& change, int64_t conversation, const std::vector<Item>& items,
                    Repeated repeated);

/// Empty where there is no item `after`.
Result<std::optional<Page>> page_of_items(const Reading& reading, int64_t conversation, const PageWish& wish);

/// Whether it was there.
Result<bool> remove_item(const Change& change, int64_t conversation, const std::string& id);

} // namespace etna::server::memory
