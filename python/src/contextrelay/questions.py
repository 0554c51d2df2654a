"""Questions to people, and their answers."""

from __future__ import annotations

import functools
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Callable, List, Mapping, Optional, Sequence

from .errors import RelayError, RelayHTTPError
from .wire import Call, Flow, JsonObject, Operations, ask, blocking, get, post, segment, tell

if TYPE_CHECKING:
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")

#: Seconds between two requests that check whether a question is answered.
_POLL = 1.0


@dataclass(frozen=True)
class Question:
    """A question to a person."""

    id: str
    question: str
    #: Allowed answers. Empty if any text is an answer.
    choices: List[str]
    #: Names of the keys that may answer. Empty if every key with the scope ``answer`` may.
    who: List[str]
    #: The answer if nobody answers in time.
    default: Optional[str]
    thread_id: Optional[str]
    step: Optional[str]
    asked_by: str
    asked_at: str
    expires_at: str
    #: ``open``, ``answered``, ``expired`` or ``withdrawn``.
    status: str
    answer: Optional[str]
    comment: Optional[str]
    #: Name of the key or link that answered. ``timeout`` if the default became the answer.
    answered_by: Optional[str]
    answered_at: Optional[str]
    #: How the answer was given: with a ``key`` or a ``link``. None if nobody answered.
    via: Optional[str]


class QuestionFlows:
    """Operations on questions."""

    def ask(
        self,
        question: str,
        *,
        choices: Optional[Sequence[str]] = None,
        who: Optional[Sequence[str]] = None,
        default: Optional[str] = None,
        timeout: Optional[float] = None,
        thread_id: Optional[str] = None,
        idempotency_key: Optional[str] = None,
    ) -> Flow[Question]:
        """Asks a person and returns the open question at once.

        ``choices``: allowed answers; without them, any text is an answer. ``who``: names of the keys that may answer.
        ``default``: the answer if nobody answers in time. ``timeout``: seconds until the question expires; one week by
        default. ``thread_id``: thread that records the question and its answer.
        """
        fields = {
            "question": question,
            "choices": None if choices is None else [*choices],
            "who": None if who is None else [*who],
            "default": default,
            "expires_in": timeout,
            "thread_id": thread_id,
        }
        value = {name: field for name, field in fields.items() if field is not None}
        return _question((yield from ask(post("/questions", value, key=idempotency_key or ""))))

    def list(
        self, *, status: Optional[str] = None, thread_id: Optional[str] = None, limit: Optional[int] = None
    ) -> Flow[List[Question]]:
        """Lists questions, newest first. Without ``status``, lists open questions."""
        answer = yield from ask(get("/questions", status=status, thread_id=thread_id, limit=limit))
        return [_question(each) for each in answer["questions"]]

    def get(self, question_id: str) -> Flow[Question]:
        """Returns a question with its answer."""
        return _question((yield from ask(_question_call(question_id))))

    def answer(self, question_id: str, answer: str, *, comment: Optional[str] = None) -> Flow[Question]:
        """Answers an open question. The first answer counts; a later one raises ConflictError."""
        value = {"answer": answer} if comment is None else {"answer": answer, "comment": comment}
        return _question((yield from ask(post(f"/questions/{segment(question_id)}/answer", value))))

    def link(self, question_id: str, *, name: Optional[str] = None) -> Flow[JsonObject]:
        """Creates a link to a form that answers this question once: ``{"path", "url", "expires_at"}``."""
        value = {} if name is None else {"name": name}
        return ask(post(f"/questions/{segment(question_id)}/link", value))

    def withdraw(self, question_id: str) -> Flow[None]:
        """Withdraws an open question."""
        return tell(Call("DELETE", f"/questions/{segment(question_id)}", repeatable=True))


class Questions(Operations):
    """``relay.questions``: questions to people, and their answers. ``relay.ask`` also waits for the answer."""

    _flows = QuestionFlows()

    ask = blocking(QuestionFlows.ask)
    list = blocking(QuestionFlows.list)
    get = blocking(QuestionFlows.get)
    answer = blocking(QuestionFlows.answer)
    link = blocking(QuestionFlows.link)
    withdraw = blocking(QuestionFlows.withdraw)


def answered(
    asking: Callable[Concatenate[QuestionFlows, P], Flow[Question]],
) -> Callable[Concatenate[Any, P], Flow[Question]]:
    """Returns a flow that asks a question with ``asking`` and its options, and waits for the answer.

    If the wait is interrupted, the flow withdraws the question.
    """

    @functools.wraps(asking)
    def flow(_: Any, /, *args: P.args, **options: P.kwargs) -> Flow[Question]:
        questions = QuestionFlows()
        question = yield from asking(questions, *args, **options)
        try:
            while question.status == "open":
                question = _question((yield from ask(replace(_question_call(question.id), delay=_POLL))))
        except (RelayError, GeneratorExit):
            raise
        except BaseException:
            with suppress(RelayError):
                yield from questions.withdraw(question.id)
            raise
        if question.status != "answered":
            raise RelayHTTPError(f"Nobody answered: the question is {question.status}.", code="failed")
        return question

    flow.__doc__ = """Asks a person and waits for the answer: ``relay.ask("Deploy?", choices=["yes", "no"]).answer``.

        It has the options of :meth:`relay.questions.ask`. Raises RelayHTTPError if the question expires or is withdrawn
        without an answer. If the wait is interrupted, the question is withdrawn.
        """
    return flow


def _question_call(question_id: str) -> Call:
    return get(f"/questions/{segment(question_id)}")


def _question(value: Mapping[str, Any]) -> Question:
    return Question(**{name: value[name] for name in Question.__dataclass_fields__})
