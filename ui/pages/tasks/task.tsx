import { bytes } from '../../../src/base/format.ts';
import type { Relay } from '../../../src/contract/relay.ts';
import type { Task, TaskInfo } from '../../../src/contract/tasks.ts';
import { navigate, pointerId, to } from '../../frame/router.ts';
import { Badge } from '../../parts/badge.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { Command, Id } from '../../parts/copy-button.tsx';
import { ChannelLink, ForeignText } from '../../parts/foreign-text.tsx';
import { Answer } from '../../parts/notices.tsx';
import { Facts, PageHead } from '../../parts/page-head.tsx';
import { Ago } from '../../parts/time.tsx';
import { useAsked } from '../../session/asking.ts';
import { hasScope } from '../../session/self.ts';
import { JsonView } from '../../viewers/json-view.tsx';
import { ReceiptStages } from '../pointers/receipt-stages.tsx';

export const OPEN_STATES: ReadonlySet<string> = new Set(['queued', 'running', 'acked']);

/**
 * Returns the agent that has the task or reported its result. Null if there is none. The result of a canceled task is
 * ignored, because it names who canceled the task.
 */
export const agentOf = ({ agent, result, state }: TaskInfo) =>
  agent ?? (state === 'canceled' ? null : (result?.by ?? null));

/** Sends the payload of a task again, as a new task. Returns its id. */
export async function sendAgain(relay: Relay, id: string): Promise<string> {
  const { channel, metadata } = await relay.tasks.get(id);
  const { body, about } = await relay.pointers.pull(id);
  const { content_type, key_check } = about;
  const sent = await relay.pointers.push({
    body,
    channel,
    metadata,
    ...(content_type ? { content_type } : {}),
    ...(key_check ? { key_check } : {}),
  });
  return sent.id;
}

/** A task, updated live: its agent, its progress and its result. */
export function TaskPage({ id }: { id: string }) {
  const task = useAsked((relay) => relay.tasks.get(id), [id], {
    every: 10_000,
    live: (entry) => entry.task === id || entry.pointer === id,
  });
  const { value } = task;
  return (
    <>
      <PageHead
        title={value?.summary ?? 'Task'}
        above={{ title: 'Tasks', href: to('tasks') }}
        actions={
          value &&
          (!OPEN_STATES.has(value.state) ? (
            value.state !== 'done' &&
            hasScope('push') && (
              <ConfirmButton
                label="Retry"
                title="Send this task again?"
                sure="Send it again"
                act={async (relay) => navigate(to('tasks', await sendAgain(relay, id)))}
              >
                <p>This creates a new task with the same payload on the same channel.</p>
              </ConfirmButton>
            )
          ) : (
            <ConfirmButton
              label="Cancel task"
              title="Cancel this task?"
              dismiss="Keep it"
              sure="Cancel the task"
              danger
              act={(relay) => relay.tasks.cancel(id, { reason: 'Canceled in the dashboard' })}
              done={task.again}
            >
              <p>No agent will take the task. If an agent is working on it, its bridge stops the work.</p>
            </ConfirmButton>
          ))
        }
      >
        <Id value={id} what="task id" />
        {value && (
          <>
            <Badge word={value.stuck ? 'stuck' : value.state} />
            <span>
              sent <Ago at={value.created_at} /> by <ForeignText text={value.from} max={60} />
            </span>
          </>
        )}
      </PageHead>
      <Answer of={task}>{(found) => <Details task={found} />}</Answer>
    </>
  );
}

function Details({ task }: { task: Task }) {
  const { result, lease, stuck } = task;
  return (
    <>
      {stuck && (
        <p class="warning" role="status">
          <strong>Stuck.</strong> <ForeignText text={stuck} max={1_000} />
        </p>
      )}
      <div class="columns even">
        <section class="panel" aria-labelledby="ladder">
          <h2 id="ladder">Progress</h2>
          <ReceiptStages receipts={task.receipts} />
        </section>
        <div class="stack">
          <section class="panel" aria-labelledby="about-task">
            <h2 id="about-task">Details</h2>
            <Facts
              rows={[
                ['Channel', <ChannelLink name={task.channel} />],
                ['Result channel', <ChannelLink name={task.done_channel} />],
                ['Agent', <ForeignText text={agentOf(task) ?? 'none'} max={80} />],
                // The relay no longer knows the number of attempts of a finished task. So leave out an
                // unknown number.
                (task.attempt > 0 || OPEN_STATES.has(task.state)) && ['Attempts', task.attempt],
                lease && [
                  'Lease',
                  <>
                    held by <ForeignText text={lease.member} max={60} />, ends <Ago at={lease.lease_until} />
                  </>,
                ],
                ['Payload', <a href={to('pointers', task.id)}>{bytes(task.size)}</a>],
              ]}
            />
          </section>
          <section class="panel" aria-labelledby="result">
            <h2 id="result">Result</h2>
            {result ? (
              <>
                <p class="page-facts">
                  <Badge word={result.status} />
                  <span>
                    by <ForeignText text={result.by} max={60} /> <Ago at={result.at} />
                  </span>
                </p>
                {result.summary && <ForeignText as="p" class="break" text={result.summary} max={4_000} />}
                <p>
                  <a href={to('pointers', pointerId(result.url) ?? '')}>Open result</a>
                </p>
              </>
            ) : (
              <>
                <p class="soft">No result yet.</p>
                <Command line={`relay task wait ${task.id}`} about="Wait for it in a terminal:" />
              </>
            )}
          </section>
        </div>
      </div>
      {Object.keys(task.metadata).length > 0 && (
        <section class="panel spaced" aria-label="Metadata">
          <h2>Metadata</h2>
          <JsonView value={task.metadata} label="Metadata as JSON" />
        </section>
      )}
    </>
  );
}
