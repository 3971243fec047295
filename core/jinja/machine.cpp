#include "core/jinja/machine.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace etna::jinja {
namespace {

constexpr std::size_t text_overhead_bytes = sizeof(Text) + 16;
constexpr std::size_t entry_bytes = sizeof(Dict::Entry) + 48; ///< including its share of the index

std::size_t depth_of(const std::vector<Value>& items) {
    std::size_t depth = 1;
    for (const Value& item : items)
        depth = std::max(depth, item.depth() + 1);
    return depth;
}

} // namespace

Status check_hashable(const Value& key) {
    return is_hashable(key) ? Status() : type_error("unhashable type: '{}'", type_name(key));
}

Machine::~Machine() {
    for (const auto& clear : clearers_)
        clear();
}

Status Machine::spend(uint64_t bytes) {
    work_ += std::min(bytes, limits_.work);
    bool is_within = work_ <= limits_.work;
    if (work_left_ != nullptr) {
        is_within = is_within && bytes <= *work_left_;
        *work_left_ -= std::min(bytes, *work_left_);
    }
    return is_within ? Status() : limit_error("the template exceeds its work limit");
}

Status Machine::reserve(std::size_t bytes) {
    ETNA_CHECK(spend(bytes));
    return room_for(bytes);
}

Status Machine::grow(std::size_t size, std::size_t bytes) {
    ETNA_CHECK(spend(bytes));
    return room_for(size + bytes);
}

Status Machine::room_for(std::size_t bytes) const {
    if (bytes <= limits_.live_bytes && memory_.live_bytes <= limits_.live_bytes - bytes)
        return {};
    return limit_error("the template needs more than {} MiB of memory", limits_.live_bytes >> 20);
}

Status Machine::check_depth(std::size_t depth) const {
    if (depth <= limits_.value_depth)
        return {};
    return limit_error("more than {} nested lists or dicts", limits_.value_depth);
}

Result<Value> Machine::text(std::string bytes, bool markup) {
    const std::size_t size = bytes.size() + text_overhead_bytes;
    ETNA_CHECK(reserve(size));
    const auto kind = markup ? Text::Kind::markup : Text::Kind::plain;
    return Value(std::make_shared<const Text>(std::move(bytes), kind, memory_, size));
}

Result<Value> Machine::sequence(std::vector<Value> items, bool is_tuple) {
    const std::size_t depth = depth_of(items);
    ETNA_CHECK(check_depth(depth));
    const std::size_t bytes = sizeof(List) + items.size() * sizeof(Value);
    ETNA_CHECK(reserve(bytes));
    auto list = std::make_shared<List>();
    list->items = std::move(items);
    list->depth = depth;
    list->is_tuple = is_tuple;
    list->charge.attach(memory_, bytes);
    return Value(std::move(list));
}

Result<Value> Machine::dict(std::vector<Dict::Entry> entries) {
    const std::size_t bytes = sizeof(Dict) + entries.size() * entry_bytes;
    ETNA_CHECK(reserve(bytes));
    auto made = std::make_shared<Dict>();
    made->charge.attach(memory_, bytes);
    for (Dict::Entry& entry : entries) {
        ETNA_CHECK(check_hashable(entry.key));
        made->depth = std::max({made->depth, entry.value.depth() + 1, entry.key.depth() + 1});
        made->set(entry.key, std::move(entry.value));
    }
    ETNA_CHECK(check_depth(made->depth));
    return Value(std::move(made));
}

Result<Value> Machine::adopt(const Value& value) {
    ETNA_CHECK(check_depth(value.depth()));
    if (value.is_sequence()) {
        std::vector<Value> items;
        items.reserve(value.sequence()->items.size());
        for (const Value& item : value.sequence()->items) {
            ETNA_TRY(auto adopted, adopt(item));
            items.push_back(std::move(adopted));
        }
        return value.is(Type::tuple) ? tuple(std::move(items)) : list(std::move(items));
    }
    if (value.is(Type::dict)) {
        std::vector<Dict::Entry> entries;
        entries.reserve(value.dict()->entries.size());
        for (const Dict::Entry& entry : value.dict()->entries) {
            ETNA_TRY(auto adopted, adopt(entry.value));
            entries.push_back({entry.key, std::move(adopted)});
        }
        return dict(std::move(entries));
    }
    return value;
}

Status Machine::check_recursion() const {
    if (levels_ <= limits_.evaluation_depth)
        return {};
    return limit_error("RecursionError: maximum recursion depth exceeded");
}

} // namespace etna::jinja
