from __future__ import annotations

import io
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import fsspec
import pytest
from fsspec.tests import abstract

from contextrelay import ContextRelay
from contextrelay.integrations.fsspec import RelayFileSystem

from ..conftest import RelayProcess
from .million import NEEDLE, million


class RelayFixtures(abstract.AbstractFixtures):
    """Fixtures that the test suite of fsspec needs."""

    @pytest.fixture(scope="class")
    def fs(self, server: RelayProcess) -> RelayFileSystem:
        return RelayFileSystem(server.url, skip_instance_cache=True)

    @pytest.fixture
    def fs_path(self) -> str:
        return f"fsspec-{uuid4().hex[:8]}"

    @pytest.fixture
    def supports_empty_directories(self) -> bool:
        return False


class TestCopy(abstract.AbstractCopyTests, RelayFixtures):
    pass


class TestGet(abstract.AbstractGetTests, RelayFixtures):
    pass


class TestPut(abstract.AbstractPutTests, RelayFixtures):
    pass


if hasattr(abstract, "AbstractOpenTests"):  # Old versions have no such suite.

    class TestOpen(abstract.AbstractOpenTests, RelayFixtures):
        pass


if hasattr(abstract, "AbstractPipeTests"):  # Old versions have no such suite.

    class TestPipe(abstract.AbstractPipeTests, RelayFixtures):
        pass


@pytest.fixture
def fs(relay: ContextRelay) -> RelayFileSystem:
    return RelayFileSystem(relay=relay, skip_instance_cache=True)


@pytest.fixture
def root() -> str:
    return f"fsspec-{uuid4().hex[:8]}"


def test_fsspec_finds_the_protocol(server: RelayProcess, root: str) -> None:
    options = {"base_url": server.url}
    with fsspec.open(f"relay://{root}/a/b.txt", "w", **options) as file:
        file.write("written")
    with fsspec.open(f"relay://{root}/a/b.txt", "r", **options) as file:
        assert file.read() == "written"
    assert ContextRelay(server.url).files.space(root).text("a/b.txt") == "written"


def test_reading_writing_listing_and_removing(fs: RelayFileSystem, root: str) -> None:
    fs.pipe({f"{root}/a.txt": b"a", f"{root}/src/one.py": b"one", f"{root}/src/deep/two.py": b"two"})
    assert fs.ls(root, detail=False) == [f"{root}/a.txt", f"{root}/src"]
    assert sorted(fs.find(root)) == [f"{root}/a.txt", f"{root}/src/deep/two.py", f"{root}/src/one.py"]
    assert fs.glob(f"{root}/**/*.py") == [f"{root}/src/deep/two.py", f"{root}/src/one.py"]
    assert fs.isdir(f"{root}/src") and not fs.isfile(f"{root}/src") and fs.isfile(f"{root}/a.txt")
    assert f"{root}" in fs.ls("", detail=False)
    with fs.open(f"{root}/a.txt", "ab") as file:
        file.write(b"bc")
    assert fs.cat(f"{root}/a.txt") == b"abc" and fs.info(f"{root}/a.txt")["version"] == 2
    assert fs.cat_file(f"{root}/a.txt", start=-2) == b"bc" and fs.cat_file(f"{root}/a.txt", 1, 2) == b"b"
    fs.mv(f"{root}/a.txt", f"{root}/b.txt")
    assert not fs.exists(f"{root}/a.txt") and fs.exists(f"{root}/b.txt")
    assert fs.modified(f"{root}/b.txt").tzinfo is not None
    with pytest.raises(FileNotFoundError):
        fs.open(f"{root}/missing", "rb")
    with pytest.raises(FileExistsError), fs.open(f"{root}/b.txt", "xb") as file:
        file.write(b"x")
    with pytest.raises(IsADirectoryError):
        fs.rm(f"{root}/src")
    fs.rm(f"{root}/src", recursive=True)
    assert fs.find(root) == [f"{root}/b.txt"]
    fs.rm(root, recursive=True)
    assert not fs.exists(root)


def test_only_the_needed_ranges_of_a_large_file_are_read(
    fs: RelayFileSystem, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = million().encode()
    with fs.open(f"{root}/orders.txt", "wb") as file:
        file.write(data)
    fetched = []
    space = fs.relay.files.space(root)
    plain = type(space).bytes

    def counted(self, *args, **options):
        found = plain(self, *args, **options)
        fetched.append(len(found))
        return found

    monkeypatch.setattr(type(space), "bytes", counted)
    with fs.open(f"{root}/orders.txt", "rb", block_size=4096) as file:
        file.seek(data.index(NEEDLE.encode()))
        assert file.readline().decode().strip() == NEEDLE
    assert sum(fetched) < 20_000
    assert fs.relay.files.space(root).text("orders.txt", grep="failed") == f"13378:{NEEDLE}"


def test_a_reader_keeps_the_version_it_opened(fs: RelayFileSystem, root: str) -> None:
    fs.pipe_file(f"{root}/f", b"first" * 1000)
    with fs.open(f"{root}/f", "rb", block_size=10) as file:
        fs.pipe_file(f"{root}/f", b"other" * 1000)
        assert file.read(5) == b"first"
    with io.TextIOWrapper(fs.open(f"{root}/f", "rb")) as text:
        assert text.read(5) == "other"


def test_concurrent_appends_lose_nothing(server: RelayProcess, root: str) -> None:
    lines = [f"line {n}" for n in range(20)]
    together = threading.Barrier(len(lines))

    def append(line: str) -> None:
        own = RelayFileSystem(server.url, skip_instance_cache=True)
        file = own.open(f"{root}/log.txt", "ab")
        file.write(f"{line}\n".encode())
        together.wait(60)
        file.close()

    with ThreadPoolExecutor(len(lines)) as executor:
        list(executor.map(append, lines))
    assert sorted(ContextRelay(server.url).files.space(root).text("log.txt").splitlines()) == sorted(lines)


def test_touching_a_file_does_not_undo_a_concurrent_change(fs: RelayFileSystem, root: str) -> None:
    fs.pipe_file(f"{root}/f", b"first")
    plain = fs.relay.files

    class Overtaken(type(plain.space(root))):
        """A space in which another client changes the file between the first read and the following write."""

        def bytes(self, *args: Any, **options: Any) -> Any:
            found = super().bytes(*args, **options)
            if found == b"first":
                plain.space(root).put("f", b"second")
            return found

    overtaken = RelayFileSystem(relay=ContextRelay(fs.relay.base_url), skip_instance_cache=True)
    overtaken.relay.files.space = lambda name: Overtaken(overtaken.relay._transport, name)
    overtaken.touch(f"{root}/f", truncate=False)
    assert fs.cat_file(f"{root}/f") == b"second"
