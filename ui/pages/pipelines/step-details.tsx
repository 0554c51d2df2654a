import { count } from '../../../src/base/format.ts';
import type { PipelineRun, StepInstance } from '../../../src/contract/threads.ts';
import { Badge } from '../../parts/badge.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Answer } from '../../parts/notices.tsx';
import { Facts } from '../../parts/page-head.tsx';
import { Ago, Clock, formatDuration } from '../../parts/time.tsx';
import { useAsked } from '../../session/asking.ts';
import { revealHidden } from '../../viewers/reveal-hidden.ts';
import { ArtifactView } from '../threads/artifact-view.tsx';

/** One instance of a step: its input, output, duration and cost. */
export function StepDetails({ run, instance }: { run: PipelineRun; instance: StepInstance }) {
  const definition = run.steps.find(({ id }) => id === instance.of);
  const output = instance.ref ?? instance.output_ref;
  return (
    <section class="panel" aria-labelledby="step">
      <h2 id="step">
        <ForeignText text={instance.step} max={80} /> <Badge word={instance.status} />
      </h2>
      <Facts
        rows={[
          definition?.agent && ['Agent', <ForeignText text={definition.agent} max={80} />],
          instance.model && ['Model', <ForeignText text={instance.model} max={80} />],
          ['Waits for', definition?.needs.join(', ') || 'no other step'],
          [
            'Started',
            <>
              {instance.started_at ? <Ago at={instance.started_at} /> : 'not yet'}
              {instance.duration_ms !== null && `, took ${formatDuration(instance.duration_ms)}`}
              {instance.cached && ', from an earlier run'}
            </>,
          ],
          ['Attempts', instance.attempts],
          instance.prompt_tokens !== null && [
            'Tokens',
            <>
              {count(instance.prompt_tokens)} in the prompt
              {instance.pasted_tokens !== null && `, ${count(instance.pasted_tokens)} if pasted`}
              {instance.output_tokens !== null && `, ${count(instance.output_tokens)} out`}
            </>,
          ],
          instance.why && ['Reason', <ForeignText as="span" class="break" text={instance.why} max={4_000} />],
        ]}
      />
      {instance.retries.length > 0 && (
        <>
          <h3 class="spaced">Retries</h3>
          <ul class="rows">
            {instance.retries.map(({ at, why }) => (
              <li key={at}>
                <Clock at={at} />
                <ForeignText as="span" class="break" text={why} max={1_000} />
              </li>
            ))}
          </ul>
        </>
      )}
      {instance.prompt_event && <Prompt run={run.run} event={instance.prompt_event} />}
      {output && (
        <>
          <h3 class="spaced">{instance.ref ? 'Output' : 'Output of the last attempt'}</h3>
          <ArtifactView id={run.run} artifact={output} readOnly inside key={output} />
        </>
      )}
    </section>
  );
}

/**
 * The prompt of a step, read from the log of the run. If the agent is a model, it was also shown the results
 * that the step's `context` names.
 */
function Prompt({ run, event }: { run: string; event: string }) {
  const promptRequest = useAsked(
    async (relay) => {
      const before = Number(event) - 1;
      const { events } = await relay.threads.events(run, {
        ...(before > 0 ? { after: String(before) } : {}),
        limit: 1,
      });
      return events[0]?.payload ?? {};
    },
    [run, event],
  );
  return (
    <>
      <h3 class="spaced">Prompt</h3>
      <Answer of={promptRequest}>
        {({ prompt, prompt_cut }) => (
          <>
            <pre class="said break" tabIndex={0}>
              {revealHidden(String(prompt ?? ''))}
            </pre>
            {prompt_cut === true && <p class="soft small">Only the start of the prompt was stored.</p>}
          </>
        )}
      </Answer>
    </>
  );
}
