// SPDX-License-Identifier: Apache-2.0
#include "train/run/foreign_words.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace twill {
namespace {

constexpr std::string_view kBatchNote =
    "sequences at once; train.batch_tokens: the tokens of an optimizer step";
constexpr std::string_view kStepTokens = "tokens of an optimizer step, reached by accumulation";
constexpr std::string_view kShareOfPeak = "a share of the peak, optimizer.lr";
constexpr std::string_view kStepsNote = "optimizer steps, not epochs";
constexpr std::string_view kSubfolder = "with a folder per run in it, run.name";

constexpr auto kForeignWords = std::to_array<ForeignWord>({
    // length and size
    {"max_iters", "train.steps", ""},
    {"max_steps", "train.steps", ""},
    {"num_steps", "train.steps", ""},
    {"n_steps", "train.steps", ""},
    {"total_steps", "train.steps", ""},
    {"train_steps", "train.steps", ""},
    {"num_train_steps", "train.steps", ""},
    {"num_iterations", "train.steps", ""},
    {"iterations", "train.steps", ""},
    {"iters", "train.steps", ""},
    {"steps", "train.steps", ""},
    {"lr_decay_iters", "train.steps", "the schedule ends with the run"},
    {"epochs", "train.steps", kStepsNote},
    {"num_epochs", "train.steps", kStepsNote},
    {"num_train_epochs", "train.steps", kStepsNote},
    {"max_epochs", "train.steps", kStepsNote},
    {"batch_size", "train.micro_batch", kBatchNote},
    {"batch", "train.micro_batch", kBatchNote},
    {"bs", "train.micro_batch", kBatchNote},
    {"train_batch_size", "train.micro_batch", kBatchNote},
    {"per_device_train_batch_size", "train.micro_batch", kBatchNote},
    {"device_batch_size", "train.micro_batch", kBatchNote},
    {"micro_batch_size", "train.micro_batch", kBatchNote},
    {"total_batch_size", "train.batch_tokens", kStepTokens},
    {"global_batch_size", "train.batch_tokens", kStepTokens},
    {"gradient_accumulation_steps", "train.batch_tokens", kStepTokens},
    {"grad_accum_steps", "train.batch_tokens", kStepTokens},
    {"accumulate_grad_batches", "train.batch_tokens", kStepTokens},
    {"random_seed", "train.seed", ""},
    {"dtype", "train.precision", ""},
    {"mixed_precision", "train.precision", ""},
    {"bf16", "train.precision", ""},
    {"fp16", "train.precision", ""},
    {"amp", "train.precision", ""},
    {"gradient_checkpointing", "train.recompute", ""},
    {"activation_checkpointing", "train.recompute", ""},
    {"init_from", "train.start_from", ""},
    {"pretrained", "train.start_from", ""},
    {"model_name_or_path", "train.start_from", ""},
    // optimizer and schedule
    {"lr", "optimizer.lr", ""},
    {"learning_rate", "optimizer.lr", ""},
    {"max_lr", "optimizer.lr", ""},
    {"peak_lr", "optimizer.lr", ""},
    {"base_lr", "optimizer.lr", ""},
    {"weight_decay", "optimizer.weight_decay", ""},
    {"wd", "optimizer.weight_decay", ""},
    {"beta1", "optimizer.beta1", ""},
    {"adam_beta1", "optimizer.beta1", ""},
    {"beta2", "optimizer.beta2", ""},
    {"adam_beta2", "optimizer.beta2", ""},
    {"betas", "optimizer.beta1", "and optimizer.beta2"},
    {"adam_epsilon", "optimizer.eps", ""},
    {"epsilon", "optimizer.eps", ""},
    {"grad_clip", "optimizer.clip", ""},
    {"clip_grad", "optimizer.clip", ""},
    {"grad_norm_clip", "optimizer.clip", ""},
    {"max_grad_norm", "optimizer.clip", ""},
    {"gradient_clip_val", "optimizer.clip", ""},
    {"min_lr", "schedule.min_lr", kShareOfPeak},
    {"final_lr", "schedule.min_lr", kShareOfPeak},
    {"warmup", "schedule.warmup_steps", ""},
    {"warmup_iters", "schedule.warmup_steps", ""},
    {"warmup_steps", "schedule.warmup_steps", ""},
    {"num_warmup_steps", "schedule.warmup_steps", ""},
    {"warmup_iterations", "schedule.warmup_steps", ""},
    {"lr_scheduler", "schedule.kind", ""},
    {"lr_scheduler_type", "schedule.kind", ""},
    {"lr_schedule", "schedule.kind", ""},
    {"scheduler", "schedule.kind", ""},
    {"decay_lr", "schedule.kind", ""},
    // the model
    {"n_layer", "model.layers", ""},
    {"n_layers", "model.layers", ""},
    {"num_layers", "model.layers", ""},
    {"num_hidden_layers", "model.layers", ""},
    {"layers", "model.layers", ""},
    {"depth", "model.layers", ""},
    {"n_embd", "model.width", ""},
    {"n_embed", "model.width", ""},
    {"d_model", "model.width", ""},
    {"dim", "model.width", ""},
    {"embed_dim", "model.width", ""},
    {"hidden_size", "model.width", ""},
    {"width", "model.width", ""},
    {"n_head", "model.heads", ""},
    {"n_heads", "model.heads", ""},
    {"num_heads", "model.heads", ""},
    {"num_attention_heads", "model.heads", ""},
    {"heads", "model.heads", ""},
    {"n_kv_head", "model.kv_heads", ""},
    {"n_kv_heads", "model.kv_heads", ""},
    {"num_key_value_heads", "model.kv_heads", ""},
    {"block_size", "model.context", ""},
    {"context", "model.context", ""},
    {"context_length", "model.context", ""},
    {"context_size", "model.context", ""},
    {"n_ctx", "model.context", ""},
    {"n_positions", "model.context", ""},
    {"max_position_embeddings", "model.context", ""},
    {"max_seq_len", "model.context", ""},
    {"seq_len", "model.context", "train.sequence for shorter ones"},
    {"seq_length", "model.context", "train.sequence for shorter ones"},
    {"sequence_length", "model.context", "train.sequence for shorter ones"},
    {"vocab_size", "model.vocab", ""},
    {"dropout", "model.dropout", ""},
    {"resid_pdrop", "model.dropout", ""},
    {"hidden_dropout_prob", "model.dropout", ""},
    {"intermediate_size", "model.ffn.width", ""},
    {"ffn_dim", "model.ffn.width", ""},
    {"d_ff", "model.ffn.width", ""},
    {"n_inner", "model.ffn.width", ""},
    {"hidden_dim", "model.ffn.width", ""},
    {"activation_function", "model.ffn.activation", ""},
    {"hidden_act", "model.ffn.activation", ""},
    {"activation", "model.ffn.activation", ""},
    {"rope_theta", "model.rotary_theta", ""},
    // data
    {"data", "data.train", ""},
    {"dataset", "data.train", ""},
    {"data_dir", "data.train", ""},
    {"data_path", "data.train", ""},
    {"train_data", "data.train", ""},
    {"train_file", "data.train", ""},
    {"train_bin", "data.train", ""},
    {"input_bin", "data.train", ""},
    {"val_data", "data.validation", ""},
    {"val_file", "data.validation", ""},
    {"val_bin", "data.validation", ""},
    {"input_val_bin", "data.validation", ""},
    {"eval_data", "data.validation", ""},
    {"validation", "data.validation", ""},
    {"validation_file", "data.validation", ""},
    {"val_split", "data.validation_fraction", ""},
    {"validation_split", "data.validation_fraction", ""},
    {"text_column", "data.text_key", ""},
    {"text_field", "data.text_key", ""},
    {"tokenizer", "data.tokenizer", ""},
    {"tokenizer_name", "data.tokenizer", ""},
    // evaluation, saving, showing
    {"eval_interval", "eval.every", ""},
    {"eval_every", "eval.every", ""},
    {"eval_steps", "eval.every", ""},
    {"val_every", "eval.every", ""},
    {"val_loss_every", "eval.every", ""},
    {"eval_iters", "eval.windows", "validation sequences per evaluation"},
    {"eval_batches", "eval.windows", "validation sequences per evaluation"},
    {"val_max_steps", "eval.windows", "validation sequences per evaluation"},
    {"save_interval", "checkpoint.every", ""},
    {"save_steps", "checkpoint.every", ""},
    {"save_every", "checkpoint.every", ""},
    {"checkpoint_every", "checkpoint.every", ""},
    {"checkpoint_interval", "checkpoint.every", ""},
    {"save_total_limit", "checkpoint.keep", ""},
    {"log_interval", "log.every", ""},
    {"log_every", "log.every", ""},
    {"logging_steps", "log.every", ""},
    {"out_dir", "run.dir", kSubfolder},
    {"output_dir", "run.dir", kSubfolder},
    {"save_dir", "run.dir", kSubfolder},
    {"out", "run.dir", kSubfolder},
    {"name", "run.name", ""},
    {"run_name", "run.name", ""},
    {"experiment_name", "run.name", ""},
    {"wandb_run_name", "run.name", ""},
    // the machine
    {"num_threads", "threads", ""},
    {"n_threads", "threads", ""},
    {"num_workers", "threads", ""},
    {"gpu", "device", ""},
    {"accelerator", "device", ""},
    {"sparsity", "recipe", ""},
});

std::string in_our_spelling(std::string_view word) {
  std::string spelt(word);
  for (char& c : spelt) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-') c = '_';
  }
  return spelt;
}

}  // namespace

std::span<const ForeignWord> foreign_words() { return kForeignWords; }

std::optional<ForeignWord> find_foreign_word(std::string_view word) {
  const auto found =
      std::ranges::find(kForeignWords, std::string_view(in_our_spelling(word)), &ForeignWord::word);
  if (found == kForeignWords.end()) return std::nullopt;
  return *found;
}

std::string key_meant_by(std::string_view word) {
  const std::optional<ForeignWord> found = find_foreign_word(word);
  if (!found) return {};
  return found->note.empty() ? std::string(found->key)
                             : fmt::format("{} ({})", found->key, found->note);
}

}  // namespace twill
