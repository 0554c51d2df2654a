import { useEffect, useMemo, useState } from 'preact/hooks';
import { isRelayError } from '../../../src/base/errors.ts';
import { bytes, count } from '../../../src/base/format.ts';
import type { Inspected } from '../../../src/contract/pointers.ts';
import { FERNET_CONTENT_TYPE } from '../../../src/formats/fernet.ts';
import { ContextRelay } from '../../../src/sdk/context-relay.ts';
import { to } from '../../frame/router.ts';
import { Badge } from '../../parts/badge.tsx';
import { Command, CopyButton, Id } from '../../parts/copy-button.tsx';
import { ForeignJson } from '../../parts/foreign-text.tsx';
import { Empty, Failure, Pending } from '../../parts/notices.tsx';
import { Facts, PageHead } from '../../parts/page-head.tsx';
import { When } from '../../parts/time.tsx';
import { type Asked, useAsked } from '../../session/asking.ts';
import { apiKey, wantsKey } from '../../session/session.ts';
import { revealHidden } from '../../viewers/reveal-hidden.ts';
import { Payload } from './payload.tsx';
import { ReceiptStages } from './receipt-stages.tsx';

/**
 * The page of a pointer. The address contains the pointer's id or handle. With `above`, the page has a link
 * to the list of pointers. The key after `#key=` never leaves the browser.
 */
export function Pointer({ parts: [id = ''], above = false }: { parts: readonly string[]; above?: boolean }) {
  const key = apiKey.value;
  const client = useMemo(
    () =>
      new ContextRelay({ baseUrl: location.origin, apiKey: key ?? undefined, retries: 1, timeout: 30_000 }),
    [key],
  );
  const fragment = useFragment();
  const isHandle = id.startsWith('relay:');
  const pointer = (isHandle ? id : `${location.origin}/pull/${id}`) + fragment;
  const found = useAsked(() => client.inspect(pointer), [id, key, fragment]);
  const url = `${location.origin}/pull/${found.value?.id ?? id}${fragment}`;
  return (
    <>
      <PageHead
        title={titleOf(found.value) ?? `Pointer ${isHandle ? id : id.slice(0, 8)}`}
        above={above ? { title: 'Pointers', href: to('pointers') } : undefined}
        actions={<CopyButton text={url} what="address" label="Copy address" />}
      />
      <PointerResult found={found} id={id}>
        {(about) => (
          <>
            <About about={about} />
            <Payload client={client} url={url} about={about} key={`${url} ${key}`} />
            <Receipts client={client} id={about.id} />
          </>
        )}
      </PointerResult>
    </>
  );
}

/** Returns the sender's summary, shortened. The metadata on the page contains the full summary. */
function titleOf(about: Inspected | undefined): string | undefined {
  const summary = about?.metadata.summary;
  return typeof summary === 'string' && summary.trim() !== '' ? shorten(summary) : undefined;
}

const shorten = (text: string) => (text.length > 160 ? `${text.slice(0, 160)}…` : text);

function PointerResult({
  found,
  id,
  children,
}: {
  found: Asked<Inspected>;
  id: string;
  children: (about: Inspected) => preact.ComponentChildren;
}) {
  if (found.value) return <>{children(found.value)}</>;
  if (found.error === undefined) return <Pending what="Loading the pointer" />;
  if (!isRelayError(found.error) || found.error.status !== 404)
    return <Failure error={found.error} again={found.again} />;
  return (
    <Empty title="Pointer not found.">
      <p>
        It may have expired, been revoked, used up its pulls, or never existed. You may also lack access to
        it. For privacy, the relay does not say which.
      </p>
      <p class="bar">
        <button type="button" class="button" onClick={found.again}>
          Try again
        </button>
        <button
          type="button"
          class="button"
          onClick={() => {
            wantsKey.value = true;
          }}
        >
          Sign in with an API key
        </button>
      </p>
      <Command line={`relay receipts ${id}`} about="The owner can see what happened to it:" />
    </Empty>
  );
}

function About({ about }: { about: Inspected }) {
  const encrypted = about.content_type === FERNET_CONTENT_TYPE;
  return (
    <section class="panel" aria-label="About the pointer">
      <p class="page-facts">
        {about.handle !== undefined && <Id value={about.handle} what="handle" />}
        <Id value={about.id} what="pointer id" />
        {about.size !== null && <span>{bytes(about.size)}</span>}
        {about.tokens && (
          <span title={`counted with ${about.tokens.tokenizer}`}>{count(about.tokens.tokens)} tokens</span>
        )}
        {about.from !== null && <span>from {revealHidden(about.from)}</span>}
        {about.channel !== null && <span>on {revealHidden(about.channel)}</span>}
        <When verb="pushed" at={about.created_at} />
        <When verb="expires" at={about.expires_at} />
        {encrypted && <Badge tone="busy">encrypted</Badge>}
        {about.max_pulls !== null && (
          <Badge tone="warn">
            {about.max_pulls === 1 ? 'can be pulled once' : `can be pulled ${about.max_pulls} times`}
          </Badge>
        )}
      </p>
      <Metadata metadata={about.metadata} />
    </section>
  );
}

function Metadata({ metadata }: { metadata: Inspected['metadata'] }) {
  const entries = Object.entries(metadata);
  if (entries.length === 0) return <p class="soft">No metadata.</p>;
  return (
    <Facts
      rows={entries.map(([name, value]) => [
        revealHidden(name),
        <span class="break">
          <ForeignJson value={value} max={4_000} />
        </span>,
      ])}
    />
  );
}

/** Returns the fragment `#key=…` of the address, or an empty text. Follows later changes of the fragment. */
function useFragment(): string {
  const read = () => (location.hash.startsWith('#key=') ? location.hash : '');
  const [fragment, setFragment] = useState(read);
  useEffect(() => {
    const listen = () => setFragment(read());
    addEventListener('hashchange', listen);
    return () => removeEventListener('hashchange', listen);
  }, []);
  return fragment;
}

/** Receipts of the pointer. Displays nothing to callers of other tenants, who may not read the receipts. */
function Receipts({ client, id }: { client: ContextRelay; id: string }) {
  const receipts = useAsked(() => client.receipts(id), [id, client], { every: 5_000 });
  if (!receipts.value) return receipts.pending ? <Pending what="Loading receipts" /> : null;
  return (
    <section class="panel" aria-label="Receipts">
      <h2>Receipts</h2>
      <p class="soft small">What the relay has recorded about this pointer.</p>
      <ReceiptStages receipts={receipts.value.receipts} />
    </section>
  );
}
