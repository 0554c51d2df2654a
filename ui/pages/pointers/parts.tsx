import { useState } from 'preact/hooks';
import { count } from '../../../src/base/format.ts';
import type { Part, PartRequest } from '../../../src/contract/pointers.ts';
import type { ContextRelay } from '../../../src/sdk/context-relay.ts';
import { Field, onSubmit, Select } from '../../parts/filters.tsx';
import { Failure } from '../../parts/notices.tsx';
import { useAction } from '../../session/asking.ts';
import { TextView } from '../../viewers/text-view.tsx';

const KINDS = [
  { name: 'outline', title: 'Outline', hint: null },
  { name: 'lines', title: 'Lines', hint: '10-40' },
  { name: 'grep', title: 'Matching lines', hint: 'a regular expression (RE2)' },
  { name: 'json', title: 'JSON Pointer', hint: '/items/0/name' },
] as const;

/** Parts of a payload as an agent would pull them: an outline, lines, matches, a JSON path. */
export function Parts({ client, url }: { client: ContextRelay; url: string }) {
  const [kind, setKind] = useState<(typeof KINDS)[number]>(KINDS[0]);
  const [input, setInput] = useState('');
  const [part, setPart] = useState<Part | null>(null);
  const pulling = useAction(async () => {
    const request = (kind.name === 'outline' ? { outline: true } : { [kind.name]: input }) as PartRequest;
    setPart(await client.pullPart(url, request));
  });
  return (
    <details class="parts">
      <summary>Pull only a part</summary>
      <form class="bar" onSubmit={onSubmit(() => pulling.run())}>
        <Select
          label="Part"
          value={kind.name}
          set={(value) => setKind(KINDS.find(({ name }) => name === value) ?? KINDS[0])}
          options={KINDS.map(({ name, title }) => [name, title])}
        />
        {kind.hint !== null && (
          <Field
            label={kind.title}
            class="mono"
            required
            grow
            value={input}
            placeholder={kind.hint}
            set={setInput}
          />
        )}
        <button type="submit" class="button align-end" disabled={pulling.busy}>
          Pull
        </button>
      </form>
      <Failure error={pulling.error} />
      {part && (
        <>
          <p class="soft small">{count(new TextEncoder().encode(part.text).byteLength)} bytes</p>
          <TextView text={part.text} label="Pulled part" />
        </>
      )}
    </details>
  );
}
