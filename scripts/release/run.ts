import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * A program that builds a part of a release. If a required program is missing, the release stops. If an optional
 * program is missing, only its part is left out.
 */
interface Tool {
  readonly command: string;
  readonly makes: string;
  readonly debianPackage: string;
  readonly required?: boolean;
}

const TOOLS: readonly Tool[] = [
  { command: 'tar', makes: 'archives', debianPackage: 'tar', required: true },
  { command: 'xz', makes: 'archives', debianPackage: 'xz-utils', required: true },
  { command: 'dpkg-deb', makes: 'deb', debianPackage: 'dpkg' },
  { command: 'rpmbuild', makes: 'rpm', debianPackage: 'rpm' },
];

/**
 * Returns a sentence about each tool that is not on `path`. Sentences about optional tools are keyed by the part of the
 * release that cannot be built.
 */
export function missingTools(path: string | undefined): {
  required: string[];
  optional: Map<string, string>;
} {
  const isThere = (command: string) =>
    (path ?? '').split(delimiter).some((folder) => {
      try {
        accessSync(join(folder, command), constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
  const required: string[] = [];
  const optional = new Map<string, string>();
  for (const { command, makes, debianPackage, required: isRequired } of TOOLS) {
    if (isThere(command)) continue;
    const install = `${command} is not installed (Debian: apt-get install ${debianPackage})`;
    if (isRequired) required.push(`No release without ${makes}: ${install}.`);
    else optional.set(makes, `No ${makes} is made: ${install}.`);
  }
  return { required, optional };
}

/** Runs a program and returns its output. Throws if it fails. */
export function must(
  command: string,
  args: readonly string[],
  o: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): string {
  const ran = spawnSync(command, args, { ...o, encoding: 'utf8', maxBuffer: 2 ** 28 });
  if (ran.error) throw new Error(`Cannot run ${command}: ${ran.error.message}`);
  if (ran.status !== 0)
    throw new Error(`${command} ${args.join(' ')} ended with ${ran.status}:\n${ran.stdout}\n${ran.stderr}`);
  return ran.stdout;
}
