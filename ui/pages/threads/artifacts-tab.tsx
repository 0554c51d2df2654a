import { useState } from 'preact/hooks';
import { bytes, count } from '../../../src/base/format.ts';
import { type Artifact, type SearchHit, unsearchedText } from '../../../src/contract/threads.ts';
import { query, setParam } from '../../frame/router.ts';
import { Badge } from '../../parts/badge.tsx';
import { Command, Id } from '../../parts/copy-button.tsx';
import { Field, onSubmit } from '../../parts/filters.tsx';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Answer, Empty } from '../../parts/notices.tsx';
import { type Column, PagedTable, textColumn } from '../../parts/table.tsx';
import { Ago } from '../../parts/time.tsx';
import { useAsked } from '../../session/asking.ts';
import { usePages } from '../../session/paging.ts';
import { ArtifactView } from './artifact-view.tsx';

/** Artifacts of a thread, newest first. The selected artifact is open next to the list. */
export function ArtifactsTab({ id, readOnly }: { id: string; readOnly: boolean }) {
  const chosen = query.value.get('artifact');
  const [draft, setDraft] = useState('');
  const [searched, setSearched] = useState('');
  const artifacts = usePages(
    'artifacts',
    (relay, page) => relay.threads.artifacts(id, { ...page, counted: false }),
    [id],
    { live: ({ thread, kind }) => thread === id && kind.startsWith('artifact.') },
  );
  const columns: readonly Column<Artifact>[] = [
    {
      title: 'Name',
      width: 'minmax(0, 1fr)',
      cell: ({ ref, name, deleted_at }) => (
        <button type="button" class="link row-link one-line" onClick={() => setParam('artifact', ref)}>
          <ForeignText text={name || ref} max={120} />
          {deleted_at && <span class="soft"> (deleted)</span>}
        </button>
      ),
    },
    {
      title: 'Type',
      width: '96px',
      cell: ({ type }) => (
        <Badge tone="quiet">
          <ForeignText text={type} max={20} />
        </Badge>
      ),
      wide: true,
    },
    textColumn('By', '110px', ({ provenance }) => provenance.created_by),
    { title: 'Tokens', width: '70px', cell: ({ tokens }) => count(tokens.content), wide: true, figure: true },
    { title: 'Size', width: '78px', cell: ({ size }) => bytes(size), figure: true },
    { title: 'Created', width: '84px', cell: ({ created_at }) => <Ago at={created_at} /> },
  ];
  return (
    <>
      <form class="bar" onSubmit={onSubmit(() => setSearched(draft.trim()))}>
        <Field
          label="Search all artifacts"
          type="search"
          grow
          value={draft}
          placeholder="words or a question"
          set={(text) => {
            setDraft(text);
            if (text === '') setSearched('');
          }}
        />
        <button type="submit" class="button align-end">
          Search
        </button>
      </form>
      {searched !== '' && <Hits id={id} searched={searched} />}
      {chosen !== null && <ArtifactView id={id} artifact={chosen} readOnly={readOnly} key={chosen} />}
      <PagedTable
        label="Artifacts, newest first"
        columns={columns}
        paged={artifacts}
        keyOf={({ ref }) => ref}
        chosen={({ ref }) => ref === chosen}
        empty={
          <Empty title="This thread has no artifacts yet.">
            <p>
              An artifact is content stored in the thread. Prompts get its reference and a short preview;
              agents pull the rest when they need it.
            </p>
            <Command line={`relay artifact put survey.md --thread ${id}`} about="Store a file:" />
          </Empty>
        }
      />
    </>
  );
}

function Hits({ id, searched }: { id: string; searched: string }) {
  const found = useAsked(
    (relay) => relay.threads.search(id, searched, { limit: 20, counted: false }),
    [id, searched],
  );
  return (
    <section class="panel" aria-label="Search results">
      <Answer of={found}>
        {({ hits, unsearched }) => (
          <>
            {unsearched && <p class="soft">{unsearchedText(unsearched)}</p>}
            {hits.length === 0 ? (
              <p class="soft">No results.</p>
            ) : (
              <ol class="hits">
                {hits.map((hit) => (
                  <li key={`${hit.ref}:${hit.line}`}>
                    <Hit hit={hit} />
                  </li>
                ))}
              </ol>
            )}
          </>
        )}
      </Answer>
    </section>
  );
}

function Hit({ hit: { ref, name, line, snippet } }: { hit: SearchHit }) {
  // The relay encloses each match in `**`, so every second part is a match.
  const parts = snippet.split('**');
  return (
    <>
      <p class="bar">
        <button type="button" class="link" onClick={() => setParam('artifact', ref)}>
          <ForeignText text={name || ref} max={100} />
        </button>
        <span class="soft">line {line}</span>
        <Id value={ref} what="ref" />
      </p>
      <p class="break small">
        {parts.map((part, at) => (at % 2 === 1 ? <mark key={at}>{part}</mark> : part))}
      </p>
    </>
  );
}
