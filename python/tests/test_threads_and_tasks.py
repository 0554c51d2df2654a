from __future__ import annotations

import pytest

from contextrelay import ConflictError, ContextRelay, NotFoundError, RelayHTTPError


def test_a_thread_can_be_created_changed_and_deleted(relay: ContextRelay) -> None:
    threads = relay.threads
    created = threads.create("review")
    thread = created["thread_id"]
    assert created["state_ref"] == "v1"
    ops = [{"op": "add", "path": "/facts/-", "value": {"id": "f1", "key": "db", "value": "postgres"}}]
    assert threads.patch(thread, ops, if_match="v1")["state_ref"] == "v2"
    with pytest.raises(ConflictError) as caught:
        threads.patch(thread, ops, if_match="v1")
    assert caught.value.code == "version_conflict"
    assert threads.state(thread)["facts"][0]["value"] == "postgres"
    assert threads.state(thread, at="v1")["facts"] == []
    assert threads.header(thread)["top_facts"][0]["key"] == "db"
    assert threads.diff(thread, "v1", "v2")["ops"]
    assert threads.revert(thread, "v1")["state_ref"] == "v3"
    event = threads.append(thread, "my.note", {"text": "hello"})
    assert event["id"] in [each["id"] for each in threads.events(thread)["events"]]
    assert threads.get(thread)["state_version"] == 3
    assert thread in [each["thread_id"] for each in threads.list()["threads"]]
    assert "tokenizer" in threads.stats(thread)
    assert threads.render(thread, "go on")["messages"]
    assert threads.report(thread)["artifact_ref"]
    assert "retrieval.search" in [each["name"] for each in threads.capabilities()]
    threads.delete(thread)
    with pytest.raises(NotFoundError):
        threads.get(thread)


def test_artifacts_can_be_stored_searched_and_read_in_parts(relay: ContextRelay) -> None:
    threads = relay.threads
    thread = threads.create("artifacts")["thread_id"]
    text = "\n".join(f"row {n}" for n in range(1, 5001)) + "\nthe login form loses its focus"
    stored = threads.put_artifact(thread, text, name="rows.txt", type="text")
    assert stored["preview"]["truncated"] is True
    ref = stored["ref"]
    assert threads.artifact(thread, ref)["size"] == len(text)
    assert threads.artifact_bytes(thread, ref) == text.encode()
    assert threads.artifact_part(thread, ref, lines="10-11").text == "row 10\nrow 11"
    assert "focus" in threads.search(thread, "login form")[0]["snippet"]
    assert threads.invoke(thread, "retrieval.search", {"query": "login form"})["artifact_ref"]
    raw = bytes(range(256))
    binary = threads.put_artifact(thread, raw, name="raw.bin", type="binary")["ref"]
    assert threads.artifact_bytes(thread, binary) == raw
    assert [each["ref"] for each in threads.artifacts(thread)["artifacts"]][-1] == ref
    threads.delete_artifact(thread, binary)
    with pytest.raises(RelayHTTPError):
        threads.artifact_bytes(thread, binary)


def test_a_task_is_found_by_its_id(relay: ContextRelay) -> None:
    pushed = relay.push_detailed("do it", channel="agent-tasks-2", metadata={"done_channel": "done-2"})
    task = relay.tasks.get(pushed.url)
    assert (task["state"], task["done_channel"]) == ("queued", "done-2")
    assert relay.tasks.done(pushed.id, "all of it", summary="did it")["status"] == "done"
    assert relay.pull(relay.tasks.get(pushed.id)["result"]["url"]) == "all of it"
    with pytest.raises(ConflictError):
        relay.tasks.fail(pushed.id, summary="or not")
    assert pushed.id in [each["id"] for each in relay.tasks.list(channel="agent-tasks-2", state="done")]
    other = relay.push_detailed("another", channel="agent-tasks-2")
    assert relay.tasks.cancel(other.id, reason="no longer wanted")["status"] == "canceled"
    assert isinstance(relay.tasks.agents(), list)


def test_a_message_reaches_an_agent_and_is_answered(relay: ContextRelay) -> None:
    with pytest.raises(NotFoundError):
        relay.agents.send("nobody", "hello")
    (sent,) = relay.agents.send("python-agent", "hello", queue=True)
    assert [each["text"] for each in relay.agents.messages("python-agent")] == ["hello"]
    (read,) = relay.agents.mark_read("python-agent", [sent["id"]])
    assert read["state"] == "read"
    assert relay.agents.messages("python-agent") == []
    relay.agents.send(None, "thanks", reply_to=sent["id"])
    messages = relay.agents.conversation(sent["conversation"])["messages"]
    assert [each["text"] for each in messages] == ["hello", "thanks"]
    assert isinstance(relay.agents.list(), list)
