#include "core/engine/device/device_executor.hpp"

#include "core/engine/device/device_model.hpp"
#include "core/engine/device/memory_plan.hpp"
#include "core/model/model.hpp"
#include "core/model/nan_probe.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace etna::engine {
namespace {

constexpr const char* not_finite_hint = "the file may be damaged, or the device or its driver computed "
                                        "wrongly: try another file, or another --device";

/// A submission's memory with the commands that steps in it have had and, while its outputs are unread, their
/// description.
struct Submission {
    Transfer transfer;
    RecordedSteps recorded;
    uint64_t done_at = 0; ///< timeline value
    uint32_t dispatches = 0;
    uint32_t barriers = 0;
    bool is_repeated = false;
    bool found_idle = false;
    std::vector<OutputRow> output_rows;

    void describe(const vk::CommandBuffer& commands) {
        dispatches = commands.dispatch_count();
        barriers = commands.barrier_count();
    }
};

/// Whether steps of the same shape are likely to follow: prompts change it with every chunk.
bool is_repeatable(const Batch& batch) {
    const auto generates = [](const Row& row) { return row.kind == RowKind::decode; };
    return batch.copies.empty() && batch.state_copies.empty() && std::ranges::all_of(batch.rows, generates);
}

class DeviceExecutor final : public Executor {
public:
    DeviceExecutor(std::string name, Limits limits, std::unique_ptr<DeviceModel> model,
                   std::vector<Submission> ring, const vk::RecorderOptions& recording)
        : name_(std::move(name)), limits_(std::move(limits)), model_(std::move(model)),
          ring_(std::move(ring)), recording_(recording) {}
    DeviceExecutor(const DeviceExecutor&) = delete;
    DeviceExecutor& operator=(const DeviceExecutor&) = delete;
    ~DeviceExecutor() override;

    [[nodiscard]] const Limits& limits() const override { return limits_; }
    Result<Ticket> submit(const Batch& batch) override;
    Result<Outputs> wait(Ticket ticket) override;

private:
    [[nodiscard]] Submission& submission(uint64_t ticket) { return ring_[ticket % ring_.size()]; }
    [[nodiscard]] RowOutput read_hidden(std::vector<float> values) const;
    Result<uint64_t> start(const Batch& batch, Submission& next);
    Result<uint64_t> start_repeatable(const Batch& batch, const StepShape& shape, Submission& next);
    [[nodiscard]] RowOutput read(const Submission& submission, std::size_t i) const;

    std::string name_;
    Limits limits_;
    std::unique_ptr<DeviceModel> model_;
    std::vector<Submission> ring_; ///< [in_flight_max]
    vk::RecorderOptions recording_;
    uint64_t submitted_ = 0; ///< newest ticket
    uint64_t read_ = 0;      ///< newest ticket whose outputs were returned
};

DeviceExecutor::~DeviceExecutor() {
    // Pipelines must outlive the submissions that use them; a lost device runs none.
    if (submitted_ > 0)
        static_cast<void>(model_->device().wait(submission(submitted_).done_at));
}

/// Returns the timeline value of the step's completion.
Result<uint64_t> DeviceExecutor::start(const Batch& batch, Submission& next) {
    const StepShape& shape = model_->pack(batch, next.transfer);
    next.is_repeated = false;
    if (is_repeatable(batch) && !recording_.timestamps)
        return start_repeatable(batch, shape, next);
    ETNA_TRY(vk::CommandBuffer commands, model_->record(batch, next.transfer, recording_));
    next.describe(commands);
    next.found_idle = model_->device().is_idle();
    return model_->device().submit(std::move(commands));
}

/// The commands of the submission's earlier steps have completed, because their outputs have been read.
Result<uint64_t> DeviceExecutor::start_repeatable(const Batch& batch, const StepShape& shape,
                                                  Submission& next) {
    vk::CommandBuffer* commands = next.recorded.find(shape);
    next.is_repeated = commands != nullptr;
    if (commands == nullptr) {
        ETNA_TRY(vk::CommandBuffer recorded, model_->record(batch, next.transfer, {.is_reusable = true}));
        commands = &next.recorded.insert(shape, std::move(recorded));
    }
    next.describe(*commands);
    next.found_idle = model_->device().is_idle();
    return model_->device().submit_reusable(*commands);
}

Result<Ticket> DeviceExecutor::submit(const Batch& batch) {
    ETNA_CHECK(check(batch, limits_));
    if (submitted_ - read_ >= limits_.in_flight_max) {
        return Error{.kind = ErrorKind::busy,
                     .message = fmt::format("{} submissions are unread", limits_.in_flight_max)};
    }
    Submission& next = submission(submitted_ + 1);
    ETNA_TRY(next.done_at, start(batch, next));
    model_->submitted();
    next.output_rows = model_->output_rows();
    return Ticket{.value = ++submitted_};
}

RowOutput DeviceExecutor::read_hidden(std::vector<float> values) const {
    RowOutput output;
    if (std::ranges::all_of(values, [](float value) { return std::isfinite(value); })) {
        output.hidden = std::move(values);
        return output;
    }
    output.error = Error{.kind = ErrorKind::internal,
                         .message = fmt::format("{}: the hidden state is not finite", name_),
                         .hint = not_finite_hint};
    return output;
}

RowOutput DeviceExecutor::read(const Submission& submission, std::size_t i) const {
    const OutputRow& row = submission.output_rows[i];
    const auto read_values = [&](const vk::Buffer& buffer, uint32_t count) {
        std::vector<float> values(count);
        const uint64_t bytes = count * sizeof(float);
        std::memcpy(values.data(), buffer.mapped().data() + row.at * bytes, bytes);
        return values;
    };
    if (row.output_kind == OutputKind::hidden)
        return read_hidden(read_values(submission.transfer.hidden, limits_.width));
    const auto result_at = [&](std::size_t index) {
        kernels::SampleResult result;
        std::memcpy(&result, submission.transfer.results.mapped().data() + index * sizeof result,
                    sizeof result);
        return result;
    };
    const kernels::SampleResult result = result_at(row.at);
    RowOutput output;
    if (result.nan_probe != 0) {
        output.error = Error{
            .kind = ErrorKind::internal,
            .message = fmt::format("{}: the logits are not numbers; the first bad value came from {}", name_,
                                   model::block_before_probe(result.nan_probe - 1, model_->layers())),
            .hint = not_finite_hint};
        return output;
    }
    output.token = result.token;
    output.log_sum_exp = result.log_sum_exp;
    output.logit = result.logit;
    if (row.draft) {
        const kernels::SampleResult draft = result_at(*row.draft);
        if (draft.nan_probe == 0)
            output.draft = {.token = draft.token, .log_sum_exp = draft.log_sum_exp, .logit = draft.logit};
    }
    output.candidates.reserve(row.candidates);
    for (uint32_t k = 0; k < row.candidates; ++k) {
        output.candidates.push_back(
            {.token = result.candidates[k].token, .logit = result.candidates[k].logit});
    }
    if (row.output_kind == OutputKind::logits)
        output.logits = read_values(submission.transfer.logits, limits_.vocabulary);
    return output;
}

Result<Outputs> DeviceExecutor::wait(Ticket ticket) {
    if (ticket.value != read_ + 1 || ticket.value > submitted_) {
        return Error{.kind = ErrorKind::invalid_argument,
                     .message = fmt::format("ticket {} is not the oldest unread one", ticket.value)};
    }
    const Submission& oldest = submission(ticket.value);
    ETNA_CHECK(model_->device().wait(oldest.done_at));
    read_ = ticket.value;
    Outputs outputs;
    outputs.device_ms = model_->device().busy_ms(oldest.done_at);
    outputs.dispatches = oldest.dispatches;
    outputs.barriers = oldest.barriers;
    outputs.is_repeated = oldest.is_repeated;
    outputs.found_idle = oldest.found_idle;
    outputs.rows.reserve(oldest.output_rows.size());
    for (std::size_t i = 0; i < oldest.output_rows.size(); ++i)
        outputs.rows.push_back(read(oldest, i));
    return outputs;
}

/// Returns `count` rows of one sequence that end at the last position of the context, so that attention uses
/// split-KV; the rows with an output request every output kind that has its own kernels.
Batch warm_up_batch(RowKind kind, uint32_t count, const SequenceView& view, const Limits& limits) {
    Batch batch;
    batch.sequences = {view};
    batch.runs_draft_head = limits.has_draft_head;
    const OutputKind requested = limits.is_encoder ? OutputKind::hidden : OutputKind::candidates;
    for (uint32_t i = 0; i < count; ++i) {
        Row row;
        row.kind = kind;
        row.set_position(limits.context_tokens - count + i);
        row.output_kind = i < limits.output_rows_max ? requested : OutputKind::none;
        row.candidates = limits.is_encoder ? 0 : 1;
        row.requests_draft = batch.runs_draft_head && i < limits.output_rows_max;
        batch.rows.push_back(row);
    }
    return batch;
}

/// Returns the row counts to record. Kernel selection may change at powers of two; the last range ends at the
/// maximum count.
std::vector<uint32_t> warm_up_row_counts(const Limits& limits) {
    const uint32_t max = std::min(limits.batch_rows_max, limits.context_tokens);
    std::vector<uint32_t> counts;
    for (uint32_t count = 1; count < max; count *= 2)
        counts.push_back(count);
    counts.push_back(max);
    return counts;
}

/// Creates every pipeline that a step can request, by recording steps of both row kinds at the row counts
/// where kernel selection changes, without submitting them. Blocks while the driver compiles. Errors:
/// unsupported (a shader that the device refuses), out_of_memory, device_lost.
Status warm_up(DeviceModel& model, const Transfer& transfer, const Limits& limits,
               const std::function<void(uint64_t, uint64_t)>& progress) {
    const std::vector<PageId> pages(divide_up(limits.context_tokens, limits.page_tokens), 0);
    const SequenceView view{.pages = std::vector(limits.groups.size(), std::span<const PageId>(pages)),
                            .state_slot = 0};
    const std::vector<uint32_t> row_counts = warm_up_row_counts(limits);
    uint64_t prepared = 0;
    for (const RowKind kind : {RowKind::decode, RowKind::prefill}) {
        for (const uint32_t count : row_counts) {
            if (progress)
                progress(prepared++, 2 * row_counts.size());
            const Batch batch = warm_up_batch(kind, count, view, limits);
            model.pack(batch, transfer);
            const Result<vk::CommandBuffer> unused = model.record(batch, transfer, {});
            if (!unused)
                return unused.error().while_doing("while preparing kernels");
        }
    }
    return {};
}

} // namespace

Result<std::unique_ptr<Executor>> create_device_executor(std::shared_ptr<kernels::Library> library,
                                                         const gguf::File& file,
                                                         const DeviceExecutorOptions& options) {
    vk::Device& device = library->device();
    ETNA_TRY(model::Blueprint blueprint, model::plan_model(file, library->target(),
                                                           {.matrix_part_bytes = options.matrix_part_bytes,
                                                            .has_draft_head = options.sizes.has_draft_head}));
    ETNA_TRY(DevicePlan plan, plan_load(file, blueprint, library->target(), options.sizes, device.memory()));
    ETNA_TRY(plan.weight_reads, model::weight_reads(model::DryModel(blueprint, library->target())));
    if (options.planned)
        options.planned(plan, plan_memory(blueprint, library->target(), plan));

    ETNA_TRY(std::unique_ptr<DeviceModel> model,
             DeviceModel::load(std::move(library), file, blueprint, plan, options.progress));
    const StepBytes bytes = step_bytes(blueprint.config, plan.limits);
    std::vector<Submission> ring;
    for (uint32_t i = 0; i < plan.limits.in_flight_max; ++i) {
        Submission submission;
        ETNA_TRY(submission.transfer, Transfer::create(device, bytes));
        submission.output_rows.reserve(plan.limits.batch_rows_max);
        ring.push_back(std::move(submission));
    }
    ETNA_CHECK(warm_up(*model, ring.front().transfer, plan.limits, options.compile_progress));
    return std::unique_ptr<Executor>(
        std::make_unique<DeviceExecutor>(file.name(), plan.limits, std::move(model), std::move(ring),
                                         vk::RecorderOptions{.timestamps = options.timestamps}));
}

} // namespace etna::engine
