from __future__ import annotations

import asyncio

import pytest

from contextrelay import BadInputError, ContextRelay, NotFoundError, PartRequest, RelayUnreachableError
from contextrelay.aio import AsyncContextRelay

from ..conftest import RelayProcess
from ..test_keys import Listener


def public(owner: object) -> set[str]:
    return {name for name in dir(owner) if not name.startswith("_")}


def test_the_async_client_has_every_method_of_the_blocking_client() -> None:
    blocking, awaited = ContextRelay("http://relay"), AsyncContextRelay("http://relay")
    assert public(blocking) == public(awaited)
    for resource in ("threads", "agents", "questions", "tasks", "files"):
        assert public(getattr(blocking, resource)) == public(getattr(awaited, resource))
    assert public(blocking.files.space("notes")) == public(awaited.files.space("notes"))


def test_push_pull_peek_and_parts(server: RelayProcess) -> None:
    async def run() -> None:
        async with AsyncContextRelay(server.url) as relay:
            urls = await asyncio.gather(*(relay.push(f"text {n}", encrypted=n % 2 == 0) for n in range(10)))
            assert await asyncio.gather(*map(relay.pull, urls)) == [f"text {n}" for n in range(10)]
            url = await relay.push("one\ntwo", metadata={"a": 1})
            assert await relay.peek(url) == {"a": 1}
            assert await relay.pull(url, lines="2") == "two"
            assert (await relay.cost(url, PartRequest(lines="1")))["tokens"] == 1
            assert await relay.pull_bytes(await relay.push(b"\xff\x00")) == b"\xff\x00"
            assert len(await relay.renew(urls, ttl=2 * 24 * 3600)) == 10
            await relay.delete(url)
            with pytest.raises(NotFoundError):
                await relay.pull(url)

    asyncio.run(run())


def test_messages_arrive_replayed_live_and_in_a_group(server: RelayProcess, relay: ContextRelay) -> None:
    async def run() -> None:
        async with AsyncContextRelay(server.url) as client:
            first = await client.push("1", channel="async")
            messages = client.messages("async", since="all")
            assert (await messages.__anext__()).url == first
            await client.publish("async", {"n": 2})
            assert (await messages.__anext__()).msg == {"n": 2}
            await messages.aclose()
            work = client.messages("async", group="team")
            message = await work.__anext__()
            await client.extend(message)
            await client.ack(message)
            assert (await work.__anext__()).msg == {"n": 2}
            await work.aclose()

    asyncio.run(run())


def test_no_message_is_missed_between_the_call_and_the_loop(server: RelayProcess) -> None:
    async def run() -> None:
        async with AsyncContextRelay(server.url) as client:
            for channel, subscribed in (
                ("early.one", "early.one"),
                ("early.two", "early.*"),
                ("early.two", "early.>"),
            ):
                messages = client.messages(subscribed)
                url = await client.push("x", channel=channel)
                message = await messages.__anext__()
                assert (message.url, message.channel) == (url, channel)
                await messages.aclose()
                async with client.messages(subscribed) as messages:
                    await client.publish(channel, 1)
                    async for message in messages:
                        assert message.msg == 1
                        break

    asyncio.run(run())


def test_subscribe_calls_functions_and_coroutines(server: RelayProcess) -> None:
    async def run() -> None:
        async with AsyncContextRelay(server.url) as client:
            heard: "asyncio.Queue[str]" = asyncio.Queue()
            running = [
                asyncio.create_task(client.subscribe("async-calls", heard.put)),
                asyncio.create_task(client.subscribe("async-calls", heard.put_nowait)),
            ]
            await asyncio.sleep(0)
            url = await client.push("x", channel="async-calls")
            assert [await heard.get(), await heard.get()] == [url, url]
            for task in running:
                task.cancel()

    asyncio.run(run())


def test_threads_and_tasks(server: RelayProcess) -> None:
    async def run() -> None:
        async with AsyncContextRelay(server.url) as client:
            thread = (await client.threads.create("async"))["thread_id"]
            ref = (await client.threads.put_artifact(thread, "a\nb", name="x", type="text"))["ref"]
            assert (await client.threads.artifact_part(thread, ref, PartRequest(lines="2"))).text == "b"
            task = await client.push_detailed("x", channel="async-tasks")
            await client.tasks.done(task.id, "did")
            assert (await client.tasks.get(task.id))["state"] == "done"

    asyncio.run(run())


def test_the_async_client_sends_the_key_and_fails_without_one(guarded: RelayProcess) -> None:
    async def run() -> None:
        async with AsyncContextRelay(guarded.url, guarded.key) as client:
            url = await client.push("x", channel="async")
            async for message in client.messages("async", since="all"):
                assert message.url == url
                break
        async with AsyncContextRelay(guarded.url) as client:
            with pytest.raises(Exception) as caught:
                await client.messages("async", since="all").__anext__()
            assert caught.value.code == "unauthorized"
        async with AsyncContextRelay("http://127.0.0.1:9", retries=0) as client:
            with pytest.raises(RelayUnreachableError):
                await client.push("x")

    asyncio.run(run())


def test_neither_key_nor_payload_follows_a_redirect() -> None:
    async def run(base: str) -> None:
        async with AsyncContextRelay(base, "cr_live_mine") as client:
            with pytest.raises(BadInputError, match="redirects"):
                await client.push("x")
            with pytest.raises(BadInputError, match="redirects"):
                await client.messages("c", since="all").__anext__()

    with Listener() as listener, Listener() as other:
        listener.location = f"{other.url}/elsewhere"
        asyncio.run(run(listener.url))
        assert len(listener.seen) == 2 and other.seen == []
        listener.shutdown()
        other.shutdown()


def test_questions_and_delayed_messages(server: RelayProcess) -> None:
    async def run() -> None:
        async with AsyncContextRelay(server.url) as relay:
            waiting = asyncio.create_task(relay.ask("Deploy?", choices=["yes", "no"]))
            while not (found := [q for q in await relay.questions.list() if q.question == "Deploy?"]):
                await asyncio.sleep(0.05)
            await relay.questions.answer(found[0].id, "yes")
            assert (await waiting).answer == "yes"
            stopped = asyncio.create_task(relay.ask("Still?"))
            while not (found := [q for q in await relay.questions.list() if q.question == "Still?"]):
                await asyncio.sleep(0.05)
            stopped.cancel()
            with pytest.raises(asyncio.CancelledError):
                await stopped
            assert (await relay.questions.get(found[0].id)).status == "withdrawn"
            async with relay.messages("later") as messages:
                await relay.publish("later", "second", after=0.5)
                await relay.publish("later", "first")
                arriving = messages.__aiter__()
                assert [(await arriving.__anext__()).msg for _ in range(2)] == ["first", "second"]

    asyncio.run(run())
