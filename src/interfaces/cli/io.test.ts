import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { makeIo, type Output } from './io.ts';

function output(isTTY: boolean): Output & { text(): string } {
  const parts: Buffer[] = [];
  return {
    isTTY,
    columns: 80,
    write: (data) => void parts.push(Buffer.from(data as string)),
    send: async (data) => void parts.push(Buffer.from(data)),
    stream: new PassThrough(),
    text: () => Buffer.concat(parts).toString(),
  };
}

function opened(isTTY: boolean, env = {}) {
  const [stdout, stderr] = [output(isTTY), output(isTTY)];
  const stdin = { isTTY, stream: new PassThrough(), take: async () => null };
  return {
    io: makeIo({ stdin, stdout, stderr, env, cwd: '/' }, { json: false, noColor: false, commands: [] }),
    stdout,
    stderr,
  };
}

const EVIL = 'a\u001b[31mb\u001b]0;t\u0007c\u009b2Jd\re\tf\r\ng é\n';

test('at a terminal foreign escape codes are made visible in text and bytes, and our own work', async () => {
  const { io, stdout, stderr } = opened(true);
  io.print(io.style.bold(EVIL));
  const visible = 'a\\u001b[31mb\\u001b]0;t\\u0007c\\u009b2Jd\\u000de\tf\ng é\n';
  assert.equal(stdout.text(), `\u001b[1m${visible}\u001b[22m\n`);
  const { io: second, stdout: bytes } = opened(true);
  for (const byte of Buffer.from(EVIL.replace('\r\n', '\n'))) await second.stdout.send(Uint8Array.of(byte));
  assert.equal(bytes.text(), visible);
  io.warn(EVIL);
  assert.ok(stderr.text().includes(visible));
  assert.ok(stderr.text().startsWith('\u001b[33mwarning\u001b[39m'));
});

test('in a pipe all bytes stay unchanged, and FORCE_COLOR adds colors', async () => {
  const { io, stdout } = opened(false, { FORCE_COLOR: '1' });
  io.stdout.write(EVIL);
  await io.stdout.send(Buffer.from(EVIL));
  io.print(io.style.bold('x'));
  assert.equal(stdout.text(), `${EVIL}${EVIL}\u001b[1mx\u001b[22m\n`);
});
