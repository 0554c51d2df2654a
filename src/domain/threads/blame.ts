import type { Json } from '../../base/json.ts';
import type { WorkMeter } from '../../base/work-meter.ts';
import type { BlameLine } from '../../contract/threads/answers.ts';
import { makesVersion, type StoredEvent, toWire } from './event.ts';
import { advance, type MutableHead } from './fold.ts';

/** What the relay writes with every version itself. */
const OWN: ReadonlySet<string> = new Set(['$schema', 'version', 'thread_id', 'updated_at', 'metrics']);

type Mark = Omit<BlameLine, 'path'>;

/**
 * Folds the log and marks each item with the version in which it first is what it is. States share what a patch does not
 * touch, so an item is the same one for as long as nobody changes it, wherever it stands.
 */
export async function blameFold(
  head: MutableHead,
  version: number,
  events: AsyncIterable<StoredEvent>,
  meter: WorkMeter,
): Promise<BlameLine[]> {
  const fields = new Map<string, Mark>();
  const items = new WeakMap<object, Mark>();
  for await (const event of events) {
    const before = head.state as unknown as Fields;
    advance(head, head.seq + 1, event, { meter });
    if (!makesVersion(event)) continue;
    const mark = markOf(head.id, head.count, head.version, event);
    for (const [field, value] of Object.entries(head.state as unknown as Fields)) {
      const old = before[field];
      if (value === old || OWN.has(field)) continue;
      fields.set(field, mark);
      if (!Array.isArray(value)) continue;
      meter.spend(value.length);
      const were = Array.isArray(old) ? old : [];
      // Most of a list is what it was, where it was; this is the part of a fold that takes the longest.
      for (let index = 0; index < value.length; index++) {
        const item = value[index]!;
        if (item !== were[index] && isObject(item) && !items.has(item)) items.set(item, mark);
      }
    }
    if (head.version === version) break;
  }
  return Object.entries(head.state as unknown as Fields).flatMap(([field, value]): BlameLine[] => {
    const whole = fields.get(field);
    if (!whole || OWN.has(field)) return [];
    if (!Array.isArray(value)) return [{ path: `/${field}`, ...whole }];
    return value.map((item, index) => ({
      path: `/${field}/${index}`,
      ...((isObject(item) && items.get(item)) || whole),
    }));
  });
}

type Fields = { readonly [field: string]: Json };

function isObject(value: Json): value is Extract<Json, object> {
  return typeof value === 'object' && value !== null;
}

function markOf(thread: string, count: number, version: number, event: StoredEvent): Mark {
  const { type, payload, legacy } = event;
  const { id, timestamp } = toWire(thread, count, event);
  const { reverted_to: reverted, ref } = payload;
  const how = legacy
    ? 'import'
    : type === 'artifact.created'
      ? 'artifact'
      : type === 'checkpoint.created'
        ? 'compaction'
        : reverted === undefined
          ? 'patch'
          : 'revert';
  const from = how === 'artifact' ? ref : reverted;
  return {
    version,
    at: timestamp,
    by: typeof payload.by === 'string' && !legacy ? payload.by : null,
    how,
    event: id,
    ...(typeof from === 'string' ? { from } : {}),
  };
}
