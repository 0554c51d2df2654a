import { shellWord } from '../../../src/base/format.ts';
import { encodeUtf8 } from '../../../src/base/utf8.ts';
import type { Agent } from '../../../src/contract/agents.ts';
import type { Relay } from '../../../src/contract/relay.ts';
import { PIPELINE_RUNNER } from '../../../src/contract/tasks.ts';
import type { PipelineRun } from '../../../src/contract/threads.ts';
import { navigate, to } from '../../frame/router.ts';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { Command } from '../../parts/copy-button.tsx';
import { useAsked } from '../../session/asking.ts';
import { hasScope } from '../../session/self.ts';

/** Returns the bridge that runs pipelines, if one is alive. */
export function useRunner(): Agent | undefined {
  const agents = useAsked(async (relay) => (hasScope('tasks') ? relay.agents.list() : null), [], {
    every: 10_000,
    live: ({ kind }) => kind.startsWith('agent.'),
  });
  return agents.value?.agents.find(({ alive, bridge }) => alive && bridge?.runner === PIPELINE_RUNNER);
}

/** Sends a command line as a task to a bridge that runs pipelines. Returns the id of the task. */
export async function sendRunTask(
  relay: Relay,
  runner: Agent,
  line: string,
  summary: string,
): Promise<string> {
  const { task_channel, done_channel } = runner.bridge!;
  const { id } = await relay.pointers.push({
    body: encodeUtf8(line),
    content_type: 'text/plain',
    channel: task_channel,
    metadata: { done_channel, summary },
  });
  return id;
}

/**
 * Buttons to resume or rerun a run. The server runs no commands, so a button sends a task to a bridge that runs
 * pipelines. Without such a bridge, the user copies the command.
 */
export function RunActions({ run, step }: { run: PipelineRun; step: string | null }) {
  const runner = useRunner();
  const actions = [
    ...(run.status === 'done'
      ? []
      : [
          {
            title: 'Resume',
            about: 'Finished steps do not run again.',
            line: `relay pipeline run --run ${run.run}`,
          },
        ]),
    ...(step === null
      ? []
      : [
          {
            title: `Rerun from ${step}`,
            about: 'Starts a new run that reuses the results of earlier steps.',
            line: `relay pipeline run --of ${run.run} --from ${shellWord(step)}`,
          },
        ]),
  ];
  return (
    <section class="panel" aria-labelledby="again">
      <h2 id="again">Resume or rerun</h2>
      <div class="stack">
        {actions.map(({ title, about, line }) => (
          <div key={line} class="offer">
            <Command line={line} about={`${title}. ${about}`} />
            {runner?.bridge && hasScope('push') && (
              <ConfirmButton
                label={title}
                title={`${title}?`}
                sure="Send task"
                act={async (relay) =>
                  navigate(to('tasks', await sendRunTask(relay, runner, line, `${title}: ${run.pipeline}`)))
                }
              >
                <p>
                  This sends a task to {runner.name}, which uses its own copy of the pipeline file. The task’s
                  page shows the progress.
                </p>
              </ConfirmButton>
            )}
          </div>
        ))}
        {!runner && (
          <Command
            line="relay bridge start --pipelines ."
            about="To resume from this page, start a bridge in the folder with the pipeline files:"
          />
        )}
      </div>
    </section>
  );
}
