"""The second agent, in another language and with another vendor's model. It gets a URL and prints a URL.

python agent.py <url>    needs OPENAI_API_KEY; OPENAI_BASE_URL and OPENAI_MODEL are optional
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


relay = ContextRelay()  # uses CONTEXTRELAY_URL
url = sys.argv[1]
# The client searches the decrypted payload itself, because the relay cannot read it.
errors = relay.pull(url, grep="ERROR", context=1)
finding = ask(f"What went wrong? One sentence.\n\n{errors}")
print(relay.push(finding, encrypted=True, metadata={"read_chars": len(errors)}))
