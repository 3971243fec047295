#include "tests/gguf/examples.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/folders.hpp"
#include "tests/support/tensor_content.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <thread>

using namespace etna;
using namespace etna::test;
using namespace etna::gguf_test;

namespace {

template <class T>
std::vector<T> extremes() {
    return {std::numeric_limits<T>::lowest(), T{0}, T{1}, std::numeric_limits<T>::max()};
}

/// Every extreme value of T, alone and as an array, is read back as a T.
template <class T>
void check_type(uint32_t version) {
    GgufWriter writer({.version = version});
    const std::vector<T> values = extremes<T>();
    for (std::size_t i = 0; i < values.size(); ++i)
        writer.add("value." + std::to_string(i), T(values[i]));
    writer.add_array("array", values);
    writer.add_array("empty", std::vector<T>{});
    const Bytes bytes = writer.bytes();
    const gguf::File file = parse_sound(bytes);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const gguf::Value* value = file.find("value." + std::to_string(i));
        REQUIRE(value != nullptr);
        REQUIRE(std::get<T>(*value) == values[i]);
    }
    REQUIRE(std::get<std::vector<T>>(std::get<gguf::Array>(*file.find("array")).items) == values);
    REQUIRE(std::get<std::vector<T>>(std::get<gguf::Array>(*file.find("empty")).items).empty());
}

} // namespace

TEST_CASE("every type of number survives the round trip, alone and in arrays") {
    for (const uint32_t version : {2U, 3U}) {
        CAPTURE(version);
        check_type<uint8_t>(version);
        check_type<int8_t>(version);
        check_type<uint16_t>(version);
        check_type<int16_t>(version);
        check_type<uint32_t>(version);
        check_type<int32_t>(version);
        check_type<uint64_t>(version);
        check_type<int64_t>(version);
        check_type<float>(version);
        check_type<double>(version);
        check_type<bool>(version);
    }
}

TEST_CASE("texts may be empty, long, and anything but UTF-8") {
    const std::string odd("\0\xff\n\"", 4);
    const std::string large(100000, 'x');
    GgufWriter writer;
    writer.add("odd", odd);
    writer.add("large", large);
    writer.add("none", "");
    writer.add_array("all", std::vector<std::string>{odd, "", large});
    const Bytes bytes = writer.bytes();
    const gguf::File file = parse_sound(bytes);
    REQUIRE(file.text("odd") == odd);
    REQUIRE(file.text("large") == large);
    REQUIRE(file.text("none") == "");
    const auto& all = std::get<std::vector<std::string_view>>(std::get<gguf::Array>(*file.find("all")).items);
    REQUIRE(all == std::vector<std::string_view>{odd, "", large});
}

TEST_CASE("nested arrays have their own element types") {
    const Bytes bytes = small_model().bytes();
    const gguf::File file = parse_sound(bytes);
    const auto& outer =
        std::get<std::vector<gguf::Array>>(std::get<gguf::Array>(*file.find("a.nested")).items);
    REQUIRE(outer.size() == 2);
    REQUIRE(std::get<std::vector<uint8_t>>(outer[0].items) == std::vector<uint8_t>{1, 2});
    REQUIRE(std::get<std::vector<bool>>(outer[1].items) == std::vector<bool>{true});
}

TEST_CASE("look-ups convert a value if it fits, and return empty otherwise") {
    GgufWriter writer;
    writer.add("small", uint8_t{200});
    writer.add("signed", int64_t{5});
    writer.add("negative", int32_t{-1});
    writer.add("largest", std::numeric_limits<uint64_t>::max());
    writer.add("float", 1.5F);
    writer.add("flag", true);
    writer.add("word", "12");
    const Bytes bytes = writer.bytes();
    const gguf::File file = parse_sound(bytes);
    REQUIRE(file.unsigned_integer("small") == 200U);
    REQUIRE(file.unsigned_integer("signed") == 5U);
    REQUIRE(file.unsigned_integer("largest") == std::numeric_limits<uint64_t>::max());
    REQUIRE(file.number("negative") == -1.0);
    REQUIRE(file.number("float") == 1.5);
    REQUIRE(file.boolean("flag") == true);
    REQUIRE(file.text("word") == "12");
    for (const char* key : {"negative", "float", "flag", "word", "absent"})
        REQUIRE(file.unsigned_integer(key) == std::nullopt);
    for (const char* key : {"flag", "word", "absent"})
        REQUIRE(file.number(key) == std::nullopt);
    for (const char* key : {"small", "word", "absent"})
        REQUIRE(file.boolean(key) == std::nullopt);
    for (const char* key : {"small", "flag", "absent"})
        REQUIRE(file.text(key) == std::nullopt);
    REQUIRE(file.find("absent") == nullptr);
    REQUIRE(file.find("smal") == nullptr);
    REQUIRE(file.find("") == nullptr);
    REQUIRE(file.metadata().size() == 7);
    REQUIRE(file.metadata()[3].key == "largest");
}

TEST_CASE("every tensor type has the specified number and size") {
    struct Case {
        uint32_t number;
        gguf::TensorType type;
        const char* name;
        uint32_t elements; ///< of a block
        uint32_t bytes;    ///< of a block
    };
    // ggml.h (enum ggml_type); bytes from the fields of the blocks: scales as binary16 are 2 bytes, and so
    // on.
    const Case cases[] = {
        {0, gguf::TensorType::f32, "F32", 1, 4},
        {1, gguf::TensorType::f16, "F16", 1, 2},
        {2, gguf::TensorType::q4_0, "Q4_0", 32, 2 + 16},
        {3, gguf::TensorType::q4_1, "Q4_1", 32, 2 + 2 + 16},
        {6, gguf::TensorType::q5_0, "Q5_0", 32, 2 + 4 + 16},
        {7, gguf::TensorType::q5_1, "Q5_1", 32, 2 + 2 + 4 + 16},
        {8, gguf::TensorType::q8_0, "Q8_0", 32, 2 + 32},
        {10, gguf::TensorType::q2_k, "Q2_K", 256, 16 + 64 + 2 + 2},
        {11, gguf::TensorType::q3_k, "Q3_K", 256, 32 + 64 + 12 + 2},
        {12, gguf::TensorType::q4_k, "Q4_K", 256, 2 + 2 + 12 + 128},
        {13, gguf::TensorType::q5_k, "Q5_K", 256, 2 + 2 + 12 + 32 + 128},
        {14, gguf::TensorType::q6_k, "Q6_K", 256, 128 + 64 + 16 + 2},
        {20, gguf::TensorType::iq4_nl, "IQ4_NL", 32, 2 + 16},
        {23, gguf::TensorType::iq4_xs, "IQ4_XS", 256, 2 + 2 + 4 + 128},
        {30, gguf::TensorType::bf16, "BF16", 1, 2},
        {39, gguf::TensorType::mxfp4, "MXFP4", 32, 1 + 16},
    };
    for (const uint32_t version : {2U, 3U}) {
        GgufWriter writer({.version = version});
        for (const Case& c : cases) {
            writer.add_tensor({c.name,
                               c.number,
                               {uint64_t{c.elements} * 3, 5, 2},
                               counting_bytes(c.bytes * std::size_t{30})});
        }
        const Bytes bytes = writer.bytes();
        const gguf::File file = parse_sound(bytes);
        uint64_t sum = 0;
        for (const Case& c : cases) {
            CAPTURE(version, c.name);
            const gguf::Tensor* tensor = file.find_tensor(c.name);
            REQUIRE(tensor != nullptr);
            REQUIRE(tensor->type == c.type);
            REQUIRE(tensor->dimensions == 3);
            REQUIRE(tensor->shape == std::array<uint64_t, 4>{uint64_t{c.elements} * 3, 5, 2, 1});
            const Bytes expected = counting_bytes(c.bytes * std::size_t{30});
            REQUIRE(tensor_content(file, *tensor) == expected);
            const auto info = gguf::describe(c.type);
            REQUIRE(info.has_value());
            REQUIRE(info->name == c.name);
            REQUIRE(info->block_elements == c.elements);
            REQUIRE(info->block_bytes == c.bytes);
            sum += expected.size();
        }
        REQUIRE(file.tensor_bytes() == sum);
        REQUIRE(file.tensors().size() == std::size(cases));
        REQUIRE(file.find_tensor("absent") == nullptr);
    }
}

TEST_CASE("general.alignment determines the offsets of tensors") {
    for (const uint32_t alignment : {8U, 16U, 32U, 64U, 4096U, 65536U}) {
        CAPTURE(alignment);
        const Bytes bytes = small_model({.alignment = alignment}).bytes();
        const gguf::File file = parse_sound(bytes);
        REQUIRE(file.unsigned_integer("general.alignment") == alignment);
        for (const gguf::Tensor& tensor : file.tensors()) {
            CAPTURE(tensor.name);
            REQUIRE(tensor.offset % alignment == 0);
            REQUIRE(tensor_content(file, tensor) == counting_bytes(tensor.bytes));
        }
    }
}

TEST_CASE("a file on disk is read like the same bytes in memory, and survives a move") {
    const TemporaryFolder folder;
    const auto path = folder.path() / "small.gguf";
    write_file(path, small_model().bytes());
    auto opened = gguf::File::open(path);
    REQUIRE(opened.has_value());
    const gguf::File file = std::move(opened).value();
    REQUIRE(file.name() == path.string());
    REQUIRE(file.text("general.architecture") == "llama");
    REQUIRE(file.tensors().size() == 3);
    for (const gguf::Tensor& tensor : file.tensors()) {
        REQUIRE(tensor_content(file, tensor) == counting_bytes(tensor.bytes));
        Bytes beyond(2);
        CHECK(file.read(tensor, tensor.bytes - 1, beyond).error().kind == ErrorKind::invalid_argument);
        CHECK(file.read(tensor, std::numeric_limits<uint64_t>::max(), beyond).error().kind ==
              ErrorKind::invalid_argument);
    }
}

TEST_CASE("a directory longer than the first read is read completely") {
    const TemporaryFolder folder;
    const auto path = folder.path() / "large.gguf";
    GgufWriter writer = small_model();
    const std::vector<std::string> texts(300'000, std::string(20, 'x')); // 8 MiB
    writer.add_array("texts", texts);
    writer.add("last", "end");
    write_file(path, writer.bytes());
    const auto file = gguf::File::open(path);
    if (!file)
        FAIL(file.error().message);
    CHECK(file->text("last") == "end");
    const auto& items = std::get<gguf::Array>(*file->find("texts")).items;
    const auto& read = std::get<std::vector<std::string_view>>(items);
    CHECK(std::equal(read.begin(), read.end(), texts.begin(), texts.end()));
    for (const gguf::Tensor& tensor : file->tensors())
        CHECK(tensor_content(*file, tensor) == counting_bytes(tensor.bytes));
}

TEST_CASE("a file elsewhere is read like the same bytes in memory, tensors on demand") {
    const Bytes bytes = small_model().bytes();
    uint64_t read_bytes = 0;
    bool is_lost = false;
    const auto read = [&](uint64_t offset, MutableByteView into) -> Status {
        if (is_lost)
            return Error{ErrorKind::unreachable, "no network"};
        read_bytes += into.size();
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
        return {};
    };
    const uint64_t stated_bytes = uint64_t{1} << 40; // it goes on: the first read takes 4 MiB of it
    Bytes padded = bytes;
    padded.resize(std::size_t{4} << 20);
    const auto read_padded = [&](uint64_t offset, MutableByteView into) -> Status {
        read_bytes += into.size();
        std::copy_n(padded.begin() + static_cast<std::ptrdiff_t>(offset), into.size(), into.begin());
        return {};
    };
    const auto large = gguf::File::open({{.name = "large.gguf", .bytes = stated_bytes, .read = read_padded}});
    REQUIRE(large.has_value());
    CHECK(read_bytes == padded.size());

    const auto file = gguf::File::open({{.name = "small.gguf", .bytes = bytes.size(), .read = read}});
    REQUIRE(file.has_value());
    CHECK(file->name() == "small.gguf");
    CHECK(file->text("general.architecture") == "llama");
    for (const gguf::Tensor& tensor : file->tensors())
        CHECK(tensor_content(*file, tensor) == counting_bytes(tensor.bytes));
    is_lost = true;
    Bytes content(1);
    CHECK(file->read(file->tensors().front(), 0, content).error().kind == ErrorKind::unreachable);
    const auto lost = gguf::File::open({{.name = "lost.gguf", .bytes = bytes.size(), .read = read}});
    CHECK(lost.error().kind == ErrorKind::unreachable);
    CHECK(gguf::File::open(std::vector<gguf::RangeSource>()).error().kind == ErrorKind::invalid_argument);
}

TEST_CASE("a file that is cut or replaced while it is open is an error, and no signal") {
    const TemporaryFolder folder;
    const auto path = folder.path() / "cut.gguf";
    const Bytes bytes = small_model().bytes();
    write_file(path, bytes);
    const auto file = gguf::File::open(path);
    REQUIRE(file.has_value());
    CHECK(file->check_unchanged());
    std::this_thread::sleep_for(std::chrono::milliseconds(50)); // file systems' clocks are coarse
    std::filesystem::resize_file(path, 0);                      // as a copy begins over it
    CHECK(file->text("general.architecture") == "llama");
    const gguf::Tensor& tensor = file->tensors().back();
    Bytes content(tensor.bytes);
    const Status cut = file->read(tensor, 0, content);
    REQUIRE(!cut);
    CHECK(cut.error().kind == ErrorKind::io);
    CHECK(cut.error().message == path.string() + ": was changed while it was read");
    write_file(path, bytes); // and ends
    CHECK(file->read(tensor, 0, content));
    CHECK(file->check_unchanged().error().kind == ErrorKind::io);
}

TEST_CASE("a trained model from elsewhere has the shapes that its authors give") {
    // karpathy/tinyllamas, stories260K: dim 64, 5 layers, 8 heads, 4 key-value heads, vocabulary 512
    const auto opened = gguf::File::open(ETNA_TEST_DATA "/models/stories260K.gguf");
    REQUIRE(opened.has_value());
    const gguf::File& file = *opened;
    REQUIRE(file.text("general.architecture") == "llama");
    REQUIRE(file.unsigned_integer("llama.block_count") == 5U);
    REQUIRE(file.unsigned_integer("llama.embedding_length") == 64U);
    REQUIRE(file.unsigned_integer("llama.attention.head_count") == 8U);
    REQUIRE(file.unsigned_integer("llama.attention.head_count_kv") == 4U);
    const gguf::Tensor* embedding = file.find_tensor("token_embd.weight");
    REQUIRE(embedding != nullptr);
    REQUIRE(embedding->shape == std::array<uint64_t, 4>{64, 512, 1, 1});
    const gguf::Tensor* key = file.find_tensor("blk.4.attn_k.weight");
    REQUIRE(key != nullptr);
    REQUIRE(key->shape == std::array<uint64_t, 4>{64, 32, 1, 1});
}
