import { isJsonObject, type Json, type JsonObject } from '../../../base/json.ts';
import { PAGE_ITEMS_MAX } from '../../../base/limits.ts';
import { everyItem } from '../../../base/pages.ts';
import type { ThreadEvent, ThreadsApi } from '../../../contract/threads.ts';
import { bytes, count, plural, printable } from '../human.ts';
import type { Io } from '../io.ts';

/** An event as one line: when, which, what. People get the time of day, pipes the whole moment. */
export function eventLine(
  event: ThreadEvent,
  { interactive, style }: Pick<Io, 'interactive' | 'style'>,
): string {
  const when = interactive ? new Date(event.timestamp).toTimeString().slice(0, 8) : event.timestamp;
  const { by } = event.payload;
  const who = typeof by === 'string' && by !== '' ? `  ${style.dim(`by ${plain(by)}`)}` : '';
  const told = describe(event);
  return `${style.dim(`${when} #${event.id}`)} ${style.cyan(plain(event.type))}${told ? `  ${told}` : ''}${who}`;
}

/** What an event did, in a few words. */
export function describe({ type, payload }: ThreadEvent): string {
  const field = (name: string) => (typeof payload[name] === 'string' ? plain(payload[name]) : '');
  const figure = (name: string) => (typeof payload[name] === 'number' ? payload[name] : 0);
  const version = typeof payload.version === 'number' ? `v${payload.version}` : '';
  const said = (...parts: string[]) => parts.filter((part) => part !== '').join(' · ');
  switch (type) {
    case 'thread.created':
      return said(version, field('name'));
    case 'state.patch.applied':
      return said(version, opsInBrief(payload.ops));
    case 'checkpoint.created':
      return said(version, Array.isArray(payload.ops) ? plural(payload.ops.length, 'operation') : '');
    case 'artifact.created':
      return said(version, field('name'), field('type'), bytes(figure('size')), field('ref'));
    case 'artifact.pulled':
      return said(`${count(figure('tokens'))} tokens`, field('ref'));
    case 'capability.invoked':
      return said(field('capability'), payload.cache_hit === true ? 'from the cache' : '', field('ref'));
    case 'report.generated':
      return said(field('format'), field('ref'));
    default: {
      const { by: _, ...rest } = payload;
      return Object.keys(rest).length === 0 ? '' : short(JSON.stringify(rest), 160);
    }
  }
}

/** `add /facts/-, replace /plan/0/status`; the first few of many. */
function opsInBrief(ops: Json | undefined): string {
  if (!Array.isArray(ops)) return '';
  const named = ops
    .filter((op): op is JsonObject => isJsonObject(op))
    .slice(0, 3)
    .map(({ op, path }) => short(`${String(op)} ${String(path)}`, 60));
  return [...named, ...(ops.length > 3 ? [`${ops.length - 3} more`] : [])].join(', ');
}

/** On one line, and of harmless characters. */
export function plain(text: string): string {
  return printable(text).replace(/\s+/g, ' ').trim();
}

export function short(text: string, most: number): string {
  const line = plain(text);
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

/**
 * The newest events that are wanted, oldest first. A log is read forwards, so it goes back from the end in steps: the
 * length of the history does not matter.
 */
export async function newestEvents(
  threads: ThreadsApi,
  id: string,
  o: { readonly most: number; readonly wanted?: (event: ThreadEvent) => boolean },
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
    found = [...(o.wanted ? events.filter(o.wanted) : events), ...found];
  }
  return found.slice(Math.max(0, found.length - o.most));
}

/** Most of a thread's events make versions, but not all. */
const SMALLEST_STEP = 50;
