/** Default timeout. It is longer than any condition takes on a busy machine, but shorter than the timeout of a test file. */
export const TIMEOUT_MS = 60_000;

interface UntilOptions {
  /** Pause between two checks in ms. */
  readonly everyMs?: number;
  readonly timeoutMs?: number;
  /** Describes the condition in the error message. By default its source code. */
  readonly what?: string;
}

/** Waits until a condition holds. Throws after `timeoutMs`, naming the condition. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  { everyMs = 10, timeoutMs = TIMEOUT_MS, what = String(holds) }: UntilOptions = {},
): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`Waited ${timeoutMs / 1000} s in vain for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}
