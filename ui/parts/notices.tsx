import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { isRelayError, toRelayError } from '../../src/base/errors.ts';
import type { Asked } from '../session/asking.ts';

/** Placeholder of an empty list: what it would contain, and the command that creates the first item. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** An error with its hint. Nothing if the error is undefined. */
export function Failure({ error, again }: { error: unknown; again?: () => void }) {
  if (error === undefined) return null;
  const { message, hint, code } = toRelayError(error);
  if (!isRelayError(error)) console.error(error);
  return (
    <div class="failure" role="alert">
      <p class="failure-title">{message}</p>
      {hint && <p>{hint}</p>}
      <p class="failure-foot">
        {again && (
          <button type="button" class="button" onClick={again}>
            Try again
          </button>
        )}
        <span class="soft mono">{code}</span>
      </p>
    </div>
  );
}

/** A message that appears only if loading takes noticeably long. */
export function Pending({ what = 'Loading' }: { what?: string }) {
  const [waited, setWaited] = useState(0);
  useEffect(() => {
    const timers = [250, 5_000].map((ms, step) => setTimeout(() => setWaited(step + 1), ms));
    return () => timers.forEach(clearTimeout);
  }, []);
  if (waited === 0) return <div class="pending" aria-busy="true" />;
  return (
    <div class="pending" role="status" aria-busy="true">
      {what}…{waited > 1 && ' The relay is slow to answer. The request stops after 20 seconds.'}
    </div>
  );
}

/** Displays an answer, or its loading state or error. */
export function Answer<T>({
  of,
  what,
  children,
}: {
  of: Asked<T>;
  what?: string;
  children: (value: T) => ComponentChildren;
}) {
  return (
    <>
      <Failure error={of.error} again={of.again} />
      {of.value !== undefined ? children(of.value) : of.pending && <Pending what={what} />}
    </>
  );
}
