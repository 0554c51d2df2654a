import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

interface Row {
  readonly file: string | null;
  readonly offset: number | null;
}

/** Changes one byte of a body, in its row, segment or file, as a failing disk would. */
export function damageBody(home: string, key: string, at: number): void {
  using db = new DatabaseSync(join(home, 'relay.db'));
  db.exec('PRAGMA busy_timeout = 5000');
  const row = db.prepare('SELECT file, offset, body FROM blobs WHERE key = ?').get(key);
  const { file, offset, body } = row as unknown as Row & { body: Uint8Array | null };
  if (file === null) {
    body![at]! ^= 1;
    db.prepare('UPDATE blobs SET body = ? WHERE key = ?').run(body, key);
    return;
  }
  flip(join(home, file), (offset ?? 0) + at);
}

function flip(path: string, position: number): void {
  const fd = openSync(path, 'r+');
  const byte = new Uint8Array(1);
  readSync(fd, byte, 0, 1, position);
  byte[0]! ^= 1;
  writeSync(fd, byte, 0, 1, position);
  closeSync(fd);
}
