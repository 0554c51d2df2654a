import { count } from '../../../src/base/amounts.ts';
import type { PipelineRun, StepInstance } from '../../../src/contract/threads/runs.ts';
import { setParam } from '../../frame/router.ts';
import { Badge } from '../../parts/badge.tsx';
import { Icon } from '../../parts/icons.tsx';
import { Said } from '../../parts/said.tsx';
import { Ago, Clock, duration } from '../../parts/time.tsx';
import { ArtifactView } from '../threads/artifact-view.tsx';

/** One instance of a step: what it was given, what it gave, how long it took and what it cost. */
export function StepDetails({ run, instance }: { run: PipelineRun; instance: StepInstance }) {
  const definition = run.steps.find(({ id }) => id === instance.of);
  return (
    <section class="panel" aria-labelledby="step">
      <header class="panel-head">
        <h2 id="step">
          <Said text={instance.step} max={80} /> <Badge word={instance.status} />
        </h2>
        <button
          type="button"
          class="icon-button"
          aria-label="Close the step"
          onClick={() => setParam('step', null)}
        >
          <Icon name="close" />
        </button>
      </header>
      <dl class="facts">
        {definition?.agent && (
          <>
            <dt>Agent</dt>
            <dd>
              <Said text={definition.agent} max={80} />
            </dd>
          </>
        )}
        {instance.model && (
          <>
            <dt>Model</dt>
            <dd>
              <Said text={instance.model} max={80} />
            </dd>
          </>
        )}
        <dt>Waits for</dt>
        <dd>{definition && definition.needs.length > 0 ? definition.needs.join(', ') : 'nothing'}</dd>
        <dt>Time</dt>
        <dd>
          {instance.started_at ? <Ago at={instance.started_at} /> : 'not started'}
          {instance.duration_ms !== null && `, took ${duration(instance.duration_ms)}`}
          {instance.cached && ', from an earlier run'}
        </dd>
        <dt>Attempts</dt>
        <dd>{instance.attempts}</dd>
        {instance.prompt_tokens !== null && (
          <>
            <dt>Tokens</dt>
            <dd>
              {count(instance.prompt_tokens)} in the prompt
              {instance.pasted_tokens !== null && `, ${count(instance.pasted_tokens)} if pasted`}
              {instance.output_tokens !== null && `, ${count(instance.output_tokens)} out`}
            </dd>
          </>
        )}
        {instance.why && (
          <>
            <dt>Why</dt>
            <dd class="break">
              <Said text={instance.why} max={4_000} />
            </dd>
          </>
        )}
      </dl>
      {instance.retries.length > 0 && (
        <>
          <h3 class="spaced">Retries</h3>
          <ul class="rows">
            {instance.retries.map(({ at, why }) => (
              <li key={at}>
                <Clock at={at} />
                <span class="break">
                  <Said text={why} max={1_000} />
                </span>
              </li>
            ))}
          </ul>
        </>
      )}
      {instance.ref && (
        <>
          <h3 class="spaced">Output</h3>
          <ArtifactView id={run.run} artifact={instance.ref} readOnly key={instance.ref} />
        </>
      )}
    </section>
  );
}
