import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChannelSockets, type SocketsOptions } from '../../src/app/cloudflare/channel-sockets.ts';
import { systemEnv } from '../../src/base/env.ts';
import { ReaderView, type Start } from '../../src/domain/channels/reader.ts';
import { until } from '../until.ts';

const HOUR_MS = 3_600_000;
const TURN_CHARS = 1024 * 1024;

Object.assign(globalThis, { WebSocketRequestResponsePair: class {} });

/** Fake platform whose channels have this many messages of 15 000 characters. Records the frames it sends in each turn. */
function home(channels: { [stream: string]: number }) {
  const sockets: { readonly id: string; deserializeAttachment(): string }[] = [];
  const sent: { to: string; seq: number; chars: number; turn: number }[] = [];
  const woken: number[] = [];
  let turn = 0;
  const msg = 'x'.repeat(15_000);
  const read = async (stream: string, o: { after: number; limit: number; maxBytes: number }) => {
    const most = Math.min(o.limit, Math.floor(o.maxBytes / msg.length), channels[stream]! - o.after);
    const entries = Array.from({ length: Math.max(most, 0) }, (_, i) => {
      return { seq: o.after + i + 1, at: Date.now(), data: { msg, from: 'x' } };
    });
    return { entries };
  };
  const readers = new ChannelSockets({
    state: { setWebSocketAutoResponse() {}, getWebSockets: () => sockets },
    core: {
      deps: { engine: { logs: { read } } },
      channels: { view: (start: Start) => new ReaderView(systemEnv, HOUR_MS, start) },
      keys: { isValid: async () => true },
    },
    wakeAt: (due: number) => void woken.push(due),
  } as unknown as SocketsOptions);
  const open = (id: string, stream: string) => {
    const caller = { tenant: 'local', keyId: 'local', name: 'x', scopes: [] };
    const about = {
      id,
      stream,
      caller,
      base: 'http://relay.test',
      channel: stream,
      group: null,
      resumes: false,
    };
    let attached = JSON.stringify({ ...about, after: 0, gap: false, lenient: true });
    const socket = {
      id,
      readyState: 1,
      send: (frame: string) =>
        void sent.push({ to: id, seq: JSON.parse(frame).seq, chars: frame.length, turn }),
      serializeAttachment(text: string) {
        attached = text;
      },
      deserializeAttachment: () => attached,
    };
    sockets.push(socket);
  };
  const appended = (...streams: string[]) => readers.committed(new Set(streams));
  /** Waits until the reader has got the message, and counts the turns of the event loop meanwhile. */
  const reached = async (to: string, seq: number) => {
    const counting = setInterval(() => turn++, 0);
    await until(() => sent.some((each) => each.to === to && each.seq === seq));
    clearInterval(counting);
  };
  return { sent, woken, open, appended, reached };
}

test('a reader far behind is served in many turns, and a reader of another channel does not wait for it', async () => {
  const { sent, woken, open, appended, reached } = home({ 'chn.long': 1_000, 'chn.short': 1 });
  open('slow', 'chn.long');
  open('quick', 'chn.short');
  appended('chn.long', 'chn.short');
  await reached('slow', 1_000);
  const to = (id: string) => sent.filter((each) => each.to === id);
  assert.deepEqual(
    to('slow').map(({ seq }) => seq),
    Array.from({ length: 1_000 }, (_, i) => i + 1),
  );
  assert.equal(to('quick')[0]!.turn, 0);
  assert.ok(woken.length > 0, 'the object goes on though it is evicted meanwhile');
  for (const frames of Map.groupBy(sent, ({ turn }) => turn).values())
    assert.ok(frames.reduce((sum, { chars }) => sum + chars, 0) < 2 * TURN_CHARS);
});

test('messages that arrive while readers are behind reach all of them, in order and once', async () => {
  const channels = { 'chn.c': 200 };
  const { sent, open, appended, reached } = home(channels);
  open('a', 'chn.c');
  appended('chn.c');
  open('b', 'chn.c');
  channels['chn.c'] = 210;
  appended('chn.c');
  await Promise.all(['a', 'b'].map((id) => reached(id, 210)));
  for (const id of ['a', 'b'])
    assert.deepEqual(
      sent.filter(({ to }) => to === id).map(({ seq }) => seq),
      Array.from({ length: 210 }, (_, i) => i + 1),
    );
});
