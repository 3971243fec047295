#pragma once

#include "core/base/result.hpp"
#include "core/generate/model.hpp"
#include "server/model_sources.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
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

/// What a model's file tells without being loaded.
struct ModelFacts {
    uint32_t context_tokens = 0;
    bool has_chat_template = true;
    std::string stand_in_template = {}; ///< a built-in one in the place of one of its own; empty: none
};

/// What is listed of a model.
struct ModelListing {
    std::string name;
    std::vector<std::string> aliases = {}; ///< further names of it
    int64_t created_unix_s = 0;            ///< the file's time, or the server's start
    bool is_loaded = false;
    bool is_loading = false;
    ModelFacts facts = {}; ///< as far as they are known: 0, and true, before somebody has looked
    std::optional<engine::EngineLoad> load = {}; ///< while it is loaded
    std::optional<generate::DeviceMemory> device_memory = {};
    std::optional<std::string> problem = {}; ///< why its file cannot be used, once that is known
};

/// The models that are served: those that were named, and those in a folder. Files are looked at again when
/// somebody asks: they may come, go and be replaced. A model is loaded when it is first wanted, and anew when
/// its file is another. Who holds one keeps it: the list only lets go. Thread-safe.
class Models {
public:
    using Handle = std::shared_ptr<const generate::Model>;
    using Loader = std::function<Result<Handle>(const store::ModelSource&)>;
    using Inspector = std::function<Result<ModelFacts>(const store::ModelSource&)>;

    struct Options {
        std::vector<NamedSource> named;
        std::filesystem::path folder; ///< empty: none
        std::size_t loaded_max = 0;   ///< in memory or on their way there; 0: as many as memory holds
    };

    /// Without an inspector, nothing is known of a model before it has been loaded.
    Models(Options options, Loader loader, Inspector inspector = {});
    Models(const Models&) = delete;
    Models& operator=(const Models&) = delete;

    /// Waits for what is being loaded.
    ~Models();

    /// By name, with what is known; without those that are known to be broken.
    [[nodiscard]] std::vector<ModelListing> list();

    /// The same, after inspect(). Blocking.
    [[nodiscard]] std::vector<ModelListing> list_inspected();

    /// Looks into those files that it never has: what is listed of them is known then. Blocking.
    void inspect();

    /// The first that was named, or by name; empty where there is none. Files that are known to be broken
    /// come last.
    [[nodiscard]] std::string default_name();

    /// The one that a client calls so: by its name or an alias, else by one that is the same by plain_name().
    /// Empty: none is.
    [[nodiscard]] std::optional<ModelListing> find(std::string_view name);

    /// The model of that very name. One that is not loaded is, on a thread of its own, once for all who want
    /// it; blocks until then, and asks `is_unwanted` twenty times a second. Where there is no place for it,
    /// it waits its turn until the one that was used least recently is held by nobody, and leaves; who asks
    /// for that one later than a while waits behind it. When memory is short, one that nobody holds leaves,
    /// too. Errors: not_found (no such name), cancelled, out_of_memory, no_device, device_lost, unsupported
    /// (no model for etna), and corrupt for everything else that is wrong with a file; without the names that
    /// files have on this machine: they go to clients, and whole to the log, once for each file.
    Result<Handle> acquire(std::string_view name, const std::function<bool()>& is_unwanted = {});

    /// Whether one is being loaded: the end of the object would wait for it.
    [[nodiscard]] bool is_loading();

    /// Lets go of a model that is broken, so that the next who wants it gets a new one.
    void discard(const Handle& broken);

private:
    using Clock = std::chrono::steady_clock;

    enum class State : uint8_t { unloaded, loading, loaded };

    /// Somebody in acquire(), who is handed what came of it: nothing can be unloaded in between.
    struct Waiter {
        Handle model = nullptr;
        std::optional<Error> failure = {};
    };

    struct Entry {
        std::string name; ///< as clients know it
        ListedSource listed;
        State state = State::unloaded;
        Handle model = nullptr;
        std::optional<ModelFacts> facts = {};
        std::optional<std::string> problem = {};
        Clock::time_point used = {};
        std::vector<Waiter*> waiters = {};  ///< borrowed
        bool is_queued = false;             ///< waits for its turn to be loaded
        Clock::time_point queued = {};      ///< since when
        bool is_retired = false;            ///< its file has gone or is another: it is not kept
        std::vector<Handle> displaced = {}; ///< end before this one is loaded in their place
        std::thread loading = {};           ///< joined before the next, and at the end
    };
    using Entries = std::map<std::string, std::shared_ptr<Entry>, std::less<>>;

    void look();
    void retire(const std::shared_ptr<Entry>& entry);
    void queue(const std::shared_ptr<Entry>& entry);
    void advance();
    void begin_to_load(const std::shared_ptr<Entry>& entry);
    void end_loading(const std::shared_ptr<Entry>& entry, const Result<Handle>& loaded);
    Result<Handle> load_with_room(Entry& entry, std::unique_lock<std::mutex>& lock);
    bool let_go_of_one();
    [[nodiscard]] Entry* least_recent(bool only_idle) const;
    static void learn(Entry& entry, const ModelFacts& facts);
    static Error fail(Entry& entry, const Error& error);
    [[nodiscard]] bool must_wait(const Entry& entry) const;
    [[nodiscard]] bool has_place();
    [[nodiscard]] const Entries::value_type* entry_called(std::string_view name) const;
    [[nodiscard]] static ModelListing listing(const std::string& name, const Entry& entry);

    const Options options_;
    const Loader loader_;
    const Inspector inspector_;
    std::mutex mutex_;
    std::condition_variable changed_;
    ModelSources sources_;
    Entries entries_;
    std::deque<std::shared_ptr<Entry>> queue_;    ///< to be loaded, first come first served
    std::vector<std::shared_ptr<Entry>> retired_; ///< until their threads have ended
    std::vector<Handle> leaving_;                 ///< let go of; they end before the next is loaded
    std::vector<std::weak_ptr<const generate::Model>> held_; ///< of retired entries, while requests hold them
    std::size_t loading_ = 0;
    std::optional<Clock::time_point> looked_;
};

} // namespace etna::server
