import type { CheckpointMetadata, SerializerProtocol } from '@langchain/langgraph-checkpoint';
import { fromBase64, toBase64 } from '../../base/base64.ts';
import { decodeUtf8 } from '../../base/utf8.ts';

/** A value as a serialiser made it. Text stays legible in the file. */
export type Dumped = readonly [type: string, data: string] | readonly [type: string, data: string, encoding: 'base64'];

/** What stands in the file of a checkpoint. */
export interface CheckpointFile {
  readonly thread_id: string;
  readonly checkpoint_ns: string;
  readonly checkpoint_id: string;
  readonly parent_id?: string;
  /** Channels that are kept as changes; what they are worth is in the ancestors, which must stay with it. */
  readonly delta_channels?: readonly string[];
  /** Channels that have a value in this checkpoint. */
  readonly channels: readonly string[];
  readonly checkpoint: Dumped;
  readonly metadata: Dumped;
}

/** What stands in the file of a write. */
export interface WriteFile {
  readonly task_id: string;
  readonly channel: string;
  readonly value: Dumped;
}

export async function dump(serde: SerializerProtocol, value: unknown): Promise<Dumped> {
  const [type, bytes] = await serde.dumpsTyped(value);
  const text = decodeUtf8(bytes);
  return text === null ? [type, toBase64(bytes), 'base64'] : [type, text];
}

export async function load<T>(serde: SerializerProtocol, [type, data, encoding]: Dumped): Promise<T> {
  return serde.loadsTyped(type, encoding === 'base64' ? fromBase64(data)! : new TextEncoder().encode(data));
}

/** Named by the metadata of every checkpoint of a thread that has some. */
export function deltaChannels(metadata: CheckpointMetadata): string[] {
  return Object.keys(metadata.counters_since_delta_snapshot ?? {});
}
