import { useState } from 'preact/hooks';
import { count } from '../../../src/base/format.ts';
import type { RenderFormat } from '../../../src/contract/threads.ts';
import { CopyButton } from '../../parts/copy-button.tsx';
import { Field, onSubmit, Select } from '../../parts/filters.tsx';
import { Answer } from '../../parts/notices.tsx';
import { Figure } from '../../parts/page-head.tsx';
import { useAsked } from '../../session/asking.ts';
import { revealHidden } from '../../viewers/reveal-hidden.ts';

/**
 * The exact messages that a model gets from this thread, and their tokens. This view is not counted in the
 * token ledger.
 */
export function PromptTab({ id, version }: { id: string; version: number }) {
  const [format, setFormat] = useState<RenderFormat>('anthropic');
  const [draft, setDraft] = useState('');
  const [question, setQuestion] = useState('');
  const rendered = useAsked(
    (relay) => relay.threads.render(id, { format, dry: true, ...(question ? { words: question } : {}) }),
    [id, version, format, question],
  );
  return (
    <>
      <form class="bar" onSubmit={onSubmit(() => setQuestion(draft.trim()))}>
        <Field label="Question" grow value={draft} placeholder="What should I do next?" set={setDraft} />
        <Select
          label="Format"
          value={format}
          set={(value) => setFormat(value as RenderFormat)}
          options={Object.entries({ anthropic: 'Anthropic', openai: 'OpenAI' })}
        />
        <button type="submit" class="button align-end">
          Show
        </button>
      </form>
      <Answer of={rendered}>
        {({ system, messages, tokens, pasted, truncated, artifacts }) => (
          <>
            <div class="figures">
              <Figure
                name="This prompt"
                value={count(tokens.tokens)}
                foot={`tokens, counted with ${tokens.tokenizer}`}
              />
              <Figure name="If pasted" value={count(pasted.tokens)} foot="full state and all contents" />
              <Figure
                name="Saved"
                value={count(pasted.tokens - tokens.tokens)}
                foot="compared with pasting everything"
              />
              <Figure
                name="Artifacts included"
                value={count(artifacts.length)}
                foot={truncated ? 'the state was shortened' : 'with the full state'}
              />
            </div>
            {system !== undefined && <Message from="system" text={system} />}
            {messages.map(({ role, content }, at) => (
              <Message key={at} from={role} text={content} />
            ))}
          </>
        )}
      </Answer>
    </>
  );
}

function Message({ from, text }: { from: string; text: string }) {
  return (
    <section class="message" aria-label={`Message with role ${from}`}>
      <header>
        <h2>{from}</h2>
        <CopyButton text={text} what="message" />
      </header>
      <pre class="break" tabIndex={0}>
        {revealHidden(text)}
      </pre>
    </section>
  );
}
