import { useMemo } from 'preact/hooks';
import { bytes, count } from '../../../src/base/format.ts';
import type { Artifact } from '../../../src/contract/threads.ts';
import { setParam } from '../../frame/router.ts';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { Id } from '../../parts/copy-button.tsx';
import { saveAs } from '../../parts/download.ts';
import { ForeignText } from '../../parts/foreign-text.tsx';
import { Icon } from '../../parts/icons.tsx';
import { Answer, Empty, Failure } from '../../parts/notices.tsx';
import { Ago } from '../../parts/time.tsx';
import { useAction, useAsked } from '../../session/asking.ts';
import { ContentView, readStart } from '../../viewers/content-view.tsx';

/** One artifact in its viewer. The token ledger does not count this read, because no model gets the artifact. */
export function ArtifactView({
  id,
  artifact: ref,
  readOnly,
  inside = false,
}: {
  id: string;
  artifact: string;
  readOnly: boolean;
  /** True if another view contains this one. Then there is no close button. */
  inside?: boolean;
}) {
  const artifact = useAsked((relay) => relay.threads.artifact(id, ref, { counted: false }), [id, ref]);
  const saving = useAction(async (relay, { name, mime }: Artifact) => {
    const { body } = await relay.threads.content(id, ref, { counted: false });
    await saveAs(name || ref, body, mime);
  });
  return (
    <section class={inside ? '' : 'panel open-artifact'} aria-label="Artifact">
      <Answer of={artifact}>
        {(about) => (
          <>
            <header class="panel-head">
              <ForeignText as={inside ? 'span' : 'h2'} class="one-line" text={about.name || ref} max={120} />
              <span class="bar-end">
                <button
                  type="button"
                  class="button"
                  disabled={saving.busy || about.deleted_at !== undefined}
                  onClick={() => saving.run(about)}
                >
                  <Icon name="download" />
                  Download
                </button>
                {!readOnly && about.deleted_at === undefined && (
                  <ConfirmButton
                    label="Delete"
                    title="Delete this artifact?"
                    sure="Delete it"
                    danger
                    act={(relay) => relay.threads.deleteArtifact(id, ref)}
                    done={artifact.again}
                  >
                    <p>
                      The content and its preview are deleted for good. The name, the hash and an event stay
                      in the thread.
                    </p>
                  </ConfirmButton>
                )}
                {!inside && (
                  <button
                    type="button"
                    class="icon-button"
                    aria-label="Close artifact"
                    onClick={() => setParam('artifact', null)}
                  >
                    <Icon name="close" />
                  </button>
                )}
              </span>
            </header>
            <p class="page-facts">
              <Id value={ref} what="ref" />
              <ForeignText as="span" text={about.mime} max={60} />
              <span>{bytes(about.size)}</span>
              <span>{count(about.tokens.content)} tokens</span>
              <span>
                by <ForeignText text={about.provenance.created_by} max={60} /> <Ago at={about.created_at} />
              </span>
              {about.provenance.source_refs.length > 0 && (
                <span>
                  from <ForeignText text={about.provenance.source_refs.join(', ')} max={120} />
                </span>
              )}
            </p>
            <Failure error={saving.error} />
            {about.deleted_at !== undefined ? (
              <Empty title="The content was deleted.">
                <p>
                  <Ago at={about.deleted_at} />. Hash of the deleted content:{' '}
                  <span class="mono break">{about.hash}</span>
                </p>
              </Empty>
            ) : (
              <Content id={id} about={about} />
            )}
          </>
        )}
      </Answer>
    </section>
  );
}

function Content({ id, about: { ref, size, name, mime, type } }: { id: string; about: Artifact }) {
  const content = useAsked(
    (relay) => readStart(size, (range) => relay.threads.content(id, ref, { counted: false, range })),
    [id, ref],
  );
  const about = useMemo(() => ({ name, mime, type }), [name, mime, type]);
  return <Answer of={content}>{(body) => <ContentView body={body} size={size} about={about} />}</Answer>;
}
