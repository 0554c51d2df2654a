import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts';
import { PAGE_ITEMS_MAX } from '../../base/limits.ts';
import { everyItem } from '../../base/pages.ts';
import type { ThreadEvent, ThreadsApi } from '../../contract/threads.ts';
import { bytes, plural, printableLine, shortLine } from './human.ts';
import type { Io } from './io.ts';

/**
 * Formats a thread event as one line: time, number, type, details. A terminal shows only the time of day, a
 * pipe the full timestamp.
 */
export function eventLine(
  event: ThreadEvent,
  { interactive, style }: Pick<Io, 'interactive' | 'style'>,
): string {
  const when = interactive ? new Date(event.timestamp).toTimeString().slice(0, 8) : event.timestamp;
  const { by } = event.payload;
  const who = typeof by === 'string' && by !== '' ? `  ${style.dim(`by ${printableLine(by)}`)}` : '';
  const details = describe(event);
  return `${style.dim(`${when} #${event.id}`)} ${style.cyan(printableLine(event.type))}${details ? `  ${details}` : ''}${who}`;
}

/** Describes what an event did, in a few words. */
export function describe({ type, payload }: ThreadEvent): string {
  const field = (name: string) => (typeof payload[name] === 'string' ? printableLine(payload[name]) : '');
  const figure = (name: string) => (typeof payload[name] === 'number' ? payload[name] : 0);
  const version = typeof payload.version === 'number' ? `v${payload.version}` : '';
  const join = (...parts: string[]) => parts.filter((part) => part !== '').join(' · ');
  switch (type) {
    case 'thread.created':
      return join(version, field('name'));
    case 'state.patch.applied':
      return join(version, opsInBrief(payload.ops));
    case 'checkpoint.created':
      return join(version, Array.isArray(payload.ops) ? plural(payload.ops.length, 'operation') : '');
    case 'artifact.created':
      return join(version, field('name'), field('type'), bytes(figure('size')), field('ref'));
    case 'artifact.pulled':
      return join(plural(figure('tokens'), 'token'), field('ref'));
    case 'capability.invoked':
      return join(field('capability'), payload.cache_hit === true ? 'from the cache' : '', field('ref'));
    case 'report.generated':
      return join(field('format'), field('ref'));
    default: {
      const { by: _, ...rest } = payload;
      return Object.keys(rest).length === 0 ? '' : shortLine(JSON.stringify(rest), 160);
    }
  }
}

/** Lists the first three operations of a patch: `add /facts/-, replace /plan/0/status`. */
function opsInBrief(ops: Json | undefined): string {
  if (!Array.isArray(ops)) return '';
  const named = ops
    .filter((op): op is JsonObject => isJsonObject(op))
    .slice(0, 3)
    .map(({ op, path }) => shortLine(`${String(op)} ${String(path)}`, 60));
  return [...named, ...(ops.length > 3 ? [`${ops.length - 3} more`] : [])].join(', ');
}

/**
 * Returns the newest events that `matches` accepts, oldest first. Reads the log backwards from its end, so
 * that a long log costs no more than a short one.
 */
export async function newestEvents(
  threads: ThreadsApi,
  id: string,
  o: { readonly most: number; readonly matches?: (event: ThreadEvent) => boolean },
): Promise<ThreadEvent[]> {
  const { event_count } = await threads.get(id);
  const step = Math.min(Math.max(o.most, SMALLEST_STEP), PAGE_ITEMS_MAX);
  let found: ThreadEvent[] = [];
  for (let end = event_count; end > 0 && found.length < o.most; end -= step) {
    const start = Math.max(0, end - step);
    const events: ThreadEvent[] = [];
    const read = ({ after = String(start) }) =>
      threads.events(id, { after, limit: end - start - events.length });
    for await (const event of everyItem('events', read)) {
      if (events.push(event) === end - start) break;
    }
    found = [...(o.matches ? events.filter(o.matches) : events), ...found];
  }
  return found.slice(Math.max(0, found.length - o.most));
}

/**
 * Minimum number of events per read. `matches` may accept few of them, so smaller reads would need many
 * requests.
 */
const SMALLEST_STEP = 50;
