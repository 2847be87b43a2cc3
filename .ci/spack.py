#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""spack.py: runs the recipe for Spack with stand-ins for Spack's names. It fails if the recipe is no Python, takes a
package or a variant that Spack's builtin repository did not have on 2026-11-29, or an option that our CMake has not."""
import itertools
import pathlib
import re
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECIPE = ROOT / "cmake/packages/spack_repo/trellis/packages/trellis/package.py"
PUBLISHED = {"c": "", "cxx": "", "cmake": "", "kokkos": "cuda rocm openmp serial pic cxxstd shared wrapper",
             "kokkos-kernels": "", "hwloc": "", "spdlog": "", "nlohmann-json": "", "mpi": "", "googletest": "gmock"}
variants, dependencies, conflicting = {}, [], []


def check_spec(text):
    """Checks the names in a spec such as `kokkos@4.5:+serial` or `^kokkos@4 cxxstd=17`."""
    name = re.match(r"\^?([a-z][a-z0-9-]*)", text)
    assert name and name[1] in PUBLISHED, f"{text}: Spack has no such package"
    for variant in re.findall(r"[+~]([a-z_]+)|\s([a-z_]+)=", text):
        assert "".join(variant) in PUBLISHED[name[1]].split(), f"{text}: {name[1]} has no such variant"


def check_own(text):
    for variant in re.findall(r"[+~]([a-z_]+)", text):
        assert variant in variants, f"{text}: the recipe has no such variant"


def depends_on(spec, when="", **_):
    check_spec(spec)
    check_own(when)
    dependencies.append((spec, when))


def conflicts(spec, msg, **_):
    check_spec(spec) if spec.startswith("^") else check_own(spec)
    conflicting.append(spec)


class Spec(dict):
    def __init__(self, on):
        super().__init__()
        self.on = on

    def satisfies(self, text):
        check_own(text)
        return (text[1:] in self.on) == (text[0] == "+")

    def __missing__(self, name):
        needed = {re.match(r"[a-z-]+", spec)[0] for spec, when in dependencies if not when or self.satisfies(when)}
        assert name in needed | ({"hip"} if "hip" in self.on else set()), f"{name} is no dependency here"
        return types.SimpleNamespace(prefix="/prefix", hipcc="hipcc", kokkos_cxx="nvcc_wrapper")


class CMakePackage:
    def define(self, name, value):
        return name, value

    def define_from_variant(self, name, variant):
        return name, self.spec.satisfies("+" + variant)

    def __getitem__(self, name):
        return self.spec[name]


def main():
    package = types.ModuleType("spack.package")
    package.__dict__.update(depends_on=depends_on, conflicts=conflicts, license=lambda name: None,
                            version=lambda name, branch: None,
                            variant=lambda name, default, description: variants.update({name: default}))
    for name in ("spack", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["spack.package"] = package
    sys.modules["spack_repo.builtin.build_systems.cmake"] = types.SimpleNamespace(CMakePackage=CMakePackage)
    scope = {"__file__": str(RECIPE), "__name__": "package"}
    exec(compile(RECIPE.read_text(encoding="utf-8"), RECIPE, "exec"), scope)
    recipe = scope["Trellis"]
    assert recipe.git == f"file://{ROOT}", f"the recipe builds {recipe.git}, not this clone"
    assert {"cuda", "hip", "openmp", "mpi", "kernels", "tests"} <= set(variants)

    known = "".join(path.read_text(encoding="utf-8") for path in [ROOT / "CMakeLists.txt", *ROOT.glob("cmake/*.cmake")])
    tried = 0
    for chosen in itertools.product((False, True), repeat=len(variants)):
        on = {name for name, is_on in zip(variants, chosen) if is_on}
        if {"cuda", "hip"} <= on:
            continue
        self = recipe()
        self.spec = Spec(on)
        for name, _ in self.cmake_args():
            if name.startswith("Trellis_"):
                assert re.search(rf"\b(option\(|set\(){name}\b", known), f"CMake has no option {name}"
        tried += 1
    print(f"{len(dependencies)} dependencies, {len(variants)} variants, {tried} combinations")


main()
