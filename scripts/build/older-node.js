// For a Node without `node:sqlite`: starts the program on the Node 26 of contextrelay-runtime if that is installed.
// Otherwise adds the functions that the rest of the program needs and this Node lacks.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Returns true if another process runs the command. */
export async function handedOver() {
  const node = await findNode();
  if (node) {
    run(node);
    return true;
  }
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 20 || (major === 20 && minor < 16))
    fail(
      `it needs Node 20.16 or newer, and this is ${process.version}. Install Node 26 from https://nodejs.org.`,
    );
  fillGaps();
  return false;
}

async function findNode() {
  try {
    return (await import('contextrelay-runtime')).findNode();
  } catch {
    return undefined;
  }
}

function run(node) {
  // Not argv[1]: `contextrelay-mcp` has already added its argument.
  const relay = fileURLToPath(new URL('./relay.js', import.meta.url));
  const child = spawn(node, [relay, ...process.argv.slice(2)], { stdio: 'inherit' });
  // A terminal sends these signals to both processes; a service manager only to this one.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.once('error', (error) => fail(`cannot run ${node}: ${error.message}`));
  child.once('exit', (code, signal) => {
    if (!signal) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/**
 * Adds the ES2024 functions that Node 20 lacks and the program calls. `npm run test:full` runs the command line's
 * tests on Node 20.
 */
function fillGaps() {
  Promise.withResolvers ??= function withResolvers() {
    const made = {};
    made.promise = new this((resolve, reject) => Object.assign(made, { resolve, reject }));
    return made;
  };
  Map.groupBy ??= (items, keyOf) => {
    const groups = new Map();
    let index = 0;
    for (const item of items) {
      const key = keyOf(item, index++);
      if (groups.has(key)) groups.get(key).push(item);
      else groups.set(key, [item]);
    }
    return groups;
  };
  Array.fromAsync ??= async (items, map = (item) => item) => {
    const made = [];
    for await (const item of items) made.push(await map(item, made.length));
    return made;
  };
}

function fail(why) {
  console.error(`relay: ${why}`);
  process.exit(1);
}
