# SPDX-License-Identifier: Apache-2.0
"""HPDSL for Spack: a recipe for a repository of packages of your own.

Nobody has run it: only its syntax is checked, and the names of the packages are
those that Spack had when it was written.  It has no address of a release and no
checksum of one; from a source tree:

    spack dev-build -d TREE hpdsl@0.1.0

Spack before 1.0 takes MakefilePackage from spack.package."""

from spack.package import depends_on, license, variant, version
from spack_repo.builtin.build_systems.makefile import MakefilePackage


class Hpdsl(MakefilePackage):
    """Packs training datasets of millions of small files into shuffled tar
    chunks with an index, stages them to the nodes of a job over MPI, and reads
    them in shuffled order from C and Python."""

    license("Apache-2.0")

    version("0.1.0")

    variant("mpi", default=True, description="hpdsl-stage, which needs MPI")
    variant("serve", default=True,
            description="hpdsl-serve, which needs libmicrohttpd")
    variant("python", default=True, description="the Python package")

    depends_on("c", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("libarchive")
    depends_on("libyaml")
    depends_on("openssl")
    depends_on("xxhash@0.8:")
    depends_on("zlib-api")
    depends_on("zstd")
    depends_on("mpi", when="+mpi")
    depends_on("libmicrohttpd", when="+serve")
    depends_on("python@3.8:", type="run", when="+python")

    @property
    def build_targets(self):
        spec = self.spec
        # One that there is not leaves hpdsl-stage out.
        mpicc = spec["mpi"].mpicc if spec.satisfies("+mpi") else "no-mpicc"
        # Spack's compiler says itself where the libraries are.
        return ["RPATH=", f"PREFIX={self.prefix}", f"MPICC={mpicc}",
                f"PYTHONDIR={self.prefix}/lib/python3/site-packages"]

    @property
    def install_targets(self):
        return ["install"] + self.build_targets

    def setup_run_environment(self, env):
        if self.spec.satisfies("+python"):
            env.prepend_path("PYTHONPATH",
                             f"{self.prefix}/lib/python3/site-packages")
