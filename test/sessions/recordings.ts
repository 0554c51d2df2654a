import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openProject } from '../../src/app/projects/project-files.ts';
import { loadSqlite } from '../../src/engines/node-sqlite.ts';
import { ScratchFolder } from '../projects/scratch-folder.ts';
import type { SessionScript } from './script.ts';

interface Recorded {
  readonly files: { readonly [path: string]: string };
  readonly changes: string;
}

interface Table {
  readonly table: string;
  readonly sql: string;
  readonly rows: readonly { readonly [column: string]: string | number | null }[];
}

/** Creates the repository and the transcript of a recorded session, as its client left them. */
export async function restoreSession(script: SessionScript): Promise<ScratchFolder> {
  const folder = new ScratchFolder();
  const { files, changes } = readRecording(script.name, folder);
  for (const [path, text] of Object.entries(script.files)) folder.write(path, text);
  folder.git('init', '-q', '-b', 'main');
  folder.git('add', '.');
  folder.git('commit', '-qm', `${script.name}: begin`);
  await openProject(folder.path).init();
  folder.git('add', '.');
  folder.git('commit', '-qm', 'project: set up');
  folder.write('../changes.patch', changes);
  if (changes !== '') folder.git('apply', '../changes.patch');
  writeTranscript(folder, files);
  return folder;
}

export function readRecording(name: string, folder: ScratchFolder): Recorded {
  const file = join(import.meta.dirname, 'recordings', `${name}.json`);
  const text = readFileSync(file, 'utf8')
    .replaceAll('/WORK', folder.path)
    .replaceAll('/HOME', folder.home)
    .replaceAll('-WORK', folder.path.replace(/[^a-zA-Z0-9]/g, '-'));
  return JSON.parse(text);
}

/** Writes the files of a recording into the home. The rows of OpenCode become a database. */
export function writeTranscript(folder: ScratchFolder, files: Recorded['files']): void {
  for (const [path, text] of Object.entries(files)) {
    const target = join(folder.home, path);
    mkdirSync(dirname(target), { recursive: true });
    if (!path.endsWith('.db')) {
      writeFileSync(target, text);
      continue;
    }
    const { DatabaseSync } = loadSqlite();
    using db = new DatabaseSync(target);
    for (const { table, sql, rows } of JSON.parse(text) as Table[]) {
      db.exec(sql);
      for (const row of rows) {
        const columns = Object.keys(row);
        const marks = columns.map(() => '?').join(', ');
        db.prepare(`insert into ${table} (${columns.join(', ')}) values (${marks})`).run(
          ...Object.values(row),
        );
      }
    }
  }
}
