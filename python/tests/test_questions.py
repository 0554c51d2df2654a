from __future__ import annotations

import threading

import pytest

from contextrelay import ConflictError, ContextRelay, RelayHTTPError


def test_a_person_answers_a_question(relay: ContextRelay) -> None:
    asked = relay.questions.ask("Deploy?", choices=["yes", "no"], timeout=60)
    assert (asked.status, asked.choices, asked.answer) == ("open", ["yes", "no"], None)
    assert asked.id in [question.id for question in relay.questions.list()]
    assert "url" in relay.questions.link(asked.id, name="ada")
    with pytest.raises(RelayHTTPError):
        relay.questions.answer(asked.id, "perhaps")
    answered = relay.questions.answer(asked.id, "yes", comment="after lunch")
    assert (answered.status, answered.answer, answered.comment) == ("answered", "yes", "after lunch")
    with pytest.raises(ConflictError):
        relay.questions.answer(asked.id, "no")
    assert relay.questions.get(asked.id) == answered


def test_ask_waits_for_the_answer(relay: ContextRelay) -> None:
    thread = relay.threads.create("asks")["thread_id"]

    def answer() -> None:
        while True:
            for question in relay.questions.list(thread_id=thread):
                relay.questions.answer(question.id, "blue")
                return

    person = threading.Thread(target=answer)
    person.start()
    assert relay.ask("Which colour?", thread_id=thread).answer == "blue"
    person.join()


def test_a_question_that_nobody_answers_has_its_default_or_fails(relay: ContextRelay) -> None:
    assert relay.ask("Shall we?", default="no", timeout=1).answer == "no"
    with pytest.raises(RelayHTTPError) as caught:
        relay.ask("Shall we?", timeout=1)
    assert caught.value.code == "failed" and "expired" in str(caught.value)


def test_a_message_with_a_delay_arrives_later(relay: ContextRelay) -> None:
    with relay.messages("delayed") as messages:
        relay.publish("delayed", "second", after=0.5)
        relay.publish("delayed", "first")
        arriving = iter(messages)
        assert [next(arriving).msg for _ in range(2)] == ["first", "second"]


def test_an_interrupted_wait_withdraws_the_question(
    relay: ContextRelay, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread = relay.threads.create("interrupted")["thread_id"]

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("contextrelay.transport.time.sleep", interrupt)
    with pytest.raises(KeyboardInterrupt):
        relay.ask("Which colour?", thread_id=thread)
    assert [each.status for each in relay.questions.list(status="withdrawn", thread_id=thread)] == [
        "withdrawn"
    ]
