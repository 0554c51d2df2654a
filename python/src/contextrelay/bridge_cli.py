"""``contextrelay-bridge``: starts a bridge next to an agent, or sends a task to an agent."""

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

CONTEXTRELAY_URL is the address of the relay (default: http://127.0.0.1:7474), CONTEXTRELAY_API_KEY its API key."""


def main(argv: Optional[List[str]] = None) -> None:
    """Runs the command and exits with its exit code."""
    sys.exit(run(argv))


def run(argv: Optional[List[str]] = None) -> int:
    """Runs the command and returns its exit code."""
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
    """Returns a dispatcher that runs a shell command for each task.

    The command gets the task on standard input. Its standard output is the result.
    """

    def dispatch(task: str) -> str:
        done = subprocess.run(
            command, shell=True, input=task, capture_output=True, text=True, encoding="utf-8", timeout=timeout
        )
        if done.returncode != 0:
            output = "\n\n".join(filter(None, (done.stderr.strip(), done.stdout.strip())))
            raise RelayError(f"The command failed with exit code {done.returncode}. {output}".strip())
        return done.stdout

    return dispatch


def _parser() -> argparse.ArgumentParser:
    shape = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="contextrelay-bridge",
        description="Sends tasks to an agent and returns its results.",
        epilog=_EXAMPLES,
        formatter_class=shape,
    )
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--task-channel", default=DEFAULT_TASK_CHANNEL, metavar="CHANNEL", help="channel of the tasks"
    )
    shared.add_argument(
        "--done-channel", default=DEFAULT_DONE_CHANNEL, metavar="CHANNEL", help="channel of the results"
    )
    shared.add_argument(
        "--timeout", type=float, default=600, metavar="SECONDS", help="time limit for one task (default: 600)"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser(
        "start", parents=[shared], help="run a bridge that fetches tasks for an agent"
    )
    where = start.add_mutually_exclusive_group()
    where.add_argument(
        "--tmux", metavar="SESSION", default="vibe", help="tmux session of the agent (default: vibe)"
    )
    where.add_argument(
        "--exec", metavar="CMD", help="command to run for each task; it gets the task on stdin"
    )
    start.add_argument(
        "--window", type=int, default=0, metavar="N", help="number of the tmux window (default: 0)"
    )
    start.add_argument(
        "--stuck-after",
        type=float,
        default=60,
        metavar="SECONDS",
        help="report a task as stuck when the screen has not changed for this many seconds (default: 60)",
    )
    start.add_argument("--name", help="name that `relay agents` shows for this bridge")
    start.set_defaults(run=_start)
    send = commands.add_parser("send", parents=[shared], help="send a task to a bridge")
    send.add_argument("task", nargs="+", help="text of the task")
    send.add_argument("--wait", action="store_true", help="wait for the result and print it")
    send.add_argument(
        "--encrypted", action="store_true", help="encrypt the task; the agent needs the channel's key"
    )
    send.set_defaults(run=_send)
    return parser


if __name__ == "__main__":
    main()
