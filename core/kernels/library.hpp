#pragma once

#include "core/base/result.hpp"
#include "core/kernels/layout.hpp"
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

/// Differs between builds whose shaders differ: part of the key of everything kept about them.
constexpr uint64_t build_hash = shaders::build_hash;

/// For whom kernels are chosen. Any device can be told to plan as another (as far as its features allow), so
/// that GPU-shaped kernels run on a CPU in tests.
enum class PlanFamily : uint8_t { nvidia, amd, intel, lavapipe };

std::string_view to_string(PlanFamily family);
std::optional<PlanFamily> plan_family_named(std::string_view name);

/// What kernel choice may depend on, besides shape and layout.
struct PlanTarget {
    PlanFamily family = PlanFamily::nvidia;
    vk::DeviceProfile profile;
    VariantSet untrusted =
        {}; ///< that compute wrongly here: they step aside wherever another can do the work
};

/// The family that suits a device.
PlanFamily natural_family(const vk::DeviceProfile& profile);

/// The arrangement in which weights of a format are loaded for a target.
Arrangement preferred_arrangement(const PlanTarget& target, Format format);

/// Where a library gets its shaders from; called from any thread. What it returns must outlive the library.
using CodeSource = std::function<const shaders::Code&(shaders::Variant)>;

struct LibraryOptions {
    std::optional<PlanFamily> family = {}; ///< empty: natural_family
    VariantSet untrusted = {};             ///< PlanTarget's
    CodeSource code = shaders::code;       ///< tests put a driver's mistakes in its place
};

/// Success when a variant can run on a device; else unsupported, with the feature that it needs. Pure.
Status usable(shaders::Variant variant, const vk::DeviceProfile& profile);

/// A pipeline of a library; `pipeline` lives as long as the library.
struct CreatedPipeline {
    shaders::Variant variant{};
    std::vector<uint32_t> specialization;
    const vk::Pipeline* pipeline = nullptr;
};

/// The compiled kernels of one device. A pipeline is created when it is first asked for: a model asks for all
/// it needs while it loads. Thread-safe.
class Library {
public:
    /// `device` is borrowed and must outlive the library.
    Library(vk::Device& device, LibraryOptions options);
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    ~Library();

    [[nodiscard]] const PlanTarget& target() const;
    [[nodiscard]] vk::Device& device() const;

    /// The pipeline of a shader variant with these specialisation constants. Blocks while it compiles the
    /// first time; others compile meanwhile. Errors: unsupported (variant left out of this build or refused
    /// by the driver), out_of_memory, device_lost.
    Result<const vk::Pipeline*> pipeline(shaders::Variant variant, std::span<const uint32_t> specialization,
                                         uint32_t push_constant_bytes);

    /// All that have been asked for so far, by variant.
    [[nodiscard]] std::vector<CreatedPipeline> created() const;

private:
    struct Content;
    std::unique_ptr<Content> content_;
};

} // namespace etna::kernels
