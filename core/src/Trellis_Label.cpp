// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Trellis_Label.hpp>

#if defined(__linux__) && __has_include(<link.h>)
#include <link.h>
#define TRELLIS_HAS_PROGRAM_HEADERS
#endif

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace trellis {

namespace {

#ifdef TRELLIS_HAS_PROGRAM_HEADERS
/// The program comes first, and its segments ascend by address. Those before the first writable one
/// are code and constant data.
int find_read_only(dl_phdr_info* program, std::size_t, void* into) {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  for (int k = 0; k < program->dlpi_phnum; ++k) {
    auto const& segment = program->dlpi_phdr[k];
    if (segment.p_type != PT_LOAD) continue;
    if ((segment.p_flags & PF_W) != 0) break;
    if (end == 0) begin = program->dlpi_addr + segment.p_vaddr;
    end = program->dlpi_addr + segment.p_vaddr + segment.p_memsz;
  }
  *static_cast<Impl::LiteralMemory*>(into) = {begin, end - begin};
  return 1;  // stop: only the program counts
}
#endif

Impl::LiteralMemory find_literals() {
  Impl::LiteralMemory found{};
#ifdef TRELLIS_HAS_PROGRAM_HEADERS
  dl_iterate_phdr(&find_read_only, &found);
#endif
  return found;
}

/// A place in the source, by the address of its file's name. A name may exist several times; then a
/// place has several texts, which are equal.
struct Place {
  std::uintptr_t file = 0;
  std::uint_least32_t line = 0;
  auto operator<=>(Place const&) const = default;
};

std::string text_of(std::source_location const& site) {
  std::string_view file(site.file_name());
  file.remove_prefix(file.find_last_of("/\\") + 1);  // npos + 1 is 0
  return std::string(file) + ':' + std::to_string(site.line());
}

/// Texts are kept for the life of the program: there are as many as places in the source.
std::string const& kept_text(Place const& place, std::source_location const& site) {
  static auto& mutex = *new std::mutex;  // tasks may outlive static objects
  static auto& texts = *new std::map<Place, std::string>;
  std::lock_guard const lock(mutex);
  auto found = texts.find(place);
  if (found == texts.end()) found = texts.emplace(place, text_of(site)).first;
  return found->second;
}

/// What this thread has asked for lately, so that a loop takes no lock.
struct Known {
  Place place;
  std::string const* text = nullptr;
};
constinit thread_local std::array<Known, 32> t_known{};

}  // namespace

Impl::LiteralMemory const Impl::literal_memory = find_literals();

std::string* Label::copy_of(std::string_view text) {
  return new std::string(text);
}

std::string Label::text(std::string const& number) const {
  std::string const at = place();
  std::string_view const name = view();
  std::string rest = at;
  if (!name.empty() && at.ends_with(name)) {
    std::string_view const folder = std::string_view(at).substr(0, at.size() - name.size());
    if (folder.empty())
      rest.clear();
    else if (folder.back() == '/' || folder.back() == '\\')
      rest = "in " + std::string(folder.substr(0, folder.size() - 1));
  }
  std::string const more = number.empty() || rest.empty() ? number + rest : number + ", " + rest;
  return '"' + string() + '"' + (more.empty() ? "" : " (" + more + ')');
}

Label Label::of(std::source_location const& site) {
  Place const place{reinterpret_cast<std::uintptr_t>(site.file_name()), site.line()};
  Known& known = t_known[(place.file / 8 + place.line) % t_known.size()];
  if (known.text == nullptr || known.place != place) known = {place, &kept_text(place, site)};
  Label label;
  label.m_literal = known.text->c_str();
  label.m_size = known.text->size();
  label.m_site = site;
  return label;
}

}  // namespace trellis
