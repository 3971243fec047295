#include "core/generate/embedding_head.hpp"
#include "tests/reference/decode.hpp"
#include "tests/reference/operations.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/tensor_maker.hpp"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

using namespace etna;
using namespace etna::test;
using generate::EmbeddingHead;
using generate::Pooling;

namespace {

constexpr uint32_t width = 64;

/// A file with the tensors that `fill` adds.
class HeadFile {
public:
    HeadFile(const std::string& architecture, const std::function<void(TensorMaker&)>& fill) {
        GgufWriter writer;
        writer.add("general.architecture", architecture);
        TensorMaker maker(writer, 7);
        fill(maker);
        bytes_ = writer.bytes();
        file_.emplace(gguf::File::parse(bytes_, "head").value());
    }

    [[nodiscard]] const gguf::File& file() const { return *file_; }
    [[nodiscard]] reference::Matrix matrix(const std::string& name) const {
        const gguf::Tensor& tensor = *file_->find_tensor(name);
        std::vector<std::byte> content(tensor.bytes);
        REQUIRE(file_->read(tensor, 0, content));
        return reference::decode_matrix(tensor, content);
    }

private:
    Bytes bytes_;
    std::optional<gguf::File> file_;
};

std::vector<float> pooled() {
    std::vector<float> values(width);
    for (uint32_t i = 0; i < width; ++i)
        values[i] = std::sin(static_cast<float>(i));
    return values;
}

reference::Vector doubles(const std::vector<float>& values) {
    return {values.begin(), values.end()};
}

} // namespace

TEST_CASE("dense layers follow the pooling, in F32, F16, BF16 and Q8_0") {
    for (const WeightFormat format :
         {WeightFormat::f32, WeightFormat::f16, WeightFormat::bf16, WeightFormat::q8_0}) {
        const HeadFile made("gemma-embedding", [&](TensorMaker& maker) {
            maker.matrix("dense_2.weight", 96, width, format, 0.1);
            maker.matrix("dense_3.weight", 32, 96, format, 0.1);
        });
        const auto head = EmbeddingHead::read(made.file(), Pooling::mean, width);
        REQUIRE(head);
        CHECK(head->outputs(width) == 32);
        const std::vector<float> values = head->apply(pooled());
        const reference::Vector expected =
            reference::linear(made.matrix("dense_3.weight"),
                              reference::linear(made.matrix("dense_2.weight"), doubles(pooled())));
        REQUIRE(values.size() == expected.size());
        for (std::size_t i = 0; i < values.size(); ++i)
            CHECK(values[i] == Approx(expected[i]).margin(1e-5));
    }
}

TEST_CASE("a file without dense layers does not change the pooled vector") {
    const HeadFile made("llama", [](TensorMaker&) {});
    const auto head = EmbeddingHead::read(made.file(), Pooling::last, width);
    REQUIRE(head);
    CHECK(head->outputs(width) == width);
    CHECK(head->apply(pooled()) == pooled());
}

TEST_CASE("the score of a reranker is the first output of its head") {
    const HeadFile made("bert", [](TensorMaker& maker) {
        maker.matrix("cls.weight", width, width, WeightFormat::f32, 0.2);
        maker.bias("cls.bias", width);
        maker.matrix("cls.output.weight", 1, width, WeightFormat::f32, 0.2);
        maker.bias("cls.output.bias", 1);
    });
    const auto head = EmbeddingHead::read(made.file(), Pooling::rank, width);
    REQUIRE(head);
    CHECK(head->outputs(width) == 1);
    reference::Vector inner = reference::add(reference::linear(made.matrix("cls.weight"), doubles(pooled())),
                                             made.matrix("cls.bias").values);
    for (double& one : inner)
        one = std::tanh(one);
    const double expected = reference::linear(made.matrix("cls.output.weight"), inner)[0] +
                            made.matrix("cls.output.bias").values[0];
    CHECK(head->apply(pooled()).at(0) == Approx(expected).margin(1e-5));

    const HeadFile choice("qwen3", [](TensorMaker& maker) {
        maker.matrix("cls.output.weight", 2, width, WeightFormat::f16, 0.2);
    });
    const auto scores =
        reference::softmax(reference::linear(choice.matrix("cls.output.weight"), doubles(pooled())));
    const auto yes = EmbeddingHead::read(choice.file(), Pooling::rank, width)->apply(pooled());
    REQUIRE(yes.size() == 1);
    CHECK(yes[0] == Approx(scores[0]).margin(1e-5));
}

TEST_CASE("a head of mismatched shapes is refused") {
    const HeadFile none("bert", [](TensorMaker&) {});
    CHECK(EmbeddingHead::read(none.file(), Pooling::rank, width).error().kind == ErrorKind::corrupt);
    const HeadFile narrow(
        "bert", [](TensorMaker& maker) { maker.matrix("cls.output.weight", 1, 32, WeightFormat::f32, 1); });
    CHECK(EmbeddingHead::read(narrow.file(), Pooling::rank, width).error().message ==
          "head: cls.output has 32 inputs instead of 64");
    const HeadFile bias("bert", [](TensorMaker& maker) {
        maker.matrix("cls.output.weight", 1, width, WeightFormat::f32, 1);
        maker.bias("cls.output.bias", 3);
    });
    CHECK(EmbeddingHead::read(bias.file(), Pooling::rank, width).error().kind == ErrorKind::corrupt);
    const HeadFile small("gemma-embedding", [](TensorMaker& maker) {
        maker.matrix("dense_2.weight", 32, width, WeightFormat::q4_0, 1);
    });
    CHECK(EmbeddingHead::read(small.file(), Pooling::mean, width).error().kind == ErrorKind::unsupported);
}
