/** Default timeout. No condition takes this long on a busy machine. It is below the runner's timeout for a file. */
export const TIMEOUT_MS = 60_000;

interface UntilOptions {
  /** Pause between two checks. */
  readonly everyMs?: number;
  readonly timeoutMs?: number;
  /** What the test waits for, for the error message. By default the source of the condition. */
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
