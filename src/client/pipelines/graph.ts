import type { Pipeline, Step } from './definition.ts';

type Node = Pick<Step, 'id' | 'needs'>;

/** A way round in a circle, `a → b → a`, as ids; null where there is none. */
export function findCycle(steps: readonly Node[]): string[] | null {
  const byId = new Map(steps.map((step) => [step.id, step]));
  const state = new Map<string, 'open' | 'closed'>();
  for (const { id } of steps) {
    if (state.has(id)) continue;
    // A stack of our own: a long chain must not end in an overflow.
    const stack: { id: string; next: number }[] = [{ id, next: 0 }];
    state.set(id, 'open');
    while (stack.length > 0) {
      const top = stack.at(-1)!;
      const need = byId.get(top.id)?.needs[top.next++];
      if (need === undefined) {
        state.set(top.id, 'closed');
        stack.pop();
      } else if (state.get(need) === 'open') {
        const path = stack.map((entry) => entry.id);
        return [...path.slice(path.indexOf(need)), need];
      } else if (!state.has(need) && byId.has(need)) {
        state.set(need, 'open');
        stack.push({ id: need, next: 0 });
      }
    }
  }
  return null;
}

/** The steps and everything they need, directly or not. */
export function withNeeds(steps: readonly Node[], wanted: readonly string[]): Set<string> {
  const byId = new Map(steps.map((step) => [step.id, step]));
  const found = new Set<string>();
  const open = [...wanted];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (found.has(id)) continue;
    found.add(id);
    open.push(...(byId.get(id)?.needs ?? []));
  }
  return found;
}

/** Steps in rounds: each has all it needs in the rounds before. */
export function rounds(steps: readonly Step[]): Step[][] {
  const depth = new Map<string, number>();
  const found: Step[][] = [];
  let left = [...steps];
  while (left.length > 0) {
    const ready = left.filter(({ needs }) => needs.every((need) => depth.has(need)));
    if (ready.length === 0) break;
    for (const { id } of ready) depth.set(id, found.length);
    found.push(ready);
    left = left.filter((step) => !ready.includes(step));
  }
  return found;
}

/** Those whose result nobody needs: what a run is for. */
export function lastSteps(steps: readonly Step[]): Step[] {
  const needed = new Set(steps.flatMap(({ needs }) => needs));
  return steps.filter(({ id }) => !needed.has(id));
}

const CLASSES: { readonly [status: string]: string } = {
  done: 'fill:#d8f3dc,stroke:#2d6a4f',
  failed: 'fill:#ffccd5,stroke:#a4133c',
  running: 'fill:#fff3b0,stroke:#b08900',
  skipped: 'fill:#eee,stroke:#999,stroke-dasharray:4',
  blocked: 'fill:#eee,stroke:#999',
};

/** As Mermaid draws it; with what became of each step where that is known. */
export function mermaid(pipeline: Pipeline, statusOf?: (step: string) => string | undefined): string {
  const names = new Map(pipeline.steps.map(({ id }, index) => [id, `s${index}`]));
  const lines = ['flowchart TD'];
  const used = new Set<string>();
  for (const step of pipeline.steps) {
    const name = names.get(step.id)!;
    const many = step.forEach === undefined ? '' : '<br/>for each';
    const status = statusOf?.(step.id);
    const shape = many ? ['[[', ']]'] : step.when ? ['{{', '}}'] : ['[', ']'];
    const mark = status !== undefined && CLASSES[status] ? `:::${status}` : '';
    if (mark) used.add(status!);
    lines.push(`  ${name}${shape[0]}"${step.id}<br/><i>${step.agent}</i>${many}"${shape[1]}${mark}`);
    for (const need of step.needs) lines.push(`  ${names.get(need)} --> ${name}`);
  }
  for (const status of [...used].sort()) lines.push(`  classDef ${status} ${CLASSES[status]}`);
  return lines.join('\n');
}
