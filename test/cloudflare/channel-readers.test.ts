import './platform-in-node.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemEnv } from '../../src/base/env.ts';
import { ReaderView, type Start } from '../../src/domain/channels/reader.ts';

const { ChannelReaders, setSocketState } = await import('../../src/app/cloudflare/channel-readers.ts');

type Socket = Parameters<typeof setSocketState>[0];
const HOUR_MS = 3_600_000;
const TURN_CHARS = 1024 * 1024;

/** Fake object whose channels have this many messages of 15 000 characters. Records the frames it sends in each turn. */
function home(channels: { [stream: string]: number }) {
  const sockets: { stream: string; socket: Socket }[] = [];
  const sent: { to: string; seq: number; chars: number; turn: number }[] = [];
  const woken: number[] = [];
  let turn = 0;
  const msg = 'x'.repeat(15_000);
  const readers = new ChannelReaders({
    readers: (stream) => sockets.filter((each) => each.stream === stream).map(({ socket }) => socket),
    withValidKey: async (all) => [...all],
    readEntries(stream, after, limit, chars) {
      const most = Math.min(limit, Math.floor(chars / msg.length), channels[stream]! - after);
      const entries = Array.from({ length: Math.max(most, 0) }, (_, i) => {
        return { seq: after + i + 1, at: Date.now(), data: JSON.stringify({ msg, from: 'x' }) };
      });
      return { entries, gap: false, more: after + most < channels[stream]! };
    },
    view: (start: Start) => new ReaderView(systemEnv, HOUR_MS, start),
    wakeAt: (due) => void woken.push(due),
  });
  const open = (id: string, stream: string) => {
    const send = (frame: string) =>
      void sent.push({ to: id, seq: JSON.parse(frame).seq, chars: frame.length, turn });
    const socket = { readyState: 1, send, serializeAttachment() {} } as unknown as Socket;
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
    setSocketState(socket, { ...about, after: 0, gap: false, lenient: true });
    sockets.push({ stream, socket });
  };
  /** Serves the readers of these streams, and counts the turns of the event loop meanwhile. */
  const serve = async (...streams: string[]) => {
    const counting = setInterval(() => turn++, 0);
    await Promise.all(streams.map((stream) => readers.serve(stream)));
    clearInterval(counting);
  };
  return { readers, sent, woken, open, serve };
}

test('a reader far behind is served in many turns, and a reader of another channel does not wait for it', async () => {
  const { sent, woken, open, serve } = home({ long: 1_000, short: 1 });
  open('slow', 'long');
  open('quick', 'short');
  await serve('long', 'short');
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
  const channels = { c: 200 };
  const { readers, sent, open, serve } = home(channels);
  open('a', 'c');
  const serving = serve('c');
  open('b', 'c');
  channels.c = 210;
  await readers.serve('c');
  await serving;
  for (const id of ['a', 'b'])
    assert.deepEqual(
      sent.filter(({ to }) => to === id).map(({ seq }) => seq),
      Array.from({ length: 210 }, (_, i) => i + 1),
    );
});
