import assert from 'node:assert/strict';
import { LOCAL_CALLER } from '../../src/contract/caller.ts';
import { ContextRelay } from '../../src/sdk/context-relay.ts';
import { type RelayUnderTest, startRelay } from '../http/relay-under-test.ts';

/** Server and client of the scene that the tests of all frameworks play: a model reads one line of a large result. */
export interface Scene extends AsyncDisposable {
  readonly relay: ContextRelay;
  readonly server: RelayUnderTest;
}

/** Starts a real server and a client over HTTP. */
export async function startScene(): Promise<Scene> {
  const server = await startRelay();
  const relay = new ContextRelay({ baseUrl: server.url });
  return { relay, server, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** Returns a client of the same relay without HTTP. */
export function embedded(server: RelayUnderTest): ContextRelay {
  return new ContextRelay({ relay: server.core.relay(LOCAL_CALLER, server.url), ownBases: [server.url] });
}

export const NEEDLE = 'ERROR payment 4711 refused: the card has expired';

/** A log of one megabyte with one important line. */
export const LARGE_LOG: string = (() => {
  const lines = Array.from(
    { length: 20_000 },
    (_, i) => `2026-11-17 INFO request ${i} was answered in ${i % 97} ms`,
  );
  lines[13_000] = NEEDLE;
  return lines.join('\n');
})();
assert.ok(LARGE_LOG.length > 1_000_000);

/** Returns the pointer in a text. */
export function pointerIn(text: string): string {
  const pointerUrl = /https?:\/\/\S+\/pull\/[0-9a-f-]{36}(?:#key=[\w=-]+)?/.exec(text)?.[0];
  assert.ok(pointerUrl, `no pointer in: ${text.slice(0, 300)}`);
  return pointerUrl;
}

/**
 * Asserts that the model first got a pointer with an excerpt, and then read only one line. The excerpt and this line
 * contain the failure.
 */
export function assertReadInPart(instead: string, readText: string): void {
  assert.ok(instead.length < 4_000, `${instead.length} characters were shown`);
  assert.match(instead, /^Too large to show: the result of read_log, .*tokens \(o200k_base\)/);
  assert.ok(instead.includes('request 0 was answered'), 'its beginning is shown');
  assert.ok(instead.includes(NEEDLE), 'the excerpt shows the failure');
  assert.ok(readText.includes(NEEDLE), readText.slice(0, 300));
  assert.ok(readText.length < 500, `${readText.length} characters were read`);
}
