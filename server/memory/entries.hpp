#pragma once

#include "server/memory/reading.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// What responses, conversations and completions have in common: an owner, an id, an age and a size.
namespace etna::server::memory {

struct EntryName {
    Kind kind;
    const Owner& owner;
    const std::string& id;
};

/// The number of an entry that is not past its age; empty for a kind that is not kept.
Result<std::optional<int64_t>> find_entry(const Reading& reading, const EntryName& name);

/// Gives its number. `bytes` are those of its texts; owner and id come on top. Precondition: it is not there.
Result<int64_t> add_entry(const Reading& reading, const EntryName& name, int64_t bytes);

/// As of now it has so many bytes more, or fewer.
Status grow_entry(const Reading& reading, int64_t number, int64_t bytes);

/// Somebody has added to it: its age begins anew.
Status touch_entry(const Reading& reading, int64_t number);

/// With everything that belongs to it.
Status remove_entry(const Reading& reading, int64_t number);

/// Adds the entry, or gives the one that is there these bytes; its number.
Result<int64_t> place_entry(const Reading& reading, const EntryName& name, int64_t bytes);

inline int64_t bytes_of(std::string_view text) {
    return static_cast<int64_t>(text.size());
}

} // namespace etna::server::memory
