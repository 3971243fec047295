#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace etna::server {

/// The requests of each client that wait or run: those that generate, embed or rank. Thread-safe.
class ClientActivity {
public:
    /// The requests of one client.
    struct Client {
        uint64_t id = 0;   ///< client_of() them
        std::string label; ///< client_label() of the latest
        uint32_t running = 0;
        uint32_t waiting = 0; ///< for the model or for the engine
    };

    /// One request, from its arrival to the destruction of this object. For one thread.
    class Request {
    public:
        Request(ClientActivity& activity, uint64_t client, std::string label);
        Request(const Request&) = delete;
        Request& operator=(const Request&) = delete;
        ~Request();

        /// The engine has started on the request. May be called again.
        void begin_running();

    private:
        ClientActivity* activity_; ///< borrowed
        uint64_t client_;
        bool is_running_ = false;
    };

    /// The clients with a request, by label.
    [[nodiscard]] std::vector<Client> clients() const;

private:
    mutable std::mutex mutex_;
    std::map<uint64_t, Client> clients_; ///< by id
};

} // namespace etna::server
