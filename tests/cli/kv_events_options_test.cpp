// The options of the events of the prompt caches.
#include "cli/options/serve_options.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

using namespace etna;
using server::kv_events::EventFormat;
using server::kv_events::PartialPages;

namespace {

Result<cli::ServeOptions> serve_options(const std::vector<std::string>& arguments) {
    const cli::Command serve = cli::serve_command_line();
    return cli::validate_serve(serve, cli::parse(serve, arguments).value());
}

} // namespace

TEST_CASE("without --kv-events nothing is published, and a replay is an error") {
    CHECK(!serve_options({})->kv_events);
    const auto replay = serve_options({"--kv-events-replay", "tcp://*:5558"});
    REQUIRE(!replay);
    CHECK(replay.error().message.find("--kv-events") != std::string::npos);
}

TEST_CASE("the options of --kv-events are read") {
    const auto plain = serve_options({"--kv-events", "tcp://*:5557"});
    REQUIRE(plain);
    REQUIRE(plain->kv_events);
    CHECK(plain->kv_events->publisher.endpoint == "tcp://*:5557");
    CHECK(plain->kv_events->publisher.replay_endpoint.empty());
    CHECK(plain->kv_events->publisher.format == EventFormat::arrays);
    CHECK(plain->kv_events->publisher.partial == PartialPages::hidden);
    CHECK(plain->kv_events->pod.empty());
    const auto all =
        serve_options({"--kv-events", "ipc:///run/kv", "--kv-events-replay", "tcp://*:5558",
                       "--kv-events-pod", "pod-7:8000", "--kv-events-buffer", "12", "--kv-events-high-water",
                       "34", "--kv-events-format", "maps", "--kv-events-partial"});
    REQUIRE(all);
    REQUIRE(all->kv_events);
    CHECK(all->kv_events->publisher.replay_endpoint == "tcp://*:5558");
    CHECK(all->kv_events->publisher.replay_batches_max == 12);
    CHECK(all->kv_events->publisher.high_water == 34);
    CHECK(all->kv_events->publisher.format == EventFormat::maps);
    CHECK(all->kv_events->publisher.partial == PartialPages::published);
    CHECK(all->kv_events->pod == "pod-7:8000");
    CHECK(!serve_options({"--kv-events", "tcp://*:5557", "--kv-events-pod", "a@b"}));
}
