// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Error.hpp>
#include <Trellis_Label.hpp>
#include <worklets/Trellis_WorkItem.hpp>
#include <worklets/impl/Trellis_ItemRange.hpp>
#include <worklets/impl/Trellis_AgreedCount.hpp>
#include <worklets/impl/Trellis_WorkletErrors.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace trellis::worklets::Impl {

namespace {
[[noreturn]] void refuse(Label const& task, std::string const& why) {
  throw Error(Error::Kind::bad_input, "Trellis: the worklet " + task.text() + " " + why);
}
}  // namespace

std::string text_of(Extents const& extents) {
  std::string text = std::to_string(extents.along[0]);
  for (int d = 1; d < extents.rank; ++d) text += " x " + std::to_string(extents.along[d]);
  return text;
}

void refuse_extents(Label const& task, char const* domain, std::string const& first,
                    Extents const& of_first, std::string const& other, Extents const& of_other) {
  refuse(task, std::string("has different numbers of ") + domain + ": " + first + " has " +
                   text_of(of_first) + ", " + other + " has " + text_of(of_other));
}

void refuse_uncounted(Label const& task, char const* domain) {
  refuse(task, std::string("has no argument that tells how many ") + domain +
                   " there are: all of them fit any number, or are outputs without any");
}

void refuse_allocation(Label const& task, char const* domain, std::string const& output,
                       Extents const& extents) {
  refuse(task, "cannot allocate " + output + " for " + text_of(extents) + " " + domain +
                   ": give a variable, not a constant, a temporary or unmanaged memory, and with "
                   "the number of components if it has vectors");
}

void refuse_memory(Label const& task, std::string const& read, std::string const& written,
                   bool is_gathered) {
  refuse(task, "writes into " + written + " what other items " +
                   (is_gathered ? "gather from " : "have in ") + read +
                   (is_gathered ? ": they share memory"
                                : ": they overlap, and are not the same, or both are written"));
}

std::optional<Extents> AgreedCount::early(char const* of_domain) const {
  for (Each const& each : counts) {
    if (each.domain != of_domain) continue;
    if (!each.late) return each.known;
    if (!each.early) continue;
    if (auto const extents = each.early(); extents.has_value()) return extents;
  }
  return std::nullopt;
}

std::int64_t AgreedCount::resolve() const {
  std::int64_t result = 0;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    Each const& own = counts[k];
    Extents const n = own.late ? Extents::of(own.late()) : own.known;
    for (std::size_t other = 0; other < k; ++other) {
      Each const& before = counts[other];
      if (before.domain != own.domain) continue;
      Extents const m = before.late ? Extents::of(before.late()) : before.known;
      if (!m.agrees_with(n)) refuse_extents(task, own.domain, before.name, m, own.name, n);
      break;  // the ones between agree with it
    }
    if (own.domain == domain) result = n.count();
  }
  return result;
}

}  // namespace trellis::worklets::Impl
