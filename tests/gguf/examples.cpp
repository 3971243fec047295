#include "tests/gguf/examples.hpp"

#include "tests/support/catch.hpp"

namespace etna::gguf_test {

using namespace etna::test;

Bytes counting_bytes(std::size_t count) {
    Bytes bytes(count);
    for (std::size_t i = 0; i < count; ++i)
        bytes[i] = static_cast<std::byte>(i % 251);
    return bytes;
}

WrittenTensor row(std::string name, uint64_t columns) {
    return {std::move(name), 0, {columns}, counting_bytes(columns * 4)};
}

GgufWriter small_model(GgufWriterOptions options) {
    GgufWriter writer(std::move(options));
    writer.add("general.architecture", "llama");
    writer.add("a.count", uint32_t{7});
    writer.add("a.flag", true);
    writer.add_array("a.words", std::vector<std::string>{"one", "", "three"});
    writer.add_array("a.numbers", std::vector<int16_t>{-1, 2, -3});
    Bytes nested;
    append(nested, uint32_t{9}); // elements are arrays
    append(nested, uint64_t{2});
    for (const auto& inner : {array_value(std::vector<uint8_t>{1, 2}), array_value(std::vector<bool>{true})})
        nested.insert(nested.end(), inner.begin(), inner.end());
    writer.add_raw("a.nested", 9, nested);
    writer.add_tensor({"first", 0, {3, 2}, counting_bytes(24)});
    writer.add_tensor({"second", 8, {32}, counting_bytes(34)});
    writer.add_tensor({"third", 1, {1, 1, 1, 5}, counting_bytes(10)});
    return writer;
}

Result<gguf::File> parse(const Bytes& bytes) {
    return gguf::File::parse(bytes, "model.gguf");
}

gguf::File parse_sound(const Bytes& bytes) {
    auto file = parse(bytes);
    INFO((file ? std::string("sound") : file.error().message));
    REQUIRE(file.has_value());
    return std::move(file).value();
}

} // namespace etna::gguf_test
