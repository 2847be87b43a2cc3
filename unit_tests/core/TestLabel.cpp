// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a label may be made of, and that it has its text as long as it lives.
#include <Trellis_Label.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <utility>

namespace trellis {
namespace {

std::string text_of(Label const& label) {
  return label.string();
}
/// As a call that submits a task takes it.
Label kept(Label label) {
  return label;
}

struct Named {
  char const name[8] = "member";
};
struct Convertible {
  operator std::string() const { return "converted"; }
};

TEST(Label, IsMadeOfWhateverAStringIsMadeOf) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "step %d", 3);
  char const constant[] = "constant";
  static char const kept_by_the_program[16] = "static";
  char full[3] = {'a', 'b', 'c'};  // without an end
  char const* const pointer = constant;
  char* const writable = buffer;
  std::string const text = "string";
  EXPECT_EQ(text_of("literal"), "literal");
  EXPECT_EQ(text_of(""), "");
  for (bool const last : {true, false})
    EXPECT_EQ(text_of(last ? "even" : "odd "), last ? "even" : "odd ");
  for (bool const last : {true, false})
    EXPECT_EQ(text_of(last ? "first" : "then"), last ? "first" : "then");
  EXPECT_EQ(text_of(buffer), "step 3");
  EXPECT_EQ(text_of(constant), "constant");
  EXPECT_EQ(text_of(kept_by_the_program), "static");
  EXPECT_EQ(text_of(full), "abc");
  EXPECT_EQ(text_of(pointer), "constant");
  EXPECT_EQ(text_of(writable), "step 3");
  EXPECT_EQ(text_of(text), "string");
  EXPECT_EQ(text_of(text + "s"), "strings");
  EXPECT_EQ(text_of(std::ref(text)), "string");
  EXPECT_EQ(text_of(Named().name), "member");
  EXPECT_EQ(text_of(Convertible()), "converted");
}

TEST(Label, HasItsTextWhenWhatItWasMadeOfHasChangedOrIsGone) {
  char buffer[16] = "before";
  static char forever[16] = "before";
  Label const of_buffer = kept(buffer);
  Label const of_static = kept(forever);
  auto view_of_const = std::make_unique<Named>();
  Label const of_member = kept(view_of_const->name);
  std::memset(static_cast<void*>(view_of_const.get()), 'x', sizeof(Named));
  view_of_const.reset();
  std::strcpy(buffer, "after");
  std::strcpy(forever, "after");
  Label const of_string = [] {
    char const local[] = "a local array of a function";
    return kept(local);
  }();
  Label const of_pointer = [] {
    std::string const text(100, 'p');
    return kept(text.c_str());
  }();
  EXPECT_EQ(of_buffer.view(), "before");
  EXPECT_EQ(of_static.view(), "before");
  EXPECT_EQ(of_member.view(), "member");
  EXPECT_EQ(of_string.view(), "a local array of a function");
  EXPECT_EQ(of_pointer.view(), std::string(100, 'p'));
  Label const copy = of_buffer;
  Label moved = kept(buffer);
  moved = Label(of_member);
  EXPECT_EQ(copy.view(), "before");
  EXPECT_EQ(moved.view(), "member");
}

#ifdef __linux__
TEST(Label, KeepsTheAddressOfALiteral) {
  char const(&literal)[8] = "literal";
  EXPECT_EQ(kept(literal).view().data(), literal);
  static char buffer[] = "buffer";
  EXPECT_NE(kept(buffer).view().data(), buffer);
}
#endif

TEST(Label, SaysThePlaceOfATaskOnce) {
  Label const named("step");
  EXPECT_EQ(named.text(), "\"step\" (" + named.place() + ")");
  EXPECT_EQ(named.text("#3"), "\"step\" (#3, " + named.place() + ")");
  Label const of_place = Label::of(std::source_location::current());
  std::string const folder =
      of_place.place().substr(0, of_place.place().size() - of_place.view().size() - 1);
  EXPECT_EQ(of_place.text(), '"' + of_place.string() + "\" (in " + folder + ")");
  EXPECT_EQ(of_place.text("#3"), '"' + of_place.string() + "\" (#3, in " + folder + ")");
  Label const whole(of_place.place(), of_place.site());  // as where the compiler was told no folder
  EXPECT_EQ(whole.text(), '"' + whole.string() + '"');
  EXPECT_EQ(whole.text("#3"), '"' + whole.string() + "\" (#3)");
  // A part of the file's name is no place.
  Label const part(of_place.string().substr(4), of_place.site());
  EXPECT_EQ(part.text(), '"' + part.string() + "\" (" + part.place() + ")");
}

}  // namespace
}  // namespace trellis
