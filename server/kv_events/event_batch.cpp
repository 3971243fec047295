#include "server/kv_events/event_batch.hpp"

#include <bit>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace etna::server::kv_events {
namespace {

/// Encodes MessagePack as msgspec does: the shortest form of each integer and length, and every float in 64
/// bits. (Libraries encode a float without a fraction as an integer, or in 32 bits.) Source: the MessagePack
/// specification.
class PackWriter {
public:
    void array(std::size_t size) { head(size, 0x90, 15, {}, 0xdc, 0xdd); }
    void map(std::size_t size) { head(size, 0x80, 15, {}, 0xde, 0xdf); }
    void text(std::string_view value) {
        head(value.size(), 0xa0, 31, 0xd9, 0xda, 0xdb);
        bytes_ += value;
    }
    void nil() { put(0xc0); }
    void real(double value) {
        put(0xcb);
        big_endian(std::bit_cast<uint64_t>(value), 8);
    }
    void number(uint64_t value) {
        constexpr uint64_t fixint_max = 0x7f;
        if (value <= fixint_max)
            return put(static_cast<uint8_t>(value));
        for (const auto& [mark, width] :
             {std::pair<uint8_t, unsigned>{0xcc, 1}, {0xcd, 2}, {0xce, 4}, {0xcf, 8}}) {
            if (width < 8 && value >> (8 * width) != 0)
                continue;
            put(mark);
            return big_endian(value, width);
        }
    }

    [[nodiscard]] std::string take() { return std::move(bytes_); }

private:
    /// Sizes up to `short_max` are part of `short_mark`. `mark8`: empty for types without an 8-bit length.
    void head(std::size_t size, uint8_t short_mark, std::size_t short_max, std::optional<uint8_t> mark8,
              uint8_t mark16, uint8_t mark32) {
        if (size <= short_max)
            return put(static_cast<uint8_t>(short_mark | size));
        const unsigned width = mark8 && size <= UINT8_MAX ? 1 : size <= UINT16_MAX ? 2 : 4;
        put(width == 1 ? *mark8 : width == 2 ? mark16 : mark32);
        big_endian(size, width);
    }
    void put(uint8_t byte) { bytes_ += static_cast<char>(byte); }
    void big_endian(uint64_t value, unsigned width) {
        while (width-- > 0)
            put(static_cast<uint8_t>(value >> (8 * width)));
    }

    std::string bytes_;
};

struct StoredEvent {
    std::vector<uint64_t> hashes;
    std::optional<uint64_t> parent;
    std::vector<TokenId> tokens;
    std::size_t block_tokens = 0;
    std::vector<std::optional<uint64_t>> salt_marks; ///< one per block
};
struct RemovedEvent {
    std::vector<uint64_t> hashes;
};
struct ClearedEvent {};
using PageEvent = std::variant<StoredEvent, RemovedEvent, ClearedEvent>;

uint64_t published_hash(const engine::PageHash& hash) {
    return hash[0];
}

/// Groups cache changes into events.
class EventList {
public:
    explicit EventList(const BatchFormat& format) : format_(format) {}

    void operator()(const engine::StoredPage& page) {
        if (!is_published(page.tokens.size()))
            return;
        auto* last = events_.empty() ? nullptr : std::get_if<StoredEvent>(&events_.back());
        const bool continues = last != nullptr && last->block_tokens == format_.page_tokens &&
                               page.tokens.size() == format_.page_tokens && page.parent &&
                               last->hashes.back() == published_hash(*page.parent);
        if (!continues) {
            last = &events_.emplace_back().emplace<StoredEvent>();
            last->parent = page.parent ? std::optional(published_hash(*page.parent)) : std::nullopt;
            last->block_tokens = page.tokens.size();
        }
        last->hashes.push_back(published_hash(page.hash));
        last->tokens.insert(last->tokens.end(), page.tokens.begin(), page.tokens.end());
        last->salt_marks.push_back(page.salt_mark);
    }
    void operator()(const engine::RemovedPage& page) {
        if (!is_published(page.tokens))
            return;
        auto* last = events_.empty() ? nullptr : std::get_if<RemovedEvent>(&events_.back());
        if (last == nullptr)
            last = &events_.emplace_back().emplace<RemovedEvent>();
        last->hashes.push_back(published_hash(page.hash));
    }
    void operator()(const engine::ClearedPages& /*cleared*/) { events_.emplace_back(ClearedEvent{}); }

    [[nodiscard]] const std::vector<PageEvent>& events() const { return events_; }

private:
    [[nodiscard]] bool is_published(std::size_t tokens) const {
        return tokens == format_.page_tokens || format_.partial == PartialPages::published;
    }

    BatchFormat format_;
    std::vector<PageEvent> events_;
};

/// Writes the members of an event, in vLLM's order, as an array that begins with the tag, or as a map.
class EventWriter {
public:
    EventWriter(PackWriter& out, EventFormat format) : out_(out), has_names_(format == EventFormat::maps) {}

    void operator()(const StoredEvent& event) {
        // Arrays have every member; maps omit members with default values, as vLLM does.
        begin("BlockStored", has_names_ ? 10 : 11);
        numbers("block_hashes", event.hashes);
        name("parent_block_hash");
        event.parent ? out_.number(*event.parent) : out_.nil();
        numbers("token_ids", event.tokens);
        name("block_size");
        out_.number(event.block_tokens);
        nil("lora_id");
        medium();
        nil("lora_name");
        name("extra_keys");
        out_.array(event.salt_marks.size());
        for (const std::optional<uint64_t>& mark : event.salt_marks)
            extra_key(mark);
        group();
        name("kv_cache_spec_kind");
        out_.text("full_attention");
        if (!has_names_)
            out_.nil(); // kv_cache_spec_sliding_window
    }
    void operator()(const RemovedEvent& event) {
        begin("BlockRemoved", 3);
        numbers("block_hashes", event.hashes);
        medium();
        group();
    }
    void operator()(const ClearedEvent& /*event*/) { begin("AllBlocksCleared", 0); }

private:
    /// `members`: number of members after the tag.
    void begin(std::string_view tag, std::size_t members) {
        has_names_ ? out_.map(members + 1) : out_.array(members + 1);
        name("type");
        out_.text(tag);
    }
    void name(std::string_view member) {
        if (has_names_)
            out_.text(member);
    }
    void nil(std::string_view member) {
        name(member);
        out_.nil();
    }
    template <class Number>
    void numbers(std::string_view member, const std::vector<Number>& values) {
        name(member);
        out_.array(values.size());
        for (const Number value : values)
            out_.number(value);
    }
    void medium() {
        name("medium");
        out_.text("GPU");
    }
    void group() {
        name("group_idx");
        out_.number(0);
    }
    /// Writes a fingerprint of the cache_salt, where vLLM writes the salt itself: only requests with the same
    /// salt find the block.
    void extra_key(const std::optional<uint64_t>& mark) {
        if (!mark)
            return out_.nil();
        out_.array(1);
        out_.text(fmt::format("{:016x}", *mark));
    }

    PackWriter& out_;
    bool has_names_;
};

} // namespace

std::string encode_batch(double unix_s, std::span<const engine::CacheChange> changes,
                         const BatchFormat& format) {
    EventList list(format);
    for (const engine::CacheChange& change : changes)
        std::visit(list, change);
    if (list.events().empty())
        return {};
    PackWriter out;
    out.array(3);
    out.real(unix_s);
    out.array(list.events().size());
    EventWriter writer(out, format.events);
    for (const PageEvent& event : list.events())
        std::visit(writer, event);
    out.number(0); // data_parallel_rank
    return out.take();
}

} // namespace etna::server::kv_events
