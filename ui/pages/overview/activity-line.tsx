import type { ComponentChildren } from 'preact';
import { bytes } from '../../../src/base/amounts.ts';
import type { Activity } from '../../../src/contract/activity.ts';
import { to } from '../../frame/router.ts';
import { Said } from '../../parts/said.tsx';

const short = (id: string) => id.slice(0, 8);

/** One entry of the activity log as a sentence, with links to what it is about. */
export function ActivityLine({ entry }: { entry: Activity }) {
  return <span class="activity-line">{sentence(entry)}</span>;
}

function sentence(e: Activity): ComponentChildren {
  const by = (
    <strong>
      <Said text={e.by} max={40} />
    </strong>
  );
  const channel = e.channel !== undefined && (
    <>
      {' '}
      on <ChannelLink name={e.channel} />
    </>
  );
  switch (e.kind) {
    case 'pointer.pushed':
      return (
        <>
          {by} pushed {e.pointer && <PointerLink id={e.pointer} />}
          {e.size !== undefined && <span class="soft"> {bytes(e.size)}</span>}
          {channel}
        </>
      );
    case 'pointer.pulled':
      return (
        <>
          {by} pulled {e.pointer && <PointerLink id={e.pointer} />}
          {channel}
        </>
      );
    case 'channel.signal':
      return (
        <>
          {by} sent a signal{channel}
        </>
      );
    case 'left_out':
      return <span class="soft">{(e.count ?? 0).toLocaleString('en')} more, too many to list</span>;
    case 'gap':
      return (
        <span class="soft">The connection was gone for a while; what happened then is in the lists</span>
      );
    default:
      return (
        <>
          {by} · {words(e.kind)} {subject(e)}
          {channel}
        </>
      );
  }
}

/** `thread.patched` → `thread patched` */
function words(kind: string): string {
  return kind.replace(/[._]/g, ' ');
}

function subject(e: Activity): ComponentChildren {
  const name = e.name !== undefined && e.name !== '' ? <Said text={e.name} max={60} /> : null;
  if (e.task !== undefined)
    return (
      <>
        <a class="mono" href={to('tasks', e.task)} title={e.task}>
          {short(e.task)}
        </a>
        {name && <> {name}</>}
      </>
    );
  if (e.thread !== undefined) {
    const page = /^(?:pipeline|step)\./.test(e.kind) ? 'pipelines' : 'threads';
    const artifact =
      e.artifact === undefined ? '' : `?tab=artifacts&artifact=${encodeURIComponent(e.artifact)}`;
    return (
      <>
        {name && <>{name} in </>}
        <a class="mono" href={to(page, e.thread) + artifact} title={e.thread}>
          {short(e.thread)}
        </a>
        {e.version !== undefined && <span class="soft"> v{e.version}</span>}
        {e.type !== undefined && e.kind === 'thread.event' && <span class="soft"> {e.type}</span>}
      </>
    );
  }
  if (e.pointer !== undefined) return <PointerLink id={e.pointer} />;
  return name;
}

function PointerLink({ id }: { id: string }) {
  return (
    <a class="mono" href={`/pull/${encodeURIComponent(id)}`} title={id}>
      {short(id)}
    </a>
  );
}

export function ChannelLink({ name }: { name: string }) {
  return (
    <a href={to('channels', name)}>
      <Said text={name} max={60} />
    </a>
  );
}
