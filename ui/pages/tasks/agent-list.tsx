import type { Agent } from '../../../src/contract/tasks.ts';
import { to } from '../../frame/router.ts';
import { Badge } from '../../parts/badge.tsx';
import { Command } from '../../parts/copy-button.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Empty } from '../../parts/notices.tsx';
import { Ago } from '../../parts/time.tsx';

const SHORT_ROWS = 8;

/** Agents, whether they are alive, and what they are doing. */
export function AgentList({ agents, short = false }: { agents: readonly Agent[]; short?: boolean }) {
  if (agents.length === 0)
    return (
      <Empty title="No agents yet.">
        <p>A bridge runs next to an agent. It fetches tasks for the agent and returns the results.</p>
        <Command line="relay bridge start --exec 'claude -p'" about="Start one:" />
      </Empty>
    );
  const listed = short ? agents.slice(0, SHORT_ROWS) : agents;
  return (
    <>
      <ul class="rows" aria-label="Agents">
        {listed.map((agent) => (
          <li key={`${agent.kind} ${agent.name} ${agent.bridge?.instance ?? ''}`}>
            <div class="agent">
              <p>
                <strong>
                  <ForeignText text={agent.name} max={60} />
                </strong>{' '}
                <Badge word={agent.state ?? 'inbox'} />
              </p>
              <p class="soft small">
                {agent.bridge ? (
                  <>
                    {agent.bridge.runner} <ForeignText text={agent.bridge.target} max={80} /> on{' '}
                    <a href={to('channels', agent.bridge.task_channel)}>
                      <ForeignText text={agent.bridge.task_channel} max={60} />
                    </a>
                  </>
                ) : (
                  <>
                    subscribed to <ForeignText text={agent.channels.join(', ') || 'no channel'} max={120} />
                  </>
                )}
              </p>
              {agent.bridge && agent.bridge.running.length > 0 && (
                <p class="small">
                  working on{' '}
                  {agent.bridge.running.map((task) => (
                    <TaskLink key={task} task={task} />
                  ))}
                </p>
              )}
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
              <Ago at={agent.last_seen} />
            </div>
          </li>
        ))}
      </ul>
      {listed.length < agents.length && (
        <p class="small">
          <a href={to('tasks')}>{agents.length - listed.length} more</a>
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
