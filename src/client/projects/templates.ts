import type { ProjectFacts } from './discovery.ts';
import type { AdoptedDecision } from './existing-documents.ts';
import { DECISIONS_MD, STATE_JSON, TODOS_JSON } from './files.ts';

/** The four files of a new project. Names of headings and fields are a format; what stands between them is ours. */

export function projectMd(facts: ProjectFacts): string {
  const stack = (label: string, found: readonly string[]) =>
    `- ${label}:${found.length ? ` ${found.join(', ')}` : ''}`;
  const width = Math.max(12, ...facts.folders.map(({ name }) => name.length + 2));
  const folders = facts.folders.map(({ name, purpose }) =>
    purpose ? `${`/${name}`.padEnd(width)}- ${purpose}` : `/${name}`,
  );
  return `${[
    `# ${facts.name}`,
    '',
    '## One-Line Description',
    facts.description ?? '[Say in one sentence what this is and whom it helps]',
    '',
    '## Tech Stack',
    stack('Frontend', facts.frontend),
    stack('Backend', facts.backend),
    stack('Database', facts.database),
    stack('Deployment', facts.deployment),
    '',
    '## Directory Structure',
    ...(folders.length ? folders : ['[Name the folders worth knowing, one on each line]']),
    '',
    '## Key Constraints',
    '[List what must stay true: interfaces others rely on, limits, promises made]',
    '',
    '## Related Documents',
    `- Architecture decisions: ${DECISIONS_MD}`,
    `- Current state: ${STATE_JSON}`,
    `- Todo items: ${TODOS_JSON}`,
    ...(facts.repository ? [`- Repository: ${facts.repository}`] : []),
  ].join('\n')}\n`;
}

export function stateJson(at: string): string {
  return json({
    phase: '',
    current_task: '',
    progress: { completed: [], in_progress: '', blocked: [], next_steps: [] },
    last_update: at,
    session_id: '',
    notes: '',
  });
}

export function todosJson(at: string): string {
  return json({ todos: [], last_review: at });
}

/** Decisions that have files of their own are named with what these say, and not written anew. */
export function decisionsMd(_at: string, adopted: readonly AdoptedDecision[] = []): string {
  const records = adopted.map(({ id, title, status, date, path }) =>
    [
      `\n## ${id}: ${title}`,
      ...(date === null ? [] : [`- Date: ${date}`]),
      ...(status === null ? [] : [`- Status: ${status}`]),
      `- Decision: see ${path}\n`,
    ].join('\n'),
  );
  return `# Architecture Decision Records\n${records.join('')}`;
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
