import { accessSync, constants, statSync } from 'node:fs';
import { basename, delimiter, join } from 'node:path';
import type { PromptWay } from '../../client/prompts/types.ts';

/**
 * How the coding agents that people have installed are asked something without a conversation. One line each; whatever is
 * not here is called by a template.
 */
export interface CliProfile {
  /** Before the user's own arguments. `{file}` stands for a file with the prompt, `{prompt}` for the prompt itself. */
  readonly args: readonly string[];
  /** How the prompt gets in. */
  readonly prompt: PromptWay;
  /** Whether it converses at a terminal when nothing is asked of it. */
  readonly converses: boolean;
  readonly about: string;
}

export const PROFILES: { readonly [name: string]: CliProfile } = {
  claude: { args: ['-p'], prompt: 'stdin', converses: true, about: 'Claude Code' },
  codex: {
    args: ['exec', '--skip-git-repo-check', '-'],
    prompt: 'stdin',
    converses: true,
    about: 'OpenAI Codex',
  },
  gemini: { args: [], prompt: 'stdin', converses: true, about: 'Gemini CLI' },
  opencode: { args: ['run'], prompt: 'argument', converses: true, about: 'opencode' },
  aider: {
    args: ['--yes-always', '--no-pretty', '--message-file', '{file}'],
    prompt: 'file',
    converses: true,
    about: 'aider',
  },
  sgpt: { args: [], prompt: 'stdin', converses: false, about: 'shell-gpt' },
};

export function profileOf(cli: string): CliProfile | undefined {
  const name = basename(cli).replace(/\.(exe|cmd|bat)$/i, '');
  return Object.hasOwn(PROFILES, name) ? PROFILES[name] : undefined;
}

/** Those of the known coding agents that are on the PATH. */
export function installedClis(env: NodeJS.ProcessEnv): string[] {
  return Object.keys(PROFILES).filter((name) => findProgram(name, env) !== null);
}

/** Where the PATH has a program of this name; null where it has none. */
export function findProgram(name: string, env: NodeJS.ProcessEnv): string | null {
  const folders = (env.PATH ?? env.Path ?? '').split(delimiter).filter((folder) => folder !== '');
  const endings = process.platform === 'win32' ? ['.exe', '.cmd', '.bat', ''] : [''];
  const paths = folders.flatMap((folder) => endings.map((ending) => join(folder, name + ending)));
  return paths.find(isProgram) ?? null;
}

export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
