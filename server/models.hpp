#pragma once

#include "core/base/result.hpp"
#include "core/generate/model.hpp"
#include "core/store/resolve.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace etna::server {

/// A model under the name that clients call it by.
struct NamedSource {
    std::string name;
    store::ModelSource source;
};

/// What is listed of a model.
struct ModelListing {
    std::string name;
    int64_t created_unix_s = 0; ///< the file's time, or the server's start
    bool is_loaded = false;
    uint32_t context_tokens = 0;                 ///< 0 before it has been loaded
    std::optional<engine::EngineLoad> load = {}; ///< while it is loaded
    std::optional<generate::DeviceMemory> device_memory = {};
    bool has_chat_template = true; ///< what is not known before it has been loaded is taken as true
};

/// The models that are served: those that were named, and those in a folder, which is looked into again when
/// somebody asks. A model is loaded when it is first wanted. Who holds one keeps it: the list only lets go.
/// Thread-safe.
class Models {
public:
    using Handle = std::shared_ptr<const generate::Model>;
    using Loader = std::function<Result<Handle>(const store::ModelSource&)>;

    struct Options {
        std::vector<NamedSource> named;
        std::filesystem::path folder; ///< empty: none
        std::size_t loaded_max = 0;   ///< 0: as many as memory holds
    };

    Models(Options options, Loader loader);
    Models(const Models&) = delete;
    Models& operator=(const Models&) = delete;

    /// Waits for what is being loaded.
    ~Models();

    /// By name.
    [[nodiscard]] std::vector<ModelListing> list();

    /// The first that was named, or by name; empty where there is none.
    [[nodiscard]] std::string default_name();

    /// Errors: nothing of that name.
    [[nodiscard]] std::optional<ModelListing> find(std::string_view name);

    /// The model. One that is not loaded is, on a thread of its own, once for all who want it; blocks until
    /// then, and asks `is_unwanted` twenty times a second. When memory is short, or too many are loaded, the
    /// one that was used least recently leaves, if nobody holds it. Errors: not_found, cancelled, those of
    /// the loader, without the folder that the model lies in: they go to clients, and whole to the log.
    Result<Handle> acquire(std::string_view name, const std::function<bool()>& is_unwanted = {});

    /// Whether one is being loaded: the end of the object would wait for it.
    [[nodiscard]] bool is_loading();

    /// Lets go of a model that is broken, so that the next who wants it gets a new one.
    void discard(const Handle& broken);

private:
    using Clock = std::chrono::steady_clock;

    enum class State : uint8_t { unloaded, loading, loaded };

    struct Entry {
        store::ModelSource source;
        int64_t created_unix_s = 0;
        bool is_named = false;
        State state = State::unloaded;
        Handle model;
        std::optional<Error> failure; ///< of the last loading
        Clock::time_point used;
        std::thread loading; ///< joined before the next, and at the end
    };

    void look_into_folder();
    bool unload_one(const Entry& except);
    void load(const std::shared_ptr<Entry>& entry);
    Result<Handle> load_with_room(const Entry& entry, std::unique_lock<std::mutex>& lock);
    [[nodiscard]] std::size_t loaded_count() const;
    [[nodiscard]] static ModelListing listing(const std::string& name, const Entry& entry);

    const Options options_;
    const Loader loader_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::string, std::shared_ptr<Entry>, std::less<>> entries_;
    std::vector<std::shared_ptr<Entry>> vanished_; ///< while they were being loaded
    std::optional<Clock::time_point> looked_;
};

} // namespace etna::server
