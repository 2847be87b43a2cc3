# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The pages of the reference, for conf.py: every public name with its declarations, its members and
what their comments say. Doxygen reads the headers, names.py says which names are public, and where.

Not Breathe, which puts Doxygen's output on Sphinx's pages: it shows what belongs to nobody's
interface (overloads that are deleted for their messages), and knows no tiers."""
import importlib.util
import os
import re
import subprocess
import xml.etree.ElementTree as xml

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OPTIONS = """
QUIET = YES
WARNINGS = NO
WARN_IF_UNDOCUMENTED = NO
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = KOKKOS_FUNCTION= KOKKOS_INLINE_FUNCTION= KOKKOS_FORCEINLINE_FUNCTION= TRELLIS_IMPL_ONE_FOR_ALL=
EXCLUDE_SYMBOLS = *Impl*
SORT_MEMBER_DOCS = NO
"""


def load_names():
    spec = importlib.util.spec_from_file_location("names", os.path.join(ROOT, "docs", "names.py"))
    names = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(names)
    return names


def run_doxygen(paths, folder):
    os.makedirs(folder, exist_ok=True)
    doxyfile = os.path.join(folder, "Doxyfile")
    with open(doxyfile, "w", encoding="utf-8") as file:
        file.write(OPTIONS + f"OUTPUT_DIRECTORY = {folder}\nINPUT = {' '.join(paths)}\n")
    subprocess.run(["doxygen", doxyfile], check=True, cwd=ROOT, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return os.path.join(folder, "xml")


# --- a description as Markdown -------------------------------------------------------------------

def escaped(text):
    for sign in "\\*_<>[]|":
        text = text.replace(sign, "\\" + sign)
    return text


def plain(node):
    return "".join(node.itertext()) if node is not None else ""


def inline(node):
    text = escaped(" ".join((node.text or "").split("\n")))
    for child in node:
        if child.tag == "computeroutput":
            text += f"`{plain(child)}`"
        elif child.tag == "emphasis":
            text += f"*{inline(child)}*"
        elif child.tag == "bold":
            text += f"**{inline(child)}**"
        elif child.tag == "ulink":
            text += f"[{inline(child)}]({child.get('url')})"
        elif child.tag == "sp":
            text += " "
        elif child.tag not in BLOCKS:
            text += inline(child)
        text += escaped(" ".join((child.tail or "").split("\n")))
    return text


def code_lines(node):
    def text_of(part):
        text = " " if part.tag == "sp" else (part.text or "")
        return text + "".join(text_of(child) + (child.tail or "") for child in part)
    lines = node.findall("codeline")
    return "\n".join(text_of(line) for line in lines) if lines else plain(node).strip("\n")


def items(node, mark):
    found = []
    for number, item in enumerate(node.findall("listitem"), 1):
        lines = "\n\n".join(blocks(item)).split("\n")
        lead = "- " if mark == "-" else f"{number}. "
        found.append(lead + ("\n" + " " * len(lead)).join(lines))
    return "\n".join(found)


def table(node):
    rows = [[inline(entry.find("para")) if entry.find("para") is not None else ""
             for entry in row.findall("entry")] for row in node.findall("row")]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0])] + lines[1:]) if rows else ""


BLOCKS = {
    "programlisting": lambda node: f"```cpp\n{code_lines(node)}\n```",
    "verbatim": lambda node: f"```\n{code_lines(node)}\n```",
    "preformatted": lambda node: f"```\n{code_lines(node)}\n```",
    "itemizedlist": lambda node: items(node, "-"),
    "orderedlist": lambda node: items(node, "1"),
    "table": table,
}


def blocks(node):
    """The paragraphs, lists and examples below this node."""
    found = []
    for para in node.findall("para"):
        text, rest = escaped(" ".join((para.text or "").split("\n"))), []
        for child in para:
            if child.tag in BLOCKS:
                rest.append(text.strip())
                rest.append(BLOCKS[child.tag](child))
                text = ""
            else:
                shell = xml.Element("para")
                shell.append(child)
                tail, child.tail = child.tail, None
                text += inline(shell)
                child.tail = tail
            text += escaped(" ".join((child.tail or "").split("\n")))
        found += [part for part in rest + [text.strip()] if part]
    return found


def description(member):
    return [part for tag in ("briefdescription", "detaileddescription", "inbodydescription")
            if member.find(tag) is not None for part in blocks(member.find(tag))]


# --- declarations --------------------------------------------------------------------------------

def template_of(node):
    found = node.find("templateparamlist")
    if found is None:
        return ""
    params = []
    for param in found.findall("param"):
        text = plain(param.find("type"))
        name = plain(param.find("declname"))
        if name and name not in text.split():
            text += " " + name
        if param.find("defval") is not None:
            text += " = " + plain(param.find("defval"))
        params.append(text)
    return f"template <{', '.join(params)}>\n"


def tidy(text):
    text = re.sub(r"< ", "<", re.sub(r" >", ">", text))
    text = re.sub(r"\s*(&&|[&*])\s*(?=\w)", r"\1 ", text)  # Doxygen writes `T &&x`
    text = re.sub(r"\s+(&&|[&*])", r"\1", text)
    text = re.sub(r"(&&|[&*])\s*\.\.\.\s*", r"\1... ", text)
    return re.sub(r"\s+([),>])", r"\1", text).replace(">requires", "> requires")


def wrapped(text):
    """A long declaration has a line for each parameter."""
    head, _, last = text.rpartition("\n")
    if len(last) <= 90 or "(" not in last:
        return text
    start, end = last.index("(") + 1, last.rindex(")")
    parts, depth, part = [], 0, ""
    for sign in last[start:end]:
        depth += (sign in "<([{") - (sign in ">)]}")
        if sign == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += sign
    parts.append(part.strip())
    last = last[:start] + "\n    " + ",\n    ".join(parts) + last[end:]
    return (head + "\n" if head else "") + last


def declaration(member):
    kind, name = member.get("kind"), plain(member.find("name"))
    if kind == "enum":
        values = ", ".join(plain(value.find("name")) for value in member.findall("enumvalue"))
        return wrapped(f"enum class {name} {{ {values} }};")
    start = template_of(member)
    type_of = plain(member.find("type")).replace("[[nodiscard]]", "").strip()
    if kind == "typedef":
        if "Impl::" in type_of:
            type_of = "..."
        return tidy(f"{start}using {name} = {type_of};")
    if "Impl::" in type_of:  # what users need not name
        type_of = "constexpr auto" if type_of.startswith("constexpr") else "auto"
    if member.get("static") == "yes" and not type_of.startswith("static"):
        type_of = "static " + type_of
    text = f"{type_of} {name}{plain(member.find('argsstring'))}"
    if kind == "variable" and member.find("initializer") is not None:
        text += " " + plain(member.find("initializer"))
    text = re.sub(r"\s*=\s*default$", "", text.strip())
    return wrapped(start + tidy(text) + ";")


def is_shown(member):
    """False: it is there for its message, or not for users."""
    args, told = plain(member.find("argsstring")), " ".join(description(member))
    if "=delete" in args.replace(" ", "") or member.get("kind") == "friend" or told.startswith("Refuses"):
        return False
    return bool(told) or "Impl::" not in args + plain(member.find("type"))


def member_text(members):
    """Members that follow each other without a comment belong to the one before."""
    lines, declared, told = [], [], []

    def close():
        if declared:
            lines.append("```cpp\n" + "\n".join(declared) + "\n```")
            lines.extend(told)
        declared.clear()
        told.clear()
    for member in members:
        said = description(member)
        if member.get("kind") == "variable" and len(said) < 2 and "\n" not in "".join(said):
            close()
            lines.append(f"- `{declaration(member)[:-1]}`" + (f": {said[0]}" if said else ""))
            continue
        if member.get("kind") == "enum":
            for value in member.findall("enumvalue"):
                of_value = " ".join(description(value))
                if of_value:
                    said.append(f"- `{plain(value.find('name'))}`: {of_value}")
        if said or not declared:
            close()
            told.extend(said)
        declared.append(declaration(member))
    close()
    return joined(lines)


def joined(lines):
    """The items of a list have no empty lines between them."""
    found = []
    for line in lines:
        if line.startswith("- ") and found and found[-1].startswith("- "):
            found[-1] += "\n" + line
        else:
            found.append(line)
    return found


class Reference:
    def __init__(self, folder):
        names = load_names()
        headers, self.tiers, _, self.experimental, _ = names.collect()
        paths = [str(path) for header, path in headers.paths.items() if names.names_in(headers, header)]
        self.introduction = headers.introduction
        self.xml = run_doxygen(sorted(paths), folder)
        self.compounds, self.members = {}, {}
        for compound in xml.parse(os.path.join(self.xml, "index.xml")).findall("compound"):
            name, kind = compound.findtext("name"), compound.get("kind")
            if kind in ("class", "struct"):
                self.compounds[name] = compound.get("refid")
            elif kind == "namespace" and name.startswith("trellis"):
                tree = xml.parse(os.path.join(self.xml, compound.get("refid") + ".xml"))
                for member in tree.findall(".//memberdef"):
                    self.members.setdefault(name + "::" + member.findtext("name"), []).append(member)
            elif kind == "concept":
                self.compounds[name] = compound.get("refid")

    def entry(self, name, header, sentence, says_header):
        full = "trellis::" + name
        lines = [f"## `{name}`"] + ([f"In `<{header}>`."] if says_header else [])
        begin = len(lines)
        shown = [member for member in self.members.get(full, ()) if is_shown(member)]
        if full in self.compounds:
            tree = xml.parse(os.path.join(self.xml, self.compounds[full] + ".xml")).find("compounddef")
            if tree.get("kind") == "concept":
                lines.append("```cpp\n" + tidy(plain(tree.find("initializer")).strip()) + "\n```")
            else:
                lines.append(f"```cpp\n{template_of(tree)}{tree.get('kind')} {name.split('::')[-1]};\n```")
            lines += description(tree)
            public = [member for section in tree.findall("sectiondef")
                      if section.get("kind", "").startswith(("public", "user-defined"))
                      for member in section.findall("memberdef")
                      if member.get("prot") == "public" and is_shown(member)]
            lines += member_text(public)
        lines += member_text(shown)
        if len(lines) == begin:
            lines.append(sentence)
        return lines

    def page(self, title, intro, names, says_header):
        lines = [f"# {title}"] + ([intro] if intro else [])
        for name, (_, sentence, header) in sorted(names.items(), key=lambda each: each[0].lower()):
            lines += self.entry(name, header, sentence, says_header)
        return "\n\n".join(lines) + "\n"


def write(srcdir, folder):
    """Writes reference.md and reference/*.md into the source folder of the site."""
    reference = Reference(folder)
    os.makedirs(os.path.join(srcdir, "reference"), exist_ok=True)
    pages = []

    def add(slug, title, intro, names, says_header=False):
        pages.append((slug, title))
        with open(os.path.join(srcdir, "reference", slug + ".md"), "w", encoding="utf-8") as file:
            file.write(reference.page(title, intro, names, says_header))
    for _, header, names in reference.tiers:
        slug = os.path.basename(header).replace("Trellis_", "").replace(".hpp", "").lower()
        intro = reference.introduction(header)
        add("first_tier" if slug == "trellis" else slug, f"`<{header}>`", intro and escaped(intro), names)
    add("experimental", "`trellis::experimental`", "These names may change or go in any version.",
        reference.experimental, True)
    with open(os.path.join(srcdir, "reference.md"), "w", encoding="utf-8") as file:
        file.write("# Reference\n\nEvery public name, by the header that a program includes. A "
                   "[list](names.md) has them in one table.\n\n```{toctree}\n\n"
                   + "".join(f"reference/{slug}\n" for slug, _ in pages) + "```\n")
