#pragma once

#include "server/storage/reading.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Entries: what responses, conversations and completions have in common: an owner, an id, an age and a size.
namespace etna::server::storage {

struct EntryName {
    Kind kind;
    const Owner& owner;
    const std::string& id;
};

/// The number of an unexpired entry; empty if there is none, or its kind is not stored.
Result<std::optional<int64_t>> find_entry(const Reading& reading, const EntryName& name);

/// Adds an entry and returns its number. `bytes` is the size of its texts; owner and id are added to it.
/// Precondition: the entry does not exist.
Result<int64_t> add_entry(const Reading& reading, const EntryName& name, int64_t bytes);

/// Adds `bytes`, possibly negative, to its size.
Status grow_entry(const Reading& reading, int64_t number, int64_t bytes);

/// Resets its age after an addition.
Status touch_entry(const Reading& reading, int64_t number);

/// Removes it with all dependent rows.
Status remove_entry(const Reading& reading, int64_t number);

/// Adds the entry, or sets the size of the existing one. Returns its number.
Result<int64_t> place_entry(const Reading& reading, const EntryName& name, int64_t bytes);

inline int64_t bytes_of(std::string_view text) {
    return static_cast<int64_t>(text.size());
}

} // namespace etna::server::storage
