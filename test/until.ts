/** Waits until something holds, looking again every few milliseconds; a test that waits in vain is ended by the runner. */
export async function until(holds: () => boolean | Promise<boolean>, everyMs = 10): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, everyMs));
}
