import type { Pipeline, Step } from './definition.ts';

type Node = Pick<Step, 'id' | 'needs'>;

/** Returns the ids of steps that form a cycle, such as `a → b → a`. Returns null if there is no cycle. */
export function findCycle(steps: readonly Node[]): string[] | null {
  const ids = new Set(steps.map(({ id }) => id));
  const openSteps = steps.map(({ id, needs }) => ({ id, needs: needs.filter((need) => ids.has(need)) }));
  // Leave out all steps that can be put into rounds. Each remaining step is part of a cycle or depends on one. So a
  // path from any remaining step along its needs leads into a cycle.
  for (const { id } of rounds(openSteps).flat()) ids.delete(id);
  const next = new Map(openSteps.map(({ id, needs }) => [id, needs.find((need) => ids.has(need))]));
  const path: string[] = [];
  for (let [id] = ids; id !== undefined; id = next.get(id)) {
    if (path.includes(id)) return [...path.slice(path.indexOf(id)), id];
    path.push(id);
  }
  return null;
}

/** Returns the ids of the wanted steps and of all steps that they need, directly or indirectly. */
export function withNeeds(steps: readonly Node[], targets: readonly string[]): Set<string> {
  const byId = new Map(steps.map((step) => [step.id, step]));
  const found = new Set<string>();
  const open = [...targets];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (found.has(id)) continue;
    found.add(id);
    open.push(...(byId.get(id)?.needs ?? []));
  }
  return found;
}

/** Returns the id of a step and the ids of all steps that need it, directly or indirectly. */
export function withDependents(steps: readonly Node[], from: string): Set<string> {
  const found = new Set([from]);
  for (const step of rounds(steps).flat()) if (step.needs.some((need) => found.has(need))) found.add(step.id);
  return found;
}

/**
 * Returns the steps of a pipeline as data for an event, so that a run can be drawn without the pipeline
 * file.
 */
export function graphOf({ steps }: Pick<Pipeline, 'steps'>) {
  return steps.map(({ id, agent, needs }) => ({ id, agent, needs: [...needs] }));
}

/**
 * Groups steps into rounds. All needs of a step are in earlier rounds. Steps in a cycle, and steps that
 * depend on them, are in no round.
 */
export function rounds<T extends Node>(steps: readonly T[]): T[][] {
  const placed = new Set<string>();
  const found: T[][] = [];
  let left = [...steps];
  while (left.length > 0) {
    const ready = left.filter(({ needs }) => needs.every((need) => placed.has(need)));
    if (ready.length === 0) break;
    for (const { id } of ready) placed.add(id);
    found.push(ready);
    left = left.filter((step) => !ready.includes(step));
  }
  return found;
}

/** Returns the steps that no other step needs. Their results are the results of the whole run. */
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

/**
 * Draws the pipeline as a Mermaid diagram. If `statusOf` is given, the diagram shows the status of each step.
 */
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
