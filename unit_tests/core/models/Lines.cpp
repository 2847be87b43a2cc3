// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Lines.hpp"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <link.h>
#include <map>
#include <sstream>
#include <unistd.h>

namespace trellis::model {

namespace {

/// Where this program has been loaded.
std::uintptr_t base() {
  std::uintptr_t found = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* result) {
        *static_cast<std::uintptr_t*>(result) = info->dlpi_addr;
        return 1;  // the first one is the program
      },
      &found);
  return found;
}

bool is_of_system(std::string const& file) {
  return file.empty() || file[0] == '?' || file.find("/usr/") == 0 ||
         file.find("/include/c++/") != std::string::npos;
}

/// The lines of a file, which are read once.
std::vector<std::string> const& lines_of(std::string const& file) {
  static std::map<std::string, std::vector<std::string>> files;
  auto const [found, is_new] = files.try_emplace(file);
  if (is_new) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) found->second.push_back(line);
  }
  return found->second;
}

std::string trimmed(std::string const& text) {
  std::size_t const first = text.find_first_not_of(' ');
  return first == std::string::npos ? std::string() : text.substr(first);
}

/// Up to where it ends, of a few lines at most.
std::string statement(std::string const& file, int number) {
  std::vector<std::string> const& lines = lines_of(file);
  std::string text;
  for (std::size_t k = static_cast<std::size_t>(number) - 1;
       k < lines.size() && k < static_cast<std::size_t>(number) + 3; ++k) {
    text += (text.empty() ? "" : " ") + trimmed(lines[k]);
    if (text.find(';') != std::string::npos || (!text.empty() && text.back() == '{')) break;
  }
  return text;
}

}  // namespace

std::string Line::text() const {
  if (file.empty()) return {};
  return file.substr(file.rfind('/') + 1) + ':' + std::to_string(number) + "  " + code;
}

std::vector<Line> look_up(std::vector<void const*> const& places) {
  std::vector<Line> lines(places.size());
  if (places.empty()) return lines;
  std::uintptr_t const begin = base();
  static std::map<std::uintptr_t, Line> found;  // asked for once
  std::vector<std::uintptr_t> unknown;
  for (void const* place : places) {
    std::uintptr_t const address = reinterpret_cast<std::uintptr_t>(place) - begin - 1;
    if (found.try_emplace(address).second) unknown.push_back(address);
  }
  for (std::size_t k = 0; k < unknown.size();) {
    std::ostringstream command;
    command << "addr2line -a -i -e /proc/" << getpid() << "/exe";
    for (std::size_t const end = k + 500; k < unknown.size() && k < end; ++k)
      command << " 0x" << std::hex << unknown[k];
    command << " 2>/dev/null";
    std::FILE* const pipe = popen(command.str().c_str(), "r");
    if (pipe == nullptr) return lines;
    std::array<char, 4096> buffer{};
    Line* line = nullptr;
    while (std::fgets(buffer.data(), static_cast<int>(buffer.size()), pipe) != nullptr) {
      std::string text(buffer.data());
      text = text.substr(0, text.find_first_of("\n"));
      if (text.rfind("0x", 0) == 0) {
        line = &found[std::strtoull(text.c_str(), nullptr, 16)];
        *line = Line();
        continue;
      }
      std::size_t const colon = text.rfind(':');
      if (line == nullptr || !line->file.empty() || colon == std::string::npos) continue;
      std::string const file = text.substr(0, colon);
      if (is_of_system(file)) continue;
      line->file = file;
      line->number = std::atoi(text.c_str() + colon + 1);
      line->code = statement(file, line->number);
    }
    pclose(pipe);
  }
  for (std::size_t k = 0; k < places.size(); ++k)
    lines[k] = found[reinterpret_cast<std::uintptr_t>(places[k]) - begin - 1];
  return lines;
}

}  // namespace trellis::model
