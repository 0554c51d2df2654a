import { CHUNK_BYTES, type Manifest } from '../../src/engines/nats/blobs.ts';
import type { NatsEngine } from '../../src/engines/nats/engine.ts';
import { subjectOf } from '../../src/engines/nats/messages.ts';

/** Changes one byte of a stored blob, in its manifest message or its chunk. */
export async function damageBody(
  engine: NatsEngine,
  name: string,
  key: string,
  offset: number,
): Promise<void> {
  const { connection } = engine;
  const stream = `${name}-blobs`;
  const subject = `${name}.m.${subjectOf(key)}`;
  const head = Buffer.from((await connection.last(stream, subject))!.data);
  const end = head.indexOf(0x0a);
  const { chunks } = JSON.parse(head.subarray(0, end).toString()) as Manifest;
  if (chunks === undefined) {
    head[end + 1 + offset]! ^= 1;
    await connection.publish(subject, head);
    return;
  }
  const part = `${name}.c.${chunks}.${Math.floor(offset / CHUNK_BYTES)}`;
  const body = Buffer.from((await connection.last(stream, part))!.data);
  body[offset % CHUNK_BYTES]! ^= 1;
  await connection.publish(part, body);
}
