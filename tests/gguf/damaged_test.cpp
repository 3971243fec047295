// Truncated, hostile and foreign files: one clear sentence each, and never a crash.
#include "core/gguf/limits.hpp"
#include "tests/fuzz/gguf_walk.hpp"
#include "tests/gguf/examples.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <cstring>

using namespace etna;
using namespace etna::test;
using namespace etna::gguf_test;

namespace {

constexpr uint64_t huge = uint64_t{1} << 60;
constexpr uint64_t u64_max = ~uint64_t{0};

struct Damage {
    std::string what;
    Bytes bytes;
    ErrorKind kind;
    std::string message; ///< a part of it
};

Bytes text(std::string_view characters) {
    Bytes bytes;
    for (const char c : characters)
        bytes.push_back(static_cast<std::byte>(c));
    return bytes;
}

Bytes with_tensor(WrittenTensor tensor) {
    GgufWriter writer;
    writer.add_tensor(std::move(tensor));
    return writer.bytes();
}

Bytes with_entry(std::string key, uint32_t type, Bytes value) {
    GgufWriter writer;
    writer.add_raw(std::move(key), type, std::move(value));
    return writer.bytes();
}

Bytes with_alignment(auto alignment) {
    GgufWriter writer;
    writer.add("general.alignment", alignment);
    return writer.bytes();
}

template <class... T>
Bytes joined(T... numbers) {
    Bytes bytes;
    (append(bytes, numbers), ...);
    return bytes;
}

/// `depth` arrays around one another; the innermost holds one byte.
Bytes nested_arrays(uint32_t depth) {
    Bytes bytes;
    for (uint32_t i = 1; i < depth; ++i) {
        append(bytes, uint32_t{9});
        append(bytes, uint64_t{1});
    }
    const Bytes inner = array_value(std::vector<uint8_t>{1});
    bytes.insert(bytes.end(), inner.begin(), inner.end());
    return bytes;
}

GgufWriter two_tensors(uint64_t second_offset) {
    GgufWriter writer;
    writer.add_tensor(row("a", 16));
    WrittenTensor second = row("b", 16);
    second.offset = second_offset;
    writer.add_tensor(second);
    return writer;
}

GgufWriter same_key_twice() {
    GgufWriter writer;
    writer.add("key", uint8_t{1});
    writer.add("other", uint8_t{1});
    writer.add("key", uint16_t{2});
    return writer;
}

GgufWriter same_tensor_twice() {
    GgufWriter writer;
    writer.add_tensor(row("same", 8));
    writer.add_tensor(row("same", 8));
    return writer;
}

std::vector<Damage> headers() {
    const auto corrupt = ErrorKind::corrupt;
    const auto unsupported = ErrorKind::unsupported;
    return {
        {"empty file", {}, corrupt, "is empty"},
        {"another magic", small_model({.magic = "GGUX"}).bytes(), unsupported, "is not a GGUF file"},
        {"version 0", small_model({.version = 0}).bytes(), unsupported, "has GGUF version 0;"},
        {"version 1", small_model({.version = 1}).bytes(), unsupported,
         "has GGUF version 1; versions 2 to 3"},
        {"version 4", small_model({.version = 4}).bytes(), unsupported,
         "has GGUF version 4; versions 2 to 3"},
        {"big endian", small_model({.version = 0x03000000}).bytes(), unsupported,
         "is a big-endian GGUF file"},
        {"2^60 tensors", small_model({.claimed_tensors = huge}).bytes(), corrupt,
         "the header claims 1152921504606846976 tensors, more than the rest of the file can hold"},
        {"2^64-1 entries", small_model({.claimed_entries = u64_max}).bytes(), corrupt,
         "the header claims 18446744073709551615 metadata entries"},
        {"an entry too many", GgufWriter({.claimed_entries = 1}).bytes(), corrupt,
         "claims 1 metadata entries"},
        {"alignment 0", with_alignment(uint32_t{0}), corrupt, "`general.alignment` is 0, not a power of two"},
        {"alignment 4", with_alignment(uint32_t{4}), corrupt, "`general.alignment` is 4,"},
        {"alignment 24", with_alignment(uint32_t{24}), corrupt, "`general.alignment` is 24,"},
        {"alignment 2^31", with_alignment(uint32_t{1} << 31), corrupt, "`general.alignment` is 2147483648,"},
        {"alignment 1.0", with_alignment(1.0F), corrupt, "`general.alignment` is not an integer,"},
        {"alignment -32", with_alignment(-32), corrupt, "`general.alignment` is not an integer,"},
    };
}

std::vector<Damage> metadata() {
    const auto corrupt = ErrorKind::corrupt;
    const Bytes byte = joined(uint8_t{0});
    return {
        {"empty key", with_entry("", 0, byte), corrupt,
         "metadata key `` is 0 bytes long; 1 to 65535 are allowed"},
        {"long key", with_entry(std::string(65536, 'k'), 0, byte), corrupt, "kkk...` is 65536 bytes long"},
        {"same key twice", same_key_twice().bytes(), corrupt, "metadata key `key` appears twice"},
        {"value type 13", with_entry("k", 13, joined(u64_max)), corrupt,
         "metadata value type 13 does not exist"},
        {"value type 2^32-1", with_entry("k", 0xffffffff, joined(u64_max)), corrupt,
         "value type 4294967295 does not"},
        {"boolean of 2", with_entry("k", 7, joined(uint8_t{2})), corrupt,
         "`k` holds 2, which is neither 0 nor 1"},
        {"boolean of 255 in an array",
         with_entry("k", 9, joined(uint32_t{7}, uint64_t{2}, uint8_t{1}, uint8_t{255})), corrupt,
         "`k` holds 255, which is neither"},
        {"text of 2^64-1 bytes", with_entry("k", 8, joined(u64_max, u64_max)), corrupt,
         "ends inside the metadata, in `k`"},
        {"text of 2^60 bytes", with_entry("k", 8, joined(huge, u64_max)), corrupt,
         "ends inside the metadata, in `k`"},
        {"2^60 texts", with_entry("k", 9, joined(uint32_t{8}, huge, u64_max)), corrupt,
         "`k` claims 1152921504606846976 elements, more than the rest"},
        {"2^60 bytes", with_entry("k", 9, joined(uint32_t{0}, huge, u64_max)), corrupt,
         "`k` claims 1152921504606846976"},
        {"2^61 doubles, 2^64 bytes", with_entry("k", 9, joined(uint32_t{12}, huge * 2, u64_max)), corrupt,
         "`k` claims 2305843009213693952 elements"},
        {"a double too many", with_entry("k", 9, joined(uint32_t{12}, uint64_t{2}, 1.0)), corrupt,
         "`k` claims 2 elem"},
        {"2^60 arrays", with_entry("k", 9, joined(uint32_t{9}, huge, u64_max, u64_max)), corrupt,
         "`k` claims 1152921504606"},
        {"array of type 13", with_entry("k", 9, joined(uint32_t{13}, uint64_t{0})), corrupt,
         "value type 13 does not"},
        {"arrays too deep", with_entry("k", 9, nested_arrays(5)), corrupt,
         "arrays are nested more than 4 deep"},
        {"arrays far too deep", with_entry("k", 9, nested_arrays(100000)), corrupt,
         "arrays are nested more than 4"},
        {"control characters in a key", with_entry("\x1b[2J\xc3", 13, byte), corrupt,
         "type 13 does not exist"},
    };
}

std::vector<Damage> tensors() {
    const auto corrupt = ErrorKind::corrupt;
    const auto unsupported = ErrorKind::unsupported;
    const Bytes data = counting_bytes(128);
    const auto shaped = [&](std::vector<uint64_t> shape) {
        return with_tensor({"t", 0, std::move(shape), data});
    };
    const auto placed = [&](uint64_t offset) { return with_tensor({"t", 0, {32}, data, offset}); };
    return {
        {"no name", with_tensor({"", 0, {32}, data}), corrupt,
         "tensor name `` is 0 bytes long; 1 to 64 are allowed"},
        {"long name", with_tensor({std::string(65, 'n'), 0, {32}, data}), corrupt, "nnn` is 65 bytes long"},
        {"same name twice", same_tensor_twice().bytes(), corrupt, "tensor `same` appears twice"},
        {"no dimensions", shaped({}), corrupt, "tensor `t` has 0 dimensions; 1 to 4 are allowed"},
        {"five dimensions", shaped({1, 1, 1, 1, 1}), corrupt, "tensor `t` has 5 dimensions"},
        {"2^32-1 dimensions", with_tensor({"\x1b[2J", 0, std::vector<uint64_t>(9, 1), data}), corrupt,
         "tensor `\\x1b[2J` has 9 dimensions"},
        {"dimension of zero", shaped({32, 0}), corrupt, "dimension 1 of tensor `t` is zero"},
        {"2^64-1 columns", shaped({u64_max}), corrupt, "the size of tensor `t` overflows"},
        {"2^64 elements", shaped({uint64_t{1} << 32, uint64_t{1} << 32}), corrupt,
         "the size of tensor `t` overflows"},
        {"2^64 bytes", shaped({uint64_t{1} << 31, uint64_t{1} << 31}), corrupt,
         "the size of tensor `t` overflows"},
        {"wraps to a small size", shaped({(uint64_t{1} << 62) + 32}), corrupt,
         "the size of tensor `t` overflows"},
        {"2^60 bytes", shaped({huge / 4}), corrupt,
         "the 1152921504606846976 bytes of tensor `t` at offset 0 run past"},
        {"a row too many", shaped({32, 2}), corrupt,
         "the 256 bytes of tensor `t` at offset 0 run past the end"},
        {"odd offset", placed(4), corrupt,
         "tensor `t` starts at offset 4, not a multiple of the alignment 32"},
        {"offset past the end of the file", placed(huge), corrupt,
         "at offset 1152921504606846976 run past the end"},
        {"offset that overflows", placed(u64_max - 31), corrupt,
         "at offset 18446744073709551584 run past the end"},
        {"offset one step too far", placed(32), corrupt, "the 128 bytes of tensor `t` at offset 32 run past"},
        {"a tensor inside another", two_tensors(0).bytes(), corrupt, "tensors `a` and `b` overlap"},
        {"a tensor into the next", two_tensors(32).bytes(), corrupt, "tensors `a` and `b` overlap"},
        {"half a block", with_tensor({"t", 8, {48}, data}), corrupt,
         "rows of tensor `t` have 48 elements, not a multiple of Q8_0's blocks of 32"},
        {"known type", with_tensor({"t", 16, {256}, data}), unsupported,
         "tensor `t` has the element type IQ2_XXS,"},
        {"removed type", with_tensor({"t", 4, {32}, data}), unsupported, "has the element type number 4,"},
        {"no type", with_tensor({"t", 0xffffffff, {32}, data}), unsupported,
         "the element type number 4294967295,"},
    };
}

std::vector<Damage> foreign() {
    const auto unsupported = ErrorKind::unsupported;
    const Bytes safetensors = [] {
        Bytes bytes = joined(uint64_t{64});
        const Bytes header = text(R"({"__metadata__":{"format":"pt"}})");
        bytes.insert(bytes.end(), header.begin(), header.end());
        return bytes;
    }();
    return {
        {"safetensors", safetensors, unsupported, "is a safetensors file"},
        {"zip", text("PK\x03\x04rest of it"), unsupported, "is a ZIP archive or a PyTorch checkpoint"},
        {"gzip", text("\x1f\x8b rest"), unsupported, "is compressed with gzip"},
        {"git lfs", text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"), unsupported,
         "is a Git LFS pointer"},
        {"html", text("\n <!DOCTYPE HTML><html>"), unsupported, "is an HTML page"},
        {"html in capitals", text("<HTML>"), unsupported, "is an HTML page"},
        {"json", text(R"({"error": "not found"})"), unsupported, "is a JSON document"},
        {"ggjt", text("tjgg\x03\0\0\0"), unsupported, "is a GGJT file"},
        {"words", text("hello, world"), unsupported, "is not a GGUF file"},
    };
}

void check(const std::vector<Damage>& cases) {
    for (const Damage& damage : cases) {
        CAPTURE(damage.what, damage.bytes.size(), damage.message);
        const auto file = parse(damage.bytes);
        REQUIRE_FALSE(file.has_value());
        const Error& error = file.error();
        CHECK_FALSE(error.hint.empty());
        CAPTURE(error.message);
        REQUIRE(error.kind == damage.kind);
        REQUIRE(error.message.starts_with("model.gguf: "));
        REQUIRE(error.message.find(damage.message) != std::string::npos);
        REQUIRE(std::all_of(error.message.begin(), error.message.end(),
                            [](char c) { return c >= ' ' && c <= '~'; }));
        REQUIRE_FALSE(fuzz::walk_gguf(damage.bytes).has_value());
    }
}

} // namespace

TEST_CASE("damaged headers are refused") {
    check(headers());
}
TEST_CASE("damaged metadata is refused") {
    check(metadata());
}
TEST_CASE("damaged tensor directories are refused") {
    check(tensors());
}
TEST_CASE("files of other kinds are recognised") {
    check(foreign());
}

TEST_CASE("a file exactly at the limits is read") {
    GgufWriter writer({.alignment = static_cast<uint32_t>(gguf::max_alignment)});
    writer.add(std::string(gguf::max_key_bytes, 'k'), 1.0F);
    writer.add_raw("nested", 9, nested_arrays(gguf::max_array_depth));
    writer.add_tensor(row(std::string(gguf::max_tensor_name_bytes, 'n'), 1));
    writer.add_tensor({"four", 0, {1, 1, 1, 1}, counting_bytes(4)});
    const Bytes bytes = writer.bytes();
    REQUIRE(parse_sound(bytes).tensors().size() == 2);
}

TEST_CASE("a file truncated anywhere is refused, and the error gives the position") {
    const Bytes whole = small_model().bytes();
    const std::size_t padding_after_last = 32 - 10; // the last tensor has 10 bytes
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
        const auto file = parse(cut);
        CAPTURE(size, file ? std::string("sound") : file.error().message);
        if (size >= whole.size() - padding_after_last) { // only padding is missing
            REQUIRE(file.has_value());
            continue;
        }
        REQUIRE_FALSE(file.has_value());
        REQUIRE(file.error().kind == ErrorKind::corrupt);
        REQUIRE(file.error().message.starts_with("model.gguf: "));
        REQUIRE(file.error().hint.find("download") != std::string::npos);
        if (size > 0)
            REQUIRE(file.error().message.find("at byte ") != std::string::npos);
    }
}

TEST_CASE("the error for a truncated file names the section where it ends") {
    const Bytes whole = small_model().bytes();
    const auto cut_after = [&](std::string_view needle, std::size_t more) {
        const auto* begin = reinterpret_cast<const char*>(whole.data());
        const std::size_t at = std::string_view(begin, whole.size()).find(needle) + needle.size() + more;
        const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(at));
        return std::pair(parse(cut).error().message, at);
    };
    const auto [header, header_end] = cut_after("GGUF", 2);
    REQUIRE(header == "model.gguf: ends inside the header (at byte 6)");
    const auto [metadata, metadata_end] = cut_after("a.count", 5);
    REQUIRE(metadata.find("more than the rest of the file can hold") !=
            std::string::npos); // too short for 6 entries
    const auto [directory, directory_end] = cut_after("third", 5);
    REQUIRE(directory == "model.gguf: ends inside the tensor directory, in `third` (at byte " +
                             std::to_string(directory_end) + ")");
}

TEST_CASE("a file with any one byte changed is read or refused, and all entries can be accessed") {
    const Bytes whole = small_model().bytes();
    std::size_t refused = 0;
    for (std::size_t at = 0; at < whole.size(); ++at) {
        for (const unsigned flip : {0x01U, 0x80U, 0xffU}) {
            Bytes changed = whole;
            changed[at] ^= static_cast<std::byte>(flip);
            CAPTURE(at, flip);
            const auto walk = fuzz::walk_gguf(changed); // throws if an invariant is broken
            refused += walk ? 0 : 1;
        }
    }
    REQUIRE(refused > std::size_t{24} * 3); // the header alone allows hardly any change
    REQUIRE(fuzz::walk_gguf(whole).value().tensors == 3);
}

TEST_CASE("a directory on disk, an absent and an unreadable path are errors that name it") {
    const TemporaryFolder folder;
    const auto directory = gguf::File::open(folder.path());
    REQUIRE(directory.error().kind == ErrorKind::io);
    REQUIRE(directory.error().message.starts_with(folder.path().string()));
    const auto absent = gguf::File::open(folder.path() / "absent.gguf");
    REQUIRE(absent.error().kind == ErrorKind::not_found);
    REQUIRE(absent.error().message.starts_with((folder.path() / "absent.gguf").string()));
}
