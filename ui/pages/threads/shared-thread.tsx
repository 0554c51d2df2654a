import { Empty } from '../../parts/notices.tsx';
import { apiKey, needsKey } from '../../session/session.ts';
import { ThreadPage } from './thread.tsx';

/** The page of a share link: one thread, read-only. */
export function SharedThread({ parts: [id] }: { parts: readonly string[] }) {
  if (id === undefined || apiKey.value === null)
    return (
      <Empty title="This link is incomplete.">
        <p>A share link ends with #token=… Use the complete address that you were given.</p>
      </Empty>
    );
  if (needsKey.value)
    return (
      <Empty title="This link no longer works.">
        <p>It has expired or was revoked. Ask the sender for a new link.</p>
      </Empty>
    );
  return <ThreadPage id={id} shared />;
}
