#include "core/model/tensor_table.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace etna::model {
namespace {

using SpecByName = std::unordered_map<std::string_view, const TensorSpec*>;

std::vector<uint64_t> expected_shape(const TensorSpec& spec) {
    if (spec.role == TensorRole::stack || spec.count > 1)
        return {spec.columns, spec.rows, spec.count};
    if (spec.role == TensorRole::matrix || spec.rows > 1)
        return {spec.columns, spec.rows};
    return {spec.columns};
}

Status check_shape(const gguf::File& file, const TensorSpec& spec, const gguf::Tensor& tensor) {
    const std::vector<uint64_t> expected = expected_shape(spec);
    const auto found = std::vector<uint64_t>(tensor.shape.begin(), tensor.shape.begin() + tensor.dimensions);
    // A matrix of one row may have been written with one dimension, a vector with trailing ones.
    const bool equal = tensor.shape[0] == spec.columns && tensor.shape[1] == spec.rows &&
                       tensor.shape[2] == spec.count && tensor.shape[3] == 1;
    if (equal)
        return {};
    return Error{.kind = ErrorKind::corrupt,
                 .message =
                     fmt::format("{}: tensor {} has shape [{}], the metadata asks for [{}]", file.name(),
                                 tensor.name, fmt::join(found, ", "), fmt::join(expected, ", ")),
                 .hint = "the file was not converted right; convert the model again with a current tool"};
}

bool is_ignored(std::string_view name, const std::vector<std::string>& prefixes) {
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](const std::string& prefix) { return name.starts_with(prefix); });
}

Status check_unclaimed(const gguf::File& file, const SpecByName& specs,
                       const std::vector<std::string>& ignored) {
    constexpr std::size_t named_max = 5;
    std::vector<std::string_view> names;
    std::size_t count = 0;
    for (const gguf::Tensor& tensor : file.tensors()) {
        if (specs.contains(tensor.name) || is_ignored(tensor.name, ignored))
            continue;
        if (++count <= named_max)
            names.push_back(tensor.name);
    }
    if (count == 0)
        return {};
    return Error{.kind = ErrorKind::unsupported,
                 .message = fmt::format("{}: {} tensor{} that this architecture does not use: {}{}",
                                        file.name(), count, count == 1 ? "" : "s", fmt::join(names, ", "),
                                        count > named_max ? ", ..." : ""),
                 .hint = "the file may be of a newer variant of the architecture than etna knows"};
}

} // namespace

std::string tensor_name(uint32_t layer, std::string_view name) {
    return fmt::format("blk.{}.{}", layer, name);
}

void TensorTable::matrix(std::string name, uint32_t rows, uint32_t columns, Presence presence) {
    specs_.push_back({.name = std::move(name),
                      .rows = rows,
                      .columns = columns,
                      .role = TensorRole::matrix,
                      .presence = presence});
}

void TensorTable::exact_matrix(std::string name, uint32_t rows, uint32_t columns) {
    matrix(std::move(name), rows, columns);
    specs_.back().is_exact = true;
}

void TensorTable::projections(Storage storage, std::string fused_name, std::vector<TensorPart> parts,
                              uint32_t columns) {
    if (storage == Storage::separate) {
        for (TensorPart& part : parts)
            matrix(std::move(part.name), part.rows, columns);
        return;
    }
    TensorSpec spec{.name = std::move(fused_name), .rows = 0, .columns = columns, .parts = std::move(parts)};
    for (const TensorPart& part : spec.parts)
        spec.rows += part.rows;
    specs_.push_back(std::move(spec));
}

void TensorTable::interleaved(std::string name, std::vector<TensorPart> parts, uint32_t runs,
                              uint32_t columns) {
    projections(Storage::fused, std::move(name), std::move(parts), columns);
    specs_.back().rows *= runs;
    specs_.back().part_runs = runs;
}

void TensorTable::slices(std::string name, std::vector<TensorPart> parts, uint32_t columns) {
    const auto count = static_cast<uint32_t>(parts.size());
    const uint32_t rows = parts.front().rows;
    projections(Storage::fused, std::move(name), std::move(parts), columns);
    specs_.back().rows = rows;
    specs_.back().count = count;
}

void TensorTable::stack(std::string name, uint32_t count, uint32_t rows, uint32_t columns) {
    specs_.push_back({.name = std::move(name),
                      .rows = rows,
                      .columns = columns,
                      .count = count,
                      .role = TensorRole::stack});
}

void TensorTable::fused_stack(std::string name, uint32_t count, std::vector<TensorPart> parts,
                              uint32_t columns) {
    projections(Storage::fused, std::move(name), std::move(parts), columns);
    specs_.back().count = count;
    specs_.back().role = TensorRole::stack;
}

void TensorTable::exact_stack(std::string name, uint32_t count, uint32_t rows, uint32_t columns) {
    stack(std::move(name), count, rows, columns);
    specs_.back().is_exact = true;
}

void TensorTable::vector(std::string name, uint32_t columns, Presence presence) {
    specs_.push_back(
        {.name = std::move(name), .columns = columns, .role = TensorRole::vector, .presence = presence});
}

void TensorTable::scaled_vector(std::string name, uint32_t columns, float factor) {
    vector(std::move(name), columns);
    specs_.back().factor = factor;
}

void TensorTable::renamed_vector(std::string name, std::string device_name, uint32_t columns) {
    vector(std::move(name), columns);
    specs_.back().parts = {{std::move(device_name), 1}};
}

void TensorTable::vectors(std::string name, uint32_t count, uint32_t columns) {
    specs_.push_back(
        {.name = std::move(name), .rows = count, .columns = columns, .role = TensorRole::vector});
}

void TensorTable::host(std::string name, uint32_t columns, Presence presence) {
    specs_.push_back(
        {.name = std::move(name), .columns = columns, .role = TensorRole::host, .presence = presence});
}

void TensorTable::ignore(std::string prefix) {
    ignored_.push_back(std::move(prefix));
}

namespace {

/// The error of a required tensor that a file lacks. Experts may be stored in a layout that is not read.
Error missing(const gguf::File& file, const TensorSpec& spec) {
    const std::string expert =
        fmt::format("{}.ffn_gate.0.weight", spec.name.substr(0, spec.name.find(".ffn_")));
    if (spec.role == TensorRole::stack && file.find_tensor(expert) != nullptr) {
        return {.kind = ErrorKind::unsupported,
                .message = fmt::format("{}: experts as in tensor {} are not supported", file.name(), expert),
                .hint = "fetch a conversion of the model with stacked experts (ffn_gate_exps, ffn_up_exps)"};
    }
    return {.kind = ErrorKind::corrupt,
            .message = fmt::format("{}: tensor {} is missing", file.name(), spec.name),
            .hint = "the download may be incomplete, or the file holds only part of a model"};
}

} // namespace

Result<std::vector<ClaimedTensor>> TensorTable::claim(const gguf::File& file) const {
    SpecByName by_name;
    for (const TensorSpec& spec : specs_) {
        by_name.emplace(spec.name, &spec);
        if (spec.presence == Presence::required && file.find_tensor(spec.name) == nullptr)
            return missing(file, spec);
    }
    ETNA_CHECK(check_unclaimed(file, by_name, ignored_));
    std::vector<ClaimedTensor> claimed;
    for (const gguf::Tensor& tensor : file.tensors()) {
        const auto found = by_name.find(tensor.name);
        if (found == by_name.end())
            continue;
        const TensorSpec& spec = *found->second;
        ETNA_CHECK(check_shape(file, spec, tensor));
        claimed.push_back({spec, &tensor});
    }
    return claimed;
}

} // namespace etna::model
