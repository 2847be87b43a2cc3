// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace heat {
namespace {

[[noreturn]] void fail(std::filesystem::path const& file, std::string const& why) {
  throw std::runtime_error("cannot use '" + file.string() + "' as initial temperature: " + why);
}

// Returns the next number of a PGM header or body. A '#' starts a comment that ends with its line.
int next_number(std::istream& in, std::filesystem::path const& file, char const* what) {
  while ((in >> std::ws) && in.peek() == '#')
    in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  int number = 0;
  if (!(in >> number) || number < 0)
    fail(file, std::string("its ") + what + " is missing or no whole number");
  return number;
}

Picture read_pgm(std::istream& in, std::filesystem::path const& file, bool binary) {
  int const columns = next_number(in, file, "width");
  int const rows = next_number(in, file, "height");
  int const white = next_number(in, file, "largest grey value");
  if (columns < 1 || rows < 1 || columns > 65536 || rows > 65536)
    fail(file, "width and height must lie in 1 .. 65536");
  if (white < 1 || white > 65535) fail(file, "the largest grey value must lie in 1 .. 65535");
  if (binary) in.get();  // one character of white space ends the header

  Picture picture(rows, columns);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      int grey = 0;
      if (binary) {
        grey = in.get();
        if (white > 255) grey = grey * 256 + in.get();
        if (!in) fail(file, "it ends before its last pixel");
      } else {
        grey = next_number(in, file, "next pixel");
      }
      if (grey > white) fail(file, "a pixel is larger than the largest grey value");
      picture(i, j) = static_cast<double>(grey) / white;
    }
  return picture;
}

Picture read_text(std::istream& in, std::filesystem::path const& file) {
  std::vector<std::vector<double>> rows;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream words(line.substr(0, line.find('#')));
    std::vector<double> row;
    for (std::string word; words >> word;) {
      std::size_t used = 0;
      double value = 0;
      try {
        value = std::stod(word, &used);
      } catch (std::exception const&) {
      }
      if (used != word.size() || !std::isfinite(value))
        fail(file, "line " + std::to_string(number) + ": '" + word + "' is no number");
      row.push_back(value);
    }
    if (row.empty()) continue;
    if (!rows.empty() && row.size() != rows.front().size())
      fail(file, "line " + std::to_string(number) + " has " + std::to_string(row.size()) +
                     " numbers, the lines before it " + std::to_string(rows.front().size()));
    rows.push_back(std::move(row));
  }
  if (rows.empty()) fail(file, "it holds no numbers");

  Picture picture(static_cast<int>(rows.size()), static_cast<int>(rows.front().size()));
  for (int i = 0; i < picture.rows(); ++i)
    for (int j = 0; j < picture.columns(); ++j)
      picture(i, j) = rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
  return picture;
}

// Eight stops of the viridis colour map (M. Bostock, S. van der Walt, N. Smith; CC0), equal steps
// in perceived brightness.
constexpr std::array<std::array<double, 3>, 8> stops = {{{68, 1, 84},
                                                         {70, 50, 127},
                                                         {54, 92, 141},
                                                         {39, 127, 142},
                                                         {31, 161, 135},
                                                         {74, 194, 109},
                                                         {159, 218, 58},
                                                         {253, 231, 37}}};

std::array<char, 3> colour(double fraction) {
  double const place = std::clamp(fraction, 0.0, 1.0) * (stops.size() - 1);
  auto const low = std::min(static_cast<std::size_t>(place), stops.size() - 2);
  std::array<char, 3> rgb{};
  for (std::size_t k = 0; k < 3; ++k)
    rgb[k] = static_cast<char>(static_cast<unsigned char>(std::lround(
        stops[low][k] + (place - static_cast<double>(low)) * (stops[low + 1][k] - stops[low][k]))));
  return rgb;
}

std::string big_endian(std::uint32_t number) {
  return {static_cast<char>(number >> 24), static_cast<char>(number >> 16),
          static_cast<char>(number >> 8), static_cast<char>(number)};
}

// The two checksums of a PNG, computed bit by bit, as pictures are small.
std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = 0xffffffffU;
  for (char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int k = 0; k < 8; ++k) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
  }
  return ~crc;
}
std::uint32_t adler32(std::string_view bytes) {
  std::uint32_t a = 1, b = 0;
  for (char byte : bytes) {
    a = (a + static_cast<unsigned char>(byte)) % 65521;
    b = (b + a) % 65521;
  }
  return (b << 16) | a;
}

std::string chunk(std::string_view type, std::string const& data) {
  std::string body(type);
  body += data;
  return big_endian(static_cast<std::uint32_t>(data.size())) + body + big_endian(crc32(body));
}

// Returns a zlib stream of uncompressed blocks.
std::string stored(std::string const& bytes) {
  std::string stream = "\x78\x01";
  for (std::size_t at = 0; at < bytes.size();) {
    auto const length = std::min<std::size_t>(bytes.size() - at, 65535);
    stream += static_cast<char>(at + length == bytes.size() ? 1 : 0);
    for (auto number : {length, ~length}) {
      stream += static_cast<char>(number & 0xff);
      stream += static_cast<char>((number >> 8) & 0xff);
    }
    stream.append(bytes, at, length);
    at += length;
  }
  return stream + big_endian(adler32(bytes));
}

}  // namespace

double Picture::at(double down, double right) const {
  auto const place = [](double fraction, int count) {
    return std::clamp(fraction * count - 0.5, 0.0, static_cast<double>(count - 1));
  };
  double const y = place(down, m_rows), x = place(right, m_columns);
  int const i = std::min(static_cast<int>(y), std::max(m_rows - 2, 0)),
            j = std::min(static_cast<int>(x), std::max(m_columns - 2, 0));
  int const below = std::min(i + 1, m_rows - 1), next = std::min(j + 1, m_columns - 1);
  double const top = std::lerp((*this)(i, j), (*this)(i, next), x - j);
  double const bottom = std::lerp((*this)(below, j), (*this)(below, next), x - j);
  return std::lerp(top, bottom, y - i);
}

Picture read_picture(std::filesystem::path const& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in || std::filesystem::is_directory(file)) fail(file, "it cannot be opened for reading");
  std::array<char, 2> magic{};
  in.read(magic.data(), 2);
  if (in && magic[0] == 'P') {
    if (magic[1] == '2' || magic[1] == '5') return read_pgm(in, file, magic[1] == '5');
    fail(file, "of the PNM images only grey ones (P2, P5) can be read");
  }
  in.clear();
  in.seekg(0);
  return read_text(in, file);
}

void write_png(std::filesystem::path const& file, Picture const& picture) {
  double low = picture(0, 0), high = low;
  for (int i = 0; i < picture.rows(); ++i)
    for (int j = 0; j < picture.columns(); ++j) {
      low = std::min(low, picture(i, j));
      high = std::max(high, picture(i, j));
    }
  std::string pixels;
  for (int i = 0; i < picture.rows(); ++i) {
    pixels += '\0';  // this row is not filtered
    for (int j = 0; j < picture.columns(); ++j) {
      auto const rgb = colour(high > low ? (picture(i, j) - low) / (high - low) : 0.0);
      pixels.append(rgb.data(), rgb.size());
    }
  }
  std::string const header = big_endian(static_cast<std::uint32_t>(picture.columns())) +
                             big_endian(static_cast<std::uint32_t>(picture.rows())) +
                             std::string("\x08\x02\x00\x00\x00", 5);  // 8 bits, red green blue
  std::ofstream out(file, std::ios::binary);
  out << "\x89PNG\r\n\x1a\n"
      << chunk("IHDR", header) << chunk("IDAT", stored(pixels)) << chunk("IEND", "");
  if (!out.flush()) throw std::runtime_error("cannot write '" + file.string() + "'");
}

}  // namespace heat
