import assert from 'node:assert/strict';
import { test } from 'node:test';
import vm from 'node:vm';
import { build } from 'esbuild';
import { install } from './installation.ts';
import { outsideEnv, serve } from './processes.ts';

const ENTRY = `
import { ContextRelay } from 'contextrelay';
globalThis.result = (async () => {
  const relay = new ContextRelay({ baseUrl: globalThis.RELAY_URL });
  const url = await relay.push('from a page: 世界', { encrypted: true, metadata: { page: 1 } });
  return { data: await relay.pull(url), node: typeof process + typeof Buffer };
})();`;

/** Globals of a browser page, without `process` and `Buffer`. */
const WEB = [
  ...['fetch', 'Request', 'Response', 'Headers', 'FormData', 'Blob', 'URL', 'URLSearchParams'],
  ...['crypto', 'TextEncoder', 'TextDecoder', 'ReadableStream', 'WritableStream', 'TransformStream'],
  ...['AbortController', 'AbortSignal', 'DOMException', 'Event', 'EventTarget', 'WebSocket', 'btoa', 'atob'],
  ...['setTimeout', 'clearTimeout', 'queueMicrotask', 'structuredClone', 'performance', 'console'],
] as const;

test('the SDK bundle for browsers has no node: import and works with the globals of a page', async () => {
  using installation = await install();
  const { metafile, outputFiles } = await build({
    stdin: { contents: ENTRY, resolveDir: installation.folder },
    bundle: true,
    write: false,
    metafile: true,
    format: 'iife',
    platform: 'browser',
    target: 'es2022',
  });
  const imports = Object.values(metafile.inputs).flatMap((input) => input.imports);
  const outside = imports.filter((imported) => imported.external && imported.path !== '<runtime>');
  assert.deepEqual(outside, []);
  await using server = await serve(process.execPath, [installation.relay, 'up', '--port', '0'], {
    env: outsideEnv({ RELAY_HOME: installation.home }),
  });
  const page: Record<string, unknown> = { RELAY_URL: server.url };
  for (const name of WEB) page[name] = globalThis[name];
  page.globalThis = page;
  // Pass our Uint8Array to the sandbox: the web classes above come from this realm and reject a Uint8Array of another
  // realm.
  page.Uint8Array = Uint8Array;
  page.ArrayBuffer = ArrayBuffer;
  vm.runInNewContext(outputFiles[0]!.text, page);
  assert.deepEqual(JSON.parse(JSON.stringify(await page.result)), {
    data: 'from a page: 世界',
    node: 'undefinedundefined',
  });
});
