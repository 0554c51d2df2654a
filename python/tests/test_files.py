from __future__ import annotations

from uuid import uuid4

import pytest

import contextrelay.files
from contextrelay import ConflictError, ContextRelay, FileInfo, NewFile, NotFoundError, Space


@pytest.fixture
def space(relay: ContextRelay) -> Space:
    return relay.files.space(f"test-{uuid4().hex[:8]}")


def test_a_file_has_versions_and_can_be_deleted(space: Space) -> None:
    first = space.put("notes/ü b.md", "one\ntwo", content_type="text/markdown", metadata={"by": "ada"})
    assert (first.version, first.size, first.content_type, first.metadata) == (
        1,
        7,
        "text/markdown",
        {"by": "ada"},
    )
    second = space.put("notes/ü b.md", b"\xff\x00", if_match=first.etag)
    assert (second.version, second.text) == (2, False)
    assert space.bytes("notes/ü b.md") == b"\xff\x00"
    assert space.bytes("notes/ü b.md", range=(1, 2)) == b"\x00"
    assert space.text("notes/ü b.md", version=1) == "one\ntwo"
    assert space.text("notes/ü b.md", version=1, lines="2") == "two"
    assert [each.version for each in space.log("notes/ü b.md")] == [2, 1]
    assert space.info("notes/ü b.md").etag == second.etag
    with pytest.raises(ConflictError) as caught:
        space.put("notes/ü b.md", "x", if_match="v1")
    assert caught.value.code == "file_changed"
    with pytest.raises(ConflictError):
        space.put("notes/ü b.md", "x", if_absent=True)
    with pytest.raises(ConflictError):
        space.delete("notes/ü b.md", if_match="v1")
    space.delete("notes/ü b.md", if_match=second.etag)
    with pytest.raises(NotFoundError):
        space.info("notes/ü b.md")


def test_listing_by_prefix_and_by_folder(space: Space) -> None:
    for path in ("a.txt", "src/one.py", "src/deep/two.py"):
        space.put(path, path)
    assert [each.path for each in space.all()] == ["a.txt", "src/deep/two.py", "src/one.py"]
    page = space.list(delimiter="/")
    assert ([each.path for each in page.files], page.prefixes) == (["a.txt"], ["src/"])
    assert [each.path for each in space.list("src/", limit=1).files] == ["src/deep/two.py"]
    assert space.remove(prefix="src/") == 2
    assert [each.path for each in space.all()] == ["a.txt"]


def test_many_files_of_any_size_are_read_and_written_at_once(relay: ContextRelay, space: Space) -> None:
    files = [NewFile(f"f/{n:04}", f"text {n}" if n % 2 else bytes([n % 256]) * 10) for n in range(1500)]
    files += [NewFile(f"large/{n}", "ü" * 700_000) for n in range(3)] + [NewFile("empty", b"")]
    written = space.write(files)
    assert len(written) == len(files) and all(isinstance(each, FileInfo) for each in written)
    found = space.read([*(file.path for file in files), "missing"])
    assert len(found) == len(files)
    for file in files:
        expected = file.content.encode() if isinstance(file.content, str) else file.content
        assert found[file.path].content == expected
    assert space.write([NewFile("empty", "x", if_absent=True)])[0]["code"] == "file_changed"
    assert space.remove([file.path for file in files]) == len(files)
    assert space.name not in str(relay.files.spaces())


def test_json_files_and_expiry(space: Space) -> None:
    space.put("a.json", '{"n": 1}', ttl=3600)
    assert space.json("a.json") == {"n": 1}
    assert space.info("a.json").expires_at is not None


def test_an_older_relay_gets_several_files_in_json(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    # A relay that does not know the media type reads the body as JSON.
    monkeypatch.setattr(contextrelay.files, "_FILES_TYPE", "application/json")
    space.write([NewFile("a", "ü"), NewFile("b", b"\xff\x00", metadata={"n": 1})])
    assert space.write([NewFile("a", "x", if_absent=True)])[0]["code"] == "file_changed"
    found = space.read(["a", "b"])
    assert (found["a"].content, found["b"].content) == ("ü".encode(), b"\xff\x00")
    assert found["b"].info.metadata == {"n": 1}
