import { spawn } from 'node:child_process';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReceivedMessage } from '../../../sdk/subscription.ts';
import type { OpenClient } from '../host.ts';
import { messageContent } from './message-line.ts';

/**
 * Runs a shell command for one message: the payload, or the signal's text, on its standard input; the rest in RELAY_*
 * variables. The exit code, or null where a signal ended it.
 */
export async function runForMessage(
  command: string,
  message: ReceivedMessage,
  open: OpenClient,
  o: { env: NodeJS.ProcessEnv; cwd: string },
): Promise<number | null> {
  const input = await payloadOf(message, open);
  const child = spawn(command, {
    shell: true,
    cwd: o.cwd,
    env: { ...o.env, ...variables(message) },
    stdio: ['pipe', 'inherit', 'inherit'],
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code));
  });
  // A command that does not want its input may leave it unread.
  const fed = pipeline(input, child.stdin).catch(() => {});
  const code = await ended;
  await fed;
  return code;
}

async function payloadOf(message: ReceivedMessage, open: OpenClient): Promise<Readable> {
  if (message.url === undefined) return Readable.from([messageContent(message)]);
  const body = await open.client.pullStream(await open.resolve(message.url));
  return Readable.fromWeb(body as import('node:stream/web').ReadableStream);
}

function variables(message: ReceivedMessage): NodeJS.ProcessEnv {
  const { channel, url, msg, seq, ts, from, metadata, token, attempt } = message;
  return {
    RELAY_CHANNEL: channel,
    RELAY_SEQ: String(seq),
    RELAY_TS: String(ts),
    RELAY_FROM: from,
    RELAY_METADATA: JSON.stringify(metadata ?? {}),
    ...(url === undefined ? { RELAY_MSG: clean(messageContent(message)) } : { RELAY_URL: url }),
    ...(token === undefined ? {} : { RELAY_TOKEN: String(token) }),
    ...(attempt === undefined ? {} : { RELAY_ATTEMPT: String(attempt) }),
    ...(msg === undefined ? {} : { RELAY_JSON: clean(JSON.stringify(msg)) }),
  };
}

/** An environment cannot hold a NUL character. */
function clean(text: string): string {
  return text.replaceAll('\u0000', '');
}
