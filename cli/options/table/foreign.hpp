#pragma once

#include "cli/options/table/generation.hpp"

#include <array>

// Options of llama.cpp's and Ollama's programs, and their equivalents in etna. Names with the same meaning in
// etna are only in the option tables.
namespace etna::cli::table {

inline constexpr std::array foreign_model = {
    ForeignOption{.names = "-m, --model", .ours = "MODEL"},
    ForeignOption{.names = "-hf, -hfr, --hf-repo, -hff, --hf-file, -mu, --model-url, -dr, --docker-repo",
                  .meaning = ForeignMeaning::missing,
                  .hint = "etna fetches no models yet: put a .gguf file into $XDG_DATA_HOME/etna/models "
                          "(~/.local/share/etna/models) and name it without .gguf, or give its path"},
};

inline constexpr std::string_view one_device = "the whole model runs on one device, which --device chooses";
inline constexpr std::string_view own_threads = "set LP_NUM_THREADS to limit the threads of the CPU driver";
inline constexpr std::string_view own_batches =
    "etna chooses batch sizes; `etna serve` has --batch-tokens to limit them";
inline constexpr std::string_view in_device_memory = "the weights are copied to the device's memory";
inline constexpr std::string_view own_cache =
    "what was computed of a prompt is kept as long as there is room";
inline constexpr std::string_view in_the_file = "the model's file says how positions are scaled";
inline constexpr std::string_view fixed_order =
    "the order of the samplers is fixed, and these are what there is: --temp, --top-k, --top-p, --min-p, "
    "--typical-p, --top-n-sigma, --xtc-probability and --dry-multiplier";

/// For commands that run models on a device.
inline constexpr std::array foreign_device = {
    ForeignOption{.names = "-dev", .ours = "device"},
    ForeignOption{.names = "-ctk, --cache-type-k", .ours = "key-type"},
    ForeignOption{.names = "-ctv, --cache-type-v", .ours = "value-type"},
    ForeignOption{.names = "-md, --model-draft, --spec-draft-model", .ours = "draft"},
    ForeignOption{.names = "--draft-max, --draft-n, --spec-draft-n-max", .ours = "num-assistant-tokens"},
    ForeignOption{.names = "--chat-template-file", .ours = "chat-template"},
    ForeignOption{.names = "-ngl, --gpu-layers, --n-gpu-layers, -sm, --split-mode, -ts, --tensor-split, -mg, "
                           "--main-gpu, -ot, --override-tensor, -ncmoe, --n-cpu-moe, -fit, --fit",
                  .meaning = ForeignMeaning::no_effect,
                  .hint = one_device},
    ForeignOption{.names = "-nkvo, --no-kv-offload, -kvo, --kv-offload, -cmoe, --cpu-moe, --no-op-offload",
                  .value = ForeignValue::none,
                  .meaning = ForeignMeaning::no_effect,
                  .hint = one_device},
    ForeignOption{.names = "-t, --threads, -tb, --threads-batch, -C, --cpu-mask, -Cr, --cpu-range, "
                           "--cpu-strict, --prio, --poll, --numa",
                  .meaning = ForeignMeaning::no_effect,
                  .hint = own_threads},
    ForeignOption{.names = "-b, --batch-size, -ub, --ubatch-size, --draft-min, --draft-p-min",
                  .meaning = ForeignMeaning::no_effect,
                  .hint = own_batches},
    ForeignOption{.names = "-fa, --flash-attn",
                  .value = ForeignValue::perhaps_switch,
                  .meaning = ForeignMeaning::no_effect,
                  .hint = "etna chooses the kernels of attention by itself"},
    ForeignOption{.names = "--mlock, --no-mmap, --mmap, --no-direct-io, --no-host, --check-tensors, "
                           "--warmup, --no-warmup",
                  .value = ForeignValue::none,
                  .meaning = ForeignMeaning::no_effect,
                  .hint = in_device_memory},
    ForeignOption{.names = "-cb, --cont-batching, -nocb, --no-cont-batching, -kvu, --kv-unified, --swa-full, "
                           "--cache-prompt, --no-cache-prompt, --context-shift, --no-context-shift, "
                           "--prompt-cache-all, --prompt-cache-ro",
                  .value = ForeignValue::none,
                  .meaning = ForeignMeaning::no_effect,
                  .hint = own_cache},
    ForeignOption{.names = "--cache-reuse, -cram, --cache-ram, --ctx-checkpoints, --prompt-cache, --keep, "
                           "-dt, --defrag-thold, --keepalive",
                  .meaning = ForeignMeaning::no_effect,
                  .hint = own_cache},
    ForeignOption{.names = "--jinja",
                  .value = ForeignValue::none,
                  .meaning = ForeignMeaning::no_effect,
                  .hint = "chat templates are always programs in Jinja"},
    ForeignOption{.names = "--reasoning-format",
                  .meaning = ForeignMeaning::no_effect,
                  .hint = "what the model thinks is always told apart from its answer"},
    ForeignOption{.names = "-lv, --verbosity, --log-verbosity, --log-disable, --log-colors, --log-prefix, "
                           "--log-timestamps",
                  .value = ForeignValue::perhaps_switch,
                  .meaning = ForeignMeaning::no_effect,
                  .hint = "there is little to leave out, and --verbose says more"},
    ForeignOption{.names = "--log-file",
                  .meaning = ForeignMeaning::missing,
                  .hint = "messages go to standard error, which the shell puts into a file: 2> FILE"},
    ForeignOption{.names = "--rope-scaling, --rope-scale, --rope-freq-base, --rope-freq-scale, "
                           "--yarn-orig-ctx, --yarn-ext-factor, --yarn-attn-factor, --yarn-beta-slow, "
                           "--yarn-beta-fast, --override-kv",
                  .meaning = ForeignMeaning::missing,
                  .hint = in_the_file},
    ForeignOption{.names = "--lora, --lora-scaled, --control-vector, --control-vector-scaled, -mm, --mmproj, "
                           "--image, --audio",
                  .meaning = ForeignMeaning::missing,
                  .hint = "adapters, images and sounds are not supported; an adapter can be merged into the "
                          "model's file"},
};

/// For commands that generate an answer.
inline constexpr std::array foreign_answer = {
    ForeignOption{.names = "--predict, --n-predict, --num-predict", .ours = "max-tokens"},
    ForeignOption{.names = "--num-ctx", .ours = "ctx-size"},
    ForeignOption{.names = "--temperature", .ours = "temp"},
    ForeignOption{.names = "-s", .ours = "seed"},
    ForeignOption{.names = "--typical", .ours = "typical-p"},
    ForeignOption{.names = "--top-nsigma", .ours = "top-n-sigma"},
    ForeignOption{.names = "--min-keep-tokens", .ours = "min-keep"},
    ForeignOption{.names = "-l", .ours = "logit-bias"},
    ForeignOption{.names = "-r, --reverse-prompt", .ours = "stop"},
    ForeignOption{.names = "-j, -jf, --json-schema-file", .ours = "json-schema"},
    ForeignOption{.names = "--grammar-file", .ours = "grammar"},
    ForeignOption{.names = "-sys, --system-prompt", .ours = "system"},
    ForeignOption{
        .names = "--hidethinking", .value = ForeignValue::none, .ours = "reasoning", .fixed = "hide"},
    ForeignOption{.names = "--format",
                  .meaning = ForeignMeaning::missing,
                  .hint = "--json-schema '{\"type\": \"object\"}' keeps the answer to a JSON object"},
    ForeignOption{.names = "-sysf, --system-prompt-file",
                  .meaning = ForeignMeaning::missing,
                  .hint = "--system \"$(cat FILE)\" gives the text of a file"},
    ForeignOption{.names = "--samplers, --sampling-seq, --sampler-seq, --mirostat, --mirostat-lr, "
                           "--mirostat-ent, --dynatemp-range, --dynatemp-exp, --adaptive-target",
                  .meaning = ForeignMeaning::missing,
                  .hint = fixed_order},
    ForeignOption{.names = "--reasoning-budget",
                  .meaning = ForeignMeaning::missing,
                  .hint = "--no-think is a budget of 0, and --think none at all"},
    ForeignOption{.names = "--chat-template-kwargs",
                  .meaning = ForeignMeaning::missing,
                  .hint = "--think and --no-think are the switches that templates have; a file of "
                          "--messages may have chat_template_kwargs"},
    ForeignOption{.names = "--in-prefix, --in-suffix, --in-prefix-bos",
                  .meaning = ForeignMeaning::missing,
                  .hint = "the chat template writes what stands around a message"},
    ForeignOption{.names = "-sp, --special",
                  .value = ForeignValue::none,
                  .meaning = ForeignMeaning::missing,
                  .hint = "the answer has no special tokens; `etna render` shows those of the prompt"},
    ForeignOption{.names = "-e, --escape",
                  .value = ForeignValue::none,
                  .meaning = ForeignMeaning::missing,
                  .hint = "text is taken as it is; the shell writes newlines, as in $'one\\ntwo'"},
    ForeignOption{.names = "--no-escape",
                  .value = ForeignValue::none,
                  .meaning = ForeignMeaning::no_effect,
                  .hint = "text is always taken as it is"},
};

/// For commands that show an answer to a user.
inline constexpr std::array foreign_terminal = {
    ForeignOption{.names = "--no-display-prompt, --simple-io, --no-perf, --perf, --show-timings, "
                           "--no-show-timings",
                  .value = ForeignValue::none,
                  .meaning = ForeignMeaning::no_effect,
                  .hint = "standard output has the answer alone, and --verbose tells how long it took"},
    ForeignOption{.names = "-co, --color",
                  .value = ForeignValue::perhaps_switch,
                  .meaning = ForeignMeaning::no_effect,
                  .hint = "there are colours on a terminal, unless NO_COLOR is set"},
};

inline constexpr std::array foreign_run = {
    ForeignOption{.names = "-p, --prompt", .ours = "PROMPT"},
    ForeignOption{
        .names = "-no-cnv, --no-conversation", .value = ForeignValue::none, .ours = "raw", .fixed = "true"},
    ForeignOption{.names = "-st, --single-turn",
                  .value = ForeignValue::none,
                  .meaning = ForeignMeaning::no_effect,
                  .hint = "`etna run` answers once"},
    ForeignOption{.names = "-cnv, --conversation, -i, --interactive, -if, --interactive-first, -mli, "
                           "--multiline-input",
                  .value = ForeignValue::none,
                  .meaning = ForeignMeaning::missing,
                  .hint = "`etna chat MODEL` holds a conversation"},
    ForeignOption{.names = "--nowordwrap",
                  .value = ForeignValue::none,
                  .meaning = ForeignMeaning::no_effect,
                  .hint = "`etna run` never breaks a line"},
};

inline constexpr std::array foreign_chat = {
    ForeignOption{.names = "--nowordwrap", .value = ForeignValue::none, .ours = "no-wrap", .fixed = "true"},
    ForeignOption{.names = "-cnv, --conversation, -i, --interactive, -if, --interactive-first, -mli, "
                           "--multiline-input",
                  .value = ForeignValue::none,
                  .meaning = ForeignMeaning::no_effect,
                  .hint =
                      "`etna chat` is always a conversation; three double quotes begin and end a message of "
                      "several lines"},
    ForeignOption{.names = "-no-cnv, --no-conversation, -st, --single-turn",
                  .value = ForeignValue::none,
                  .meaning = ForeignMeaning::missing,
                  .hint = "`etna run MODEL PROMPT` answers once"},
    ForeignOption{.names = "-p, --prompt, -f, --file",
                  .meaning = ForeignMeaning::missing,
                  .hint =
                      "type it, or send a file along with /file PATH; `etna run MODEL PROMPT` answers once"},
};

inline constexpr std::string_view requests_say =
    "a request says it, else a generation_config.json beside the model";

inline constexpr std::array foreign_serve = {
    ForeignOption{.names = "-np", .ours = "parallel"},
    ForeignOption{.names = "-a", .ours = "alias"},
    ForeignOption{.names = "--ssl-cert-file", .ours = "tls-cert"},
    ForeignOption{.names = "--ssl-key-file", .ours = "tls-key"},
    ForeignOption{.names = "--metrics, --slots, --no-slots, --props, --no-webui, --no-ui, --models-autoload",
                  .value = ForeignValue::none,
                  .meaning = ForeignMeaning::no_effect,
                  .hint = "every route that --routes lists is always there"},
    ForeignOption{.names = "--threads-http",
                  .meaning = ForeignMeaning::no_effect,
                  .hint = "--requests-max bounds how many requests are answered at a time"},
    ForeignOption{.names = "-to, --timeout",
                  .meaning = ForeignMeaning::missing,
                  .hint = "--write-timeout bounds how long a client may pause, --request-timeout how long a "
                          "request may take"},
    ForeignOption{.names = "-n, --predict, --n-predict, -s, --seed, --temp, --temperature, --top-k, --top-p, "
                           "--min-p, --typical, --top-nsigma, --repeat-penalty, --repeat-last-n, "
                           "--presence-penalty, --frequency-penalty, --xtc-probability, --dry-multiplier, "
                           "-r, --grammar, --grammar-file, -j, -jf, --json-schema, "
                           "--json-schema-file, -sys, --system-prompt, --chat-template-kwargs, "
                           "--reasoning-budget, -p, --prompt, -f, --file",
                  .meaning = ForeignMeaning::missing,
                  .hint = requests_say},
    ForeignOption{.names = "--ignore-eos",
                  .value = ForeignValue::none,
                  .meaning = ForeignMeaning::missing,
                  .hint = requests_say},
    ForeignOption{.names = "--embedding, --embeddings, --rerank, --reranking",
                  .value = ForeignValue::none,
                  .meaning = ForeignMeaning::missing,
                  .hint = "etna makes no embeddings yet"},
    ForeignOption{.names = "--path, --api-prefix, --slot-save-path, --models-preset, --pooling",
                  .meaning = ForeignMeaning::missing,
                  .hint = "--chat-path and --completions-path rename two routes; --store names the file in "
                          "which responses are kept"},
};

} // namespace etna::cli::table
