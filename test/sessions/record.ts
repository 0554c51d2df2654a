import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openProject } from '../../src/app/projects/project-files.ts';
import { installedClient } from '../clients/installed-clients.ts';
import { ScratchFolder } from '../projects/scratch-folder.ts';
import { playSession, recordingOf } from './recorder.ts';
import { OWN_SCRIPTS } from './scripts-own.ts';
import { PLAIN_SCRIPTS } from './scripts-plain.ts';

/**
 * Plays the scripts in the pinned clients and records the sessions: `node test/sessions/record.ts [name…]`. A recording
 * has the transcript and the changes in the repository. `/WORK` and `/HOME` replace paths of this machine.
 */

const FOLDER = join(import.meta.dirname, 'recordings');
const selectedNames = process.argv.slice(2);

for (const script of [...OWN_SCRIPTS, ...PLAIN_SCRIPTS]) {
  if (selectedNames.length > 0 && !selectedNames.includes(script.name)) continue;
  const client = installedClient(script.client);
  if (!('program' in client)) throw new Error(client.missing);
  using folder = new ScratchFolder();
  for (const [path, text] of Object.entries(script.files)) folder.write(path, text);
  folder.git('init', '-q', '-b', 'main');
  folder.git('add', '.');
  folder.git('commit', '-qm', `${script.name}: begin`);
  await openProject(folder.path).init();
  folder.git('add', '.');
  folder.git('commit', '-qm', 'project: set up');
  await playSession(script.client, client.program, folder, script.exchanges);
  folder.git('add', '-N', '.');
  const recorded = {
    files: recordingOf(script.client, folder),
    changes: folder.git('diff', 'HEAD', '--', '.', ':!*.log*', ':(exclude,glob)**/__pycache__/**'),
  };
  const text = JSON.stringify(recorded, null, 1)
    .replaceAll(folder.path, '/WORK')
    .replaceAll(folder.home, '/HOME');
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(
    join(FOLDER, `${script.name}.json`),
    `${text.replaceAll(folder.path.replace(/[^a-zA-Z0-9]/g, '-'), '-WORK')}\n`,
  );
  console.log(script.name, script.client, text.length);
}
