#pragma once

#include "core/base/result.hpp"
#include "core/kernels/layout.hpp"
#include "core/kernels/tuning.hpp"
#include "core/kernels/variant_set.hpp"
#include "core/vk/device.hpp"
#include "core/vk/pipeline.hpp"
#include "shaders/variants.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace etna::kernels {

/// Differs between builds whose shaders differ: part of the key of all data cached about them.
constexpr uint64_t build_hash = shaders::build_hash;

/// The device family that kernels are selected for. A device can plan as another family, as far as its
/// features allow; tests use this to run GPU kernels on a CPU.
enum class PlanFamily : uint8_t { nvidia, amd, intel, lavapipe };

std::string_view to_string(PlanFamily family);
std::optional<PlanFamily> plan_family_named(std::string_view name);

/// The precision of decode rows' products over quantised weights in tiles: inputs in f16, or
/// where the device has integer dot products in 16 bits or 8 bits with one scale for 256 elements.
enum class Precision : uint8_t { exact, fast };

std::string_view to_string(Precision precision);
std::optional<Precision> precision_named(std::string_view name);

/// The inputs of kernel selection in addition to shape and layout.
struct PlanTarget {
    PlanFamily family = PlanFamily::nvidia;
    vk::DeviceProfile profile;
    VariantSet untrusted = {}; ///< variants that compute wrong results here; used only if no other can run
    Precision precision = Precision::exact;
    Tuning tuning = {}; ///< measured sizes, each among tuning_candidates() of this target
};

/// The default family of a device.
PlanFamily natural_family(const vk::DeviceProfile& profile);

/// The arrangement in which a matrix or table of a format and width is loaded for a target.
Arrangement matrix_arrangement(const PlanTarget& target, Format format, uint32_t columns);

/// The same for matrices of experts.
Arrangement stack_arrangement(const PlanTarget& target, Format format, uint32_t columns);

/// The same for matrices whose products must not be rounded to f16.
Arrangement exact_arrangement(const PlanTarget& target, Format format);

/// Whether matrices of this width may be loaded in tiles, whose kernels read their input's packed form.
bool reads_packed(const PlanTarget& target, uint32_t columns);

/// The packed forms that kernels read of inputs of this width.
struct ReadForms {
    bool blocks = false;
    bool f16 = false;
};
ReadForms read_forms(const PlanTarget& target, uint32_t columns);

/// Provides a library's shaders; called from any thread. The returned code must outlive the library.
using CodeSource = std::function<const shaders::Code&(shaders::Variant)>;

struct LibraryOptions {
    std::optional<PlanFamily> family = {};  ///< empty: natural_family
    VariantSet untrusted = {};              ///< PlanTarget's
    Precision precision = Precision::exact; ///< PlanTarget's
    Tuning tuning = {};                     ///< PlanTarget's
    CodeSource code = shaders::code;        ///< tests substitute it to simulate driver bugs
};

/// Success when a variant can run on a device; else unsupported, with the feature that it needs. Pure.
Status usable(shaders::Variant variant, const vk::DeviceProfile& profile);

/// A pipeline of a library; `pipeline` lives as long as the library.
struct CreatedPipeline {
    shaders::Variant variant{};
    std::vector<uint32_t> specialization;
    uint32_t subgroup = 0; ///< required; 0: the driver's choice
    const vk::Pipeline* pipeline = nullptr;
};

/// The compiled kernels of one device, shared by its models. A pipeline is created on first request: a model
/// requests all of its pipelines while it loads. Thread-safe; requests for existing pipelines take no lock.
class Library {
public:
    /// `device` is borrowed and must outlive the library.
    Library(vk::Device& device, LibraryOptions options);
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    ~Library();

    [[nodiscard]] const PlanTarget& target() const;
    [[nodiscard]] vk::Device& device() const;

    /// The pipeline of a shader variant with these specialisation constants, and subgroups of the required
    /// size unless that is 0 (DeviceProfile::subgroup_size_control). Blocks while it compiles the
    /// first time; other pipelines can compile concurrently. Lives as long as the library. Errors:
    /// unsupported (variant not in this build or rejected by the driver), out_of_memory, device_lost.
    Result<const vk::Pipeline*> pipeline(shaders::Variant variant, std::span<const uint32_t> specialization,
                                         uint32_t push_constant_bytes, uint32_t subgroup = 0);

    /// All pipelines created until now, by variant.
    [[nodiscard]] std::vector<CreatedPipeline> created() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

} // namespace etna::kernels
