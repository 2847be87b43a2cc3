#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/names.md: every name of namespace trellis with its tier, its header and a sentence.

    docs/names.py            writes the page
    docs/names.py --check    fails if the page is another one: a name has come, gone or moved
    docs/names.py --list     prints `tier name header` for each name

A name is a type, function, variable, alias or concept that a header declares in namespace trellis
or in a namespace inside it, other than trellis::Impl. Forward declarations declare no name here.
The tier of a name follows from the header that declares it:

    first         <Trellis.hpp> includes that header itself
    comes along   <Trellis.hpp> reaches it through others, because their signatures need it
    topic         a topic header is that header, or includes it itself
    experimental  the name is in trellis::experimental, in a header of one of the tiers above

The headers are read as text, without a compiler, and conditions are not evaluated.
"""

import difflib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "names.md"
LAYERS = ("core", "spaces", "policies")
FIRST = "Trellis.hpp"
# How a program includes them. The components come with targets of their own.
TOPICS = (
    "Trellis_Resources.hpp",
    "Trellis_States.hpp",
    "Trellis_Numbers.hpp",
    "Trellis_Late.hpp",
    "Trellis_Algorithms.hpp",
    "Trellis_Threads.hpp",
    "Trellis_Scheduling.hpp",
    "Trellis_Fusion.hpp",
    "Trellis_Recorded.hpp",
    "Trellis_Observation.hpp",
    "Trellis_Simulated.hpp",
)
COMPONENTS = {
    "Trellis_Fields.hpp": "policies/fields",
    "Trellis_Worklets.hpp": "policies/worklets",
    "Trellis_Mpi.hpp": "policies/mpi",
    "Trellis_Kernels.hpp": "policies/kernels",
    "senders/Trellis_Sender.hpp": "policies",
}

TOKEN = re.compile(
    r"""(?P<doc>///[^\n]*)
      | (?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<directive>^[ \t]*\#(?:\\\n|[^\n])*)
      | (?P<text>(?:u8|[uUL])?R"(?P<mark>[^(\n]*)\(.*?\)(?P=mark)"
               |"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      | (?P<number>\.?\d[\w.']*)
      | (?P<word>[A-Za-z_]\w*)
      | (?P<sign>::|->|[^\s\w])""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
CLASS_WORDS = ("class", "struct", "union", "enum")
# May stand before a declaration and say nothing about its name.
LEADING_WORDS = ("inline", "constexpr", "consteval", "constinit", "static", "explicit", "extern",
                 "KOKKOS_FUNCTION", "KOKKOS_INLINE_FUNCTION", "KOKKOS_FORCEINLINE_FUNCTION")
# TRELLIS_KERNEL(name, ...) declares an object that is called as a function.
DECLARING_MACRO = "TRELLIS_KERNEL"
# A mark of a declaration, which says nothing about its name.
MARK = "TRELLIS_IMPL_ONE_FOR_ALL"


def after_bracket(words, at, opening, closing):
    """Where the text goes on behind the bracket that opens at `at`."""
    depth = 0
    while at < len(words):
        if words[at] == opening:
            depth += 1
        elif words[at] == closing:
            depth -= 1
            if depth == 0:
                return at + 1
        elif opening == "<" and words[at] in "([":  # a comparison may be in there
            at = after_bracket(words, at, words[at], ")" if words[at] == "(" else "]")
            continue
        at += 1
    return at


def after_requires(words, at):
    """The same behind the constraint whose `requires` is at `at`. (Braces have been left out.)"""
    at += 1
    while at < len(words):
        if words[at] == "requires":
            at += 1
            if at < len(words) and words[at] == "(":
                at = after_bracket(words, at, "(", ")")
        elif words[at] == "(":
            at = after_bracket(words, at, "(", ")")
        else:  # a concept or a constant, with its namespace and arguments
            while True:
                at += 1
                if at < len(words) and words[at] == "<":
                    at = after_bracket(words, at, "<", ">")
                if at < len(words) and words[at] == "::":
                    at += 1
                    continue
                break
        if words[at:at + 2] not in (["&", "&"], ["|", "|"]):
            break
        at += 2
    return at


def without_prefix(words):
    """The declaration without template parameters, constraints, attributes and specifiers."""
    at = 0
    while at < len(words):
        if words[at] == "template":
            if words[at + 1:at + 2] != ["<"]:
                return []  # an explicit instantiation
            at = after_bracket(words, at + 1, "<", ">")
        elif words[at] == "requires":
            at = after_requires(words, at)
        elif words[at] == "[":
            at = after_bracket(words, at, "[", "]")
        elif words[at] in LEADING_WORDS:
            at += 1
        else:
            break
    return words[at:]


def is_specialisation(words):
    return any(words[k:k + 3] == ["template", "<", ">"] for k in range(len(words)))


def declared(words, has_body):
    """The (kind, name) that a declaration introduces, or None."""
    rest = without_prefix(words)
    if not rest or rest[0] in ("static_assert", "namespace", "friend"):
        return None
    if rest[0] == "using":
        if rest[1] == "namespace":
            return None
        return ("alias", rest[1] if "=" in rest else rest[-1])
    if rest[0] == "concept":
        return ("concept", rest[1])
    if rest[0] in CLASS_WORDS:
        at = 1
        while at < len(rest) and rest[at] in ("class", "struct", "["):
            at = after_bracket(rest, at, "[", "]") if rest[at] == "[" else at + 1
        if rest[at + 1:at + 2] in (["<"], ["::"]) or not has_body:
            return None  # a specialisation, a member, or a forward declaration
        return ("enumeration" if rest[0] == "enum" else "class", rest[at])
    at, name, is_member = 0, None, False
    while at < len(rest):
        word = rest[at]
        if word == "operator":
            return None
        if word in ("decltype", "noexcept", "alignas") and rest[at + 1:at + 2] == ["("]:
            at = after_bracket(rest, at + 1, "(", ")")
            continue
        if word == "<" and name:
            at = after_bracket(rest, at, "<", ">")
            continue
        if word == "(":
            if name == DECLARING_MACRO:
                return ("function", rest[at + 1])
            # A deduction guide and a call of another macro have nothing before the name; a
            # specialisation has arguments behind it.
            if name is None or is_member or at == 1 or rest[at - 1] == ">":
                return None
            return ("function", name)
        if word in ("=", "["):
            break
        if re.match(r"[A-Za-z_]", word):
            is_member = at > 0 and rest[at - 1] == "::"
            name = word
        at += 1
    if name is None or at < 2 or rest[at - 1] == ">" or is_specialisation(words):
        return None
    return ("variable", name)


def declarations(text):
    """(namespaces, lines of its comment, words, has it a body) of each declaration in a header.

    Declarations without a blank line between them share the comment of the first one.
    """
    text = re.sub(rf"\b{MARK}\b ?", "", text)
    scopes, words, comment = [], [], []
    shared, end = [], 0
    braces = brackets = 0
    body = False

    def ends_with_brace():
        rest = without_prefix(words)
        if not rest or rest[0] in CLASS_WORDS or "concept" in words:
            return False
        found = declared(words, True)
        return not (found and found[0] == "variable")

    for match in TOKEN.finditer(text):
        kind, word = match.lastgroup, match.group(0)
        if kind in ("comment", "directive"):
            continue
        if braces == 0 and not words and not comment:
            shared = [] if "\n\n" in text[end:match.start()] else shared
        if kind == "doc":
            if braces == 0 and not words:
                comment.append(word[3:].rstrip())
            continue
        if braces:
            braces += {"{": 1, "}": -1}.get(word, 0)
            if braces == 0 and ends_with_brace():
                shared, end = comment or shared, match.end()
                yield scopes, shared, words, True
                words, comment, body = [], [], False
        elif word == "{" and words[:1] == ["namespace"]:
            scopes = scopes + ["".join(words[1:])]
            words, comment, shared = [], [], []
        elif word == "{" and brackets == 0:
            braces, body = 1, True
        elif word == "}" and brackets == 0:
            scopes, words, comment, shared = scopes[:-1], [], [], []
        elif word == ";" and brackets == 0:
            shared, end = comment or shared, match.end()
            if words:
                yield scopes, shared, words, body
            words, comment, body = [], [], False
        else:
            brackets += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(word, 0)
            words = words + [word]


def first_sentence(lines):
    paragraph = []
    for line in lines:
        if paragraph and (not line.strip() or line.startswith("     ")):
            break
        if line.strip():
            paragraph.append(line.strip())
    text = " ".join(paragraph)
    match = re.match(r"(.*?[^.]\.)(?= [A-Z`(]| *$)", text)
    sentence = match.group(1) if match else text
    return sentence.rstrip(":") + ("." if sentence.endswith(":") else "")


class Headers:
    """The headers of the tree, by the names under which they include each other."""

    def __init__(self):
        self.paths, self.texts = {}, {}
        for layer in LAYERS:
            for path in sorted((ROOT / layer).rglob("*.hpp")):
                self.paths[str(path.relative_to(ROOT / layer))] = path
        for folder in COMPONENTS.values():
            for path in sorted((ROOT / folder).glob("*.hpp")):
                self.paths.setdefault(path.name, path)

    def text(self, header):
        if header not in self.texts:
            self.texts[header] = self.paths[header].read_text()
        return self.texts[header]

    def included(self, header):
        found = re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', self.text(header), re.MULTILINE)
        return [each for each in found if each in self.paths]

    def reached(self, header):
        seen, left = {header: None}, [header]
        while left:
            for each in self.included(left.pop()):
                if each not in seen:
                    seen[each] = None
                    left.append(each)
        return list(seen)

    def introduction(self, header):
        """The first sentence of a header's own comment."""
        lines = []
        for line in self.text(header).split("\n"):
            if line.startswith("///"):
                lines.append(line[3:].rstrip())
            elif lines:
                break
        return first_sentence(lines)


def names_in(headers, header):
    """{name: (kind, sentence)} of what one header declares for users."""
    names = {}
    for scopes, comment, words, body in declarations(headers.text(header)):
        inside = "::".join(scopes).split("::")
        if inside[0] != "trellis" or "Impl" in inside or "" in inside:
            continue
        found = declared(words, body)
        if found is None:
            continue
        name = "::".join(inside[1:] + [found[1]])
        known = names.get(name, (found[0], ""))
        names[name] = (known[0], known[1] or first_sentence(comment))
    return names


def collect():
    """The headers; [("first" or "topic", header, {name: [kind, sentence, header]})]; the names that
    come along; {experimental name: [kind, sentence, header]}; sentences on what is wrong."""
    headers = Headers()
    wrong, tiers, seen = [], [], {}
    experimental = {}
    declared_in = {path: names_in(headers, header) for header, path in headers.paths.items()}

    def names_of(sources, include_as):
        names = {}
        for header in sources:
            for name, (kind, sentence) in declared_in[headers.paths[header]].items():
                if name in seen:
                    if not seen[name][1]:
                        seen[name][1] = sentence
                    continue
                entry = [kind, sentence, include_as]
                seen[name] = entry
                (experimental if name.startswith("experimental::") else names)[name] = entry
        return dict(sorted(names.items()))

    tiers.append(("first", FIRST, names_of(headers.included(FIRST), FIRST)))
    for topic in TOPICS + tuple(COMPONENTS):
        tiers.append(("topic", topic, names_of([topic] + headers.included(topic), topic)))
    along = {name for header in headers.reached(FIRST)
             for name in declared_in[headers.paths[header]]
             if not name.startswith("experimental::")} - set(tiers[0][2])
    for header, path in headers.paths.items():
        for name in declared_in[path]:
            if name not in seen:
                wrong.append(f"{name} is in {path.relative_to(ROOT)}, which neither <{FIRST}> nor "
                             "a topic header includes: it has no tier")
    wrong += [f"{name} has no comment" for name, (_, sentence, _) in seen.items() if not sentence]
    return headers, tiers, along, dict(sorted(experimental.items())), wrong


def write_table(names, with_header=False):
    lines = ["| name | what it is |" + (" header |" if with_header else ""),
             "|---|---|" + ("---|" if with_header else "")]
    for name, (_, sentence, header) in names.items():
        sentence = sentence.replace("|", "\\|")
        lines.append(f"| `{name}` | {sentence} |" + (f" `<{header}>` |" if with_header else ""))
    return lines + [""]


def make_page(headers, tiers, along, experimental):
    first = tiers[0][2]
    lines = [
        "# Names",
        "",
        "This page is made by `docs/names.py`; a test compares the two.",
        "",
        "Every name is in namespace `trellis`, and belongs to one of three tiers:",
        "",
        f"- The **first tier** is what most programs need: {len(first)} names, in `<Trellis.hpp>`.",
        "- A **topic** is for those that need it. Each has a header of its own.",
        "- What is **experimental** is in namespace `trellis::experimental`, and may still change.",
        "",
        "A name joins the first tier when `<Trellis.hpp>` itself includes the header that declares",
        "it. Some names of the topics come along with `<Trellis.hpp>`, as members and signatures",
        "of the first tier mention them. A program that uses these by name includes their topic.",
        "",
        f"## First tier: `<{FIRST}>`",
        "",
    ]
    lines += write_table(first)
    for _, topic, names in tiers[1:]:
        lines += [f"## `<{topic}>`", "", headers.introduction(topic), ""] + write_table(names)
    lines += ["## Experimental", "",
              "What no example of this project uses may change or go in any version.", ""]
    lines += write_table(experimental, with_header=True)
    lines += ["## What comes along", "",
              "These names of the topics are visible where `<Trellis.hpp>` is included:", ""]
    where = {name: topic for _, topic, names in tiers for name in names}
    lines += [f"- `{name}` of `<{where[name]}>`" for name in sorted(along & set(where))]
    return "\n".join(lines) + "\n"


def main():
    headers, tiers, along, experimental, wrong = collect()
    if "--list" in sys.argv:
        for kind, topic, names in tiers:
            for name in names:
                print(kind, name, topic)
        for name in experimental:
            print("experimental", name, experimental[name][2])
        return 0
    for each in wrong:
        print(f"names.py: {each}", file=sys.stderr)
    page = make_page(headers, tiers, along, experimental)
    if "--check" not in sys.argv:
        PAGE.write_text(page)
        return 1 if wrong else 0
    before = PAGE.read_text() if PAGE.exists() else ""
    if page != before:
        print("names.py: docs/names.md does not list the names as they are; if they are meant to "
              "be so, run docs/names.py", file=sys.stderr)
        sys.stderr.writelines(difflib.unified_diff(
            before.splitlines(True), page.splitlines(True), "docs/names.md", "the headers", n=0))
    return 1 if wrong or page != before else 0


if __name__ == "__main__":
    sys.exit(main())
