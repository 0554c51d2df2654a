import type { ScratchFolder } from './scratch-folder.ts';

export const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();

/** Writes the files of a small project. */
export function fill(folder: ScratchFolder): void {
  folder.write(
    'PROJECT.md',
    '# Shop\n\n## One-Line Description\nSells tea\n\n## Key Constraints\n- Never cold\n',
  );
  folder.write(
    'state.json',
    JSON.stringify({
      phase: 'development',
      current_task: 'Login',
      progress: {
        completed: ['Design'],
        in_progress: 'the form',
        blocked: ['mail: no account'],
        next_steps: ['Reset'],
      },
      last_update: hoursAgo(5),
      session_id: 'abc',
      notes: 'CORS needs a proxy',
    }),
  );
  folder.write(
    'todos.json',
    JSON.stringify({
      todos: [
        { id: 'TODO-001', title: 'Old', priority: 'low', status: 'completed', completed_at: hoursAgo(90) },
        {
          id: 'TODO-002',
          title: 'Search page',
          priority: 'high',
          status: 'pending',
          created: hoursAgo(72),
          updated: null,
          notes: '',
        },
        {
          id: 'TODO-003',
          title: 'Mail',
          priority: 'medium',
          status: 'blocked',
          created: hoursAgo(72),
          updated: hoursAgo(50),
          notes: 'Blocked: no account',
        },
        { id: 'TODO-004', title: '重构登录模块', priority: 'low', status: 'pending', created: hoursAgo(72) },
      ],
      last_review: hoursAgo(49),
    }),
  );
  folder.write(
    'decisions.md',
    '# Decisions\n\n## ADR-001: Cookies\n- Status: Accepted\n- Decision: cookies for the login\n\n## ADR-002: Tokens\n- Date: 2026-04-16\n- Status: Accepted\n- Supersedes: ADR-001\n- Decision: tokens instead\n\n## ADR-003: Icons\n- Decision: own icons\n',
  );
}
