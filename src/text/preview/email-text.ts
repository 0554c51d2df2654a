import { fromBase64 } from '../../base/base64.ts';
import { htmlText } from './html-text.ts';

/** Who wrote to whom about what, and the text of the message. */
export function emailText(raw: string): string {
  const [head, body] = splitHead(raw) ?? [raw, ''];
  const headers = readHeaders(head);
  if (headers.size === 0) return raw;
  const shown = ['from', 'to', 'cc', 'date', 'subject']
    .filter((name) => headers.has(name))
    .map((name) => `${name[0]!.toUpperCase()}${name.slice(1)}: ${decodeWords(headers.get(name)!)}`);
  return `${shown.join('\n')}\n\n${bodyText(headers, body, 3).trim()}`;
}

/** What is before the first empty line and what is behind it; null where there is none. */
function splitHead(text: string): [head: string, body: string] | null {
  const gap = /\r?\n\r?\n/.exec(text);
  return gap && [text.slice(0, gap.index), text.slice(gap.index + gap[0].length)];
}

type Headers = Map<string, string>;

function readHeaders(head: string): Headers {
  const headers: Headers = new Map();
  for (const line of head.replace(/\r?\n[ \t]+/g, ' ').split(/\r?\n/)) {
    const match = /^([\w-]+):\s*(.*)$/.exec(line);
    if (match) headers.set(match[1]!.toLowerCase(), match[2]!);
  }
  return headers;
}

/** Of several parts the plain one, or the first that is text at all. */
function bodyText(headers: Headers, body: string, depth: number): string {
  const type = headers.get('content-type') ?? 'text/plain';
  const boundary = /boundary="?([^";]+)"?/i.exec(type)?.[1];
  if (/^multipart\//i.test(type) && boundary && depth > 0) {
    const parts = body
      .split(`--${boundary}`)
      .slice(1)
      .filter((part) => !part.startsWith('--'))
      .map((part) => {
        const [head, content] = splitHead(part) ?? ['', part];
        return { inner: readHeaders(head), content };
      });
    const kind = (part: (typeof parts)[number]) => part.inner.get('content-type') ?? 'text/plain';
    const best =
      parts.find((part) => /^text\/plain/i.test(kind(part))) ??
      parts.find((part) => /^(?:text\/html|multipart\/)/i.test(kind(part)));
    return best
      ? bodyText(best.inner, best.content, depth - 1)
      : `(${parts.length} parts, none of them text)`;
  }
  const text = decodeBody(body, headers.get('content-transfer-encoding') ?? '');
  return /^text\/html/i.test(type) ? htmlText(text) : text;
}

function decodeBody(body: string, encoding: string): string {
  if (/^quoted-printable/i.test(encoding)) return quotedPrintable(body.replace(/=\r?\n/g, ''));
  if (!/^base64/i.test(encoding)) return body;
  const bytes = fromBase64(body.replace(/\s/g, ''));
  return bytes ? new TextDecoder().decode(bytes) : body;
}

function quotedPrintable(text: string): string {
  return text.replace(/(?:=[0-9A-Fa-f]{2})+/g, (run) => {
    const bytes = Uint8Array.from(run.slice(1).split('='), (hex) => Number.parseInt(hex, 16));
    return new TextDecoder().decode(bytes);
  });
}

/** `=?utf-8?q?Gr=C3=BC=C3=9Fe?=` as people see it. */
function decodeWords(header: string): string {
  return header.replace(/=\?[\w-]+\?([bqBQ])\?([^?]*)\?=/g, (_, kind: string, text: string) =>
    decodeBody(text.replaceAll('_', ' '), kind.toLowerCase() === 'q' ? 'quoted-printable' : 'base64'),
  );
}
