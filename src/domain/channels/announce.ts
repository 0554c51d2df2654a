import type { JsonObject } from '../../base/json.ts';
import type { Engine } from '../../kernel/engine.ts';
import type { Caller } from '../caller.ts';

export function channelStream(tenant: string, channel: string): string {
  return `chn.${tenant}.${channel}`;
}

/**
 * Puts a pointer on a channel. The entry names the pointer by its id, and each server gives subscribers the URL at
 * which it can itself be reached. Announcing the same pointer again adds nothing.
 */
export async function announce(
  engine: Engine,
  caller: Caller,
  channel: string,
  pointer: { id: string; metadata: JsonObject; sealed_key?: string },
): Promise<void> {
  const { id, metadata, sealed_key } = pointer;
  const entry: JsonObject = { pointer: id, from: caller.name };
  if (Object.keys(metadata).length > 0) entry.metadata = metadata;
  if (sealed_key !== undefined) entry.sealed_key = sealed_key;
  await engine.logs.append(channelStream(caller.tenant, channel), entry, { id: `ptr:${id}` });
}
