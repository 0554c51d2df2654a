import type { Agent } from '../../../src/contract/tasks.ts';
import { to } from '../../frame/router.ts';
import { Badge } from '../../parts/badge.tsx';
import { Command } from '../../parts/copying.tsx';
import { Empty } from '../../parts/notices.tsx';
import { Said } from '../../parts/said.tsx';
import { Ago } from '../../parts/time.tsx';

const SHORT = 8;

/** Agents, whether they are alive, and what they are doing. */
export function AgentList({ agents, short = false }: { agents: readonly Agent[]; short?: boolean }) {
  if (agents.length === 0)
    return (
      <Empty title="No agents yet.">
        <p>A bridge runs next to an agent. It fetches tasks for the agent and returns the results.</p>
        <Command line="relay bridge start --exec 'claude -p'" about="Start one:" />
      </Empty>
    );
  const shown = short ? agents.slice(0, SHORT) : agents;
  return (
    <>
      <ul class="rows" aria-label="Agents">
        {shown.map((agent) => (
          <li key={`${agent.kind} ${agent.name} ${agent.bridge?.instance ?? ''}`}>
            <div class="agent">
              <p>
                <strong>
                  <Said text={agent.name} max={60} />
                </strong>{' '}
                <Badge word={agent.state ?? 'inbox'} />
              </p>
              <p class="soft small">
                {agent.bridge ? (
                  <>
                    {agent.bridge.runner} <Said text={agent.bridge.target} max={80} /> on{' '}
                    <a href={to('channels', agent.bridge.task_channel)}>
                      <Said text={agent.bridge.task_channel} max={60} />
                    </a>
                  </>
                ) : (
                  <>
                    subscribed to <Said text={agent.channels.join(', ') || 'no channel'} max={120} />
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
                  <TaskLink task={task} /> <Said text={why} max={300} />
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
      {shown.length < agents.length && (
        <p class="small">
          <a href={to('tasks')}>{agents.length - shown.length} more</a>
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
