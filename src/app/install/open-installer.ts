import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RelayError } from '../../base/errors.ts';
import type { Installer, InstallRequest } from '../../interfaces/cli/host.ts';
import type { Environment } from '../config.ts';
import { CLIENTS, type Client, type Part, type Places, SKILL_NAME } from './clients.ts';
import { readSkill } from './file-plan.ts';
import { type InstallSettings, runInstall } from './installer.ts';
import { findLauncher, packageRoot } from './launcher.ts';

/** The installer for this machine, this folder and this program. */
export async function openInstaller(env: Environment, relayHome: string): Promise<Installer> {
  const settings = await installSettings(env, relayHome);
  return {
    clients: CLIENTS,
    async run(request: InstallRequest) {
      const { client, only, ...rest } = request;
      const report = await runInstall(
        { ...rest, client: client as Client, only: only as readonly Part[] },
        settings,
      );
      const { launcher } = settings;
      const placed = `relay is not on your PATH: ${[launcher.command, ...launcher.args].join(' ')} is written instead, which works on this machine only.`;
      const told = request.action === 'add' && !launcher.portable ? [placed] : [];
      return { ...report, notes: [...told, ...report.notes] };
    },
  };
}

export async function installSettings(env: Environment, relayHome: string): Promise<InstallSettings> {
  const root = packageRoot(fileURLToPath(import.meta.url));
  const skill = root === null ? null : await readSkill(join(root, 'skill', SKILL_NAME)).catch(() => null);
  if (skill === null) {
    throw new RelayError('failed', {
      what: 'The skill is missing from this installation.',
      hint: 'Install contextrelay again.',
    });
  }
  return { places: placesOf(env), launcher: findLauncher(env), relayHome, skill };
}

export function placesOf(env: Environment): Places {
  return { project: process.cwd(), home: homedir(), env, platform: process.platform };
}
