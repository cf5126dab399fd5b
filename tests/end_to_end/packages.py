#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of packages: the tarball of `make dist`, the files of `make install`, the package of
`make deb`, and a program with cJSON in it. The last needs STATIC=1; without libcjson.a,
CBANK_FETCH=1 lets it fetch the source. Everything is made of a repository that holds the tree as
it is, without CUDA, in folders whose names shells and makes take apart."""

import glob
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import unittest
import zipfile

from common import FULL, ROOT, kept_folder, read_bytes

LEFT_OUT = shutil.ignore_patterns(".git", "build", "local", "__pycache__")
# A make of its own: nothing of the job server or the variables of the make that runs the tests.
OURS = ("MAKE", "MFLAGS", "GIT_", "SOURCE_DATE_EPOCH")
CLEAN = {key: value for key, value in os.environ.items() if not key.startswith(OURS)}

# Names of folders. Make itself would replace what follows a dollar: DESTDIR and PREFIX have none.
ODD = "-my 'odd' \"dir\"\t%s;#(x)\n*"
ODDER = ODD + "$(HOME) `id` $$"

# The installed files of every kind, by their folder below the prefix.
PROGRAMS = ("bin/cbank", "share/cbank/scripts/fleet_run.sh", "share/cbank/scripts/fleet.sbatch")
INSTALLED = {
    "bin/cbank": "build/cbank",
    "include/cbank.cuh": "kernels/cbank.cuh",
    "include/cbank_shared.cuh": "kernels/cbank_shared.cuh",
    "include/cbank_case.h": "kernels/cbank_case.h",
    "share/cbank/scripts/fleet_run.sh": "scripts/fleet_run.sh",
    "share/cbank/scripts/fleet.sbatch": "scripts/fleet.sbatch",
    "share/bash-completion/completions/cbank": "docs/cbank.bash",
    "share/man/man1/cbank.1": "docs/cbank.1",
}
MANIFEST = "share/cbank/manifest"
# What editors leave beside a source, and a module that an earlier version had.
STRAY = ("report.py~", ".report.py.swp", "#report.py#")
STALE = "scripts/build/lib/cbank/stale.py"
INSTALLED_FROM = {
    "share/cbank": "results/*schema.json",
    "share/cbank/cards": "results/cards/*.json",
    "share/cbank/examples": "examples/*.cu",
    **{
        f"share/cbank/python/{folder}": f"scripts/{folder}/*.*"
        for folder in ("cbank", "cbank/figures", "cbank/templates")
    },
}


def run(folder, *command, umask=0o022, status=0):
    done = subprocess.run(
        command,
        cwd=folder,
        env=CLEAN,
        umask=umask,
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
    if done.returncode != status:
        raise AssertionError(f"{command} exits {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def git(folder, *arguments):
    """Commits are old: so are the files of a tarball, older than what is compiled of them."""
    return run(
        folder,
        "env",
        "GIT_COMMITTER_DATE=2001-02-03T04:05:06Z",
        "git",
        "-c",
        "user.name=Nobody",
        "-c",
        "user.email=",
        "-c",
        "commit.gpgsign=false",
        *arguments,
    )


def sha256(path):
    return hashlib.sha256(read_bytes(path)).hexdigest()


def read(*path):
    return read_bytes(os.path.join(*path)).decode()


def files_below(folder):
    return {
        os.path.relpath(os.path.join(place, name), folder)
        for place, _, names in os.walk(folder)
        for name in names
    }


def expected_files(source):
    """Where `make install` puts which file, of those of a source tree."""
    files = dict(INSTALLED)
    for place, pattern in INSTALLED_FROM.items():
        files.update(
            {
                f"{place}/{os.path.basename(path)}": os.path.relpath(path, source)
                for path in glob.glob(os.path.join(glob.escape(source), pattern))
                if os.path.basename(path) not in STRAY
            }
        )
    return files


def fetchable():
    """Whether cJSON can be linked in: the library is there, or may be made of what is fetched."""
    archive = run("/", os.environ.get("CC", "gcc"), "-print-file-name=libcjson.a").strip()
    return os.path.isabs(archive) or (os.environ.get("CBANK_FETCH") and shutil.which("apt-get"))


@unittest.skipUnless(shutil.which("git"), "no git")
class Packaging(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = os.path.join(kept_folder(cls), ODDER)
        os.mkdir(cls.folder)
        cls.repository = os.path.join(cls.folder, "repository")
        shutil.copytree(ROOT, cls.repository, ignore=LEFT_OUT)
        git(cls.repository, "init", "-q")
        git(cls.repository, "add", "-A")
        git(cls.repository, "commit", "-qm", "all")
        cls.commit = git(cls.repository, "rev-parse", "HEAD").strip()
        cls.version = read(ROOT, "VERSION").strip()

        run(cls.repository, "make", "dist", "NO_CUDA=1")
        cls.tarball = os.path.join(cls.repository, f"build/cbank-{cls.version}.tar.gz")
        with tarfile.open(cls.tarball) as archive:
            archive.extractall(cls.folder)
        cls.source = os.path.join(cls.folder, f"cbank-{cls.version}")
        cls.take_objects("build")
        cls.make("all")

    @classmethod
    def take_objects(cls, build, folder=None):
        """Gives a build what this tree's has compiled of files as old, and what each file needs."""
        if os.path.isdir(f"{ROOT}/build/obj"):
            shutil.copytree(
                f"{ROOT}/build/obj",
                os.path.join(folder or cls.source, build, "obj"),
                ignore=shutil.ignore_patterns("simulated", "tests"),
            )

    @classmethod
    def make(cls, *arguments, **how):
        return run(cls.source, "make", "NO_CUDA=1", *arguments, **how)

    def check_version(self, program):
        self.assertEqual(
            run("/", program, "--version"), f"cbank {self.version} (commit {self.commit})\n"
        )

    def check_published(self, folder):
        """No program looks for libraries beside itself, and no file tells where it was made."""
        for name in sorted(files_below(folder)):
            path = os.path.join(folder, name)
            with self.subTest(name):
                for origin in (self.folder, ROOT):  # objects were taken from there
                    self.assertFalse(os.fsencode(origin) in read_bytes(path), "it tells its origin")
                if read_bytes(path).startswith(b"\x7fELF"):
                    self.assertNotRegex(run("/", "readelf", "-d", path), "RPATH|RUNPATH")

    def package(self, *arguments, **how):
        return os.path.join(self.source, self.make("-s", "deb", *arguments, **how).split()[-1])

    def check_wheel(self, path):
        """The wheel has the package as it is committed, the schemas and the licence."""
        source = os.path.join(self.repository, "scripts")
        tracked = git(self.repository, "ls-files", "-z", "scripts/cbank").split("\0")
        schemas = glob.glob(os.path.join(glob.escape(self.repository), "results/*schema.json"))
        with zipfile.ZipFile(path) as wheel:
            names = {name for name in wheel.namelist() if ".dist-info/" not in name}
            for name in names & files_below(source):
                self.assertEqual(wheel.read(name), read_bytes(os.path.join(source, name)), name)
            self.assertEqual(wheel.read("cbank/LICENSE").decode(), read(ROOT, "LICENSE"))
        self.assertEqual(
            names,
            {name.removeprefix("scripts/") for name in tracked if name}
            | {f"cbank/schemas/{os.path.basename(name)}" for name in schemas}
            | {"cbank/LICENSE"},
        )

    def test_wheel(self):
        """A wheel that is built where an earlier one was: its old modules are not in it."""
        stale = os.path.join(self.repository, STALE)
        os.makedirs(os.path.dirname(stale))
        self.addCleanup(shutil.rmtree, os.path.join(self.repository, "scripts/build"))
        open(stale, "w", encoding="utf-8").close()
        place = kept_folder(type(self))
        run(
            os.path.join(self.repository, "scripts"),
            sys.executable,
            "setup.py",
            "-q",
            "bdist_wheel",
            "--dist-dir",
            place,
        )
        (name,) = os.listdir(place)
        self.check_wheel(os.path.join(place, name))

    def field(self, package, name):
        return run("/", "dpkg-deb", "-f", package, name).strip()

    def test_tarball_is_the_same_bytes_twice(self):
        run(self.repository, "make", "dist", "BUILD=build/again", "NO_CUDA=1", umask=0o077)
        self.assertEqual(
            sha256(os.path.join(self.repository, f"build/again/cbank-{self.version}.tar.gz")),
            sha256(self.tarball),
        )
        with tarfile.open(self.tarball) as archive:
            for member in archive:
                self.assertEqual(
                    (member.uname, member.gname, member.name.split("/")[0]),
                    ("root", "root", f"cbank-{self.version}"),
                )

    def test_tarball_knows_its_commit(self):
        self.check_version(os.path.join(self.source, "build/cbank"))

    def test_no_tarball_without_git(self):
        run(self.source, "make", "dist", status=2)

    def test_install_and_uninstall(self):
        """An old version's file goes, a user's own stays, beside a folder whose name is the
        first word of the prefix."""
        for name in STRAY:
            path = os.path.join(self.source, "scripts/cbank", name)
            open(path, "w", encoding="utf-8").close()
            self.addCleanup(os.remove, path)
        place = os.path.join(kept_folder(type(self)), ODD)
        where = f"DESTDIR={place}", f"PREFIX=/{ODD}/usr"
        prefix = os.path.join(place, ODD, "usr")
        self.make("install", *where, umask=0o077)
        expected = expected_files(self.source)
        self.assertEqual(files_below(prefix), {*expected, MANIFEST})
        own = [
            "share/cbank/python/own.py",
            "bin/own",
            f"../../../{place.split()[0]}/share/cbank/own",
            "../../own",
        ]
        for name in ("share/cbank/old", *own):
            os.makedirs(os.path.dirname(os.path.join(prefix, name)), exist_ok=True)
            open(os.path.join(prefix, name), "w", encoding="utf-8").close()
        with open(os.path.join(prefix, MANIFEST), "a", encoding="utf-8") as file:
            file.write("share/cbank/old\n../../own\n")
        self.make("install", *where)
        self.assertEqual(files_below(prefix), {*expected, MANIFEST, *own[:2]})
        self.assertIn(
            "series", run(self.folder, os.path.join(prefix, "bin/cbank"), "history", "--help")
        )
        for name, origin in expected.items():
            with self.subTest(name):
                path = os.path.join(prefix, name)
                self.assertEqual(sha256(path), sha256(os.path.join(self.source, origin)))
                self.assertEqual(
                    os.stat(path).st_mode & 0o777, 0o755 if name in PROGRAMS else 0o644
                )
        self.check_version(os.path.join(prefix, "bin/cbank"))
        self.make("uninstall", *where)
        self.assertEqual(files_below(prefix), set(own[:2]))
        for name in own[2:]:
            self.assertTrue(os.path.exists(os.path.join(prefix, name)), name)

    def test_other_targets(self):
        """Targets that no other test makes, in a folder with an odd name. CREDIT and DIR are
        words of a shell nowhere."""
        done = subprocess.run(
            ["make", "NO_CUDA=1", "contribute", f"CREDIT={ODD}", f"DIR=results/{ODD}"],
            cwd=self.source,
            env=CLEAN,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertIn("then the same command goes on", done.stderr)  # it has no GPU
        for words in (
            ["run", "ARGS=--engine model"],
            ["cards"],
            ["check-headers", "HEADER_COMPILERS=gcc"],
            ["help"],
            ["plots", "FILES=results/h200/refill.json"],
        ):
            self.make(*words)
        self.assertTrue(
            glob.glob(os.path.join(glob.escape(self.source), "results/local/figures/refill*.csv"))
        )
        build = os.path.join(self.source, "build")
        os.rename(build, f"{build}-kept")
        os.makedirs(os.path.join(build, "other"))
        self.make("clean", "BUILD=build/other")
        self.assertFalse(os.path.exists(build))
        os.rename(f"{build}-kept", build)

    def test_refused(self):
        """A wrong folder is refused in one sentence, before anything is written or removed."""
        place = kept_folder(type(self))
        precious = os.path.join(place, "my/share/cbank/precious")
        os.makedirs(os.path.dirname(precious))
        open(precious, "w", encoding="utf-8").close()
        plain = "cannot build with a path that has"
        for words, said in (
            (("uninstall", f"PREFIX={place}/my"), "has no share/cbank/manifest"),
            (("uninstall", f"PREFIX={place}/my dir"), "has no share/cbank/manifest"),
            (("install", "PREFIX=relative"), "must be a path from / on"),
            (("install", "PREFIX="), "must be a path from / on"),
            (("install", f"PREFIX={precious}"), "is no folder"),
            (
                ("install", f"DESTDIR={place}/$(shell touch {place}/made)"),
                "what follows the dollar",
            ),
            (("contribute", "CREDIT=A$B"), "what follows the dollar"),
            (("clean", f"BUILD={place}/my"), "removes build/ alone"),
            (("clean", "BUILD=build/.."), "removes build/ alone"),
            *(
                (("all", f"{name}={value}"), plain)
                for name in ("BUILD", "IMAGES", "CUDA")
                for value in (
                    f"{place}/my dir",
                    "-x",
                    "a'b",
                    'a"b',
                    "a\nb",
                    "a%",
                    "a:b",
                    "$(HOME)",
                    "~",
                    f"`touch {place}/made`",
                )
            ),
        ):
            with self.subTest(words):
                done = subprocess.run(
                    ["make", "NO_CUDA=1", *words],
                    cwd=self.source,
                    env=CLEAN,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                self.assertEqual(done.returncode, 2)
                self.assertIn(said, done.stdout + done.stderr)
                self.assertEqual(files_below(place), {"my/share/cbank/precious"})

    @unittest.skipUnless(shutil.which("dpkg-deb"), "no dpkg-deb")
    def test_package_is_the_same_bytes_twice(self):
        first = sha256(self.package())
        os.utime(os.path.join(self.source, "docs/cbank.1"))
        self.assertEqual(sha256(self.package(umask=0o077)), first)

    @unittest.skipUnless(shutil.which("dpkg-deb"), "no dpkg-deb")
    def test_package(self):
        package = self.package()
        self.assertEqual(os.path.basename(package).split("_")[:2], ["cbank", self.version])
        self.assertEqual(self.field(package, "Version"), self.version)
        self.assertRegex(self.field(package, "Depends"), r"^libc6 \(>= 2\.\d+\), libcjson1$")
        self.assertEqual(
            self.field(package, "Recommends"),
            "python3-jinja2, python3-matplotlib, python3-pandas, python3-scipy",
        )

        place = os.path.join(self.folder, "package")
        run("/", "dpkg-deb", "--raw-extract", package, place)
        run(place, "md5sum", "--check", "--strict", "DEBIAN/md5sums")
        files = {name.replace("cbank.1", "cbank.1.gz") for name in expected_files(self.source)}
        self.assertEqual(
            files_below(os.path.join(place, "usr")),
            files | {"share/doc/cbank/copyright", "share/doc/cbank/changelog.gz"},
        )
        self.assertIn(read(self.source, "LICENSE"), read(place, "usr/share/doc/cbank/copyright"))
        self.assertEqual(
            run(place, "gzip", "-dc", "usr/share/man/man1/cbank.1.gz"),
            read(self.source, "docs/cbank.1"),
        )
        self.check_version(os.path.join(place, "usr/bin/cbank"))
        self.check_published(place)

    @unittest.skipUnless(shutil.which("dpkg-deb"), "no dpkg-deb")
    def test_a_search_path_is_refused(self):
        self.take_objects("build/searching")
        done = subprocess.run(
            ["make", "NO_CUDA=1", "BUILD=build/searching", "LDFLAGS=-Wl,-rpath,/opt", "deb"],
            cwd=self.source,
            env=CLEAN,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertIn("usr/bin/cbank has a search path for libraries", done.stderr)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(
            glob.glob(os.path.join(glob.escape(self.source), "build/searching/*.deb")), []
        )

    def test_what_tells_where_it_was_made_is_refused(self):
        """A program with debug information, in a folder of odd names; not one of another tree."""

        def check(folder, *published):
            return subprocess.run(
                [os.path.join(self.source, "scripts/check_published.sh"), "build", *published],
                cwd=folder,
                env=CLEAN,
                capture_output=True,
                text=True,
                check=False,
            )

        self.assertEqual(check(self.source, "scripts", "harness").returncode, 0)
        done = check(self.source, "build/cbank", "scripts")
        self.assertEqual(
            (done.returncode, done.stderr),
            (1, "build/cbank holds the path of the folder where it was made; strip it\n"),
        )
        place = os.path.join(kept_folder(type(self)), "tree")
        os.makedirs(os.path.join(place, "build"))
        for text, status in (
            (f"{place}", 1),
            (f"in {place}/build", 1),
            (f"{place}s", 0),
            (f"/root{place}", 0),
        ):
            with self.subTest(text):
                with open(os.path.join(place, "file"), "w", encoding="utf-8") as file:
                    file.write(text)
                self.assertEqual(check(place, "file").returncode, status)

    @unittest.skipUnless(
        fetchable(),
        "no libcjson.a, and CBANK_FETCH=1, which lets its source be fetched, is not set",
    )
    def test_with_cjson_inside(self):
        program = os.path.join(self.source, "build/static/cbank")
        self.take_objects("build/static")
        self.make("STATIC=1", "BUILD=build/static", "all")
        for name, needs in ((os.path.join(self.source, "build/cbank"), True), (program, False)):
            self.assertEqual("libcjson" in run("/", "readelf", "-d", name), needs)
        self.assertIn("per_warp", run("/", program, "list", "patterns", "--json"))
        if shutil.which("dpkg-deb"):
            package = self.package("STATIC=1", "BUILD=build/static")
            self.assertRegex(self.field(package, "Depends"), r"^libc6 \(>= 2\.\d+\)$")
            place = os.path.join(self.folder, "static")
            run("/", "dpkg-deb", "--extract", package, place)
            self.assertIn("cJSON", read(place, "usr/share/doc/cbank/copyright"))

    @unittest.skipUnless(FULL, "takes long: make test-long")
    @unittest.skipUnless(
        fetchable(),
        "no libcjson.a, and CBANK_FETCH=1, which lets its source be fetched, is not set",
    )
    def test_release(self):
        """Each file that a release publishes works, and the checksums are theirs."""

        def make(*words, **how):
            return run(self.repository, "make", "-s", "release", "NO_CUDA=1", *words, **how)

        changed = os.path.join(self.repository, "changed")
        open(changed, "w", encoding="utf-8").close()
        make(status=2)
        os.remove(changed)
        stale = os.path.join(self.repository, STALE)  # git ignores it
        os.makedirs(os.path.dirname(stale), exist_ok=True)
        open(stale, "w", encoding="utf-8").close()
        self.take_objects("build/release-parts/none", self.repository)
        make()
        place = os.path.join(self.repository, "build/release")
        cpu = os.uname().machine
        program = f"cbank-{self.version}-linux-{cpu}-none"
        self.assertEqual(
            {
                name.replace(f"_{name.split('_')[-1]}", "")
                for name in os.listdir(place)
                if name.endswith(".deb")
            },
            {f"cbank_{self.version}"} if shutil.which("dpkg-deb") else set(),
        )
        self.assertEqual(
            {name for name in os.listdir(place) if not name.endswith(".deb")},
            {
                program,
                f"cbank-{self.version}.tar.gz",
                f"cbank-{self.version}-py3-none-any.whl",
                "Containerfile",
                "SHA256SUMS",
            },
        )
        run(place, "sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS")
        self.check_version(os.path.join(place, program))
        self.assertNotIn("libcjson", run("/", "readelf", "-d", os.path.join(place, program)))
        self.check_published(place)
        self.check_wheel(os.path.join(place, f"cbank-{self.version}-py3-none-any.whl"))
        with zipfile.ZipFile(
            os.path.join(place, f"cbank-{self.version}-py3-none-any.whl")
        ) as wheel:
            wheel.extractall(os.path.join(self.folder, "wheel"))
        self.check_published(os.path.join(self.folder, "wheel"))
        self.assertIn(
            "H200",
            run(
                os.path.join(self.folder, "wheel"),
                "env",
                f"CBANK_PROGRAM={os.path.join(place, program)}",  # documents are checked by it
                sys.executable,
                "-c",
                "import cbank, sys; print(cbank.load(sys.argv[1]).to_csv())",
                os.path.join(ROOT, "results/h200/core-matrix.json"),
            ),
        )


if __name__ == "__main__":
    unittest.main()
