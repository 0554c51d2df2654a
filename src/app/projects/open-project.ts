import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { systemEnv } from '../../base/env.ts';
import { Project } from '../../client/projects/project.ts';
import type { ProjectClock } from '../../client/projects/times.ts';
import type { ProjectPatience } from '../../interfaces/cli/host.ts';
import { findProjectFolder, projectFiles } from './project-files.ts';
import { projectGit } from './project-git.ts';

export const systemClock: ProjectClock = {
  now: systemEnv.now,
  zone: (at) => -new Date(at).getTimezoneOffset(),
};

/** The project in this very folder. */
export function openProject(folder: string, o: ProjectPatience = {}): Project {
  const whole = resolve(folder);
  return new Project({
    files: projectFiles(whole, { lockMs: o.lockMs }),
    git: projectGit(whole, { timeoutMs: o.gitMs }),
    clock: systemClock,
  });
}

/** The project around a folder: its own files, or those of the nearest folder above; null where there are none. */
export async function findProject(from: string, o: ProjectPatience = {}): Promise<Project | null> {
  const folder = findProjectFolder(from, homedir());
  return folder === null ? null : openProject(folder, o);
}
