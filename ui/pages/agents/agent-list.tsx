import type { Agent } from '../../../src/contract/agents.ts';
import { to } from '../../frame/router.ts';
import { Badge } from '../../parts/badge.tsx';
import { Command } from '../../parts/copy-button.tsx';
import { ChannelLink, ForeignText } from '../../parts/foreign-text.tsx';
import { Empty } from '../../parts/notices.tsx';
import { Ago } from '../../parts/time.tsx';

const SHORT_ROWS = 8;

/** Ways in which a message reaches a session, with their labels. */
const REACH = {
  now: 'can be woken now',
  turn: 'gets messages at its next turn',
  start: 'gets messages when it starts',
  no: 'must fetch its messages itself',
};

/** Lists the agents: whether each is alive, and what it is doing. */
export function AgentList({ agents, short = false }: { agents: readonly Agent[]; short?: boolean }) {
  if (agents.length === 0)
    return (
      <Empty title="No agents yet.">
        <p>A bridge runs next to an agent. It fetches tasks for the agent and returns the results.</p>
        <Command line="relay bridge start --exec 'claude -p'" about="Start one:" />
      </Empty>
    );
  const visibleAgents = short ? agents.slice(0, SHORT_ROWS) : agents;
  return (
    <>
      <ul class="rows" aria-label="Agents">
        {visibleAgents.map((agent) => (
          <li key={`${agent.kind} ${agent.name} ${agent.bridge?.instance ?? ''}`}>
            <div class="agent">
              <p>
                <ForeignText as="strong" text={agent.name} max={60} /> <Badge word={agent.state ?? 'inbox'} />
              </p>
              <p class="soft small">
                {agent.bridge ? (
                  <>
                    {agent.bridge.runner} <ForeignText text={agent.bridge.target} max={80} /> on{' '}
                    <ChannelLink name={agent.bridge.task_channel} />
                  </>
                ) : agent.session ? (
                  <>
                    {agent.session.client} in <ForeignText text={agent.session.folder} max={80} /> on{' '}
                    <ForeignText text={agent.session.machine} max={40} />, {REACH[agent.session.reach]}
                  </>
                ) : (
                  <>
                    subscribed to <ForeignText text={agent.channels.join(', ') || 'no channel'} max={120} />
                  </>
                )}
              </p>
              {agent.bridge && agent.bridge.running.length > 0 && (
                <p class="small">
                  works on{' '}
                  {agent.bridge.running.map((task) => (
                    <TaskLink key={task} task={task} />
                  ))}
                </p>
              )}
              {agent.session?.works_on && (
                <p class="small">
                  works on <ForeignText text={agent.session.works_on} max={200} />
                </p>
              )}
              {agent.session?.waiting_for && (
                <p class="small warn-text">
                  waits for a person: <ForeignText text={agent.session.waiting_for} max={300} />
                </p>
              )}
              {agent.claims && agent.claims.length > 0 && (
                <p class="small">
                  claims <ForeignText text={agent.claims.join(', ')} max={200} />
                </p>
              )}
              {agent.held ? (
                <p class="small warn-text">
                  {agent.held === 1 ? 'one message waits' : `${agent.held} messages wait`} until you allow the
                  sender:{' '}
                  <a href={`${to('agents')}?tab=conversations&agent=${encodeURIComponent(agent.name)}`}>
                    see conversations
                  </a>
                </p>
              ) : null}
              {Object.entries(agent.bridge?.stuck ?? {}).map(([task, why]) => (
                <p key={task} class="small warn-text">
                  <TaskLink task={task} /> <ForeignText text={why} max={300} />
                </p>
              ))}
            </div>
            <div class="agent-figures soft small">
              {agent.bridge && (
                <span>
                  {agent.bridge.done} done, {agent.bridge.failed} failed
                </span>
              )}
              {agent.unread ? <span>{agent.unread} unread</span> : null}
              <Ago at={agent.last_seen} />
            </div>
          </li>
        ))}
      </ul>
      {visibleAgents.length < agents.length && (
        <p class="small">
          <a href={to('agents')}>{agents.length - visibleAgents.length} more</a>
        </p>
      )}
    </>
  );
}

function TaskLink({ task }: { task: string }) {
  return (
    <a class="mono" href={to('tasks', task)} title={task}>
      {task.slice(0, 8)}{' '}
    </a>
  );
}
