import { useEffect, useMemo, useState } from 'preact/hooks';
import { isRelayError } from '../../../src/base/errors.ts';
import type { Inspected } from '../../../src/contract/pointers.ts';
import { FERNET_CONTENT_TYPE, fernetKeyCheck } from '../../../src/formats/fernet.ts';
import type { ContextRelay } from '../../../src/sdk/context-relay.ts';
import { saveAs } from '../../parts/download.ts';
import { Icon } from '../../parts/icons.tsx';
import { Failure, Pending } from '../../parts/notices.tsx';
import { useAction } from '../../session/asking.ts';
import { ContentView, MAX_VIEW_BYTES } from '../../viewers/content-view.tsx';
import { Parts } from './parts.tsx';

interface Props {
  readonly client: ContextRelay;
  /** URL of the pointer, with the encryption key if there is one. */
  readonly url: string;
  readonly about: Inspected;
}

const USE_FULL_ADDRESS = 'Use the complete address that you were given.';

/** Displays the payload. A payload with limited pulls is pulled only after a click. */
export function Payload({ client, url, about }: Props) {
  const obstacle = useObstacle(url, about);
  const [confirmed, setConfirmed] = useState(about.max_pulls === null);
  const [body, setBody] = useState<Uint8Array<ArrayBuffer> | null>(null);
  const keyed = url.includes('#key=');
  const pulling = useAction(async () => {
    // Fetch only the start of a long payload. An encrypted payload must be complete to be decrypted.
    const part = about.max_pulls === null && !keyed && (about.size ?? 0) > MAX_VIEW_BYTES;
    const bytes = await client.pullBytes(url, part ? { range: { start: 0, end: MAX_VIEW_BYTES } } : {});
    setBody(bytes as Uint8Array<ArrayBuffer>);
  });
  const saving = useAction(async () => {
    const bytes =
      body && (keyed || body.byteLength >= (about.size ?? 0)) ? body : await client.pullBytes(url);
    await saveAs(nameOf(about), bytes, 'application/octet-stream');
  });
  useEffect(() => {
    if (confirmed && obstacle === null) void pulling.run();
  }, [confirmed, obstacle]);
  const viewed = useMemo(
    () => ({ name: nameOf(about), mime: keyed ? null : about.content_type }),
    [about, keyed],
  );

  if (obstacle === undefined) return <Pending what="Checking the key" />;
  if (obstacle !== null)
    return (
      <p class="failure" role="alert" id="obstacle">
        <strong class="failure-title">{obstacle}</strong> No pull was used.
      </p>
    );
  return (
    <section class="panel" aria-label="Payload">
      <header class="panel-head">
        <h2>Payload</h2>
        {body && (
          <button type="button" class="button" disabled={saving.busy} onClick={() => saving.run()}>
            <Icon name="download" />
            Download
          </button>
        )}
      </header>
      {!confirmed && (
        <div class="stack">
          <p>
            {about.max_pulls === 1
              ? 'This payload can be pulled only once. Showing it uses that pull; afterwards nobody can read it.'
              : `This payload can be pulled ${about.max_pulls} times in total. Showing it uses one pull.`}
          </p>
          <p>
            <button type="button" class="button solid" id="show" onClick={() => setConfirmed(true)}>
              Show it (uses one pull)
            </button>
          </p>
        </div>
      )}
      {confirmed && pulling.error !== undefined && (
        <Failure
          error={pulling.error}
          again={
            isRelayError(pulling.error) && pulling.error.status === 404 ? undefined : () => void pulling.run()
          }
        />
      )}
      {confirmed && !body && pulling.error === undefined && <Pending what="Pulling the payload" />}
      <Failure error={saving.error} />
      {body && (
        <>
          <ContentView
            body={body}
            size={keyed ? body.byteLength : (about.size ?? body.byteLength)}
            about={viewed}
            renderAtOnce={false}
          />
          {about.max_pulls === null && about.text !== false && <Parts client={client} url={url} />}
        </>
      )}
    </section>
  );
}

/**
 * Returns why the payload cannot be read with the key in the address, or null if it can be read. Returns
 * undefined until the check is done. The check uses up no pull.
 */
function useObstacle(url: string, about: Inspected): string | null | undefined {
  const [obstacle, setObstacle] = useState<string | null | undefined>(undefined);
  useEffect(() => {
    let over = false;
    void findObstacle(url, about).then((found) => !over && setObstacle(found));
    return () => {
      over = true;
    };
  }, [url, about]);
  return obstacle;
}

async function findObstacle(url: string, about: Inspected): Promise<string | null> {
  const raw = url.split('#key=')[1];
  if (raw === undefined)
    return about.content_type === FERNET_CONTENT_TYPE
      ? `The payload is encrypted and this address has no key. ${USE_FULL_ADDRESS}`
      : null;
  if (!globalThis.crypto?.subtle)
    return 'Browsers decrypt only over https:// or on this machine. Use `relay pull` instead.';
  try {
    const check = await fernetKeyCheck(decodeKey(raw));
    if (about.key_check !== undefined && about.key_check !== check)
      return `The key in this address does not match this payload. ${USE_FULL_ADDRESS}`;
    return null;
  } catch {
    return `The key in this address is damaged. ${USE_FULL_ADDRESS}`;
  }
}

function decodeKey(raw: string): string {
  try {
    return decodeURIComponent(raw);
  } catch {
    return raw;
  }
}

/** Returns the file name that the sender gave the payload, otherwise a name made from the id. */
function nameOf({ id, metadata }: Inspected): string {
  const name = metadata.filename ?? metadata.file ?? metadata.name;
  return typeof name === 'string' && name !== '' ? name : `payload-${id.slice(0, 8)}`;
}
