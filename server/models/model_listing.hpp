#pragma once

#include "core/engine/engine.hpp"
#include "core/generate/description.hpp"
#include "core/generate/model.hpp"
#include "core/runtime/executor_factory.hpp"
#include "core/store/resolve.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace etna::server {

/// Model metadata read from the file without loading it.
struct ModelFacts {
    uint32_t context_tokens = 0;
    bool has_chat_template = true;
    std::string stand_in_template = {}; ///< built-in template that replaces a missing one; empty: none
    generate::ModelDescription description = {};
    generate::ModelAbilities abilities = {};
    /// Memory that the model would take on the device and in host memory; empty: unknown.
    std::optional<uint64_t> planned_bytes = {};
};

/// A model's entry in the list.
struct ModelListing {
    std::string name;
    std::vector<std::string> aliases = {}; ///< additional names
    store::ModelSource source = {};
    int64_t created_unix_s = 0; ///< the file's time, or the server's start
    uint64_t file_bytes = 0;    ///< of the first file, or of the embedded model; 0: the file is missing
    bool is_loaded = false;
    bool is_loading = false;
    ModelFacts facts = {};                        ///< as far as known: 0 and true before the first inspection
    uint32_t waiting_for_load = 0;                ///< requests
    std::optional<engine::EngineStats> load = {}; ///< set while the model is loaded
    std::string device = {};                      ///< name; empty unless the model is loaded
    bool is_on_cpu = false;                       ///< the loaded model's device is a CPU
    uint64_t memory_bytes = 0;                    ///< that the loaded model takes
    runtime::DeviceMemoryUse device_use = {};     ///< of them, on the device
    std::chrono::seconds idle_time{0};            ///< since a request for the loaded model began
    bool is_pinned = false;                       ///< Models::Options::pinned
    /// Time until the loaded model is unloaded if it stays idle; empty: it stays.
    std::optional<std::chrono::milliseconds> unloads_in = {};
    std::optional<runtime::DeviceMemory> device_memory = {};
    std::optional<std::string> problem = {}; ///< why the file cannot be used, if known
};

/// The counters of one engine.
struct EngineReading {
    std::string model; ///< its name in the list
    engine::EngineStats stats;
};

/// Replaces the facts that a load knows better than the file's inspection.
void add_loaded(ModelFacts& facts, const generate::Model& model);

/// Fills the members that only a loaded model has, except times.
void add_loaded(ModelListing& listing, const generate::Model& model);

} // namespace etna::server
