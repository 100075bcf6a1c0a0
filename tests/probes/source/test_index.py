"""Packages in a folder -> an index, over what installers and disks leave behind."""

import os

import pytest

from modelmedic.facts.problems import ModelMedicError
from modelmedic.interfaces.waiting import Gauge
from modelmedic.reading.packages.index import open_index

RAISES = "def f(n):\n    raise ValueError(f'number {n} is much too large')\n"


def codes(index):
    return [problem.code for problem in index.problems]


def test_packages_versions_and_modules(install, cache, shapes):
    install("other-name", "3.0", files={"other.py": RAISES})
    index = open_index(shapes, cache=cache)
    assert index.packages == {"shapes": "2.1", "other-name": "3.0"}
    assert [site.module for site in index.sites("other")] == ["other"]
    assert {site.file for site in index.sites("shapes")} == {"shapes/core.py"}
    assert [site.template for site in index.sites("shapes")][
        1
    ] == "width has a wrong shape: {width}"
    assert list(index.sites("nothing")) == []
    assert codes(index) == []


def test_a_folder_without_records(install, cache):
    site = install("x", record=False, files={
        "lone.py": RAISES, "pkg/inner/deep.py": RAISES, "pkg/__pycache__/deep.py": RAISES,
        "not-a-name/a.py": RAISES,
    })  # fmt: skip
    index = open_index(site, cache=cache)
    assert index.packages == {"lone": "", "pkg": ""}
    assert [site.module for site in index.sites("pkg")] == ["pkg.inner.deep"]


def test_two_packages_in_one_folder(install, cache):
    install("space-one", files={"space/one.py": RAISES})
    site = install("space-two", files={"space/two.py": RAISES})
    index = open_index(site, ["space-two"], cache=cache)
    assert [each.file for each in index.sites("space-two")] == ["space/two.py"]


@pytest.mark.parametrize("path", ["missing", "file", "a\0b"])
def test_a_folder_that_is_none(tmp_path, path, cache):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ModelMedicError, match="MM486"):
        open_index(tmp_path / path, cache=cache)


def test_a_package_that_is_not_there(shapes, cache):
    index = open_index(shapes, ["shapes", "absent"], cache=cache)
    assert codes(index) == ["MM487"] and list(index.packages) == ["shapes"]


def test_a_package_without_files(install, cache):
    site = install("empty", files={})
    index = open_index(site, cache=cache)
    assert codes(index) == ["MM488"] and index.count("empty") == 0


def test_files_that_cannot_be_read_cost_themselves_only(install, cache, tmp_path):
    site = install("odd", files={
        "odd/good.py": RAISES, "odd/syntax.py": "def f(:\n    raise X('a b c')\n",
        "odd/deep.py": b"raise X(" + b"-" * 100_000 + b"1)", "odd/bytes.py": b"raise X('\xff')",
        "odd/large.py": RAISES + "# " + "x" * 2_100_000,
    })  # fmt: skip
    with (site / "odd-1.0.dist-info" / "RECORD").open("a") as record:
        record.write(
            "odd/gone.py,,\nodd/../../secret.py,,\n/etc/x.py,,\nodd/link.py,,\nodd/dir.py,,\n"
        )
    (tmp_path / "secret.py").write_text("raise ValueError('a secret that is outside')\n")
    (site / "odd" / "link.py").symlink_to(tmp_path / "secret.py")
    (site / "odd" / "dir.py").mkdir()
    index = open_index(site, cache=cache)
    assert [each.file for each in index.sites("odd")] == ["odd/good.py"]
    assert set(codes(index)) == {"MM489"}
    assert all(str(site) in str(problem.where) for problem in index.problems)
    # The problems come from the cache as well.
    assert codes(open_index(site, cache=cache)) == codes(index)


def test_a_folder_that_a_link_leads_out_of(install, cache, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.py").write_text(RAISES)
    site = install("linked", files={"linked/__init__.py": RAISES})
    (site / "linked" / "out").symlink_to(tmp_path / "outside", target_is_directory=True)
    with (site / "linked-1.0.dist-info" / "RECORD").open("a") as record:
        record.write("linked/out/a.py,,\n")
    index = open_index(site, cache=cache)
    assert [each.file for each in index.sites("linked")] == ["linked/__init__.py"]


def test_the_cache_serves_until_the_package_is_installed_anew(install, cache, shapes):
    first = list(open_index(shapes, cache=cache).sites("shapes"))
    (shapes / "shapes" / "core.py").write_text("")
    assert list(open_index(shapes, cache=cache).sites("shapes")) == first
    again = open_index(shapes, cache=cache, build_missing=False)
    assert list(again.sites("shapes")) == first
    record = shapes / "shapes-2.1.dist-info" / "RECORD"
    record.write_text(record.read_text() + "shapes/new.py,,\n")
    assert list(open_index(shapes, cache=cache).sites("shapes")) == []


def test_without_a_cache_nothing_is_written_or_found(shapes, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    assert open_index(shapes, cache="").count("shapes") == 3
    assert open_index(shapes, cache="", build_missing=False).packages == {}
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "header", "writable", "pipe"])
def test_a_cache_that_cannot_be_trusted_is_built_anew(shapes, cache, tmp_path, damage):
    whole = list(open_index(shapes, cache=cache).sites("shapes"))
    (file,) = (tmp_path / "cache" / "source").iterdir()
    content = file.read_bytes()
    if damage == "cut":
        file.write_bytes(content[:-9])
    elif damage == "flipped":
        file.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    elif damage == "empty":
        file.write_bytes(b"")
    elif damage == "header":
        file.write_bytes(b"[]\n" + content.partition(b"\n")[2])
    elif damage == "writable":
        file.chmod(0o666)
    else:
        file.unlink()
        os.mkfifo(file)
    assert open_index(shapes, cache=cache, build_missing=False).packages == {}
    assert list(open_index(shapes, cache=cache).sites("shapes")) == whole


def test_progress_tells_of_each_package(shapes, cache):
    gauge = Told()
    open_index(shapes, cache=cache, progress=gauge)
    assert gauge.told == [("source of shapes", 3, 3)]


class Told(Gauge):
    """Keeps each report about a part: what, how much is done, how much there is."""

    def __init__(self):
        super().__init__()
        self.begun = []

    def part(self, *words, **settings):
        self.begun.append(super().part(*words, **settings))
        return self.begun[-1]

    @property
    def told(self):
        return [(part.what, part.done, part.total) for part in self.begun]


def test_an_index_that_was_not_finished_is_not_kept(shapes, cache):
    gauge = Gauge()
    gauge.stopped = True
    index = open_index(shapes, cache=cache, progress=gauge)
    assert [problem.code for problem in index.problems] == ["MM407"]
    assert open_index(shapes, cache=cache, build_missing=False).packages == {}
