import type { ComponentChildren } from 'preact';
import { bytes, count } from '../../../src/base/format.ts';
import type { Activity, ActivityKind } from '../../../src/contract/activity.ts';
import { to } from '../../frame/router.ts';
import { ChannelLink, ForeignText } from '../../parts/foreign-text.tsx';
import { revealHidden } from '../../viewers/reveal-hidden.ts';

const short = (id: string) => id.slice(0, 8);

type Names = ReadonlyMap<string, string>;

/** A line of the feed. It stands for several similar entries and shows the newest one. */
export interface FeedLine {
  readonly entry: Activity;
  /** Number of entries that this line stands for. */
  readonly times: number;
  readonly authors: readonly string[];
}

const TOGETHER_MS = 60_000;

/**
 * Returns a key. Entries with equal keys share a line: all changes of one thread, all claims of one group member, or
 * all acknowledgements of one group member. Returns null for an entry that gets its own line.
 */
function joinedBy({ kind, thread, by, channel, group }: Activity): string | null {
  if (kind === 'thread.patched') return thread ?? null;
  return kind === 'group.claimed' || kind === 'group.acked'
    ? JSON.stringify([kind, by, channel, group])
    : null;
}

/** Joins similar entries within a minute into one line. Entries are newest first. */
export function joinEntries(entries: readonly Activity[]): FeedLine[] {
  const lines: (FeedLine & { readonly first: number })[] = [];
  const open = new Map<string, number>();
  for (const entry of entries) {
    const at = Date.parse(entry.at);
    const about = joinedBy(entry);
    const index = about === null ? undefined : open.get(about);
    const line = index === undefined ? undefined : lines[index]!;
    if (line && line.first - at < TOGETHER_MS) {
      const authors = line.authors.includes(entry.by) ? line.authors : [...line.authors, entry.by];
      lines[index!] = { ...line, times: line.times + 1, authors };
    } else {
      if (about !== null) open.set(about, lines.length);
      lines.push({ entry, times: 1, authors: [entry.by], first: at });
    }
  }
  return lines;
}

/** A line of the feed as a sentence. Objects are links. `names` has their labels by id. */
export function ActivityLine({ line: { entry, times, authors }, names }: { line: FeedLine; names: Names }) {
  return (
    <span class="activity-line">
      {renderSentence(entry, names, authors)}
      {times > 1 && (
        <span class="soft">
          {entry.kind === 'thread.patched' ? ` in ${times} changes` : `, ${times} times`}
        </span>
      )}
    </span>
  );
}

/**
 * Kind of activity → verb phrases before and after the object's name. A kind that is not listed is displayed
 * with spaces instead of dots and underscores.
 */
const ACTIVITY_PHRASES: {
  readonly [kind in ActivityKind]?: readonly [before: string, preposition?: string];
} = {
  'pointer.pushed': ['pushed'],
  'pointer.pulled': ['pulled'],
  'pointer.revoked': ['revoked'],
  'channel.signal': ['sent a signal'],
  'group.claimed': ['took a message for the group'],
  'group.acked': ['acknowledged a message for the group'],
  'group.dead': ['gave up on a message for the group'],
  'group.revived': ['retried a dead letter of the group'],
  'thread.created': ['created the thread'],
  'thread.patched': ['changed'],
  'thread.deleted': ['deleted the thread'],
  'artifact.created': ['stored', 'in'],
  'artifact.deleted': ['deleted an artifact in'],
  'file.written': ['wrote', 'in'],
  'file.deleted': ['deleted', 'from'],
  'pipeline.started': ['started the pipeline'],
  'pipeline.resumed': ['resumed the pipeline'],
  'pipeline.finished': ['finished the pipeline'],
  'step.started': ['started the step', 'of'],
  'step.done': ['finished the step', 'of'],
  'step.failed': ['failed the step', 'of'],
  'task.sent': ['sent the task'],
  'task.claimed': ['took the task'],
  'task.done': ['finished the task'],
  'task.failed': ['failed the task'],
  'task.canceled': ['canceled the task'],
  'agent.came': ['connected'],
  'agent.left': ['disconnected'],
  'key.created': ['created the key'],
  'key.revoked': ['revoked the key'],
  'key.rotated': ['rotated the key'],
  'share.created': ['shared'],
  'share.revoked': ['revoked a link to'],
};

/** Thread events that have no activity kind of their own. */
const THREAD_EVENT_PHRASES: ReadonlyMap<string, string> = new Map([
  ['artifact.pulled', 'read an artifact in'],
  ['prompt.rendered', 'rendered a prompt from'],
  ['prompt.answered', 'got an answer in'],
  ['prompt.handed_over', 'handed off'],
  ['message.sent', 'sent a message in'],
  ['report.generated', 'generated a report of'],
]);

function renderSentence(e: Activity, names: Names, authors: readonly string[]): ComponentChildren {
  if (e.kind === 'left_out')
    return <span class="soft">{count(e.count ?? 0)} more events, too many to list</span>;
  if (e.kind === 'gap')
    return <span class="soft">The connection was lost for a while. Some activity may be missing here.</span>;
  const [before, preposition] =
    e.kind === 'thread.event'
      ? [THREAD_EVENT_PHRASES.get(e.type ?? '') ?? `recorded ${revealHidden(e.type ?? 'an event')} in`]
      : (ACTIVITY_PHRASES[e.kind] ?? [e.kind.replace(/[._]/g, ' ')]);
  return (
    <>
      <ForeignText as="strong" text={authors.slice(0, 3).join(', ')} max={60} />
      {authors.length > 3 && ` and ${authors.length - 3} more`} {before}{' '}
      {renderSubject(e, preposition, names)}
      {e.channel !== undefined && (
        <>
          {' '}
          on <ChannelLink name={e.channel} />
        </>
      )}
    </>
  );
}

function renderSubject(e: Activity, preposition: string | undefined, names: Names): ComponentChildren {
  const named = e.name !== undefined && e.name !== '' && e.kind !== 'thread.event';
  const name = named ? <ForeignText text={e.name!} max={60} /> : null;
  if (e.task !== undefined)
    return <NamedLink id={e.task} at={to('tasks', e.task)} name={e.name} names={names} />;
  if (e.space !== undefined && e.name !== undefined)
    return (
      <>
        {e.kind === 'file.deleted' ? (
          <ForeignText text={e.name} max={80} />
        ) : (
          <a href={to('files', e.space, ...e.name.split('/'))}>
            <ForeignText text={e.name} max={80} />
          </a>
        )}
        {e.version !== undefined && ` v${e.version}`} {preposition}{' '}
        <a href={to('files', e.space)}>
          <ForeignText text={e.space} max={60} />
        </a>
      </>
    );
  if (e.group !== undefined) return <ForeignText text={e.group} max={60} />;
  if (e.thread !== undefined) {
    const run = /^(?:pipeline|step)\./.test(e.kind);
    const artifact =
      e.artifact === undefined ? '' : `?tab=artifacts&artifact=${encodeURIComponent(e.artifact)}`;
    // In entries `pipeline.*` and `thread.*`, `name` is the name of the thread. In other entries, it is the name
    // of something in the thread, such as a step.
    const isThreadName = /^(?:pipeline\.|thread\.)/.test(e.kind);
    return (
      <>
        {name && !isThreadName && <>{name} </>}
        {name && !isThreadName && preposition && `${preposition} `}
        <NamedLink
          id={e.thread}
          at={to(run ? 'pipelines' : 'threads', e.thread) + artifact}
          name={isThreadName && named ? e.name : undefined}
          names={names}
        />
        {e.version !== undefined && e.kind === 'thread.patched' && ` to v${e.version}`}
        {e.status !== undefined && e.kind === 'pipeline.finished' && <span class="soft"> {e.status}</span>}
      </>
    );
  }
  const size = e.kind === 'pointer.pushed' && e.size !== undefined && bytes(e.size);
  const about = [e.handle, size].filter(Boolean);
  return e.pointer !== undefined ? (
    <>
      <NamedLink id={e.pointer} at={to('pointers', e.pointer)} name={undefined} names={names} />
      {about.length > 0 && <span class="soft"> ({about.join(', ')})</span>}
    </>
  ) : (
    name
  );
}

/** A link labelled with the entry's name, else a known name, else the start of the id. */
function NamedLink(o: { id: string; at: string; name: string | undefined; names: Names }) {
  const name = o.name || o.names.get(o.id);
  return (
    <a class={name ? '' : 'mono'} href={o.at} title={o.id}>
      {name ? <ForeignText text={name} max={60} /> : short(o.id)}
    </a>
  );
}
