"""Runs a graph with a checkpoint saver of LangGraph, or reads its history, and prints the milliseconds as JSON.

python langgraph-saver.py SAVER SHAPE PHASE PLACE

SAVER is ``relay``, with URL#SPACE as PLACE, or ``sqlite``, the official saver, with a database as PLACE. SHAPE is
``large``, a value of 100 KB that each step replaces, or ``messages``, a list that each step extends by 1 KB. PHASE is
``run`` or ``history``.
"""

import json
import operator
import random
import sqlite3
import sys
import time
from typing import Annotated, Any, Dict, List, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph

from contextrelay.integrations.langgraph import ContextRelaySaver

STEPS = 200
CHARS = {"large": 100_000, "messages": 1_000}

saver_name, shape, phase, place = sys.argv[1:]
# Random, so that no saver gains from compression or from equal values.
rng = random.Random(1)
texts = [rng.randbytes(CHARS[shape] // 2).hex() for _ in range(STEPS)]


class State(TypedDict):
    step: int
    large: str
    messages: Annotated[List[str], operator.add]


def work(state: State) -> Dict[str, Any]:
    text = texts[state["step"]]
    return {"step": state["step"] + 1, **({"large": text} if shape == "large" else {"messages": [text]})}


saver: Any
if saver_name == "relay":
    url, space = place.split("#")
    saver = ContextRelaySaver(url, space=space)
    # Opens the connection before the measurement.
    next(saver.list(None, limit=1), None)
else:
    saver = SqliteSaver(sqlite3.connect(place, check_same_thread=False))
    saver.setup()
builder = StateGraph(State)
builder.add_node("work", work)
builder.add_edge(START, "work")
builder.add_conditional_edges("work", lambda state: END if state["step"] == STEPS else "work")
graph = builder.compile(checkpointer=saver)
config: Any = {"configurable": {"thread_id": "bench"}, "recursion_limit": STEPS + 10}

wall, cpu = time.perf_counter(), time.process_time()
if phase == "run":
    assert graph.invoke({"step": 0, "messages": []}, config)["step"] == STEPS
else:
    history = list(graph.get_state_history(config))
    assert len(history) == STEPS + 2
    assert history[0].values[shape] == (texts[-1] if shape == "large" else texts)
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
if saver_name == "sqlite":
    saver.conn.close()
print(json.dumps({"wall": wall * 1000, "cpu": cpu * 1000}))
