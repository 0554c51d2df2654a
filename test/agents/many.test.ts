import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRelayError } from '../../src/base/errors.ts';
import { AGENT_TAKEN_MS, CLAIM_MS } from '../../src/base/limits.ts';
import { pause } from '../../src/base/pause.ts';
import { BASE, callerNamed, openTestCore } from '../channels/core.ts';

/** Simulates several processes: each is a `RelayCore` on the same store. `many.full.test.ts` starts real processes. */

test('eight processes claim 40 todos: each is held by one at a time, none is lost, lapsed claims come back', async () => {
  await using under = openTestCore();
  const [open, holders] = [new Set<string>(), new Map<string, string>()];
  for (let index = 0; index < 40; index++) open.add(`TODO-${index}`);
  const abandoned = new Set<string>();
  let lapsed = 0;
  const work = async (name: string, turn: number) => {
    const { agents } = under.another().relay(callerNamed(name), BASE);
    while (open.size > abandoned.size) {
      const free = [...open].filter((todo) => !abandoned.has(todo));
      const todo = free[Math.floor(Math.random() * free.length)]!;
      try {
        await agents.claim('hono', todo);
      } catch (error) {
        if (!isRelayError(error, 'claimed')) throw error;
        await pause(0);
        continue;
      }
      if (!open.has(todo)) {
        await agents.release('hono', todo);
        continue;
      }
      assert.equal(holders.get(todo), undefined, `${todo} is held by one`);
      holders.set(todo, name);
      await pause(0);
      // In the first turn some processes die here, before they release their claims.
      if (turn === 0 && abandoned.size < 8 && Math.random() < 0.3) {
        abandoned.add(todo);
        continue;
      }
      if (turn === 1) lapsed++;
      open.delete(todo);
      holders.delete(todo);
      await agents.release('hono', todo);
    }
  };
  for (const turn of [0, 1]) {
    await Promise.all(Array.from({ length: 8 }, (_, index) => work(`agent-${turn}-${index}`, turn)));
    assert.equal(open.size, abandoned.size);
    under.advance(CLAIM_MS + 1);
    abandoned.clear();
    holders.clear();
  }
  assert.equal(open.size, 0);
  assert.deepEqual((await under.relay.agents.claims()).claims, []);
  assert.ok(lapsed <= 8);
});

test('60 messages between 10 agents that die at times: none is lost, and receipts agree with the models', async () => {
  await using under = openTestCore();
  const names = Array.from({ length: 10 }, (_, index) => `agent-${index}`);
  const session = { client: 'codex', folder: '/p', machine: 'm', reach: 'turn', busy: false } as const;
  for (const name of names)
    await under.relay.agents.enter(name, { ...session, session: name, inbound: 'all', named: true });
  const conversations = new Map<string, string>();
  for (let index = 0; index < 60; index++) {
    const [from, to] = [names[index % 10]!, names[(index * 7 + 3) % 10]!];
    const o = { idempotency_key: `m${index}` };
    for (const message of (await under.as(from).agents.send(to, `text ${index}`, o)).messages)
      conversations.set(message.id, message.conversation);
  }
  const deliveries = new Map<string, number>();
  for (let round = 0; round < 4; round++) {
    // Each agent has two processes. Either may die before or after it has shown its messages to the model.
    const shows = names
      .flatMap((name) => [name, name])
      .map(async (name) => {
        const { agents } = under.another().relay(callerNamed(name), BASE);
        const { messages } = await agents.take(name, { limit: 3 });
        const [dies, moment] = [round < 3 && Math.random() < 0.4, Math.random() < 0.5];
        if (dies && moment) return;
        const ids = messages.map(({ id }) => id);
        for (const id of ids) deliveries.set(id, (deliveries.get(id) ?? 0) + 1);
        if (!dies && ids.length > 0) await agents.mark(name, { ids, as: 'shown', route: 'hook' });
      });
    await Promise.all(shows);
    under.advance(AGENT_TAKEN_MS + 1);
  }
  for (const name of names)
    for (;;) {
      const { messages } = await under.relay.agents.take(name);
      if (messages.length === 0) break;
      for (const { id } of messages) deliveries.set(id, (deliveries.get(id) ?? 0) + 1);
      await under.relay.agents.mark(name, { ids: messages.map(({ id }) => id), as: 'shown', route: 'hook' });
    }
  assert.equal(conversations.size, 60);
  for (const [id, conversation] of conversations) {
    const [message] = (await under.relay.agents.conversation(conversation)).messages;
    assert.deepEqual([message?.id, message?.state, deliveries.has(id)], [id, 'shown', true]);
  }
  assert.deepEqual([...deliveries.keys()].sort(), [...conversations.keys()].sort());
});
