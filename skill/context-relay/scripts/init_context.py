#!/usr/bin/env python3
"""Writes PROJECT.md, state.json, todos.json and decisions.md into a folder.

For machines without the relay command, which fills in more. Needs only Python 3.8 and its standard library.
Keeps existing files unless you pass --force.
"""

import argparse
import json
import os
import sys
import tempfile
from datetime import datetime
from pathlib import Path

IGNORED = {"node_modules", "dist", "build", "target", "out", "venv", "vendor", "coverage", "__pycache__"}


def main():
    parser = argparse.ArgumentParser(description="Write the four context files of a project.")
    parser.add_argument("folder", nargs="?", default=".", help="the project folder (default: here)")
    parser.add_argument("--force", action="store_true", help="overwrite existing files; their content is lost")
    args = parser.parse_args()

    folder = Path(args.folder)
    if not folder.is_dir():
        print(f"There is no folder {folder}.", file=sys.stderr)
        return 1

    now = datetime.now().astimezone().isoformat(timespec="seconds")
    files = {
        "PROJECT.md": lambda: project_md(folder),
        "state.json": lambda: state_json(now),
        "todos.json": lambda: as_json({"todos": [], "last_review": now}),
        "decisions.md": lambda: "# Architecture Decision Records\n",
    }
    for name, make in files.items():
        path = folder / name
        if path.exists() and not args.force:
            print(f"kept   {name} (it already exists)")
            continue
        write(path, make())
        print(f"wrote  {name}")
    return 0


def project_md(folder):
    manifest = package_json(folder)
    name = manifest.get("name") or folder.resolve().name or "Project"
    description = manifest.get("description") or "[Say in one sentence what this is and whom it helps]"
    folders = sorted(
        entry.name
        for entry in folder.iterdir()
        if entry.is_dir() and not entry.name.startswith(".") and entry.name not in IGNORED
    )
    lines = [
        f"# {one_line(name)}",
        "",
        "## One-Line Description",
        one_line(description),
        "",
        "## Tech Stack",
        "- Frontend:",
        "- Backend:",
        "- Database:",
        "- Deployment:",
        "",
        "## Directory Structure",
        *([f"/{one_line(entry)}" for entry in folders] or ["[Name the folders worth knowing, one on each line]"]),
        "",
        "## Key Constraints",
        "[List what must stay true: interfaces others rely on, limits, promises made]",
        "",
        "## Related Documents",
        "- Architecture decisions: decisions.md",
        "- Current state: state.json",
        "- Todo items: todos.json",
    ]
    return "\n".join(lines) + "\n"


def state_json(now):
    return as_json(
        {
            "phase": "",
            "current_task": "",
            "progress": {"completed": [], "in_progress": "", "blocked": [], "next_steps": []},
            "last_update": now,
            "session_id": "",
            "notes": "",
        }
    )


def package_json(folder):
    try:
        found = json.loads((folder / "package.json").read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {key: found[key] for key in ("name", "description") if isinstance(found.get(key), str)}


def one_line(text):
    return " ".join(text.split())


def as_json(value):
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def write(path, text):
    """Replaces the file atomically: a reader sees the old text or the new text, never a mixture."""
    handle, temporary = tempfile.mkstemp(dir=str(path.parent), prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(temporary, path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~umask())
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


if __name__ == "__main__":
    sys.exit(main())
