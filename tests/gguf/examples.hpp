#pragma once

#include "core/gguf/file.hpp"
#include "tests/support/gguf_writer.hpp"

#include <string>

/// Small files that several tests of the GGUF room start from.
namespace etna::gguf_test {

/// A few hundred bytes with scalars, texts, arrays, a nested array and three tensors of different types.
test::GgufWriter small_model(test::GgufWriterOptions options = {});

/// `count` bytes 0, 1, 2, ..., starting over after 250, so that no power of two is a period.
test::Bytes counting_bytes(std::size_t count);

/// An F32 tensor with `columns` columns and one row.
test::WrittenTensor row(std::string name, uint64_t columns);

/// parse() under the name that the tests expect in messages.
Result<gguf::File> parse(const test::Bytes& bytes);

/// Returns the file, or fails the test with the complete error.
gguf::File parse_sound(const test::Bytes& bytes);

} // namespace etna::gguf_test
