"""The other agent, in another language and with another vendor's model: it is given a URL and gives one back.

python agent.py <url>    with OPENAI_API_KEY (and OPENAI_BASE_URL, OPENAI_MODEL where they are not the usual ones)
"""

import json
import os
import sys

import requests

from contextrelay import ContextRelay


def ask(words: str) -> str:
    base = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
    response = requests.post(
        f"{base}/chat/completions",
        headers={"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"},
        json={
            "model": os.environ.get("OPENAI_MODEL", "gpt-5-mini"),
            "messages": [{"role": "user", "content": words}],
            "stream": True,
        },
        stream=True,
        timeout=300,
    )
    response.raise_for_status()
    answer = ""
    for line in response.iter_lines():
        data = line[6:].decode() if line.startswith(b"data: ") else "[DONE]"
        choices = json.loads(data)["choices"] if data != "[DONE]" else []
        answer += "".join(choice["delta"].get("content") or "" for choice in choices)
    return answer


relay = ContextRelay()  # CONTEXTRELAY_URL
url = sys.argv[1]
# Of an encrypted payload the part is taken here: the relay cannot read it.
errors = relay.pull(url, grep="ERROR", context=1)
finding = ask(f"What went wrong? One sentence.\n\n{errors}")
print(relay.push(finding, encrypted=True, metadata={"read_chars": len(errors)}))
