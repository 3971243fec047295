#pragma once

#include "tests/support/gguf_writer.hpp"
#include "tests/support/weight_format.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace etna::test {

/// Adds the tensors of one model, drawing weights in the order of the calls.
class TensorMaker {
public:
    TensorMaker(GgufWriter& writer, uint64_t seed) : writer_(writer), numbers_(seed) {}

    void matrix(const std::string& name, uint32_t rows, uint32_t columns, WeightFormat format,
                double deviation) {
        add(name, {columns, rows}, format, deviation);
    }

    /// `count` matrices in one tensor.
    void stack(const std::string& name, uint32_t count, uint32_t rows, uint32_t columns, WeightFormat format,
               double deviation) {
        add(name, {columns, rows, count}, format, deviation);
    }

    /// Weights of an RMS norm: around 1.
    void norm(const std::string& name, uint32_t size) {
        std::vector<float> values(size);
        for (float& value : values)
            value = static_cast<float>(1.0 + 0.1 * numbers_.normal());
        vector(name, values);
    }

    void vector(const std::string& name, const std::vector<float>& values) {
        writer_.add_tensor(
            {name, type_number(WeightFormat::f32), {values.size()}, encode(values, WeightFormat::f32)});
    }

    /// Around 0.
    void bias(const std::string& name, uint32_t size) { vector(name, around_zero(size)); }

    /// From -1.6 to -0.2.
    void decays(const std::string& name, uint32_t size) {
        std::vector<float> values = around_zero(size);
        for (float& value : values)
            value = -0.2F - std::min(std::fabs(value), 1.4F);
        vector(name, values);
    }

    /// Decays, with each in a row.
    void decay_rows(const std::string& name, uint32_t count) {
        std::vector<float> values = around_zero(count);
        for (float& value : values)
            value = -0.2F - std::min(std::fabs(value), 1.4F);
        rows(name, count, 1, values);
    }

    /// `count` vectors in one tensor, around 1.
    void norms(const std::string& name, uint32_t count, uint32_t size) {
        std::vector<float> values = around_zero(std::size_t{count} * size);
        for (float& value : values)
            value = 1 + value / 3;
        rows(name, count, size, values);
    }

    /// `count` vectors in one tensor, around 0.
    void biases(const std::string& name, uint32_t count, uint32_t size) {
        rows(name, count, size, around_zero(std::size_t{count} * size));
    }

private:
    void rows(const std::string& name, uint32_t count, uint32_t size, const std::vector<float>& values) {
        writer_.add_tensor(
            {name, type_number(WeightFormat::f32), {size, count}, encode(values, WeightFormat::f32)});
    }

    std::vector<float> around_zero(std::size_t size) {
        std::vector<float> values(size);
        for (float& value : values)
            value = static_cast<float>(0.3 * numbers_.normal());
        return values;
    }

    void add(const std::string& name, const std::vector<uint64_t>& shape, WeightFormat format,
             double deviation) {
        if (shape[0] % block_elements(format) != 0) {
            throw std::invalid_argument(
                fmt::format("{}: rows of {} elements are not a multiple of the block length {}", name,
                            shape[0], block_elements(format)));
        }
        std::size_t elements = 1;
        for (const uint64_t size : shape)
            elements *= size;
        writer_.add_tensor(
            {name, type_number(format), shape, random_weights(format, elements, deviation, numbers_)});
    }

    GgufWriter& writer_;
    RandomNumbers numbers_;
};

} // namespace etna::test
