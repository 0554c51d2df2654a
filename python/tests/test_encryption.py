"""The Fernet encryption of Python and TypeScript is byte-compatible."""

from __future__ import annotations

import base64
import json
import os
import random
from datetime import datetime

import pytest
from cryptography.fernet import Fernet

from contextrelay import ContextRelay, DecryptError
from contextrelay.encryption import decrypt, encrypt, generate_key, key_check, seal_key, unsealed_url

from .conftest import ROOT, typescript

VECTORS = ROOT.parent / "shared" / "vectors" / "fernet"
SIZES = [0, 1, 15, 16, 17, 31, 32, 33, 1000, 65_537]


def made_by_python(key: str, data: bytes, now: int, iv: bytes) -> str:
    return Fernet(key)._encrypt_from_parts(data, now, iv).decode("ascii")


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def test_the_same_key_time_and_iv_make_the_same_token_in_python_and_typescript() -> None:
    rows = [
        {
            "key": generate_key(),
            "data": b64(os.urandom(size)),
            "now": random.randrange(1 << 32),
            "iv": b64(os.urandom(16)),
        }
        for size in SIZES
    ]
    theirs = typescript(
        """
        import { fernetEncrypt, fernetKeyCheck } from './src/formats/fernet.ts';
        const bytes = (text) => new Uint8Array(Buffer.from(text, 'base64'));
        output(await Promise.all(input.map(async ({ key, data, now, iv }) => ({
          token: await fernetEncrypt(key, bytes(data), { now: now * 1000, iv: bytes(iv) }),
          check: await fernetKeyCheck(key),
        }))));
        """,
        rows,
    )
    for row, their in zip(rows, theirs):
        ours = made_by_python(
            row["key"], base64.b64decode(row["data"]), row["now"], base64.b64decode(row["iv"])
        )
        assert ours == their["token"]
        assert key_check(row["key"]) == their["check"]


def test_python_and_typescript_read_each_others_tokens() -> None:
    rows = [
        (key, data, encrypt(key, data))
        for key, data in ((generate_key(), os.urandom(size)) for size in SIZES)
    ]
    theirs = typescript(
        """
        import { fernetDecrypt, fernetEncrypt } from './src/formats/fernet.ts';
        output(await Promise.all(input.map(async ({ key, token }) => {
          const data = await fernetDecrypt(key, token);
          return { data: Buffer.from(data).toString('base64'), token: await fernetEncrypt(key, data.reverse(), { now: Date.now() }) };
        })));
        """,
        [{"key": key, "token": token.decode("ascii")} for key, _, token in rows],
    )
    for (key, data, _), their in zip(rows, theirs):
        assert base64.b64decode(their["data"]) == data
        assert decrypt(key, their["token"].encode("ascii")) == data[::-1]


def test_python_and_typescript_reject_the_same_tokens() -> None:
    key = generate_key()
    token = encrypt(key, b"a text").decode("ascii")
    wrong = [
        "",
        "x",
        token[:-1],
        token + "=",
        " " + token,
        token + "\n",
        token.replace("=", ""),
        token[::-1],
        "%" + token[1:],
    ]
    wrong += [token[:at] + ("A" if token[at] != "A" else "B") + token[at + 1 :] for at in (0, 8, 20, 60, 90)]
    theirs = typescript(
        """
        import { fernetDecrypt } from './src/formats/fernet.ts';
        output(await Promise.all(input.tokens.map((token) => fernetDecrypt(input.key, token).then(() => true, () => false))));
        """,
        {"key": key, "tokens": wrong},
    )
    ours = []
    for each in wrong:
        try:
            decrypt(key, each.encode("ascii"))
            ours.append(True)
        except DecryptError:
            ours.append(False)
    assert ours == theirs
    assert ours == [False] * len(wrong)


@pytest.mark.skipif(not VECTORS.exists(), reason="the public vectors are not on this machine")
def test_the_public_test_vectors_pass() -> None:
    def vectors(name: str) -> list:
        return json.loads((VECTORS / name).read_text())

    for row in vectors("generate.json"):
        now = int(datetime.fromisoformat(row["now"]).timestamp())
        assert made_by_python(row["secret"], row["src"].encode(), now, bytes(row["iv"])) == row["token"]
    for row in vectors("verify.json"):
        assert decrypt(row["secret"], row["token"].encode()) == row["src"].encode()
    refused = [
        row for row in vectors("invalid.json") if "TTL" not in row["desc"] and "future" not in row["desc"]
    ]
    assert len(refused) >= 6
    for row in refused:
        with pytest.raises(DecryptError):
            decrypt(row["secret"], row["token"].encode())


def test_typescript_and_python_pull_each_others_encrypted_payloads(relay: ContextRelay) -> None:
    texts = ["", "a", "ü" * 1000, os.urandom(3000).hex(), "\ufeff漢字\r\n\x00"]
    rows = [{"url": relay.push(text or " ", encrypted=True), "text": text} for text in texts]
    theirs = typescript(
        """
        import { ContextRelay } from './src/public/index.ts';
        const relay = new ContextRelay({ baseUrl: input.base });
        const answers = [];
        for (const { url, text } of input.rows)
          answers.push({ pulled: await relay.pull(url), url: await relay.push(text || ' ', { encrypted: true, metadata: { by: 'typescript' } }) });
        output(answers);
        """,
        {"base": relay.base_url, "rows": rows},
    )
    for text, their in zip(texts, theirs):
        assert their["pulled"] == (text or " ")
        assert "#key=" in their["url"] and relay.pull(their["url"]) == (text or " ")
        assert relay.peek(their["url"]) == {"by": "typescript"}


def test_only_subscribers_with_the_channel_key_can_decrypt(relay: ContextRelay) -> None:
    shared = generate_key()
    knowing = ContextRelay(relay.base_url, channel_keys={"sealed": shared})
    theirs = typescript(
        """
        import { ContextRelay } from './src/public/index.ts';
        const relay = new ContextRelay({ baseUrl: input.base, channelKeys: { sealed: input.key } });
        await relay.push('from typescript', { channel: 'sealed', encrypted: true });
        output(true);
        """,
        {"base": relay.base_url, "key": shared},
    )
    assert theirs is True
    knowing.push("from python", channel="sealed", encrypted=True)
    with knowing.messages("sealed", since="all") as messages:
        each = iter(messages)
        assert [knowing.pull(next(each).url) for _ in range(2)] == ["from typescript", "from python"]
    with relay.messages("sealed", since="all") as messages:
        assert "#key=" not in next(iter(messages)).url
    texts = typescript(
        """
        import { ContextRelay } from './src/public/index.ts';
        const relay = new ContextRelay({ baseUrl: input.base, channelKeys: { sealed: input.key } });
        const texts = [];
        for await (const { url } of relay.subscribe('sealed', { since: 'all' })) if (texts.push(await relay.pull(url)) === 2) break;
        output(texts);
        """,
        {"base": relay.base_url, "key": shared},
    )
    assert texts == ["from typescript", "from python"]


def test_a_malformed_key_is_rejected() -> None:
    for key in ("", "short", "A" * 43 + "=", "ü" * 44):
        with pytest.raises(ValueError):
            encrypt(key, b"x")
    shared = generate_key()
    assert unsealed_url("u", seal_key(generate_key(), generate_key()), shared) == "u"
