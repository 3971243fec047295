#include "core/kernels/operations/altup.hpp"
#include "tests/kernels/device_case.hpp"
#include "tests/reference/altup.hpp"

#include <algorithm>
#include <cmath>

using namespace etna;
using namespace etna::test;

namespace {

reference::Vector part(const std::vector<float>& all, std::size_t row, std::size_t columns) {
    const auto start = all.begin() + static_cast<std::ptrdiff_t>(row * columns);
    return {start, start + static_cast<std::ptrdiff_t>(columns)};
}

reference::Matrix matrix_of(const std::vector<float>& values, std::size_t rows) {
    return {.rows = rows, .columns = values.size() / rows, .values = {values.begin(), values.end()}};
}

struct AltUpShape {
    uint32_t inputs;
    uint32_t columns;
};

/// Streams of which the last row takes no part.
class AltUpProblem {
public:
    static constexpr uint32_t rows = 4;
    static constexpr uint32_t used = 3;
    static constexpr float epsilon = 1e-3F;

    AltUpProblem(AltUpShape shape, std::mt19937& random)
        : shape_(shape), active_(random_floats(random, std::size_t{rows} * shape.columns)),
          others_(random_floats(random, std::size_t{shape.inputs - 1} * rows * shape.columns)),
          before_(random_floats(random, std::size_t{rows} * shape.columns)),
          router_(random_floats(random, std::size_t{shape.inputs} * shape.columns)),
          norm_(random_floats(random, shape.columns)), scale_(random_floats(random, shape.columns)),
          prediction_(random_floats(random, std::size_t{shape.inputs} * shape.inputs * shape.inputs)),
          correction_(random_floats(random, std::size_t{shape.inputs} * shape.inputs)) {
        twin_.router = matrix_of(router_, shape.inputs);
        for (const float one : norm_) // the kernel's is divided by the width
            twin_.router_norm.push_back(double{one} * shape.columns);
        twin_.prediction = matrix_of(prediction_, std::size_t{shape.inputs} * shape.inputs);
        twin_.correction = matrix_of(correction_, shape.inputs);
        twin_.epsilon = double{epsilon};
    }

    void check_predict(kernels::PlanFamily family) const {
        DeviceCase device(family);
        const kernels::AltUp operation = upload(device, prediction_);
        device.run([&](kernels::Library& library, vk::Recorder& recorder) {
            altup_predict({library, recorder}, operation);
        });
        for (uint32_t row = 0; row < used; ++row)
            check(device, operation, row, predict(twin_, streams_of(row)));
        check_unused(device, operation);
    }

    void check_correct(kernels::PlanFamily family) const {
        DeviceCase device(family);
        const kernels::AltUp operation = upload(device, correction_);
        const auto output = device.upload_rows(before_, rows, shape_.columns);
        device.run([&](kernels::Library& library, vk::Recorder& recorder) {
            altup_correct({library, recorder}, operation, device.upload(scale_), output);
        });
        const std::vector<float> scaled = device.download_rows(output);
        for (uint32_t row = 0; row < used; ++row) {
            std::vector<reference::Vector> predictions = streams_of(row);
            predictions[0] = part(before_, row, shape_.columns);
            const auto expected = correct(twin_, predictions, part(active_, row, shape_.columns));
            check(device, operation, row, expected);
            for (uint32_t k = 0; k < shape_.columns; ++k) {
                REQUIRE(scaled[std::size_t{row} * shape_.columns + k] ==
                        Approx(expected[0][k] * scale_[k]).margin(2e-5));
            }
        }
        check_unused(device, operation);
    }

private:
    kernels::AltUp upload(DeviceCase& device, const std::vector<float>& coefficients) const {
        return {.active = device.upload_rows(active_, rows, shape_.columns),
                .streams = device.upload_rows(others_, (shape_.inputs - 1) * rows, shape_.columns),
                .prediction = device.upload_rows(before_, rows, shape_.columns),
                .count = used,
                .inputs = shape_.inputs,
                .router = device.upload(router_),
                .norm = device.upload(norm_),
                .coefficients = device.upload(coefficients),
                .epsilon = epsilon};
    }

    [[nodiscard]] std::vector<reference::Vector> streams_of(uint32_t row) const {
        std::vector<reference::Vector> streams{part(active_, row, shape_.columns)};
        for (uint32_t i = 0; i + 1 < shape_.inputs; ++i)
            streams.push_back(part(others_, std::size_t{i} * rows + row, shape_.columns));
        return streams;
    }

    void check(DeviceCase& device, const kernels::AltUp& operation, uint32_t row,
               const std::vector<reference::Vector>& expected) const {
        const std::vector<float> active = device.download_rows(operation.active);
        const std::vector<float> prediction = device.download_rows(operation.prediction);
        const std::vector<float> others = device.download_rows(operation.streams);
        for (uint32_t stream = 0; stream < shape_.inputs; ++stream) {
            for (uint32_t k = 0; k < shape_.columns; ++k) {
                INFO("stream " << stream << " row " << row << " element " << k);
                const std::size_t at = std::size_t{row} * shape_.columns + k;
                const float value = stream == 0
                                        ? active[at]
                                        : others[(std::size_t{stream - 1} * rows + row) * shape_.columns + k];
                REQUIRE(value == Approx(expected[stream][k]).margin(2e-5));
                if (stream == 0)
                    REQUIRE(prediction[at] == value);
            }
        }
    }

    void check_unused(DeviceCase& device, const kernels::AltUp& operation) const {
        const std::vector<float> active = device.download_rows(operation.active);
        REQUIRE(std::equal(active.end() - shape_.columns, active.end(), active_.end() - shape_.columns));
    }

    AltUpShape shape_;
    std::vector<float> active_, others_, before_, router_, norm_, scale_, prediction_, correction_;
    reference::AltUp twin_;
};

} // namespace

TEST_CASE("altup_predict and altup_correct agree with the twin") {
    std::mt19937 random(1);
    for (const auto family : all_families()) {
        for (const AltUpShape shape : {AltUpShape{4, 256}, {2, 1}, {3, 77}, {8, 130}}) {
            INFO(to_string(family) << ", " << shape.inputs << " streams of " << shape.columns);
            const AltUpProblem problem(shape, random);
            problem.check_predict(family);
            problem.check_correct(family);
        }
    }
}

TEST_CASE("match_rms agrees with the twin, also in place and below its epsilon") {
    std::mt19937 random(2);
    constexpr uint32_t rows = 3;
    for (const auto family : all_families()) {
        for (const uint32_t columns : {1U, 77U, 256U}) {
            for (const auto store : {kernels::Store::replace, kernels::Store::add}) {
                DeviceCase device(family);
                std::vector<float> x = random_floats(random, std::size_t{rows} * columns);
                std::fill_n(x.begin(), columns, 1e-3F);
                const std::vector<float> target = random_floats(random, std::size_t{rows} * columns);
                const auto input = device.upload_rows(x, rows, columns);
                device.run([&](kernels::Library& library, vk::Recorder& recorder) {
                    kernels::match_rms({library, recorder},
                                       {.input = input,
                                        .target = device.upload_rows(target, rows, columns),
                                        .output = input,
                                        .count = rows - 1,
                                        .epsilon = 1e-5F,
                                        .store = store});
                });
                const std::vector<float> y = device.download_rows(input);
                for (uint32_t row = 0; row < rows; ++row) {
                    const auto own = part(x, row, columns);
                    auto expected = row + 1 == rows ? own
                                                    : reference::with_magnitude_of(part(target, row, columns),
                                                                                   own, 1e-5F);
                    if (store == kernels::Store::add && row + 1 < rows)
                        expected = reference::add(own, expected);
                    for (uint32_t k = 0; k < columns; ++k) {
                        INFO(to_string(family) << " row " << row << " element " << k);
                        REQUIRE(y[std::size_t{row} * columns + k] == Approx(expected[k]).epsilon(1e-5));
                    }
                }
            }
        }
    }
}

TEST_CASE("statistical_top_k agrees with the twin") {
    std::mt19937 random(3);
    constexpr uint32_t rows = 3;
    for (const auto family : all_families()) {
        for (const uint32_t columns : {1U, 77U, 512U}) {
            for (const float deviations : {-0.5F, 0.0F, 1.6449F}) {
                DeviceCase device(family);
                const std::vector<float> x = random_floats(random, std::size_t{rows} * columns);
                const auto values = device.upload_rows(x, rows, columns);
                device.run([&](kernels::Library& library, vk::Recorder& recorder) {
                    kernels::statistical_top_k(
                        {library, recorder},
                        {.values = values, .first = 1, .count = rows - 1, .deviations = deviations});
                });
                const std::vector<float> y = device.download_rows(values);
                for (uint32_t row = 0; row < rows; ++row) {
                    const auto own = part(x, row, columns);
                    const auto expected =
                        row == 0 ? own : reference::statistical_top_k(own, double{deviations});
                    for (uint32_t k = 0; k < columns; ++k) {
                        INFO(to_string(family) << " row " << row << " element " << k);
                        REQUIRE(y[std::size_t{row} * columns + k] == Approx(expected[k]).margin(4e-6));
                    }
                }
            }
        }
    }
}

TEST_CASE("altup, match_rms and statistical_top_k refuse shapes that do not fit") {
    DeviceCase device(kernels::PlanFamily::nvidia);
    const auto zeros = [&](uint32_t rows, uint32_t columns) {
        return device.upload_rows(std::vector<float>(std::size_t{rows} * columns), rows, columns);
    };
    const auto range = [&](std::size_t count) { return device.upload(std::vector<float>(count)); };
    const auto refused = [&](auto record) {
        auto recorder = vk::Recorder::create(device.library().device());
        REQUIRE(recorder.has_value());
        record(*recorder);
        const auto finished = recorder->finish();
        return !finished && finished.error().kind == ErrorKind::invalid_argument;
    };
    const kernels::AltUp sound{.active = zeros(2, 8),
                               .streams = zeros(4, 8),
                               .prediction = zeros(2, 8),
                               .count = 2,
                               .inputs = 3,
                               .router = range(24),
                               .norm = range(8),
                               .coefficients = range(27)};
    const auto refuses = [&](const kernels::AltUp& operation) {
        return refused(
            [&](vk::Recorder& recorder) { altup_predict({device.library(), recorder}, operation); });
    };
    REQUIRE_FALSE(refuses(sound));
    kernels::AltUp wrong = sound;
    wrong.inputs = 9;
    CHECK(refuses(wrong));
    wrong = sound;
    wrong.count = 3;
    CHECK(refuses(wrong));
    wrong = sound;
    wrong.prediction = zeros(2, 12);
    CHECK(refuses(wrong));
    wrong = sound;
    wrong.coefficients.bytes -= 4;
    CHECK(refuses(wrong));
    wrong = sound;
    wrong.router.bytes -= 4;
    CHECK(refuses(wrong));
    const auto refuses_scale = [&](std::size_t count) {
        return refused([&](vk::Recorder& recorder) {
            altup_correct({device.library(), recorder}, sound, range(count), zeros(2, 8));
        });
    };
    CHECK_FALSE(refuses_scale(8));
    CHECK(refuses_scale(7));
    CHECK(refused([&](vk::Recorder& recorder) {
        kernels::match_rms({device.library(), recorder},
                           {.input = zeros(2, 8), .target = zeros(1, 8), .output = zeros(2, 8), .count = 2});
    }));
    CHECK(refused([&](vk::Recorder& recorder) {
        kernels::statistical_top_k({device.library(), recorder},
                                   {.values = zeros(2, 8), .first = 1, .count = 2});
    }));
}
