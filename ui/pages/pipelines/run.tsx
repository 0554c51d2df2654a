import { useState } from 'preact/hooks';
import { type PipelineRun, promptWarnings, type StepInstance } from '../../../src/contract/threads.ts';
import { query, setParam, to } from '../../frame/router.ts';
import { Badge } from '../../parts/badge.tsx';
import { Id } from '../../parts/copy-button.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Answer } from '../../parts/notices.tsx';
import { PageHead } from '../../parts/page-head.tsx';
import { formatDuration, When } from '../../parts/time.tsx';
import { useAsked } from '../../session/asking.ts';
import { useEvery } from '../../session/live.ts';
import { RunActions } from './run-actions.tsx';
import { StepDetails } from './step-details.tsx';
import { StepGraph } from './step-graph.tsx';
import { Waterfall } from './waterfall.tsx';

/**
 * A run of a pipeline, updated live: the graph, the times of each step, and the input and output of one
 * step.
 */
export function RunPage({ id }: { id: string }) {
  const run = useAsked((relay) => relay.threads.run(id), [id], { live: ({ thread }) => thread === id });
  const { value } = run;
  // Redraw regularly, because the bars of running steps grow.
  const [, tick] = useState(0);
  useEvery(1_000, () => value?.status === 'running' && tick((n) => n + 1));
  return (
    <>
      <PageHead
        title={value?.pipeline ?? 'Run'}
        above={{ title: 'Pipelines', href: to('pipelines') }}
        actions={
          <a class="button" href={to('threads', id)}>
            Open thread
          </a>
        }
      >
        <Id value={id} what="run id" />
        {value && (
          <>
            <Badge word={value.status} />
            <When verb="started" at={value.started_at} />
            {value.finished_at && (
              <span>took {formatDuration(Date.parse(value.finished_at) - Date.parse(value.started_at))}</span>
            )}
            {value.held_by && (
              <span>
                run by <ForeignText text={value.held_by} max={80} />
              </span>
            )}
            {value.of && (
              <span>
                rerun from {value.of.from} of{' '}
                <a href={to('pipelines', value.of.run)}>{value.of.run.slice(0, 8)}</a>
              </span>
            )}
          </>
        )}
      </PageHead>
      <Answer of={run}>{(found) => <Body run={found} />}</Answer>
    </>
  );
}

function Body({ run }: { run: PipelineRun }) {
  const stepId = query.value.get('step');
  const chosen = run.instances.find(({ step }) => step === stepId) ?? defaultInstance(run.instances);
  // Runs of earlier versions did not record their steps. Take the steps from the instances, without dependencies.
  const ids = [...new Set(run.instances.map(({ of }) => of))];
  const steps = run.steps.length > 0 ? run.steps : ids.map((id) => ({ id, agent: null, needs: [] }));
  const choose = (step: string) => setParam('step', step);
  return (
    <div class="stack">
      {run.instances
        .flatMap((instance) => promptWarnings(instance.step, instance))
        .map((warning) => (
          <p key={warning} class="warning" role="status">
            <ForeignText text={warning} max={1_000} />
          </p>
        ))}
      <section class="panel" aria-labelledby="graph">
        <h2 id="graph">Steps</h2>
        <StepGraph
          steps={steps}
          instances={run.instances}
          chosen={chosen?.of ?? null}
          onChoose={(id) => choose(run.instances.find(({ of }) => of === id)?.step ?? id)}
        />
      </section>
      <div class="columns even">
        <div class="stack">
          <section class="panel" aria-labelledby="waterfall">
            <h2 id="waterfall">Timeline</h2>
            <Waterfall run={run} chosen={chosen?.step ?? null} onChoose={choose} />
          </section>
          <RunActions run={run} step={chosen?.of ?? null} />
        </div>
        {chosen && <StepDetails run={run} instance={chosen} key={chosen.step} />}
      </div>
    </div>
  );
}

/** Selects the step to open first: a failed one, else a running one, else the last result. */
function defaultInstance(instances: readonly StepInstance[]): StepInstance | null {
  const has = (wantedStatus: StepInstance['status']) =>
    instances.find(({ status }) => status === wantedStatus);
  return has('failed') ?? has('running') ?? instances.findLast(({ ref }) => ref !== null) ?? null;
}
