import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  BaseLlm,
  createEvent,
  FunctionTool,
  InMemorySessionService,
  LlmAgent,
  type LlmRequest,
  Runner,
} from '@google/adk';
import type { Part } from '@google/genai';
import * as z from 'zod';
import { assertHandOver, QUESTION } from '../../../test/integrations/hand-over.ts';
import {
  assertReadInPart,
  embedded,
  LARGE_LOG,
  pointerIn,
  type Scene,
  startScene,
} from '../../../test/integrations/scene.ts';
import {
  ContextRelayArtifactService,
  ContextRelayPlugin,
  ContextRelaySessionService,
  contextRelayTools,
} from './index.ts';

let scene: Scene;
before(async () => {
  scene = await startScene();
});
after(() => scene[Symbol.asyncDispose]());

type Step = (prompt: string) => Part;

/** A fake model. Each step of its script computes an answer from the last part of the prompt. */
class ScriptedModel extends BaseLlm {
  readonly seen: string[] = [];
  readonly #script: readonly Step[];

  constructor(script: readonly Step[]) {
    super({ model: 'scripted' });
    this.#script = script;
  }

  override async *generateContentAsync({ contents }: LlmRequest) {
    this.seen.push(JSON.stringify(contents));
    const { functionResponse, text = '' } = contents.at(-1)!.parts!.at(-1)!;
    const prompt = functionResponse ? String(functionResponse.response!.result) : text;
    yield { content: { role: 'model', parts: [this.#script[this.seen.length - 1]!(prompt)] } };
  }

  override connect(): never {
    throw new Error('not used');
  }
}

const calling = (name: string, args: Record<string, unknown> = {}): Part => ({
  functionCall: { name, args },
});

async function ask(runner: Runner, text: string): Promise<string> {
  let answer = '';
  const newMessage = { role: 'user', parts: [{ text }] };
  for await (const event of runner.runAsync({ userId: 'ada', sessionId: 's', newMessage }))
    answer = event.content?.parts?.at(-1)?.text ?? answer;
  return answer;
}

test('a tool result of a megabyte becomes a pointer, and another process continues the session', async () => {
  const readLog = new FunctionTool({
    name: 'read_log',
    description: 'the log of today',
    parameters: z.object({}),
    execute: () => LARGE_LOG,
  });
  const results: string[] = [];
  const runner = (script: readonly Step[], relay = scene.relay) => {
    const model = new ScriptedModel(script);
    const agent = new LlmAgent({ name: 'support', model, tools: [readLog, ...contextRelayTools(relay)] });
    const sessionService = new ContextRelaySessionService(relay);
    const plugins = [new ContextRelayPlugin(relay)];
    return { model, sessionService, runner: new Runner({ appName: 'shop', agent, sessionService, plugins }) };
  };
  const first = runner([
    () => calling('read_log'),
    (text) => {
      results.push(text);
      return calling('pull_context', { url: pointerIn(text), part: 'grep=payment 4711' });
    },
    (text) => ({ text }),
  ]);
  await first.sessionService.createSession({ appName: 'shop', userId: 'ada', sessionId: 's' });
  const read = await ask(first.runner, 'why was payment 4711 refused?');
  assertReadInPart(results[0]!, read);
  const second = runner([() => ({ text: 'The card.' })], embedded(scene.server));
  await ask(second.runner, 'what had expired?');
  assert.match(second.model.seen[0]!, /why was payment 4711 refused\?/);
});

test('sessions keep events and state by scope', async () => {
  const service = new ContextRelaySessionService(scene.relay, { space: 'contract' });
  const at = { appName: 'app', userId: 'u' };
  const state = { own: 1, 'user:name': 'Ada', 'app:version': 7, 'temp:x': 1 };
  const session = await service.createSession({ ...at, sessionId: 'one', state });
  assert.deepEqual(session.state, { own: 1, 'user:name': 'Ada', 'app:version': 7 });
  await assert.rejects(service.createSession({ ...at, sessionId: 'one' }), /already exists/);
  for (let n = 0; n < 3; n++) {
    const event = createEvent({ author: 'u', timestamp: 100 + n });
    Object.assign(event.actions.stateDelta, { own: n, 'user:seen': n });
    await service.appendEvent({ session, event });
  }
  const found = await service.getSession({ ...at, sessionId: 'one' });
  assert.equal(found!.events.length, 3);
  assert.deepEqual(found!.state, { own: 2, 'user:name': 'Ada', 'user:seen': 2, 'app:version': 7 });
  const recent = await service.getSession({ ...at, sessionId: 'one', config: { numRecentEvents: 1 } });
  assert.deepEqual(
    recent!.events.map(({ timestamp }) => timestamp),
    [102],
  );
  assert.equal(recent!.state.own, 2);
  await service.createSession({ ...at, sessionId: 'two' });
  const listed = await service.listSessions({ appName: 'app', order: 'desc', limit: 1 });
  assert.deepEqual(
    listed.sessions.map(({ id }) => id),
    ['two'],
  );
  assert.equal(listed.totalItems, 2);
  await service.deleteSession({ ...at, sessionId: 'one' });
  assert.equal(await service.getSession({ ...at, sessionId: 'one' }), undefined);
});

test('artifacts keep all versions, also of two that save at the same time', async () => {
  const service = new ContextRelayArtifactService(scene.relay);
  const at = { appName: 'app', userId: 'u', sessionId: 's' };
  assert.equal(await service.saveArtifact({ ...at, filename: 'a.txt', artifact: { text: 'one' } }), 0);
  assert.equal(await service.saveArtifact({ ...at, filename: 'a.txt', artifact: { text: 'two' } }), 1);
  const logo = { inlineData: { data: '/wA=', mimeType: 'image/png' } };
  const filename = 'user:logo.png';
  await service.saveArtifact({ ...at, filename, artifact: logo, customMetadata: { by: 'x' } });
  assert.deepEqual(await service.loadArtifact({ ...at, filename: 'a.txt' }), { text: 'two' });
  assert.deepEqual(await service.loadArtifact({ ...at, filename: 'a.txt', version: 0 }), { text: 'one' });
  assert.deepEqual(await service.loadArtifact({ ...at, sessionId: 'other', filename }), logo);
  assert.deepEqual(await service.listArtifactKeys(at), ['a.txt', filename]);
  assert.deepEqual((await service.getArtifactVersion({ ...at, filename }))?.customMetadata, { by: 'x' });
  const saves = Array.from({ length: 6 }, (_, n) =>
    service.saveArtifact({ ...at, filename: 'race', artifact: { text: String(n) } }),
  );
  assert.deepEqual((await Promise.all(saves)).sort(), [0, 1, 2, 3, 4, 5]);
  await service.deleteArtifact({ ...at, filename: 'a.txt' });
  assert.equal(await service.loadArtifact({ ...at, filename: 'a.txt' }), undefined);
});

test('a hand-over costs as many tokens as the page says', () =>
  assertHandOver('google-adk', async (result, options) => {
    const model = new ScriptedModel([() => calling('read_log'), () => ({ text: 'done' })]);
    const readLog = new FunctionTool({
      name: 'read_log',
      description: 'the log of today',
      parameters: z.object({}),
      execute: () => result,
    });
    const agent = new LlmAgent({ name: 'b', model, tools: [readLog, ...contextRelayTools(scene.relay)] });
    const sessionService = new InMemorySessionService();
    const plugins = [new ContextRelayPlugin(scene.relay, options)];
    await sessionService.createSession({ appName: 'shop', userId: 'ada', sessionId: 's' });
    await ask(new Runner({ appName: 'shop', agent, sessionService, plugins }), QUESTION);
    return JSON.parse(model.seen.at(-1)!);
  }));
