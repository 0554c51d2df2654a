"""``contextrelay-bridge``: start a bridge next to an agent, or give one a task."""

from __future__ import annotations

import argparse
import logging
import subprocess
import sys
from typing import List, Optional

from .agent_bridge import DEFAULT_DONE_CHANNEL, DEFAULT_TASK_CHANNEL, AgentBridge, Dispatcher
from .client import ContextRelay
from .errors import RelayError, RelayTimeoutError, RelayUnreachableError
from .tmux import TmuxDispatcher

_EXAMPLES = """examples:
  contextrelay-bridge start --tmux vibe
  contextrelay-bridge start --exec 'claude -p'
  contextrelay-bridge send "refactor the auth module" --wait

The relay is the one in CONTEXTRELAY_URL, with the key in CONTEXTRELAY_API_KEY; without them, the one on this machine."""


def main(argv: Optional[List[str]] = None) -> None:
    sys.exit(run(argv))


def run(argv: Optional[List[str]] = None) -> int:
    args = _parser().parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        return int(args.run(args))
    except KeyboardInterrupt:
        return 130
    except RelayError as error:
        print(f"contextrelay-bridge: {error}", file=sys.stderr)
        return 5 if isinstance(error, (RelayUnreachableError, RelayTimeoutError)) else 1


def _start(args: argparse.Namespace) -> int:
    dispatcher: Dispatcher
    if args.exec is not None:
        dispatcher = exec_dispatcher(args.exec, args.timeout)
    else:
        dispatcher = TmuxDispatcher(args.tmux, args.window, args.timeout, stuck_after=args.stuck_after)
    bridge = AgentBridge(ContextRelay(), args.task_channel, args.done_channel, dispatcher, name=args.name)
    bridge.start()
    return 0


def _send(args: argparse.Namespace) -> int:
    bridge = AgentBridge(ContextRelay(), args.task_channel, args.done_channel)
    task = " ".join(args.task)
    if args.wait:
        print(bridge.push_and_wait(task, timeout=args.timeout, encrypted=args.encrypted))
    else:
        print(bridge.send(task, encrypted=args.encrypted))
    return 0


def exec_dispatcher(command: str, timeout: float) -> Dispatcher:
    """Runs a shell command for each task: the task on its standard input, the result on its standard output."""

    def dispatch(task: str) -> str:
        done = subprocess.run(
            command, shell=True, input=task, capture_output=True, text=True, encoding="utf-8", timeout=timeout
        )
        if done.returncode != 0:
            said = "\n\n".join(filter(None, (done.stderr.strip(), done.stdout.strip())))
            raise RelayError(f"The command ended with exit code {done.returncode}. {said}".strip())
        return done.stdout

    return dispatch


def _parser() -> argparse.ArgumentParser:
    shape = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="contextrelay-bridge",
        description="Hands work to an agent and brings its result.",
        epilog=_EXAMPLES,
        formatter_class=shape,
    )
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--task-channel", default=DEFAULT_TASK_CHANNEL, metavar="CHANNEL")
    shared.add_argument("--done-channel", default=DEFAULT_DONE_CHANNEL, metavar="CHANNEL")
    shared.add_argument(
        "--timeout", type=float, default=600, metavar="SECONDS", help="for one task (default: 600)"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("start", parents=[shared], help="take tasks, next to an agent; blocks")
    where = start.add_mutually_exclusive_group()
    where.add_argument(
        "--tmux", metavar="SESSION", default="vibe", help="the tmux session it runs in (default: vibe)"
    )
    where.add_argument("--exec", metavar="CMD", help="a command that takes the task on stdin")
    start.add_argument("--window", type=int, default=0, metavar="N", help="the tmux window (default: 0)")
    start.add_argument(
        "--stuck-after",
        type=float,
        default=60,
        metavar="SECONDS",
        help="report a task as stuck when its screen has not changed for so many seconds (default: 60)",
    )
    start.add_argument("--name", help="under which `relay agents` shows it")
    start.set_defaults(run=_start)
    send = commands.add_parser("send", parents=[shared], help="give a task to whoever has a bridge")
    send.add_argument("task", nargs="+")
    send.add_argument("--wait", action="store_true", help="wait for the result and print it")
    send.add_argument("--encrypted", action="store_true", help="for agents that share the key of the channel")
    send.set_defaults(run=_send)
    return parser


if __name__ == "__main__":
    main()
