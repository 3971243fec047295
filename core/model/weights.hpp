#pragma once

#include "core/base/result.hpp"
#include "core/gguf/file.hpp"
#include "core/kernels/operations/experts.hpp"
#include "core/model/weight_plan.hpp"
#include "core/vk/buffer.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace etna::model {

/// Called with source bytes done and in total, on the thread that called load(), after each slice that this
/// thread loads.
using Progress = std::function<void(uint64_t done, uint64_t total)>;

/// A model's tensors on the device, by name. Owns the buffers; must not outlive the device.
class Weights {
public:
    /// Reads each tensor once and repacks it slice by slice, directly into device memory if that is mapped,
    /// else through bounded staging buffers, on up to eight threads. Blocks until the upload is complete.
    /// Errors: out_of_memory, device_lost, corrupt, io (the file cannot be read, or was modified during the
    /// load).
    static Result<Weights> load(vk::Device& device, const gguf::File& file,
                                const std::vector<PlannedTensor>& planned, const Progress& progress);

    /// Weights at made-up addresses, for dry recordings: consecutive from `address`, each rounded up
    /// to planned_alignment. Pure.
    static Weights planned(const std::vector<PlannedTensor>& planned, uint64_t address);
    static constexpr uint64_t planned_alignment = 256;

    /// Precondition: the tensor was planned, with this role.
    [[nodiscard]] const kernels::Matrix& matrix(std::string_view name) const;
    [[nodiscard]] vk::Range vector(std::string_view name) const;

    [[nodiscard]] const kernels::MatrixStack& stack(std::string_view name) const;

    [[nodiscard]] std::optional<vk::Range> find_vector(std::string_view name) const;
    [[nodiscard]] bool has_matrix(std::string_view name) const;

private:
    /// Adds a tensor by its name and role.
    void add(const PlannedTensor& tensor, vk::Range memory);
    /// Adds a matrix, or appends the next rows of one with the same name.
    void add_part(const std::string& name, const kernels::Matrix& part);

    std::vector<vk::Buffer> buffers_;
    std::unordered_map<std::string, kernels::Matrix> matrices_;
    std::unordered_map<std::string, std::vector<kernels::MatrixPart>>
        further_parts_; ///< borrowed by matrices_
    std::unordered_map<std::string, kernels::MatrixStack> stacks_;
    std::unordered_map<std::string, vk::Range> vectors_;
};

} // namespace etna::model
