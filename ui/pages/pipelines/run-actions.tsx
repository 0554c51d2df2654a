import { useState } from 'preact/hooks';
import { shellWord } from '../../../src/base/shell-word.ts';
import type { PipelineRun } from '../../../src/contract/threads/runs.ts';
import { Command } from '../../parts/copying.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { useAsked } from '../../session/asking.ts';
import { SendTask } from '../tasks/send-task.tsx';

/** The server runs no commands: going on with a run is a command to copy, or a task for an agent that runs commands. */
export function RunActions({ run, step }: { run: PipelineRun; step: string | null }) {
  const agents = useAsked((relay) => relay.agents.list(), []);
  const [task, setTask] = useState<{ title: string; line: string } | null>(null);
  const resume = `relay pipeline run --run ${run.run}`;
  const rerun = step === null ? null : `relay pipeline run --of ${run.run} --from ${shellWord(step)}`;
  const offers = [
    ...(run.status === 'done' ? [] : [{ title: 'Go on with it', line: resume }]),
    ...(rerun === null ? [] : [{ title: `Run again from ${step}`, line: rerun }]),
  ];
  return (
    <section class="panel" aria-labelledby="again">
      <h2 id="again">Go on, or again</h2>
      {offers.map((offer) => (
        <div key={offer.line} class="offer">
          <Command line={offer.line} about={`${offer.title}, where the agents are:`} />
          <button type="button" class="button" onClick={() => setTask(offer)}>
            Send as a task
          </button>
        </div>
      ))}
      {rerun === null && (
        <p class="soft">Choose a step above to run it and what follows again, with the earlier results.</p>
      )}
      {task && (
        <Dialog title={task.title} onClose={() => setTask(null)}>
          <div class="dialog-body">
            <SendTask
              agents={agents.value?.agents ?? []}
              text={task.line}
              summary={`${task.title}: ${run.pipeline}`}
            />
          </div>
        </Dialog>
      )}
    </section>
  );
}
