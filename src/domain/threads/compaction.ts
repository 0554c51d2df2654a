import { REF } from '../../base/ids.ts';
import { AUTO_COMPACT_ACTIONS, AUTO_COMPACT_REFS, COMPACT_ACTIONS, COMPACT_REFS } from '../../base/limits.ts';
import type { Action, ArtifactLink, CompactAnswer, State } from '../../contract/threads.ts';
import type { PatchOp } from '../../formats/json-patch/apply.ts';
import { asJson } from '../records.ts';
import type { StoredEvent } from './event.ts';
import type { Head } from './fold.ts';
import { versionRef } from './state.ts';
import type { ThreadLog, ThreadVerb } from './thread-log.ts';

/**
 * Compacts the state of a thread. The compaction is stored as an event with patch operations and makes a
 * new version.
 */
export const compactThread: ThreadVerb<'compact'> = (log, caller, id) =>
  log.commit<CompactAnswer>(caller, id, (head) => {
    const found = compaction(head.state);
    if (!found) return { done: answer(head.version, { actions: 0, artifacts: 0 }) };
    const version = head.version + 1;
    const ops = asJson(found.ops);
    const payload = { version, by: caller.name, ops, dropped: { ...found.dropped } };
    const event = { type: 'checkpoint.created', at: log.deps.env.now(), payload };
    return { event, answer: () => answer(version, found.dropped) };
  });

/** Compacts the state in the background if the event made it too long. */
export function compactIfLong(log: ThreadLog, head: Head, event: StoredEvent): void {
  const { last_actions, artifacts } = head.state;
  const isLong = last_actions.length > AUTO_COMPACT_ACTIONS || artifacts.length > AUTO_COMPACT_REFS;
  if (event.type === 'checkpoint.created' || !isLong) return;
  log.background.run(async () => {
    const tenant = await log.ownerOf(head.root);
    const relay = { keyId: 'relay', name: 'relay', scopes: [] };
    if (tenant !== undefined) await compactThread(log, { ...relay, tenant }, head.id);
  });
}

function answer(version: number, dropped: CompactAnswer['dropped']): CompactAnswer {
  return { version, state_ref: versionRef(version), dropped };
}

/**
 * Returns the operations that shorten a long state, or null if nothing would change. Merges repeated
 * actions. Keeps the newest actions, the newest artifact links, and all links that the state mentions.
 * Describes the removed items in the summary. Nothing is lost: older versions stay readable, and every
 * artifact stays in the thread's list.
 */
function compaction(state: State) {
  const collapsed = collapse(state.last_actions);
  const actions = collapsed.slice(-COMPACT_ACTIONS);
  const droppedActions = collapsed.slice(0, -COMPACT_ACTIONS);
  const used = refsUsed({ ...state, last_actions: actions });
  const recent = state.artifacts.length - COMPACT_REFS;
  const links = state.artifacts.filter((link, i) => i >= recent || used.has(link.ref));
  const dropped = {
    actions: state.last_actions.length - actions.length,
    artifacts: state.artifacts.length - links.length,
  };
  if (dropped.actions === 0 && dropped.artifacts === 0) return null;
  const ops: PatchOp[] = [];
  if (dropped.actions > 0) ops.push({ op: 'replace', path: '/last_actions', value: asJson(actions) });
  if (dropped.artifacts > 0) ops.push({ op: 'replace', path: '/artifacts', value: asJson(links) });
  ops.push({ op: 'add', path: '/session_summary', value: summary(state, droppedActions, dropped) });
  return { ops, dropped };
}

/** Merges consecutive equal actions into one, with the time and result of the last one. */
function collapse(actions: readonly Action[]): Action[] {
  const out: { action: Action; times: number }[] = [];
  for (const action of actions) {
    const { name, times } = parseRepeats(action.description);
    const last = out.at(-1);
    if (last && parseRepeats(last.action.description).name === name) {
      out[out.length - 1] = { action: { ...action, description: name }, times: last.times + times };
    } else out.push({ action, times });
  }
  return out.map(({ action, times }) => {
    const { name } = parseRepeats(action.description);
    return times > 1 ? { ...action, description: `${name} (×${times})` } : action;
  });
}

function parseRepeats(description: string): { name: string; times: number } {
  const match = /^(.*) \(×(\d{1,9})\)$/s.exec(description);
  return match ? { name: match[1]!, times: Number(match[2]) } : { name: description, times: 1 };
}

const REFS = new RegExp(REF, 'g');

/** Returns the refs of artifacts that the state mentions outside its list of artifacts. */
function refsUsed(state: State): Set<string> {
  const refs = new Set(state.artifacts.map((link: ArtifactLink) => link.ref));
  const used = new Set<string>();
  const collect = (value: unknown): void => {
    if (typeof value === 'string') {
      if (refs.has(value)) used.add(value);
      for (const [ref] of value.matchAll(REFS)) if (refs.has(ref)) used.add(ref);
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, child] of Object.entries(value)) {
        collect(key);
        collect(child);
      }
    }
  };
  const { artifacts: _, metrics: __, ...rest } = state;
  collect(rest);
  return used;
}

/**
 * Maximum number of lines that compactions add to the summary of a state. It is small, because a compaction must
 * shorten the state.
 */
const OWN_LINES = 10;

function summary(state: State, droppedActions: readonly Action[], dropped: CompactAnswer['dropped']): string {
  const lines = (state.session_summary ?? '').split('\n').filter((line) => line !== '');
  const ownLines = lines.filter((line) => line.startsWith('Compacted after v'));
  const otherLines = lines.filter((line) => !ownLines.includes(line));
  const parts: string[] = [];
  if (dropped.actions > 0)
    parts.push(`${dropped.actions} actions${span(droppedActions)}${commonest(droppedActions)}`);
  if (dropped.artifacts > 0) {
    parts.push(`${dropped.artifacts} artifact references (the artifacts are still in the thread's list)`);
  }
  const line = `Compacted after v${state.version}: ${parts.join('; ')}.`;
  return [...otherLines, ...ownLines.slice(-(OWN_LINES - 1)), line].join('\n');
}

function span(actions: readonly Action[]): string {
  const first = actions[0]?.at?.slice(0, 10);
  const last = actions.at(-1)?.at?.slice(0, 10);
  if (!first || !last) return '';
  return first === last ? ` on ${first}` : ` from ${first} to ${last}`;
}

function commonest(actions: readonly Action[]): string {
  const counts = new Map<string, number>();
  for (const { description } of actions) {
    const { name, times } = parseRepeats(description);
    const short = name.length > 60 ? `${name.slice(0, 59)}…` : name;
    counts.set(short, (counts.get(short) ?? 0) + times);
  }
  const top = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 5);
  if (top.length === 0) return '';
  return `: ${top.map(([name, times]) => (times > 1 ? `${name} ×${times}` : name)).join(', ')}${counts.size > 5 ? ', …' : ''}`;
}
