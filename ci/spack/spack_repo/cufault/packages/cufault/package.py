# SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
# SPDX-License-Identifier: Apache-2.0
import pathlib

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Cufault(CMakePackage):
    """Reproduces documented failures of CUDA libraries, and proves which workarounds clear them."""

    # The checkout that this recipe is part of.
    git = pathlib.Path(__file__).resolve().parents[6].as_uri()

    license("Apache-2.0")

    version("main", branch="main")

    variant("cuda", default=True, description="Build the cases, which need a CUDA toolkit")

    # As harness/cmake/Dependencies.cmake and Toolkit.cmake ask for.
    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("nlohmann-json@3.10:")
    depends_on("cli11@2.1:")
    depends_on("fmt@8:")
    depends_on("pugixml@1.11:")
    depends_on("sqlite@3.37:")
    depends_on("cuda@12.0:", when="+cuda")

    requires("platform=linux", msg="cufault needs Linux")

    def cmake_args(self):
        return [
            self.define_from_variant("CUFAULT_CUDA", "cuda"),
            self.define("CUFAULT_TESTS", False),
            self.define("CUFAULT_BENCHMARKS", False),
        ]
