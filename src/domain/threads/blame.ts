import type { Json } from '../../base/json.ts';
import type { BlameLine } from '../../contract/threads/answers.ts';
import { makesVersion, type StoredEvent, toWire } from './event.ts';
import { advance, emptyHead } from './fold.ts';
import { parseVersion } from './state.ts';
import type { ThreadVerb } from './thread-log.ts';
import { checkVersions } from './threads.ts';

/** What the relay writes with every version itself. */
const OWN: ReadonlySet<string> = new Set(['$schema', 'version', 'thread_id', 'updated_at', 'metrics']);

type Mark = Omit<BlameLine, 'path'>;

/**
 * Folds the log from its beginning and marks each item with the version in which it first is what it is. States share what a
 * patch does not touch, so an item is the same one for as long as nobody changes it, wherever it stands.
 */
export const blameState: ThreadVerb<'blame'> = async (log, caller, id, o = {}) => {
  const newest = await log.head(caller, id);
  const version = o.at === undefined ? newest.version : parseVersion(o.at);
  checkVersions(newest, [version]);
  const head = emptyHead(newest.id);
  const items = new WeakMap<object, Mark>();
  const fields = new Map<string, Mark>();
  for await (const { seq, event } of log.heads.events(newest.id, 0)) {
    const before = head.state as unknown as Fields;
    advance(head, seq, event);
    if (!makesVersion(event)) continue;
    const mark = markOf(newest.id, head.count, head.version, event);
    for (const [field, value] of Object.entries(head.state as unknown as Fields)) {
      if (value === before[field] || OWN.has(field)) continue;
      fields.set(field, mark);
      for (const item of Array.isArray(value) ? value : [])
        if (isObject(item) && !items.has(item)) items.set(item, mark);
    }
    if (head.version === version) break;
  }
  const lines = Object.entries(head.state as unknown as Fields).flatMap(([field, value]): BlameLine[] => {
    const whole = fields.get(field);
    if (!whole || OWN.has(field)) return [];
    if (!Array.isArray(value)) return [{ path: `/${field}`, ...whole }];
    return value.map((item, index) => ({
      path: `/${field}/${index}`,
      ...((isObject(item) && items.get(item)) || whole),
    }));
  });
  return { thread_id: newest.id, version, lines };
};

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
