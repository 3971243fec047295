// `etna devices` from a list of devices to text, JSON and exit codes.

#include "tests/cli/harness.hpp"
#include "tests/support/catch.hpp"

#include <nlohmann/json.hpp>

using namespace etna;
using namespace etna::test;

namespace {

runtime::DeviceReports two_devices() {
    runtime::DeviceReport gpu;
    gpu.profile.name = "Fast GPU";
    gpu.profile.driver = "fast 1.2";
    gpu.profile.type = vk::DeviceType::discrete;
    gpu.free_bytes = 6ULL << 30;
    gpu.total_bytes = 8ULL << 30;
    gpu.family = "amd";
    gpu.features = {"subgroup arithmetic (64)"};
    gpu.shortfalls = {{"memory budget", "it is not known", "update"}};
    gpu.kernels = {{"rms_norm", "rms_norm_shared"}};
    gpu.self_check = {.state = runtime::SelfCheckReport::State::set_aside,
                      .checked = 30,
                      .wrong = {"linear_prompt_q4_0_rows", "rms_norm_subgroup"}};
    gpu.is_chosen = true;
    gpu.reason = "the only device that can be used";
    runtime::DeviceReport old;
    old.index = 1;
    old.profile.name = "Old \xff GPU"; // a driver's text need not be UTF-8
    old.missing = "bufferDeviceAddress";
    old.reason = "it cannot be used";
    return {gpu, old};
}

} // namespace

TEST_CASE("devices lists each device, its shortfalls and the chosen one") {
    Harness etna;
    etna.devices = two_devices();
    const Outcome outcome = etna.run({"devices"});
    REQUIRE(outcome.code == 0);
    REQUIRE(outcome.error.empty());
    CHECK(contains(outcome.output, "0  Fast GPU  (chosen: the only device that can be used)\n"));
    CHECK(contains(outcome.output, "memory     6.0 GiB free of 8.0 GiB\n"));
    CHECK(contains(outcome.output, "missing    memory budget: it is not known; update\n"));
    CHECK(contains(outcome.output, "unusable   it lacks bufferDeviceAddress; update its driver\n"));
    CHECK(contains(
        outcome.output,
        "self-check wrong results on this driver, not used: linear_prompt_q4_0_rows, rms_norm_subgroup\n"));
    CHECK_FALSE(contains(outcome.output, "rms_norm_shared"));
    CHECK(contains(etna.run({"devices", "-v"}).output, "rms_norm_shared"));
    CHECK(etna.run({"devices", "--device", "old"}).code == 0);
    CHECK(etna.listed_device == "old");
}

TEST_CASE("devices reports the origin of kernel sizes") {
    Harness etna;
    runtime::DeviceReports reports = two_devices();
    etna.devices = reports;
    CHECK(contains(etna.run({"devices"}).output, "sizes      by policy; `etna tune MODEL` measures them\n"));
    reports[0].tuned = {{.shape = {.kernel = kernels::TunedKernel::linear,
                                   .layout = {kernels::Format::q4_k, kernels::Arrangement::tiles},
                                   .rows = 4096,
                                   .columns = 1024},
                         .sizes = {.workgroup = 256, .rows = 2},
                         .time_us = 10,
                         .policy_us = 15,
                         .date = "2026-11-26"}};
    etna.devices = reports;
    CHECK(contains(etna.run({"devices"}).output,
                   "sizes      tuned for 1 shape, the newest on 2026-11-26; the others by policy\n"));
    const std::string verbose = etna.run({"devices", "-v"}).output;
    CHECK(contains(verbose, "linear q4_k 4096 x 1024"));
    CHECK(contains(verbose,
                   "workgroup 256, 2 groups of rows; tuned on 2026-11-26, 1.50 times the policy's speed\n"));
    const auto json = nlohmann::json::parse(etna.run({"devices", "--json"}).output);
    CHECK(json["devices"][0]["tuned"][0]["date"] == "2026-11-26");
    CHECK(json["devices"][1]["tuned"].empty());
}

TEST_CASE("devices reports the self-check from the user's cache folder") {
    Harness etna;
    runtime::DeviceReports reports = two_devices();
    reports[0].self_check = {};
    etna.devices = reports;
    CHECK(contains(etna.run({"devices"}).output, "self-check not run yet; the first model load runs it\n"));
    reports[0].self_check = {.state = runtime::SelfCheckReport::State::passed, .checked = 12, .wrong = {}};
    etna.devices = reports;
    etna.variables["XDG_CACHE_HOME"] = "/somewhere";
    CHECK(contains(etna.run({"devices"}).output, "self-check passed (12 kernels so far)\n"));
    CHECK(etna.devices_cache_folder == "/somewhere/etna");
}

TEST_CASE("devices --json is one object, also without a device") {
    Harness etna;
    etna.devices = two_devices();
    const auto json = nlohmann::json::parse(etna.run({"devices", "--json"}).output);
    REQUIRE(json["devices"].size() == 2);
    CHECK(json["devices"][0]["chosen"] == true);
    CHECK(json["devices"][0]["kernels"]["rms_norm"] == "rms_norm_shared");
    CHECK(json["devices"][0]["memory_free_bytes"] == 6ULL << 30);
    CHECK(json["devices"][0]["self_check"] ==
          nlohmann::json{{"state", "set_aside"},
                         {"checked", 30},
                         {"wrong", {"linear_prompt_q4_0_rows", "rms_norm_subgroup"}}});
    CHECK(json["devices"][1]["self_check"]["state"] == "not_run");
    CHECK(json["devices"][1]["usable"] == false);
    CHECK(json["devices"][1]["lacks"] == "bufferDeviceAddress");

    etna.devices = Error{ErrorKind::no_device, "no Vulkan driver is installed", "install one"};
    const Outcome none = etna.run({"devices", "--json"});
    CHECK(none.code == 1);
    CHECK(nlohmann::json::parse(none.output)["error"]["hint"] == "install one");
    const Outcome text = etna.run({"devices"});
    CHECK(text.code == 1);
    CHECK(text.output.empty());
    CHECK(text.error == "error: no Vulkan driver is installed\nhint: install one\n");
}
