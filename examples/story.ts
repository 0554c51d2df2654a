import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ownTextWork } from '../src/app/store/own-text-work.ts';
import { isRelayError } from '../src/base/errors.ts';
import { ContextRelay } from '../src/public/index.ts';
import { openModel } from '../src/runners/provider/provider.ts';
import { type Reply, startFakeModel } from './fake-model.ts';

/** Everything an example needs: a relay and a model. */
export interface Story extends AsyncDisposable {
  /** `CONTEXTRELAY_URL`, or the URL of a relay that runs only for this example. */
  readonly relayUrl: string;
  /** Creates a client. Each agent has its own, so agents share only the relay. */
  client(): ContextRelay;
  /** Asks a model: the provider whose key is set, or the fake model with `--fake`. */
  ask(system: string, words: string): Promise<string>;
  /** URL of the fake model, for agents in other processes. Null if the model is real. */
  readonly fakeUrl: string | null;
  /** Prints the tokens that models read without and with the relay. Fails if the relay saved none. */
  bill(without: readonly string[], withRelay: readonly string[]): Promise<void>;
}

export const FAKE = process.argv.includes('--fake');
export const RELAY = resolve(import.meta.dirname, '../bin/relay.ts');

/** Starts the relay and, with `--fake`, a model that answers with `fake`. Pass null if the example asks no model. */
export async function openStory(fake: ((system: string, words: string) => Reply) | null): Promise<Story> {
  if (fake && !FAKE) checkModel();
  const stack = new AsyncDisposableStack();
  const relayUrl = process.env.CONTEXTRELAY_URL ?? (await startRelay(stack));
  const model =
    fake && FAKE ? stack.use(await startFakeModel(({ system, user }) => fake(system, user))) : null;
  const env = model ? model.env : process.env;
  return {
    relayUrl,
    client: () => new ContextRelay({ baseUrl: relayUrl }),
    async ask(system, words) {
      const { text } = await openModel({}, env, []).answer({ system, user: words }, {});
      return text;
    },
    fakeUrl: model?.url ?? null,
    async bill(without, withRelay) {
      const count = async (texts: readonly string[]) => {
        const counts = await Promise.all(texts.map((text) => ownTextWork.count(text)));
        return counts.reduce((sum, { tokens }) => sum + tokens, 0);
      };
      const [pasted, paid] = [await count(without), await count(withRelay)];
      console.log(`the bill: ${pasted} tokens without the relay, ${paid} with it (o200k_base)`);
      assert.ok(paid < pasted, 'the relay saved nothing');
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Exits with a hint if no model is configured. */
function checkModel(): void {
  try {
    openModel({}, process.env, []);
  } catch (error) {
    if (!isRelayError(error, 'no_model')) throw error;
    console.error(`${error.message}\n  → ${error.hint} Or try it without a model: --fake`);
    process.exit(2);
  }
}

/** Starts the real program on a free port with an empty store, and returns its URL. */
async function startRelay(stack: AsyncDisposableStack): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'relay-example-'));
  const server = spawn(process.execPath, [RELAY, 'up', '--port', '0', '--home', home], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((done) => server.once('exit', done));
  stack.defer(async () => {
    server.kill('SIGTERM');
    await ended;
    await rm(home, { recursive: true, force: true });
  });
  let said = '';
  for await (const chunk of server.stdout) {
    said += chunk;
    const url = /listening on (http:\S+)/.exec(said)?.[1];
    if (url) return url;
  }
  throw new Error(`The relay did not start: ${said}`);
}
