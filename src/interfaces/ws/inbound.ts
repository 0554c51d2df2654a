import { RelayError } from '../../base/errors.ts';
import { isJsonObject, type JsonObject } from '../../base/json.ts';
import { INBOUND_FRAMES_OPEN } from '../../base/limits.ts';
import { errorFrame } from './frames.ts';
import { REFUSED, TEXT } from './protocol.ts';
import type { RelaySocket } from './relay-socket.ts';

const PONG = Buffer.from('{"pong":1}');

/** What a socket may say: `{"ack": seq, "token": t}`, the same with `nack` and `extend`, and `{"ping": 1}`. */
export function receive(socket: RelaySocket, data: Buffer, binary: boolean): void {
  const frame = binary ? null : parse(data);
  if (frame && 'ping' in frame) {
    socket.send(PONG, TEXT);
    return;
  }
  if (socket.open >= INBOUND_FRAMES_OPEN) {
    socket.close(REFUSED, 'too many acknowledgements at once');
    return;
  }
  socket.open++;
  settle(socket, frame)
    .catch((error) => errorFrame(error, aboutOf(frame)))
    .then((answer) => {
      socket.open--;
      if (socket.readyState === socket.OPEN) socket.send(answer, TEXT);
    });
}

async function settle(socket: RelaySocket, frame: JsonObject | null): Promise<Buffer> {
  const { group, channel, relay } = socket;
  const what = (['ack', 'nack', 'extend'] as const).find((each) => frame && each in frame);
  if (!frame || !what) throw bad('A frame is {"ack": seq, "token": …}, or the same with nack or extend.');
  if (group === null || relay === null)
    throw bad('Only members of a group acknowledge: connect with ?group=NAME.');
  const seq = frame[what];
  const { token } = frame;
  if (typeof seq !== 'number' || typeof token !== 'number')
    throw bad(`"${what}" and "token" must be numbers.`);
  const claim = { seq, token };
  switch (what) {
    case 'ack':
      await relay.channels.ack(channel, group, claim);
      return answer({ acked: seq, token });
    case 'nack': {
      const { dead } = await relay.channels.nack(channel, group, claim);
      return answer({ nacked: seq, token, dead });
    }
    case 'extend': {
      const { lease_until } = await relay.channels.extend(channel, group, claim);
      return answer({ extended: seq, token, lease_until });
    }
  }
}

function aboutOf(frame: JsonObject | null): { seq?: number; token?: number } {
  const seq = frame?.ack ?? frame?.nack ?? frame?.extend;
  const token = frame?.token;
  return {
    ...(typeof seq === 'number' ? { seq } : {}),
    ...(typeof token === 'number' ? { token } : {}),
  };
}

function parse(data: Buffer): JsonObject | null {
  try {
    const parsed: unknown = JSON.parse(data.toString());
    return isJsonObject(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

function answer(fields: JsonObject): Buffer {
  return Buffer.from(JSON.stringify(fields));
}

function bad(what: string): RelayError {
  return new RelayError('bad_request', { what });
}
