import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { systemEnv } from '../../base/env.ts';
import { Project } from '../../client/projects/project.ts';
import type { ProjectOptions } from '../../interfaces/cli/host.ts';
import { findProjectFolder, projectFiles } from './project-files.ts';
import { projectGit } from './project-git.ts';

/** The project in this very folder. */
export function openProject(folder: string, o: ProjectOptions = {}): Project {
  const whole = resolve(folder);
  return new Project(projectFiles(whole, o), projectGit(whole, o.gitMs), systemEnv.now);
}

/** The project around a folder: its own files, or those of the nearest folder above; null where there are none. */
export async function findProject(from: string, o: ProjectOptions = {}): Promise<Project | null> {
  const folder = findProjectFolder(from, homedir());
  return folder === null ? null : openProject(folder, o);
}
