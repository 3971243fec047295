#pragma once

#include "server/storage/change.hpp"

#include <vector>

// Items of a conversation, given by its entry number.
namespace etna::server::storage {

/// Appends items in this order; touches the conversation and updates its size. Error: invalid_argument (an
/// item was refused).
Status append_items(const Change& change, int64_t conversation, const std::vector<Item>& items,
                    Repeated repeated);

/// Empty if there is no item `after`.
Result<std::optional<Page>> page_of_items(const Reading& reading, int64_t conversation, const PageWish& wish);

/// Returns whether it existed.
Result<bool> remove_item(const Change& change, int64_t conversation, const std::string& id);

} // namespace etna::server::storage
